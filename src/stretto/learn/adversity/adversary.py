"""A module that is perturbed in some rows of a batch.

Shape letters: B rows, A alternatives. What is put in place of an answer has no graph back to the module: it learns
nothing from such a row, while whoever asked it learns from what came of it. Another version passes gradients on to what
it was given, as the module does.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from stretto.components.torch.component import TorchComponent
from stretto.components.torch.shape import Shape
from stretto.learn.adversity.perturbation import Kind, Perturbation, Side, Struck, Version, bits, strike, uniform
from stretto.learn.differentiable.index import Index
from stretto.learn.differentiable.merging import where
from stretto.plan.model import Plan
from stretto.types.errors import UsageError
from stretto.types.json import JsonObject

_MOST: Final = 100_000
"""Runs whose lot is kept; the next asks for them again in each of its steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRows:
    """The rows of one step, as an adversary tells them apart."""

    seeds: Sequence[int]
    """Of each row, its run's."""
    runs: Sequence[int]
    """Of each row, which run of the batch it belongs to."""
    paths: Sequence[str]
    """Of each row, the step's."""


class Adversary:
    """Perturbs one differentiable component. Raises UsageError for what cannot be done to it."""

    def __init__(self, component: TorchComponent, perturbation: Perturbation) -> None:
        self.perturbation = perturbation
        self._component = component
        self._name = component.options.name
        self._versions = [self._version(each) for each in perturbation.worse]
        self._digests = [each.weights_digest for each in self._versions]
        for each in self._versions:
            each.module.requires_grad_(requires_grad=False)
        self._blurred = self._blurred_names()
        self._lots: dict[int, Struck | None] = {}

    def lot(self, seed: int) -> Struck | None:
        """What befalls the component in a run."""
        if seed not in self._lots:
            if len(self._lots) >= _MOST:
                self._lots.clear()
            self._lots[seed] = strike(self.perturbation, self._name, seed)
        return self._lots[seed]

    def compute(
        self, module: nn.Module, given: dict[str, Any], rows: StepRows
    ) -> tuple[dict[str, Tensor], Mapping[int, JsonObject]]:
        """What the module returns, and of the rows in which it is perturbed, what their records will say."""
        struck = {row: lot for row, seed in enumerate(rows.seeds) if (lot := self.lot(seed)) is not None}
        if len(set(rows.runs)) == 1:  # no spread, and nobody whose answer could stand here
            struck = {row: lot for row, lot in struck.items() if lot.kind is Kind.WORSE}
        blurred = [row for row, lot in struck.items() if lot.kind is Kind.NOISE]
        is_before = self.perturbation.noise_on == Side.INPUTS
        if blurred and is_before:
            given = {**given, **self._blur({name: given[name] for name in self._blurred}, blurred, rows)}
        found = self._component.compute(module, given, len(rows.seeds))
        if blurred and not is_before:
            found = {**found, **self._blur({name: found[name] for name in self._blurred}, blurred, rows)}
        found = self._answered_by_others(found, given, struck)
        found = self._answered_at_random(found, [row for row in struck if struck[row].kind is Kind.RANDOM], rows)
        return found, ({row: self._told(lot) for row, lot in struck.items()})

    def _told(self, lot: Struck) -> JsonObject:
        match lot.kind:
            case Kind.NOISE:
                return {"kind": str(lot.kind), "noise": self.perturbation.noise, "on": str(self.perturbation.noise_on)}
            case Kind.WORSE:
                return {"kind": str(lot.kind), "version": self._digests[lot.version]}
            case Kind.RANDOM:
                return {"kind": str(lot.kind)}

    # noise

    def _blur(self, values: Mapping[str, Tensor], chosen: Sequence[int], rows: StepRows) -> dict[str, Tensor]:
        """The tensors with noise in these rows."""
        return {name: self._blurred_one(name, value, chosen, rows) for name, value in values.items()}

    def _blurred_one(self, name: str, value: Tensor, chosen: Sequence[int], rows: StepRows) -> Tensor:
        shape = tuple(value.shape[1:])
        noise = np.zeros((len(chosen), *shape))
        for place, row in enumerate(chosen):
            noise[place] = _normal(shape, rows.seeds[row], self._name, rows.paths[row], name)
        scaled = torch.from_numpy(noise).to(value) * (self.perturbation.noise * spread_of(value))
        return value.index_add(0, Index(chosen).on(value), scaled)

    def _blurred_names(self) -> list[str]:
        """Whose numbers are blurred."""
        if self.perturbation.noise == 0.0:
            return []
        signature = self._component.signature
        if self.perturbation.noise_on == Side.OUTPUTS:
            found = [name for name, shape in signature.shapes.items() if shape.dtype.is_real]
        else:
            found = [
                each.name for each in signature.tensors if isinstance(each.what, Shape) and each.what.dtype.is_real
            ]
        if not found:
            raise _refused(self._name, f"it has no numbers that are real among its {self.perturbation.noise_on}")
        return found

    # other versions

    def _version(self, version: Version) -> TorchComponent:
        if not isinstance(version, TorchComponent):
            if not isinstance(version, str) and not hasattr(version, "__fspath__"):
                raise _refused(self._name, f"a version of it is of type {type(version).__name__}, which is no module")
            return self._component.with_weights(str(version))
        own, other = self._component.signature, version.signature
        for what, one, two in (
            ("returns", own.shapes, other.shapes),
            ("chooses among", dict(own.chooses), dict(other.chooses)),
            ("takes", _inputs(self._component), _inputs(version)),
        ):
            if one != two:
                named = version.options.name
                raise _refused(self._name, f"the version '{named}' {what} {two}, where the component {what} {one}")
        return version.with_module(copy.deepcopy(version.module))

    def _answered_by_others(
        self, found: dict[str, Tensor], given: Mapping[str, Any], struck: Mapping[int, Struck]
    ) -> dict[str, Tensor]:
        for place, version in enumerate(self._versions):
            index = Index([row for row, lot in struck.items() if lot.kind is Kind.WORSE and lot.version == place])
            if not len(index):
                continue
            part = {name: index.of(value) for name, value in given.items()}
            again = version.compute(version.module, part, len(index))
            found = {name: _put(value, again[name], index) for name, value in found.items()}
        return found

    # random answers

    def _answered_at_random(self, found: dict[str, Tensor], chosen: Sequence[int], rows: StepRows) -> dict[str, Tensor]:
        """Choices with equal chances of all that is available, anything else as it was answered in another run."""
        if not chosen:
            return found
        index, donors = Index(chosen), Index(self._donors(chosen, rows))
        made: dict[str, Tensor] = {}
        for name, value in found.items():
            plain = value.detach()
            taken = plain[(index if name in self._component.signature.chooses else donors).on(plain)]
            if name in self._component.signature.chooses:
                taken = torch.where(taken == -torch.inf, taken, torch.zeros_like(taken))
            made[name] = _put(value, taken, index)
        return made

    def _donors(self, chosen: Sequence[int], rows: StepRows) -> list[int]:
        """For each row the first of another run, which the run's seed decides."""
        first: dict[int, int] = {}
        for row, run in enumerate(rows.runs):
            first.setdefault(run, row)
        runs = [*first]
        place = {run: at for at, run in enumerate(runs)}
        found = []
        for row in chosen:
            step = 1 + int(uniform(rows.seeds[row], self._name, "donor") * (len(runs) - 1))
            found.append(first[runs[(place[rows.runs[row]] + step) % len(runs)]])
        return found


def adversaries_of(
    plan: Plan, components: Mapping[str, TorchComponent], perturb: Mapping[str, Perturbation]
) -> dict[str, Adversary]:
    """What perturbs each of these components. Raises UsageError for a name that is none, and for one that judges."""
    found = {}
    for name, perturbation in perturb.items():
        if name not in components:
            there = ", ".join(components)
            raise UsageError(
                f"workflow '{plan.name}' has no component '{name}' of kind torch, nor a step outside that calls it and "
                f"returns no gradients, so it cannot be perturbed; of that kind it has: {there}"
            )
        if components[name].signature.rewards:
            raise _refused(name, "it gives a reward, and what is perturbed must be judged as ever")
        found[name] = Adversary(components[name], perturbation)
    return found


def spread_of(value: Tensor) -> Tensor:
    """The standard deviation of each number over the rows; those that are no numbers (a logit of -inf) count not."""
    plain = value.detach()
    plain = torch.where(torch.isfinite(plain), plain, torch.full_like(plain, torch.nan))
    variance = (plain - plain.nanmean(0)).square().nanmean(0)
    return variance.sqrt().nan_to_num(0.0)


def _normal(shape: Sequence[int], seed: int, *about: str) -> npt.NDArray[np.float64]:
    """Draws from N(0, 1) that a run's seed and what they are about decide."""
    return np.random.default_rng(bits(seed, *about)).standard_normal(shape)


def _put(value: Tensor, rows: Tensor, index: Index) -> Tensor:
    """A tensor with other rows at some places; nothing goes back from there."""
    mask = index.mask(len(value))
    spread = value.new_zeros(value.shape).index_copy(0, index.on(value), rows.to(value))
    return where(mask, spread, value)


def _inputs(component: TorchComponent) -> dict[str, Any]:
    found = component.card.input["properties"]
    assert isinstance(found, dict)
    return found


def _refused(name: str, why: str) -> UsageError:
    return UsageError(f"component '{name}' cannot be perturbed so: {why}")
