"""Workflows of modules alone: what is noted of a pass is noted when somebody asks for it."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from torch import Tensor

from stretto.learn.differentiable.chosen import Choices
from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.data import Batch
from stretto.learn.differentiable.downstream import Downstream
from stretto.learn.differentiable.inside import NoChoiceError
from stretto.learn.differentiable.later import own
from stretto.learn.differentiable.loss import SCORING
from stretto.learn.differentiable.rewards import Gain, Term, every
from stretto.learn.differentiable.straight import Calling, Straight, Tried, note
from stretto.learn.differentiable.stretches import Stretch
from stretto.learn.differentiable.underway import Underway
from stretto.plan.model import Plan
from stretto.types.enums import Estimator


@dataclass(slots=True)
class Tally(Tried):
    """The modules called, and what came of it where all is in order."""

    found: Sequence[Mapping[str, Tensor]] = ()
    choices: dict[int, Mapping[str, Choices]] = field(default_factory=dict)
    """By slot."""
    parts: list[tuple[Tensor, Tensor]] = field(default_factory=list)
    """Of the loss."""
    gain: Gain | None = None
    """None where something must be noted at once: a reward that is not known, a row that fails."""


Noting: TypeAlias = Callable[[], tuple[Underway, Cohort]]
"""What was noted of a pass."""


class Noted:
    """Noted when it is first asked for."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Noting) -> None:
        self._make = make
        self._made: tuple[Underway, Cohort] | None = None

    def __call__(self) -> tuple[Underway, Cohort]:
        if self._made is None:
            self._made = self._make()
        return self._made


class Whole:
    """The modules of such a workflow."""

    def __init__(self, straight: Straight, weights: Mapping[str, float]) -> None:
        """`weights` are those of the reward's terms, each given by one of them."""
        self._straight = straight
        self._weights = weights
        numbered = [*enumerate(straight.callings)]
        self._rewarding = [(at, each.node.component.signature.rewards) for at, each in numbered if _rewards(each)]
        self._choosing = [(at, each.node) for at, each in numbered if each.node.component.signature.chooses]

    def tried(self, data: Batch, seeds: Sequence[int]) -> Tally | None:
        """Call them; None where the requests do not fit."""
        lent = self._straight.lent(data)
        if data.has_memory or not lent.fits:
            return None
        tally = Tally((time.monotonic(), time.time_ns()))
        tally.called = self._straight.called(lent, data.references, {})
        found = None if tally.called is None else self._straight.found(tally.called, len(seeds))
        if found is not None:
            self._tell(tally, found, seeds)
        return tally

    def _tell(self, tally: Tally, found: list[dict[str, Tensor]], seeds: Sequence[int]) -> None:
        """Add choices and gain, unless a reward is not known or a choice has no probabilities."""
        size = len(seeds)
        terms: dict[str, Term] = {}
        for at, names in self._rewarding:
            for name in names:
                value = found[at][name]
                if math.isnan(sum(value.tolist())):
                    return
                if weight := self._weights.get(name):
                    value_B = own(value)
                    if value_B.requires_grad:
                        by = every(len(terms), size, value_B.dtype, weight * (-1.0 / size))
                        tally.parts.append((value_B, by))
                    terms[name] = Term(value_B, None, weight)
        try:
            for at, node in self._choosing:
                tally.choices[node.op.slot] = node.draw(seeds, node.op.name, found[at])
        except NoChoiceError:
            return
        tally.found = found
        tally.gain = Gain(terms=terms, runs=size, run_of=range(size), weights_L=None, known_B=None)

    def note(self, batch: Underway, cohort: Cohort, tally: Tally) -> None:
        """Note what came of it, as if it were done now."""
        called, found = tally.called or (), tally.found
        note(batch, cohort, self._straight.events(batch, cohort, called, found, tally.began[0], tally.choices))


def whole_of(stretches: Sequence[Stretch], plan: Plan, downstream: Downstream) -> Whole | None:
    """How a workflow is called where it is modules alone, whose rewards hang on no choice that is scored."""
    straight = stretches[0].straight if len(stretches) == 1 else None
    if straight is None or plan.memory is not None or plan.reads_run:
        return None
    given = [name for each in straight.callings for name in _rewards(each)]
    weights = plan.reward_weights or dict.fromkeys(given, 1.0)
    is_known = bool(weights) and len({*given}) == len(given) and weights.keys() <= {*given}  # each term by one of them
    if not is_known or any(_is_learnt(each, downstream) for each in straight.callings):
        return None
    return Whole(straight, weights)


def _rewards(calling: Calling) -> Sequence[str]:
    return calling.node.component.signature.rewards


def _is_learnt(calling: Calling, downstream: Downstream) -> bool:
    """Whether a choice adds to the loss, or to the rows."""
    node = calling.node
    if not node.component.signature.chooses:
        return False
    scored = node.estimator in SCORING and bool(downstream.terms(node.place))
    return scored or node.estimator is Estimator.ENUMERATE
