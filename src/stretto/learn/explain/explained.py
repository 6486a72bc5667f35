"""What became of an explanation: plain records, for the terminal, a page and JSON."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from stretto.learn.faith import Faithfulness
from stretto.types.json import Json


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One number, or one token, that a choice was made by."""

    name: str
    """``months[2][0]``; of a token, the layer that embeds it and its place."""
    value: float | None = None
    """None for a token, and so is `baseline`."""
    baseline: float | None = None
    text: str = ""
    """Of a token, as the module's `spell` has it, else its number; of a fact that a policy reads, the fact."""
    place: int | None = None
    """Of a token, from 0."""
    adds: float = 0.0
    """To the score, over the baseline's: by integrated gradients, exactly where the score is linear."""
    slope: float = 0.0
    """Gradient times input: the slope at the input alone, times its way from the baseline. Where it says otherwise than
    `adds`, the score is bent between the two."""
    loses: float = 0.0
    """What the score loses when the baseline stands in its place alone: a check without gradients."""


class Logit(msgspec.Struct, frozen=True, kw_only=True):
    """An alternative's logit, over the mean of all that were available."""

    alternative: str
    value: float
    usual: float | None = None
    """Median of the same in other runs; None without any."""
    z: float = 0.0
    """Robust standard deviations from there."""
    is_unusual: bool = False


class Against(StrEnum):
    """With what a head was compared."""

    RUNS = "runs"
    """The same head, for the same alternative, in other runs."""
    LAYER = "layer"
    """The other heads of its layer, in this run."""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """An attention head, by the gradient of a choice's score, or of the run's reward, by its output."""

    step: str = ""
    """Whose module it is in."""
    layer: str
    head: int
    """From 0."""
    norm: float
    share: int = 1
    """Heads that share one key and value with it, itself among them."""
    z_runs: float = 0.0
    """Robust standard deviations of its logarithm from the same head's in other runs; 0 with too few of them."""
    z_layer: float = 0.0
    """The same from the other heads of its layer; 0 with too few of them."""
    unusual: tuple[Against, ...] = ()
    """Against what it is out of the ordinary."""


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
    is_exact: bool = False
    """The score is the sum of its parts: nothing is estimated, and no order has to be tried."""
    faith: Faithfulness
    faith_alone: Faithfulness | None = None
    """Of parts ranked by what each `loses` alone; None where that is the same."""
    fields: Mapping[str, float]
    """Sum over each input, the largest first."""
    parts: tuple[Part, ...]
    """The largest first."""
    through: tuple[str, ...] = ()
    """Steps before it that it is attributed through: the inputs are theirs."""
    compared: int = 0
    """Other runs that stand behind the baseline, and behind what is usual of logits and heads."""
    logits: tuple[Logit, ...] = ()
    heads: tuple[Head, ...] = ()
    """Of all attention that it passed through, by the gradient of its score: not of the reward."""


class FieldEffect(msgspec.Struct, frozen=True, kw_only=True):
    """One field of an answer, and the rewards with other values in its place."""

    field: str
    """Empty for the answer as a whole."""
    value: Json
    """As recorded."""
    rewards: tuple[float, ...]
    """One for each other value with which the run has a reward."""
    failed: int
    """Other values with which it has none: a contract was broken, or a call would have been needed that writes, or that
    reads and may not be made."""
    effect: float | None
    """The run's reward, by a replay with nothing changed, less the mean of `rewards`; None without any."""


class StepExplained(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a run."""

    path: str
    component: str
    choices: tuple[ChoiceExplained, ...] = ()
    untold: str = ""
    """Why its choices cannot be told of, where it made some."""
    effects: tuple[FieldEffect, ...] = ()
    """Of the whole answer first; none where the run has no reward, or it `is_unread`."""
    apart: float = 0.0
    """How far two replays with the same other answer lay apart: what judges the run, or a step after this one, is
    ruled by no seed."""
    is_unread: bool = False
    """Nothing that judged the run reads its answer, itself or by others between: none could have moved the reward."""


class ChoiceCost(msgspec.Struct, frozen=True, kw_only=True):
    """A choice by whose log-probability the reward has a gradient."""

    step: str
    choice: str
    cost: float
    """What the log-probability counts: what the reward that follows the choice came to, less the mean of others'."""
    others: int
    """Other runs that the mean is of."""


class RewardHeads(msgspec.Struct, frozen=True, kw_only=True):
    """How strongly attention heads would move the run's reward."""

    untold: str = ""
    """Why it is not told."""
    terms: tuple[str, ...] = ()
    """Of the reward, which modules computed and the gradient passes."""
    choices: tuple[ChoiceCost, ...] = ()
    heads: tuple[Head, ...] = ()
    """By the gradient of the expected reward, estimated from this run. Against other runs they are compared without a
    factor that all of a step have in common: what the reward came to makes none of them odd."""
    compared: int = 0
    """Other runs in which they were computed."""
    unreached: tuple[str, ...] = ()
    """Steps with attention that no such gradient reaches."""


class RunExplained(msgspec.Struct, frozen=True, kw_only=True):
    """A run."""

    run: str
    workflow: str
    status: str
    reward: float | None
    again: float | None
    """Of a replay with nothing changed, which effects are held against."""
    compared: int
    """Other runs that it was held against."""
    summary: tuple[str, ...]
    """What there is to say of it, a sentence each, the most telling first."""
    changed: tuple[str, ...] = ()
    """Components that are not those of the run any more: what is said of them holds for what they are now."""
    reward_heads: RewardHeads | None = None
    """None where no step that is explained has attention heads."""
    steps: tuple[StepExplained, ...]
