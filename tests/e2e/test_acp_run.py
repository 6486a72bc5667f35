"""A workflow in one process calls components that `stretto acp serve` serves in another, over HTTP and gRPC alike."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import stretto
from stretto import Annotation, RunStatus
from stretto.cli.boundary import execute

pytestmark = pytest.mark.ci

COMPONENTS = """
import asyncio
import json
import os
from pathlib import Path
from typing import Literal, TypedDict

import stretto
from stretto import Context, Signal

HERE = Path(__file__).parent


def noted(name: str, what: object) -> None:
    with (HERE / name).open("a") as file:
        file.write(json.dumps(what) + "\\n")


class Done(TypedDict):
    status: str
    by: int


@stretto.component("desk", "1.0.0", effects={"look": "read", "refund": "write"}, action_field="do")
class Desk:
    async def __call__(self, do: Literal["look", "refund"], order: str, context: Context) -> Done:
        noted("calls.jsonl", [do, order, context.effect_key, context.attempt, context.run.labels.get("task", "")])
        if order == "slow":
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                noted("cancelled.jsonl", order)
                raise
        if order == "die":
            os._exit(9)
        if order == "busy" and context.attempt == 1:
            raise stretto.ComponentError("not now", stretto.Code.UNAVAILABLE, retry_after_s=0.01)
        context.usage(input_tokens=7, output_tokens=1, cost=0.5)
        return {"status": f"{do} {order}", "by": os.getpid()}

    def reflect(self, signal: Signal) -> bool | str:
        noted("signals.jsonl", [signal.run.id, str(signal.path), signal.reward, [c.value for c in signal.corrections]])
        return True


@stretto.component("till", "1.0.0", effects="write")
class Till:
    async def __call__(self, order: str, context: Context) -> Done:
        noted("paid.jsonl", context.effect_key)
        await asyncio.sleep(30)
        return {"status": f"paid {order}", "by": os.getpid()}

    async def confirm(self, order: str, context: Context) -> Done | None:
        return {"status": f"paid {order}", "by": os.getpid()}
"""

WORKFLOW = """
stretto: 1
name: shop
durability: step
components:
  desk: {{ kind: acp, url: "{url}#desk" }}
  till: {{ kind: acp, url: "{url}#till" }}
budget: {{ deadline: 5s }}
steps:
  - name: act
    component: desk
    input_mapping: {{ do: "input.do", order: "input.order" }}
    resilience: {{ timeout: 2s, retry: {{ attempts: 2, base: 1ms, cap: 1ms }} }}
output: {{ status: "steps.act.status" }}
"""


class Server:
    """Components in a process of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "components.py").write_text(COMPONENTS)
        command = [sys.executable, "-m", "stretto", "acp", "serve", "components.py", "--json"]
        self._process = subprocess.Popen(
            [*command, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.told: dict[str, Any] = json.loads(self._process.stdout.readline())

    def url(self, form: str) -> str:
        return f"acp+{self.told[form]}"

    def noted(self, name: str) -> list[Any]:
        file = self.folder / name
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def wait_for(self, name: str) -> list[Any]:
        """What was noted, once something was; the other process needs its time."""
        give_up = time.monotonic() + 20
        while not (noted := self.noted(name)) and time.monotonic() < give_up:
            time.sleep(0.02)
        return noted

    def stop(self) -> int:
        self._process.send_signal(signal.SIGTERM)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return self._process.wait(timeout=30)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    folder = tmp_path / "there"
    folder.mkdir()
    running = Server(folder)
    yield running
    running.stop()


@pytest.fixture(params=["http", "grpc"])
def file(request: pytest.FixtureRequest, server: Server, tmp_path: Path) -> Path:
    path = tmp_path / "workflow.yaml"
    path.write_text(WORKFLOW.format(url=server.url(request.param)))
    return path


def hurried(file: Path) -> None:
    """Let a step have less time, and one attempt."""
    text = file.read_text().replace("timeout: 2s", "timeout: 300ms").replace("attempts: 2", "attempts: 1")
    file.write_text(text)


def paying(file: Path) -> None:
    """Let the step pay at the till."""
    file.write_text(file.read_text().replace("component: desk", "component: till").replace('do: "input.do", ', ""))


async def test_a_run_goes_through_and_its_record_says_what_the_other_side_took(file: Path, server: Server) -> None:
    async with stretto.load(file, store=file.parent / "runs.db") as workflow:
        look = await workflow.run({"do": "look", "order": "W1"}, labels={"task": "t1"})
        refund = await workflow.run({"do": "refund", "order": "W1"})
        busy = await workflow.run({"do": "look", "order": "busy"})
    assert [run.status for run in (look, refund, busy)] == [RunStatus.OK] * 3
    assert look.output_value == {"status": "look W1"}
    step = look.steps[0]
    assert step.output_value["by"] != os.getpid()
    assert step.usage is not None
    assert (step.usage.input_tokens, step.usage.cost) == (7, 0.5)
    assert step.service_ms > 0
    assert [effect.receipt_value["status"] for effect in workflow.store.effects(refund.id)] == ["refund W1"]
    first, _, third, fourth = server.noted("calls.jsonl")
    assert first == ["look", "W1", f"{look.id}/act", 1, "t1"]
    assert [third[3], fourth[3]] == [1, 2]


async def test_a_deadline_here_cancels_the_call_there(file: Path, server: Server) -> None:
    hurried(file)
    async with stretto.load(file, store=file.parent / "runs.db") as workflow:
        run = await workflow.run({"do": "look", "order": "slow"})
    assert run.status is RunStatus.FAILED
    assert run.error is not None
    assert run.error.rpc_code == "deadline_exceeded"
    assert await asyncio.to_thread(server.wait_for, "cancelled.jsonl") == ["slow"]


async def test_a_write_whose_server_died_is_in_doubt(file: Path, server: Server) -> None:
    async with stretto.load(file, store=file.parent / "runs.db") as workflow:
        run = await workflow.run({"do": "refund", "order": "die"})
    assert run.status is RunStatus.PARKED
    assert len(server.noted("calls.jsonl")) == 1


async def test_a_write_that_took_too_long_is_asked_for(file: Path, server: Server) -> None:
    hurried(file)
    paying(file)
    async with stretto.load(file, store=file.parent / "runs.db") as workflow:
        run = await workflow.run({"order": "W1"})
        [effect] = workflow.store.effects(run.id)
    assert run.status is RunStatus.OK
    assert run.output_value == {"status": "paid W1"}
    assert effect.confirmed
    assert len(server.noted("paid.jsonl")) == 1


async def test_what_a_person_says_later_reaches_the_component_there(
    file: Path, server: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    store = file.parent / "runs.db"
    async with stretto.load(file, store=store) as workflow:
        run = await workflow.run({"do": "look", "order": "W1"})
        notes = (
            Annotation(run_id=run.id, name="reward", value=0.25, at_ns=1),
            Annotation(
                run_id=run.id,
                name="correction",
                value={"pointer": "/status", "value": "x"},
                at_ns=2,
                path=run.steps[0].path,
            ),
        )
        workflow.store.annotate(*notes)
    capfd.readouterr()
    arguments = ["acp", "reflect", str(file), "--store", str(store), "--json"]
    assert await asyncio.to_thread(execute, arguments) == 0
    [told] = json.loads(capfd.readouterr().out)
    assert (told["component"], told["accepted"], told["corrections"]) == ("desk", True, 1)
    assert await asyncio.to_thread(execute, arguments) == 0
    assert server.noted("signals.jsonl") == [[run.id, "act", 0.25, ["x"]]]  # which counts once


def test_it_keeps_to_the_protocol(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    for form in ("http", "grpc"):
        assert execute(["acp", "verify", f"{server.told[form]}#desk", "--writes"]) == 0, capfd.readouterr().out
