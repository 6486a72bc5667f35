"""What a language model may be declared with, checked without it."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import Final

import msgspec

from stretto.components.causal_lm.template import TemplatePart, fields_of, read_template
from stretto.types.errors import UsageError

DEFAULT_RANK: Final = 8

DEFAULT_TARGETS: Final = ("q_proj", "v_proj")
"""Hu et al. 2021, "LoRA", arXiv:2106.09685, section 7.1: of one budget of parameters, queries and values do best."""


MOST_SEED: Final = 2**63 - 1
"""That torch takes."""


class Gives(StrEnum):
    """What comes out beside choices."""

    HIDDEN = "hidden"
    """The last layer's state after the prompt: ``hidden``, with a gradient."""
    TEXT = "text"
    """What the model says after it: ``text``, and ``text_embeddings`` with a gradient."""


EMBEDDINGS: Final = "text_embeddings"
"""Output field with what a text is to a model that reads it on."""


class SoftPrompt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Embeddings that stand in the prompt in place of words.

    Lester, Al-Rfou and Constant 2021, "The Power of Scale for Parameter-Efficient Prompt Tuning", arXiv:2104.08691.
    """

    tokens: int
    """How many."""
    learnt: bool = False
    """They are weights of this component; otherwise another component gives them."""


class Lora(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Low-rank changes of linear layers, which learn in place of the layers (arXiv:2106.09685, section 4.1)."""

    rank: int = DEFAULT_RANK
    alpha: int | None = None
    """The change counts alpha / rank; twice the rank where None."""
    targets: tuple[str, ...] = DEFAULT_TARGETS
    """Names of layers, or endings of them."""

    @property
    def counts(self) -> int:
        """Alpha."""
        return 2 * self.rank if self.alpha is None else self.alpha


class LmOptions(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything declared about a language model but its name, version and weights."""

    prompt: str
    soft_prompts: Mapping[str, SoftPrompt] = {}
    chooses: Mapping[str, Mapping[str, str]] = {}
    """Choice → its alternatives → the text that the model is asked how likely it is."""
    gives: tuple[Gives, ...] = ()
    max_tokens: int = 0
    """Of the text."""
    lora: Lora | None = None
    seed: int = 0
    """Of the first weights that learn."""

    @cached_property
    def parts(self) -> tuple[TemplatePart, ...]:
        """Of the prompt."""
        return read_template(self.prompt)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Fields that stand in the prompt as text."""
        return tuple(field for field in fields_of(self.parts) if field not in self.soft_prompts)

    @property
    def described(self) -> str:
        """For the digest: the same text for the same options."""
        return msgspec.json.encode(self, order="sorted").decode()


def hold(options: LmOptions) -> LmOptions:
    """The options. Raises UsageError for those that cannot work together."""
    fields = fields_of(options.parts)
    for name, soft in options.soft_prompts.items():
        if soft.tokens < 1:
            raise UsageError(f"the soft prompt '{name}' has {soft.tokens} tokens; expected 1 or more")
        if name not in fields:
            there = f"it has {', '.join(fields)}" if fields else "it has no hole"
            raise UsageError(
                f"the soft prompt '{name}' has no place in `prompt`: {there}. Write {{{name}}} where it stands"
            )
    if all(name in options.soft_prompts and options.soft_prompts[name].learnt for name in fields):
        raise UsageError("`prompt` has no hole that a field fills, so it is always the same; write {field} in it")
    if not (options.chooses or options.gives):
        raise UsageError(
            "nothing comes out: give `chooses`, with alternatives, or `gives`, some of " + ", ".join(Gives)
        )
    if (Gives.TEXT in options.gives) is not bool(options.max_tokens):
        raise UsageError(
            "`gives: text` needs `max_tokens`, how long the text may become"
            if not options.max_tokens
            else "`max_tokens` has no effect: nothing is said; add `gives: text`"
        )
    _hold_names(options)
    return options


def _hold_names(options: LmOptions) -> None:
    for name, texts in options.chooses.items():
        if name in [*Gives, EMBEDDINGS]:
            raise UsageError(f"the choice '{name}' has the name of what `gives` gives; call it otherwise")
        if len(texts) < 2:
            raise UsageError(f"the choice '{name}' has the alternatives {[*texts]}; expected two or more")
        if empty := [alternative for alternative, text in texts.items() if not text]:
            raise UsageError(f"alternative '{empty[0]}' of the choice '{name}' has no text that a model could say")
    if options.lora is not None and (options.lora.rank < 1 or not options.lora.targets):
        raise UsageError(
            f"`lora` has rank {options.lora.rank} and targets {[*options.lora.targets]}; expected 1 or more"
        )
    if options.lora is not None and options.lora.counts < 1:
        raise UsageError(
            f"`lora` has alpha {options.lora.alpha}, with which nothing would be learnt; expected 1 or more"
        )
    if not 0 <= options.seed <= MOST_SEED:
        raise UsageError(f"`seed` is {options.seed}; expected a whole number from 0 to {MOST_SEED}")
