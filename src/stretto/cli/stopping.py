"""What is said while a first Ctrl-C is not enough: a component may clean up for long, or never listen."""

import _thread
import asyncio
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, TypeVar

from stretto.cli.terminal import note

SILENCE_S: Final = 1.0
"""After a first Ctrl-C. Most runs have ended by then; who waits longer asks whether it was heard."""

TOLD: Final = "stopping: what was begun has not ended yet; a second Ctrl-C ends it at once"

T = TypeVar("T")


def run_async(work: Coroutine[Any, Any, T], loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None) -> T:
    """`asyncio.run`, in a loop of that make where one is given. It leaves Ctrl-C as it was before the loop began: one
    that is broken off inside `stopping_told` leaves its own way with it behind."""
    before = signal.getsignal(signal.SIGINT)
    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            return runner.run(work)
    finally:
        if callable(before) and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


class _Voice:
    """Says once, 1 s after it was started, that something is being stopped, unless it was hushed before.

    A signal's handler is broken off by the next signal, at any line of Python, and `threading.Timer` stands neither a
    broken start nor two handlers that cancel it. Here the thread begins in one call of C, and to hush it is one flag.
    """

    def __init__(self) -> None:
        self.started = False
        self.hushed = False

    def start(self) -> None:
        self.started = True
        _thread.start_new_thread(self._speak, ())

    def _speak(self) -> None:
        time.sleep(SILENCE_S)
        if not self.hushed:
            note(TOLD)


@contextmanager
def stopping_told() -> Iterator[None]:
    """Say once that it is being stopped, when a first Ctrl-C has not ended what is done here within 1 s.

    To be entered inside the event loop of `run_async`, whose own way with Ctrl-C stays as it is. A thread speaks,
    since the component may hold the loop.
    """
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return
    voice = _Voice()

    def stop(number: int, frame: FrameType | None) -> None:
        if voice.started:
            voice.hushed = True
        else:
            voice.start()
        before(number, frame)

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        voice.hushed = True
        signal.signal(signal.SIGINT, before)
