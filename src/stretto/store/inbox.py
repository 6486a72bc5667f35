"""What waits for the writer, and when the writer wakes.

    ASLEEP ──anything put──▶ NAPPING ──something awaited, or 2 LAG_S old──▶ BUSY ──all taken──▶ NAPPING
       ▲                        │
       └──a nap without a stir──┘

Awaited work wakes the writer at once. Work behind waits for the next that is awaited, or until it is LAG_S old: then
whoever brings more may do it (`overdue`), and otherwise the writer does, LAG_S later. The queue is bounded in bytes;
who runs ahead of the disk waits for it.

While the writer sleeps or naps, another thread may *borrow* its work: take what is queued and do it itself. The
writer then waits until it is given back.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from queue import Empty, SimpleQueue
from typing import Final, Generic, Protocol, TypeVar

LAG_S: Final = 0.005
"""How long work behind may wait for company. Steps that a crash may lose are harmless to repeat."""

EAGER_BYTES: Final = 1 << 20
"""A queue this long is taken at once."""

FULL_BYTES: Final = 64 << 20
"""A queue this long makes its callers wait: the disk is slower than they are."""

BATCH_BYTES: Final = 16 << 20
"""One batch is no more, so that those who wait for it are not held up by those behind."""

_OVERHEAD_BYTES: Final = 1024
"""What an item costs beside its documents."""


class Sized(Protocol):
    """Work of about so many bytes."""

    @property
    def size(self) -> int: ...


_Item = TypeVar("_Item", bound=Sized)


class State(Enum):
    """What the writer does."""

    ASLEEP = auto()
    """Woken by anything."""
    NAPPING = auto()
    """Woken by what is awaited; looks for itself after LAG_S."""
    BUSY = auto()


_ASLEEP, _NAPPING, _BUSY = State.ASLEEP, State.NAPPING, State.BUSY  # quicker, at each write


class Inbox(Generic[_Item]):
    """A bounded queue from any thread to one."""

    def __init__(self, full_bytes: int = FULL_BYTES) -> None:
        self._full_bytes = full_bytes
        self._lock = threading.RLock()
        """Reentrant: whatever is allocated under it may set off a garbage collection that closes this very store."""
        self._room = threading.Condition(self._lock)
        self._returned = threading.Condition(self._lock)
        self._borrowed = False
        self._called = False
        """The writer was woken for its chore: nobody borrows until it came."""
        self._queue: deque[_Item] = deque()
        self._since = 0.0
        """When the first item in the queue was put."""
        self._stirred = False
        """Something was put or borrowed since the writer last looked."""
        self._awaited = False
        """Something in the queue is awaited."""
        self._bell: SimpleQueue[None] = SimpleQueue()
        self.state = _ASLEEP
        self.closed = False
        self.bytes = 0
        """In the queue; what the writer has taken is no longer counted."""

    @property
    def full(self) -> bool:
        """Whether the next work behind should be awaited instead."""
        return self.bytes > self._full_bytes

    @property
    def overdue(self) -> bool:
        """Whether work behind has waited long enough for whoever comes by to do it.

        Beside an event loop that never rests the writer's thread would wait for the interpreter at each statement, up
        to 5 ms every time, and the loop would pay for each of its own turns as long as somebody waits.
        """
        return bool(self._queue) and time.monotonic() - self._since > LAG_S

    @property
    def idle(self) -> bool:
        """Whether all that was put is done."""
        with self._lock:  # between two of the looks, what was borrowed might be given back undone
            return not self._queue and self.state is not _BUSY and not self._borrowed

    def put(self, item: _Item, *, awaited: bool) -> bool:
        """Queue an item; False when closed. Work behind blocks the thread while the queue is full."""
        with self._lock:
            while not awaited and self.full and not self.closed:
                self._room.wait()
            if self.closed:
                return False
            if not self._queue:
                self._since = time.monotonic()
            self._stirred = True
            self._queue.append(item)
            self.bytes += item.size + _OVERHEAD_BYTES
            if awaited or self.bytes > EAGER_BYTES:
                self._awaited = True
            ring = self.state is _ASLEEP or (self._awaited and self.state is _NAPPING)
            if ring:
                self.state = _BUSY if self._awaited else _NAPPING
        if ring:
            self._bell.put(None)
        return True

    def take(self, chore: Callable[[], float | None]) -> list[_Item]:
        """Wait for work and take it; empty when closed and nothing is left.

        `chore` is done between naps; it says in how many seconds it wants to be done again, None for never.
        """
        while True:
            with self._lock:
                if self._awaited or self._called or self.closed:
                    self._returned.wait_for(lambda: not self._borrowed)
                is_borrowed = self._borrowed  # and all that is queued with it: there is nothing to wait for
                if not is_borrowed:
                    self._called = False
                    if self._queue and (self._awaited or self.closed or self._due_s() <= 0):
                        return self._cut()
                    if self.closed:
                        return []
                    self.state = _BUSY  # nobody borrows what the chore is at
            self._listen(LAG_S if is_borrowed else self._nap_s(chore()))

    def wake(self) -> None:
        """Have the chore done before anything more is borrowed."""
        with self._lock:
            if self._called:
                return
            self._called = True
        self._bell.put(None)

    def borrow(self) -> list[_Item] | None:
        """Take what is queued, all of it work behind, in the writer's place; None while the writer is at work.

        Whoever gets a list does the work, and then gives back.
        """
        with self._lock:
            if self.state is _BUSY or self._borrowed or self._called or self.closed or self._awaited:
                return None
            self._borrowed = self._stirred = True
            batch = list(self._queue)
            self._queue.clear()
            self.bytes = 0
            return batch

    def give_back(self, undone: list[_Item]) -> None:
        """End borrowing; what was not done is queued again, in front."""
        with self._lock:
            self._queue.extendleft(reversed(undone))
            self.bytes += sum(item.size + _OVERHEAD_BYTES for item in undone)
            self._borrowed = False
            self._returned.notify_all()

    def close(self) -> None:
        """Refuse whatever comes; what is queued may still be taken."""
        with self._lock:
            self.closed = True
            self._room.notify_all()
        self._bell.put(None)

    def drain(self) -> list[_Item]:
        """Close, and take what is left without doing it."""
        self.close()
        with self._lock:
            self._returned.wait_for(lambda: not self._borrowed)
            left = list(self._queue)
            self._queue.clear()
            self.bytes = 0
            self.state = _ASLEEP
        return left

    def _cut(self) -> list[_Item]:
        """Take a batch off the queue; the lock is held."""
        self.state = _BUSY
        batch: list[_Item] = []
        size = 0
        while self._queue and size < BATCH_BYTES:
            item = self._queue.popleft()
            size += item.size + _OVERHEAD_BYTES
            batch.append(item)
        self._awaited = bool(self._queue)
        self.bytes -= size
        self._room.notify_all()
        return batch

    def _nap_s(self, again_s: float | None) -> float | None:
        """Begin a nap, or fall asleep; returns how long for, at most until the chore is to be done again."""
        with self._lock:
            if self._awaited or self.closed:
                return 0.0  # it came meanwhile and rang no bell
            self.state = _NAPPING if self._stirred or self._queue else _ASLEEP
            self._stirred = False
            return again_s if self.state is _ASLEEP else self._due_s()

    def _due_s(self) -> float:
        """Seconds until work behind has waited so long that nobody but the writer will do it."""
        return self._since + 2 * LAG_S - time.monotonic() if self._queue else LAG_S

    def _listen(self, timeout_s: float | None) -> None:
        """Wait for the bell, or until the time is over."""
        with suppress(Empty):
            self._bell.get(timeout=None if timeout_s is None else max(0.0, timeout_s))


class Chore:
    """Something to do every so often."""

    def __init__(self, every_s: float, work: Callable[[], None]) -> None:
        self._every_s = every_s
        self._work = work
        self._due = time.monotonic() + every_s

    def __call__(self) -> float:
        """Do it when it is due; returns the seconds until it is due again."""
        now = time.monotonic()
        if now >= self._due:
            self._work()
            self._due = now + self._every_s
        return self._due - now
