"""A language model of a few thousand random weights, and a tokenizer of whole words."""

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

WIDTH = 16

WORDS = (
    "[UNK]",
    "<s>",
    "</s>",
    *("Ticket", "Queue", ":", ".", "my", "parcel", "is", "late", "broken"),
    *("bill", "too", "high", "billing", "orders", "other", "please"),
)


def tokenizer(*, begins: bool = True) -> Any:
    """Of whole words; `</s>` is a control token."""
    made = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = Whitespace()
    if begins:
        made.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    fast: Any = PreTrainedTokenizerFast
    return fast(tokenizer_object=made, unk_token="[UNK]", bos_token="<s>", eos_token="</s>")


def model(*, seed: int = 0, width: int = WIDTH, window: int = 48, dtype: torch.dtype = torch.float32) -> Any:
    """A Llama of two layers, two heads to one of keys, so that every part of the real ones is there."""
    config = LlamaConfig(
        vocab_size=len(WORDS),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=window,
        initializer_range=0.3,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made: Any = LlamaForCausalLM(config)
        return made.to(dtype).eval()


def save(folder: Path, **options: Any) -> Path:
    """A folder as `save_pretrained` writes it."""
    model(**options).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder
