"""What a declaration of kind ``causal-lm`` may hold in a workflow file."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from stretto.components.causal_lm.extra import need_transformers
from stretto.components.causal_lm.options import DEFAULT_RANK, DEFAULT_TARGETS, Gives, LmOptions, Lora, SoftPrompt, hold
from stretto.components.option_shapes import ANY_TEXT, DESCRIPTION_KEY, TEXT_BY_NAME, TEXTS, VERSION_KEY, Make
from stretto.spec.codes import SpecCode
from stretto.spec.nested import Entries, Items
from stretto.spec.nodes import ListNode, MapNode, Node
from stretto.spec.records import Fields, Key, Record
from stretto.spec.report import Report
from stretto.spec.shapes import Choice, Flag, Text, Whole
from stretto.types.errors import UsageError
from stretto.types.json import JsonObject
from stretto.types.protocols import Component

_FIELD: Final = Text(expected="the name of a field")

_GIVES: Final = Choice(Gives)


class AlternativesShape:
    """A list of names, which are what the model would say, or names and the text of each."""

    def read(self, node: Node, name: str, report: Report) -> dict[str, str] | None:
        if isinstance(node, MapNode):
            texts = TEXT_BY_NAME.read(node, name, report)
            return None if texts is None else dict(texts)
        names = TEXTS.read(node, name, report)
        return None if names is None else {each.value: each.value for each in names}

    def schema(self, defs: JsonObject) -> JsonObject:
        return {"anyOf": [TEXTS.schema(defs), TEXT_BY_NAME.schema(defs)]}


class GivesShape:
    """One, or a list."""

    _several: Final = Items(item=_GIVES, what="what comes out")

    def read(self, node: Node, name: str, report: Report) -> tuple[Gives, ...] | None:
        if isinstance(node, ListNode):
            return self._several.read(node, name, report)
        one = _GIVES.read(node, name, report)
        return None if one is None else (one,)

    def schema(self, defs: JsonObject) -> JsonObject:
        return {"anyOf": [_GIVES.schema(defs), self._several.schema(defs)]}


class SoftPromptShape:
    """How many tokens, alone or as a mapping that says whether they are learnt."""

    def read(self, node: Node, name: str, report: Report) -> SoftPrompt | None:
        if isinstance(node, MapNode):
            return SOFT_PROMPT.read(node, name, report)
        tokens = TOKENS.shape.read(node, name, report)
        return None if tokens is None else SoftPrompt(tokens=tokens)

    def schema(self, defs: JsonObject) -> JsonObject:
        return {"anyOf": [TOKENS.shape.schema(defs), SOFT_PROMPT.schema(defs)]}


TOKENS: Final = Key(
    "tokens", Whole(minimum=1), means="how many embeddings stand there", example="tokens: 4", required=True
)
LEARNT: Final = Key(
    "learnt",
    Flag(),
    means="they are weights of this component; when absent another component gives them",
    example="learnt: true",
    also=("learned", "trainable"),
)


def _soft_prompt(fields: Fields) -> SoftPrompt | None:
    tokens = fields.get(TOKENS)
    return None if tokens is None else SoftPrompt(tokens=tokens, learnt=fields.get(LEARNT) or False)


SOFT_PROMPT: Final = Record(
    "soft-prompt", means="Embeddings in place of words.", keys=(TOKENS, LEARNT), build=_soft_prompt
)

RANK: Final = Key(
    "rank",
    Whole(minimum=1),
    means=f"rank of the changes; {DEFAULT_RANK} when absent",
    example="rank: 8",
    also=("r",),
)
ALPHA: Final = Key(
    "alpha", Whole(minimum=1), means="a change counts alpha / rank; twice the rank when absent", example="alpha: 16"
)
TARGETS: Final = Key(
    "targets",
    TEXTS,
    means=f"layers that change, by the ends of their names; {', '.join(DEFAULT_TARGETS)} when absent",
    example="targets: [q_proj, v_proj]",
    also=("target_modules", "layers"),
)


def _lora(fields: Fields) -> Lora:
    targets = fields.get(TARGETS)
    names = DEFAULT_TARGETS if targets is None else tuple(text.value for text in targets)
    return Lora(rank=fields.get(RANK) or DEFAULT_RANK, alpha=fields.get(ALPHA), targets=names)


MODEL: Final = Key(
    "model",
    ANY_TEXT,
    means="folder or .gguf file of the model, relative to this file, or its name on the Hugging Face Hub",
    example="model: HuggingFaceTB/SmolLM2-135M-Instruct",
    required=True,
)
PROMPT: Final = Key(
    "prompt",
    Text(expected="a text with {fields}"),
    means="what the model reads: a text with {fields} in it, {{ and }} for braces",
    example='prompt: "Ticket: {text}\\nQueue:"',
    required=True,
    also=("template", "reads"),
)
SOFT_PROMPTS: Final = Key(
    "soft_prompts",
    Entries(
        key=_FIELD,
        value=SoftPromptShape(),
        build=lambda key, value: (key.value, value),
        what="fields and how many tokens each is",
    ),
    means="fields that stand in the prompt as embeddings, which carry a gradient",
    example="soft_prompts: { state: 4 }",
)
CHOOSES: Final = Key(
    "chooses",
    Entries(
        key=_FIELD,
        value=AlternativesShape(),
        build=lambda key, value: (key.value, value),
        what="choices and their alternatives",
    ),
    means="choices by the log-probability of each alternative's text after the prompt",
    example='chooses: { queue: { billing: " billing", orders: " orders" } }',
)
GIVES: Final = Key(
    "gives",
    GivesShape(),
    means="what else comes out: the last layer's state after the prompt, or what the model says then",
    example="gives: [hidden, text]",
)
MAX_TOKENS: Final = Key("max_tokens", Whole(minimum=1), means="most tokens of the text", example="max_tokens: 16")
LORA: Final = Key(
    "lora",
    Record("lora", means="Low-rank changes that learn.", keys=(RANK, ALPHA, TARGETS), build=_lora, is_thing=False),
    means="low-rank changes of the model, which learn in its place",
    example="lora: { rank: 8, alpha: 16 }",
)
CHECKPOINT: Final = Key(
    "checkpoint",
    ANY_TEXT,
    means="what training wrote, relative to this file",
    example="checkpoint: reader.safetensors",
    also=("weights",),
)
SAMPLE: Final = Key(
    "sample", Flag(), means="draw choices from their probabilities, or take the likeliest", example="sample: false"
)
SEED: Final = Key("seed", Whole(minimum=0), means="of the first weights that learn", example="seed: 0")
DOWNLOAD: Final = Key(
    "download", Flag(), means="fetch the model where this machine has none; when absent: no", example="download: true"
)


def _build(fields: Fields) -> Make | None:
    model, prompt = fields.get(MODEL), fields.get(PROMPT)
    if model is None or prompt is None:
        return None
    try:
        soft_prompts, chooses = fields.get(SOFT_PROMPTS), fields.get(CHOOSES)
        options = hold(
            LmOptions(
                prompt=prompt.value,
                soft_prompts=dict(soft_prompts or ()),
                chooses=dict(chooses or ()),
                gives=fields.get(GIVES) or (),
                max_tokens=fields.get(MAX_TOKENS) or 0,
                lora=fields.get(LORA),
                seed=fields.get(SEED) or 0,
            )
        )
    except UsageError as error:
        fields.report.add(fields.node.span.problem(SpecCode.CONFLICT, str(error)))
        return None
    rest: dict[str, Any] = {"sample": True if (sample := fields.get(SAMPLE)) is None else sample}
    rest |= {key.name: text.value for key in (VERSION_KEY, DESCRIPTION_KEY) if (text := fields.get(key)) is not None}
    checkpoint = fields.get(CHECKPOINT)
    place = None if checkpoint is None else checkpoint.value
    return partial(_make, model.value, options, rest, place, fields.get(DOWNLOAD) or False)


def _make(
    model: str,
    options: LmOptions,
    rest: Mapping[str, Any],
    checkpoint: str | None,
    download: bool,
    name: str,
    folder: Path,
) -> Component:
    need_transformers(f"component '{name}' of kind causal-lm")

    from stretto.components.causal_lm.base import load_base  # with torch and transformers, which only this kind needs
    from stretto.components.causal_lm.made import component_in, declared
    from stretto.components.causal_lm.module import CausalLm

    module = CausalLm(name, load_base(name, model, folder, download=download), options)
    weights = None if checkpoint is None else str(folder / checkpoint)
    return component_in(declared(module, checkpoint=weights, **rest))


CAUSAL_LM: Final[Record[Make]] = Record(
    "causal-lm",
    means="A stock language model of transformers, with gradients.",
    keys=(
        MODEL,
        PROMPT,
        SOFT_PROMPTS,
        CHOOSES,
        GIVES,
        MAX_TOKENS,
        LORA,
        CHECKPOINT,
        SAMPLE,
        SEED,
        DOWNLOAD,
        VERSION_KEY,
        DESCRIPTION_KEY,
    ),
    build=_build,
)
