"""Binary numbers (COMP, COMP-4, BINARY, and COMP-5): two's complement in two, four or eight bytes.

IBM Enterprise COBOL for z/OS, Language Reference, "USAGE clause": 1 to 4 digits take a halfword, 5 to 9 a fullword, 10
to 18 a doubleword, the most significant byte first. COMP-5 has the byte order of the machine.
"""

import sys
from typing import Final, Literal

from stretto.components.exec.misfit import MisfitError
from stretto.components.exec.picture import Picture, Sign, Usage

MAX_DIGITS_OF_ONE_BYTE: Final = 2
"""So many digits are one byte to GnuCOBOL and Micro Focus (binary-size: 1-2-4-8), and two to IBM."""


def to_binary(units: int, picture: Picture, width: int) -> bytes:
    """A whole number of units that fits the picture, as the bytes of its field."""
    return units.to_bytes(width, _order(picture), signed=picture.sign is not Sign.NONE)


def from_binary(data: bytes, picture: Picture) -> int:
    """The units of a field's bytes; raises MisfitError for more digits than the picture has."""
    units = int.from_bytes(data, _order(picture), signed=picture.sign is not Sign.NONE)
    if abs(units) >= 10**picture.size:
        raise MisfitError(f"a binary number {picture}: at most {picture.size} digits, and it is {units}")
    return units


def _order(picture: Picture) -> Literal["little", "big"]:
    return sys.byteorder if picture.usage is Usage.NATIVE else "big"
