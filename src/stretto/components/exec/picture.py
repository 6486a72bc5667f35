"""COBOL picture clauses: what a field of a fixed-width record holds, as its copybook says it.

`PICTURE`, `SIGN` and `USAGE`: ISO/IEC 1989:2023, sections 13.18.40, 13.18.52 and 13.18.60. `COMP-3` and the other
`COMP`: IBM Enterprise COBOL for z/OS, Language Reference, "USAGE clause".
"""

import re
from enum import StrEnum
from typing import Final

import msgspec

MAX_DIGITS: Final = 38
"""As many as GnuCOBOL and Micro Focus take; ISO asks for 31."""

MAX_WIDTH: Final = 1 << 20
"""Bytes of one field; a longer one is a slip of the keyboard."""

_RUN: Final = r"(?:9(?:\(\d{1,7}\))?)*"
_NUMERIC: Final = re.compile(rf"(S?)({_RUN})(?:V({_RUN}))?")
_TEXT: Final = re.compile(r"(X(?:\(\d{1,7}\))?)+|(A(?:\(\d{1,7}\))?)+")
_ONE: Final = re.compile(r"[AX9](?:\((\d{1,7})\))?")
_EDITING: Final = re.compile(r"[Z*,.$+\-B/0]|CR|DB")
_IS_IGNORED: Final = frozenset({"PIC", "PICTURE", "IS", "USAGE", "SIGN", "CHARACTER", "DISPLAY"})
_PACKED: Final = frozenset({"COMP-3", "COMPUTATIONAL-3", "PACKED-DECIMAL"})
_BINARY: Final = frozenset({"BINARY", "COMP", "COMP-4", "COMPUTATIONAL", "COMPUTATIONAL-4"})
_NATIVE: Final = frozenset({"COMP-5", "COMPUTATIONAL-5"})
_NOT_READ: Final = re.compile(r"COMP(UTATIONAL)?-[0-9A-Z]|FLOAT.*|INDEX|POINTER")

MAX_BINARY_DIGITS: Final = 18
"""More take sixteen bytes in some dialects and are refused by others."""


class Sign(StrEnum):
    """Where a number's sign stands."""

    NONE = "none"
    TRAILING = "trailing"
    """Punched over the last digit: what COBOL does when nothing is said."""
    LEADING = "leading"
    TRAILING_SEPARATE = "trailing_separate"
    """A `+` or `-` of its own."""
    LEADING_SEPARATE = "leading_separate"

    @property
    def is_separate(self) -> bool:
        return self in (Sign.TRAILING_SEPARATE, Sign.LEADING_SEPARATE)


class Usage(StrEnum):
    """How a number is stored."""

    DISPLAY = "display"
    """A digit to each byte."""
    PACKED = "COMP-3"
    """Two digits to each byte."""
    BINARY = "COMP"
    """The most significant byte first."""
    NATIVE = "COMP-5"
    """In the byte order of the machine."""


class Picture(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a picture clause says."""

    symbol: str
    """``9``, ``X`` or ``A``."""
    size: int
    """Digits, or characters."""
    decimals: int = 0
    """Of the digits, those behind the implied decimal point."""
    sign: Sign = Sign.NONE
    usage: Usage = Usage.DISPLAY

    @property
    def is_numeric(self) -> bool:
        return self.symbol == "9"

    @property
    def is_binary(self) -> bool:
        return self.usage in (Usage.BINARY, Usage.NATIVE)

    @property
    def is_text(self) -> bool:
        """Whether what stands there are characters; else any byte may."""
        return self.usage is Usage.DISPLAY

    @property
    def width(self) -> int:
        """Bytes that it takes in a record."""
        if self.usage is Usage.PACKED:
            return self.size // 2 + 1
        if self.is_binary:
            return 2 if self.size <= 4 else 4 if self.size <= 9 else 8
        return self.size + self.sign.is_separate

    def __str__(self) -> str:
        if not self.is_numeric:
            return f"{self.symbol}({self.size})"
        whole, part = self.size - self.decimals, self.decimals
        text = ("S" if self.sign is not Sign.NONE else "") + (f"9({whole})" if whole else "")
        text += f"V9({part})" if part else ""
        if not self.is_text:
            return f"{text} {self.usage}"
        return text if self.sign in (Sign.NONE, Sign.TRAILING) else f"{text} SIGN {_words(self.sign)}"


def _words(sign: Sign) -> str:
    return sign.value.replace("_", " ").upper()


_USAGES: Final = {
    **dict.fromkeys(_PACKED, Usage.PACKED),
    **dict.fromkeys(_BINARY, Usage.BINARY),
    **dict.fromkeys(_NATIVE, Usage.NATIVE),
}


class PictureError(ValueError):
    """A clause that is not read. The text says what is wrong with it, after the clause; `expected` what is read."""

    def __init__(self, message: str, expected: str) -> None:
        super().__init__(message)
        self.expected = expected


def read_picture(clause: str) -> Picture:
    """The picture of a clause, ``S9(7)V99 COMP-3`` or ``PIC S9(4) SIGN LEADING SEPARATE``; raises PictureError."""
    words = [word for word in clause.upper().rstrip(".").split() if word not in _IS_IGNORED]
    if not words:
        raise PictureError("is empty", _EXPECTED)
    usage, sign = _options(words[1:])
    text = _TEXT.fullmatch(words[0])
    if text is not None:
        if usage is not Usage.DISPLAY or sign is not Sign.NONE:
            raise PictureError("gives letters a sign or a usage of numbers", f"{words[0]} alone")
        return _sized(Picture(symbol=words[0][0], size=_places(words[0])), MAX_WIDTH)
    return _numeric(words[0], usage, sign)


_EXPECTED: Final = (
    "X(n), A(n), 9(n), S9(n), 9(n)V9(m) or S9(n)V9(m); numbers also with COMP-3, COMP or COMP-5, those with a sign "
    "also with SIGN LEADING or TRAILING [SEPARATE]"
)


def _numeric(word: str, usage: Usage, sign: Sign) -> Picture:
    found = _NUMERIC.fullmatch(word)
    if found is None or not (found[2] or found[3]):
        if _EDITING.search(word) and set(word) <= set("9VSZ*,.$+-B/0CRD()123456789"):
            raise PictureError(
                "is edited for people to read", "the field as text: its width, and type: decimal where it is a number"
            )
        raise PictureError("is no picture that is read here", _EXPECTED)
    whole, part = _places(found[2]), _places(found[3] or "")
    if sign is not Sign.NONE and not found[1]:
        raise PictureError("places a sign and has none", f"S{word}")
    if found[1]:
        sign = Sign.TRAILING if sign is Sign.NONE else sign
    if usage is not Usage.DISPLAY and sign not in (Sign.NONE, Sign.TRAILING):
        raise PictureError("places the sign of a packed or binary number, which has its own place", f"{word} {usage}")
    picture = Picture(symbol="9", size=whole + part, decimals=part, sign=sign, usage=usage)
    return _sized(picture, MAX_BINARY_DIGITS if picture.is_binary else MAX_DIGITS)


def _options(words: list[str]) -> tuple[Usage, Sign]:
    usage, place, separate = Usage.DISPLAY, "", False
    for word in words:
        if word in _USAGES:
            usage = _USAGES[word]
        elif word in ("LEADING", "TRAILING"):
            place = word.lower()
        elif word == "SEPARATE":
            separate = True
        elif _NOT_READ.fullmatch(word):
            raise PictureError(f"is stored as {word}, which is not read", "DISPLAY, COMP-3, COMP or COMP-5")
        else:
            raise PictureError(f"holds {word!r}", _EXPECTED)
    if separate and not place:
        raise PictureError("says SEPARATE and not where", "SIGN LEADING SEPARATE or SIGN TRAILING SEPARATE")
    return usage, Sign(f"{place}_separate" if separate else place or "none")


def _places(run: str) -> int:
    """Of one symbol, as often as it stands there: ``XX``, ``9(3)``, ``9(3)9``."""
    return sum(int(found[1] or 1) for found in _ONE.finditer(run))


def _sized(picture: Picture, most: int) -> Picture:
    if not 1 <= picture.size <= most:
        raise PictureError(f"has {picture.size} places", f"1 to {most:,}")
    return picture
