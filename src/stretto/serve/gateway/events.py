"""Server-sent events as they come over the wire, whole ones at a time."""

import re
from typing import Final

_END: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r")
"""Of an event: an empty line, in any of the line ends that the format allows (WHATWG HTML, section 9.2.6)."""

_LONGEST_END: Final = 4

DONE: Final = b"[DONE]"


class Events:
    """Cuts a stream into events; what is not whole yet is kept for the next piece."""

    def __init__(self) -> None:
        self._left = bytearray()

    def feed(self, piece: bytes) -> list[bytes]:
        """The events that are whole now, each with the empty line at its end."""
        data, looked_at = self._left, max(0, len(self._left) - _LONGEST_END + 1)
        data += piece  # in place: an event may come in a thousand pieces
        events, begun = [], 0
        for end in _END.finditer(data, looked_at):  # what was looked at before holds no end
            events.append(bytes(data[begun : end.end()]))
            begun = end.end()
        if begun:
            self._left = data[begun:]
        return events

    @property
    def left(self) -> bytes:
        """What came and was no whole event."""
        return bytes(self._left)


def data_of(event: bytes) -> bytes:
    """What an event carries; empty for a comment that only keeps the connection open."""
    if event.startswith(b"data:") and event.count(b"\n") <= 2:  # one line, as servers of models send it
        return event[5:].strip()
    lines = [line[5:].removeprefix(b" ") for line in event.splitlines() if line.startswith(b"data:")]
    return b"\n".join(lines).strip()


def event(data: bytes) -> bytes:
    """An event that carries this."""
    return b"data: " + data + b"\n\n"
