"""A perturbation as it is set for a training: of values that can be written down."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from stretto.learn.adversity.perturbation import USUAL_SHARE, Perturbation, Side

PREFIX: Final = "perturb_"
"""Before the name of such an option where it stands among others of a component."""


class PerturbOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is done to one component in a share of a training's runs. Raises UsageError as `Perturbation` does."""

    share: Annotated[float, Meta(description="of the runs in which the component is perturbed")] = USUAL_SHARE
    noise: Annotated[float, Meta(description="added to its numbers, in units of what each varies by")] = 0.0
    noise_on: Annotated[Side, Meta(description="to which of its numbers")] = Side.OUTPUTS
    worse: Annotated[
        tuple[str, ...], Meta(description="checkpoints of it that answer in its place, separated by commas")
    ] = ()
    random: Annotated[bool, Meta(description="whether random valid answers stand in place of its own")] = False

    def __post_init__(self) -> None:
        _ = self.perturbation

    @property
    def perturbation(self) -> Perturbation:
        """The same for `as_module`."""
        return Perturbation(
            share=self.share, noise=self.noise, noise_on=self.noise_on, worse=self.worse, random=self.random
        )
