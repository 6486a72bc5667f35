"""Which cells of a table can be analysed exactly, and at which values their answer may change.

A cell of constants alone (comparisons, intervals, lists, ``and``, ``or``, ``not``) asks of a value only how it stands
to these constants, so that all values between two neighbouring ones are answered alike. A cell that computes, calls a
function or looks at another field is not of that kind.
"""

import re
from decimal import Decimal
from typing import Final

import msgspec

_TOKEN: Final = re.compile(
    r"\s*(?:"
    r"(?P<text>\"[^\"\\]*\"|'[^'\\]*')"
    r"|(?P<number>\d+(?:\.\d+)?(?![\w]))"
    r"|(?P<range>\.\.)"
    r"|(?P<compare><=|>=|==|!=|<|>)"
    r"|(?P<open>[\[(])"
    r"|(?P<close>[\])])"
    r"|(?P<comma>,)"
    r"|(?P<sign>-)"
    r"|(?P<word>(?:in|not|and|or|true|false|null)(?!\w)|\$)"
    r"|(?P<end>\Z)"
    r")"
)

_RANGE: Final = re.compile(r"[\[(]\s*-?\s*[\d.]+?\s*\.\.")

_ENDS_A_VALUE: Final = frozenset({"text", "number", "close", "$", "true", "false", "null"})
"""After these a sign subtracts, and a bracket that opens takes a part of the value."""


class Constants(msgspec.Struct, frozen=True):
    """What a cell compares with."""

    texts: frozenset[str] = frozenset()
    numbers: frozenset[Decimal] = frozenset()


class _Scan:
    """Goes through the tokens of one cell; `fails` once it met what cannot be analysed."""

    def __init__(self, cell: str) -> None:
        self._cell = cell
        self.texts = set[str]()
        self.numbers = set[Decimal]()
        self._before = ""
        self._depth = 0
        self._sign = ""
        self._has_list = False
        self._has_equality = False
        self.fails = False

    def run(self) -> Constants | None:
        at = 0
        while not self.fails:
            token = _TOKEN.match(self._cell, at)
            kind = None if token is None else token.lastgroup
            if token is None or kind is None:
                return None
            if kind == "end":
                broken = self._sign or (self._has_list and self._has_equality)  # a list compared as a whole
                return None if broken else Constants(frozenset(self.texts), frozenset(self.numbers))
            self._take(kind, token[kind], token.start(kind))
            at = token.end()
        return None

    def _take(self, kind: str, text: str, at: int) -> None:
        if kind == "sign":
            self.fails = bool(self._sign) or self._before in _ENDS_A_VALUE  # which subtracts
            self._sign = "-"
            return
        if self._sign and kind != "number":
            self.fails = True
        match kind:
            case "open":
                self._open(text, at)
            case "close":
                self._depth -= 1
            case "number":
                self.numbers.add(Decimal(self._sign + text))
            case "text":
                self.texts.add(text[1:-1])
            case "compare":
                self._has_equality |= text in ("==", "!=")
            case _:
                self.fails |= text == "$" and self._before == "in"  # looks into a list
        self._sign = ""
        self._before = text if kind == "word" else kind

    def _open(self, bracket: str, at: int) -> None:
        is_list = bracket == "[" and _RANGE.match(self._cell, at) is None
        takes_part = bracket == "[" and self._before in _ENDS_A_VALUE
        self.fails |= takes_part or (is_list and self._depth > 0)  # $[0], and a list in a list
        self._has_list |= is_list
        self._depth += 1


def constants_of(cell: str) -> Constants | None:
    """The constants of a cell that compares with nothing else; None when it cannot be analysed."""
    return _Scan(cell).run()
