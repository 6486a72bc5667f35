"""Processes: fed and read at once, bounded, and ended with all that they started."""

import asyncio
import errno
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from stretto.components.exec import ExecProgram
from stretto.components.exec.program import not_started
from stretto.types.enums import Effect
from stretto.types.errors import Code, ComponentError, ContractError
from stretto.types.messages import Request
from tests.unit.components.exec.conftest import TEXT, is_alive, pid_in, program, shell, wait_until_gone

MakeRequest = Callable[..., Request]


async def refusal(asked: ExecProgram, request: Request) -> ComponentError:
    with pytest.raises(ComponentError) as caught:
        await asked(request)
    return caught.value


async def until_gone(*pids: int) -> None:
    await asyncio.to_thread(wait_until_gone, *pids)


async def begun(path: Path) -> int:
    """The process id that a program wrote, once the call waits for its answer: it writes before that is so."""
    pid = await asyncio.to_thread(pid_in, path)
    for _ in range(20):
        await asyncio.sleep(0)
    return pid


def pids_in(folder: Path) -> list[int]:
    return [int(text) for path in folder.iterdir() if (text := path.read_text())]


@pytest.fixture
async def no_task_left() -> AsyncIterator[None]:
    yield
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


async def test_a_long_request_is_written_while_a_long_answer_is_read(tmp_path: Path, make_request: MakeRequest) -> None:
    echo = program(tmp_path, "cat", request=TEXT, response=TEXT)
    text = "x" * 2_000_000
    assert (await echo(make_request(text=text))).output == {"text": text}


async def test_a_program_need_not_read_what_it_is_given(tmp_path: Path, make_request: MakeRequest) -> None:
    deaf = program(tmp_path, "echo", '{"a": 1}')
    assert (await deaf(make_request(text="x" * 1_000_000))).output == {"a": 1}


async def test_what_a_program_says_on_stderr_does_not_hold_it_up(tmp_path: Path, make_request: MakeRequest) -> None:
    loud = shell(tmp_path, "head -c 3000000 /dev/zero | tr '\\0' e >&2; echo >&2; echo last >&2; exit 1")
    error = await refusal(loud, make_request())
    assert str(error).endswith(f"{'e' * 200}...\n  last")
    assert len(str(error)) < 2_000


async def test_an_answer_without_end_is_cut_off(tmp_path: Path, make_request: MakeRequest) -> None:
    endless = shell(tmp_path, "echo $$ > pid; exec yes", max_output_bytes=100_000)
    error = await refusal(endless, make_request())
    assert isinstance(error, ContractError)
    assert (error.rpc_code, error.retryable) == (Code.DATA_LOSS, False)
    assert "more than 100,000 bytes, `max_output_bytes` of the program" in str(error)
    assert not is_alive(pid_in(tmp_path / "pid"))


async def test_a_cancelled_call_ends_the_whole_group(
    tmp_path: Path, make_request: MakeRequest, no_task_left: None
) -> None:
    family = shell(tmp_path, "sleep 1000 & echo $! > child; echo $$ > pid; wait")
    task = asyncio.create_task(family(make_request()))
    parent, child = await begun(tmp_path / "pid"), pid_in(tmp_path / "child")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until_gone(parent, child)


@pytest.mark.parametrize("turns", range(8))
async def test_a_call_that_is_cancelled_while_its_program_is_started_leaves_nothing(
    tmp_path: Path, make_request: MakeRequest, no_task_left: None, turns: int
) -> None:
    """At every turn of the event loop that a start takes."""
    family = shell(tmp_path, "sleep 1000 & echo $! > child; echo $$ > pid; wait")
    task = asyncio.create_task(family(make_request()))
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(10):
            await task
    await asyncio.sleep(0.05)
    await until_gone(*pids_in(tmp_path))


async def test_what_ignores_a_request_to_end_is_made_to(
    tmp_path: Path, make_request: MakeRequest, no_task_left: None
) -> None:
    stubborn = shell(tmp_path, "trap '' TERM; (trap '' TERM; sleep 1000) & echo $! > child; echo $$ > pid; wait; wait")
    task = asyncio.create_task(stubborn(make_request()))
    parent, child = await begun(tmp_path / "pid"), pid_in(tmp_path / "child")
    began = asyncio.get_running_loop().time()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.get_running_loop().time() - began >= 0.3
    await until_gone(parent, child)


async def test_a_program_may_clean_up_when_it_is_asked_to_end(tmp_path: Path, make_request: MakeRequest) -> None:
    tidy = shell(tmp_path, "trap 'touch tidied; exit' TERM; echo $$ > pid; while :; do sleep 0.01; done")
    task = asyncio.create_task(tidy(make_request()))
    await begun(tmp_path / "pid")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (tmp_path / "tidied").exists()


async def test_a_second_cancellation_ends_it_at_once(
    tmp_path: Path, make_request: MakeRequest, no_task_left: None
) -> None:
    stubborn = shell(tmp_path, "trap '' TERM; echo $$ > pid; while :; do sleep 0.01; done")
    task = asyncio.create_task(stubborn(make_request()))
    pid = await begun(tmp_path / "pid")
    task.cancel()
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until_gone(pid)


async def test_what_a_program_leaves_behind_ends_with_it(tmp_path: Path, make_request: MakeRequest) -> None:
    parent = shell(tmp_path, "sleep 1000 & echo $! > child; echo '{\"done\": true}'")
    assert (await parent(make_request())).output == {"done": True}  # though its child holds the pipe open
    await until_gone(pid_in(tmp_path / "child"))


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGSEGV, Code.INTERNAL),
        (signal.SIGABRT, Code.INTERNAL),
        (signal.SIGKILL, Code.UNAVAILABLE),
        (signal.SIGTERM, Code.UNAVAILABLE),
    ],
)
async def test_a_signal_is_told_by_its_name(
    tmp_path: Path, make_request: MakeRequest, number: signal.Signals, code: Code
) -> None:
    error = await refusal(shell(tmp_path, f"echo oh >&2; ulimit -c 0; kill -{number.value} $$"), make_request())
    assert error.rpc_code is code
    assert str(error).startswith(f"program of 'it' was ended by {number.name}; its last words on stderr:\n  oh")


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        (["./rules"], {}, "there is no file"),
        (["./plain"], {}, "is not executable; run chmod +x, or name what reads it: [sh, ./plain]"),
        (["plain"], {}, "there is no program 'plain' on the PATH; try ./plain"),
        (["no-such-program"], {}, "on the PATH; install it, or give its path"),
        (["cat"], {"cwd": "nowhere"}, "there is no such folder; make it, or mend `cwd`"),
    ],
)
async def test_a_program_that_is_not_there_is_told_when_it_is_opened_and_when_it_is_asked(
    tmp_path: Path, make_request: MakeRequest, command: list[str], options: dict[str, Any], message: str
) -> None:
    (tmp_path / "plain").write_text("echo {}\n")
    missing = program(tmp_path, *command, **options)
    with pytest.raises(ComponentError, match="cannot be started") as caught:
        await missing.open()
    asked = await refusal(missing, make_request())
    for error in (caught.value, asked):
        assert message in str(error)
        assert (error.rpc_code, error.sent) == (Code.FAILED_PRECONDITION, False)


@pytest.mark.parametrize(
    ("number", "code", "may_pass"),
    [
        (errno.EAGAIN, Code.UNAVAILABLE, True),
        (errno.EMFILE, Code.UNAVAILABLE, True),
        (errno.ETXTBSY, Code.UNAVAILABLE, True),
        (errno.EACCES, Code.FAILED_PRECONDITION, False),
        (errno.E2BIG, Code.FAILED_PRECONDITION, False),
    ],
)
def test_a_system_that_is_short_of_something_may_start_it_in_a_moment(number: int, code: Code, may_pass: bool) -> None:
    error = not_started("it", OSError(number, os.strerror(number)))
    assert (error.rpc_code, error.retryable, error.sent) == (code, may_pass, False)


async def test_a_program_that_is_being_written_may_be_started_in_a_moment(
    tmp_path: Path, make_request: MakeRequest
) -> None:
    shutil.copy("/bin/cat", tmp_path / "cat")
    with (tmp_path / "cat").open("ab"), pytest.raises(ComponentError, match=r"[Bb]usy") as caught:
        await program(tmp_path, "./cat")(make_request())
    assert caught.value.retryable


async def test_a_script_that_says_nothing_of_its_reader_is_told(tmp_path: Path, make_request: MakeRequest) -> None:
    (tmp_path / "plain").write_text("echo {}\n")
    (tmp_path / "plain").chmod(0o755)
    error = await refusal(program(tmp_path, "./plain"), make_request())
    assert "Exec format error; begin its first line with #!" in str(error)
    assert error.sent is False


async def test_a_program_sees_a_few_variables_and_those_that_are_declared(
    tmp_path: Path, make_request: MakeRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "x")
    monkeypatch.setenv("ORACLE_HOME", "/opt/oracle")
    told = shell(
        tmp_path,
        'printf \'{"mode": "%s", "secret": "%s", "home": "%s", "path": "%s", "key": "%s", "trace": "%s", "in": "%s"}\' '
        '"$MODE" "$SECRET" "$ORACLE_HOME" "${PATH:+set}" "$STRETTO_EFFECT_KEY" "$TRACEPARENT$TRACESTATE" "$PWD"',
        env={"MODE": "test"},
        inherit=["ORACLE_HOME"],
        cwd="sub",
    )
    (tmp_path / "sub").mkdir()
    written = await told(make_request(_effect=Effect.WRITE, _traceparent="00-a-b-01", _tracestate="v=1"))
    expected = {"mode": "test", "secret": "", "home": "/opt/oracle", "path": "set", "key": "run-1/step"}
    assert written.output == {**expected, "trace": "00-a-b-01v=1", "in": str(tmp_path / "sub")}
    read = await told(make_request(_effect=Effect.READ))
    assert read.output == {**expected, "key": "", "trace": "", "in": str(tmp_path / "sub")}


async def test_no_process_is_left_after_many_calls(tmp_path: Path, make_request: MakeRequest) -> None:
    echo = program(tmp_path, "cat")
    before = set(os.listdir("/proc/self/fd"))
    await asyncio.gather(*(echo(make_request(n=n)) for n in range(20)))
    await asyncio.sleep(0)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)  # noqa: ASYNC222  # WNOHANG does not wait
    assert len(set(os.listdir("/proc/self/fd")) - before) <= 1  # what lists them
