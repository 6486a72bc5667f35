"""A streak becomes sticky after so many failures in a row, is never stuck, and recovers by a trial."""

from hypothesis import given, strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, precondition, rule

from stretto.engine.streak import LEASE_S, MAX_WAIT_S, Streak, StreakState
from stretto.types.protection import StreakRule

TRYING, STICKY, TRIAL = StreakState.TRYING, StreakState.STICKY, StreakState.TRIAL
LEGAL = {(TRYING, STICKY), (STICKY, TRIAL), (TRIAL, STICKY), (TRIAL, TRYING), (STICKY, TRYING)}

RULE = StreakRule(after=3, retry_after_s=60.0)


def entered(streak: Streak, now: float) -> int:
    phase = streak.enter(now)
    assert phase is not None
    return phase


def fail(streak: Streak, now: float, times: int = 1) -> None:
    for _ in range(times):
        streak.failed(entered(streak, now), now, "no")


def stuck(now: float = 0.0) -> Streak:
    streak = Streak(RULE)
    fail(streak, now, RULE.after)
    return streak


def test_only_failures_in_a_row_count() -> None:
    streak = Streak(RULE)
    fail(streak, 0.0, 2)
    streak.succeeded(entered(streak, 0.0))
    fail(streak, 0.0, 2)
    assert streak.state is TRYING
    fail(streak, 0.0)
    assert streak.state is STICKY
    assert streak.failures == 3
    assert streak.why == "no"


def test_a_sticky_streak_lets_nothing_through_until_its_time() -> None:
    streak = stuck()
    assert streak.enter(59.9) is None
    assert streak.retry_at(59.9) == 60.0
    assert streak.enter(60.0) is not None
    assert streak.state is TRIAL


def test_one_trial_at_a_time_and_its_success_ends_it() -> None:
    streak = stuck()
    trial = entered(streak, 60.0)
    assert streak.enter(60.0) is None
    streak.succeeded(trial)
    assert streak.state is TRYING
    assert streak.failures == 0


def test_a_trial_that_fails_waits_twice_as_long_up_to_ten_minutes() -> None:
    streak, now, waits = stuck(), 0.0, []
    for _ in range(6):
        waits.append(streak.retry_at(now) - now)
        now = streak.retry_at(now)
        fail(streak, now)
    assert waits == [60.0, 120.0, 240.0, 480.0, MAX_WAIT_S, MAX_WAIT_S]


def test_a_wait_that_is_longer_than_ten_minutes_is_not_shortened() -> None:
    streak = Streak(StreakRule(after=1, retry_after_s=3600.0))
    fail(streak, 0.0)
    fail(streak, 3600.0)
    assert streak.retry_at(3600.0) == 7200.0


def test_a_trial_that_never_comes_back_is_given_up_and_still_counts_if_it_does() -> None:
    streak = stuck()
    lost = entered(streak, 60.0)
    assert streak.enter(60.0 + LEASE_S - 1) is None
    second = entered(streak, 60.0 + LEASE_S)
    streak.failed(second, 61.0 + LEASE_S, "again")
    streak.succeeded(lost)
    assert streak.state is TRYING


def test_a_trial_may_take_as_long_as_its_call() -> None:
    streak = stuck()
    assert streak.enter(60.0, lease_s=500.0) is not None
    assert streak.enter(559.0) is None
    assert streak.enter(560.0) is not None


def test_a_trial_that_was_cancelled_makes_room_for_another_at_once() -> None:
    streak = stuck()
    streak.dropped(entered(streak, 60.0), 60.0)
    assert streak.state is STICKY
    assert streak.enter(60.0) is not None


def test_what_began_before_it_was_sticky_says_nothing_of_what_is_now() -> None:
    streak = Streak(RULE)
    early = entered(streak, 0.0)
    fail(streak, 0.0, RULE.after)
    streak.succeeded(early)
    assert streak.state is STICKY
    streak.failed(early, 1.0, "late")
    assert streak.why == "no"


@given(st.integers(1, 20))
def test_it_is_sticky_from_the_very_failure_that_its_rule_names(after: int) -> None:
    streak = Streak(StreakRule(after=after))
    fail(streak, 0.0, after - 1)
    assert streak.state is TRYING
    fail(streak, 0.0)
    assert streak.state is STICKY


class AnyTraffic(RuleBasedStateMachine):
    """Calls that begin and end in any order, or never."""

    phases = Bundle("phases")

    @initialize()
    def begin(self) -> None:
        self.now = 0.0
        self.streak = Streak(RULE)
        self.changes: list[tuple[StreakState, StreakState]] = []
        self.streak.on_change = lambda was, now: self.changes.append((was, now))

    @rule(target=phases)
    def enter(self) -> int | None:
        return self.streak.enter(self.now)

    @rule(phase=consumes(phases), outcome=st.sampled_from(["ok", "failed", "dropped"]))
    def end(self, phase: int | None, outcome: str) -> None:
        if phase is None:
            return
        if outcome == "ok":
            self.streak.succeeded(phase)
        elif outcome == "failed":
            self.streak.failed(phase, self.now, "no")
        else:
            self.streak.dropped(phase, self.now)

    @rule(seconds=st.floats(0, 1000))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @precondition(lambda self: self.streak.state is not TRYING)
    @rule()
    def its_time_is_up(self) -> None:
        self.now = self.streak.retry_at(self.now)

    @invariant()
    def only_legal_changes_are_made(self) -> None:
        if hasattr(self, "changes"):
            assert set(self.changes) <= LEGAL

    @invariant()
    def nothing_waits_for_longer_than_it_may(self) -> None:
        if hasattr(self, "streak"):
            longest = {TRYING: 0.0, STICKY: MAX_WAIT_S, TRIAL: LEASE_S}[self.streak.state]
            assert self.streak.retry_at(self.now) - self.now <= longest + 1e-6  # of seconds: sums are rounded

    def teardown(self) -> None:
        """From here every state is reached, and left again."""
        if not hasattr(self, "streak"):
            return
        self._recover()
        fail(self.streak, self.now, RULE.after - self.streak.failures)
        assert self.streak.state is STICKY
        self.now += MAX_WAIT_S
        trial = entered(self.streak, self.now)
        assert self.streak.state is TRIAL
        self.streak.failed(trial, self.now, "no")
        assert self.streak.state is STICKY
        self._recover()

    def _recover(self) -> None:
        self.now += MAX_WAIT_S
        self.streak.succeeded(entered(self.streak, self.now))
        assert self.streak.state is TRYING


TestAnyTraffic = AnyTraffic.TestCase
