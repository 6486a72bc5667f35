"""Threads for functions that would block the event loop.

Not the standard library's pool: its threads are joined when the interpreter ends, so one function that hangs would
keep the process alive for ever. These are daemons, their number is bounded, and whoever holds one after its call was
cancelled is known by name.
"""

import asyncio
import contextvars
import logging
import os
import queue
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from weakref import WeakSet

from stretto.types.errors import Code, ComponentError
from stretto.types.ids import FALLBACK_PATH, StepPath
from stretto.types.waited import NeverBegun, Waited

MAX_THREADS: Final = min(32, (os.cpu_count() or 1) + 4)
"""As many as the standard library's default executor has; threads here mostly wait."""

TOLD_AFTER_S: Final = 5.0
"""How long a cancelled call may hold its thread before that is told: most end with the wait that they were in, and
whoever pressed Ctrl-C is gone by then."""

_log: Final = logging.getLogger(__name__)

NO_THREAD: Final = (
    "all threads are at work for plain functions. Make those that wait 'async def', call them less, or give the call a "
    "later deadline"
)

Outcome: TypeAlias = tuple[Any, BaseException | None]
"""Value, and what was raised."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Done:
    """How work in a thread ended."""

    value: Any
    error: BaseException | None
    """What it raised."""
    queue_ms: float
    """How long it waited for a thread."""

    def result(self) -> Any:
        """The value; raises what the work raised. A ComponentError tells the wait."""
        if self.error is None:
            return self.value
        if isinstance(self.error, ComponentError):
            self.error.add_wait(self.queue_ms)
        raise self.error


@dataclass(eq=False, slots=True)
class _Job:
    component: str
    work: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Outcome]"
    submitted: float
    """In event-loop time, as `began`."""
    began: float | None = None
    ended: bool = False
    abandoned: bool = False
    context: contextvars.Context = field(default_factory=contextvars.copy_context)

    @property
    def queue_ms(self) -> float:
        """How long it waited for a thread; until now, where it does."""
        until = self.loop.time() if self.began is None else self.began
        return max(0.0, (until - self.submitted) * 1000.0)


_POOLS: Final[WeakSet["Threads"]] = WeakSet()


class Threads:
    """A bounded pool of daemon threads, started as they are needed."""

    def __init__(self, size: int = MAX_THREADS, *, name: str = "stretto", told_after_s: float = TOLD_AFTER_S) -> None:
        self.size = size
        self._name = name
        self._told_after_s = told_after_s
        self.begin_anew()
        _POOLS.add(self)

    def begin_anew(self) -> None:
        """Have no thread yet, and nothing to do. So a forked process does: it has none of its parent's threads."""
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._started = 0
        self._lock = threading.Lock()
        self._hung: Counter[str] = Counter()
        self._busy = 0

    @property
    def busy(self) -> int:
        """Threads at work, for calls that were cancelled too."""
        with self._lock:
            return self._busy

    @property
    def queued(self) -> int:
        """Calls that wait for a thread."""
        return self._jobs.qsize()

    @property
    def hung(self) -> dict[str, int]:
        """Threads still held by calls that were cancelled, by component."""
        with self._lock:
            return dict(self._hung)

    async def run(self, component: str, work: Callable[[], Any]) -> Done:
        """Do the work in a thread; returns how it ended.

        The caller's context variables are seen there. On cancellation the work is dropped if it has not begun, and left
        to itself if it has: a thread cannot be stopped. Its cause, Waited or NeverBegun, tells which. Raises
        ComponentError (``resource_exhausted``) when every thread is held by such work.
        """
        self._refuse_when_all_hang()
        loop = asyncio.get_running_loop()
        job = _Job(component, work, loop, loop.create_future(), loop.time())
        self._submit(job)
        try:
            value, error = await job.future
        except asyncio.CancelledError:
            if self._abandon(job):
                raise asyncio.CancelledError from Waited(job.queue_ms)
            raise asyncio.CancelledError from NeverBegun(job.queue_ms, awaited="a thread", remedy=NO_THREAD)
        return Done(value=value, error=error, queue_ms=job.queue_ms)

    def _submit(self, job: _Job) -> None:
        self._jobs.put(job)
        if self._idle.acquire(blocking=False):
            return
        with self._lock:
            if self._started == self.size:
                return
            self._started += 1
            number = self._started
        threading.Thread(target=self._serve, name=f"{self._name}-{number}", daemon=True).start()

    def _serve(self) -> None:
        while True:
            self._do(self._jobs.get())
            self._idle.release()

    def _do(self, job: _Job) -> None:
        if not self._begin(job):
            return
        value, error = None, None
        try:
            value = job.context.run(job.work)
        except BaseException as raised:  # noqa: BLE001  # handed to the caller, SystemExit too: a thread has no caller
            error = raised
            if isinstance(raised, KeyboardInterrupt):  # no Ctrl-C: signals reach the main thread only
                error = RuntimeError("raised KeyboardInterrupt")
                error.__cause__ = raised
        if self._end(job):
            _deliver(job, (value, error))

    def _begin(self, job: _Job) -> bool:
        """Whether somebody still waits for it."""
        with self._lock:
            if job.abandoned:
                return False
            job.began = job.loop.time()
            self._busy += 1
            return True

    def _end(self, job: _Job) -> bool:
        """Whether somebody still waits for it; its thread is free again if nobody does."""
        with self._lock:
            job.ended = True
            self._busy -= 1
            if job.abandoned:
                self._hung[job.component] -= 1
                self._hung += Counter()  # drops what fell to zero
            return not job.abandoned

    def _abandon(self, job: _Job) -> bool:
        """Wait no more for a job; returns whether it had begun."""
        with self._lock:
            job.abandoned = True
            if job.ended or job.began is None:
                return job.began is not None
            self._hung[job.component] += 1
        job.loop.call_later(self._told_after_s, self._tell_if_held, job)
        return True

    def _tell_if_held(self, job: _Job) -> None:
        """Warn of a call that was cancelled a while ago and still runs."""
        with self._lock:
            held = sum(self._hung.values())
        if not job.ended:
            _log.warning(
                "component '%s' was cancelled %g s ago and still runs; %d of %d threads are held so. Give what it "
                "waits for a time-out of its own",
                job.component,
                self._told_after_s,
                held,
                self.size,
            )

    def _refuse_when_all_hang(self) -> None:
        hung = self.hung
        if sum(hung.values()) >= self.size:
            names = ", ".join(f"{name} ({count})" for name, count in sorted(hung.items()))
            raise ComponentError(
                f"all {self.size} threads are held by calls that were cancelled and still run: {names}; "
                "give what they wait for a time-out of its own, or make them 'async def'",
                Code.RESOURCE_EXHAUSTED,
            )


def _deliver(job: _Job, outcome: Outcome) -> None:
    def settle() -> None:
        if not job.future.done():
            job.future.set_result(outcome)

    if not job.loop.is_closed():
        try:
            job.loop.call_soon_threadsafe(settle)
        except RuntimeError:  # it closed meanwhile: nobody waits any more
            _log.debug("the loop that called '%s' is closed", job.component)


def _begin_all_anew() -> None:
    for pool in _POOLS:
        pool.begin_anew()


if hasattr(os, "register_at_fork"):  # where processes fork
    os.register_at_fork(after_in_child=_begin_all_anew)

THREADS: Final = Threads()
"""Shared by all Python components of the process."""

FALLBACK_THREADS: Final = Threads(name="stretto-fallback")
"""For what answers in the place of others: those may be what holds, or waits for, every other thread."""


def threads_for(path: StepPath) -> Threads:
    """Those in which a call at this step path may block."""
    return FALLBACK_THREADS if path.rpartition("/")[2] == FALLBACK_PATH else THREADS


def hangs(component: str) -> bool:
    """Whether a call of it that was cancelled still runs."""
    return component in THREADS.hung or component in FALLBACK_THREADS.hung
