"""A bulkhead in virtual time: never too many in flight, no place lost, no call sent that cannot be answered in time."""

import asyncio
import heapq
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings, strategies as st

from stretto.engine.bulkhead import Bulkhead, Slot
from stretto.engine.latency import LEAST
from stretto.engine.limit import FixedLimit, Gradient2
from stretto.testing import run_virtual
from stretto.types.errors import Code, ComponentError


def _bulkhead(limit: int = 1, queue: int = 10, *, usual_s: float | None = None) -> Bulkhead:
    """One that knows what calls take, if that is given."""
    bulkhead = Bulkhead(FixedLimit(limit), queue, name="planner")
    if usual_s is not None:
        for _ in range(LEAST):
            bulkhead.latency.add(usual_s)
    return bulkhead


async def _enter(bulkhead: Bulkhead, *, deadline: float | None = None, priority: int = 0) -> Slot:
    return await bulkhead.enter(asyncio.get_running_loop().time, deadline, priority)


async def _waiting(coroutine: Coroutine[object, object, Slot]) -> asyncio.Task[Slot]:
    """A task that has come as far as it can."""
    task = asyncio.ensure_future(coroutine)
    await asyncio.sleep(0)
    return task


def _leave(slot: Slot, took_s: float = 1.0, *, failed: bool = False) -> None:
    slot.leave(asyncio.get_running_loop().time(), took_s, failed=failed)


# places


def test_a_free_place_is_given_at_once_and_the_next_call_waits_for_it() -> None:
    async def main() -> None:
        bulkhead = _bulkhead()
        slot = await _enter(bulkhead)
        second = await _waiting(_enter(bulkhead))
        assert (bulkhead.in_flight, bulkhead.waiting) == (1, 1)
        _leave(slot)
        _leave(await second)
        assert (bulkhead.in_flight, bulkhead.waiting) == (0, 0)

    run_virtual(main())


def test_leaving_twice_frees_one_place() -> None:
    async def main() -> None:
        bulkhead = _bulkhead(2)
        slot = await _enter(bulkhead)
        await _enter(bulkhead)
        _leave(slot)
        _leave(slot)
        assert bulkhead.in_flight == 1

    run_virtual(main())


def test_the_highest_priority_is_first_and_the_first_come_within_one() -> None:
    async def main() -> list[str]:
        bulkhead = _bulkhead()
        slot = await _enter(bulkhead)
        entered: list[str] = []

        async def call(name: str, priority: int) -> None:
            mine = await _enter(bulkhead, priority=priority)
            entered.append(name)
            _leave(mine)

        calls = [("a", 0), ("b", 5), ("c", 0), ("d", 5), ("e", -1)]
        tasks = [asyncio.ensure_future(call(*each)) for each in calls]
        await asyncio.sleep(0)
        _leave(slot)
        await asyncio.gather(*tasks)
        return entered

    assert run_virtual(main()) == ["b", "d", "a", "c", "e"]


def test_a_lower_limit_lets_nobody_in_until_it_has_drained() -> None:
    async def main() -> None:
        bulkhead = _bulkhead(3)
        slots = [await _enter(bulkhead) for _ in range(3)]
        waiter = await _waiting(_enter(bulkhead))
        bulkhead.limit = FixedLimit(1)
        for in_flight, slot in zip((2, 1), slots, strict=False):
            _leave(slot)
            assert (bulkhead.in_flight, bulkhead.waiting) == (in_flight, 1)
        _leave(slots[2])
        await waiter
        assert (bulkhead.in_flight, bulkhead.waiting) == (1, 0)

    run_virtual(main())


@pytest.mark.parametrize("by", ["leaving", "entering"])
def test_a_higher_limit_lets_in_as_many_as_fit(by: str) -> None:
    async def main() -> None:
        bulkhead = _bulkhead()
        slot = await _enter(bulkhead)
        tasks = [await _waiting(_enter(bulkhead)) for _ in range(4)]
        bulkhead.limit = FixedLimit(3)
        if by == "leaving":
            _leave(slot)
            assert (bulkhead.in_flight, bulkhead.waiting) == (3, 1)
        else:
            late = await _waiting(_enter(bulkhead))
            assert (bulkhead.in_flight, bulkhead.waiting) == (3, 3)
            assert not late.done()
            late.cancel()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    run_virtual(main())


# cancellation


@pytest.mark.parametrize("order", ["handed, then cancelled", "cancelled, then handed"])
def test_a_place_handed_to_a_call_that_is_cancelled_goes_to_the_next(order: str) -> None:
    async def main() -> None:
        bulkhead = _bulkhead()
        slot = await _enter(bulkhead)
        first, second = [await _waiting(_enter(bulkhead)) for _ in range(2)]
        steps: list[Callable[[], object]] = [lambda: _leave(slot), first.cancel]
        for step in steps if order.startswith("handed") else reversed(steps):
            step()
        _leave(await second)
        assert first.cancelled()
        assert (bulkhead.in_flight, bulkhead.waiting) == (0, 0)

    run_virtual(main())


def test_a_call_that_is_refused_and_cancelled_at_once_leaves_nothing_behind() -> None:
    async def main() -> None:
        bulkhead = _bulkhead(queue=1)
        slot = await _enter(bulkhead)
        pushed_out = await _waiting(_enter(bulkhead))
        higher = await _waiting(_enter(bulkhead, priority=1))
        pushed_out.cancel()
        await asyncio.gather(pushed_out, return_exceptions=True)
        _leave(slot)
        _leave(await higher)
        assert (bulkhead.in_flight, bulkhead.waiting) == (0, 0)

    run_virtual(main())


def test_who_was_cancelled_is_not_in_the_way_of_who_comes_next() -> None:
    async def main() -> None:
        bulkhead = _bulkhead(queue=1)
        slot = await _enter(bulkhead)
        gone = await _waiting(_enter(bulkhead))
        asyncio.get_running_loop().call_later(1.0, _leave, slot)
        gone.cancel()
        _leave(await _enter(bulkhead))  # before the task of the other has run
        assert gone.cancelled()

    run_virtual(main())


def test_what_an_ended_loop_left_waiting_is_passed_over() -> None:
    bulkhead = _bulkhead()

    async def begin() -> tuple[Slot, Coroutine[object, object, Slot]]:
        slot = await _enter(bulkhead)
        left = _enter(bulkhead)
        left.send(None)
        return slot, left

    async def go_on(slot: Slot) -> None:
        waiter = await _waiting(_enter(bulkhead))
        _leave(slot)
        _leave(await waiter)

    slot, left = run_virtual(begin())
    run_virtual(go_on(slot))
    left.close()
    assert (bulkhead.in_flight, bulkhead.waiting) == (0, 0)


# shedding


def test_a_full_queue_refuses_and_says_how_full_it_is_and_what_to_do() -> None:
    async def main() -> None:
        bulkhead = _bulkhead(2, queue=1, usual_s=3.0)
        for _ in range(2):
            await _enter(bulkhead)
        waiter = await _waiting(_enter(bulkhead))
        with pytest.raises(ComponentError) as caught:
            await _enter(bulkhead)
        assert str(caught.value) == (
            "component 'planner' is full: 2 of 2 calls are in flight and 1 of 1 wait; "
            "call it later or less, or raise the limit or the queue of its bulkhead"
        )
        assert caught.value.rpc_code is Code.RESOURCE_EXHAUSTED
        assert caught.value.retry_after_s == 1.5
        assert not caught.value.sent
        waiter.cancel()

    run_virtual(main())


def test_without_a_queue_nobody_waits() -> None:
    async def main() -> None:
        bulkhead = _bulkhead(queue=0)
        await _enter(bulkhead)
        with pytest.raises(ComponentError, match="is full: 1 of 1 calls are in flight and 0 of 0 wait"):
            await _enter(bulkhead, priority=9)

    run_virtual(main())


def test_a_higher_priority_pushes_out_the_lowest_and_latest() -> None:
    async def main() -> None:
        bulkhead = _bulkhead(queue=3)
        await _enter(bulkhead)
        high, early, late = [await _waiting(_enter(bulkhead, priority=priority)) for priority in (2, 0, 0)]
        higher = await _waiting(_enter(bulkhead, priority=1))
        await asyncio.sleep(0)
        with pytest.raises(ComponentError, match="a call of higher priority took its place"):
            late.result()
        with pytest.raises(ComponentError, match="is full"):
            await _enter(bulkhead, priority=0)
        assert not any(task.done() for task in (high, early, higher))
        for task in (high, early, higher):
            task.cancel()

    run_virtual(main())


@pytest.mark.parametrize(("deadline", "ahead", "is_let_wait"), [(2.9, 0, False), (3.1, 0, True), (3.1, 1, False)])
def test_a_call_waits_only_if_its_turn_and_its_service_fit_its_deadline(
    deadline: float, ahead: int, *, is_let_wait: bool
) -> None:
    async def main() -> None:
        bulkhead = _bulkhead(usual_s=3.0)
        await _enter(bulkhead)
        before = [await _waiting(_enter(bulkhead)) for _ in range(ahead)]
        task = await _waiting(_enter(bulkhead, deadline=deadline))
        assert task.done() is not is_let_wait
        if not is_let_wait:
            with pytest.raises(ComponentError, match=rf"{deadline} s are left .* up to 3 s \(p90\) after the {ahead} "):
                task.result()
        for each in (*before, task):
            each.cancel()

    run_virtual(main())


def test_a_call_whose_time_ran_out_in_the_queue_is_refused_and_the_next_is_let_in() -> None:
    async def main() -> None:
        bulkhead = _bulkhead(usual_s=3.0)
        slot = await _enter(bulkhead)
        late = await _waiting(_enter(bulkhead, deadline=5.0))
        patient = await _waiting(_enter(bulkhead, deadline=60.0))
        await asyncio.sleep(2.5)
        _leave(slot)
        with pytest.raises(ComponentError, match=r"2\.5 s are left to its deadline"):
            await late
        _leave(await patient)

    run_virtual(main())


def test_a_component_that_was_slow_is_still_asked_when_it_is_free() -> None:
    async def main() -> None:
        bulkhead = _bulkhead(usual_s=60.0)
        _leave(await _enter(bulkhead, deadline=1.0))
        assert bulkhead.latency.quantile(0.0) == 1.0

    run_virtual(main())


@pytest.mark.parametrize(("took_s", "is_counted"), [(0.1, False), (9.0, True)])
def test_only_a_failed_call_that_was_slow_tells_what_calls_take(took_s: float, *, is_counted: bool) -> None:
    async def main() -> None:
        bulkhead = _bulkhead(usual_s=3.0)
        _leave(await _enter(bulkhead), took_s, failed=True)
        assert len(bulkhead.latency) == LEAST + is_counted

    run_virtual(main())


# whatever happens


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """One call."""

    arrives: int
    priority: int
    service: int
    deadline: int | None
    """From its arrival; only the bulkhead heeds it."""
    cancelled: int | None
    """From its arrival."""


PLANS = st.lists(
    st.builds(
        _Plan,
        arrives=st.integers(0, 20),
        priority=st.integers(0, 2),
        service=st.integers(0, 10),
        deadline=st.none() | st.integers(0, 30),
        cancelled=st.none() | st.integers(0, 15),
    ),
    min_size=1,
    max_size=40,
).map(lambda plans: sorted(plans, key=lambda plan: plan.arrives))

LIMITS = st.lists(st.integers(1, 5), min_size=1, max_size=10)


@dataclass(slots=True)
class _Book:
    """What was seen of a bulkhead."""

    entered: dict[int, float] = field(default_factory=dict)
    """By the call's place in the order of arrival, when."""
    refused: int = 0
    cancelled: int = 0


class _Loaded:
    """A bulkhead under a plan of calls, watched."""

    def __init__(self, plans: list[_Plan], limits: list[int], queue: int) -> None:
        self.plans = plans
        self.limits = limits
        self.bulkhead = _bulkhead(limits[0], queue)
        self.book = _Book()
        self.in_flight = 0
        self.is_overfull = False
        """Whether somebody entered beyond the limit of that moment."""

    async def run(self) -> None:
        changing = asyncio.ensure_future(self._change_limits())
        tasks = []
        for number, plan in enumerate(self.plans):
            await asyncio.sleep(plan.arrives - asyncio.get_running_loop().time())
            task = asyncio.ensure_future(self._call(number, plan))
            if plan.cancelled is not None:
                asyncio.get_running_loop().call_later(plan.cancelled, task.cancel)
            tasks.append(task)
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 1_000)
        changing.cancel()

    async def _change_limits(self) -> None:
        await asyncio.sleep(0.5)  # never at the moment at which a call comes or goes
        for limit in self.limits:
            self.bulkhead.limit = FixedLimit(limit)
            await asyncio.sleep(5)

    async def _call(self, number: int, plan: _Plan) -> None:
        bulkhead, book, now = self.bulkhead, self.book, asyncio.get_running_loop().time
        try:
            slot = await bulkhead.enter(now, None if plan.deadline is None else now() + plan.deadline, plan.priority)
        except ComponentError:
            book.refused += 1
            return
        except asyncio.CancelledError:
            book.cancelled += 1
            raise
        book.entered[number] = began = now()
        self.in_flight += 1
        self.is_overfull |= self.in_flight > bulkhead.limit.value
        try:
            await asyncio.sleep(plan.service)
        finally:
            self.in_flight -= 1
            slot.leave(now(), now() - began, failed=False)


@settings(max_examples=150, deadline=None)
@given(PLANS, LIMITS, st.integers(0, 6))
def test_every_call_ends_every_place_is_given_back_and_no_more_enter_than_the_limit(
    plans: list[_Plan], limits: list[int], queue: int
) -> None:
    loaded = _Loaded(plans, limits, queue)
    run_virtual(loaded.run())
    book = loaded.book
    never_ran = len(plans) - len(book.entered) - book.refused - book.cancelled
    assert never_ran <= sum(plan.cancelled == 0 for plan in plans)
    assert not loaded.is_overfull
    assert loaded.in_flight == 0
    assert (loaded.bulkhead.in_flight, loaded.bulkhead.waiting) == (0, 0)


@settings(max_examples=100, deadline=None)
@given(PLANS, st.integers(1, 4))
def test_nobody_overtakes_within_a_priority(plans: list[_Plan], limit: int) -> None:
    loaded = _Loaded(plans, [limit], len(plans))
    run_virtual(loaded.run())
    for priority in {plan.priority for plan in plans}:
        entered = [at for number, at in sorted(loaded.book.entered.items()) if plans[number].priority == priority]
        assert entered == sorted(entered)


# overload


class _Backend:
    """So many workers before one queue. It knows nothing of deadlines, and works on for callers who have gone."""

    def __init__(self, workers: int, draw: random.Random) -> None:
        self._free_at = [0.0] * workers
        self._draw = draw

    async def __call__(self) -> None:
        now = asyncio.get_running_loop().time()
        ends = max(now, heapq.heappop(self._free_at)) + self._draw.uniform(0.5, 1.5)
        heapq.heappush(self._free_at, ends)
        await asyncio.sleep(ends - now)


WORKERS = 8
SPAN_S = 100.0


def _goodput(load: float, bulkhead: Bulkhead | None) -> float:
    """Answers within a deadline of 5 s, as a part of what the backend could give, at this multiple of its capacity."""
    draw = random.Random(7)
    answered = 0

    async def call(backend: _Backend) -> None:
        nonlocal answered
        now = asyncio.get_running_loop().time
        deadline = now() + 5.0
        try:
            async with asyncio.timeout_at(deadline):
                if bulkhead is None:
                    await backend()
                else:
                    await within(bulkhead, backend, deadline)
        except (TimeoutError, ComponentError):
            return
        answered += 1

    async def within(bulkhead: Bulkhead, backend: _Backend, deadline: float) -> None:
        now = asyncio.get_running_loop().time
        slot = await bulkhead.enter(now, deadline, 0)
        began, failed = now(), True
        try:
            await backend()
            failed = False
        finally:
            slot.leave(now(), now() - began, failed=failed)

    async def main() -> None:
        backend = _Backend(WORKERS, draw)
        tasks = []
        while asyncio.get_running_loop().time() < SPAN_S:
            tasks.append(asyncio.ensure_future(call(backend)))
            await asyncio.sleep(draw.expovariate(load * WORKERS))
        await asyncio.gather(*tasks)

    run_virtual(main())
    return answered / (WORKERS * SPAN_S)


def test_at_twice_the_capacity_a_bulkhead_keeps_the_best_goodput_that_collapses_without() -> None:
    loads = (0.7, 0.9, 1.0, 2.0)
    without = [_goodput(load, None) for load in loads]
    fixed = [_goodput(load, Bulkhead(FixedLimit(WORKERS), 100, name="backend")) for load in loads]
    adaptive = [_goodput(load, Bulkhead(Gradient2(), 100, name="backend")) for load in loads]
    best = max(without + fixed + adaptive)
    assert fixed[-1] >= 0.95 * best
    assert adaptive[-1] >= 0.9 * best
    assert without[-1] <= 0.25 * best
