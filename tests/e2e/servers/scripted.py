"""An MCP server over stdio that misbehaves on demand: what it does wrong is said by an argument or by the tool called.

It is written without the SDK, because the SDK would not let it.
"""

import base64
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

STATE: dict[str, int] = {}
"""Calls of `count` by state key."""

UNREADABLE: dict[str, bytes] = {
    "broken_text": b'"\xff\xfe"',
    "lone_surrogate": b'"\\ud800"',
    "too_deep": b"[" * 5000 + b"]" * 5000,
    "cut_short": b'{"content": [',
}
"""Results by tool that no reader of JSON takes."""


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tool(name: str, properties: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", "properties": properties or {}}, **more}


TOOLS = [
    tool("echo", {"text": {"type": "string"}}, description="Say it back.", annotations={"readOnlyHint": True}),
    tool("count", {"key": {"type": "string"}, "by": {"type": "integer"}}),
    tool("reset", {"key": {"type": "string"}, "fail": {"type": "boolean"}}),
    tool("put", annotations={"readOnlyHint": False, "idempotentHint": True}),
    tool("put_by_key", annotations={"readOnlyHint": False}, _meta={"stretto/idempotent": True}),
    tool("structured", outputSchema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
    *(
        tool(name)
        for name in ("die", "flood", "babble", "hang", "refuse", "garbage", "texts", "json", "image", "fails", "meta")
    ),
    *(tool(name) for name in UNREADABLE),
    tool("pid", annotations={"readOnlyHint": True}),
    tool("read_then_die", annotations={"readOnlyHint": True}),
]


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


def call(name: str, arguments: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a tool; None when no answer will come."""
    key = arguments.get("key", "")
    if name == "echo":
        return text(arguments.get("text", ""))
    if name == "count":
        STATE[key] = STATE.get(key, 0) + arguments.get("by", 1)
        return {"content": [], "structuredContent": {"key": key, "count": STATE[key], "pid": os.getpid()}}
    if name == "reset":
        STATE[key] = 0
        return {**text("cannot reset"), "isError": True} if arguments.get("fail") else {"content": []}
    if name in ("die", "put", "put_by_key", "read_then_die"):
        print("about to divide by zero\nZeroDivisionError: division by zero", file=sys.stderr, flush=True)
        sys.exit(3)
    if name == "flood":
        return text("x" * 200_000)
    if name == "babble":
        for number in range(200):
            print(f"log line {number}")
        sys.stdout.flush()
        return None
    if name == "structured":
        return {"content": [], "structuredContent": {"n": 1}}
    if name == "garbage":
        return {"content": "not a list"}
    if name == "texts":
        return {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    if name == "json":
        return text('{"a": [1]}')
    if name == "image":
        return {"content": [{"type": "image", "data": base64.b64encode(b"x").decode(), "mimeType": "image/png"}]}
    if name == "fails":
        return {**text("Error: order not found"), "isError": True}
    if name == "meta":
        return {"content": [], "structuredContent": meta}
    if name == "pid":
        return text(str(os.getpid()))
    return None  # hang


def answer(message: dict[str, Any], mode: str, log: Path | None) -> None:
    method, params, request = message.get("method"), message.get("params") or {}, message.get("id")
    if log is not None:
        with log.open("a") as lines:
            lines.write(json.dumps([method, params]) + "\n")
    if request is None:
        return
    if mode == "mumble":
        sys.stdout.write(f'{{"jsonrpc": "2.0", "id": {request}, "result": "\\ud800"}}\n')
        sys.stdout.flush()
    elif method == "initialize":
        spoken = "1999-01-01" if mode == "old" else params["protocolVersion"]
        server = {"name": "scripted", "version": "1"}
        send(
            {"id": request, "result": {"protocolVersion": spoken, "capabilities": {"tools": {}}, "serverInfo": server}}
        )
    elif method == "tools/list" and mode == "pages":
        page = int(params.get("cursor", 0))
        more = {"nextCursor": str(page + 1)} if page + 1 < len(TOOLS) else {}
        send({"id": request, "result": {"tools": [TOOLS[page]], **more}})
    elif method == "tools/list" and mode != "toolless":
        send({"id": request, "result": {"tools": TOOLS}})
    elif method == "tools/call":
        if params["name"] == "refuse":
            send({"id": request, "error": {"code": -32602, "message": "no such thing"}})
            return
        if params["name"] in UNREADABLE:
            line = b'{"jsonrpc": "2.0", "id": %d, "result": %s}\n' % (request, UNREADABLE[params["name"]])
            sys.stdout.buffer.write(line)
            sys.stdout.flush()
            return
        result = call(params["name"], params.get("arguments") or {}, params.get("_meta") or {})
        if result is not None:
            send({"id": request, "result": result})
    else:
        send({"id": request, "error": {"code": -32601, "message": f"method not found: {method}"}})


def main(mode: str, log: str) -> None:
    if mode == "exit":
        print("cannot read /etc/absent.conf", file=sys.stderr)
        sys.exit(7)
    if mode == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if mode == "banner":
        print("Welcome to the scripted server 1.0", flush=True)
    for line in sys.stdin:
        if mode != "silent":
            answer(json.loads(line), mode, Path(log) if log else None)
    if mode == "stubborn":
        signal.pause()


if __name__ == "__main__":
    main(*[*sys.argv[1:], "", ""][:2])
