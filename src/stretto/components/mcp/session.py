"""State that a server keeps under a key: each run is given one of its own, and the planner never sees it.

Values come from a fixed pool, because servers rarely free what they keep: a value is leased at a run's first call,
reset before use, supplied in every call, and given back when the run ends. Or the value is the run's own id: then
nothing is reset, and a run that is resumed in another process finds what it left.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias
from zlib import crc32

import msgspec

from stretto.components.waiting import Queue, Wait
from stretto.types.arguments import as_tuple, check_text, wrong
from stretto.types.errors import Code, ComponentError, UsageError
from stretto.types.ids import RunId
from stretto.types.json import Json
from stretto.types.messages import RunInfo

Reset: TypeAlias = Callable[["Lease"], Awaitable[None]]


class McpSession(msgspec.Struct, frozen=True):
    """How a server's state is kept apart by run. Raises UsageError when it cannot work."""

    argument: str
    """Tool argument that carries the value; left out of the published schemas."""
    values: Sequence[str] | None = None
    """The pool; as many runs as it has values go on at once, the others wait. None is the run's id."""
    reset: tuple[str, Mapping[str, Json]] | None = None
    """Tool and further arguments that bring a value's state back to its beginning."""

    def __post_init__(self) -> None:
        check_text("the argument of a session", self.argument)
        for value in () if self.values is None else as_tuple("the values of a session", self.values):
            check_text("a value of a session", value)
        if self.reset is not None and not _is_tool_with_arguments(self.reset):
            raise wrong("the reset of a session", self.reset, "a tool and its arguments: ('clear', {'scope': 'all'})")
        if self.values is not None and (not self.values or len(set(self.values)) < len(self.values)):
            raise UsageError(
                f"the pool of session values for '{self.argument}' is {list(self.values)}; "
                "give at least one value, and each once: two runs must not share one"
            )
        if self.values is None and self.reset is not None:
            raise UsageError(
                f"the session resets with '{self.reset[0]}' but has no pool of values; a run's own id is new, and a "
                "reset would wipe what a resumed run has done. Give `values`, or leave `reset` out"
            )


def _is_tool_with_arguments(reset: object) -> bool:
    return (
        isinstance(reset, tuple | list)
        and len(reset) == 2
        and isinstance(reset[0], str)
        and isinstance(reset[1], Mapping)
    )


class Lease:
    """One run's value, shared by all components of the server that the run calls."""

    __slots__ = ("lock", "place", "ready", "users", "value")

    def __init__(self) -> None:
        self.value = ""
        self.place = 0
        """Index of the value; its calls always go to the same process, which may keep its state in memory."""
        self.users = 0
        self.ready = False
        self.lock = asyncio.Lock()


class Leases:
    """The pool at work in one event loop."""

    def __init__(self, session: McpSession) -> None:
        self._session = session
        self._values = Queue(
            awaited="a free session",
            remedy=f"other runs hold all {len(session.values or ())} `values` of '{session.argument}'. Declare more of "
            "them, admit fewer runs at once, or give the call a later deadline",
        )
        self._by_run: dict[RunId, Lease] = {}
        self._free: asyncio.Queue[int] = asyncio.Queue()
        for place in range(len(session.values or ())):
            self._free.put_nowait(place)

    def standing(self, run: RunInfo) -> Lease | None:
        """The lease that a run holds, or that its id is; None when it has given one of a pool back."""
        lease = self._by_run.get(run.id)
        if lease is not None and lease.ready:
            return lease
        return _own_lease(run) if self._session.values is None else None

    async def take(self, run: RunInfo, reset: Reset, wait: Wait) -> Lease:
        """Lease a value for the run and reset it; waits while none is free, and tells so. Every `take` needs its
        `give`.

        Raises ComponentError for a resumed run and a pool: the run would go on in a state that never saw what it did.
        """
        if run.resumed and self._session.values is not None:
            raise ComponentError(
                f"run {run.id} was resumed, and its '{self._session.argument}' came from a pool: what it did there is "
                "gone. Replay it or run it again; a session without `values` is the run's id, which a resume finds",
                Code.FAILED_PRECONDITION,
                sent=False,
            )
        lease = self._by_run.setdefault(run.id, Lease())
        lease.users += 1
        try:
            async with lease.lock:
                if not lease.ready:
                    await self._fill(lease, run, wait)
                    await reset(lease)
                    lease.ready = True
        except BaseException:
            self.give(run)
            raise
        return lease

    def give(self, run: RunInfo) -> None:
        """Give the value back; the run's last user frees it."""
        lease = self._by_run[run.id]
        lease.users -= 1
        if lease.users == 0:
            del self._by_run[run.id]
            if lease.value and self._session.values is not None:
                self._free.put_nowait(lease.place)

    async def _fill(self, lease: Lease, run: RunInfo, wait: Wait) -> None:
        if lease.value:  # an earlier reset failed
            return
        if self._session.values is None:
            lease.value, lease.place = run.id, _place_of(run.id)
            return
        wait.begin(self._values)
        lease.place = await self._free.get()
        wait.end()
        lease.value = self._session.values[lease.place]


def _own_lease(run: RunInfo) -> Lease:
    lease = Lease()
    lease.value, lease.place, lease.ready = run.id, _place_of(run.id), True
    return lease


def _place_of(run: RunId) -> int:
    """The same in every process, so that a resumed run finds the server process that keeps its state."""
    return crc32(run.encode())
