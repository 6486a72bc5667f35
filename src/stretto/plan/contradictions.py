"""Rules that cannot all be kept, found before a run: what could never act, and what would be cut short.

An error is what no run can keep; what only some can is a note. Times are held against the *working time*, which is the
budget's deadline less its reserve.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

from stretto.plan.codes import PlanCode
from stretto.plan.fields import Reader
from stretto.plan.made_again import retry_of
from stretto.spec.contract_model import SlaSpec
from stretto.spec.durations import render
from stretto.spec.model import ResilienceSpec, RetrySpec, StepSpec, steps_in
from stretto.spec.source import Span
from stretto.types.budget import BudgetSpec

ROUNDING_S: Final = 1e-9
"""By which a sum of seconds may be off."""

_RETRY, _TIMEOUT, _BULKHEAD = "retry", "timeout", "bulkhead"


def check_contradictions(
    steps: Sequence[StepSpec], budget: BudgetSpec, sla: Mapping[str, SlaSpec], reader: Reader
) -> None:
    """Report the rules of a workflow's steps that contradict its budget, its contract, or each other."""
    calls = [step for step in steps_in(steps) if step.component is not None]
    for step in calls:
        _Step(step, budget, sla.get(step.name.value), reader).check()
    _check_fallbacks(calls, budget, sla, reader)
    _check_slow_calls(calls, sla, reader)


def time_out_of(step: StepSpec, sla: SlaSpec | None) -> timedelta | None:
    """How long one attempt may take: as the step says, else as the contract does."""
    return step.resilience.timeout or (None if sla is None else sla.max_latency)


class _Step:
    """One step's rules."""

    def __init__(self, step: StepSpec, budget: BudgetSpec, sla: SlaSpec | None, reader: Reader) -> None:
        self._name = step.name.value
        self._rules: ResilienceSpec = step.resilience
        self._at = step.name.span
        self._sla = sla
        self._reader = reader
        self._time_out = time_out_of(step, sla)
        self._work = budget.working
        self._left = "the run's deadline" if not budget.reserve else "the run's deadline less its reserve"

    def check(self) -> None:
        self._check_promise()
        is_over = self._check_time_out()
        if self._rules.retry is not None and self._rules.retry.attempts > 1 and self._work is not None:
            self._check_retry(self._rules.retry, self._work, is_over=is_over)
        self._check_hedge()
        self._check_queue()

    def _check_promise(self) -> None:
        """A time-out beyond what the contract lets a call take lets calls break it."""
        timeout = self._rules.timeout
        longest = None if self._sla is None else self._sla.max_latency
        if timeout is not None and longest is not None and timeout > longest:
            self._add(
                _TIMEOUT,
                f"`timeout` of step '{self._name}' is {render(timeout)}, and the contract promises that its calls end "
                f"within {render(longest)}",
                f"a time-out of at most {render(longest)}",
                f"timeout: {render(longest)}",
            )

    def _check_time_out(self) -> bool:
        """Whether the time-out is longer than the run."""
        if self._time_out is None or self._work is None or self._time_out <= self._work:
            return False
        what = "`timeout`" if self._rules.timeout is not None else "`max_latency`"
        at = self._sla.target.span if self._rules.timeout is None and self._sla is not None else None
        self._add(
            _TIMEOUT,
            f"{what} of step '{self._name}' is {render(self._time_out)}, and {self._left} leaves "
            f"{render(self._work)}: it could never strike",
            f"at most {render(self._work)}",
            f"a longer deadline, or {what.strip('`')}: {render(self._work)}",
            at,
        )
        return True

    def _check_retry(self, retry: RetrySpec, work: timedelta, *, is_over: bool) -> None:
        """How many attempts the deadline leaves time for."""
        if retry.base >= work:
            self._add(
                _RETRY,
                f"step '{self._name}' waits up to {render(retry.base)} before its first retry, and {self._left} "
                f"leaves {render(work)}",
                "a `base` well within the working time",
                f"base: {render(max(work / 10, timedelta(milliseconds=1)))}, or a longer deadline",
            )
            return
        fits = attempts_that_fit(retry, self._time_out or timedelta(), work)
        if fits < retry.attempts and not is_over:
            each = "" if self._time_out is None else f" when each takes its {render(self._time_out)}"
            self._reader.note(
                self._place(_RETRY),
                f"of the {retry.attempts} attempts of step '{self._name}' {self._left} leaves time for {fits}"
                f"{each} and waits are the longest",
            )

    def _check_hedge(self) -> None:
        """A copy that would be made only after the call has ended is never made."""
        hedge = self._rules.hedge
        if hedge is None or hedge.value.after_s is None or self._time_out is None:
            return
        after = timedelta(seconds=hedge.value.after_s)
        if after >= self._time_out:
            self._add(
                "hedge",
                f"a call of step '{self._name}' is made again after {render(after)}, and ends after "
                f"{render(self._time_out)}: no copy is ever made",
                f"`after` below {render(self._time_out)}",
                f"after: {render(self._time_out / 2)}",
            )

    def _check_queue(self) -> None:
        """Places in a queue from which no call could be served in time."""
        bulkhead, p95 = self._rules.bulkhead, None if self._sla is None else self._sla.p95_latency
        rule = None if bulkhead is None else bulkhead.value.rule
        if rule is None or rule.limit is None or p95 is None or self._time_out is None:
            return
        served = int(self._time_out / p95) * rule.limit
        waiting = max(0, served - rule.limit)
        if rule.queue > waiting:
            self._reader.note(
                self._place(_BULKHEAD),
                f"the bulkhead of '{self._name}' lets {rule.queue} calls wait, and with {rule.limit} at once of "
                f"{render(p95)} each, {waiting} of them can end within {render(self._time_out)}; the others are shed",
            )

    def _place(self, key: str) -> Span:
        return self._rules.places.get(key, self._at)

    def _add(self, key: str, message: str, expected: str, suggestion: str, at: Span | None = None) -> None:
        place = at or self._place(key)
        self._reader.report.add(
            place.problem(PlanCode.CONTRADICTION, message, expected=expected, suggestion=suggestion)
        )


def attempts_that_fit(retry: RetrySpec, each: timedelta, work: timedelta) -> int:
    """Attempts that end within the working time when all take their time-out and the waits are the longest."""
    rule, spent_s, count = retry_of(retry), each.total_seconds(), 0
    while count < retry.attempts and spent_s <= work.total_seconds() + ROUNDING_S:
        count += 1
        spent_s += rule.longest_wait_s(count) + each.total_seconds()
    return count


def _check_fallbacks(calls: Sequence[StepSpec], budget: BudgetSpec, sla: Mapping[str, SlaSpec], reader: Reader) -> None:
    """Note a fallback that may take longer than what is kept for it."""
    if not budget.reserve:
        return
    known: dict[str, timedelta] = {}
    for step in calls:
        longest = time_out_of(step, sla.get(step.name.value))
        if longest is not None and step.component is not None:
            known[step.component.value] = max(longest, known.get(step.component.value, longest))
    for step in calls:
        fallback = step.resilience.fallback
        component = None if fallback is None else fallback.component
        longest = None if component is None else known.get(component.value)
        if component is not None and longest is not None and longest > budget.reserve:
            reader.note(
                component.span,
                f"the fallback '{component.value}' may take {render(longest)}, and the reserve for it is "
                f"{render(budget.reserve)}: when step '{step.name.value}' fails at the last moment, it is cut short",
            )


def _check_slow_calls(calls: Sequence[StepSpec], sla: Mapping[str, SlaSpec], reader: Reader) -> None:
    """A call that is slow only after every time-out of its component is never slow."""
    for step in calls:
        breaker = step.resilience.breaker
        if breaker is None or breaker.value.slow_after_s is None or step.component is None:
            continue
        same = [each for each in calls if each.component is not None and each.component.value == step.component.value]
        outs = [time_out_of(each, sla.get(each.name.value)) for each in same]
        slow = timedelta(seconds=breaker.value.slow_after_s)
        known = [each for each in outs if each is not None]
        if len(known) == len(outs) and slow >= max(known):
            reader.report.add(
                breaker.span.problem(
                    PlanCode.CONTRADICTION,
                    f"a call of '{step.component.value}' is slow after {render(slow)}, and every step that makes one "
                    f"ends it after {render(max(known))}: none is ever slow",
                    expected=f"`slow_after` below {render(max(known))}",
                    suggestion=f"slow_after: {render(max(known) / 2)}",
                )
            )
