"""Bytes of a program as text, whatever system it was written on."""

from stretto.components.exec.codecs import UnreadableError

BYTE_ORDER_MARK = "\ufeff"

NEXT_LINE = "\x85"
"""How EBCDIC's New Line, X'15', is read: what ends a line on z/OS (IBM, Character Data Representation Architecture)."""


def is_ebcdic(encoding: str) -> bool:
    """Whether digits stand where EBCDIC has them."""
    return "0".encode(encoding) == b"\xf0"


def line_ends(encoding: str) -> tuple[bytes, ...]:
    """What ends a line in an encoding; in EBCDIC both of what is used."""
    ends = ("\n", NEXT_LINE) if is_ebcdic(encoding) else ("\n",)
    return tuple(end.encode(encoding) for end in ends)


def text_of(data: bytes, encoding: str) -> str:
    """The text without a byte order mark, lines of EBCDIC ended as those of others. Raises UnreadableError."""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UnreadableError(f"byte {error.start:,} is no text in {encoding}: {error.reason}") from error
    return text.replace(NEXT_LINE, "\n") if is_ebcdic(encoding) else text.removeprefix(BYTE_ORDER_MARK)
