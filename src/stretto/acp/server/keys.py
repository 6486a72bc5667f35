"""Effect keys: what became of each write, so that the same request sent twice happens once.

(unknown) ──begin──▶ running ──answered──▶ done
                        ├──surely not done──▶ not done ──the same request again──▶ running
                        └──nobody knows──▶ in doubt ──asked again, or asked about──▶ running
"""

from collections import OrderedDict
from enum import StrEnum
from typing import Final

from stretto.acp.names import Reason
from stretto.acp.server.answer import Answer
from stretto.acp.server.limits import Limits
from stretto.acp.server.refusal import refusal
from stretto.types.errors import Code
from stretto.types.ids import Digest

ASK_AGAIN_MS: Final = 1_000.0
"""When a call is under way under the same key: most end within it."""

_OVERHEAD_BYTES: Final = 500
"""Of an entry beside its answer, so that empty ones count too."""


class Became(StrEnum):
    """What is known of a write."""

    RUNNING = "running"
    DONE = "done"
    NOT_DONE = "not_done"
    IN_DOUBT = "in_doubt"


class Entry:
    """One key. Whoever began it says what became of it."""

    __slots__ = ("answer", "at", "became", "digest", "size", "why")

    def __init__(self, digest: Digest, now: float) -> None:
        self.digest = digest
        self.became = Became.RUNNING
        self.answer: Answer | None = None
        self.why = ""
        """Of a write that was not done, or is in doubt: what was told."""
        self.at = now
        self.size = _OVERHEAD_BYTES


class Keys:
    """The keys of one server, bounded by number, size and age."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._size = 0

    def find(self, key: str, digest: Digest) -> Entry | None:
        """What is remembered of a request. Raises AcpError when the key stands for another, or is being worked on."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.digest != digest:
            raise refusal(
                Code.ALREADY_EXISTS,
                Reason.KEY_CONFLICT,
                f"effect key {key!r} was used with another request; a key stands for one request to one component",
            )
        if entry.became is Became.RUNNING:
            raise refusal(
                Code.ABORTED,
                Reason.KEY_IN_PROGRESS,
                f"a call with effect key {key!r} is being worked on; ask again when it has ended",
                retry_after_ms=ASK_AGAIN_MS,
            )
        return entry

    def begin(self, key: str, digest: Digest, now: float) -> Entry:
        """Say that a write is about to be made, or made again, or asked about."""
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = Entry(digest, now)
            self._size += entry.size
            self._forget_oldest(now)
        entry.became, entry.at = Became.RUNNING, now
        self._entries.move_to_end(key)
        return entry

    def settle(self, entry: Entry, became: Became, answer: Answer | None = None, why: str = "") -> None:
        """Say what became of it."""
        entry.became, entry.answer, entry.why = became, answer, why
        if answer is not None:
            size = _OVERHEAD_BYTES + answer.size
            self._size += size - entry.size
            entry.size = size

    def drop(self, key: str) -> None:
        """As if it had never been asked about: nothing was done under it."""
        entry = self._entries.pop(key, None)
        self._size -= 0 if entry is None else entry.size

    def _forget_oldest(self, now: float) -> None:
        """Let go of the oldest until the rest is within bounds; never of what is being worked on."""
        entries = self._entries
        for key in list(entries) if self._is_over(now) else ():
            entry = entries[key]
            if entry.became is Became.RUNNING:
                continue
            del entries[key]
            self._size -= entry.size
            if not self._is_over(now):
                return

    def _is_over(self, now: float) -> bool:
        limits = self._limits
        oldest = next(iter(self._entries.values()), None)
        return (
            len(self._entries) > limits.max_keys
            or self._size > limits.max_key_bytes
            or (oldest is not None and now - oldest.at > limits.key_age_s)
        )
