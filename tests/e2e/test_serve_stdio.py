"""A workflow as an MCP server that an application starts: the official client, over stdin and stdout."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from stretto.store.sqlite import Store
from tests.unit.serve.faces.served_faces import COMPONENTS, READING


async def test_an_application_starts_it_and_ends_it(tmp_path: Path) -> None:
    (tmp_path / "workflow.yaml").write_text(READING)
    (tmp_path / "components.py").write_text(COMPONENTS.replace('told = f"', 'print("noise")\n    told = f"'))
    command = ["-m", "stretto", "serve", "workflow.yaml", "--mcp-stdio", "--store", "runs.db"]
    started = StdioServerParameters(command=sys.executable, args=command, cwd=tmp_path)
    async with Client(stdio_client(started)) as client:
        (tool,) = (await client.list_tools()).tools
        answer = await client.call_tool(tool.name, {"query": "hello"})
        failed = await client.call_tool(tool.name, {"query": "fails unavailable"})
    assert (tool.name, answer.structured_content) == ("reading", {"reply": "hello (0 before)"})
    assert failed.is_error
    with Store(tmp_path / "runs.db") as store:
        assert [run.status and run.status.value for run in store.list()] == ["failed", "ok"]


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}


def calling(query: str) -> dict[str, Any]:
    params = {"name": "reading", "arguments": {"query": query}}
    return {"jsonrpc": "2.0", "id": query, "method": "tools/call", "params": params}


def started(folder: Path) -> "subprocess.Popen[bytes]":
    (folder / "workflow.yaml").write_text(READING)
    slow = 'if query == "slow":\n        await asyncio.sleep(0.5)\n    told = f"'
    (folder / "components.py").write_text(COMPONENTS.replace('told = f"', slow))
    command = [sys.executable, "-m", "stretto", "serve", "workflow.yaml", "--mcp-stdio", "--store", "runs.db"]
    return subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_what_was_asked_before_stdin_ended_is_answered(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        asked = "\n".join(["no json", *map(json.dumps, (INITIALIZE, calling("hello"), calling("slow")))])
        told, _ = server.communicate(asked.encode(), 60)
    answers = {each["id"]: each["result"] for each in map(json.loads, told.splitlines())}
    assert server.returncode == 0
    assert [answers[query]["structuredContent"] for query in ("hello", "slow")] == [
        {"reply": "hello (0 before)"}, {"reply": "slow (0 before)"},
    ]  # fmt: skip


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_at_a_signal_though_stdin_has_not_ended(tmp_path: Path, told: signal.Signals) -> None:
    with started(tmp_path) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        server.stdin.flush()
        assert server.stdout.readline()
        server.stdin.write(json.dumps(calling("slow")).encode() + b"\n")
        server.stdin.flush()
        with Store(tmp_path / "runs.db") as store:
            while not store.path.exists():  # it is made for the first run
                assert server.poll() is None
        server.send_signal(told)
        assert server.wait(30) == 0
        assert json.loads(server.stdout.read())["result"]["structuredContent"] == {"reply": "slow (0 before)"}
