"""Where calls come in, whatever the transport.

    version → envelope → component → verb → deadline → draining → (a write: mirror → effect key) → blobs → input
    → a place → the component, until the deadline → output → answer

The order is fixed: what a refusal says of a request can be relied on for all that stands before it. Only the last
steps reach the component.
"""

import asyncio
from collections.abc import Iterable
from typing import Final

from stretto.acp import messages as m
from stretto.acp.names import Reason, Verb
from stretto.acp.server.answer import Answer
from stretto.acp.server.asked import action_of, effect_of
from stretto.acp.server.asking import Asking, input_of
from stretto.acp.server.blobs import Blobs
from stretto.acp.server.envelope import check_envelope, check_version
from stretto.acp.server.keys import Keys
from stretto.acp.server.learning import Learning
from stretto.acp.server.limits import Limits
from stretto.acp.server.making import Maker
from stretto.acp.server.refusal import refusal
from stretto.acp.server.served import Served
from stretto.acp.server.writes import Writes
from stretto.acp.version import CURRENT, SUPPORTED
from stretto.spec.suggest import nearest
from stretto.types.enums import Effect
from stretto.types.errors import Code, UsageError
from stretto.types.protocols import Component

TRY_ELSEWHERE_MS = 1_000.0
"""Told to whoever calls while the server is about to stop: by then another answers at its address, or none."""

END_S: Final = 2.0
"""For calls that are cancelled as the server stops: the engine gives a component 1 s to clean up, and then seals the
run."""


class Desk:
    """Components that answer the protocol. Made once; answers in one event loop."""

    def __init__(self, components: Iterable[Component], limits: Limits | None = None) -> None:
        """Raises SpecError when a component's card cannot be read, UsageError for two of one name or none."""
        self.limits = limits or Limits()
        self._served: dict[str, Served] = {}
        for component in components:
            served = Served(component, self.limits)
            if self._served.setdefault(served.card.name, served) is not served:
                raise UsageError(f"two components are called '{served.card.name}'; rename one of them")
        if not self._served:
            raise UsageError("there is no component to serve")
        self._only = next(iter(self._served.values())) if len(self._served) == 1 else None
        self._blobs = Blobs(self.limits)
        keys = Keys(self.limits)
        self._maker = Maker(self.limits, keys)
        self._writes = Writes(self.limits, keys, self._maker, self._blobs)
        self._learning = Learning(self.limits, self._maker)
        self._in_progress = 0
        self._none_in_progress = asyncio.Event()
        self._none_in_progress.set()
        self.is_draining = False
        """It is about to stop, and takes no more calls."""

    @property
    def served(self) -> Iterable[Served]:
        """Every component."""
        return self._served.values()

    @property
    def in_progress(self) -> int:
        """Calls that are being answered, those that wait for a place among them."""
        return self._in_progress

    @property
    def waiting(self) -> int:
        """Calls that wait for a place."""
        return self._maker.places.waiting

    async def open(self) -> None:
        """Open what the components hold while the process lives; all or none."""
        opened: list[Served] = []
        try:
            for served in self._served.values():
                await served.open()
                opened.append(served)
        except BaseException:
            for served in reversed(opened):
                await served.close()
            raise

    async def close(self, end_s: float = END_S) -> None:
        """Close them, once what was cancelled has cleaned up; what takes longer over that is left behind."""
        await self._maker.places.empty(end_s)
        for served in self._served.values():
            await served.close()

    async def drain(self, grace_s: float) -> bool:
        """Take no more calls, and wait until those in progress are answered, or so many seconds have passed; whether
        all were answered."""
        self.is_draining = True
        try:
            async with asyncio.timeout(grace_s):
                await self._none_in_progress.wait()
        except TimeoutError:
            return False
        return True

    async def call(self, verb: Verb, request: m.CallRequest, arrived: float, *, may_hold_blobs: bool = True) -> Answer:
        """The answer to plan, execute or observe. Raises AcpError.

        `arrived` is the event-loop time from which the caller's remaining milliseconds count. Cancelled, as when the
        caller hangs up, it cancels the component; the effect key then tells what became of it.
        """
        served, deadline = self.admit(verb, request.envelope, arrived)
        value, envelope = input_of(request), request.envelope
        action = action_of(served, envelope, value)
        asking = Asking(
            served=served,
            verb=verb,
            envelope=envelope,
            value=value,
            action=action,
            effect=effect_of(served, envelope, action),
            deadline=deadline,
            blobs=request.blobs,
            may_hold_blobs=may_hold_blobs,
        )
        self._begin()
        try:
            if request.confirm_only:
                return await self._writes.confirmed(asking)
            if asking.effect is Effect.WRITE:
                _hold_mirror(asking)
                return await self._writes.made(asking)
            asked = asking.request(self._blobs)
            return await self._maker.made(asking, asked, await self._maker.place(deadline))
        finally:
            self._end()

    async def reflect(self, request: m.ReflectRequest, arrived: float) -> m.ReflectResponse:
        """Hand a learning signal to its component, once for an effect key. Raises AcpError."""
        served, deadline = self.admit(Verb.REFLECT, request.envelope, arrived)
        self._begin()
        try:
            return await self._learning.reflected(served, request, deadline)
        finally:
            self._end()

    async def vjp(self, request: m.VjpRequest, arrived: float) -> m.VjpResponse:
        """The component's vector-Jacobian product. Raises AcpError."""
        served, deadline = self.admit(Verb.VJP, request.envelope, arrived)
        self._begin()
        try:
            return await self._learning.vjp(served, request, deadline)
        finally:
            self._end()

    def describe(self, request: m.DescribeRequest) -> m.DescribeResponse:
        """The cards. Raises AcpError for a major version that is not spoken, or a component that is not here."""
        check_version(request.protocol or CURRENT)
        named = [self._find(request.component)] if request.component else self._served.values()
        return m.DescribeResponse(protocols=SUPPORTED, cards=tuple(each.wire for each in named))

    def admit(self, verb: Verb, envelope: m.Envelope, arrived: float) -> tuple[Served, float]:
        """Whom a call asks, and until when. Raises AcpError when it is not to be made."""
        check_version(envelope.protocol)
        check_envelope(envelope)
        served = self._find(envelope.component.name)
        pinned = envelope.component.digest
        if pinned and pinned != served.ref.digest:
            raise refusal(
                Code.FAILED_PRECONDITION,
                Reason.COMPONENT_CHANGED,
                f"component '{served.card.name}' has the digest {served.ref.digest}, and the run is pinned to "
                f"{pinned[:80]}; begin the run again, or serve what it is pinned to",
                digest=served.ref.digest,
            )
        if verb not in served.verbs:
            offered = ", ".join(served.wire.verbs)
            raise refusal(
                Code.UNIMPLEMENTED,
                Reason.VERB_NOT_OFFERED,
                f"component '{served.card.name}' does not offer {verb}; it offers {offered}",
                verbs=offered,
            )
        return served, self._deadline(envelope, arrived)

    def _find(self, name: str) -> Served:
        served = self._served.get(name) if name else self._only
        if served is not None:
            return served
        known = ", ".join(self._served)
        if not name:
            message = f"several components are served here ({known}); name one in envelope.component.name"
            raise refusal(Code.NOT_FOUND, Reason.COMPONENT_UNKNOWN, message, components=known)
        near = nearest(name[:80], self._served)
        hint = f"did you mean '{near}'?" if near else f"there are: {known}"
        message = f"no component called {name[:80]!r} is served here; {hint}"
        raise refusal(Code.NOT_FOUND, Reason.COMPONENT_UNKNOWN, message, components=known)

    def _deadline(self, envelope: m.Envelope, arrived: float) -> float:
        now = asyncio.get_running_loop().time()
        deadline = now + self.limits.max_call_s
        if envelope.remaining_ms is not None:
            deadline = min(deadline, arrived + envelope.remaining_ms / 1000.0)
        if deadline <= now:
            raise refusal(
                Code.DEADLINE_EXCEEDED,
                Reason.DEADLINE_PASSED,
                f"of {envelope.remaining_ms} ms none was left when the call could be worked on",
            )
        if self.is_draining:
            message = "the server is about to stop, and takes no more calls"
            raise refusal(Code.UNAVAILABLE, Reason.DRAINING, message, retry_after_ms=TRY_ELSEWHERE_MS)
        return deadline

    def _begin(self) -> None:
        self._in_progress += 1
        self._none_in_progress.clear()

    def _end(self) -> None:
        self._in_progress -= 1
        if not self._in_progress:
            self._none_in_progress.set()


def _hold_mirror(asking: Asking) -> None:
    if asking.envelope.variant.mirror:
        raise refusal(
            Code.FAILED_PRECONDITION,
            Reason.MIRROR_WRITE,
            f"a mirror must change nothing in the world, and {asking.action or asking.verb.value!r} of component "
            f"'{asking.served.card.name}' is a write",
        )
