"""What a pass over a batch came to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from stretto.learn.differentiable.backward import Backward
from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.columns import Column, Tensors
from stretto.learn.differentiable.copies import Copies
from stretto.learn.differentiable.gradients import Gradients
from stretto.learn.differentiable.index import Index
from stretto.learn.differentiable.later import of_the_pass
from stretto.learn.differentiable.loss import Loss, loss_of
from stretto.learn.differentiable.reading import Source, column_of, source_of
from stretto.learn.differentiable.rewards import gain_of
from stretto.learn.differentiable.sealer import Sealer
from stretto.learn.differentiable.surrogates import Surrogates
from stretto.learn.differentiable.underway import Underway, perturbed_in
from stretto.learn.differentiable.whole import Noting
from stretto.plan.model import Plan
from stretto.record.model import Run
from stretto.types.json import Json


@dataclass(kw_only=True)
class Outcome:
    """Outputs, rewards and runs of one batch, and the loss that goes back through it."""

    parts: Loss
    perturbed: frozenset[int]
    """Runs, by their place, in which a component was perturbed."""
    noted: Noting
    version: tuple[int, int]
    """Of the weights that it was computed with."""
    output: Sequence[tuple[str, Source]]
    """What the workflow answers, field by field."""
    sealer: Sealer
    passes_back: Backward

    @property
    def loss(self) -> Tensor:
        """A number whose value is minus the mean known reward, and whose gradient is that of its expectation,
        estimated."""
        return self.parts.value

    @property
    def has_gradient(self) -> bool:
        """Whether a known reward of the batch, or what a choice of it adds, depends on a parameter."""
        return bool(self.parts.parts)

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """Each field of the workflow's output."""
        with of_the_pass():
            return self._columns()

    def _columns(self) -> Mapping[str, Column]:
        batch, cohort = self.noted()
        columns = {name: column_of(source, cohort.frame)[0] for name, source in self.output}
        if cohort.size == len(batch.data):
            return columns
        drawn = Index([row for row, life in enumerate(cohort.lives) if life < len(batch.data)])
        return {name: column.take(drawn) for name, column in columns.items()}

    @cached_property
    def outputs(self) -> dict[str, Tensor | list[Json]]:
        """Each field of the workflow's output: a tensor [B, ...] with its graph, or B JSON values."""
        return {name: _shown(column) for name, column in self.columns.items()}

    @cached_property
    def rewards(self) -> Tensor:
        """[B], float64, with the graph of what modules computed; NaN, and never 0, where a reward is unknown."""
        with of_the_pass():
            value_B, known_B = self.parts.gain.of_runs()
            return value_B if known_B is None else torch.where(known_B, value_B, torch.full_like(value_B, torch.nan))

    @cached_property
    def known(self) -> Tensor:
        """[B], bool: whose reward is known."""
        known_B = self.parts.gain.known_B
        with of_the_pass():
            return torch.ones(self.parts.gain.runs, dtype=torch.bool) if known_B is None else known_B

    @cached_property
    def runs(self) -> list[Run]:
        """A sealed Run for each request, in their order. Raises UsageError once the weights have changed."""
        return self.sealer.runs(self.noted, self.version)

    def backward(self) -> Gradients:
        """Add the loss's gradients to the parameters; says how large they are, and which were no numbers.

        Gradients that are not all numbers are dropped, so that the optimiser's step changes nothing. Raises UsageError
        in eval mode, and where the data flow reaches no parameter from any reward.
        """
        return self.passes_back.go(self.noted, self.parts)


class Outcomes:
    """Makes them of a workflow's passes."""

    def __init__(
        self, plan: Plan, copies: Copies, surrogates: Surrogates, sealer: Sealer, passes_back: Backward
    ) -> None:
        self._reward_weights = plan.reward_weights
        self._output = [(name, source_of(get, plan.output_reads, plan.slots)) for name, get in plan.output]
        self._copies = copies
        self._surrogates = surrogates
        self._sealer = sealer
        self._passes_back = passes_back

    def ended(self, batch: Underway, cohort: Cohort, *, learns: bool) -> Outcome:
        """Of a pass that was noted, all of it, from which surrogates learn where `learns` says so."""
        surrogates = self._surrogates
        gain = gain_of(batch, cohort, self._reward_weights)
        loss = loss_of(batch, gain, surrogates.downstream, surrogates.foretelling)
        surrogates.foretelling.end(self._copies.behaviour if learns else None)
        for passing in surrogates.passings.values():
            passing.end(learns=learns)
        perturbed = perturbed_in(batch) if batch.adversaries or batch.strangers else frozenset()
        return self.of(loss, lambda: (batch, cohort), perturbed)

    def of(self, loss: Loss, noted: Noting, perturbed: frozenset[int] = frozenset()) -> Outcome:
        """Of a pass whose loss is known, and of which the rest is noted."""
        return Outcome(
            parts=loss,
            perturbed=perturbed,
            noted=noted,
            version=self._copies.weights.version(),
            output=self._output,
            sealer=self._sealer,
            passes_back=self._passes_back,
        )


def _shown(column: Column) -> Tensor | list[Json]:
    return column.value if isinstance(column, Tensors) and column.present is None else column.json
