"""What the terminal, the page and the summary say alike of attention heads by the reward."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from stretto.learn.explain.explained import ChoiceCost, ChoiceExplained, Head, RewardHeads, RunExplained
from stretto.learn.explain.head_words import distances, head_text
from stretto.learn.explain.words import together
from stretto.types.words import count_text, number_text

NAMED: Final = 3
"""Heads, and choices, that are named at once."""

SAME: Final = 0.95
"""Correlation of ranks from which heads are in the same order; stock SmolLM2's were at 0.994 for a choice of eight."""

LEAST: Final = 4
"""Heads of which an order says something."""

WHERE: Final = (
    "it is followed from network to network and from their choices, and not through other steps, nor into or out of a "
    "loop, a list or a sub-workflow"
)


def reward_head_texts(told: RunExplained) -> list[str]:
    """How strongly attention heads would move the reward, in a sentence, or why it is not told; one of those that would
    not."""
    of = told.reward_heads
    if of is None:
        return []
    if of.untold:
        return [f"How attention heads would move its reward is not told: {of.untold}."]
    said = [_moving(told, of)] if of.heads else []
    if of.unreached:
        said.append(f"No gradient of its reward reaches the attention of {', '.join(together(of.unreached))}: {WHERE}.")
    return said


def _moving(told: RunExplained, of: RewardHeads) -> str:
    same, strongest = same_as(told), most_moving(of)
    if same is not None:
        odd = [head for head in strongest if head.unusual and not _is_odd_in(same.choice, head)]
        order = (
            f"in the order in which the logit of {same.choice.chosen} does (rank correlation {same.correlation:.3f})"
        )
        worth = f"about {number_text(same.factor)} of it for each 1 of the logit{f'; {_odd(odd)}' if odd else ''}"
        return f"Its reward would move with attention heads {order}: {worth}."
    usual = statistics.median(head.norm for head in of.heads)
    times = f", {number_text(strongest[0].norm / usual)} times the median of {len(of.heads):,} heads" if usual else ""
    strength = f"the gradient is {number_text(strongest[0].norm)}{times}"
    odd = [head for head in strongest if head.unusual]
    return f"Its reward would move most with attention {head_text(strongest[0])}: {strength}; {_odd(odd)}."


def _odd(odd: Sequence[Head]) -> str:
    if not odd:
        return "none is out of the ordinary"
    named = [f"{head_text(head)} ({', '.join(f'{z:+.1f} from {whom}' for z, whom in distances(head))})" for head in odd]
    return f"out of the ordinary: {_some(named)}"


def _is_odd_in(choice: ChoiceExplained, head: Head) -> bool:
    return any(_place(each) == _place(head) and each.unusual for each in choice.heads)


@dataclass(frozen=True, slots=True, kw_only=True)
class SameAs:
    """A choice whose heads are, by its logit, in the order that they are in by the reward."""

    choice: ChoiceExplained
    correlation: float
    """Of ranks."""
    factor: float
    """The reward's norms over the logit's, their median."""


def same_as(told: RunExplained) -> SameAs | None:
    """Where heads by the reward need not be told beside those by a logit. Of one choice of two that alone leads to the
    reward, both gradients are the same but for a factor; of one choice of more, nearly so."""
    choices = [each for step in told.steps for each in step.choices if each.heads]
    of = told.reward_heads
    if of is None or len(choices) != 1:
        return None
    (choice,) = choices
    by_logit, by_reward = _by_place(choice.heads), _by_place(of.heads)
    if by_logit.keys() != by_reward.keys() or len(by_logit) < LEAST or not all(by_logit.values()):
        return None
    places = sorted(by_logit)
    one, other = [by_logit[each] for each in places], [by_reward[each] for each in places]
    correlation = statistics.correlation(_ranks(one), _ranks(other))
    factor = statistics.median(of_reward / of_logit for of_logit, of_reward in zip(one, other, strict=True))
    return SameAs(choice=choice, correlation=correlation, factor=factor) if correlation >= SAME else None


def _by_place(heads: Sequence[Head]) -> dict[tuple[str, str, int], float]:
    return {_place(head): head.norm for head in heads}


def _place(head: Head) -> tuple[str, str, int]:
    return head.step, head.layer, head.head


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=lambda at: values[at])
    ranks = [0.0] * len(values)
    for rank, at in enumerate(order):
        ranks[at] = float(rank)
    return ranks


def most_moving(of: RewardHeads) -> list[Head]:
    """The strongest first."""
    return sorted(of.heads, key=lambda head: -head.norm)


def estimated_text(of: RewardHeads) -> str:
    """By what the reward has a gradient."""
    ways = [f"{', '.join(of.terms)} as modules computed it"] if of.terms else []
    costs = sorted(of.choices, key=lambda each: -abs(each.cost))
    if costs:
        ways.append(f"the log-probability of {_some([_scored(each) for each in costs])}")
    how = "estimated from this run alone: " if costs else ""
    return f"{how}the gradient of {', and of '.join(ways)}"


def _scored(each: ChoiceCost) -> str:
    over = f" over the mean of {count_text(each.others, 'other run')}" if each.others else ""
    return f"{each.step}.{each.choice} times {each.cost:+.4g}, what followed it{over}"


def _some(named: Sequence[str]) -> str:
    left = len(named) - NAMED
    return f"{'; '.join(named[:NAMED])}{f'; and {left:,} more' if left > 0 else ''}"
