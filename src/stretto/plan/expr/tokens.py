"""Splits the text of an expression into tokens (cel-spec langdef, Syntax: the lexis)."""

import re
from enum import StrEnum
from typing import Final, NamedTuple

from stretto.plan.expr.hints import FOREIGN_CHARACTERS, FOREIGN_OPERATORS
from stretto.plan.expr.problem import ExprCode, ExprProblems, refuse

MAX_SOURCE_CHARS: Final = 4_096
"""An expression is a line or two; what is longer belongs in a component."""


class Token(StrEnum):
    """What a piece of the text is."""

    IDENT = "name"
    ESCAPED = "name in backticks"
    INT = "integer"
    UINT = "unsigned integer"
    DOUBLE = "number"
    STRING = "text"
    BYTES = "bytes"
    MARK = "mark"
    END = "end"


class Lexeme(NamedTuple):
    """One token with its place."""

    kind: Token
    text: str
    start: int
    end: int

    @property
    def in_words(self) -> str:
        """As an error quotes it."""
        return "the end of the expression" if self.kind is Token.END else f"`{self.text}`"


BLANK: Final = re.compile(r"(?:[ \t\n\f\r]+|//[^\n\r]*)+")

PIECE: Final = re.compile(
    r"""(?P<DOUBLE>[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
    | (?P<UINT>(?:0[xX][0-9a-fA-F]+|[0-9]+)[uU])
    | (?P<INT>0[xX][0-9a-fA-F]+|[0-9]+)
    | (?P<QUOTE>[bB]?[rR]?(?:\"\"\"|'''|"|'))
    | (?P<IDENT>[_a-zA-Z][_a-zA-Z0-9]*)
    | (?P<ESCAPED>`[_a-zA-Z0-9.\-/ ]+`)
    | (?P<MARK>==|!=|<=|>=|&&|\|\||[<>+\-*/%!?:.,()\[\]{}])""",
    re.VERBOSE,
)

FOREIGN: Final = re.compile("(?!==(?!=)|&&|\\|\\|)(?:" + "|".join(map(re.escape, FOREIGN_OPERATORS)) + ")")
"""Two equals signs, ampersands or bars are CEL's own; three equals signs are not."""

NEWLINE: Final = re.compile(r"[\r\n]")

NUMBERS: Final = frozenset({Token.INT, Token.UINT, Token.DOUBLE})


def read_tokens(source: str) -> list[Lexeme]:
    """Every token, an END last. Raises ExprProblems at the first character that begins none."""
    if len(source) > MAX_SOURCE_CHARS:
        raise refuse(
            ExprCode.TOO_LARGE,
            f"the expression has {len(source):,} characters",
            MAX_SOURCE_CHARS,
            len(source),
            expected=f"at most {MAX_SOURCE_CHARS:,}",
            suggestion="compute the value in a component and read it here",
        )
    found, at = [], _skip_blank(source, 0)
    while at < len(source):
        lexeme = _next(source, at)
        found.append(lexeme)
        at = _skip_blank(source, lexeme.end)
    found.append(Lexeme(Token.END, "", len(source), len(source)))
    return found


def _skip_blank(source: str, at: int) -> int:
    blank = BLANK.match(source, at)
    return blank.end() if blank else at


def _next(source: str, at: int) -> Lexeme:
    if foreign := FOREIGN.match(source, at):
        raise _foreign(foreign[0], at)
    piece = PIECE.match(source, at)
    if piece is None:
        raise _no_token(source, at)
    if piece.lastgroup == "QUOTE":
        return _quoted(source, at, piece["QUOTE"])
    kind = Token[piece.lastgroup or "MARK"]
    end = piece.end()
    if kind in NUMBERS and re.match(r"[_a-zA-Z0-9]", source[end : end + 1]):
        raise refuse(
            ExprCode.SYNTAX,
            f"the number `{piece[0]}` runs into `{source[end]}`",
            at,
            end + 1,
            expected="an operator or a space after a number; names begin with a letter",
        )
    return Lexeme(kind, piece[0], at, end)


def _quoted(source: str, at: int, opening: str) -> Lexeme:
    """The whole literal, quotes and prefix included."""
    mark = opening.lstrip("bBrR")
    raw = "r" in opening[: -len(mark)].lower()
    inside = at + len(opening)
    end = _closing(source, inside, mark, raw=raw)
    newline = NEWLINE.search(source, inside) if len(mark) == 1 else None
    limit = newline.start() if newline else len(source)
    if not 0 <= end < limit:
        expected = f"a closing {mark} on the same line" if newline else f"a closing {mark}"
        raise refuse(ExprCode.SYNTAX, "the text is not closed", at, limit, expected=expected)
    kind = Token.BYTES if opening[0] in "bB" else Token.STRING
    return Lexeme(kind, source[at : end + len(mark)], at, end + len(mark))


def _closing(source: str, at: int, mark: str, *, raw: bool) -> int:
    """Where the closing quote begins; -1 when there is none. A backslash takes the next character with it."""
    while True:
        end = source.find(mark, at)
        slash = -1 if raw else source.find("\\", at)
        if end < 0 or not 0 <= slash < end:
            return end
        at = slash + 2


def _foreign(text: str, at: int) -> ExprProblems:
    return refuse(
        ExprCode.SYNTAX,
        f"`{text}` is no CEL operator",
        at,
        at + len(text),
        expected=f"`{FOREIGN_OPERATORS[text]}`",
        suggestion=FOREIGN_OPERATORS[text],
    )


def _no_token(source: str, at: int) -> ExprProblems:
    character = source[at]
    remedy = FOREIGN_CHARACTERS.get(character, "")
    return refuse(ExprCode.SYNTAX, f"`{character}` means nothing in CEL", at, at + 1, suggestion=remedy)
