"""What a policy may be told: its options, checked, and the schemas that follow from them."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

import msgspec

from stretto.components.policy_spec import (
    DEFAULT_ABOUT_SCALE,
    DEFAULT_BUCKETS,
    DEFAULT_TEXT_SCALE,
    FeatureSpec,
    PolicySpec,
)
from stretto.types.errors import UsageError
from stretto.types.json import JsonObject

MIN_ALTERNATIVES = 2
"""With one alternative there is nothing to choose and nothing to learn."""


class PolicyOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of a component of kind ``policy``, in a workflow file and in Python alike."""

    alternatives: tuple[str, ...]
    """What it chooses from; the order is that of the weights' columns."""
    text: tuple[str, ...] = ("words",)
    """Input fields with what people wrote."""
    state: tuple[str, ...] = ("state",)
    """Input fields with what is known: any JSON."""
    available: str = "available"
    """Input field that lists the alternatives allowed now; null or missing allows all."""
    output: str = "action"
    """Output field with the choice, and the name of the recorded action."""
    version: str = "1.0.0"
    buckets: int = DEFAULT_BUCKETS
    """Rows of weights that features are hashed to."""
    ngrams: tuple[int, ...] = (1, 2)
    """Lengths of word sequences, in words."""
    text_scale: float = DEFAULT_TEXT_SCALE
    """Euclidean length of each text field's features; each fact of the state has the value 1."""
    prior: dict[str, float] = msgspec.field(default_factory=dict)
    """Alternative → what its logit starts from, 0 when unnamed. -3 makes it rare (1 in 20 beside one other): for
    what ends a run, which an untrained policy would otherwise choose before it meets any reward."""
    temperature: float = 1.0
    """Logits are divided by it: above 1 explores more, below 1 less."""
    sample: bool = True
    """Draw from the probabilities; False takes the likeliest alternative."""
    checkpoint: str | None = None
    """A ``.safetensors`` file that training wrote; without one the prior decides alone."""
    about: tuple[str, ...] = ()
    """Input fields with what is known of each alternative: a mapping from alternatives to any JSON. What is learnt of
    a fact holds for every alternative that it is true of, where text and state are learnt for each alternative anew."""
    about_scale: float = DEFAULT_ABOUT_SCALE
    """Value of each fact of an alternative."""

    def __post_init__(self) -> None:
        if len(self.alternatives) < MIN_ALTERNATIVES or "" in self.alternatives:
            raise UsageError(f"a policy's alternatives are {list(self.alternatives)}; expected two or more names")
        if len(set(self.alternatives)) < len(self.alternatives):
            raise UsageError(f"a policy's alternatives {list(self.alternatives)} repeat a name; name each once")
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise UsageError(f"temperature is {self.temperature}; expected a number above 0, such as 1.0")
        unknown = [name for name in self.prior if name not in self.alternatives]
        if unknown:
            raise UsageError(f"prior names {unknown}, not among the alternatives {list(self.alternatives)}")
        if not all(math.isfinite(value) for value in self.prior.values()):
            raise UsageError(f"prior is {self.prior}; expected finite numbers")
        if self.available in (*self.text, *self.state, *self.about):
            raise UsageError(f"input field '{self.available}' is both a feature and the list of what is available")
        if self.output == "confidence":
            raise UsageError("the output field 'confidence' holds the choice's probability; name the choice otherwise")
        if self.about_scale != DEFAULT_ABOUT_SCALE and not self.about:
            raise UsageError("about_scale has no effect without `about`; name its input field, or leave it out")

    @property
    def spec(self) -> PolicySpec:
        """What weights under these options mean."""
        features = FeatureSpec(
            text=self.text, state=self.state, buckets=self.buckets, ngrams=self.ngrams, text_scale=self.text_scale,
            about=self.about or msgspec.UNSET, about_scale=self.about_scale if self.about else msgspec.UNSET,
        )  # fmt: skip
        prior = tuple(self.prior.get(name, 0.0) for name in self.alternatives)
        return PolicySpec(alternatives=self.alternatives, prior=prior, features=features)


class PolicyKeywords(TypedDict, total=False):
    """`PolicyOptions` as keywords; its defaults and meanings hold."""

    text: Sequence[str] | str
    state: Sequence[str] | str
    available: str
    output: str
    version: str
    buckets: int
    ngrams: Sequence[int]
    text_scale: float
    prior: Mapping[str, float]
    temperature: float
    sample: bool
    checkpoint: str | Path | None
    about: Sequence[str] | str
    about_scale: float


def parse_options(name: str, given: Mapping[str, object]) -> PolicyOptions:
    """Check the options of the policy `name`; a single field name stands for a list of one.

    Raises UsageError when an option is unknown, missing, of the wrong type or out of range.
    """
    options = dict(given)
    for key in ("text", "state", "about"):
        if isinstance(options.get(key), str):
            options[key] = [options[key]]
    if isinstance(options.get("checkpoint"), Path):
        options["checkpoint"] = str(options["checkpoint"])
    try:
        return msgspec.convert(options, PolicyOptions)
    except msgspec.ValidationError as error:
        known = ", ".join(PolicyOptions.__struct_fields__)
        raise UsageError(f"policy '{name}': {error}. Its options are {known}") from error


def input_schema(options: PolicyOptions) -> JsonObject:
    """What a request may hold: the fields read, and no others, so that a mapping without effect is found."""
    words: JsonObject = {"type": ["string", "array", "null"], "items": {"type": "string"}}
    allowed: JsonObject = {"type": ["array", "null"], "items": {"enum": list(options.alternatives)}, "minItems": 1}
    properties: JsonObject = {field: words for field in options.text}  # noqa: C420 (fromkeys would widen the type)
    properties |= {field: {} for field in options.state}
    facts: JsonObject = {
        "type": ["object", "null"],
        "properties": {alternative: {} for alternative in options.alternatives},
        "additionalProperties": False,
    }
    properties |= dict.fromkeys(options.about, facts)
    properties[options.available] = allowed
    return {"type": "object", "properties": properties, "additionalProperties": False}


def output_schema(options: PolicyOptions) -> JsonObject:
    """The choice and its probability."""
    properties: JsonObject = {
        options.output: {"type": "string", "enum": list(options.alternatives)},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    }
    return {
        "type": "object",
        "properties": properties,
        "required": [options.output, "confidence"],
        "additionalProperties": False,
    }
