"""What a declaration of kind ``policy`` may hold in a workflow file."""

from functools import partial
from pathlib import Path
from typing import Any, Final

from stretto.components.option_shapes import ANY_TEXT, TEXTS, VERSION_KEY, Make
from stretto.components.policy import build_policy
from stretto.spec.nested import Entries, Items
from stretto.spec.records import Fields, Key, Record
from stretto.spec.shapes import Flag, Number, Whole
from stretto.types.protocols import Component

_LOGITS: Final = Entries(
    key=ANY_TEXT, value=Number(), build=lambda key, value: (key.value, value), what="alternatives and their logits"
)

_FIELDS: Final = Items(item=ANY_TEXT, what="input fields", minimum=0)

ALTERNATIVES: Final = Key(
    "alternatives",
    TEXTS,
    means="what it chooses from",
    example="alternatives: [answer, escalate]",
    required=True,
    also=("actions", "choices", "options"),
)
TEXT: Final = Key("text", _FIELDS, means="input fields with what people wrote", example="text: [words]")
STATE: Final = Key("state", _FIELDS, means="input fields with what is known", example="state: [state]")
ABOUT: Final = Key(
    "about", _FIELDS, means="input fields with what is known of each alternative", example="about: [about]"
)
AVAILABLE: Final = Key(
    "available", ANY_TEXT, means="input field that lists the alternatives allowed now", example="available: available"
)
OUTPUT: Final = Key("output", ANY_TEXT, means="output field with the choice", example="output: action")
PRIOR: Final = Key("prior", _LOGITS, means="what a logit starts from, 0 when unnamed", example="prior: { end: -2 }")
TEMPERATURE: Final = Key("temperature", Number(above=0), means="logits are divided by it", example="temperature: 1.0")
TEXT_SCALE: Final = Key(
    "text_scale", Number(above=0), means="Euclidean length of a text's features", example="text_scale: 0.2"
)
ABOUT_SCALE: Final = Key(
    "about_scale", Number(above=0), means="value of each fact of an alternative", example="about_scale: 4.0"
)
BUCKETS: Final = Key("buckets", Whole(minimum=1), means="rows that features are hashed to", example="buckets: 65536")
SAMPLE: Final = Key(
    "sample", Flag(), means="draw from the probabilities, or take the likeliest", example="sample: false"
)
CHECKPOINT: Final = Key(
    "checkpoint",
    ANY_TEXT,
    means="weights that training wrote, relative to this file",
    example="checkpoint: planner.safetensors",
    also=("weights",),
)


def _build(fields: Fields) -> Make:
    plain: tuple[Key[Any], ...] = (PRIOR, TEMPERATURE, TEXT_SCALE, ABOUT_SCALE, BUCKETS, SAMPLE)
    options: dict[str, Any] = {key.name: value for key in plain if (value := fields.get(key)) is not None}
    lists = (ALTERNATIVES, TEXT, STATE, ABOUT)
    options |= {key.name: [each.value for each in found] for key in lists if (found := fields.get(key)) is not None}
    texts = (AVAILABLE, OUTPUT, CHECKPOINT, VERSION_KEY)
    options |= {key.name: text.value for key in texts if (text := fields.get(key)) is not None}
    if "prior" in options:
        options["prior"] = dict(options["prior"])
    return partial(_make, options)


def _make(options: dict[str, Any], name: str, folder: Path) -> Component:
    return build_policy(name, options, folder)


POLICY: Final[Record[Make]] = Record(
    "policy-component",
    means="A trainable choice among named alternatives.",
    keys=(
        ALTERNATIVES,
        TEXT,
        STATE,
        ABOUT,
        AVAILABLE,
        OUTPUT,
        PRIOR,
        TEMPERATURE,
        TEXT_SCALE,
        ABOUT_SCALE,
        BUCKETS,
        SAMPLE,
        CHECKPOINT,
        VERSION_KEY,
    ),
    build=_build,
)
