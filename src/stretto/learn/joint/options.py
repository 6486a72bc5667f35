"""How components are trained together: every option has an effect, or it is an error."""

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from stretto.learn.options import MOST_UPDATES, check_seed
from stretto.types.arguments import hold_fields
from stretto.types.errors import UsageError


class Optimizer(StrEnum):
    """What turns a gradient into a step."""

    ADAM = "adam"
    """Kingma & Ba 2015."""
    ADAMW = "adamw"
    """Adam whose weight decay stands apart from the gradient (Loshchilov & Hutter 2019)."""
    SGD = "sgd"


class Precision(StrEnum):
    """In what numbers modules compute. Weights, gradients, log-probabilities and rewards are never below float32."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    """By `torch.autocast` around the forward pass. Its range is that of float32, so the loss needs no scaling."""


class Evaluated(StrEnum):
    """How choices are made where the held-out fold is run."""

    DRAWN = "drawn"
    """As each component says for serving; what is enumerated is expected over its alternatives."""
    LIKELIEST = "likeliest"


class Kept(StrEnum):
    """Which runs are kept in the store."""

    ALL = "all"
    HELD_OUT = "held-out"
    """Those of evaluations alone."""


class ComponentOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one component does otherwise than all; unset is as they do."""

    optimizer: Optimizer | UnsetType = UNSET
    learning_rate: float | UnsetType = UNSET
    momentum: float | UnsetType = UNSET
    weight_decay: float | UnsetType = UNSET
    clip_norm: float | UnsetType | None = UNSET
    frozen: Annotated[bool | UnsetType, Meta(description="whether it stays as it is")] = UNSET

    def __post_init__(self) -> None:
        if self.optimizer is not UNSET:
            _choose(self, "optimizer", Optimizer)
        hold_fields("", self)

    @property
    def given(self) -> dict[str, Any]:
        """Those that are set."""
        return {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not UNSET}


def _choose(options: msgspec.Struct, name: str, kind: type[StrEnum]) -> None:
    """Take a text for the member that it names; UsageError for one that names none."""
    try:
        msgspec.structs.force_setattr(options, name, kind(getattr(options, name)))
    except ValueError:
        raise UsageError(f"{name} is {getattr(options, name)!r}; expected one of {', '.join(kind)}") from None


class Learning(msgspec.Struct, frozen=True, kw_only=True):
    """How one component learns."""

    optimizer: Optimizer
    learning_rate: float
    momentum: float
    weight_decay: float
    clip_norm: float | None


_CHOICES: Final = {"optimizer": Optimizer, "precision": Precision, "evaluation": Evaluated, "keep": Kept}

_OF_EVALUATIONS: Final = ("held_out_tasks", "evaluate_every", "evaluation", "patience")

DEFAULT_HELD_OUT: Final = 0.2
_MOST: Final = {"updates": MOST_UPDATES, "batch_size": 100_000, "evaluate_every": MOST_UPDATES,
                "checkpoint_every": MOST_UPDATES, "held_out_tasks": 1_000_000, "patience": MOST_UPDATES}  # fmt: skip
"""Far beyond what a training has use for; a slip of the finger passes it."""


class JointOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of a joint training."""

    updates: Annotated[int, Meta(description="how often the weights are changed, at most")] = 100
    batch_size: Annotated[int, Meta(description="tasks in an update, a run of each")] = 64
    optimizer: Annotated[Optimizer, Meta(description="what turns a gradient into a step")] = Optimizer.ADAM
    learning_rate: Annotated[float, Meta(description="step size of the optimiser")] = 0.01
    momentum: Annotated[float, Meta(description="share of the last step in the next; of sgd alone")] = 0.0
    weight_decay: Annotated[float, Meta(description="pull of the weights towards 0")] = 0.0
    clip_norm: Annotated[
        float | None, Meta(description="most that the norm of a component's gradient may be; null for no bound")
    ] = 1.0
    precision: Annotated[Precision, Meta(description="in what numbers modules compute")] = Precision.FLOAT32
    held_out: Annotated[
        float | UnsetType,
        Meta(
            description="share of the tasks to evaluate on, where none has the split `validation`; 0 evaluates never",
            extra={"default": DEFAULT_HELD_OUT},
        ),
    ] = UNSET
    held_out_tasks: Annotated[int, Meta(description="tasks in an evaluation, at most")] = 500
    evaluate_every: Annotated[int, Meta(description="updates between two evaluations")] = 10
    evaluation: Annotated[Evaluated, Meta(description="how an evaluation chooses")] = Evaluated.DRAWN
    patience: Annotated[
        int | None, Meta(description="evaluations without a better one, after which training ends; null for never")
    ] = 5
    checkpoint_every: Annotated[int, Meta(description="updates after which everything is kept")] = 1
    reuse_pure: Annotated[
        bool, Meta(description="whether a pure step outside answers once for each task, and not again in later passes")
    ] = False
    keep: Annotated[Kept, Meta(description="which runs are kept in the store")] = Kept.ALL
    seed: Annotated[int, Meta(description="of the tasks' order, the runs' seeds and all that modules draw")] = 0
    components: Mapping[str, ComponentOptions] = msgspec.field(default_factory=dict)
    """By name, what a component does otherwise."""

    def __post_init__(self) -> None:
        for name, kind in _CHOICES.items():
            _choose(self, name, kind)
        hold_fields("", self)
        for name, most in _MOST.items():
            count = getattr(self, name)
            if count is not None and not 1 <= count <= most:
                raise UsageError(f"{name} is {count}; expected {'1 or more' if count < 1 else f'{most:,} or less'}")
        if self.held_out is not UNSET and not 0 <= self.held_out < 1:
            raise UsageError(f"held_out is {self.held_out}; expected a share from 0 (no evaluation) to below 1")
        check_seed(self.seed)
        _check_learning(self, "")
        if self.momentum and self.optimizer is not Optimizer.SGD:
            raise _no_momentum("", self.momentum, self.optimizer)
        for name, given in self.components.items():
            _check_component(self, name, given)
        if not self.evaluates:
            _check_without_evaluation(self)

    @property
    def evaluates(self) -> bool:
        """Whether any task may be held out."""
        return self.held_out is UNSET or self.held_out > 0

    def of(self, component: str) -> Learning:
        """How a component learns."""
        own = self.components.get(component, ComponentOptions()).given
        found = {name: own.get(name, getattr(self, name)) for name in Learning.__struct_fields__}
        if found["optimizer"] is not Optimizer.SGD:
            found["momentum"] = 0.0
        return Learning(**found)

    @property
    def frozen(self) -> list[str]:
        """Components that are to stay as they are."""
        return [name for name, each in self.components.items() if each.frozen is True]


def _check_without_evaluation(options: JointOptions) -> None:
    """Raise UsageError for what is set of evaluations where none is made."""
    if options.keep is Kept.HELD_OUT:
        raise UsageError("keep=held-out keeps nothing where held_out is 0; set keep=all, or hold tasks out")
    for field in msgspec.structs.fields(options):
        value = getattr(options, field.name)
        if field.name in _OF_EVALUATIONS and value not in (field.default, None):
            raise UsageError(
                f"{field.name}={value} has no effect where held_out is 0, since nothing is evaluated; leave it out, or "
                "hold tasks out"
            )


def _check_component(options: JointOptions, name: str, own: ComponentOptions) -> None:
    _check_learning(own, f"{name}.")
    without_effect = sorted(own.given.keys() - {"frozen"})
    if own.frozen is True and without_effect:
        raise UsageError(
            f"{name}.{without_effect[0]} has no effect, since {name}.frozen is true; leave one of them out"
        )
    if own.given.get("momentum") and options.of(name).optimizer is not Optimizer.SGD:
        raise _no_momentum(f"{name}.", own.momentum, options.of(name).optimizer)


def _check_learning(options: JointOptions | ComponentOptions, of: str) -> None:
    rate, decay, momentum, clip = options.learning_rate, options.weight_decay, options.momentum, options.clip_norm
    if rate is not UNSET and not (math.isfinite(rate) and rate > 0):
        raise UsageError(f"{of}learning_rate is {rate}; expected a number above 0, such as 0.01; {_FREEZE}")
    if decay is not UNSET and not (math.isfinite(decay) and decay >= 0):
        raise UsageError(f"{of}weight_decay is {decay}; expected 0 (off) or a number above it")
    if momentum is not UNSET and not 0 <= momentum < 1:
        raise UsageError(f"{of}momentum is {momentum}; expected 0 (off) or a number below 1, such as 0.9")
    if clip is not UNSET and clip is not None and not (math.isfinite(clip) and clip > 0):
        raise UsageError(f"{of}clip_norm is {clip}; expected a number above 0, such as 1.0, or null for no bound")


_FREEZE: Final = "a component that is to stay as it is has `frozen`"


def _no_momentum(of: str, momentum: object, optimizer: Optimizer) -> UsageError:
    return UsageError(f"{of}momentum is {momentum}, which has no effect: {optimizer} has its own; set optimizer=sgd")
