"""Backward passes: the loss's gradients added to the weights, or dropped where they are no numbers."""

from collections.abc import Sequence

from torch import nn

from stretto.learn.differentiable.gradients import Gradients, Left, go_back
from stretto.learn.differentiable.loss import Loss
from stretto.learn.differentiable.surrogates import Surrogates
from stretto.learn.differentiable.underway import Computed, Underway
from stretto.learn.differentiable.weights import Weights
from stretto.learn.differentiable.whole import Noting
from stretto.plan.model import CallOp
from stretto.types.errors import ComponentError, ContractError, UsageError


class Backward:
    """Goes back through passes of a workflow's module, and counts those that gave nothing to learn from."""

    def __init__(self, whole: nn.Module, weights: Weights, surrogates: Surrogates) -> None:
        self.skipped_updates = 0
        """How many passes gave gradients that were no numbers, or none."""
        self._whole = whole
        self._weights = weights
        self._surrogates = surrogates

    def go(self, noted: Noting, loss: Loss) -> Gradients:
        """Add a pass's gradients to the parameters; drop all where one is no number, or a component elsewhere failed.

        Raises UsageError in eval mode, and where no parameter is reached from any reward.
        """
        if not self._whole.training:
            raise UsageError("the module is in eval mode, in which nothing is learnt; call `train()` first")
        parts = loss.parts
        if not parts:
            return self._of_nothing()
        try:
            go_back(parts)
        except ComponentError as error:
            self._whole.zero_grad()
            if isinstance(error, ContractError):
                raise
            return self._skipped(f"{error}. All gradients were dropped")
        left = Left(self._weights.of, copies=self._weights.are_small)
        if left.are_numbers():
            return Gradients(left, biased=self._surrogates.biased)
        wrong = left.wrong()
        self._whole.zero_grad()
        return self._skipped(_no_numbers(noted()[0], wrong))

    def _of_nothing(self) -> Gradients:
        """Where no parameter is reached: of a batch that a surrogate had first to learn from. Raises UsageError
        otherwise."""
        waiting = self._surrogates.lacking
        if not waiting:
            raise UsageError(
                "no reward of the batch depends on a parameter: the data flow reaches none, every reward is unknown, "
                "or the batch was run under torch.no_grad, which keeps no gradients"
            )
        return self._skipped(
            f"no gradient passes step '{waiting[0]}' yet: its surrogate had no data before this batch, from "
            "which it learnt. `fit_surrogates(runs)` teaches it of recorded runs first"
        )

    def _skipped(self, why: str) -> Gradients:
        self.skipped_updates += 1
        return Gradients(None, components=self._weights.of, skipped=why, biased=self._surrogates.biased)


def _no_numbers(batch: Underway, wrong: Sequence[str]) -> str:
    """Of which component the gradient is none, at the last step that calls it; what stood there before the pass may be
    of one that no step called."""
    steps = [(event.op, event.place) for event in batch.events if isinstance(event, Computed)]
    called = [
        f"'{op.component_name}' at step '{place}'"
        for op, place in steps
        if isinstance(op, CallOp) and op.component_name in wrong
    ]
    which = called[-1] if called else f"'{wrong[0]}', which no step of the batch called,"
    return (
        f"the gradient of component {which} is no number; so is that of {len(wrong) - 1} more. All gradients were "
        "dropped"
    )
