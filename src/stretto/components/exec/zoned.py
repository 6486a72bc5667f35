"""Numbers with a digit to each byte (USAGE DISPLAY), in the digits of ASCII or of EBCDIC.

A sign of its own is `+` or `-`. Punched over a digit it is, in EBCDIC, the zone of that digit's byte: C or F for plus,
D for minus (IBM z/Architecture Principles of Operation, "Zoned Format"). Such bytes, translated to ASCII as text, are
``{ABCDEFGHI`` and ``}JKLMNOPQR``. GnuCOBOL and Micro Focus leave a plus as it is, and write a minus as ``p`` to ``y``.
"""

from enum import StrEnum
from typing import Final

from stretto.components.exec.misfit import MisfitError
from stretto.components.exec.picture import Picture, Sign

_PLUS: Final = b"{ABCDEFGHI"
_MINUS: Final = b"}JKLMNOPQR"
_MINUS_ASCII: Final = b"pqrstuvwxy"


class Overpunch(StrEnum):
    """How a sign is written over a digit of ASCII. Read are both."""

    IBM = "ibm"
    """As EBCDIC is translated: ``{`` to ``I`` and ``}`` to ``R``."""
    ASCII = "ascii"
    """As GnuCOBOL and Micro Focus have it: digits for plus, ``p`` to ``y`` for minus."""


class Digits:
    """Digits and signs as the bytes of one encoding."""

    def __init__(self, encoding: str, overpunch: Overpunch) -> None:
        self._zero = "0".encode(encoding)[0]
        self._signs = "+-".encode(encoding)
        is_ebcdic = self._zero == 0xF0
        if is_ebcdic:  # bytes, not letters: national code pages have others there
            self._plus, self._minus = _zone(0xC0), _zone(0xD0)
        elif overpunch is Overpunch.IBM:
            self._plus, self._minus = _PLUS, _MINUS
        else:
            self._plus, self._minus = _zone(self._zero), _MINUS_ASCII
        self._read = _punched(is_ebcdic=is_ebcdic)

    def put(self, units: int, picture: Picture) -> bytes:
        """A whole number of units that fits the picture, as the bytes of its field."""
        digits = bytearray(self._zero + int(char) for char in f"{abs(units):0{picture.size}d}")
        if picture.sign.is_separate:
            sign = self._signs[units < 0 :][:1]
            return sign + digits if picture.sign is Sign.LEADING_SEPARATE else bytes(digits) + sign
        if picture.sign is not Sign.NONE:
            at = 0 if picture.sign is Sign.LEADING else -1
            digits[at] = (self._minus if units < 0 else self._plus)[digits[at] - self._zero]
        return bytes(digits)

    def take(self, data: bytes, picture: Picture) -> int:
        """The units of a field's bytes; raises MisfitError when they are no number of that picture."""
        body, negative = self._without_sign(bytearray(data), picture)
        values = [byte - self._zero for byte in body]
        if any(not 0 <= value <= 9 for value in values):
            raise MisfitError(f"{picture}: {picture.size} digits{_sign_in_words(picture)}")
        units = int("".join(map(str, values)))
        return -units if negative else units

    def _without_sign(self, data: bytearray, picture: Picture) -> tuple[bytearray, bool]:
        """The digits alone, and whether the number is below 0."""
        if picture.sign is Sign.NONE:
            return data, False
        at = 0 if picture.sign in (Sign.LEADING, Sign.LEADING_SEPARATE) else len(data) - 1
        if not picture.sign.is_separate:
            punched = self._read.get(data[at])
            if punched is not None:
                data[at] = self._zero + punched[0]
            return data, punched is not None and punched[1]
        sign = data.pop(at)
        if sign not in self._signs:
            raise MisfitError(f"{picture}: {picture.size} digits{_sign_in_words(picture)}")
        return data, sign == self._signs[1]


def _zone(first: int) -> bytes:
    return bytes(range(first, first + 10))


def _punched(*, is_ebcdic: bool) -> dict[int, tuple[int, bool]]:
    """Each byte of a digit with a sign over it: the digit, and whether the sign is minus."""
    if is_ebcdic:
        signs = {_zone(zone): zone in (0xB0, 0xD0) for zone in (0xA0, 0xB0, 0xC0, 0xD0, 0xE0)}
    else:
        signs = {_PLUS: False, _MINUS: True, _MINUS_ASCII: True}
    return {byte: (digit, negative) for row, negative in signs.items() for digit, byte in enumerate(row)}


def _sign_in_words(picture: Picture) -> str:
    match picture.sign:
        case Sign.NONE:
            return ""
        case Sign.LEADING:
            return ", a sign over the first"
        case Sign.TRAILING:
            return ", a sign over the last"
        case Sign.LEADING_SEPARATE:
            return " after a + or -"
        case Sign.TRAILING_SEPARATE:
            return " before a + or -"
