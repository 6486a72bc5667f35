"""How a component is perturbed while others learn beside it, and in which runs: decided by each run's seed alone."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from os import PathLike
from pathlib import Path
from typing import Final, TypeAlias

from stretto.components.policy import draw_bytes
from stretto.types.arguments import as_tuple, check_flag, wrong
from stretto.types.errors import UsageError
from stretto.types.protocols import Component

Version: TypeAlias = Component | str | Path
"""A component, or the path of a checkpoint with other weights of the one that is perturbed."""

_APART: Final = "\0"
"""Before what is drawn here: no step path holds it, so no choice of a run is drawn alike."""


USUAL_SHARE: Final = 0.25
"""Of the runs: the others remain the most, and an update of 64 has 16 of these."""


class Kind(StrEnum):
    """What is done to a component in a run."""

    NOISE = "noise"
    """Its numbers are blurred."""
    WORSE = "worse"
    """Another version of it answers."""
    RANDOM = "random"
    """It answers something valid that has nothing to do with what it was asked."""


class Side(StrEnum):
    """Whose numbers are blurred."""

    OUTPUTS = "outputs"
    INPUTS = "inputs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Perturbation:
    """What is done to one component, in a share of the runs; of several kinds each such run has one, by equal chance.

    Raises UsageError for a share outside (0, 1], and where there is nothing to do.
    """

    share: float = USUAL_SHARE
    """Of the runs in which it is perturbed."""
    noise: float = 0.0
    """Standard deviation of what is added to each number, in units of that number's own over the runs of the batch."""
    noise_on: str = Side.OUTPUTS
    """``outputs``, logits of choices among them, or ``inputs``."""
    worse: Sequence[Version] = ()
    """Other versions that answer in its place: earlier checkpoints, or components that take and give the same."""
    random: bool = False
    """Random valid answers in place of its own."""

    def __post_init__(self) -> None:
        self._hold_to_types()
        if not 0.0 < self.share <= 1.0:
            raise UsageError(f"the share of perturbed runs is {self.share}; expected a number above 0, at most 1")
        if not (math.isfinite(self.noise) and self.noise >= 0.0):
            raise UsageError(f"the noise of a perturbation is {self.noise}; expected 0 or a number above it")
        if self.noise_on not in list(Side):
            raise UsageError(f"noise_on is {self.noise_on!r}; expected one of {', '.join(Side)}")
        if self.noise_on != Side.OUTPUTS and not self.noise:
            raise UsageError(
                f"noise_on is {self.noise_on!r} and has no effect without `noise`; give some, or leave it out"
            )
        if not self.kinds:
            raise UsageError("a perturbation does nothing; give it `noise`, `worse` or `random`")

    def _hold_to_types(self) -> None:
        for what, value in (("share", self.share), ("noise", self.noise)):
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise wrong(f"the {what} of a perturbation", value, "a number")
        check_flag("random", self.random)
        several = "a list of checkpoints' paths and components"
        object.__setattr__(self, "worse", as_tuple("worse", self.worse, several))
        for each in self.worse:
            if not isinstance(each, str | PathLike) and not hasattr(each, "card"):
                raise wrong("one of worse", each, "the path of a checkpoint, or a component")

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Those that were asked for."""
        given = {Kind.NOISE: self.noise > 0.0, Kind.WORSE: bool(self.worse), Kind.RANDOM: self.random}
        return tuple(kind for kind, is_given in given.items() if is_given)


def check_perturbations(perturb: Mapping[str, Perturbation]) -> None:
    """Raise UsageError for what says of no component how it is perturbed."""
    expected = "a mapping from names of components to Perturbation"
    if not isinstance(perturb, Mapping):
        raise wrong("perturb", perturb, expected)
    for name, each in perturb.items():
        if not isinstance(each, Perturbation):
            raise wrong(f"perturb[{name!r}]", each, "a stretto.learn.Perturbation")


@dataclass(frozen=True, slots=True)
class Struck:
    """What befalls a component in one run."""

    kind: Kind
    version: int = 0
    """Which of the other versions answers."""


def strike(perturbation: Perturbation, component: str, seed: int) -> Struck | None:
    """What befalls a component in the run of a seed; None when it is left alone.

    The same at each of its steps, in each round and item: a run has one executor.
    """
    if uniform(seed, component) >= perturbation.share:
        return None
    kinds = perturbation.kinds
    kind = kinds[int(uniform(seed, component, "kind") * len(kinds))]
    if kind is not Kind.WORSE:
        return Struck(kind)
    return Struck(kind, int(uniform(seed, component, "version") * len(perturbation.worse)))


def uniform(seed: int, *about: str) -> float:
    """A number in [0, 1) that a run's seed and what it is about decide."""
    return (bits(seed, *about) >> 11) * 2.0**-53


def bits(seed: int, *about: str) -> int:
    """Sixty-four bits that a run's seed and what it is about decide."""
    return int.from_bytes(draw_bytes(seed, _APART.join(("", *about))), "little")
