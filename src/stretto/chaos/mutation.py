"""The mutation score of a contract: the share of wrong values that it catches (requirement B5).

A good run is made twice; when both agree it is made again with one wrong value in one step's answer. The wrong value
fits every schema: it is another of its domain, or one of another domain, of its enum, of its range. It is *caught* when
the run then does not end ``ok``, when a crossing put back what had been there, or when the reward is lower than that of
the good run. Otherwise it survived: whoever reads the answer is told something wrong. So it is with a value that a
crossing took for another than was meant, and with one that a domain of mode ``warn`` let pass: the record tells, and
who is served does not hear of it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from stretto.chaos.domains import Domains
from stretto.chaos.draws import run_seed, source
from stretto.chaos.schedule import Mutant, MutantSchedule
from stretto.chaos.trial import Asked, Given, Trial
from stretto.chaos.wrong_values import sites
from stretto.engine.meaning import ALIGNMENTS
from stretto.plan.places import step_of
from stretto.record.model import Run
from stretto.runtime.workflow import Workflow
from stretto.types.enums import Reason, RunStatus, StepStatus
from stretto.types.json import Json

GOOD_RUNS: Final = 5
"""Inputs that are mutated, at most: more of them show the same places with other values."""

MEASURES: Final = "reward"
"""Kind of the components that judge a run; what they say is no part of its answer."""

_SLACK: Final = 1e-9
"""Of a reward: sums of floats in another order differ by less."""


class CaughtBy(StrEnum):
    """What told that a value was wrong."""

    CONTRACT = "contract"
    """A schema or a domain refused it, or what came of it: the run failed, or a fallback answered."""
    STATUS = "status"
    """The run did not end ok, for another reason."""
    ALIGNED = "aligned"
    """A crossing put back what had been there."""
    REWARD = "reward"
    """The reward was lower."""


class Survivor(msgspec.Struct, frozen=True, kw_only=True):
    """A wrong value that nothing told of."""

    step: str
    field: str
    was: Json
    wrong: Json
    run: str
    """Id of the run that it went through."""


class MutationScore(msgspec.Struct, frozen=True, kw_only=True):
    """What a contract caught of the wrong values that it was tried with."""

    good_runs: int
    """Inputs whose runs were good, and alike when they were repeated."""
    mutants: int
    caught: int
    by: dict[str, int]
    score: float | None
    """The share that was caught; None when there was nothing to try it with."""
    survivors: tuple[Survivor, ...]


class MutationTrial:
    """Measures the score of a workflow's contract."""

    def __init__(
        self,
        workflow: Workflow,
        domains: Domains,
        *,
        seed: int,
        most: int,
        run_limit_s: float,
        concurrency: int,
        on_run: Callable[[], None] | None = None,
    ) -> None:
        """`most` bounds the mutants."""
        self._domains = domains
        self._seed = seed
        self._most = most
        self._mutants: dict[int, Mutant] = {}
        self._trial = Trial(
            workflow,
            MutantSchedule(self._mutants),
            purpose="chaos-mutant",
            run_limit_s=run_limit_s,
            concurrency=concurrency,
            alone=True,  # else a breaker that opened on some mutants would hide others
            on_run=on_run,
        )

    async def go(self, given: Sequence[Given]) -> MutationScore:
        """Make good runs of some of the inputs, and mutate each step of theirs."""
        count = min(len(given), GOOD_RUNS)
        asked = {index: Asked(each, run_seed(self._seed, index)) for index, each in enumerate(given[:count])}
        made: dict[int, Run] = {}
        await self._trial.go({**asked, **{count + index: each for index, each in asked.items()}}, made.__setitem__)
        good = {index: made[index] for index in asked if _are_alike(made.get(index), made.get(count + index))}
        chosen = list(self._chosen(good))
        again: dict[int, Asked] = {}
        of: dict[int, Run] = {}
        for number, (index, mutant) in enumerate(chosen, 2 * count):
            again[number], of[number], self._mutants[number] = asked[index], good[index], mutant
        changed: dict[int, Run] = {}
        await self._trial.go(again, changed.__setitem__)
        reached = {injection.run for injection in self._trial.harness.ledger.injections}
        return self._score(len(good), of, {index: run for index, run in changed.items() if index in reached})

    def _chosen(self, good: Mapping[int, Run]) -> Iterator[tuple[int, Mutant]]:
        """Mutants of good runs: each place of a step in turn, so that none is left out for another's many values."""
        by_place: dict[tuple[str, str], list[tuple[int, Mutant]]] = {}
        seen: set[str] = set()
        for index, run in good.items():
            for mutant in self._mutants_of(run):
                place = (step_of(mutant.path), step_of(mutant.site.field))
                kind = f"{place} {mutant.site.value!r} {mutant.wrong!r}"
                if kind not in seen:
                    seen.add(kind)
                    by_place.setdefault(place, []).append((index, mutant))
        chance = source(self._seed, "mutants")
        for mutants in by_place.values():
            chance.shuffle(mutants)
        taken = 0
        while by_place and taken < self._most:
            for place in list(by_place)[: self._most - taken]:
                yield by_place[place].pop()
                taken += 1
                if not by_place[place]:
                    del by_place[place]

    def _mutants_of(self, run: Run) -> Iterator[Mutant]:
        components = self._trial.workflow.plan.components
        for step in run.steps:
            component = components.get(step.component)
            if component is None or component.card.kind == MEASURES or step.status is not StepStatus.OK:
                continue
            domains = self._domains.at(step_of(step.path))
            for site in sites(step.output_value, component.card.output, domains):
                for wrong in site.others:
                    yield Mutant(path=step.path, site=site, wrong=wrong)

    def _score(self, good: int, of: Mapping[int, Run], changed: Mapping[int, Run]) -> MutationScore:
        by: Counter[str] = Counter()
        survivors = []
        for index, run in changed.items():
            mutant = self._mutants[index]
            caught = caught_by(mutant, of[index], run)
            if caught is not None:
                by[caught.value] += 1
                continue
            survivors.append(
                Survivor(
                    step=mutant.path,
                    field=mutant.site.field,
                    was=mutant.site.value,
                    wrong=mutant.wrong,
                    run=run.id,
                )
            )
        return MutationScore(
            good_runs=good,
            mutants=len(changed),
            caught=by.total(),
            by=dict(by),
            score=by.total() / len(changed) if changed else None,
            survivors=tuple(survivors),
        )


def caught_by(mutant: Mutant, good: Run, changed: Run) -> CaughtBy | None:
    """What told that a value of the changed run was wrong; None when nothing did."""
    if changed.status is not RunStatus.OK:
        return CaughtBy.CONTRACT if _is_refused(changed) else CaughtBy.STATUS
    if _is_put_back(mutant, good, changed):
        return CaughtBy.ALIGNED
    if good.reward is not None and (changed.reward is None or changed.reward < good.reward - _SLACK):
        return CaughtBy.REWARD
    return None


def _is_refused(changed: Run) -> bool:
    """Whether something in it did not fit, in a run that was good without the mutant."""
    return Reason.CONTRACT in (changed.reason, *(step.reason for step in changed.steps))


def _is_put_back(mutant: Mutant, good: Run, changed: Run) -> bool:
    """Whether a crossing took the wrong value for what had been there, or for what that was taken for."""
    before = list(_aligned(good))
    meant = {place: to for place, _, to in before}
    return any(
        value == mutant.wrong and to == meant.get(place, mutant.site.value)
        for place, value, to in _aligned(changed)
        if (place, value, to) not in before
    )


def _aligned(run: Run) -> Iterator[tuple[tuple[str, Json], Json, Json]]:
    """Where something was aligned, in the answer of the run or at a step of it; from what, and to what."""
    for path, evidence in (("", run.evidence), *((step.path, step.evidence) for step in run.steps)):
        notes = evidence.get(ALIGNMENTS)
        for note in notes if isinstance(notes, list) else ():
            if isinstance(note, dict):
                yield (path, note["at"]), note["value"], note["to"]


def _are_alike(one: Run | None, other: Run | None) -> bool:
    """Whether both ended ok, took the same steps and said the same, so that a difference of a third is the mutant's.

    Answers in between may differ: a tool server counts its calls, or tells the time.
    """
    if one is None or other is None or one.status is not RunStatus.OK or other.status is not RunStatus.OK:
        return False
    said = (one.reward, one.output_value, {step.path for step in one.steps})
    return said == (other.reward, other.output_value, {step.path for step in other.steps})
