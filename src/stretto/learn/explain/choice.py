"""What made a component of kind ``torch`` choose as it did. Shape letters: N rows, A alternatives."""

from collections.abc import Mapping, Sequence
from functools import partial

import msgspec
import numpy as np
import torch
from torch import Tensor, nn

from stretto.components.torch.component import TorchComponent
from stretto.learn.attribution import (
    Attribution,
    Row,
    by_unit,
    faithfulness_of,
    gradient_times_input,
    integrated_gradients,
    occlusion,
    units_of,
)
from stretto.learn.attribution.integrated import POINTS
from stretto.learn.attribution.rows import flat
from stretto.learn.explain.bounds import Bounds, bounds_for
from stretto.learn.explain.chain import Asked, Link, alone, inputs_of
from stretto.learn.explain.embedded import Embedded, embedded, spelt
from stretto.learn.explain.explained import ChoiceExplained, Part
from stretto.learn.explain.scores import ChosenScore
from stretto.learn.explain.unusual import heads_and_logits
from stretto.types.errors import UsageError
from stretto.types.json import JsonObject
from stretto.types.learning import Action


def explain_choice(
    component: TorchComponent, request: JsonObject, action: Action, *, others: Sequence[JsonObject] = ()
) -> ChoiceExplained:
    """`explain_chain` for a component by itself, that was asked this, and others in other runs."""
    return explain_chain(alone(component), {"": request}, action, others=[{"": other} for other in others])


def explain_chain(link: Link, asked: Asked, action: Action, *, others: Sequence[Asked] = ()) -> ChoiceExplained:
    """Attribute a recorded choice, by integrated gradients, to the inputs that carry gradients and the tokens embedded.

    The baseline of an input is the mean of what the component was asked in other runs, or zeros without any; that of a
    token is the vector of zeros. Raises UsageError for a component that has neither, or does not make this choice.
    """
    name = link.component.options.name
    if action.name not in link.component.signature.chooses:
        raise UsageError(f"component '{name}' has no choice '{action.name}' that its inputs could be attributed to")
    score = ChosenScore(link, asked, action)
    row = inputs_of(link, [asked])
    baseline = _baseline(link, row, others)
    tokens = _tokens(link, partial(score.logits, row))
    for layer, each in tokens.items():
        row[layer], baseline[layer] = each.vectors, torch.zeros_like(each.vectors)
    if not row:
        raise UsageError(
            f"component '{name}' has neither inputs that carry gradients nor embeds tokens, so its choice "
            f"'{action.name}' has nothing that it could be attributed to"
        )
    bounds = _bounds(link, tokens)
    found = integrated_gradients(score, row, baseline, points=min(POINTS, bounds.path), most_points=bounds.path)
    adds_U, loses_U = by_unit(flat(found.values), units_of(row, tokens)), occlusion(score, row, baseline, whole=tokens)
    faith, faith_alone = faithfulness_of(score, row, baseline, [adds_U, loses_U], whole=tokens, points=bounds.curve)
    heads, logits = heads_and_logits(score, row, action, others, most_runs=bounds.runs)
    return ChoiceExplained(
        choice=action.name,
        chosen=action.chosen,
        logprob=action.logprob,
        score=found.score,
        baseline=found.baseline,
        residual=found.residual,
        faith=faith,
        faith_alone=faith_alone,
        fields=_by_field(found),
        parts=_parts(link, row, baseline, tokens, (adds_U, _slopes(score, row, baseline, tokens), loses_U)),
        through=tuple(each.path for each in link.all() if each is not link),
        compared=len(others),
        logits=logits,
        heads=heads,
    )


def _bounds(link: Link, tokens: Mapping[str, Embedded]) -> Bounds:
    weights = sum(each.numel() for one in link.all() for each in one.component.module.parameters())
    return bounds_for(weights, max((len(each.ids) for each in tokens.values()), default=1))


def _baseline(link: Link, row: Row, others: Sequence[Asked]) -> dict[str, Tensor]:
    """What is usual of each input."""
    if not others:
        return {name: torch.zeros_like(tensor) for name, tensor in row.items()}
    return {name: tensor.mean(0, keepdim=True) for name, tensor in inputs_of(link, others).items()}


def _tokens(link: Link, call: partial[Tensor]) -> dict[str, Embedded]:
    """What the layers of all modules embed, by their names."""
    found: dict[str, Embedded] = {}
    for each in link.all():
        for layer, made in embedded(each.component.module, call).items():
            found[each.prefix + layer] = made
    return found


def _by_field(found: Attribution) -> dict[str, float]:
    sums = {name: float(value.sum()) for name, value in found.values.items()}
    return dict(sorted(sums.items(), key=lambda each: -abs(each[1])))


def _slopes(score: ChosenScore, row: Row, baseline: Row, tokens: Mapping[str, Embedded]) -> Tensor:
    return by_unit(flat(gradient_times_input(score, row, baseline).values), units_of(row, tokens))


def _parts(
    link: Link, row: Row, baseline: Row, tokens: Mapping[str, Embedded], told: tuple[Tensor, Tensor, Tensor]
) -> tuple[Part, ...]:
    """One of each unit, the largest first; `told` are what each adds, its slope, and what it loses alone, [U]."""
    figures = zip(*(each_U.tolist() for each_U in told), strict=True)
    named = [
        part
        for name, tensor in row.items()
        for part in (
            _words(name, spelt(_module_of(link, name), tokens[name].ids))
            if name in tokens
            else _numbers(name, tensor, baseline[name].flatten().tolist())
        )
    ]
    parts = [
        msgspec.structs.replace(part, adds=adds, slope=slope, loses=loses)
        for part, (adds, slope, loses) in zip(named, figures, strict=True)
    ]
    return tuple(sorted(parts, key=lambda part: -abs(part.adds)))


def _module_of(link: Link, layer: str) -> nn.Module:
    """The module that has the layer of this name."""
    owners = [each for each in link.all() if each.prefix and layer.startswith(each.prefix)]
    return (owners[0] if owners else link).component.module


def _words(name: str, words: Sequence[str]) -> list[Part]:
    return [Part(name=f"{name}[{place}]", text=word, place=place) for place, word in enumerate(words)]


def _numbers(name: str, tensor: Tensor, usual: Sequence[float]) -> list[Part]:
    places = ["".join(f"[{place}]" for place in at) for at in np.ndindex(*tensor.shape[1:])]
    return [
        Part(name=name + place, value=value, baseline=base)
        for place, value, base in zip(places, tensor.flatten().tolist(), usual, strict=True)
    ]
