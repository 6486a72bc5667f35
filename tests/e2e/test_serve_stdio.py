"""A workflow as an MCP server that an application starts: the official client, over stdin and stdout."""

import sys
from pathlib import Path

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
