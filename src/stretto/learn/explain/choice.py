"""What made a component of kind ``torch`` choose as it did. Shape letters: N rows, A alternatives."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np
import torch
from torch import Tensor, nn

from stretto.components.torch.component import TorchComponent
from stretto.components.torch.values import tensor_of
from stretto.learn.attribution import Attribution, Row, by_unit, faithfulness, integrated_gradients, occlusion, units_of
from stretto.learn.attribution.rows import flat
from stretto.learn.explain.embedded import Embedded, embedded, replaced, spelt
from stretto.learn.explain.explained import ChoiceExplained, Part
from stretto.types.errors import UsageError
from stretto.types.json import JsonObject
from stretto.types.learning import Action


def explain_choice(
    component: TorchComponent, request: JsonObject, action: Action, *, others: Sequence[JsonObject] = ()
) -> ChoiceExplained:
    """Attribute a recorded choice, by integrated gradients, to the inputs that carry gradients and the tokens embedded.

    The baseline of an input is the mean of what the component was asked in other runs, or zeros without any; that of a
    token is the vector of zeros. Raises UsageError for a component that has neither, or does not make this choice.
    """
    score = _Score(component, request, action)
    row, baseline = _carrying(component, request, others)
    chooses = action.name in component.signature.chooses
    tokens = embedded(component.module, partial(score.logits, row)) if chooses else {}
    for name, each in tokens.items():
        row[name], baseline[name] = each.vectors, torch.zeros_like(each.vectors)
    if not row or not chooses:
        raise UsageError(
            f"component '{component.card.name}' has no choice '{action.name}' that its inputs could be attributed to"
        )
    found = integrated_gradients(score, row, baseline)
    return ChoiceExplained(
        choice=action.name,
        chosen=action.chosen,
        logprob=action.logprob,
        score=found.score,
        baseline=found.baseline,
        residual=found.residual,
        faith=faithfulness(score, row, baseline, found.values, whole=tokens),
        fields=_by_field(found),
        parts=_parts(component.module, row, baseline, tokens, found, occlusion(score, row, baseline, whole=tokens)),
    )


def _carrying(
    component: TorchComponent, request: JsonObject, others: Sequence[JsonObject]
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The inputs that carry gradients, and their baselines."""
    carrying = [each for each in component.signature.tensors if each.carries]
    row = {each.name: tensor_of([request.get(each.name)], each.what) for each in carrying}
    if not others:
        return row, {name: torch.zeros_like(tensor) for name, tensor in row.items()}
    asked = {each.name: tensor_of([other.get(each.name) for other in others], each.what) for each in carrying}
    return row, {name: tensor.mean(0, keepdim=True) for name, tensor in asked.items()}


class _Score:
    """The chosen alternative's logit over the mean of the available ones, which no shift of all logits changes."""

    def __init__(self, component: TorchComponent, request: JsonObject, action: Action) -> None:
        self._component = component
        self._request = request
        self._choice = action.name
        self._chosen = action.support.index(action.chosen)
        self._available_A = torch.tensor(action.available or [True] * len(action.support))

    def __call__(self, row: Row) -> Tensor:
        logits_NA = self.logits(row)
        return logits_NA[:, self._chosen] - logits_NA[:, self._available_A].mean(1)

    def logits(self, row: Row) -> Tensor:
        """[N, A]; what the row names beside inputs stands in place of what layers of that name embed."""
        rows = len(next(iter(row.values()))) if row else 1
        component = self._component
        inputs = {each.name for each in component.signature.tensors if each.carries}
        vectors = {name: tensor for name, tensor in row.items() if name not in inputs}
        fields = {name: tensor for name, tensor in row.items() if name in inputs}
        with replaced(component.module, vectors):
            return component.compute(component.module, {**fields, **self._rest(rows)}, rows)[self._choice]

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


def _parts(
    module: nn.Module, row: Row, baseline: Row, tokens: Mapping[str, Embedded], found: Attribution, fallen_U: Tensor
) -> tuple[Part, ...]:
    """One of each unit, the largest first."""
    units_F = units_of(row, tokens)
    adds, loses = by_unit(flat(found.values), units_F).tolist(), fallen_U.tolist()
    named = [
        part
        for name, tensor in row.items()
        for part in (
            _words(name, spelt(module, tokens[name].ids))
            if name in tokens
            else _numbers(name, tensor, baseline[name].flatten().tolist())
        )
    ]
    parts = [
        msgspec.structs.replace(part, adds=added, loses=lost)
        for part, added, lost in zip(named, adds, loses, strict=True)
    ]
    return tuple(sorted(parts, key=lambda part: -abs(part.adds)))


def _words(name: str, words: Sequence[str]) -> list[Part]:
    return [Part(name=f"{name}[{place}]", text=word, place=place) for place, word in enumerate(words)]


def _numbers(name: str, tensor: Tensor, usual: Sequence[float]) -> list[Part]:
    places = ["".join(f"[{place}]" for place in at) for at in np.ndindex(*tensor.shape[1:])]
    return [
        Part(name=name + place, value=value, baseline=base)
        for place, value, base in zip(places, tensor.flatten().tolist(), usual, strict=True)
    ]
