"""A component behind the protocol, as a component."""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec
import orjson

from stretto.acp import messages as m
from stretto.acp.blob import CAPABILITY
from stretto.acp.failure import AcpError, component_error
from stretto.acp.names import Reason, Verb
from stretto.components.acp.answer import response_of
from stretto.components.acp.blobs import Known, Named, named
from stretto.components.acp.card import card_of, verb_of
from stretto.components.acp.envelope import envelope_of
from stretto.components.acp.link import Link
from stretto.components.acp.pinned import Pinned
from stretto.components.acp.settings import AcpSettings
from stretto.types.card import Card
from stretto.types.errors import Code, ComponentError, InDoubtError
from stretto.types.messages import Request, Response

ASKED_FOR_S: Final = 30.0
"""How long a write that is being worked on is asked for, where neither its step nor its run has a time."""

ASK_AGAIN_MS: Final = 1_000.0
"""When a peer does not say when."""

LEAST_WAIT_MS: Final = 10.0
"""Between two questions, whatever a peer says."""

SOON_MS: Final = 20.0
"""Before the second question, twice as long before each further one, up to what the peer says: a call that was given up
ends some milliseconds after its connection, and a step may have less time left than a peer thinks of."""


class AcpComponent:
    """Asks a component on another server: one request an attempt, no retries of its own."""

    def __init__(self, settings: AcpSettings, wire: m.WireCard, link: Link, who: str) -> None:
        """Raises UsageError for a card that no step can ask by, or whose claims no card can hold."""
        self._verb = verb_of(wire, settings.verb, who)
        self._card = card_of(settings.name, wire, self._verb, who)
        self._pinned = Pinned(wire, settings.pin, who)
        self._ref = self._pinned.asked
        self._takes_blobs = CAPABILITY in wire.capabilities
        self._known = Known()
        self._link = link
        self._who = who

    @property
    def card(self) -> Card:
        """What the other side says of itself, under the workflow's name for it."""
        return self._card

    async def open(self) -> None:
        """Make ready to connect; nothing is sent. Every `open` needs its `close`."""
        self._link.open()

    async def close(self) -> None:
        """Drop the connections with the last user; the next call connects again."""
        await self._link.close()

    async def __call__(self, request: Request) -> Response:
        """Ask once. Raises the ComponentError that the other side raised, or that of a lost connection."""
        try:
            return await self._ask(request, confirm_only=False)
        except AcpError as error:
            raise self._raised(error) from error

    async def confirm(self, request: Request) -> Response | None:
        """Ask what became of a write in doubt, until it has ended: a call whose caller left may be at work still.

        Raises InDoubtError where the other side cannot tell.
        """
        now = asyncio.get_running_loop().time
        until, soon_ms = now() + ASKED_FOR_S, SOON_MS
        while True:
            try:
                return await self._ask(request, confirm_only=True)
            except AcpError as error:
                failure = error.failure
                if failure.reason == Reason.NOT_DONE:
                    return None
                wait_s = max(min(failure.retry_after_ms or ASK_AGAIN_MS, soon_ms), LEAST_WAIT_MS) / 1000.0
                soon_ms *= 2.0
                if failure.reason != Reason.KEY_IN_PROGRESS or now() + wait_s > until:
                    raise InDoubtError(f"{self._who} cannot tell what became of it: {error}") from error
            except ComponentError as error:
                raise InDoubtError(f"nobody can tell what became of it: {error}") from error
            await asyncio.sleep(wait_s)

    @property
    def ref(self) -> m.ComponentRef:
        """Who it is on its own server."""
        return self._ref

    @property
    def pinned(self) -> Pinned:
        """Whom its answers are held to."""
        return self._pinned

    @property
    def takes_text(self) -> bool:
        """Values go to its server as JSON text."""
        return self._link.takes_text

    async def told(self, verb: Verb, request: m.Message, envelope: m.Envelope) -> m.Message:
        """The answer to a message that is about a call that is over. Raises ComponentError as a call does."""
        try:
            async with asyncio.timeout((envelope.remaining_ms or 0) / 1000.0):
                answer, _ = await self._link.ask(verb, request, envelope)
        except AcpError as error:
            raise self._raised(error) from error
        except TimeoutError as error:
            text = f"{self._who} did not answer {verb} within {envelope.remaining_ms} ms"
            raise ComponentError(text, Code.DEADLINE_EXCEEDED) from error
        return answer

    async def _ask(self, request: Request, *, confirm_only: bool) -> Response:
        now = asyncio.get_running_loop().time  # once: to find the loop is a system call
        envelope = envelope_of(request.call, self._ref, now())
        if confirm_only:  # the call's own deadline is what a write in doubt has often just missed
            envelope = msgspec.structs.replace(envelope, remaining_ms=None)
        text = orjson.dumps(request.input)
        large = named(request.input, len(text)) if self._takes_blobs else None
        given = request.input if large is None else large.input
        whole = "" if not self._link.takes_text else (text if large is None else orjson.dumps(given)).decode()
        asked = m.CallRequest(
            envelope=envelope, input={} if whole else given, input_json=whole, confirm_only=confirm_only
        )
        return await (self._answered(asked, now) if large is None else self._ask_by_digest(asked, large, now))

    async def _ask_by_digest(self, asked: m.CallRequest, large: Named, now: Callable[[], float]) -> Response:
        """Ask with large fields named; once more, with their contents, where the other side has forgotten them."""
        try:
            response = await self._answered(msgspec.structs.replace(asked, blobs=large.blobs(self._known)), now)
        except AcpError as error:
            if error.failure.reason != Reason.BLOB_MISSING:
                raise
            self._known.forget(large)
            response = await self._answered(msgspec.structs.replace(asked, blobs=large.blobs(self._known)), now)
        self._known.add(large)
        return response

    async def _answered(self, asked: m.CallRequest, now: Callable[[], float]) -> Response:
        began = now()
        answer, waited_ms = await self._link.ask(self._verb, asked, asked.envelope)
        if not isinstance(answer, m.CallResponse):
            raise TypeError(f"a link answered {self._verb} with {type(answer).__name__}")
        took_ms = (now() - began) * 1000.0 - waited_ms
        try:
            return response_of(answer, waited_ms, took_ms, self._who, self._pinned.held(answer.result.component))
        except ComponentError as error:
            error.add_wait(waited_ms)
            raise

    def _raised(self, error: AcpError) -> ComponentError:
        """The error that the other side's failure stands for, which says whose it is."""
        failure = error.failure
        return component_error(msgspec.structs.replace(failure, message=f"{self._who}: {failure.message}"))
