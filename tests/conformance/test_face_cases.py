"""Each face answers what a run came to, asked by the client that people use."""

from pathlib import Path
from typing import Any

import mcp_types as t
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from openai import APIStatusError, AsyncOpenAI
from openai.types.chat import ChatCompletion
from ruamel.yaml import YAML

from stretto.store.sqlite import Store
from tests.unit.serve.acp_living import envelope, post
from tests.unit.serve.faces.served_faces import ALL, served_faces, workflows_in

CASES: list[dict[str, Any]] = YAML(typ="safe").load(Path(__file__).parent / "faces" / "answers.yaml")


@pytest.fixture(params=CASES, ids=lambda case: str(case["name"]))
def case(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: dict[str, Any] = request.param
    return found


async def test_what_each_face_answers(case: dict[str, Any], tmp_path: Path) -> None:
    with Store(tmp_path / "runs.db") as store:
        async with served_faces(workflows_in(tmp_path / "wf", store, *ALL)) as (_, url):
            await by_acp(case, url)
            await by_openai(case, url)
            await by_mcp(case, url)


async def by_acp(case: dict[str, Any], url: str) -> None:
    asked = envelope(component={"name": case["workflow"]}, effectKey=case["name"])
    body = {"envelope": asked, "input": {"query": case["query"]}}
    status, _, told = await post(f"{url}/acp/v1/execute", body)
    if "reply" in case:
        assert (status, told["output"]) == (200, {"reply": case["reply"]})
        assert told["result"]["outcome"] == case.get("outcome", "ok")
        assert told["result"]["runId"] == told["gradientHandle"]
        return
    assert [status, told["code"], told.get("reason", "")] == case["acp"]
    assert ("runId" in told) is told["detail"].startswith("run ")


async def by_openai(case: dict[str, Any], url: str) -> None:
    asked: Any = {"model": case["workflow"], "messages": [{"role": "user", "content": case["query"]}]}
    async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        for stream in (False, True):
            create = client.chat.completions.create(**asked, stream=stream)
            if "reply" in case:
                assert await _text(await create) == case["reply"]
                continue
            with pytest.raises(APIStatusError) as raised:
                await create
            _hold_error(raised.value, case["openai"])


async def _text(answer: Any) -> str:
    if isinstance(answer, ChatCompletion):
        return answer.choices[0].message.content or ""
    return "".join([chunk.choices[0].delta.content or "" async for chunk in answer])


def _hold_error(error: APIStatusError, expected: list[Any]) -> None:
    body: Any = error.body
    again = error.response.headers["x-should-retry"] == "true"
    assert [error.status_code, body["code"], again] == expected
    assert set(body) == {"message", "type", "param", "code"}
    assert body["param"] == {"contract": "messages", "model_not_found": "model"}.get(body["code"])


async def by_mcp(case: dict[str, Any], url: str) -> None:
    async with Client(f"{url}/mcp") as client:
        call = client.call_tool(case["workflow"], {"query": case["query"]})
        if case.get("mcp") == "protocol error":
            with pytest.raises(MCPError, match="did you mean 'reading'") as raised:
                await call
            assert raised.value.code == t.INVALID_PARAMS
            return
        result = await call
    (content,) = result.content
    assert isinstance(content, t.TextContent)
    if "reply" in case:
        assert result.structured_content == {"reply": case["reply"]}
        assert not result.is_error
    else:
        assert result.is_error
        assert content.text.startswith(case["mcp"])
