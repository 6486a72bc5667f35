"""How strongly the attention heads of a run's modules would move its reward."""

from collections.abc import Collection, Sequence
from typing import Final

from stretto.learn.explain.bounds import bounds_for
from stretto.learn.explain.chain import Link
from stretto.learn.explain.explained import ChoiceCost, RewardHeads
from stretto.learn.explain.heads import HeadNorms, gradient_norms, heads_in
from stretto.learn.explain.judging import Judging
from stretto.learn.explain.ordinary_heads import Norms, judged_heads
from stretto.learn.explain.scores import RewardScore, Scored
from stretto.learn.explain.unusual import heads_of
from stretto.plan.model import Plan
from stretto.record.model import Run
from stretto.types.errors import UsageError

UNKNOWN: Final = "it has none, or none that is known yet"

USUAL: Final = (
    "what followed its choices came to just what it comes to in other runs, so that this run tells no direction"
)


def heads_by_reward(plan: Plan, run: Run, others: Sequence[Run], steps: Collection[str]) -> RewardHeads | None:
    """Of these steps, given by their paths; None where none of them has attention heads.

    One pass forward and back for the run, and one for each other run that it is compared with. Raises UsageError for a
    component that chooses of other alternatives by now.
    """
    judging = Judging(plan, run, others)
    attending = _attending(judging, run, steps)
    if not attending:
        return None
    if run.reward is None:
        return RewardHeads(untold=UNKNOWN)
    score = judging.score(0)
    found = [each for each in heads_of(score.links) if each.step in attending]
    told = gradient_norms(found, score)
    norms = {place: each for place, each in told.by_place.items() if any(each)}
    if not norms and score.choices and not score.terms and not any(each.cost for each in score.choices):
        return RewardHeads(untold=USUAL)
    elsewhere = _elsewhere(judging, attending, _most_runs(score, told)) if norms else []
    reached = {step for step, _ in norms}
    return RewardHeads(
        terms=tuple(dict.fromkeys(each.name for each in score.terms if _passes(each.link, reached))),
        choices=tuple(_cost(each) for each in score.choices if _passes(each.link, reached)),
        heads=judged_heads(found, norms, elsewhere, relative=True),
        compared=len(elsewhere),
        unreached=tuple(step for step in attending if step not in reached),
    )


def _attending(judging: Judging, run: Run, steps: Collection[str]) -> list[str]:
    """Steps whose modules have attention heads."""
    found = [(step.path, judging.module_of(step)) for step in run.steps if step.path in steps]
    return [path for path, component in found if component is not None and heads_in(component.module)]


def _passes(link: Link, steps: Collection[str]) -> bool:
    return any(each.path in steps for each in link.all())


def _most_runs(score: RewardScore, told: HeadNorms) -> int:
    weights = sum(each.numel() for link in score.links for each in link.component.module.parameters())
    return bounds_for(weights, told.positions).runs


def _elsewhere(judging: Judging, attending: Collection[str], most: int) -> list[Norms]:
    """The same of other runs, each by what came of it."""
    found: list[Norms] = []
    for number in range(1, len(judging.runs))[:most]:
        try:
            score = judging.score(number)
        except UsageError:  # by a version that chose of others
            continue
        heads = [each for each in heads_of(score.links) if each.step in attending]
        norms = gradient_norms(heads, score).by_place
        if any(any(each) for each in norms.values()):
            found.append(norms)
    return found


def _cost(scored: Scored) -> ChoiceCost:
    return ChoiceCost(step=scored.link.path, choice=scored.action.name, cost=scored.cost, others=scored.others)
