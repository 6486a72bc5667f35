"""What a model says after prompts: the state it is in, and how likely texts are.

Shape letters: B rows, A alternatives, T places of the prompt, L tokens of the longest alternative, V words of the
vocabulary, H the width of a hidden state.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from stretto.components.causal_lm.sequence import Embed, Prompts


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A model that has read prompts."""

    model: Any
    prompts: Prompts
    logits_BV: Tensor
    """Of what comes next."""
    hidden_BH: Tensor
    """Of the last layer at the last place."""
    cache: Any
    """What its attention keeps of the prompts."""


def read(model: Any, prompts: Prompts) -> Read:
    """Let a model of ``transformers`` read prompts, with its graph."""
    from transformers import DynamicCache

    cache = DynamicCache(config=model.config)
    told = _call(
        model,
        cache,
        inputs_embeds=prompts.vectors_BTD,
        attention_mask=prompts.mask_BT,
        position_ids=prompts.positions_BT,
        output_hidden_states=True,
        logits_to_keep=1,
    )
    logits_BV, hidden_BH = told.logits[:, -1], told.hidden_states[-1][:, -1]
    return Read(model=model, prompts=prompts, logits_BV=logits_BV, hidden_BH=whole(hidden_BH), cache=cache)


def alternatives(found: Read, texts: Sequence[Sequence[int]], embed: Embed) -> Tensor:
    """[B, A], float64: the log-probability that the model goes on by each text's tokens, of any that it could say.

    The sum over its tokens, each after those before it. What the attention keeps of the prompt is read by all
    alternatives, so the prompt is computed once.
    """
    first_BV = found.logits_BV.double().log_softmax(-1)
    logp_BA = first_BV[:, [text[0] for text in texts]]
    longer = [place for place, text in enumerate(texts) if len(text) > 1]
    if not longer:
        return logp_BA
    further = _further(found, [texts[place] for place in longer], embed)
    return logp_BA.index_add(1, torch.tensor(longer, device=logp_BA.device), further)


def _further(found: Read, texts: Sequence[Sequence[int]], embed: Embed) -> Tensor:
    """[B, A]: of all tokens after the first. Padding stands on the right, which nothing before it sees."""
    rows, among, longest = len(found.logits_BV), len(texts), max(map(len, texts))
    device = found.logits_BV.device
    padded_AL = torch.tensor([[*text, *[text[-1]] * (longest - len(text))] for text in texts], device=device)
    there_AL = torch.tensor([[1] * len(text) + [0] * (longest - len(text)) for text in texts], device=device)
    given_AL, wanted_AL = padded_AL[:, :-1], padded_AL[:, 1:]
    mask = found.prompts.mask_BT.repeat_interleave(among, 0)
    before = mask.sum(-1, keepdim=True)
    found.cache.batch_repeat_interleave(among)
    told = _call(
        found.model,
        found.cache,
        inputs_embeds=embed(given_AL).repeat(rows, 1, 1),
        attention_mask=torch.cat([mask, there_AL[:, :-1].repeat(rows, 1)], -1),
        position_ids=before + torch.arange(longest - 1, device=device),
    )
    logp = told.logits.double().log_softmax(-1).reshape(rows, among, longest - 1, -1)
    each_BAL = logp.gather(-1, wanted_AL.expand(rows, -1, -1)[..., None])[..., 0]
    further_BA: Tensor = (each_BAL * there_AL[:, 1:]).sum(-1)
    return further_BA


def whole(value: Tensor) -> Tensor:
    """In float32 at least, as other components take it."""
    return value.float() if value.dtype in (torch.bfloat16, torch.float16) else value


def further(found: Read, vectors_BTD: Tensor, place: int) -> Tensor:
    """[B, V]: the logits after one more token, the one at that place since the prompt, given as it is embedded."""
    mask = found.prompts.mask_BT
    told = _call(
        found.model,
        found.cache,
        inputs_embeds=vectors_BTD,
        attention_mask=torch.cat([mask, mask.new_ones(len(mask), place + 1)], -1),
        position_ids=mask.sum(-1, keepdim=True) + place,
    )
    logits_BV: Tensor = told.logits[:, -1]
    return logits_BV


def _call(model: Any, cache: Any, **inputs: Any) -> Any:
    kept = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"
    return model(**inputs, **{kept: cache}, use_cache=True)
