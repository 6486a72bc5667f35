"""What a trial showed: shares, counts and times, and whether they are what the plan expects."""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import ceil
from typing import Final

import msgspec

from stretto.chaos.ledger import Duplicated, Ledger
from stretto.chaos.mutation import MutationScore
from stretto.chaos.trial import ANSWERED, Trial, TrialRun
from stretto.spec.chaos_model import ChaosSpec, ExpectSpec
from stretto.types.enums import RunStatus

QUANTILES: Final = (0.5, 0.95, 0.99)
"""Of the latency."""


class FaultRow(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the plan, and what became of the runs that it struck."""

    number: int
    """Which entry it is, from 0."""
    fault: str
    what: str
    """The fault with what the plan says of it besides its place and rate: ``error (code: unavailable)``."""
    at: str
    rate: float
    injected: int
    """Calls that it struck."""
    runs: int
    """Runs in which it did."""
    outcomes: dict[str, int]
    """How these ended."""
    outcomes_alone: dict[str, int]
    """How those of them ended that no other entry struck: what is surely its own doing."""


class ComponentRow(msgspec.Struct, frozen=True, kw_only=True):
    """One component."""

    component: str
    calls: int
    attempts: int


class Broke(msgspec.Struct, frozen=True, kw_only=True):
    """A run that did not answer in time."""

    index: int
    run: str
    status: str
    reason: str
    error: str
    struck_by: tuple[str, ...]


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was expected."""

    name: str
    """As in the plan."""
    wanted: float
    found: float | None
    """None when it could not be measured."""
    met: bool


class ChaosReport(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is told of a trial."""

    workflow: str
    seed: int
    runs: int
    """That ended, or were lost."""
    stopped: bool
    """Ctrl-C came before all runs were made."""
    answered: int
    answered_rate: float
    late: int
    """Answered, after their deadline."""
    statuses: dict[str, int]
    latency_ms: dict[str, float]
    """``p50``, ``p95`` and ``p99`` of the runs, on the clock that they saw."""
    amplification: float
    components: tuple[ComponentRow, ...]
    writes: int
    duplicated_effects: tuple[Duplicated, ...]
    lost_runs: tuple[int, ...]
    redelivered: int
    """Runs that were delivered again after they had ended."""
    faults: tuple[FaultRow, ...]
    broke: tuple[Broke, ...]
    mutation: MutationScore | None
    expectations: tuple[Expectation, ...]

    @property
    def met(self) -> bool:
        """Whether every expectation is met."""
        return all(each.met for each in self.expectations)


def report_of(
    trial: Trial, chaos: ChaosSpec, seed: int, mutation: MutationScore | None, *, expected: int, stopped: bool = False
) -> ChaosReport:
    """Fold a trial, also one that was stopped; `expected` is how many runs were asked for."""
    outcomes = [trial.outcomes[index] for index in sorted(trial.outcomes)]
    ledger = trial.harness.ledger
    runs = len(outcomes) + len(trial.lost)
    answered = sum(outcome.answered for outcome in outcomes)
    late = sum(outcome.status in ANSWERED and not outcome.in_time for outcome in outcomes)
    rate = answered / runs if runs else 0.0
    statuses = Counter(outcome.status.value for outcome in outcomes)
    found = {
        "min_answered_rate": rate if runs else None,
        "max_amplification": ledger.amplification if ledger.calls else None,
        "min_mutation_score": None if mutation is None else mutation.score,
        "max_duplicated_effects": float(len(ledger.duplicated)),
        "max_lost_runs": float(len(trial.lost)),
        "max_parked_runs": float(statuses[RunStatus.PARKED]),
    }
    return ChaosReport(
        workflow=trial.workflow.name,
        seed=seed,
        runs=runs,
        stopped=stopped or runs < expected,
        answered=answered,
        answered_rate=rate,
        late=late,
        statuses={status.value: statuses[status] for status in RunStatus if statuses[status]},
        latency_ms=latencies(outcome.duration_ms for outcome in outcomes),
        amplification=ledger.amplification,
        components=tuple(
            ComponentRow(component=name, calls=calls, attempts=ledger.attempts[name])
            for name, calls in sorted(ledger.calls.items())
        ),
        writes=ledger.writes,
        duplicated_effects=tuple(ledger.duplicated),
        lost_runs=tuple(trial.lost),
        redelivered=trial.redelivered.refused + trial.redelivered.resumed,
        faults=tuple(_fault_rows(chaos, ledger, outcomes)),
        broke=tuple(_broken(chaos, outcomes, ledger)),
        mutation=mutation,
        expectations=tuple(_expectations(chaos.expect, found)),
    )


def latencies(durations_ms: Iterable[float]) -> dict[str, float]:
    """Quantiles by nearest rank: the least time, ms, that such a share of the runs did not exceed."""
    ordered = sorted(durations_ms)
    if not ordered:
        return {}
    return {f"p{round(q * 100)}": ordered[max(0, ceil(q * len(ordered)) - 1)] for q in QUANTILES}


def _fault_rows(chaos: ChaosSpec, ledger: Ledger, outcomes: Sequence[TrialRun]) -> Iterable[FaultRow]:
    ended = {outcome.index: outcome.status.value for outcome in outcomes}
    entries: dict[int, set[int]] = {}
    for injection in ledger.injections:
        entries.setdefault(injection.run, set()).add(injection.number)
    for number, fault in enumerate(chaos.faults):
        struck = [injection.run for injection in ledger.injections if injection.number == number]
        ends = Counter(ended.get(run, "lost") for run in set(struck))
        yield FaultRow(
            number=number,
            fault=fault.fault.value,
            what=fault.words,
            at=fault.place,
            rate=fault.rate,
            injected=len(struck),
            runs=len(set(struck)),
            outcomes=dict(ends),
            outcomes_alone=dict(Counter(ended.get(run, "lost") for run in set(struck) if len(entries[run]) == 1)),
        )


def _broken(chaos: ChaosSpec, outcomes: Sequence[TrialRun], ledger: Ledger) -> Iterable[Broke]:
    struck: dict[int, list[str]] = {}
    for injection in ledger.injections:
        fault = chaos.faults[injection.number]
        struck.setdefault(injection.run, []).append(f"{fault.words} at {injection.path}")
    for outcome in outcomes:
        if not outcome.answered:
            yield Broke(
                index=outcome.index,
                run=outcome.run,
                status="late" if outcome.status in ANSWERED else outcome.status.value,
                reason="" if outcome.reason is None else outcome.reason.value,
                error=outcome.error,
                struck_by=tuple(dict.fromkeys(struck.get(outcome.index, ()))),
            )


def _expectations(expect: ExpectSpec, found: dict[str, float | None]) -> Iterable[Expectation]:
    for name, value in found.items():
        wanted: float | None = getattr(expect, name)
        if wanted is None:
            continue
        met = value is not None and (value >= wanted if name.startswith("min_") else value <= wanted)
        yield Expectation(name=name, wanted=float(wanted), found=value, met=met)
