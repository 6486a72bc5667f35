"""What is explained as a function of what came in: a choice's logit, and a run's reward.

Shape letters: N rows, A alternatives.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from stretto.components.torch.choices import log_probabilities
from stretto.components.torch.signature import PROBABILITIES, REFERENCE
from stretto.components.torch.values import tensor_of
from stretto.learn.attribution import Row
from stretto.learn.explain.chain import Asked, Link
from stretto.learn.explain.embedded import replaced
from stretto.types.json import Json
from stretto.types.learning import Action


class Computing:
    """One pass through chains: each link is computed once, however many read it."""

    def __init__(self, asked: Asked, row: Row, *, reference: Json = None) -> None:
        """What the row names stands in place of inputs, and of what layers of that name embed; the rest is as asked."""
        self._asked = asked
        self._row = row
        self._rows = len(next(iter(row.values()))) if row else 1
        self._reference = reference
        self._done: dict[str, dict[str, Tensor]] = {}

    def of(self, link: Link) -> dict[str, Tensor]:
        """What a link's module returns, and the probabilities of its choices."""
        if link.path not in self._done:
            fields = self._fields(link)
            layers = {
                name.removeprefix(link.prefix): tensor
                for name, tensor in self._row.items()
                if name.startswith(link.prefix) and name not in link.leaves.values()
            }
            component = link.component
            with replaced(component.module, layers):
                found = component.compute(component.module, fields, self._rows)
            chances = {
                each + PROBABILITIES: log_probabilities(found[each]).exp() for each in component.signature.chooses
            }
            self._done[link.path] = {**found, **{name: each.float() for name, each in chances.items()}}
        return self._done[link.path]

    def _fields(self, link: Link) -> dict[str, Any]:
        """What a module is given: what comes in from the row, what is fed by the steps before, the rest as asked."""
        signature, request = link.component.signature, self._asked[link.path]
        fields: dict[str, Any] = {}
        for tensor in signature.tensors:
            leaf = link.leaves.get(tensor.name)
            if tensor.name in link.feeds:
                before, output = link.feeds[tensor.name]
                fields[tensor.name] = self.of(before)[output]
            elif leaf is not None and leaf in self._row:
                fields[tensor.name] = self._row[leaf]
            else:
                fields[tensor.name] = tensor_of([request.get(tensor.name)] * self._rows, tensor.what)
        for plain in signature.plain:
            value: Json = request[plain.name]
            fields[plain.name] = [value if plain.convert is None else plain.convert(value)] * self._rows
        if signature.takes_reference:
            fields[REFERENCE] = [self._reference] * self._rows
        return fields


class ChosenScore:
    """The chosen alternative's logit over the mean of the available ones, which no shift of all logits changes."""

    def __init__(self, link: Link, asked: Asked, action: Action) -> None:
        self.link = link
        self._asked = asked
        self._choice = action.name
        self.chosen = action.support.index(action.chosen)
        self.available_A = torch.tensor(action.available or [True] * len(action.support))

    def __call__(self, row: Row) -> Tensor:
        return self.centred(row)[:, self.chosen]

    def centred(self, row: Row) -> Tensor:
        """[N, A]: logits over the mean of the available ones."""
        logits_NA = self.logits(row)
        return logits_NA - logits_NA[:, self.available_A].mean(1, keepdim=True)

    def logits(self, row: Row) -> Tensor:
        """[N, A]; what the row names beside inputs stands in place of what layers of that name embed."""
        return Computing(self._asked, row).of(self.link)[self._choice]


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A term of the reward that a module computed."""

    link: Link
    """Its chain ends at the module."""
    name: str
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A choice that terms of the reward follow."""

    link: Link
    action: Action
    cost: float
    """What those terms came to, over their mean in other runs."""
    others: int
    """So many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardScore:
    """A number whose gradient is that of a run's expected reward, estimated from what came of the run.

    Schulman et al. 2015, "Gradient Estimation Using Stochastic Computation Graphs", theorem 1 and corollary 1, as the
    loss of `as_module` has it: what modules computed is differentiated as it is, and each choice adds its
    log-probability times the rewards that follow it, less a baseline that does not depend on it. Right on average, but
    for what goes to the reward by steps that no gradient passes. Whatever a step's `estimator`: the other ones are of
    the same expectation, or biased.
    """

    asked: Asked
    reference: Json
    terms: Sequence[Term]
    choices: Sequence[Scored]

    @property
    def links(self) -> tuple[Link, ...]:
        """Every link of every chain, each once."""
        ends = [*(each.link for each in self.terms), *(each.link for each in self.choices)]
        return tuple({each.path: each for end in ends for each in end.all()}.values())

    def __call__(self) -> Tensor:
        computing = Computing(self.asked, {}, reference=self.reference)
        found = torch.zeros((), dtype=torch.float64)
        for term in self.terms:
            found = found + term.weight * computing.of(term.link)[term.name][0].double().cpu()
        for each in self.choices:
            log_p_A = log_probabilities(computing.of(each.link)[each.action.name])[0].cpu()
            found = found + each.cost * log_p_A[each.action.support.index(each.action.chosen)]
        return found
