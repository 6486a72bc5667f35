"""What became of an explanation: plain records, for the terminal, a page and JSON."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from stretto.types.json import Json

if TYPE_CHECKING:  # with torch, which not every explanation needs
    from stretto.learn.attribution import Faithfulness


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One number, or one token, that a module was given."""

    name: str
    """``months[2][0]``; of a token, the layer that embeds it and its place."""
    value: float | None = None
    """None for a token, and so is `baseline`."""
    baseline: float | None = None
    text: str = ""
    """Of a token, as the module's `spell` has it, else its number."""
    place: int | None = None
    """Of a token, from 0."""
    adds: float = 0.0
    """To the score, over the baseline's."""
    loses: float = 0.0
    """What the score loses when the baseline stands in its place alone: a check without gradients."""


class ChoiceExplained(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of a choice's score: its logit over the mean of all that were available."""

    choice: str
    chosen: str
    logprob: float
    """As recorded."""
    score: float
    baseline: float
    residual: float
    """What the parts do not add up to; see `learn.attribution.Attribution`."""
    faith: "Faithfulness"
    fields: Mapping[str, float]
    """Sum over each input, the largest first."""
    parts: tuple[Part, ...]
    """The largest first."""


class FieldEffect(msgspec.Struct, frozen=True, kw_only=True):
    """One field of an answer, and the rewards with other values in its place."""

    field: str
    """Empty for the answer as a whole."""
    value: Json
    """As recorded."""
    rewards: tuple[float, ...]
    """One for each other value with which the run has a reward."""
    failed: int
    """Other values with which it has none: a contract was broken, a write would have been needed."""
    effect: float | None
    """The run's reward less the mean of `rewards`; None without any."""


class StepExplained(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a run."""

    path: str
    component: str
    choices: tuple[ChoiceExplained, ...] = ()
    effects: tuple[FieldEffect, ...] = ()
    """Of the whole answer first; none where the run has no reward."""


class RunExplained(msgspec.Struct, frozen=True, kw_only=True):
    """A run."""

    run: str
    reward: float | None
    compared: int
    """Other runs that it was held against."""
    steps: tuple[StepExplained, ...]
