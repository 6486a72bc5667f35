"""So many processes at once; the time that a call waits for one is told apart."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from stretto.components.exec import Lifetime
from stretto.types.messages import Request
from stretto.types.waited import NeverBegun
from tests.unit.components.exec.conftest import TEXT, pid_in, program, shell

MakeRequest = Callable[..., Request]

ONE_AT_A_TIME = "mkdir busy || exit 9; sleep 0.05; rmdir busy; cat"


async def test_calls_beyond_the_bound_wait_and_say_how_long(tmp_path: Path, make_request: MakeRequest) -> None:
    slow = shell(tmp_path, ONE_AT_A_TIME, processes=1)
    answers = await asyncio.gather(*(slow(make_request(n=n)) for n in range(3)))
    waits = [answer.queue_ms for answer in answers]
    assert waits == sorted(waits)
    assert waits[0] < 40
    assert waits[1] >= 50
    assert waits[2] >= 100


async def test_several_processes_work_at_once(tmp_path: Path, make_request: MakeRequest) -> None:
    """Each waits for the other, so that neither would end alone."""
    meet = shell(
        tmp_path,
        "read x; touch $x.here; until [ -e a.here ] && [ -e b.here ]; do sleep 0.01; done; echo $x",
        processes=2,
        request=TEXT,
        response=TEXT,
    )
    answers = await asyncio.gather(meet(make_request(text="a")), meet(make_request(text="b")))
    assert [answer.output for answer in answers] == [{"text": "a"}, {"text": "b"}]


@pytest.mark.parametrize("process", Lifetime)
async def test_what_is_cancelled_while_it_waits_says_that_nothing_was_begun(
    tmp_path: Path, make_request: MakeRequest, process: Lifetime
) -> None:
    held = shell(tmp_path, "echo $$ > pid; exec sleep 1000", processes=1, process=process)
    first = asyncio.create_task(held(make_request()))
    await asyncio.to_thread(pid_in, tmp_path / "pid")
    second = asyncio.create_task(held(make_request()))
    await asyncio.sleep(0.02)
    second.cancel()
    with pytest.raises(asyncio.CancelledError) as cancelled:
        await second
    cause = cancelled.value.__cause__
    assert isinstance(cause, NeverBegun)
    assert cause.queue_ms >= 10
    assert cause.awaited == "a process"
    assert cause.remedy.startswith("its one process is at work for other calls. Raise `processes`")
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    await held.close()


async def test_a_place_is_free_again_after_a_failure(tmp_path: Path, make_request: MakeRequest) -> None:
    once = program(tmp_path, "false", processes=1)
    for _ in range(3):
        with pytest.raises(Exception, match="exit code 1"):
            await once(make_request())
