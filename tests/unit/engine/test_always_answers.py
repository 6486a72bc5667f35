"""Whatever its components do, a run with a fallback and a deadline answers by that deadline; on a virtual clock."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings, strategies as st

from stretto.engine.engine import Engine
from stretto.engine.request import RunRequest
from stretto.plan.check import Check
from stretto.plan.model import Block, BusinessFallback, CallOp, Retry
from stretto.record.model import Run
from stretto.testing import VirtualLoop, run_virtual
from stretto.types.enums import RunStatus, Scope
from stretto.types.errors import Code, ComponentError
from stretto.types.messages import Request
from stretto.types.protection import StreakRule
from tests.unit.engine.plans import Ledger, Probe, S, call, deadline, deaf, graph, linear, plan, returning

ANSWERED = {RunStatus.OK, RunStatus.BUSINESS_FALLBACK}

Answer = Callable[[Request], Awaitable[object]]


async def well(_request: Request) -> object:
    return {"n": 1}


async def broken(_request: Request) -> object:
    return {"n": "no number"}


async def down(_request: Request) -> object:
    raise ComponentError("down", Code.UNAVAILABLE)


async def crashes(_request: Request) -> object:
    raise ValueError("a bug")


async def hangs(_request: Request) -> object:
    await asyncio.sleep(1e6)
    return {"n": 1}


async def tidies_up(_request: Request) -> object:
    try:
        await asyncio.sleep(1e6)
    finally:
        await asyncio.sleep(30)
    return {"n": 1}


def slow(seconds: float) -> Answer:
    async def answer(_request: Request) -> object:
        await asyncio.sleep(seconds)
        return {"n": 1}

    return answer


def fails_after(seconds: float) -> Answer:
    async def answer(_request: Request) -> object:
        await asyncio.sleep(seconds)
        raise ComponentError("down", Code.UNAVAILABLE)

    return answer


SECONDS = st.floats(0.0, 3.0)
BEHAVIOURS = st.one_of(
    st.sampled_from([well, broken, down, crashes, hangs, deaf, tidies_up]),
    SECONDS.map(slow),
    SECONDS.map(fails_after),
)
NUMBER = Check({"type": "object", "properties": {"n": {"type": "integer"}}})


def steps(behaviours: list[Answer], timeouts: list[float | None], attempts: int) -> list[CallOp]:
    return [
        call(
            Probe(f"step{index}", behaviour),
            S + index,
            output_check=NUMBER,
            timeout_s=timeouts[index % len(timeouts)],
            retry=Retry(max_attempts=attempts, base_s=0.1),
        )
        for index, behaviour in enumerate(behaviours)
    ]


def block(ops: list[CallOp], *, side_by_side: bool) -> Block:
    return graph([*ops], []) if side_by_side else linear(*ops)


def made(body: Block, seconds: float, reserve: float, *, then_s: float = 0.0) -> Run:
    """A run, and what becomes of the time after it."""
    rules = call(returning("rules", {"n": 0}), S + 20, name="fallback")
    business = BusinessFallback(op=rules, streak=StreakRule())

    async def main() -> Run:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        what = plan(body, business=business, budget=deadline(seconds, reserve))
        began = loop.time()
        run = await Engine(Ledger(), clock=loop).run(what, RunRequest(input={}))
        assert loop.time() - began <= seconds + 1e-6
        await asyncio.sleep(then_s)
        return run

    return run_virtual(main())


@settings(max_examples=300)
@given(
    behaviours=st.lists(BEHAVIOURS, min_size=1, max_size=4),
    timeouts=st.lists(st.one_of(st.none(), st.floats(0.01, 3.0)), min_size=1, max_size=4),
    attempts=st.integers(1, 3),
    side_by_side=st.booleans(),
    seconds=st.floats(0.1, 5.0),
    reserved=st.sampled_from([0.0, 0.05, 0.1, 0.5]),
)
def test_a_run_answers_by_its_deadline_whatever_its_components_do(
    behaviours: list[Answer],
    timeouts: list[float | None],
    attempts: int,
    side_by_side: bool,
    seconds: float,
    reserved: float,
) -> None:
    ops = steps(behaviours, timeouts, attempts)
    run = made(block(ops, side_by_side=side_by_side), seconds, seconds * reserved)
    assert run.status in ANSWERED, run.error
    assert run.duration_ms <= seconds * 1000 + 0.01


class Desk(Probe):
    """A component of scope ``run`` whose sessions fail, and take their time to close."""

    def __init__(self, close_s: float) -> None:
        super().__init__("desk", down, scope=Scope.RUN)
        self._close_s = close_s
        self.closed = 0

    async def open_run(self, _run: object) -> "Desk":
        return self

    async def close(self) -> None:
        await asyncio.sleep(self._close_s)
        self.closed += 1


def test_nobody_waits_for_a_session_beyond_the_deadline_and_it_is_closed_all_the_same() -> None:
    desk = Desk(3.0)
    run = made(linear(call(desk, S, per_run=True)), 2.0, 0.2, then_s=5.0)
    assert run.status is RunStatus.BUSINESS_FALLBACK
    assert run.warnings == ("at the run's deadline its sessions were still being closed",)
    assert desk.closed == 1


def test_a_session_that_closes_in_time_is_waited_for() -> None:
    desk = Desk(1.0)
    run = made(linear(call(desk, S, per_run=True)), 2.0, 0.2)
    assert (run.warnings, desk.closed) == ((), 1)


def test_what_became_of_a_session_that_nobody_waited_for_is_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    made(linear(call(Desk(60.0), S, per_run=True)), 2.0, 0.2, then_s=10.0)
    assert "session of 'desk' did not close: it took longer than 5 s" in caplog.text
