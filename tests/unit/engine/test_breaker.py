"""A breaker opens for what it saw, is never stuck, and closes again when the component is well."""

import pytest
from hypothesis import given, strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from stretto.engine.breaker import Breaker, BreakerState, Permit
from stretto.types.protection import BreakerRule

CLOSED, OPEN, HALF_OPEN = BreakerState.CLOSED, BreakerState.OPEN, BreakerState.HALF_OPEN
LEGAL = {(CLOSED, OPEN), (OPEN, HALF_OPEN), (HALF_OPEN, OPEN), (HALF_OPEN, CLOSED)}

RULE = BreakerRule(
    failure_rate=0.5,
    slow_rate=0.75,
    slow_after_s=2.0,
    window_s=60.0,
    window_calls=8,
    min_calls=4,
    open_s=5.0,
    max_open_s=20.0,
    probes=2,
    lease_s=30.0,
)

Outcome = tuple[bool, float]
OK: Outcome = (False, 0.1)
FAILED: Outcome = (True, 0.1)
SLOW: Outcome = (False, 2.5)
BOTH: Outcome = (True, 2.5)


def permitted(breaker: Breaker, now: float) -> Permit:
    permit = breaker.permit(now)
    assert permit is not None
    return permit


def call(breaker: Breaker, now: float, outcome: Outcome) -> None:
    permitted(breaker, now).done(now, *outcome)


def opened(at: float = 0.0, rule: BreakerRule = RULE) -> Breaker:
    """A breaker that opened at a time, for `open_s`."""
    breaker = Breaker(rule)
    for _ in range(rule.min_calls):
        call(breaker, at, FAILED)
    assert breaker.state is OPEN
    return breaker


@pytest.mark.parametrize(
    ("outcomes", "state"),
    [
        pytest.param([FAILED] * 3, CLOSED, id="too-few-calls-to-say"),
        pytest.param([FAILED] * 4, OPEN, id="all-failed"),
        pytest.param([OK, OK, FAILED, FAILED], OPEN, id="as-many-failed-as-the-rate"),
        pytest.param([FAILED, FAILED, OK, OK], OPEN, id="a-good-call-completes-the-least-number"),
        pytest.param([OK, OK, OK, FAILED, FAILED], CLOSED, id="fewer-failed-than-the-rate"),
        pytest.param([OK, SLOW, SLOW, SLOW], OPEN, id="as-many-slow-as-the-rate"),
        pytest.param([OK, OK, SLOW, SLOW], CLOSED, id="fewer-slow-than-the-rate"),
        pytest.param([OK, FAILED, SLOW, SLOW], CLOSED, id="failed-and-slow-do-not-add-up"),
        pytest.param([OK, OK, BOTH, BOTH], OPEN, id="a-slow-failure-counts-as-failed"),
        pytest.param([(False, 2.0)] * 8, CLOSED, id="as-long-as-the-limit-is-not-slow"),
        pytest.param([OK] * 8 + [FAILED] * 3, CLOSED, id="old-calls-count-while-they-are-in-the-window"),
        pytest.param([OK] * 5 + ([FAILED] * 3 + [OK] * 5) * 3, CLOSED, id="calls-beyond-the-window-are-forgotten"),
        pytest.param([OK] * 8 + [FAILED] * 4, OPEN, id="it-opens-however-long-it-went-well"),
    ],
)
def test_it_opens_for_what_the_window_holds(outcomes: list[Outcome], state: BreakerState) -> None:
    breaker = Breaker(RULE)
    for outcome in outcomes:
        call(breaker, 0.0, outcome)
    assert breaker.state is state


def test_calls_are_forgotten_with_time() -> None:
    breaker = Breaker(RULE)
    for _ in range(3):
        call(breaker, 0.0, FAILED)
    call(breaker, RULE.window_s, FAILED)
    assert breaker.state is CLOSED
    tally = breaker.tally(RULE.window_s)
    assert (tally.calls, tally.failed, tally.failure_rate) == (1, 1, 1.0)


def test_without_a_limit_no_call_is_slow() -> None:
    breaker = Breaker(BreakerRule())
    for _ in range(20):
        call(breaker, 0.0, (False, 1e6))
    assert breaker.tally(0.0).slow_rate == 0.0
    assert breaker.state is CLOSED


def test_an_open_breaker_lets_nothing_through_until_its_time_is_up() -> None:
    breaker = opened(100.0)
    assert breaker.permit(104.9) is None
    assert breaker.retry_at(101.0) == 105.0
    assert breaker.retry_at(200.0) == 200.0
    assert breaker.permit(105.0) is not None
    assert breaker.state is HALF_OPEN


def test_what_it_opened_for_can_be_read_while_it_is_open() -> None:
    tally = opened(100.0).tally(101.0)
    assert (tally.calls, tally.failed, tally.failure_rate, tally.slow_rate) == (4, 4, 1.0, 0.0)


def test_it_closes_when_enough_probes_went_well_and_remembers_nothing_of_before() -> None:
    breaker = opened()
    first, second = permitted(breaker, 5.0), permitted(breaker, 5.0)
    assert breaker.permit(5.0) is None
    first.done(6.0, *OK)
    assert breaker.state is HALF_OPEN
    assert breaker.permit(6.0) is None
    second.done(7.0, *OK)
    assert breaker.state is CLOSED
    assert breaker.tally(7.0).calls == 0


@pytest.mark.parametrize("badly", [FAILED, SLOW, BOTH])
def test_a_probe_that_goes_badly_opens_it_for_twice_as_long_up_to_the_most(badly: Outcome) -> None:
    breaker = opened()
    now, waits = 0.0, []
    for _ in range(5):
        waits.append(breaker.retry_at(now) - now)
        now = breaker.retry_at(now)
        call(breaker, now, badly)
    assert waits == [5.0, 10.0, 20.0, 20.0, 20.0]


def test_after_closing_it_opens_for_as_short_as_at_first() -> None:
    breaker = opened()
    call(breaker, 5.0, FAILED)
    call(breaker, 15.0, OK)
    call(breaker, 15.0, OK)
    assert breaker.state is CLOSED
    for _ in range(4):
        call(breaker, 20.0, FAILED)
    assert breaker.retry_at(20.0) == 25.0


def test_a_probe_that_never_comes_back_is_given_up() -> None:
    breaker = opened()
    lost = [permitted(breaker, 5.0), permitted(breaker, 10.0)]
    assert breaker.permit(34.9) is None
    assert breaker.retry_at(11.0) == 35.0
    next_one = permitted(breaker, 35.0)
    assert breaker.permit(35.0) is None
    assert breaker.retry_at(35.0) == 40.0
    lost[0].done(36.0, *FAILED)
    assert breaker.state is HALF_OPEN
    next_one.done(36.0, *OK)
    lost[1].done(41.0, *OK)
    assert breaker.state is HALF_OPEN


def test_a_lease_ends_on_time_though_nobody_asks() -> None:
    breaker = opened()
    permitted(breaker, 5.0).done(35.0, *FAILED)
    assert breaker.state is HALF_OPEN


def test_a_probe_that_is_dropped_counts_as_nothing_and_frees_its_place() -> None:
    breaker = opened()
    probes = [permitted(breaker, 5.0), permitted(breaker, 5.0)]
    assert breaker.permit(6.0) is None
    probes[0].drop(6.0)
    probes[0].done(6.0, *FAILED)
    assert breaker.state is HALF_OPEN
    assert breaker.permit(6.0) is not None
    assert breaker.permit(6.0) is None


def test_a_call_that_is_dropped_counts_as_nothing() -> None:
    breaker = Breaker(RULE)
    for _ in range(10):
        permitted(breaker, 0.0).drop(0.0)
    assert breaker.tally(0.0).calls == 0


def test_a_call_counts_once() -> None:
    breaker = Breaker(RULE)
    permit = permitted(breaker, 0.0)
    for _ in range(10):
        permit.done(0.0, *FAILED)
    assert breaker.tally(0.0).calls == 1


def test_a_call_of_an_earlier_state_counts_no_more() -> None:
    breaker = Breaker(RULE)
    early = [permitted(breaker, 0.0) for _ in range(8)]
    for permit in early[:4]:
        permit.done(0.0, *FAILED)
    probes = [permitted(breaker, 5.0), permitted(breaker, 5.0)]
    early[4].done(5.0, *FAILED)
    early[5].drop(5.0)
    assert breaker.state is HALF_OPEN
    assert breaker.permit(5.0) is None
    for probe in probes:
        probe.done(6.0, *OK)
    for permit in early[6:]:
        permit.done(6.0, *FAILED)
    assert breaker.state is CLOSED
    assert breaker.tally(6.0).calls == 0


def test_probes_count_no_more_once_one_went_badly() -> None:
    breaker = opened()
    call(breaker, 5.0, OK)
    bad = permitted(breaker, 5.0)
    bad.done(6.0, *FAILED)
    call(breaker, 16.0, OK)
    assert breaker.state is HALF_OPEN


def test_a_probe_still_under_way_when_another_went_badly_holds_no_place_and_counts_no_more() -> None:
    breaker = opened()
    first, second = permitted(breaker, 5.0), permitted(breaker, 5.0)
    first.done(6.0, *FAILED)
    permitted(breaker, 16.0)
    permitted(breaker, 16.0)
    second.done(17.0, *FAILED)
    assert breaker.state is HALF_OPEN
    assert breaker.permit(17.0) is None


def test_the_listener_is_told_each_change_after_it() -> None:
    breaker = Breaker(RULE)
    told: list[tuple[BreakerState, BreakerState, float]] = []

    def listen(was: BreakerState, state: BreakerState, now: float) -> None:
        assert breaker.state is state
        told.append((was, state, now))

    breaker.on_change = listen
    for _ in range(4):
        call(breaker, 1.0, FAILED)
    call(breaker, 6.0, FAILED)
    call(breaker, 16.0, OK)
    call(breaker, 17.0, OK)
    assert told == [
        (CLOSED, OPEN, 1.0),
        (OPEN, HALF_OPEN, 6.0),
        (HALF_OPEN, OPEN, 6.0),
        (OPEN, HALF_OPEN, 16.0),
        (HALF_OPEN, CLOSED, 17.0),
    ]


def test_a_rule_replaced_while_half_open_is_obeyed_at_once() -> None:
    breaker = opened()
    call(breaker, 5.0, OK)
    breaker.rule = BreakerRule(probes=1)
    call(breaker, 5.0, OK)
    assert breaker.state is CLOSED


OUTCOMES = st.sampled_from((OK, OK, FAILED, SLOW, BOTH))
RULES = st.builds(
    BreakerRule,
    failure_rate=st.sampled_from((0.1, 1 / 3, 0.5, 1.0)),
    slow_rate=st.sampled_from((0.3, 0.8, 1.0)),
    slow_after_s=st.sampled_from((None, 2.0)),
    window_s=st.sampled_from((1.0, 10.0)),
    window_calls=st.integers(5, 12),
    min_calls=st.integers(1, 5),
)


@given(RULES, st.lists(st.tuples(st.sampled_from((0.0, 0.1, 0.3, 5.0)), OUTCOMES), max_size=80))
def test_it_opens_when_a_count_of_the_whole_history_says_so(
    rule: BreakerRule, calls: list[tuple[float, Outcome]]
) -> None:
    breaker = Breaker(rule)
    history: list[tuple[float, bool, bool]] = []
    now = 0.0
    for gap, (failed, took_s) in calls:
        now += gap
        call(breaker, now, (failed, took_s))
        history.append((now, failed, rule.slow_after_s is not None and took_s > rule.slow_after_s))
        window = [entry for entry in history[-rule.window_calls :] if entry[0] + rule.window_s > now]
        failure_rate = sum(failed for _, failed, _ in window) / len(window)
        slow_rate = sum(slow for _, _, slow in window) / len(window)
        tally = breaker.tally(now)
        assert (tally.calls, tally.failure_rate, tally.slow_rate) == (len(window), failure_rate, slow_rate)
        too_many = failure_rate >= rule.failure_rate or slow_rate >= rule.slow_rate
        assert (breaker.state is OPEN) == (len(window) >= rule.min_calls and too_many)
        if breaker.state is OPEN:
            break


class AnyTraffic(RuleBasedStateMachine):
    """Calls that end well, badly, late, twice or never, in any order; and from wherever that leads, a way out."""

    permits = Bundle("permits")

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.breaker = Breaker(RULE)
        self.breaker.on_change = self.changed
        self.leases: dict[Permit, float] = {}
        """A model of the probes under way: when each is given up."""
        self.well = 0
        self.open_for = RULE.open_s

    def changed(self, was: BreakerState, state: BreakerState, now: float) -> None:
        assert (was, state) in LEGAL
        assert now == self.now
        self.leases.clear()
        self.well = 0
        if state is OPEN:
            self.open_for = RULE.open_s if was is CLOSED else min(2 * self.open_for, RULE.max_open_s)
            assert self.breaker.retry_at(now) == now + self.open_for

    @rule(seconds=st.sampled_from((0.25, 1.0, 5.0, 20.0, 30.0, 60.0)))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(target=permits)
    def begin(self) -> Permit | None:
        retry_at = self.breaker.retry_at(self.now)
        permit = self.breaker.permit(self.now)
        assert (permit is not None) == (retry_at <= self.now)
        if self.breaker.state is HALF_OPEN:
            taken = self.well + sum(end > self.now for end in self.leases.values())
            assert (permit is not None) == (taken < RULE.probes)
            if permit is not None:
                self.leases[permit] = self.now + RULE.lease_s
        return permit

    @rule(permit=permits, outcome=OUTCOMES)
    def end(self, permit: Permit | None, outcome: Outcome) -> None:
        if permit is None:
            return
        state = self.breaker.state
        counts = self.leases.pop(permit, 0.0) > self.now
        self.well += counts and outcome is OK
        closes = self.well == RULE.probes
        permit.done(self.now, *outcome)
        if state is HALF_OPEN:
            after_it = (CLOSED if closes else HALF_OPEN) if outcome is OK else OPEN
            assert self.breaker.state is (after_it if counts else HALF_OPEN)
        if state is OPEN:
            assert self.breaker.state is OPEN

    @rule(permit=consumes(permits))
    def drop(self, permit: Permit | None) -> None:
        if permit is not None:
            state = self.breaker.state
            self.leases.pop(permit, None)
            permit.drop(self.now)
            assert self.breaker.state is state

    @rule(outcomes=st.lists(OUTCOMES, max_size=6))
    def traffic(self, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            if self.breaker.state is CLOSED:
                call(self.breaker, self.now, outcome)

    @precondition(lambda self: self.breaker.state is OPEN)
    @rule()
    def its_time_is_up(self) -> None:
        self.now = self.breaker.retry_at(self.now)

    @invariant()
    def no_more_probes_are_under_way_than_the_rule_says(self) -> None:
        assert sum(end > self.now for end in self.leases.values()) <= RULE.probes

    @invariant()
    def nothing_blocks_for_longer_than_it_may(self) -> None:
        longest = {CLOSED: 0.0, OPEN: RULE.max_open_s, HALF_OPEN: RULE.lease_s}[self.breaker.state]
        assert self.breaker.retry_at(self.now) - self.now <= longest

    def teardown(self) -> None:
        """From here every state is reached, and left again."""
        self.close()
        for _ in range(RULE.window_calls):
            if self.breaker.state is CLOSED:
                call(self.breaker, self.now, FAILED)
        self.must_be(OPEN)
        self.now += RULE.max_open_s
        probe = permitted(self.breaker, self.now)
        self.must_be(HALF_OPEN)
        probe.done(self.now, *FAILED)
        self.must_be(OPEN)
        self.close()

    def close(self) -> None:
        """Wait as long as it can take, and let as many probes go well as are asked for."""
        if self.breaker.state is not CLOSED:
            self.now += max(RULE.max_open_s, RULE.lease_s)
            for _ in range(RULE.probes):
                if self.breaker.state is not CLOSED:
                    call(self.breaker, self.now, OK)
        self.must_be(CLOSED)

    def must_be(self, state: BreakerState) -> None:
        assert self.breaker.state is state


TestAnyTraffic = AnyTraffic.TestCase
