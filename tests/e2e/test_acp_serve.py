"""`stretto acp serve` as a process: started, asked over both doors, stopped by a signal."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from stretto.cli.boundary import execute
from tests.unit.serve.acp_living import envelope, post

pytestmark = pytest.mark.ci

ROOT = Path(__file__).parents[2]

COMPONENTS = """
import asyncio

import stretto


@stretto.component
async def sleep(seconds: float) -> dict[str, float]:
    await asyncio.sleep(seconds)
    return {"slept": seconds}
"""

WORKFLOW = """
stretto: 1
name: shop
components: [components.py]
steps: [{name: nap, component: sleep, input_mapping: {seconds: "0.0"}}]
output: {slept: steps.nap.slept}
"""


@contextmanager
def serving(
    folder: Path, *flags: str, file: str = "components.py", verb: str = "serve"
) -> Iterator[tuple["subprocess.Popen[str]", Any]]:
    """The process, and what it says once it takes requests."""
    (folder / "components.py").write_text(COMPONENTS)
    command = [sys.executable, "-m", "stretto", "acp", verb, str(folder / file), "--json", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def _sleep(seconds: float) -> dict[str, Any]:
    return {"envelope": envelope(), "input": {"seconds": seconds}}


def _health(address: str) -> int:
    with grpc.insecure_channel(address.removeprefix("grpc://")) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        status: int = stub.Check(health_pb2.HealthCheckRequest(service="acp.v1.Component")).status
        return status


async def _ready(url: str) -> int:
    async with aiohttp.ClientSession() as session, session.get(f"{url}/readyz") as response:
        return response.status


async def test_a_signal_lets_calls_in_progress_end_and_takes_no_more(tmp_path: Path) -> None:
    with serving(tmp_path, "--http", ":0", "--grpc", ":0") as (process, served):
        url = served["http"]
        assert (await _ready(url), _health(served["grpc"])) == (200, health_pb2.HealthCheckResponse.SERVING)
        call = asyncio.create_task(post(f"{url}/acp/v1/execute", _sleep(1.5)))
        await _until_in_progress(url)
        process.send_signal(signal.SIGTERM)
        await _until_draining(url)
        assert _health(served["grpc"]) == health_pb2.HealthCheckResponse.NOT_SERVING
        status, _, problem = await post(f"{url}/acp/v1/execute", _sleep(0))
        assert (status, problem["reason"]) == (503, "DRAINING")
        status, _, answer = await call
        assert (status, answer["output"]) == (200, {"slept": 1.5})
        assert await asyncio.to_thread(process.wait, 20) == 0
        assert process.stderr is not None
        assert "1 calls are in progress" in process.stderr.read()


async def test_what_outlasts_the_grace_is_told(tmp_path: Path) -> None:
    with serving(tmp_path, "--http", ":0", "--grace", "0.2") as (process, served):
        call = asyncio.create_task(post(f"{served['http']}/acp/v1/execute", _sleep(60)))
        await _until_in_progress(served["http"])
        process.send_signal(signal.SIGTERM)
        status, _, problem = await call
        assert (status, problem["code"], problem["reason"]) == (503, "unavailable", "DRAINING")
        assert "sent" not in problem.get("metadata", {})
        assert await asyncio.to_thread(process.wait, 20) == 0


async def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with serving(tmp_path, "--http", ":0", "--grpc", ":0", "--grace", "60") as (process, served):
        call = asyncio.create_task(post(f"{served['http']}/acp/v1/execute", _sleep(60)))
        await _until_in_progress(served["http"])
        process.send_signal(signal.SIGINT)
        await _until_draining(served["http"])
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 20) == 0
        await asyncio.wait([call])


async def test_a_workflow_file_serves_what_it_declares(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(WORKFLOW)
    with serving(tmp_path, "--http", ":0", file="shop.yaml") as (_, served):
        assert served["components"] == ["sleep"]
        assert (await post(f"{served['http']}/acp/v1/execute", _sleep(0)))[0] == 200


async def test_one_declaration_is_served_and_keeps_to_the_protocol(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "how-to" / "serve-a-component.md").read_text(encoding="utf-8")
    (tmp_path / "words.yaml").write_text(page.partition("# words.yaml\n")[2].partition("```")[0])
    with serving(tmp_path, "--http", ":0", file="words.yaml", verb="wrap") as (_, served):
        assert served["components"] == ["words"]
        body = {"envelope": envelope(), "input": {"text": "three small words"}}
        assert (await post(f"{served['http']}/acp/v1/execute", body))[2]["output"] == {"words": 3}
        assert await asyncio.to_thread(execute, ["acp", "verify", served["http"]]) == 0
    assert "'words' keeps to the protocol" in capsys.readouterr().out


async def _until_draining(url: str) -> None:
    while await _ready(url) != 503:  # noqa: ASYNC110  # another process is waited for
        await asyncio.sleep(0.01)


async def _until_in_progress(url: str) -> None:
    async with aiohttp.ClientSession() as session:
        while True:
            async with session.get(f"{url}/metrics") as response:
                if "stretto_acp_in_progress 1.0" in await response.text():
                    return
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--http", "nowhere"], "--http is 'nowhere'; expected HOST:PORT"),
        (["--grpc", ":99999"], "--grpc is ':99999'"),
        (["--tls-cert", "a.pem"], "both --tls-cert and --tls-key"),
        (["--tls-cert", "a.pem", "--tls-key", "a.key"], "cannot be used: there is no file a.pem"),
        (["--token-env", "STRETTO_NO_SUCH_VARIABLE"], "holds no token"),
        (["--http", "192.0.2.1:0"], "cannot listen at 192.0.2.1:0"),
    ],
    ids=str,
)
def test_what_cannot_be_served_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], says: str
) -> None:
    file = tmp_path / "components.py"
    file.write_text(COMPONENTS)
    assert execute(["acp", "serve", str(file), *flags]) == 2
    assert says in " ".join(capsys.readouterr().err.split())


def test_the_schema_and_the_document_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["acp", "proto"]) == 0
    assert "service Component {" in capsys.readouterr().out
    assert execute(["acp", "openapi"]) == 0
    assert json.loads(capsys.readouterr().out)["openapi"] == "3.1.0"
