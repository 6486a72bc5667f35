"""The prompts of a language model, made of fields, and held to what it reads."""

from collections.abc import Mapping
from itertools import groupby
from typing import Any

import orjson

from stretto.components.causal_lm.options import LmOptions
from stretto.components.causal_lm.sequence import Piece, length_of
from stretto.components.causal_lm.template import Hole
from stretto.components.causal_lm.words import Words
from stretto.types.errors import ContractError, UsageError
from stretto.types.json import Json


class Prompt:
    """What stands in a component's prompts, row by row."""

    def __init__(self, name: str, words: Words, options: LmOptions, *, window: int | None, further: int) -> None:
        """`further` is how many tokens may come after a prompt, beside which the model reads `window` at most.

        Raises UsageError where even a prompt of empty fields is longer than that.
        """
        self._name = name
        self._words = words
        self._options = options
        self._window = window
        self._further = further
        self._sizes = {soft: each.tokens for soft, each in options.soft_prompts.items()}
        least = self._length(self.pieces(dict.fromkeys(options.texts, "")))
        why = self._why_not(least) if least else None
        if why is not None:
            raise UsageError(f"component '{name}', with nothing in its fields, would be given {why}")

    def rows(self, fields: Mapping[str, Any]) -> list[list[Piece]]:
        """The prompt of each row; of fields, soft prompts as [B, S, D] and texts as lists of B values."""
        rows = next(len(value) for value in fields.values()) if fields else 1
        return [self.pieces({text: fields[text][row] for text in self._options.texts}) for row in range(rows)]

    def pieces(self, values: Mapping[str, Json]) -> list[Piece]:
        """One row: its tokens from one soft prompt to the next, and these."""
        pieces: list[Piece] = [self._words.begin] if self._words.begin else []
        softs = self._options.soft_prompts
        for is_soft, run in groupby(self._options.parts, lambda part: isinstance(part, Hole) and part.field in softs):
            if is_soft:
                pieces += [part.field for part in run if isinstance(part, Hole)]
            else:
                told = [(_text(values[p.field]), False) if isinstance(p, Hole) else (p, True) for p in run]
                pieces.append(tuple(self._words.tokens(told)))
        return pieces

    def hold(self, row: list[Piece]) -> None:
        """Raise ContractError for a prompt that the model does not read."""
        why = self._why_not(self._length(row))
        if why is not None:
            raise ContractError(f"component '{self._name}' is given {why}")

    def unfit(self, fields: Mapping[str, Any]) -> list[int]:
        """Rows whose prompts are longer than the model reads, or empty."""
        return [place for place, row in enumerate(self.rows(fields)) if self._why_not(self._length(row)) is not None]

    def _length(self, row: list[Piece]) -> int:
        return length_of(row, self._sizes)

    def _why_not(self, tokens: int) -> str | None:
        """Why a prompt of that many tokens cannot be read; None when it can."""
        if not tokens:
            return "a prompt of no tokens, which nothing continues"
        if self._window is None or tokens + self._further <= self._window:
            return None
        after = f", after which {self._further} more may come" if self._further else ""
        return (
            f"a prompt of {tokens} tokens{after}; its model reads at most {self._window}. Shorten what is put into it"
        )


def _text(value: Json) -> str:
    """Of a field: text as it is, nothing for null, anything else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else orjson.dumps(value).decode()
