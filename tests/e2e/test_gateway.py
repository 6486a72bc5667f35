"""`stretto gateway` as a process, before a model server, with OpenAI's own client: killed, stopped, and learnt from."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openai import AsyncOpenAI

from stretto.cli.boundary import execute
from stretto.components.policy import SoftmaxPolicy
from stretto.learn.completeness import dropped_fields
from stretto.learn.samples import collect
from stretto.learn.usable import Exclusion, Recorded
from stretto.record.codec import encode_run
from stretto.record.conversation import request_at
from stretto.record.model import Run
from stretto.store.sqlite import Store
from stretto.types.enums import RunStatus
from stretto.types.ids import digest_of
from tests.unit.components.openai.standin import recorded
from tests.unit.serve.gateway.model_server import ModelServer, vllm_stream

pytestmark = pytest.mark.slow

STRETTO = Path(sys.executable).with_name("stretto")
HELLO: list[Any] = [{"role": "user", "content": "Say only: hi"}]

Start = Callable[..., "Process"]


class Process:
    """One gateway that runs."""

    def __init__(self, upstream: str, folder: Path, *options: str) -> None:
        command = [str(STRETTO), "gateway", "--upstream", upstream, "--store", "runs.db", "--port", "0", "--json"]
        self._process = subprocess.Popen(
            [*command, *options], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, self._process.stderr and self._process.stderr.read()
        self.told = json.loads(line)
        self.url: str = self.told["url"]

    def end(self, number: int) -> tuple[int, str]:
        """Send a signal and wait; exit code and what it said."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        _, said = self._process.communicate(timeout=60)
        return self._process.returncode, said


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    standing = ModelServer()
    await standing.start()
    yield standing
    await standing.stop()


@pytest.fixture
def start(server: ModelServer, tmp_path: Path) -> Iterator[Start]:
    begun: list[Process] = []

    def begin(*options: str) -> Process:
        begun.append(Process(server.base_url, tmp_path, *options))
        return begun[-1]

    yield begin
    for each in begun:
        each.end(signal.SIGKILL)


async def converse(url: str, key: str, turns: int, messages: list[Any] | None = None) -> list[Any]:
    """So many turns of a plain agent; the conversation after them."""
    said: list[Any] = [*HELLO] if messages is None else messages
    async with AsyncOpenAI(base_url=f"{url}/run/{key}/v1", api_key="none") as client:
        for _ in range(turns):
            answer = await client.chat.completions.create(model="smollm2", messages=said)
            said += [answer.choices[0].message, {"role": "user", "content": "Go on."}]
    return said


async def posted(url: str, path: str, **body: Any) -> Any:  # the answer's JSON
    async with AsyncOpenAI(base_url=url, api_key="none") as client:
        return await client.post(path, body=body, cast_to=object)


async def test_a_killed_gateway_loses_no_call_and_the_next_one_goes_on(
    server: ModelServer, start: Start, tmp_path: Path
) -> None:
    server.recorded("vllm/end")
    first = start()
    said = await converse(first.url, "k1", 2)
    await posted(first.url, "/runs/k1/reward", value=0.5)
    assert first.end(signal.SIGKILL)[0] == -signal.SIGKILL
    with Store(tmp_path / "runs.db") as store:
        (left,) = store.pending()
        assert len(store.get(left.id).steps) == 3
    second = start()
    await converse(second.url, "k1", 1, said)
    assert (await posted(second.url, "/runs/k1/end"))["calls"] == 3
    with Store(tmp_path / "runs.db") as store:
        run = store.get(left.id)
        assert (store.losses(), store.stats().lost) == ([], 0)
    assert [step.path for step in run.steps] == ["agent[0]", "agent[1]", "$reward-1", "agent[2]", "agent"]
    assert (run.status, run.reward) == (RunStatus.OK, 0.5)
    assert len(request_at(run, "agent[2]")["messages"]) == 5  # type: ignore[arg-type]  # a list, as it was sent


async def test_a_stopped_gateway_answers_what_is_under_way_and_leaves_its_runs_to_the_next(
    server: ModelServer, start: Start
) -> None:
    server.recorded("vllm/end")
    server.gate.clear()
    gateway = start()
    async with AsyncOpenAI(base_url=f"{gateway.url}/run/k1/v1", api_key="none") as client:
        answered = asyncio.ensure_future(client.chat.completions.create(model="smollm2", messages=HELLO))
        await server.was_asked(1)
        ended = asyncio.ensure_future(asyncio.to_thread(gateway.end, signal.SIGTERM))
        server.gate.set()
        assert (await answered).choices[0].message.content == "Hi."
    code, said = await ended
    assert (code, "open runs are left: 1" in said) == (0, True), said
    assert (await posted(start().url, "/runs/k1/end"))["calls"] == 1


async def test_a_run_of_a_plain_agent_trains_like_any_other(server: ModelServer, start: Start, tmp_path: Path) -> None:
    """Its record is whole for every fold, and leaves and enters stores as it is."""
    server.recorded("vllm/end")
    server.stream(*vllm_stream()[0])
    gateway = start("--name", "shop-agent")
    opened = await posted(gateway.url, "/runs", labels={"task": "7", "group": "g"}, model="smollm2", seed=3)
    async with AsyncOpenAI(base_url=opened["base_url"], api_key="none") as client:
        answer = await client.chat.completions.create(model="smollm2", messages=HELLO)
        said: Any = [*HELLO, answer.choices[0].message, {"role": "user", "content": "And?"}]
        stream = await client.chat.completions.create(model="smollm2", messages=said, stream=True)
        assert [piece async for piece in stream]
    await posted(gateway.url, f"/runs/{opened['key']}/reward", value=1)
    await posted(gateway.url, f"/runs/{opened['key']}/end")
    with Store(tmp_path / "runs.db") as store, Store(tmp_path / "other.db") as other:
        run = store.get(opened["run"])
        store.export(tmp_path / "runs.jsonl")
        other.import_(tmp_path / "runs.jsonl")
        came = other.get(opened["run"])
    assert_as_sent(run)
    assert encode_run(run, digest_of) == encode_run(came, digest_of)  # arrays by their content
    assert (run.manifest.workflow, run.labels["task"], run.reward, run.seed) == ("shop-agent", "7", 1.0, 3)
    assert dropped_fields(run, "router") == []
    samples = collect([Recorded(run=run)], SoftmaxPolicy("router", ("a", "b"), state=()))
    assert (samples.excluded, samples.refused) == ({Exclusion.NO_DECISION: 1}, ())
    shown = _cli(tmp_path, "runs", "show", run.id, "--store", "runs.db")
    assert "agent" in shown
    assert "1 * outcome 1" in shown
    assert "68 tokens in, 6 out" in shown
    assert "shop-agent" in _cli(tmp_path, "runs", "list", "--store", "runs.db")


def assert_as_sent(run: Run) -> None:
    """Every token id and log-probability is as the server sent it, whole and in pieces."""
    body = recorded("vllm/end")["body"]
    (choice,) = body["choices"]
    calls = [call for step in run.steps for call in step.model_calls]
    assert len(calls) == 2
    for call in calls:
        assert np.array_equal(call.prompt_ids, np.array(body["prompt_token_ids"], np.int32))  # type: ignore[arg-type]  # there, or it fails
        assert np.array_equal(call.completion_ids, np.array(choice["token_ids"], np.int32))  # type: ignore[arg-type]  # as above
        sent = np.array([token["logprob"] for token in choice["logprobs"]["content"]], np.float32)
        assert np.array_equal(call.logprobs, sent)  # type: ignore[arg-type]  # as above


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--upstream", "nowhere"], "--upstream is 'nowhere'"),
        (["--upstream", "http://a/v1", "--idle", "10"], "--idle is '10'; expected a duration with its unit"),
        (["--upstream", "http://a/v1", "--on-stop", "die"], "there is no --on-stop 'die'; there are: leave, end"),
        (["--upstream", "http://a/v1", "--key-env", "NO_SUCH"], "--key-env names $NO_SUCH, which is not set"),
        ([], "Missing option '--upstream'"),
    ],
)
def test_what_cannot_work_is_told_before_anything_is_served(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    options: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code = execute(["gateway", *options])
    told = capfd.readouterr()
    assert (code, told.out) == (2, "")
    assert says in " ".join(told.err.split())
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_is_none_is_told_before_anything_is_served(tmp_path: Path) -> None:
    (tmp_path / "runs.db").write_text("no store at all, whatever its name says")
    command = [str(STRETTO), "gateway", "--upstream", "http://127.0.0.1:9/v1", "--store", "runs.db", "--port", "0"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "is not a Stretto store" in " ".join(done.stderr.split())


def _cli(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "COLUMNS": "120"}
    done = subprocess.run(
        [STRETTO, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout
