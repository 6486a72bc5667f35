"""The two that the gateway is measured between: a model server that answers at once, and a proxy that only copies.

``python -m benchmarks.gateway.servers model|proxy PORT [UPSTREAM]``.
"""

import sys
from pathlib import Path
from typing import Any, Final

import aiohttp
import orjson
import uvicorn
from aiohttp import web

RECORDED: Final = Path("tests/unit/components/openai/recorded/vllm/end.json")
"""What vLLM answered to a short prompt, with ids and log-probabilities."""

_EVENTS: Final = "text/event-stream"


def model(port: int) -> None:
    """Answer every chat completion with the recorded one, whole or token by token."""
    body = orjson.loads(RECORDED.read_bytes())["body"]
    whole, events = orjson.dumps(body), _events(body)

    async def chat(request: web.Request) -> web.StreamResponse:
        if not (await request.json()).get("stream"):
            return web.Response(body=whole, content_type="application/json")
        response = web.StreamResponse(headers={"Content-Type": _EVENTS})
        await response.prepare(request)
        for event in events:
            await response.write(event)
        await response.write_eof()
        return response

    app = web.Application(client_max_size=1 << 26)
    app.router.add_post("/v1/chat/completions", chat)
    web.run_app(app, host="127.0.0.1", port=port, print=None, access_log=None)


def _events(body: dict[str, Any]) -> list[bytes]:
    (choice,) = body["choices"]
    head = {"id": body["id"], "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
    last = len(choice["token_ids"]) - 1
    chunks = [
        {
            **head,
            "choices": [
                {
                    "index": 0,
                    "delta": {"content": token["token"]},
                    "logprobs": {"content": [token]},
                    "token_ids": [choice["token_ids"][at]],
                    "finish_reason": "stop" if at == last else None,
                }
            ],
        }
        for at, token in enumerate(choice["logprobs"]["content"])
    ]
    chunks[0]["prompt_token_ids"] = body["prompt_token_ids"]
    chunks.append({**head, "choices": [], "usage": body["usage"]})
    return [b"data: " + orjson.dumps(chunk) + b"\n\n" for chunk in chunks] + [b"data: [DONE]\n\n"]


def proxy(port: int, upstream: str) -> None:
    """Copy requests and replies between the same server and client libraries as the gateway's, and do nothing else."""
    sessions: list[aiohttp.ClientSession] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:  # an ASGI application
        if not sessions:
            sessions.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=256)))
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = {"content-type": "application/json"}
        async with sessions[0].post(upstream + scope["path"], data=body, headers=headers) as reply:
            told = [(b"content-type", reply.headers["content-type"].encode())]
            await send({"type": "http.response.start", "status": reply.status, "headers": told})
            async for chunk in reply.content.iter_any():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", access_log=False, lifespan="off", loop="asyncio")


if __name__ == "__main__":
    if sys.argv[1] == "model":
        model(int(sys.argv[2]))
    else:
        proxy(int(sys.argv[2]), sys.argv[3])
