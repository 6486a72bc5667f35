"""What made a component of kind ``torch`` choose as it did. Shape letters: N rows, A alternatives."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from stretto.components.torch.component import TorchComponent
from stretto.components.torch.values import tensor_of
from stretto.learn.attribution import Attribution, Row, faithfulness, integrated_gradients, occlusion
from stretto.learn.explain.explained import ChoiceExplained, Faith, Part
from stretto.types.errors import UsageError
from stretto.types.json import JsonObject
from stretto.types.learning import Action


def explain_choice(
    component: TorchComponent, request: JsonObject, action: Action, *, others: Sequence[JsonObject] = ()
) -> ChoiceExplained:
    """Attribute a recorded choice to the inputs that carry gradients, by integrated gradients.

    The baseline is the mean of what the component was asked in other runs, or zeros without any. Raises UsageError for
    a component that has no input to attribute to, or does not make this choice.
    """
    signature = component.signature
    carrying = [each for each in signature.tensors if each.carries]
    if not carrying or action.name not in signature.chooses:
        raise UsageError(
            f"component '{component.card.name}' has no choice '{action.name}' that its inputs could be attributed to"
        )
    row = {each.name: tensor_of([request.get(each.name)], each.what) for each in carrying}
    means = {each.name: tensor_of([other.get(each.name) for other in others], each.what) for each in carrying if others}
    baseline = {name: means[name].mean(0, keepdim=True) if others else torch.zeros_like(row[name]) for name in row}
    score = _Score(component, request, action)
    found = integrated_gradients(score, row, baseline)
    return ChoiceExplained(
        choice=action.name,
        chosen=action.chosen,
        logprob=action.logprob,
        score=found.score,
        baseline=found.baseline,
        residual=found.residual,
        faith=Faith(**asdict(faithfulness(score, row, baseline, found.values))),
        fields=_by_field(found),
        parts=_parts(row, baseline, found, occlusion(score, row, baseline)),
    )


class _Score:
    """The chosen alternative's logit over the mean of the available ones, which no shift of all logits changes."""

    def __init__(self, component: TorchComponent, request: JsonObject, action: Action) -> None:
        self._component = component
        self._request = request
        self._choice = action.name
        self._chosen = action.support.index(action.chosen)
        self._available_A = torch.tensor(action.available or [True] * len(action.support))

    def __call__(self, row: Row) -> Tensor:
        rows = len(next(iter(row.values())))
        found = self._component.compute(self._component.module, {**row, **self._rest(rows)}, rows)
        logits_NA = found[self._choice]
        return logits_NA[:, self._chosen] - logits_NA[:, self._available_A].mean(1)

    def _rest(self, rows: int) -> dict[str, Any]:
        """What is read only, the same in every row."""
        signature, request = self._component.signature, self._request
        fixed: dict[str, Any] = {
            each.name: tensor_of([request.get(each.name)] * rows, each.what)
            for each in signature.tensors
            if not each.carries
        }
        for plain in signature.plain:
            value = request[plain.name]
            fixed[plain.name] = [value if plain.convert is None else plain.convert(value)] * rows
        return fixed


def _by_field(found: Attribution) -> dict[str, float]:
    sums = {name: float(value.sum()) for name, value in found.values.items()}
    return dict(sorted(sums.items(), key=lambda each: -abs(each[1])))


def _parts(row: Row, baseline: Row, found: Attribution, fallen: Row) -> tuple[Part, ...]:
    parts = [
        Part(
            name=name + "".join(f"[{place}]" for place in at),
            value=float(tensor[0][at]),
            baseline=float(baseline[name][0][at]),
            adds=float(found.values[name][0][at]),
            loses=float(fallen[name][0][at]),
        )
        for name, tensor in row.items()
        for at in _places(tensor.shape[1:])
    ]
    return tuple(sorted(parts, key=lambda part: -abs(part.adds)))


def _places(shape: Sequence[int]) -> list[tuple[int, ...]]:
    return [tuple(each) for each in torch.ones(*shape).nonzero().tolist()] if len(shape) else [()]
