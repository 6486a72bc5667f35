"""HTTP/1.1 that stays what it is: an offer to go on in another protocol is passed over (RFC 9110, section 7.8).

Every HTTP client of the JDK offers HTTP/2 with its first requests. uvicorn's parser takes that for a switch, and drops
the body (https://github.com/Kludex/uvicorn/issues/2722), so the parser is not shown the offer.
"""

import re
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_OFFER: Final = re.compile(rb"\nupgrade(?=:)", re.IGNORECASE)

_PASSED_OVER: Final = b"\nx-offered"

_NAME: Final = b"upgrade"

_BEGUN: Final = re.compile(rb"\n(?:u|up|upg|upgr|upgra|upgrad|upgrade)\Z", re.IGNORECASE)
"""A line that may become the header when more of it has come."""

_LETTERS: Final = frozenset(_NAME + _NAME.upper())

_MARKS: Final = (_NAME[1:], _NAME[1:].upper())
"""Without one of them in it a head holds no offer, as clients write it: looked for fast, in bodies too."""


class Unswitched(HttpToolsProtocol):
    """uvicorn's protocol, whose parser sees no offer to switch."""

    _is_in_head = False
    _begins_line = False
    """What the parser saw last was the end of a line inside a head."""
    _held = b""
    """The start of such a line, which waits for its rest."""

    def data_received(self, data: bytes) -> None:
        """Feed what came to the parser, without an offer."""
        if self._held:
            data, self._held = self._held + data, b""
        if _MARKS[0] in data or _MARKS[1] in data:
            data = self._without_offer(data)
        begun = self._begun(data) if data[-1] in _LETTERS else 0
        if begun:
            self._feed(data[:-begun])
            if self._is_in_head:
                self._held = data[-begun:]
                return
            data = data[-begun:]  # of a body, in which it means nothing
        self._feed(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_in_head = True

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        super().on_headers_complete()

    def _feed(self, data: bytes) -> None:
        if not data:
            return
        super().data_received(data)
        self._begins_line = self._is_in_head and data[-1:] == b"\n"

    def _without_offer(self, data: bytes) -> bytes:
        """The same with its first head's offer called by a name that nobody asks for."""
        if self.cycle is not None and self.cycle.more_body:
            return data
        before = b"\n" if self._begins_line else b""
        head, end, rest = (before + data).partition(b"\r\n\r\n")
        return (_OFFER.sub(_PASSED_OVER, head) + end + rest)[len(before) :]

    def _begun(self, data: bytes) -> int:
        """How many bytes at the end begin what may become an offer."""
        found = _BEGUN.search((b"\n" if self._begins_line else b"") + data[-len(_NAME) - 1 :])
        return 0 if found is None else len(found[0]) - 1
