"""What is known of a workflow's fallback from one run to the next: failures in a row, and how often it answered."""

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Final, TypeAlias

import msgspec

from stretto.engine.streak import Streak, StreakState
from stretto.plan.model import BusinessFallback, Plan
from stretto.types.enums import Reason
from stretto.types.errors import BreakerOpenError
from stretto.types.ids import Digest
from stretto.types.protection import StreakRule

_log: Final = logging.getLogger(__name__)


class FallbackStats(msgspec.Struct, frozen=True, kw_only=True):
    """How often a fallback answered since the workflow was loaded."""

    triggered: int
    """``business_fallback_triggered_count``."""
    reasons: Mapping[Reason, int]
    """The same, by why."""
    state: StreakState | None = None
    """Whether what it stands in for is tried; None where it is, whatever happened."""
    failures: int = 0
    """In a row, up to now."""


class Fallbacks(msgspec.Struct, frozen=True, kw_only=True):
    """Of a workflow, and of those made from it, in this process."""

    workflow: FallbackStats | None = None
    """Of its own fallback; None without one, and before the first run."""
    components: Mapping[str, FallbackStats]
    """Of those of its steps, by the name of the component that did not answer."""


class Standby:
    """One workflow's fallback, as its runs share it."""

    def __init__(self, workflow: str, rule: StreakRule) -> None:
        self.workflow = workflow
        self.streak = Streak(rule)
        self.streak.on_change = self._tell
        self.reasons: Counter[Reason] = Counter()
        self.seen = 0.0
        """When a run last began, by its event loop's clock."""

    def count(self, reason: Reason) -> None:
        """It is asked, for this reason."""
        self.reasons[reason] += 1

    def refusal(self, now: float) -> BreakerOpenError:
        """The error of a run that is not tried."""
        wait_s = self.streak.retry_at(now) - now
        return BreakerOpenError(
            f"workflow '{self.workflow}' is not tried: {self._failures}, the last so: {self.streak.why}; it is tried "
            f"again in {wait_s:.3g} s",
            retry_after_s=wait_s,
        )

    @property
    def stats(self) -> FallbackStats:
        """How often it answered so far."""
        return _stats(self.reasons, self.streak)

    @property
    def _failures(self) -> str:
        return "its last run failed" if self.streak.failures == 1 else f"{self.streak.failures} runs in a row failed"

    def _tell(self, was: StreakState, is_now: StreakState) -> None:
        if is_now is StreakState.STICKY and was is StreakState.TRYING:
            _log.warning(
                "workflow '%s': %s, the last so: %s; its fallback answers",
                self.workflow,
                self._failures,
                self.streak.why,
            )
        elif is_now is StreakState.TRYING:
            _log.info("workflow '%s' answers again; its fallback stands by", self.workflow)


class Standbys:
    """Of all workflows made from one: runs of one manifest share theirs. Another version, or another component in the
    place of one, is tried on its own."""

    def __init__(self) -> None:
        self._known: dict[_Key, Standby] = {}
        self._retuned: dict[Digest, StreakRule] = {}
        """By manifest, what holds in place of the plan's own rule."""
        self.components: dict[str, Counter[Reason]] = {}
        """How often a step's fallback answered, by the component that did not, and why."""

    def of(self, plan: Plan, business: BusinessFallback, now: float) -> Standby:
        """That of a plan; `now` is event-loop time, and of another clock than before when it is earlier."""
        key = plan.manifest_digest, business.streak
        known = self._known.get(key)
        if known is None or known.seen > now:
            self._known[key] = known = _after(known, Standby(plan.name, business.streak))
        known.seen = now
        known.streak.rule = self._retuned.get(plan.manifest_digest, business.streak)
        return known

    def retune(self, plan: Plan, streak: StreakRule) -> None:
        """Let runs of a plan go by another rule, from the next one on; from any thread."""
        self._retuned[plan.manifest_digest] = streak

    def count(self, component: str, reason: Reason | None) -> None:
        """A step was answered by its fallback."""
        self.components.setdefault(component, Counter())[reason or Reason.ERROR] += 1

    def stats(self, plan: Plan, streaks: Mapping[str, Streak]) -> Fallbacks:
        """How often what stands by answered; the workflow's state is that of this plan, `streaks` the components'."""
        own = None if plan.business is None else self._known.get((plan.manifest_digest, plan.business.streak))
        reasons = sum((each.reasons for each in self._known.values()), Counter[Reason]())
        return Fallbacks(
            workflow=None
            if own is None
            else msgspec.structs.replace(own.stats, triggered=reasons.total(), reasons=dict(reasons)),
            components={name: _stats(counted, streaks.get(name)) for name, counted in list(self.components.items())},
        )


def _stats(reasons: Counter[Reason], streak: Streak | None) -> FallbackStats:
    return FallbackStats(
        triggered=reasons.total(),
        reasons=dict(reasons),
        state=None if streak is None else streak.state,
        failures=0 if streak is None else streak.failures,
    )


def _after(before: Standby | None, standby: Standby) -> Standby:
    """With what was counted before, on another clock."""
    if before is not None:
        standby.reasons.update(before.reasons)
    return standby


_Key: TypeAlias = tuple[Digest, StreakRule]
