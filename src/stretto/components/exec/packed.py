"""Packed decimals (COMP-3): two digits to a byte, and a sign in the last half byte.

IBM z/Architecture Principles of Operation, "Decimal-Number Formats": preferred signs are C (plus), D (minus) and F
(none); A and E are plus too, B is minus.
"""

from typing import Final

from stretto.components.exec.misfit import MisfitError
from stretto.components.exec.picture import Picture, Sign

_MINUS: Final = "bd"
_SIGNS: Final = "abcdef"


def pack(units: int, picture: Picture) -> bytes:
    """A whole number of units that fits the picture, as the bytes of its field."""
    sign = "f" if picture.sign is Sign.NONE else "d" if units < 0 else "c"
    return bytes.fromhex(f"{abs(units):0{picture.width * 2 - 1}d}{sign}")


def unpack(data: bytes, picture: Picture) -> int:
    """The units of a field's bytes; raises MisfitError when they are no packed decimal of that picture."""
    digits, sign = data.hex()[:-1], data.hex()[-1]
    if not digits.isdecimal():
        raise MisfitError(f"a packed decimal {picture}: half bytes 0 to 9 before its sign")
    if sign not in _SIGNS:
        raise MisfitError(f"a packed decimal {picture}: a sign, A to F, in its last half byte")
    if len(digits) > picture.size and digits[0] != "0":
        raise MisfitError(f"a packed decimal {picture}: 0 in its first half byte")
    units = int(digits)
    if sign not in _MINUS or units == 0:
        return units
    if picture.sign is Sign.NONE:
        raise MisfitError(f"a packed decimal {picture}, which is never below 0")
    return -units
