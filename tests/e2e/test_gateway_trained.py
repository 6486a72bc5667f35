"""The same conversation by Stretto's own model component, by a plain `openai` agent and by LangGraph: one training.

The model server is a language model in numpy that speaks as vLLM does. Each of the three asks it, calls a tool and asks
again; what `stretto runs samples` makes of their runs has to be the same to the last digit.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
import pytest
from openai import AsyncOpenAI

from stretto.engine.request import RunRequest
from stretto.learn.objective import Objective
from stretto.learn.tokens import TokenSamples, collect_tokens
from stretto.learn.usable import Recorded
from stretto.runtime.load import load
from stretto.store.sqlite import Store
from tests.e2e.test_gateway import Process, posted
from tests.unit.serve.gateway.word_model import TOOL, WordModel

pytestmark = pytest.mark.slow

STRETTO: Final = Path(sys.executable).with_name("stretto")
AGENTS: Final = Path(__file__).parents[2] / ".venv-agents" / "bin" / "python"
"""With LangGraph; `make e2e` makes it."""
SEEDS: Final = range(4)
QUESTION: Final = "my money please"
DESK: Final = "refunds"
DESKS: Final = {"parcel": "orders", "money": "refunds", "human": "person"}
TOOLS: Final[Any] = [
    {
        "type": "function",
        "function": {
            "name": TOOL,
            "description": "Say which desk a subject belongs to.",
            "parameters": {"type": "object", "properties": {"subject": {"type": "string"}}, "required": ["subject"]},
        },
    }
]

COMPONENTS: Final = f"""
import stretto
from stretto import Context

DESKS = {DESKS!r}

@stretto.component(effects="read")
def look_up(messages: list[dict], message: dict, calls: list[dict]) -> dict:
    found = [
        {{"role": "tool", "tool_call_id": call["id"], "content": DESKS[call["arguments"]["subject"]]}} for call in calls
    ]
    return {{"messages": [*messages, message, *found]}}

@stretto.reward
def right(first: str, last: str | None, context: Context) -> float:
    return float((first if last is None else last) == context.reference["desk"])
"""

WORKFLOW: Final = """
stretto: 1
name: desks
version: 1.0.0
contract: { input: { messages: "array[object]" }, reward: { right: 1.0 } }
components: %s
steps:
  - { name: first, component: words, input_mapping: { messages: input.messages } }
  - name: look_up
    component: look_up
    condition: size(steps.first.tool_calls) > 0
    input_mapping: { messages: input.messages, message: steps.first.message, calls: steps.first.tool_calls }
  - name: last
    component: words
    condition: size(steps.first.tool_calls) > 0
    input_mapping: { messages: steps.look_up.messages }
  - { name: judge, component: right, input_mapping: { first: steps.first.text, last: steps.last.text } }
output: { text: steps.first.text }
"""

Agent = Callable[[str, int], Awaitable[str]]
"""Asks the model at a base_url with a seed; returns its last answer."""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "own").mkdir()
    return tmp_path / "own"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    (tmp_path / "other").mkdir()
    return tmp_path / "other"


@pytest.fixture
async def model() -> AsyncIterator[WordModel]:
    standing = WordModel()
    standing.weights_FV = np.random.default_rng(3).normal(scale=0.3, size=standing.weights_FV.shape)
    await standing.start()
    yield standing
    await standing.stop()


async def by_workflow(model: WordModel, folder: Path) -> Path:
    """Runs of a workflow that asks the model itself."""
    (folder / "components.py").write_text(COMPONENTS)
    for seed in SEEDS:
        words = {"kind": "openai", "model": "words", "base_url": model.base_url, "token_ids": True, "seed": seed}
        declared = orjson.dumps(["components.py", {"words": {**words, "tools": TOOLS}}]).decode()
        (folder / "workflow.yaml").write_text(WORKFLOW % declared)
        workflow = load(folder / "workflow.yaml", store=folder / "runs.db")
        asked = RunRequest(
            input={"messages": [{"role": "user", "content": QUESTION}]},
            reference={"desk": DESK},
            labels={"task": "money"},
        )
        (run,) = await workflow.run_many([asked])
        await workflow.aclose()
        assert run.status == "ok", run.error
    return folder / "runs.db"


async def by_gateway(model: WordModel, folder: Path, agent: Agent, *options: str) -> Path:
    """Runs of an agent behind the gateway, which is told afterwards whether it was right."""
    gateway = await asyncio.to_thread(Process, model.base_url, folder, *options)
    try:
        for seed in SEEDS:
            opened = await posted(gateway.url, "/runs", labels={"task": "money"})
            last = await agent(opened["base_url"], seed)
            await posted(gateway.url, f"/runs/{opened['key']}/reward", value=float(last == DESK))
            await posted(gateway.url, f"/runs/{opened['key']}/end")
    finally:
        await asyncio.to_thread(gateway.end, 15)
    return folder / "runs.db"


async def plain(base_url: str, seed: int) -> str:
    """An agent as one writes it with `openai`."""
    said: list[Any] = [{"role": "user", "content": QUESTION}]
    async with AsyncOpenAI(base_url=base_url, api_key="none") as client:
        while True:
            answer: Any = await client.chat.completions.create(model="words", messages=said, tools=TOOLS, seed=seed)
            message = answer.choices[0].message
            if not message.tool_calls:
                return str(message.content)
            said.append(message)
            for call in message.tool_calls:
                subject = json.loads(call.function.arguments)["subject"]
                said.append({"role": "tool", "tool_call_id": call.id, "content": DESKS[subject]})


async def in_langgraph(base_url: str, seed: int, model: str = "words", question: str = QUESTION, *how: str) -> str:
    """The agent of `agents/langgraph_agent.py`, a process of its own."""
    environment = {**os.environ, "OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "none", "LANGSMITH_TRACING": "false"}
    agent = Path(__file__).parent / "agents" / "langgraph_agent.py"
    command = [str(AGENTS), str(agent), model, question, str(seed), *how]
    done = await asyncio.to_thread(
        subprocess.run, command, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)[-1]["data"]["content"])


async def in_langgraph_streaming(base_url: str, seed: int) -> str:
    """The same, which reads its model's answers in pieces."""
    return await in_langgraph(base_url, seed, "words", QUESTION, "stream")


def samples_of(store: Path) -> list[dict[str, Any]]:
    """What the command writes, without what only names the run."""
    out = store.with_name("samples.jsonl")
    subprocess.run([STRETTO, "runs", "samples", out, "--store", store], check=True, capture_output=True)
    lines: Sequence[dict[str, Any]] = [json.loads(line) for line in out.read_text().splitlines()]
    return [{name: value for name, value in line.items() if name not in ("run", "labels", "steps")} for line in lines]


def folded(store: Path) -> TokenSamples:
    with Store(store) as kept:
        return collect_tokens([Recorded(run=run) for run in kept.runs()], "words")


def assert_the_same(own: Path, other: Path) -> None:
    expected = samples_of(own)
    assert {line["advantage"] > 0 for line in expected} == {True, False}
    assert {len(line["completion_ids"]) > 3 for line in expected} == {True, False}, "some with the tool, some without"
    assert samples_of(other) == expected


async def test_a_run_of_a_plain_agent_gives_the_same_samples_as_a_workflow(
    model: WordModel, own: Path, other: Path
) -> None:
    stores = await by_workflow(model, own), await by_gateway(model, other, plain)
    assert_the_same(*stores)
    updated = []
    for store in stores:
        pupil = WordModel()
        pupil.weights_FV = model.weights_FV.copy()
        value = pupil.learn(folded(store), Objective(), rate=1.0)
        updated.append((value.loss, pupil.weights_FV.tobytes()))
    assert updated[0] == updated[1]
    assert updated[0][1] != model.weights_FV.tobytes()


@pytest.mark.ci
@pytest.mark.parametrize(("agent", "options"), [(in_langgraph, []), (in_langgraph_streaming, ["--whole"])])
async def test_a_run_of_a_langgraph_agent_gives_the_same_samples_as_a_workflow(
    model: WordModel, own: Path, other: Path, agent: Agent, options: list[str]
) -> None:
    if not AGENTS.exists():
        pytest.skip(f"{AGENTS} is missing; `make e2e` makes it")
    assert_the_same(await by_workflow(model, own), await by_gateway(model, other, agent, *options))
