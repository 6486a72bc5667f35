"""Where one message ends in a stream of them, for a process that answers many."""

from typing import Final, TypeAlias

import msgspec

from stretto.components.exec.codecs import misfit_error
from stretto.components.exec.layout import lay_out
from stretto.components.exec.message import Format, LineEnd, Message
from stretto.components.exec.texts import line_ends
from stretto.types.errors import UsageError, Violation


class ByLine(msgspec.Struct, frozen=True):
    """The first line end is its own."""

    ends: tuple[bytes, ...]
    """One byte each."""

    def end_of(self, data: bytes | bytearray) -> int:
        """Bytes of the first whole message; 0 while there is none."""
        return min((at for end in self.ends if (at := data.find(end) + 1)), default=0)


class ByLength(msgspec.Struct, frozen=True):
    """Every message has as many bytes."""

    length: int

    def end_of(self, data: bytes | bytearray) -> int:
        """Bytes of the first whole message; 0 while there is none."""
        return self.length if len(data) >= self.length else 0


Framing: TypeAlias = ByLine | ByLength


class Framings(msgspec.Struct, frozen=True, kw_only=True):
    """Of both directions."""

    request: Framing
    response: Framing


_WHY: Final = "a persistent process answers in single messages, each a line or a record of one length"


def framing_of(message: Message, side: str) -> Framing:
    """How a persistent process's messages are told apart; raises UsageError for what cannot be."""
    if message.rows:
        raise UsageError(f"`{side}` has `rows`, and {_why(message)}")
    if message.format is Format.CSV and message.header:
        raise UsageError(f"`{side}` is CSV with a header, and {_WHY}; say header: false")
    if message.format is Format.FIXED:
        layout = lay_out(message)
        return ByLine(layout.breaks[:1]) if layout.breaks else ByLength(layout.length + len(layout.ending))
    if message.line_end is LineEnd.NONE:
        raise UsageError(f"`line_end` of `{side}` is none, and {_WHY}")
    ends = line_ends(message.encoding or "utf-8")
    if any(len(end) != 1 for end in ends):
        raise UsageError(
            f"`encoding` of `{side}` is '{message.encoding}', whose line ends are no single bytes, and {_WHY}"
        )
    return ByLine(ends)


def hold_to_one(data: bytes, framing: Framing) -> None:
    """Raise ContractError, with `sent` false, for a request that a persistent process would read as more than one."""
    if framing.end_of(data) < len(data):
        raise misfit_error([Violation(pointer="", message="holds a line break, at which the program would answer")])


def _why(message: Message) -> str:
    return f"{_WHY}; nothing says where rows of {message.format} end"
