"""Writes: one effect for one key, and no guessing about what nobody knows."""

import asyncio
from functools import partial

from stretto.acp.failure import AcpError, failure_of
from stretto.acp.names import Reason
from stretto.acp.server.answer import Answer
from stretto.acp.server.asking import Asking
from stretto.acp.server.blobs import Blobs
from stretto.acp.server.envelope import broken
from stretto.acp.server.keys import Became, Entry, Keys
from stretto.acp.server.limits import Limits
from stretto.acp.server.making import Maker
from stretto.acp.server.outcome import Plain, answer_of, too_late
from stretto.acp.server.refusal import refusal
from stretto.acp.server.work import TimeUpError, Work
from stretto.types.errors import Code, ComponentError, InDoubtError, Violation
from stretto.types.messages import Request, Response
from stretto.types.protocols import Confirms

_FORGOTTEN = "no call with this effect key is remembered here"
"""It was never sent, or so long ago, or to the process before this one."""


class Writes:
    """Makes writes, and remembers what became of them."""

    def __init__(self, limits: Limits, keys: Keys, maker: Maker, blobs: Blobs) -> None:
        self._limits = limits
        self._keys = keys
        self._maker = maker
        self._blobs = blobs

    async def made(self, asking: Asking) -> Answer:
        """The answer to a write: of the component, or the stored one where it was made already."""
        key, digest = _key_of(asking), asking.digest()
        earlier = self._keys.find(key, digest)
        if earlier is not None and earlier.answer is not None:
            return earlier.answer.again()
        is_open = earlier is not None and earlier.became is Became.IN_DOUBT
        entry = self._keys.begin(key, digest, _now())
        try:
            request = asking.request(self._blobs)
            if is_open and not asking.served.card.idempotent:
                answer = await self._answer_confirmed(asking, entry, request)
                if answer is not None:
                    return answer.again()
                is_open = False
            waited_ms = await self._maker.place(asking.deadline)
        except BaseException as error:
            self._keys.settle(entry, Became.IN_DOUBT if is_open else Became.NOT_DONE, why=entry.why or str(error))
            raise
        return await self._maker.made(asking, request, waited_ms, entry)

    async def confirmed(self, asking: Asking) -> Answer:
        """The answer of a write that was made; nothing is done.

        Raises AcpError: NOT_DONE where it surely was not, IN_DOUBT where nobody knows, KEY_IN_PROGRESS.
        """
        key, digest = _key_of(asking), asking.digest()
        earlier = self._keys.find(key, digest)
        if earlier is not None and earlier.answer is not None:
            return earlier.answer.again()
        if earlier is not None and earlier.became is Became.NOT_DONE:
            raise _not_done(earlier.why)
        entry = self._keys.begin(key, digest, _now())
        entry.why = entry.why or _FORGOTTEN
        try:
            answer = await self._answer_confirmed(asking, entry, asking.request(self._blobs))
        except BaseException:
            if earlier is None:  # a question must not stand in the way of the write that it asks about
                self._keys.drop(key)
            else:
                self._keys.settle(entry, Became.IN_DOUBT, why=entry.why)
            raise
        if answer is None:
            why = f"'{asking.served.card.name}' says that it did not happen"
            self._keys.settle(entry, Became.NOT_DONE, why=why)
            raise _not_done(why)
        return answer.again()

    async def _answer_confirmed(self, asking: Asking, entry: Entry, request: Request) -> Answer | None:
        """What the component says became of an earlier attempt: its answer, which is kept; None when it surely did
        not happen. Raises AcpError (IN_DOUBT) when it cannot tell."""
        served, component = asking.served, asking.served.component
        lost = f"the write was not answered, or its answer was lost ({entry.why})"
        if not (served.card.confirms and isinstance(component, Confirms)):
            raise _in_doubt(f"{lost}, and '{served.card.name}' cannot be asked whether it happened")
        try:
            response = await self._said(asking, component, request)
            answer = None if response is None else answer_of(served, asking.verb, response, 0.0, 0.0)
        except ComponentError as error:
            raise _in_doubt(f"{lost}, and '{served.card.name}' does not say whether it happened: {error}") from error
        if answer is not None:
            self._keys.settle(entry, Became.DONE, answer)
        return answer

    async def _said(self, asking: Asking, component: Confirms, request: Request) -> Response | None:
        work = Work(partial(component.confirm, request), Plain[Response | None](asking.served))
        try:
            return await work.outcome(asking.deadline, self._limits.give_up_s)
        except TimeUpError:
            raise too_late(asking.served.card.name) from None


def _key_of(asking: Asking) -> str:
    key = asking.envelope.effect_key
    if not key:
        why = "is missing; a write needs one, the same for every attempt, such as RUNID/STEPPATH"
        raise broken(Violation(pointer="/envelope/effectKey", message=why))
    return key


def _not_done(why: str) -> AcpError:
    return refusal(Code.NOT_FOUND, Reason.NOT_DONE, f"the write was surely not done: {why}")


def _in_doubt(message: str) -> AcpError:
    return AcpError(failure_of(InDoubtError(message)))


def _now() -> float:
    return asyncio.get_running_loop().time()
