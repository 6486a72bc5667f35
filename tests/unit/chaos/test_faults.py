"""What each fault lets the component see, and what it lets the caller see."""

import asyncio
import random
from datetime import timedelta
from typing import Any

import pytest

from stretto.chaos.damage import DAMAGES
from stretto.chaos.faults import FAULTS, Delivery
from stretto.chaos.lapse import Lapse
from stretto.spec.chaos import parse_chaos
from stretto.spec.chaos_model import FaultKind, FaultSpec
from stretto.testing import run_virtual
from stretto.testing.request import request_for
from stretto.types.card import Card
from stretto.types.enums import Effect
from stretto.types.errors import Code, ComponentError, ShedError
from stretto.types.ids import digest_of
from stretto.types.messages import Request, Response

LIMIT_S = 10.0
"""After which the caller gives up."""


class Seen:
    """A component that notes when it was asked, and what it could read of its deadline."""

    def __init__(self, *, idempotent: bool = False, fails: bool = False) -> None:
        self.fails = fails
        """Whether it answers the first time with an error."""
        self.at: list[float] = []
        self.deadlines: list[float | None] = []
        self.again = 0
        self.card = Card(name="shop", version="1", kind="python", digest=digest_of(b""), idempotent=idempotent)

    async def __call__(self, request: Request) -> Response:
        self.at.append(asyncio.get_running_loop().time())
        self.deadlines.append(request.call.deadline)
        request.input["kept"] = True  # it may change what it is given
        if self.fails and len(self.at) == 1:
            raise ComponentError("not now", Code.ABORTED)
        return Response(output={"answer": len(self.at)})


def fault_of(text: str) -> FaultSpec:
    return parse_chaos(f"stretto: 1\nfaults: [{{component: shop, rate: 1, {text}}}]").faults[0]


def struck(text: str, seen: Seen, **envelope: Any) -> tuple[float, Any]:
    """When, and with what, a call ends that the fault strikes."""

    def again() -> None:
        seen.again += 1

    async def call() -> tuple[float, Any]:
        delivery = Delivery(
            fault=fault_of(text),
            card=seen.card,
            work=seen,
            request=request_for(_deadline=LIMIT_S, **envelope),
            run=0,
            lapse=Lapse(),
            chance=random.Random(1),
            again=again,
        )
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(LIMIT_S):
                response = await FAULTS[delivery.fault.fault](delivery)
        except (ComponentError, TimeoutError) as error:
            return loop.time(), error
        return loop.time(), response.output

    return run_virtual(call())


@pytest.mark.parametrize(
    ("text", "asked", "ended"),
    [
        ("fault: latency, delay: 2s", [2.0], 2.0),
        ("fault: latency, delay: 2s, when: after", [0.0], 2.0),
        ("fault: slow_body, delay: 2s", [0.0], 2.0),
    ],
)
def test_a_late_answer_is_an_answer(text: str, asked: list[float], ended: float) -> None:
    seen = Seen()
    assert struck(text, seen) == (ended, {"answer": 1})
    assert seen.at == asked


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("fault: latency, delay: 1m", 0),
        ("fault: latency, delay: 1m, when: after", 1),
        ("fault: slow_body, delay: 1m", 1),
        ("fault: hang", 0),
        ("fault: hang, when: after", 1),
    ],
)
def test_who_gives_up_hears_nothing_whether_or_not_it_happened(text: str, asked: int) -> None:
    seen = Seen()
    at, answer = struck(text, seen)
    assert (at, type(answer), len(seen.at)) == (LIMIT_S, TimeoutError, asked)


def test_jitter_is_no_longer_than_its_delay() -> None:
    seen = Seen()
    at, answer = struck("fault: jitter, delay: 2s", seen)
    assert 0 < at < 2.0
    assert answer == {"answer": 1}


@pytest.mark.parametrize(
    ("text", "asked", "code", "sent"),
    [
        ("fault: error, code: internal", 0, Code.INTERNAL, True),
        ("fault: error, code: aborted, when: after", 1, Code.ABORTED, True),
        ("fault: reset", 1, Code.UNAVAILABLE, True),
        ("fault: reset, when: before", 0, Code.UNAVAILABLE, True),
        ("fault: loss", 0, Code.UNAVAILABLE, False),
        ("fault: full_queue", 0, Code.RESOURCE_EXHAUSTED, False),
    ],
)
def test_an_error_says_as_much_as_the_caller_can_know(text: str, asked: int, code: Code, *, sent: bool) -> None:
    seen = Seen()
    _, error = struck(text, seen)
    assert (len(seen.at), error.rpc_code, error.sent) == (asked, code, sent)


def test_a_full_queue_says_when_to_come_again_as_a_bulkhead_does() -> None:
    _, error = struck("fault: full_queue, retry_after: 300ms", Seen())
    assert isinstance(error, ShedError)
    assert error.retry_after_s == 0.3
    _, error = struck("fault: error, code: unavailable, retry_after: 2s", Seen())
    assert error.retry_after_s == timedelta(seconds=2).total_seconds()


@pytest.mark.parametrize(
    ("effect", "idempotent", "asked", "again"),
    [
        (Effect.PURE, False, 2, 0),
        (Effect.READ, False, 2, 0),
        (Effect.WRITE, True, 2, 0),
        (Effect.WRITE, False, 1, 1),
    ],
)
def test_only_what_may_arrive_twice_does(effect: Effect, *, idempotent: bool, asked: int, again: int) -> None:
    seen = Seen(idempotent=idempotent)
    assert struck("fault: duplicate", seen, _effect=effect, order="W1")[1] == {"answer": 1}
    assert (len(seen.at), seen.again) == (asked, again)


def test_a_duplicate_arrives_also_when_the_first_fails_and_the_caller_hears_the_first() -> None:
    seen = Seen(fails=True)
    _, error = struck("fault: duplicate", seen, _effect=Effect.READ)
    assert (len(seen.at), error.rpc_code) == (2, Code.ABORTED)


@pytest.mark.parametrize(("text", "deadline"), [("ahead: 3s", LIMIT_S - 3), ("behind: 3s", LIMIT_S + 3)])
def test_a_skewed_clock_moves_the_deadline_that_the_component_sees(text: str, deadline: float) -> None:
    seen = Seen()
    assert struck(f"fault: clock_skew, {text}", seen)[1] == {"answer": 1}
    assert seen.deadlines == [deadline]


def test_every_fault_is_a_function_or_damages_an_answer() -> None:
    assert {*FAULTS, *DAMAGES} == set(FaultKind)
    assert not {*FAULTS} & {*DAMAGES}
