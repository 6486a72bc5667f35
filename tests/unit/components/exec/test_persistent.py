"""A process that answers call after call; one that died or lost step is replaced."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from stretto.components.exec import ExecProgram, Field, Format, LineEnd, Message, read_picture
from stretto.types.errors import Code, ComponentError, ContractError, UsageError
from stretto.types.messages import Request
from tests.unit.components.exec.conftest import JSON, end, is_alive, pid_in, program, wait_until_gone

MakeRequest = Callable[..., Request]

SERVER = """
import json, os, sys, time
asked = 0
for line in sys.stdin:
    asked += 1
    request = json.loads(line)
    do = request.get("do")
    if do == "die": os._exit(request["code"])
    if do == "close": os.close(1); time.sleep(1000)
    if do == "hang": open("hanging", "w").write(str(os.getpid())); time.sleep(1000)
    if do == "half": os.write(1, b'{"a"'); os._exit(0)
    if do == "twice": print("{}")
    if do == "babble": print("no JSON", flush=True); continue
    if do == "late": print("{}", flush=True); time.sleep(0.05); print("{}", flush=True); continue
    if do == "parts": print('{"pid": ', end="", flush=True); time.sleep(0.02); print("0}", flush=True); continue
    if do == "long": print("x" * 100_000, flush=True); continue
    print("warning", file=sys.stderr, flush=True)
    print(json.dumps({"pid": os.getpid(), "asked": asked, "echo": request}), flush=True)
open("left", "w").write(str(os.getpid()))
"""


@asynccontextmanager
async def served(folder: Path, **options: Any) -> AsyncIterator[ExecProgram]:
    (folder / "server.py").write_text(SERVER)
    server = program(folder, sys.executable, "server.py", **{"process": "persistent", **options})
    await server.open()
    try:
        yield server
    finally:
        await server.close()


async def asked(server: ExecProgram, make_request: MakeRequest, **fields: Any) -> dict[str, Any]:
    output = (await server(make_request(**fields))).output
    assert isinstance(output, dict)
    return output


async def test_one_process_answers_call_after_call_and_ends_when_it_is_closed(
    tmp_path: Path, make_request: MakeRequest
) -> None:
    async with served(tmp_path) as server:
        answers = [await asked(server, make_request, n=n) for n in range(3)]
        assert [answer["asked"] for answer in answers] == [1, 2, 3]
        assert [answer["echo"] for answer in answers] == [{"n": 0}, {"n": 1}, {"n": 2}]
        pid = answers[0]["pid"]
    assert pid_in(tmp_path / "left") == pid  # its input was closed, and it ended by itself
    assert not is_alive(pid)


async def test_calls_that_come_together_each_get_their_own_answer(tmp_path: Path, make_request: MakeRequest) -> None:
    async with served(tmp_path, processes=3) as server:
        answers = await asyncio.gather(*(asked(server, make_request, n=n) for n in range(30)))
    assert [answer["echo"]["n"] for answer in answers] == list(range(30))
    assert len({answer["pid"] for answer in answers}) <= 3


async def test_an_answer_may_come_in_parts(tmp_path: Path, make_request: MakeRequest) -> None:
    async with served(tmp_path) as server:
        assert await asked(server, make_request, do="parts") == {"pid": 0}


@pytest.mark.parametrize(("code", "rpc_code"), [(3, Code.UNKNOWN), (75, Code.UNAVAILABLE)])
async def test_one_that_dies_over_a_call_is_told_and_replaced(
    tmp_path: Path, make_request: MakeRequest, code: int, rpc_code: Code
) -> None:
    async with served(tmp_path, exit_codes={75: "unavailable"}) as server:
        with pytest.raises(ComponentError, match=f"exit code {code}") as lost:
            await server(make_request(do="die", code=code))
        assert (lost.value.rpc_code, lost.value.sent) == (rpc_code, True)
        assert (await asked(server, make_request, n=1))["asked"] == 1


@pytest.mark.parametrize(
    ("request_fields", "message"),
    [
        ({"do": "half"}, "4 bytes before it ended; expected an answer"),
        ({"do": "twice"}, "more than one answer, after 3; expected one for each request"),
        ({"do": "babble"}, "'no JSON'; expected a JSON object"),
        ({"do": "long"}, "more than 50,000 bytes"),
    ],
)
async def test_one_that_loses_step_is_told_and_replaced(
    tmp_path: Path, make_request: MakeRequest, request_fields: dict[str, Any], message: str
) -> None:
    async with served(tmp_path, max_output_bytes=50_000) as server:
        before = (await asked(server, make_request))["pid"]
        with pytest.raises(ContractError, match="what its declaration does not say") as caught:
            await server(make_request(**request_fields))
        assert message in str(caught.value)
        assert caught.value.rpc_code is Code.DATA_LOSS
        after = await asked(server, make_request)
        assert after["asked"] == 1
        assert after["pid"] != before
        assert not is_alive(before)


@pytest.mark.parametrize(
    ("request_fields", "message"),
    [
        ({"do": "die", "code": 0}, "program of 'it' ended before it answered"),
        ({"do": "close"}, "program of 'it' closed its output before it answered"),
    ],
)
async def test_one_that_ends_without_a_word_may_be_asked_again(
    tmp_path: Path, make_request: MakeRequest, request_fields: dict[str, Any], message: str
) -> None:
    async with served(tmp_path) as server:
        before = (await asked(server, make_request))["pid"]
        with pytest.raises(ComponentError, match=message) as caught:
            await server(make_request(**request_fields))
        assert (caught.value.rpc_code, caught.value.retryable, caught.value.sent) == (Code.UNAVAILABLE, True, True)
        assert (await asked(server, make_request))["asked"] == 1
        assert not is_alive(before)


async def test_one_that_died_while_nobody_asked_is_replaced_unnoticed(
    tmp_path: Path, make_request: MakeRequest
) -> None:
    async with served(tmp_path) as server:
        pid = (await asked(server, make_request))["pid"]
        end(pid)
        await asyncio.to_thread(wait_until_gone, pid)
        await asyncio.sleep(0.05)
        assert (await asked(server, make_request))["asked"] == 1


async def test_what_is_said_after_an_answer_is_nobodys(tmp_path: Path, make_request: MakeRequest) -> None:
    async with served(tmp_path) as server:
        assert await asked(server, make_request, do="late") == {}
        await asyncio.sleep(0.2)
        assert (await asked(server, make_request, n=5))["echo"] == {"n": 5}


OUT_OF_STEP = """\
import sys
first = sys.stdin.readline()
print(first, end="", flush=True)
while line := sys.stdin.readline():
    print(first, end="", flush=True)
    first = line
"""
"""Answers the first request twice, the second time once it was asked again, and so on."""


async def test_an_answer_to_another_request_is_told_and_its_program_replaced(
    tmp_path: Path, make_request: MakeRequest
) -> None:
    (tmp_path / "late.py").write_text(OUT_OF_STEP)
    late = program(tmp_path, sys.executable, "late.py", process="persistent", correlate="n")
    assert await asked(late, make_request, n=1) == {"n": 1}
    with pytest.raises(ContractError, match="the answer to another request: `n` is 1; expected 2") as caught:
        await late(make_request(n=2))
    assert caught.value.rpc_code is Code.DATA_LOSS
    assert await asked(late, make_request, n=3) == {"n": 3}
    await late.close()


async def test_what_nobody_asked_for_is_logged(
    tmp_path: Path, make_request: MakeRequest, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(tmp_path) as server:
        await asked(server, make_request, do="late")
        await asyncio.sleep(0.2)
        await asked(server, make_request, n=5)
    assert "wrote 3 bytes that nobody asked for, and is replaced" in caplog.text


async def test_what_nobody_has_read_yet_is_nobodys_either(tmp_path: Path, make_request: MakeRequest) -> None:
    async with served(tmp_path) as server:
        assert await asked(server, make_request, do="late") == {}
        time.sleep(0.3)  # noqa: ASYNC251  # the event loop is held up, so the second line lies in the pipe
        assert (await asked(server, make_request, n=5))["echo"] == {"n": 5}


async def test_a_call_that_is_cancelled_ends_its_process(tmp_path: Path, make_request: MakeRequest) -> None:
    async with served(tmp_path) as server:
        task = asyncio.create_task(server(make_request(do="hang")))
        pid = await asyncio.to_thread(pid_in, tmp_path / "hanging")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not is_alive(pid)
        assert (await asked(server, make_request, n=1))["asked"] == 1


async def test_records_of_one_length_need_no_line_ends(tmp_path: Path, make_request: MakeRequest) -> None:
    record = Message(
        format=Format.FIXED,
        line_end=LineEnd.NONE,
        fields=(Field(name="a", width=3), Field(name="n", picture=read_picture("9(2)"))),
    )
    (tmp_path / "echo.py").write_text(
        "import sys\nwhile r := sys.stdin.buffer.read(5): sys.stdout.buffer.write(r[::-1]); sys.stdout.flush()\n"
    )
    flipped = Message(format=Format.FIXED, line_end=LineEnd.NONE, fields=tuple(reversed(record.fields)))
    echo = program(tmp_path, sys.executable, "echo.py", request=record, response=flipped, process="persistent")
    await echo.open()
    for n in (10, 27):
        assert await asked(echo, make_request, a="xyz", n=n) == {"a": "zyx", "n": int(str(n)[::-1])}
    await echo.close()


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (Message(format=Format.CSV, fields=(Field(name="a"),)), "is CSV with a header"),
        (
            Message(format=Format.FIXED, rows="r", fields=(Field(name="a", width=1),)),
            "nothing says where rows of fixed",
        ),
        (Message(format=Format.TEXT, line_end=LineEnd.NONE), "`line_end` of `request` is none"),
        (Message(format=Format.TEXT, encoding="utf-16"), "whose line ends are no single bytes"),
    ],
)
def test_messages_whose_end_nobody_sees_are_refused(tmp_path: Path, message: Message, why: str) -> None:
    with pytest.raises(UsageError, match="program 'it'") as caught:
        program(tmp_path, "cat", request=message, response=JSON, process="persistent")
    assert why in str(caught.value)


EBCDIC = Message(format=Format.TEXT, encoding="cp037")
NEL = Message(format=Format.TEXT, encoding="cp037", line_end=LineEnd.NEL)
NEL_RECORD = Message(format=Format.FIXED, encoding="cp037", line_end=LineEnd.NEL, fields=(Field(name="a", width=2),))
PACKED = Message(
    format=Format.FIXED, line_end=LineEnd.LF, fields=(Field(name="n", picture=read_picture("S9(5) COMP-3")),)
)


@pytest.mark.parametrize(
    ("request_", "response", "asked_for"),
    [
        pytest.param(EBCDIC, EBCDIC, {"text": "a"}, id="line feed of EBCDIC"),
        pytest.param(NEL, EBCDIC, {"text": "a"}, id="new line of EBCDIC"),
        pytest.param(NEL_RECORD, NEL_RECORD, {"a": "x"}, id="new line behind a record"),
        pytest.param(PACKED, PACKED, {"n": -10}, id="a line feed behind 00 01 0D"),
    ],
)
async def test_lines_end_as_the_encoding_has_it(
    tmp_path: Path, make_request: MakeRequest, request_: Message, response: Message, asked_for: dict[str, object]
) -> None:
    echo = program(tmp_path, "cat", request=request_, response=response, process="persistent")
    for _ in range(2):
        assert await asked(echo, make_request, **asked_for) == asked_for
    await echo.close()


async def test_text_that_would_end_a_message_early_is_refused(tmp_path: Path, make_request: MakeRequest) -> None:
    text = Message(format=Format.TEXT)
    echo = program(tmp_path, "cat", request=text, response=text, process="persistent")
    with pytest.raises(ContractError, match="a line break") as caught:
        await echo(make_request(text="a\nb"))
    assert caught.value.sent is False
    await echo.close()


async def test_one_that_is_asked_while_it_is_closed_ends_with_its_answer(
    tmp_path: Path, make_request: MakeRequest
) -> None:
    slow = "import sys, time\nfor line in sys.stdin: time.sleep(0.1); print(line, end='', flush=True)\n"
    (tmp_path / "slow.py").write_text(f"import os; open('pid', 'w').write(str(os.getpid()))\n{slow}")
    server = program(tmp_path, sys.executable, "slow.py", process="persistent")
    await server.open()
    task = asyncio.create_task(server(make_request(n=1)))
    pid = await asyncio.to_thread(pid_in, tmp_path / "pid")
    await server.close()
    assert (await task).output == {"n": 1}
    assert not is_alive(pid)


async def test_one_that_cannot_be_started_is_told_when_it_is_opened(tmp_path: Path) -> None:
    with pytest.raises(ComponentError, match="no program 'no-such-program'"):
        await program(tmp_path, "no-such-program", process="persistent").open()


def test_an_event_loop_that_ended_takes_its_processes_with_it(tmp_path: Path, make_request: MakeRequest) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    server = program(tmp_path, sys.executable, "server.py", process="persistent")

    async def once() -> int:
        pid: int = (await asked(server, make_request))["pid"]
        return pid

    pids = [asyncio.run(once()) for _ in range(2)]  # without a word of closing
    assert len(set(pids)) == 2
    assert not any(map(is_alive, pids))


async def test_another_event_loop_that_lives_is_refused(tmp_path: Path, make_request: MakeRequest) -> None:
    async with served(tmp_path) as server:
        await asked(server, make_request)
        with pytest.raises(UsageError, match="program 'it' is open in another event loop"):
            await asyncio.to_thread(lambda: asyncio.run(server.open()))
