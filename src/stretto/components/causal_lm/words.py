"""Between text and tokens: what a tokenizer must not do to text that comes from outside."""

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, Final

from stretto.types.errors import UsageError
from stretto.types.ids import Digest, digest_of

KEPT: Final = 1_024
"""Texts whose tokens are remembered: a batch is read again in each update, and splitting takes time."""


class Words:
    """A tokenizer of ``transformers``, shared by all copies of what holds it."""

    def __init__(self, tokenizer: Any) -> None:  # that package has no types
        self.tokenizer = tokenizer
        self._plain = lru_cache(maxsize=KEPT)(self._split_up)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Words":
        return self

    @cached_property
    def digest(self) -> Digest:
        """Of how it splits text."""
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        told = repr(self.tokenizer) if backend is None else backend.to_str()
        return digest_of(told.encode())

    @cached_property
    def begin(self) -> tuple[int, ...]:
        """What the tokenizer puts before every text."""
        bare, whole = self.plain("a"), self.tokenizer.encode("a", add_special_tokens=True)
        starts = [at for at in range(len(whole)) if whole[at : at + len(bare)] == bare]
        return tuple(whole[: starts[0]]) if starts else ()

    @cached_property
    def _controls(self) -> dict[str, int]:
        """Tokens that steer a model, such as the end of a message, by their text."""
        added = self.tokenizer.added_tokens_decoder
        return {token.content: number for number, token in added.items() if token.special and token.content}

    @cached_property
    def _split(self) -> re.Pattern[str] | None:
        longest_first = sorted(self._controls, key=len, reverse=True)
        return re.compile(f"({'|'.join(map(re.escape, longest_first))})") if longest_first else None

    def plain(self, text: str) -> list[int]:
        """Tokens of a text in which nothing steers: ``<|im_end|>`` is ten characters there."""
        return [*self._plain(text)]

    def _split_up(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True))

    def tokens(self, pieces: Sequence[tuple[str, bool]]) -> list[int]:
        """Tokens of pieces joined to one text; only in those marked true do control tokens steer."""
        found: list[int] = []
        waiting = ""
        for text, is_ours in pieces:
            split = self._split.split(text) if is_ours and self._split is not None else [text]
            for place, part in enumerate(split):
                if place % 2:
                    found += [*self.plain(waiting), self._controls[part]] if waiting else [self._controls[part]]
                    waiting = ""
                else:
                    waiting += part
        return found + self.plain(waiting) if waiting else found

    def text(self, ids: Sequence[int]) -> str:
        """What tokens say; those that are none are left out."""
        said: str = self.tokenizer.decode([each for each in ids if each >= 0], skip_special_tokens=True)
        return said

    def spell(self, ids: Sequence[int]) -> list[str]:
        """Each token as people read it."""
        return [self.tokenizer.decode([each]) for each in ids]


def held_tokens(component: str, tokenizer: Any) -> Words:
    """The tokenizer of a model, held to be there. Raises UsageError where there is none."""
    if tokenizer is None or not callable(getattr(tokenizer, "encode", None)):
        raise UsageError(
            f"component '{component}': its model has no tokenizer, so no prompt can be made of text; put "
            "tokenizer.json and tokenizer_config.json beside its weights"
        )
    return Words(tokenizer)
