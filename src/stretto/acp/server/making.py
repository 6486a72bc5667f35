"""Has a call made: a place for it, the component, and what became of it."""

import asyncio
import time
from collections.abc import Awaitable
from functools import partial
from typing import Final

import msgspec

from stretto.acp.failure import AcpError, Failure, failure_of
from stretto.acp.names import Reason
from stretto.acp.server.answer import Answer
from stretto.acp.server.asking import Asking
from stretto.acp.server.keys import Became, Entry, Keys
from stretto.acp.server.limits import Limits
from stretto.acp.server.outcome import answer_of, error_of, may_have_happened, too_late
from stretto.acp.server.places import Places
from stretto.acp.server.served import Served
from stretto.acp.server.work import TimeUpError, Work
from stretto.types.errors import Code, ComponentError, ContractError, InDoubtError, ShedError, StrettoError
from stretto.types.messages import Request, Response


class Maker:
    """Where calls are worked on: so many at once, and each until its deadline."""

    def __init__(self, limits: Limits, keys: Keys) -> None:
        self.places: Final = Places(limits)
        self._limits = limits
        self._keys = keys

    async def place(self, deadline: float | None) -> float:
        """Take a place; milliseconds that were waited for it."""
        if self.places.take_now():
            return 0.0
        began = time.perf_counter()  # uvloop's clock counts whole milliseconds
        await self.places.take(deadline)
        return (time.perf_counter() - began) * 1000.0

    async def made(self, asking: Asking, request: Request, waited_ms: float, entry: Entry | None = None) -> Answer:
        """The component's answer. A place was taken, and is given back when the component has ended.

        What becomes of a write is kept in its entry, also when nobody waits for it any more.
        """
        making = _Making(self, asking, waited_ms, entry)
        work = Work(partial(making.ask, request), making)
        try:
            return await work.outcome(asking.deadline, self._limits.give_up_s)
        except TimeUpError:
            raise AcpError(timed_out(asking.served)) from None

    def settle(self, entry: Entry | None, became: Became, answer: Answer | None = None, why: str = "") -> None:
        """Keep what became of a write."""
        if entry is not None:
            self._keys.settle(entry, became, answer, why)


class _Making:
    """One call of a component: asks, and settles."""

    __slots__ = ("_asking", "_began", "_entry", "_maker", "_now", "_since", "_waited_ms")

    def __init__(self, maker: Maker, asking: Asking, waited_ms: float, entry: Entry | None) -> None:
        self._maker = maker
        self._asking = asking
        self._waited_ms = waited_ms
        self._entry = entry
        self._now = asyncio.get_running_loop().time
        self._began = 0.0
        self._since = 0.0

    def ask(self, request: Request) -> Awaitable[Response]:
        self._since = self._now()
        self._began = time.perf_counter()
        return self._asking.served.ask(request)

    def answered(self, value: Response, *, is_time_up: bool) -> Answer:
        asking, entry = self._asking, self._entry
        worked_s = self._leave()
        try:
            answer = answer_of(asking.served, asking.verb, value, self._waited_ms, worked_s * 1000.0)
        except ContractError as error:
            raise AcpError(failure_of(self._unkept(error))) from error
        self._maker.settle(entry, Became.DONE, answer)
        if is_time_up and entry is None:  # a late write is taken, since it happened
            raise AcpError(timed_out(asking.served))
        return answer

    def failed(self, error: BaseException, *, is_time_up: bool) -> Answer:
        served, is_begun = self._asking.served, bool(self._began)
        self._leave()
        told = error_of(served, error, is_time_up=is_time_up)
        is_open = is_begun and may_have_happened(told)
        self._maker.settle(self._entry, Became.IN_DOUBT if is_open else Became.NOT_DONE, why=str(told))
        if is_time_up and not isinstance(error, ComponentError) and not isinstance(told, ShedError):
            raise AcpError(timed_out(served)) from error
        raise AcpError(failure_of(told)) from error

    def _leave(self) -> float:
        """Give the place back; seconds that were worked."""
        if not self._began:
            self._maker.places.leave(0.0)
            return 0.0
        self._maker.places.leave(self._now() - self._since)
        return time.perf_counter() - self._began

    def _unkept(self, error: ContractError) -> StrettoError:
        """What to tell of an answer that may not stand: of a write, that it happened all the same."""
        if self._entry is None:
            return error
        self._maker.settle(self._entry, Became.IN_DOUBT, why=str(error))
        return InDoubtError(f"the write was answered, so it happened, but its answer cannot be told: {error}")


def timed_out(served: Served) -> Failure:
    """The failure of a call whose component had no more time; of a write it leaves open whether it happened."""
    failure = failure_of(too_late(served.card.name))
    return msgspec.structs.replace(failure, code=Code.DEADLINE_EXCEEDED, reason=Reason.DEADLINE_PASSED)
