"""The surrogates of choices that are learnt from by `relax`: what they are shown of a step, used, and then learn.

A surrogate is shown what the module was: its real tensors, and the log-probabilities that it came to, which also tell
of text and other context that no tensor holds. Neither depends on the draw. Shape letters: N rows, F features, A
alternatives.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from stretto.components.torch.shape import OneOf, Tensorial
from stretto.components.torch.signature import PROBABILITIES, TorchSignature
from stretto.learn.differentiable.building import inside_of
from stretto.learn.differentiable.columns import Column, Rows
from stretto.learn.differentiable.fitting import fitted
from stretto.learn.differentiable.inside import InsideNode
from stretto.learn.differentiable.node import Node
from stretto.learn.differentiable.underway import Computed, Underway
from stretto.learn.surrogates.of_choice import ChoiceSurrogate
from stretto.learn.surrogates.rows import ChoiceRows
from stretto.types.enums import Estimator
from stretto.types.ids import Digest

MOST_SHOWN: Final = 1024
"""Numbers of one input: beyond it are hidden states and prompts of language models, of which a small network learns
by heart and a buffer keeps few rows. The log-probabilities tell of those."""

LEAST_LOG_P: Final = -20.0
"""Shown in place of what is less likely, that which cannot be chosen too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What came of one choice, row by row: what its score is made of."""

    reward_N: Tensor
    baseline_N: Tensor
    weight_N: Tensor
    known_N: Tensor
    """What each reward counts: 0 where it is not known, else as many as there are runs for each that is."""


class Foretelling:
    """The surrogates of a module's choices, by step, and by step and choice where a step makes several."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.of_choices: dict[str, ChoiceSurrogate] = {}
        self._nodes = {node.place: node for node in inside_of(nodes) if node.estimator is Estimator.RELAX}
        for node in self._nodes.values():
            for name, alternatives in node.component.signature.chooses.items():
                key = key_of(node, name)
                self.of_choices[key] = ChoiceSurrogate(key, _widths(node.component.signature, name), alternatives)
        self._pending: dict[str, list[ChoiceRows]] = {}
        """Of each surrogate, what a batch under way told."""

    @property
    def choices(self) -> list[tuple[ChoiceSurrogate, InsideNode, str]]:
        """Each surrogate with the step and the choice that it is of."""
        return [
            (self.of_choices[key_of(node, name)], node, name)
            for node in self._nodes.values()
            for name in node.component.signature.chooses
        ]

    def control(self, batch: Underway, event: Computed, choice: str, told: "Told") -> Tensor:
        """What is taken off the score's objective of each row, [N]; learnt from in the `end`."""
        node, made = self._nodes[event.place], event.choices[choice]
        surrogate = self.of_choices[key_of(node, choice)]
        rows = ChoiceRows(
            features_NF=features_of(node.component.signature, event.inputs(batch), made.log_p_BA),
            log_p_NA=made.log_p_BA.detach(),
            chosen_N=made.chosen_B,
            reward_N=told.reward_N,
            baseline_N=told.baseline_N,
            weight_N=told.weight_N,
            known_N=told.known_N,
        )
        self._pending.setdefault(surrogate.step, []).append(rows)
        return surrogate.control(made.log_p_BA, rows)

    def end(self, behaviour: Callable[[str], Digest] | None) -> None:
        """Learn from the batch: not before its loss is made, since rounds of a run share a surrogate.

        `behaviour` tells the digest of a component's weights; None where nothing is to be learnt.
        """
        pending, self._pending = self._pending, {}
        if behaviour is None or not pending:
            return
        for surrogate, node, _ in self.choices:
            if surrogate.step in pending:
                rows = ChoiceRows.joined(pending[surrogate.step])
                surrogate.judge(rows)
                surrogate.learn(rows, of=behaviour(node.name))


def key_of(node: InsideNode, choice: str) -> str:
    """By which a choice's surrogate is found."""
    return node.place if len(node.component.signature.chooses) == 1 else f"{node.place}#{choice}"


def shown_of(signature: TorchSignature) -> list[tuple[str, Tensorial]]:
    """The inputs that a surrogate is shown: those of real numbers that are no wider, and choices of others."""
    return [
        (each.name, each.what)
        for each in signature.tensors
        if isinstance(each.what, OneOf) or (each.what.dtype.is_real and _width(each.what) <= MOST_SHOWN)
    ]


def features_of(signature: TorchSignature, inputs: Mapping[str, Column], log_p_NA: Tensor) -> Tensor:
    """What a surrogate is shown of rows that fit the module's schema, [N, F]: float64, detached; 0 for no number."""
    count = len(log_p_NA)
    parts = []
    for name, what in shown_of(signature):
        value, _ = fitted(inputs.get(name) or Rows([None] * count), what, name)
        parts.append(value.detach().double().cpu().reshape(count, _width(what)))
    shown_NF = torch.cat([*parts, log_p_NA.detach().double().cpu().clamp_min(LEAST_LOG_P)], 1)
    return shown_NF.nan_to_num(0.0, 0.0, 0.0)


def _widths(signature: TorchSignature, choice: str) -> dict[str, int]:
    """What the surrogate of a choice is shown, and how many numbers each is."""
    found = {name: _width(what) for name, what in shown_of(signature)}
    return {**found, f"{choice}_log{PROBABILITIES}": len(signature.chooses[choice])}


def _width(what: Tensorial) -> int:
    return len(what.alternatives) if isinstance(what, OneOf) else math.prod(what.dims)
