"""Hold what the steps promise against what is promised of the whole, and say where nothing can be held."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from stretto.plan.codes import PlanCode
from stretto.plan.fields import Reader
from stretto.plan.model import Plan
from stretto.plan.sla.call import ROUNDING, retried_success
from stretto.plan.sla.compose import WORKFLOW, Part, compose, ends
from stretto.plan.sla.figures import Bound, rounded
from stretto.plan.sla.promise import Promise
from stretto.plan.sla.slack import Targets
from stretto.spec.contract_model import ContractSpec
from stretto.spec.durations import render_s, seconds
from stretto.spec.source import Span
from stretto.types.budget import BudgetSpec

_SHOWN: Final = 5
"""Steps that one message names."""


def targets_of(whole: Part, budget: BudgetSpec) -> Targets:
    """What the workflow must keep: its own promise, and within the time that its budget leaves for ordinary work.

    What ends every run in time needs no promise of the steps: a deadline within `max_latency` keeps that.
    """
    promise, work_s = whole.promise, seconds(budget.working)
    p95 = [limit for limit in (promise.p95_s, promise.max_s, work_s) if limit is not None]
    return Targets(
        p95_s=min(p95, default=None),
        worst_s=_max_to_keep(promise, budget),
        success=promise.min_success,
        answered=None if promise.max_fallback is None else 1 - promise.max_fallback,
    )


def _max_to_keep(promise: Promise, budget: BudgetSpec) -> float | None:
    is_kept = budget.deadline is not None and promise.max_s is not None and _deadline_s(budget) <= promise.max_s
    return None if is_kept else promise.max_s


def hold_promises(plan: Plan, contract: ContractSpec, reader: Reader) -> None:
    """Report what the promises of the steps do not keep, and note what cannot be known."""
    if not contract.sla:
        return
    places = {spec.target.value: spec.target.span for spec in contract.sla}
    whole = compose(plan)
    for part in _parts_of(whole):
        name = part.name or WORKFLOW
        if name in places:
            budget = plan.budget if part is whole else BudgetSpec()
            _Held(part, name, places[name], reader).hold(_max_to_keep(part.promise, budget))
    _hold_to_deadline(whole, plan.budget, places.get(WORKFLOW, contract.sla[0].target.span), reader)
    if WORKFLOW not in places:
        reader.note(
            contract.sla[0].target.span,
            "`sla` promises nothing of the workflow, so what its steps promise is held against "
            + ("nothing" if plan.budget.deadline is None else "its deadline alone"),
        )


class _Held:
    """One promise, held against what the parts come to."""

    def __init__(self, part: Part, name: str, place: Span, reader: Reader) -> None:
        self._part = part
        self._whose = "the workflow" if name == WORKFLOW else f"step '{name}'"
        self._place = place
        self._reader = reader

    def hold(self, max_s: float | None) -> None:
        """`max_s` is what its steps must keep at worst, where nothing else keeps that."""
        promise, composed = self._part.promise, self._part.composed
        if self._part.terms is not None:
            self._hold_fallbacks_of_call()
            return
        unknown: dict[str, frozenset[str]] = {}
        for key, limit_s, bound in (
            ("p95_latency", promise.p95_s, composed.p95_s),
            ("max_latency", max_s, composed.worst_s),
        ):
            if limit_s is not None and bound.value > limit_s * (1 + ROUNDING):
                self._report_late(key, limit_s, bound)
            elif limit_s is not None and not _surely_within(composed.worst_s, limit_s):
                unknown[key] = bound.unknown
        least, most = promise.min_success, promise.max_fallback
        if least is not None and composed.success.value < least * (1 - ROUNDING):
            self._report_rate("min_success_rate", least, composed.success, "success", "at least")
        elif least is not None:
            unknown["min_success_rate"] = composed.success.unknown
        if most is not None and composed.fallback.value > most * (1 + ROUNDING) + ROUNDING:
            self._report_rate("max_fallback_rate", most, composed.fallback, "fallback", "at most")
        elif most is not None:
            unknown["max_fallback_rate"] = composed.fallback.unknown
        self._note_unknown({key: names for key, names in unknown.items() if names})

    def _report_late(self, key: str, limit_s: float, bound: Bound) -> None:
        part = self._part
        index = 1 if key == "p95_latency" else 0
        terms = [(each.name, _pair(each)[index]) for each in _slowest_way(part, index)]
        sums = _listed([f"{name} {render_s(time)}" for name, time in terms if time], " + ")
        times = f", {part.rounds} rounds of" if part.rounds > 1 else ":"
        other = "less of its slowest step"
        if key == "max_latency":
            other = f"a deadline of {render_s(limit_s)} in the budget, which keeps it"
        self._add(
            f"`{key}` of {self._whose} is promised as {render_s(limit_s)}, and what its steps promise comes to "
            f"{render_s(bound.value)}{times} {sums}",
            f"steps that keep {render_s(limit_s)} together",
            f"{key}: {render_s(bound.value)} of {self._whose}, or {other}",
        )

    def _report_rate(self, key: str, limit: float, bound: Bound, field: str, word: str) -> None:
        rates = [(each.name, getattr(each.figures, field).value) for each in self._part.parts]
        told = [(name, rate) for name, rate in rates if rate != (1 if field == "success" else 0)]
        shown = _listed([f"{name} {rate:.6g}" for name, rate in told], ", ")
        reached = _rate(bound.value, up=field == "fallback")
        remedy = "a retry or a fallback for" if field == "success" else "fewer fallbacks of"
        self._add(
            f"`{key}` of {self._whose} is promised as {limit:g}, and what its steps promise comes to "
            f"{reached}: {shown}",
            f"steps that together come to {word} {limit:g}",
            f"{key}: {reached} of {self._whose}, or {remedy} one of them",
        )

    def _hold_fallbacks_of_call(self) -> None:
        """A step must not need its fallback more often than is promised."""
        terms, most = self._part.terms, self._part.promise.max_fallback
        if terms is None or most is None:
            return
        if terms.stand is None:
            self._reader.note(
                self._place, f"`max_fallback_rate` of {self._whose} holds nothing: the step has no fallback"
            )
            return
        retried = retried_success(terms)
        if retried.is_whole and 1 - retried.value > most * (1 + ROUNDING) + ROUNDING:
            self._add(
                f"`max_fallback_rate` of {self._whose} is promised as {most:g}, and of its calls up to "
                f"{_rate(1 - retried.value, up=True)} may fail",
                f"a `min_success_rate` with which at most {most:g} fail",
                f"max_fallback_rate: {_rate(1 - retried.value, up=True)}",
            )

    def _note_unknown(self, unknown: Mapping[str, frozenset[str]]) -> None:
        by_names: dict[frozenset[str], list[str]] = {}
        for key, names in unknown.items():
            by_names.setdefault(names, []).append(f"`{key}`")
        for names, keys in by_names.items():
            self._reader.note(
                self._place,
                f"{' and '.join(keys)} of {self._whose} cannot be composed: too little is promised of "
                f"{_listed(sorted(names), ', ')}; give what is missing there under `sla` of the contract, or take the "
                "promise of the whole away",
            )

    def _add(self, message: str, expected: str, suggestion: str) -> None:
        self._reader.report.add(self._place.problem(PlanCode.SLA, message, expected=expected, suggestion=suggestion))


def _surely_within(worst_s: Bound, limit_s: float) -> bool:
    """What never takes longer takes no longer in 95 of 100 cases either, whatever is promised of those."""
    return worst_s.is_whole and worst_s.value <= limit_s * (1 + ROUNDING)


def _hold_to_deadline(whole: Part, budget: BudgetSpec, place: Span, reader: Reader) -> None:
    """Of runs that the deadline cuts more often than in 5 of 100, nothing can be promised."""
    work_s = seconds(budget.working)
    if work_s is None:
        return
    took_s = max(ends([each.figures.p95_s.value for each in whole.parts], whole.before), default=0.0)
    if took_s > work_s * (1 + ROUNDING):
        way = _listed([f"{each.name} {render_s(each.figures.p95_s.value)}" for each in _slowest_way(whole, 1)], " + ")
        reserve = f", {render_s(budget.reserve.total_seconds())} of it for fallbacks" if budget.reserve else ""
        reader.report.add(
            place.problem(
                PlanCode.SLA,
                f"the run's deadline is {render_s(_deadline_s(budget))}{reserve}, and 95 of 100 runs may need "
                f"{render_s(took_s)} of what is promised: {way}",
                expected=f"steps that keep {render_s(work_s)} together",
                suggestion=f"a deadline of {render_s(took_s + budget.reserve.total_seconds())} or more",
            )
        )


def _slowest_way(whole: Part, index: int) -> Sequence[Part]:
    """The parts of the longest way through a block."""
    times = [_pair(each)[index] for each in whole.parts]
    ended = ends(times, whole.before)
    if not ended:
        return []
    way, at = [], max(range(len(ended)), key=ended.__getitem__)
    while True:
        way.append(whole.parts[at])
        if not whole.before[at]:
            return way[::-1]
        at = max(whole.before[at], key=ended.__getitem__)


def _pair(part: Part) -> tuple[float, float]:
    return part.figures.worst_s.value, part.figures.p95_s.value


def _parts_of(whole: Part) -> Iterator[Part]:
    yield whole
    for part in whole.parts:
        yield from _parts_of(part)


def _deadline_s(budget: BudgetSpec) -> float:
    return 0.0 if budget.deadline is None else budget.deadline.total_seconds()


def _rate(value: float, *, up: bool) -> str:
    """To six digits, to the side on which it may be promised."""
    return f"{rounded(value, 6, up=up):.6g}"


def _listed(words: Sequence[str], between: str) -> str:
    more = [f"{len(words) - _SHOWN} more"] if len(words) > _SHOWN else []
    return between.join([*words[:_SHOWN], *more])
