"""A gateway before a living model server: what it records is what the server says of itself without it.

The server is that of `test_openai_living`: llama.cpp with SmolLM2-135M, or any that STRETTO_TEST_OPENAI names.
"""

import signal
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openai import AsyncOpenAI

from stretto.learn.tokens import collect_tokens
from stretto.learn.usable import Recorded
from stretto.record.model import StepRecord
from stretto.store.sqlite import Store
from tests.e2e.test_gateway import Process
from tests.e2e.test_gateway_trained import AGENTS, in_langgraph
from tests.e2e.test_openai_living import Place, place  # noqa: F401  # a fixture

pytestmark = pytest.mark.slow

ASKED: Any = {"messages": [{"role": "user", "content": "Say only: hi"}], "temperature": 0, "max_tokens": 6}


@pytest.fixture
def gateway(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Process]:  # noqa: F811
    monkeypatch.setenv("LIVING_KEY", place.key)
    process = Process(place.base_url, tmp_path, "--key-env", "LIVING_KEY")
    yield process
    process.end(signal.SIGKILL)


async def recorded_by(gateway: Process, folder: Path, key: str) -> list[StepRecord]:
    async with AsyncOpenAI(base_url=gateway.url, api_key="none") as client:
        told: Any = await client.post(f"/runs/{key}/end", cast_to=object)
    with Store(folder / "runs.db") as store:
        return [step for step in store.get(told["run"]).steps if step.component]


async def test_what_is_recorded_is_what_the_server_tells_whoever_asks_it(
    place: Place,  # noqa: F811
    gateway: Process,
    tmp_path: Path,
) -> None:
    async with AsyncOpenAI(base_url=place.base_url, api_key=place.key) as direct:
        truth: Any = await direct.chat.completions.create(
            model=place.model, logprobs=True, top_logprobs=1, extra_body={"return_token_ids": True}, **ASKED
        )
    async with AsyncOpenAI(base_url=f"{gateway.url}/run/k1/v1", api_key="none") as client:
        whole: Any = await client.chat.completions.create(model=place.model, **ASKED)
        stream: Any = await client.chat.completions.create(model=place.model, stream=True, **ASKED)
        pieces = [piece async for piece in stream]
    assert whole.choices[0].message.content == truth.choices[0].message.content
    assert whole.choices[0].logprobs is None
    assert "".join(piece.choices[0].delta.content or "" for piece in pieces) == truth.choices[0].message.content
    first, second = await recorded_by(gateway, tmp_path, "k1")
    sent = np.array([token.logprob for token in truth.choices[0].logprobs.content], np.float32)
    for step in (first, second):
        (call,) = step.model_calls
        assert call.completion_ids is not None
        assert call.logprobs is not None
        assert len(call.completion_ids) == len(call.logprobs)
        assert np.allclose(call.logprobs, sent[: len(call.logprobs)], atol=0.05)  # the cache changes the last digits
    assert first.model_calls[0].logprobs is not None
    assert len(first.model_calls[0].logprobs) == len(sent)


async def test_a_conversation_with_tools_goes_on_whatever_the_server_refuses(
    place: Place,  # noqa: F811
    gateway: Process,
    tmp_path: Path,
) -> None:
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tools: Any = [{"type": "function", "function": {"name": "get_weather", "parameters": parameters}}]
    messages: Any = [{"role": "user", "content": "What is the weather in Paris?"}]
    async with AsyncOpenAI(base_url=f"{gateway.url}/run/k1/v1", api_key="none") as client:
        for _ in range(2):
            stream: Any = await client.chat.completions.create(
                model=place.model, messages=messages, tools=tools, temperature=0, max_tokens=8, stream=True
            )
            text = "".join([piece.choices[0].delta.content or "" async for piece in stream])
            messages += [{"role": "assistant", "content": text}, {"role": "user", "content": "Go on."}]
    first, second = await recorded_by(gateway, tmp_path, "k1")
    assert first.status == second.status == "ok"
    if not first.output_value["tool_calls"]:
        assert second.evidence["continues"] == first.path


async def test_a_langgraph_agent_with_a_tool_makes_a_run_to_learn_from(
    place: Place,  # noqa: F811
    gateway: Process,
    tmp_path: Path,
) -> None:
    """A model so small seldom calls its tool: whatever it says, the record says so too."""
    if not AGENTS.exists():
        pytest.skip(f"{AGENTS} is missing; `make living` makes it")
    async with AsyncOpenAI(base_url=gateway.url, api_key="none") as client:
        opened: Any = await client.post("/runs", body={"key": "k1", "labels": {"task": "t"}}, cast_to=object)
        last = await in_langgraph(opened["base_url"], 1, place.model, "Say only: hi")
        await client.post("/runs/k1/reward", body={"value": 1}, cast_to=object)
    steps = await recorded_by(gateway, tmp_path, "k1")
    assert [step.status for step in steps] == ["ok"] * len(steps)
    assert steps[-1].output_value["text"] == last
    assert all(step.evidence.get("continues") == before.path for before, step in pairwise(steps))
    with Store(tmp_path / "runs.db") as store:
        samples = collect_tokens([Recorded(run=run) for run in store.runs()], steps[0].component)
    assert samples.rewards_R.tolist() == [1.0]
    told = [call.completion_ids for step in steps for call in step.model_calls]
    assert samples.tokens == sum(len(ids) for ids in told if ids is not None)
    assert (samples.tokens > 0, samples.excluded) == (True, {})


async def test_text_completions_are_recorded(place: Place, gateway: Process, tmp_path: Path) -> None:  # noqa: F811
    async with AsyncOpenAI(base_url=f"{gateway.url}/run/k1/v1", api_key="none") as client:
        answer = await client.completions.create(model=place.model, prompt="Once upon", max_tokens=4, temperature=0)
        text = "Once upon" + answer.choices[0].text
        await client.completions.create(model=place.model, prompt=text + " and", max_tokens=2)
    first, second = await recorded_by(gateway, tmp_path, "k1")
    assert first.model_calls[0].completion_ids is not None
    assert len(first.model_calls[0].completion_ids) == 4
    assert second.evidence["continues"] == first.path
