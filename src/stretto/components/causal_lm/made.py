"""`causal_lm`: declares a language model as a component, in Python as a workflow file does."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from stretto.components.causal_lm.base import base_of, load_base
from stretto.components.causal_lm.extra import need_transformers
from stretto.components.causal_lm.module import CausalLm
from stretto.components.causal_lm.options import EMBEDDINGS, Gives, LmOptions, hold
from stretto.components.torch.component import TorchComponent
from stretto.components.torch.decorator import differentiable
from stretto.components.torch.shape import Shape, Spelt
from stretto.types.errors import UsageError


def causal_lm(
    name: str,
    version: str = "0.0.0",
    *,
    model: Any,
    tokenizer: Any = None,
    prompt: str,
    soft_prompts: Mapping[str, Any] | None = None,
    chooses: Mapping[str, Sequence[str] | Mapping[str, str]] | None = None,
    gives: str | Sequence[str] = (),
    max_tokens: int = 0,
    lora: Mapping[str, Any] | None = None,
    sample: bool = True,
    checkpoint: str | Path | None = None,
    seed: int = 0,
    download: bool = False,
    description: str = "",
) -> CausalLm:
    """Declare a stock causal language model of ``transformers`` as a component that gradients pass; returns its module.

    `model` is the path of a folder or of a ``.gguf`` file, a name on the Hugging Face Hub of which this machine has a
    copy, or a model in memory, whose `tokenizer` then stands beside it. It is frozen, and stays as it is. `prompt` is a
    text with holes: ``{text}`` is filled by the field `text`, and where the name is among `soft_prompts` by that many
    embeddings, which carry a gradient. `chooses` gives each choice its alternatives, alone or each with the text whose
    log-probability after the prompt is its logit; ``gives="hidden"`` gives the last layer's state after the prompt,
    ``gives="text"`` what the model says, of at most `max_tokens`.
    `lora`, such as ``{"rank": 8}``, lets low-rank changes of the model learn; ``{"tokens": 8, "learnt": True}`` makes
    a soft prompt one of the component's own weights.

    Raises UsageError for what cannot work together, a model that is not there, and options that do not fit it.
    """
    need_transformers("`stretto.causal_lm`")
    softs = {each: {"tokens": soft} if isinstance(soft, int) else soft for each, soft in (soft_prompts or {}).items()}
    asked = {
        "prompt": prompt,
        "soft_prompts": softs,
        "chooses": {each: _texts(each, alternatives) for each, alternatives in (chooses or {}).items()},
        "gives": [gives] if isinstance(gives, str) else gives,
        "max_tokens": max_tokens,
        "lora": lora,
        "seed": seed,
    }
    try:
        options = hold(msgspec.convert(asked, LmOptions))
    except msgspec.ValidationError as error:
        raise UsageError(f"component '{name}' cannot be made: {error}") from error
    is_place = isinstance(model, str | Path)
    base = load_base(name, str(model), Path(), download=download) if is_place else base_of(name, model, tokenizer)
    module = CausalLm(name, base, options)
    return declared(module, version=version, sample=sample, checkpoint=checkpoint, description=description)


def declared(module: CausalLm, **options: Any) -> CausalLm:
    """The module marked as the component that its options make it; these are those of any differentiable one."""
    asked = module.options
    inputs = {name: Shape(soft.tokens, module.width) for name, soft in asked.soft_prompts.items() if not soft.learnt}
    outputs: dict[str, Shape] = {Gives.HIDDEN.value: Shape(module.hidden_width)} if Gives.HIDDEN in asked.gives else {}
    if Gives.TEXT in asked.gives:
        outputs[Gives.TEXT.value] = Spelt(asked.max_tokens, module.words.text)
        outputs[EMBEDDINGS] = Shape(asked.max_tokens, module.width)
    chooses = {choice: tuple(texts) for choice, texts in asked.chooses.items()}
    declare = differentiable(
        module.name, inputs=inputs, context=asked.texts, outputs=outputs, chooses=chooses, **options
    )
    return declare(module)


def component_in(module: CausalLm) -> TorchComponent:
    """The component that a module was declared as."""
    from stretto.components.python.decorator import component_of

    found = component_of(module)
    assert isinstance(found, TorchComponent)
    return found


def _texts(choice: str, alternatives: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    if isinstance(alternatives, str):
        raise UsageError(
            f"the choice '{choice}' has one text where alternatives are listed; write [{alternatives!r}, ...]"
        )
    return dict(alternatives) if isinstance(alternatives, Mapping) else {each: each for each in alternatives}
