"""What is said while a first Ctrl-C is not enough: a component may clean up for long, or never listen."""

import asyncio
import signal
import threading
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
    voice = threading.Timer(SILENCE_S, note, (TOLD,))
    voice.daemon = True

    def stop(number: int, frame: FrameType | None) -> None:
        if voice.ident is None:
            voice.start()
        else:
            voice.cancel()
        before(number, frame)

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        voice.cancel()
        signal.signal(signal.SIGINT, before)
