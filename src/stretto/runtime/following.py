"""Looks in the background whether other processes changed the settings of what runs here.

A thread and no task of an event loop: a busy loop does not delay it, it wakes no virtual clock, and one serves a
workflow and those made from it in all event loops. It ends when nothing is followed any more.
"""

import logging
import threading
from typing import Final
from weakref import WeakSet

from stretto.runtime.tuning import Tuning
from stretto.types.errors import StrettoError

POLL_S: Final = 0.5
"""Between two looks. Each is one query of an index; whoever changes a setting waits for it at most so long."""

_log: Final = logging.getLogger(__name__)


class Following:
    """Those whose settings are followed. It keeps none of them alive."""

    def __init__(self, poll_s: float = POLL_S) -> None:
        self._poll_s = poll_s
        self._followed: WeakSet[Tuning] = WeakSet()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._trouble = ""

    def join(self, tuning: Tuning) -> None:
        """Follow the settings of one more; nothing when they are already."""
        with self._lock:
            self._followed.add(tuning)
            if self._thread is None or not self._thread.is_alive():  # a forked process has no thread of its parent's
                self._wake.clear()
                self._thread = threading.Thread(target=self._follow, name="stretto-settings", daemon=True)
                self._thread.start()

    def leave(self, tuning: Tuning) -> None:
        """Follow one less; the thread ends at once when it was the last."""
        with self._lock:
            self._followed.discard(tuning)
            if not self._followed:
                self._wake.set()

    def look(self) -> None:
        """Bring all up to date now; trouble with the store is told in the log, once, and the next look may mend it."""
        with self._lock:
            followed = [tuning for tuning in self._followed if not tuning.is_over]
            self._followed = WeakSet(followed)
        for tuning in followed:
            try:
                tuning.refresh()
                self._trouble = ""
            except StrettoError as error:
                if str(error) != self._trouble:
                    _log.warning("settings could not be read: %s", error)
                self._trouble = str(error)

    def _follow(self) -> None:
        while True:
            self._wake.wait(self._poll_s)
            self.look()
            with self._lock:
                if not self._followed:
                    self._thread = None
                    return
