"""One call from its first byte to its last: asked of the model server, and handed on as it comes."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final

import orjson

from stretto.components.openai.failures import error_inside, refusal, unreadable
from stretto.components.web.pool import Exchange
from stretto.components.web.reply import Reply
from stretto.serve.answer import JSON_HEADERS, Answer
from stretto.serve.gateway.as_stream import as_stream
from stretto.serve.gateway.ask import Ask
from stretto.serve.gateway.events import DONE, Events, data_of, event
from stretto.serve.gateway.hide import hide
from stretto.serve.gateway.metrics import GatewayMetrics
from stretto.serve.gateway.pieces import Pieces
from stretto.serve.gateway.recording import Recording
from stretto.serve.gateway.steps import in_one_piece
from stretto.serve.gateway.underway import BrokenOff, Underway
from stretto.serve.gateway.upstream import BAD_GATEWAY, Upstream, as_error, passed_back, refused_status
from stretto.serve.refused import Refused, error_body
from stretto.types.enums import Reason
from stretto.types.errors import Code, ComponentError

_EVENT_STREAM: Final = "text/event-stream"
SUCCESS: Final = range(200, 300)

_GATEWAY_TIMEOUT: Final = 504
"""What silence of the server behind is to the agent (RFC 9110, section 15.6.5)."""


class Call:
    """Asks the model server, hands its answer on as it comes, and has both recorded."""

    def __init__(
        self,
        upstream: Upstream,
        metrics: GatewayMetrics,
        recording: Recording,
        underway: Underway,
        ask: Ask,
        answer: Answer,
        began_s: float,
    ) -> None:
        """`began_s` is when the request came, by `time.perf_counter`."""
        self._upstream = upstream
        self._metrics = metrics
        self._recording = recording
        self._underway = underway
        self._ask = ask
        self._answer = answer
        self._began_s = began_s
        self._away_s = 0.0
        """For how long the server was waited for."""
        self._pieces = Pieces()
        self._is_done = False
        """The server said that its stream has ended."""

    async def respond(self, path: str, headers: Mapping[str, str], timeout_s: float) -> None:
        """Answer the agent and record the call, whatever becomes of it."""
        try:
            await self._respond(path, headers, timeout_s)
        except asyncio.CancelledError as cancelled:
            why = self._underway.broken_off or BrokenOff.STOPPING
            error = ComponentError(f"the call was broken off: {why}", Code.CANCELLED)
            self._record_failure(error, Reason.CANCELLED)
            self._underway.caught(cancelled)
            if why is not BrokenOff.CLIENT_GONE:
                await self._tell(409 if why is BrokenOff.RUN_ENDED else 503, str(error))
        finally:  # whatever is told already counts; else it is a bug, which the boundary tells
            self._record_failure(ComponentError("the gateway itself failed", Code.INTERNAL))

    async def _respond(self, path: str, headers: Mapping[str, str], timeout_s: float) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await self._ask_upstream(path, headers)
        except TimeoutError:
            await self._fail(ComponentError(f"no answer came within {timeout_s:g} s", Code.DEADLINE_EXCEEDED))
        except ComponentError as error:
            await self._fail(error)

    async def _ask_upstream(self, path: str, headers: Mapping[str, str]) -> None:
        sent_s = time.perf_counter()
        # once the request is out: by then the server works
        asyncio.get_running_loop().call_later(0, self._recording.take_place)
        async with self._upstream.ask(path, self._ask, headers) as (exchange, read):
            self._away_s = time.perf_counter() - sent_s
            self._recording.queue_ms = exchange.queue_ms
            is_stream = exchange.response.content_type == _EVENT_STREAM
            if exchange.response.status in SUCCESS and is_stream:
                await self._stream(exchange)
                return
            reply = read or await exchange.whole()
        self._away_s = time.perf_counter() - sent_s
        if reply.status in SUCCESS:
            await self._whole(reply)
        else:
            await self._refused(reply)

    # an answer that comes whole

    async def _whole(self, reply: Reply) -> None:
        name, address = self._recording.name, self._upstream.address
        body = in_one_piece(reply.body)
        if body is None or not isinstance(body.get("choices"), list):
            raise error_inside(name, address, reply) or unreadable(name, address, reply, "it holds no choices")
        content, headers = reply.body, passed_back(reply.headers)
        if self._ask.added:
            hide(body, self._ask.kept, is_chunk=False)
            content = _written(body)
        if self._ask.stream and not self._ask.is_streamed:
            content = as_stream(body, self._ask.kept, is_chat=self._ask.is_chat)
            headers["content-type"] = _EVENT_STREAM
        await self._begin(reply.status, {**headers, "content-length": str(len(content))})
        await self._end(content)
        self._recording.answered(in_one_piece(reply.body) or {}, reply)

    async def _refused(self, reply: Reply) -> None:
        """Hand on what the server refused."""
        self._record_failure(refusal(self._recording.name, self._upstream.address, reply))
        body = as_error(reply, self._upstream.address.key)
        headers = {**passed_back(reply.headers), **JSON_HEADERS, "content-length": str(len(body))}
        await self._begin(refused_status(reply.status), headers)
        await self._end(body)

    # an answer that comes in pieces

    async def _stream(self, exchange: Exchange) -> None:
        """Hand on each event as it comes; the server is read no faster than the agent reads.

        What comes with the end, and after it, is held back until the answer is on the record: an agent asks on at once.
        """
        events, held = Events(), b""
        headers = {**passed_back(exchange.response.headers), "cache-control": "no-cache"}
        await self._begin(exchange.response.status, headers)
        async for piece in exchange.chunks():
            held += b"".join([self._shown(each) for each in events.feed(piece)])
            if held and not self._has_ended:
                await self._answer.part(held)
                held = b""
            if self._is_done:
                break
        if events.left.strip():
            held += self._shown(events.left + b"\n\n")
        if not self._has_ended:
            raise ComponentError("the model server's stream ended before its answer did", Code.UNAVAILABLE)
        self._recording.answered(self._pieces.body(), exchange.reply(b""), unread=self._pieces.unread)
        await self._end(held)

    @property
    def _has_ended(self) -> bool:
        """Nothing of the answer is still to come."""
        return self._is_done or self._pieces.ended

    def _shown(self, raw: bytes) -> bytes:
        """What the agent is to see of an event; empty for one that it did not ask for."""
        data = data_of(raw)
        self._is_done = self._is_done or data == DONE
        if not data or data == DONE:
            return raw
        chunk = in_one_piece(data)
        if chunk is None:
            self._pieces.unread += 1
            return raw
        if chunk.get("error") and "choices" not in chunk:
            raise _error_within(chunk["error"])
        self._pieces.add(chunk)
        if not self._ask.added:
            return raw
        return event(_written(chunk)) if hide(chunk, self._ask.kept, is_chunk=True) else b""

    # to the agent

    async def _begin(self, status: int, headers: dict[str, str]) -> None:
        self._metrics.added(max(0.0, time.perf_counter() - self._began_s - self._away_s))
        await self._answer.begin(status, headers)

    async def _end(self, content: bytes) -> None:
        """Send the last of the answer: from here on a client that hangs up has all of it."""
        self._underway.answered()
        await self._answer.end(content)

    async def _fail(self, error: ComponentError) -> None:
        self._record_failure(error)
        is_late = error.rpc_code is Code.DEADLINE_EXCEEDED
        await self._tell(_GATEWAY_TIMEOUT if is_late else BAD_GATEWAY, str(error))

    async def _tell(self, status: int, message: str) -> None:
        """Say what went wrong: as the answer, or in a stream that has begun as its last event."""
        if self._answer.begun:
            await self._end(event(orjson.dumps(error_body(status, message))))
        else:
            await self._answer.refused(Refused(status, message))

    def _record_failure(self, error: ComponentError, reason: Reason | None = None) -> None:
        if not self._recording.is_over:
            so_far = self._pieces.body() if self._pieces.begun else None
            self._recording.failed(error, reason=reason, so_far=so_far)


def _written(answer: dict[str, Any]) -> bytes:
    """An answer as it is handed on. Raises ComponentError for one that is nested deeper than can be written."""
    try:
        return orjson.dumps(answer)
    except TypeError as error:
        raise ComponentError(f"the model server's answer cannot be handed on: {error}", Code.ABORTED) from error


def _error_within(error: Any) -> ComponentError:  # Any: whatever a server writes there
    """An error that a server sends in place of the next piece."""
    message = error.get("message") if isinstance(error, dict) else error
    return ComponentError(f"the model server broke its answer off: {message}", Code.ABORTED)
