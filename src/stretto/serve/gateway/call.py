"""One call from its first byte to its place on the record."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import orjson

from stretto.components.openai.failures import BROKEN_OFF, broken_off, error_inside, refusal, unreadable
from stretto.components.openai.settings import OpenAiSettings
from stretto.components.openai.wire import Completion
from stretto.components.web.pool import Exchange
from stretto.components.web.reply import Reply
from stretto.record.model import StepRecord
from stretto.serve.gateway.as_stream import as_stream
from stretto.serve.gateway.asgi import JSON_HEADERS, Answer
from stretto.serve.gateway.ask import Ask
from stretto.serve.gateway.events import DONE, Events, data_of, event
from stretto.serve.gateway.hide import hide
from stretto.serve.gateway.metrics import GatewayMetrics
from stretto.serve.gateway.open_run import OpenRun
from stretto.serve.gateway.pieces import Pieces
from stretto.serve.gateway.refused import Refused, error_body
from stretto.serve.gateway.settings import GatewaySettings
from stretto.serve.gateway.steps import Taken, answered_step, completion_of, failed_step, in_one_piece
from stretto.serve.gateway.turns import Place
from stretto.serve.gateway.underway import BrokenOff, Underway
from stretto.serve.gateway.upstream import Upstream, as_error, passed_back
from stretto.types.enums import Reason
from stretto.types.errors import Code, ComponentError, StrettoError

_EVENT_STREAM: Final = "text/event-stream"
_SUCCESS: Final = range(200, 300)

_STATUS: Final = {
    Code.DEADLINE_EXCEEDED: 504,
    Code.OUT_OF_RANGE: 502,
}
"""HTTP status of what the server behind the gateway failed in; 502 for all else."""


class Call:
    """Asks the model server, hands its answer on as it comes, and records both."""

    def __init__(
        self,
        settings: GatewaySettings,
        upstream: Upstream,
        metrics: GatewayMetrics,
        run: OpenRun,
        component: OpenAiSettings,
        ask: Ask,
        agent: str,
        answer: Answer,
        began_s: float,
    ) -> None:
        self._settings = settings
        self._upstream = upstream
        self._metrics = metrics
        self._run = run
        self._component = component
        self._ask = ask
        self._agent = agent
        self._placed: Place | None = None
        self._answer = answer
        self._began_s = began_s
        self._started_ms = run.ms()
        self._queue_ms = 0.0
        self._pieces = Pieces()
        self._is_done = False
        """The server said that its stream has ended."""
        self._is_recorded = False
        self._away_s = 0.0
        """For how long the server was waited for."""
        self.outcome = "ok"

    async def respond(self, path: str, headers: Mapping[str, str], underway: Underway) -> None:
        """Answer the agent and record the call, whatever becomes of it."""
        self._underway = underway
        try:
            await self._respond(path, headers)
        except asyncio.CancelledError as cancelled:
            why = underway.broken_off or BrokenOff.STOPPING
            error = ComponentError(f"the call was broken off: {why}", Code.CANCELLED)
            self._record_failure(error, reason=Reason.CANCELLED)
            underway.caught(cancelled)
            if why is not BrokenOff.CLIENT_GONE:
                await self._tell(409 if why is BrokenOff.RUN_ENDED else 503, str(error))
        finally:
            if not self._is_recorded:  # a bug, which the boundary tells
                self._record_failure(ComponentError("the gateway itself failed", Code.INTERNAL))

    async def _respond(self, path: str, headers: Mapping[str, str]) -> None:
        try:
            async with asyncio.timeout(self._settings.timeout.total_seconds()):
                await self._ask_upstream(path, headers)
        except TimeoutError:
            limit = f"{self._settings.timeout.total_seconds():g} s"
            await self._failed(ComponentError(f"no answer came within {limit}", Code.DEADLINE_EXCEEDED))
        except ComponentError as error:
            await self._failed(error)

    async def _ask_upstream(self, path: str, headers: Mapping[str, str]) -> None:
        sent_s = time.perf_counter()
        asyncio.get_running_loop().call_later(0, self._take_place)  # once the request is out: the server works by then
        async with self._upstream.ask(path, self._ask, headers) as (exchange, read):
            self._away_s = time.perf_counter() - sent_s
            self._queue_ms = exchange.queue_ms
            is_stream = exchange.response.content_type == _EVENT_STREAM
            if exchange.response.status in _SUCCESS and is_stream:
                await self._stream(exchange)
                return
            reply = read or await exchange.whole()
        self._away_s = time.perf_counter() - sent_s
        if reply.status in _SUCCESS:
            await self._whole(reply)
        else:
            await self._refused(reply)

    @property
    def _place(self) -> Place:
        """Where it stands among the calls of its run."""
        if self._placed is None:
            self._placed = self._run.turns.place(self._ask.said, self._agent)
        return self._placed

    def _take_place(self) -> None:
        if not self._is_recorded:
            _ = self._place

    # an answer that comes whole

    async def _whole(self, reply: Reply) -> None:
        name, address = self._component.name, self._upstream.address
        body = in_one_piece(reply.body)
        if body is None or "choices" not in body:
            raise error_inside(name, address, reply) or unreadable(name, address, reply, "it holds no choices")
        content, headers = reply.body, passed_back(reply.headers)
        if self._ask.added:
            hide(body, self._ask.kept, is_chunk=False)
            content = orjson.dumps(body)
        if self._ask.stream and not self._ask.is_streamed:
            content, headers["content-type"] = as_stream(body, self._ask.kept, is_chat=self._ask.is_chat), _EVENT_STREAM
        await self._begin(reply.status, {**headers, "content-length": str(len(content))})
        await self._end(content)
        self._keep(in_one_piece(reply.body) or {}, reply)

    async def _refused(self, reply: Reply) -> None:
        """Hand on what the server refused."""
        error = refusal(self._component.name, self._upstream.address, reply)
        self._record_failure(error)
        body = as_error(reply, self._upstream.address.key)
        headers = {**passed_back(reply.headers), **JSON_HEADERS, "content-length": str(len(body))}
        await self._begin(reply.status if reply.status >= 400 else 502, headers)
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
            shown = b"".join([self._shown(each) for each in events.feed(piece)])
            if self._pieces.ended or self._is_done:
                held += shown
            elif shown:
                await self._answer.part(shown)
            if self._is_done:
                break
        if events.left.strip():
            held += self._shown(events.left + b"\n\n")
        if not (self._pieces.ended or self._is_done):
            raise ComponentError("the model server's stream ended before its answer did", Code.UNAVAILABLE)
        self._keep(self._pieces.body(), exchange.reply(b""))
        await self._end(held)

    def _shown(self, raw: bytes) -> bytes:
        """What the agent is to see of an event; empty for one that it did not ask for."""
        data = data_of(raw)
        self._is_done = self._is_done or data == DONE
        if not data or data == DONE:
            return raw
        chunk = in_one_piece(data)
        if chunk is None:
            return raw
        if chunk.get("error") and "choices" not in chunk:
            raise _error_within(chunk["error"])
        self._pieces.add(chunk)
        if not self._ask.added:
            return raw
        return event(orjson.dumps(chunk)) if hide(chunk, self._ask.kept, is_chunk=True) else b""

    async def _end(self, content: bytes = b"") -> None:
        """Send the last of the answer: from here on a client that hangs up has all of it."""
        self._underway.answered()
        await self._answer.end(content)

    async def _begin(self, status: int, headers: dict[str, str]) -> None:
        self._metrics.added(max(0.0, time.perf_counter() - self._began_s - self._away_s))
        await self._answer.begin(status, headers)

    # what becomes of it

    async def _failed(self, error: ComponentError) -> None:
        self._record_failure(error)
        await self._tell(_STATUS.get(error.rpc_code, 502), str(error))

    async def _tell(self, status: int, message: str) -> None:
        """Say what went wrong: as the answer, or in a stream that has begun as its last event."""
        refused = Refused(status, message)
        if not self._answer.begun:
            await self._answer.refused(refused)
            return
        await self._end(event(orjson.dumps(error_body(status, message))))

    def _keep(self, body: dict[str, Any], reply: Reply) -> None:
        """Record an answer. It was handed on already, so what cannot be recorded is counted, and fails nobody."""
        try:
            completion = completion_of(body, is_chat=self._ask.is_chat)
        except (msgspec.MsgspecError, TypeError) as error:
            self._record_failure(unreadable(self._component.name, self._upstream.address, reply, str(error)))
            return
        reason = next((each.finish_reason for each in completion.choices if each.finish_reason in BROKEN_OFF), None)
        if reason is not None:
            given_up = broken_off(self._component.name, self._upstream.address, reason)
            self._record_failure(given_up, partly=completion)
            return
        try:
            answered = answered_step(
                self._component, self._ask, self._place, completion, reply, self._taken(), self._limit
            )
        except StrettoError as error:
            self._cannot_record(error)
            return
        self._is_recorded = True
        self._count_untold(answered.step)
        self._run.answered(self._place, self._ask.said, answered)

    def _cannot_record(self, error: StrettoError) -> None:
        self._is_recorded = True
        self._run.turns.failed(self._place, self._ask.said)
        self._run.lost(f"call '{self._place.path}' of run {self._run.run.id} is not recorded: {error}")

    def _record_failure(
        self, error: ComponentError, *, reason: Reason | None = None, partly: Completion | None = None
    ) -> None:
        """Record a call that failed, with what had come of its answer; once."""
        if self._is_recorded:
            return
        self.outcome = "cancelled" if reason is Reason.CANCELLED else "failed"
        if partly is None and self._pieces.begun:
            partly = self._so_far()
        try:
            step = failed_step(
                self._component, self._ask, self._place, error, self._taken(), self._limit, partly=partly
            )
        except StrettoError as refused:
            self._cannot_record(refused)
            return
        self._is_recorded = True
        self._run.failed(self._place, self._ask.said, step, reason)

    def _so_far(self) -> Completion | None:
        try:
            return completion_of(self._pieces.body(), is_chat=self._ask.is_chat)
        except (msgspec.MsgspecError, TypeError):
            return None

    def _count_untold(self, step: StepRecord) -> None:
        """Servers that do not know a field leave it out in silence; whoever learns from the run must not."""
        if any(call.completion_ids is None for call in step.model_calls):
            self._metrics.untold("token_ids")
        if any(call.logprobs is None for call in step.model_calls):
            self._metrics.untold("logprobs")

    def _taken(self) -> Taken:
        return Taken(
            started_ms=round(self._started_ms, 3), ended_ms=round(self._run.ms(), 3), queue_ms=round(self._queue_ms, 3)
        )

    @property
    def _limit(self) -> int:
        return max(self._settings.max_body_bytes, self._settings.max_answer_bytes)


def _error_within(error: Any) -> ComponentError:  # Any: whatever a server writes there
    """An error that a server sends in place of the next piece."""
    message = error.get("message") if isinstance(error, dict) else error
    return ComponentError(f"the model server broke its answer off: {message}", Code.ABORTED)
