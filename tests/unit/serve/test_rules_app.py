"""Rules over HTTP: answers, refusals, health and figures."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from stretto.components.rules.served import OTHER_TRAFFIC
from tests.unit.components.rules.building import line, node, write
from tests.unit.components.rules.conftest import file, serving  # noqa: F401  # fixtures

Serving = Callable[..., Any]


async def asked(method: str, url: str, **what: Any) -> tuple[int, str, Any]:
    """Status, content type and body; JSON decoded."""
    async with aiohttp.ClientSession() as session, session.request(method, url, **what) as response:
        body = await response.json(content_type=None) if "json" in response.content_type else await response.text()
        return response.status, response.content_type, body


async def test_a_decision_tells_its_rows_and_the_rules_that_made_it(file: Path, serving: Serving) -> None:  # noqa: F811
    url = await serving(file)
    status, kind, body = await asked("POST", f"{url}/v1/decide", json={"input": {"risk": "low"}})
    ready = (await asked("GET", f"{url}/readyz"))[2]
    assert (status, kind) == (200, "application/json")
    assert body == {
        "output": {"product": "bond"},
        "digest": ready["digest"],
        "rows": [{"table": "Table", "row": 1, "id": "r1"}],
    }
    assert ready == {"status": "ready", "file": "rules.json", "digest": body["digest"]}
    assert await asked("GET", f"{url}/livez") == (200, "text/plain", "ok\n")
    assert await asked("HEAD", f"{url}/livez") == (200, "text/plain", "")


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"{", 400, "no JSON"),
        (b"[]", 400, "no object under `input`"),
        (b'{"input": 1}', 400, "no object under `input`"),
        (b'{"input": {}, "trace": true}', 400, "unknown key 'trace'"),
        (b'{"input": ' + b'{"a":' * 300 + b"1" + b"}" * 300 + b"}", 422, "cannot be asked about this input"),
        (b'{"input": {"risk": "medium"}}', 422, "at the node 'in'"),
        (b'{"input": {"risk": "' + b"x" * 4000 + b'"}}', 413, "larger than 4000 bytes"),
    ],
)
async def test_a_bad_request_gets_a_problem(
    file: Path,  # noqa: F811
    serving: Serving,  # noqa: F811
    body: bytes,
    status: int,
    says: str,
) -> None:
    url = await serving(file, max_body_bytes=4000)
    found, kind, problem = await asked("POST", f"{url}/v1/decide", data=body)
    assert (found, kind) == (status, "application/problem+json")
    assert (problem["status"], problem["type"]) == (status, "about:blank")
    assert says in problem["detail"]
    assert f'stretto_rules_refusals_total{{status="{status}"}} 1.0' in (await asked("GET", f"{url}/metrics"))[2]


async def test_a_body_without_a_length_is_bounded_too(file: Path, serving: Serving) -> None:  # noqa: F811
    url = await serving(file, max_body_bytes=1000)

    async def chunks() -> Any:
        for _ in range(20):
            yield b"x" * 100

    assert (await asked("POST", f"{url}/v1/decide", data=chunks()))[0] == 413


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/v1/decide", 405), ("GET", "/decide", 404)])
async def test_another_path_gets_a_problem_that_names_what_is_served(
    file: Path,  # noqa: F811
    serving: Serving,  # noqa: F811
    method: str,
    path: str,
    status: int,
) -> None:
    found, kind, problem = await asked(method, await serving(file) + path)
    assert (found, kind) == (status, "application/problem+json")
    assert "served are POST /v1/decide" in problem["detail"]


async def test_rules_that_cannot_answer_are_the_servers_fault(tmp_path: Path, serving: Serving) -> None:  # noqa: F811
    expressions = {"expressions": [{"key": "o", "value": "a + 'x' * 2"}]}
    url = await serving(write(tmp_path, line(node("e", "expressionNode", expressions))))
    assert (await asked("POST", f"{url}/v1/decide", json={"input": {}}))[0] == 500


async def test_a_body_that_stops_half_way_is_waited_for_no_longer_than_its_time(
    file: Path,  # noqa: F811
    serving: Serving,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stretto.serve.rules_app.BODY_LIMIT_S", 0.01)
    reader, writer = await _half_a_request(await serving(file))
    assert b" 408 " in await reader.readline()
    writer.close()
    await writer.wait_closed()


async def test_a_client_that_hangs_up_half_way_is_counted_and_no_error(
    file: Path,  # noqa: F811
    serving: Serving,  # noqa: F811
    caplog: pytest.LogCaptureFixture,
) -> None:
    url = await serving(file)
    _, writer = await _half_a_request(url)
    writer.close()
    await writer.wait_closed()
    while 'status="400"' not in (await asked("GET", f"{url}/metrics"))[2]:
        pass
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def _half_a_request(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    await writer.drain()
    return reader, writer


async def test_the_missions_count_and_the_rules_are_among_the_figures(file: Path, serving: Serving) -> None:  # noqa: F811
    url = await serving(file)
    for _ in range(3):
        await asked("POST", f"{url}/v1/decide", json={"input": {"risk": "low"}})
    await asked("POST", f"{url}/v1/decide", json={"input": {"risk": "low"}}, headers={OTHER_TRAFFIC: "1"})
    digest = (await asked("GET", f"{url}/readyz"))[2]["digest"]
    text = (await asked("GET", f"{url}/metrics"))[2]
    assert "\nbusiness_fallback_triggered_count 3.0\n" in text
    assert '\nstretto_rules_answers_total{traffic="real"} 3.0\n' in text
    assert '\nstretto_rules_answers_total{traffic="other"} 1.0\n' in text
    assert "\nstretto_rules_decide_seconds_count 4.0\n" in text
    assert f'stretto_rules_info{{digest="{digest}",file="rules.json"}} 1.0' in text
    assert "python_info" not in text
