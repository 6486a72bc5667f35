"""A model server on loopback that answers as told, whole or in pieces, and keeps what it was asked."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from aiohttp import web

from tests.unit.components.openai.standin import Asked, completion, recorded


class Pieces:
    """A stream: each event, or bytes as they are, goes out by itself."""

    def __init__(self, events: Sequence[object], *, breaks: bool = False, is_done: bool = True) -> None:
        self.events = [each if isinstance(each, bytes) else b"data: " + orjson.dumps(each) + b"\n\n" for each in events]
        self.breaks = breaks
        """The connection is dropped after them."""
        if is_done and not breaks:
            self.events.append(b"data: [DONE]\n\n")


class ModelServer:
    """Answers the scripted replies in turn, the last one for ever."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.base_url = ""
        self.gate = asyncio.Event()
        """No reply goes out before it is set."""
        self.gate.set()
        self.steps = asyncio.Semaphore(10**9)
        """A stream takes one for each piece."""
        self.arrived = asyncio.Event()
        self.dropped = asyncio.Event()
        """Set when a client went away before its reply was whole."""
        self._replies: list[tuple[int, bytes | Pieces, dict[str, str]]] = []
        self._runner: web.AppRunner | None = None

    def reply(self, body: object = None, *, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Script one more reply: JSON, or bytes as they are."""
        content = body if isinstance(body, bytes) else orjson.dumps(completion() if body is None else body)
        self._replies.append((status, content, {"Content-Type": "application/json", **(headers or {})}))

    def recorded(self, name: str) -> dict[str, Any]:
        """Script what a real server answered: ``vllm/end``. Gives the answer."""
        answer = recorded(name)
        body = answer["body"].encode() if isinstance(answer["body"], str) else answer["body"]
        self.reply(body, status=answer["status"], headers={"Content-Type": answer["content_type"]})
        return answer

    def stream(self, *events: object, breaks: bool = False, is_done: bool = True) -> None:
        """Script one more reply in pieces."""
        headers = {"Content-Type": "text/event-stream"}
        self._replies.append((200, Pieces(events, breaks=breaks, is_done=is_done), headers))

    async def was_asked(self, count: int) -> None:
        """Return when so many requests have come."""
        while len(self.asked) < count:
            self.arrived.clear()
            await self.arrived.wait()

    async def start(self) -> None:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        peer = request.transport.get_extra_info("peername")[1] if request.transport else 0
        body = await request.json() if request.can_read_body else {}
        self.asked.append(Asked(path=request.path, headers=request.headers.copy(), body=body, peer=peer))
        self.arrived.set()
        index = min(len(self.asked), len(self._replies)) - 1
        status, content, headers = self._replies[index]
        try:
            await self.gate.wait()
            if isinstance(content, Pieces):
                return await self._in_pieces(request, content, headers)
        except (asyncio.CancelledError, ConnectionError):
            self.dropped.set()
            raise
        return web.Response(status=status, body=content, headers=headers)

    async def _in_pieces(self, request: web.Request, pieces: Pieces, headers: dict[str, str]) -> web.StreamResponse:
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        for event in pieces.events:
            await self.steps.acquire()
            await response.write(event)
        if pieces.breaks and request.transport is not None:
            request.transport.abort()
            return response
        await response.write_eof()
        return response


def chunk(delta: Mapping[str, Any] | None = None, *, index: int = 0, **choice: Any) -> dict[str, Any]:
    """One chunk of a chat completion's stream."""
    choices = [] if delta is None else [{"index": index, "delta": delta, "finish_reason": None, **choice}]
    return {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "small", "choices": choices}


def vllm_stream(name: str = "vllm/end") -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A recorded answer of vLLM in the pieces in which its server would stream it, and the answer.

    After vllm/entrypoints/openai/chat_completion/serving.py: the first chunk has the prompt's ids, each further one its
    own tokens' ids and log-probabilities, the last one usage.
    """
    body = recorded(name)["body"]
    (choice,) = body["choices"]
    head = {key: body[key] for key in ("id", "model", "system_fingerprint")}
    first = {**chunk({"role": "assistant", "content": ""}), **head, "prompt_token_ids": body["prompt_token_ids"]}
    pieces = [
        {
            **chunk({"content": text}, logprobs={"content": [token]}, token_ids=[token_id]),
            **head,
        }
        for text, token, token_id in zip(
            _texts(choice), choice["logprobs"]["content"], choice["token_ids"], strict=True
        )
    ]
    pieces[-1]["choices"][0] |= {"finish_reason": choice["finish_reason"], "stop_reason": None}
    return [first, *pieces, {**chunk(), **head, "usage": body["usage"]}], body


def _texts(choice: Mapping[str, Any]) -> list[str]:
    """The answer's text, the piece of each token; one that ends a turn has none."""
    left, texts = choice["message"]["content"], []
    for token in choice["logprobs"]["content"]:
        text = token["token"] if left.startswith(token["token"]) else ""
        left = left.removeprefix(text)
        texts.append(text)
    return texts
