"""A workflow whose steps ask a model over real HTTP: what is recorded, what is spent, and what is never written."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from stretto.engine.request import RunRequest
from stretto.record.model import Run, decoded
from stretto.runtime.load import load
from stretto.runtime.workflow import Workflow
from stretto.types.budget import BudgetSpec
from stretto.types.enums import Reason, RunStatus, StepStatus
from tests.unit.components.openai.standin import StandIn, completion, recorded

Start = Callable[..., Workflow]

ASK = """
steps: [{ name: ask, component: llm, input_mapping: { prompt: input.question } }]
output: { text: steps.ask.text }
"""

COMPONENTS = """
from stretto import component

@component(effects="read")
def lookup(name: str, arguments: dict) -> dict:
    return {"role": "tool", "tool_call_id": "call-1", "content": f"{name}: shipped, {arguments['id']}"}

@component(effects="pure")
def keep(messages: list[dict]) -> dict:
    return {"messages": messages}
"""

TOOL = {
    "type": "function",
    "function": {"name": "get_order", "parameters": {"type": "object", "properties": {"id": {"type": "string"}}}},
}


@pytest.fixture
async def server() -> AsyncIterator[StandIn]:
    standing = StandIn()
    await standing.start()
    yield standing
    await standing.stop()


@pytest.fixture
async def start(tmp_path: Path, server: StandIn) -> AsyncIterator[Start]:
    """`start(steps, **options of the model)`: a loaded workflow whose model asks the server."""
    living: list[Workflow] = []

    def begin(steps: str = ASK, **options: Any) -> Workflow:
        llm = {"kind": "openai", "model": "small", "base_url": server.base_url, **options}
        (tmp_path / "components.py").write_text(COMPONENTS)
        declared = orjson.dumps(["components.py", {"llm": llm}]).decode()
        (tmp_path / "workflow.yaml").write_text(f"stretto: 1\nname: talk\ncomponents: {declared}\n{steps}\n")
        living.append(load(tmp_path / "workflow.yaml", store=tmp_path / "runs.db"))
        return living[-1]

    yield begin
    for workflow in living:
        await workflow.aclose()


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def output(run: Run) -> dict[str, Any]:
    assert run.status is RunStatus.OK, run.error
    found: dict[str, Any] = decoded(run.output)
    return found


async def test_a_model_call_is_kept_token_by_token(start: Start, server: StandIn) -> None:
    server.reply(recorded("vllm/end")["body"])
    workflow = start(token_ids=True, system="be brief", prices={"input": 100, "output": 1000})
    run = await workflow.run({"question": "Say only: hi"})
    assert output(run) == {"text": "Hi."}
    workflow.store.flush()
    kept = workflow.store.get(run.id)
    (call,) = kept.steps[0].model_calls
    assert call.completion_ids is not None
    assert call.logprobs is not None
    assert call.prompt_ids is not None
    assert call.mask is not None
    assert call.completion_ids.tolist() == [26843, 30, 2]
    assert [call.completion_ids.dtype, call.logprobs.dtype, call.mask.dtype] == [np.int32, np.float32, np.bool_]
    assert len(call.prompt_ids) == 34
    assert call.messages == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "Say only: hi"},
    ]
    assert server.asked[0].body["return_token_ids"] is True
    assert kept.usage is not None
    assert (kept.usage.input_tokens, kept.usage.output_tokens) == (34, 3)
    assert kept.usage.cost == pytest.approx(0.0064)


async def test_the_json_of_a_schema_flows_on_with_its_types(start: Start, server: StandIn) -> None:
    server.reply(recorded("vllm/json")["body"])
    schema = {
        "type": "object",
        "properties": {"color": {"$ref": "#/$defs/Color"}},
        "required": ["color"],
        "$defs": {"Color": {"enum": ["red", "blue"]}},
    }
    form = {"type": "json_schema", "json_schema": {"name": "paint", "strict": True, "schema": schema}}
    steps = ASK.replace(
        "text: steps.ask.text", "red: \"steps.ask.parsed.color == 'red'\", color: steps.ask.parsed.color"
    )
    assert output(await start(steps, response_format=form).run({"question": "?"})) == {"red": True, "color": "red"}
    assert server.asked[0].body["response_format"] == form


@pytest.mark.parametrize(
    ("text", "why"),
    [("red", '"parsed" is a required property'), ('{"color": "green"}', '"green" is not one of')],
)
async def test_json_that_breaks_its_schema_fails_the_step_and_is_still_recorded(
    start: Start, server: StandIn, text: str, why: str
) -> None:
    server.reply({**completion(text), "usage": {"prompt_tokens": 5, "completion_tokens": 2}})
    schema = {"type": "object", "properties": {"color": {"enum": ["red", "blue"]}}, "required": ["color"]}
    form = {"type": "json_schema", "json_schema": {"name": "paint", "schema": schema}}
    run = await start(response_format=form).run({"question": "?"})
    assert (run.status, run.reason) == (RunStatus.FAILED, Reason.CONTRACT)
    (step,) = run.steps
    assert step.error is not None
    assert why in step.error.message
    assert step.model_calls[0].text == text
    assert step.usage is not None
    assert step.usage.output_tokens == 2


async def test_a_run_s_server_and_key_are_used_and_never_written(start: Start, server: StandIn, tmp_path: Path) -> None:
    server.reply()
    server.reply({"error": {"message": "no credit on run-secret"}}, status=402)
    workflow = start(base_url="http://127.0.0.1:1/v1")
    baggage = {"openai_base_url": f"{server.base_url}/sessions/private", "openai_api_key": "run-secret"}
    good = await workflow.run_request(RunRequest(input={"question": "?"}, baggage=baggage))
    bad = await workflow.run_request(RunRequest(input={"question": "?"}, baggage=baggage))
    assert (good.status, bad.status) == (RunStatus.OK, RunStatus.FAILED)
    assert bad.error is not None
    assert "no credit on ***" in bad.error.message
    assert {asked.headers["Authorization"] for asked in server.asked} == {"Bearer run-secret"}
    workflow.store.flush()
    workflow.store.export(tmp_path / "runs.jsonl")
    written = everything_in(tmp_path)
    assert str(good.id).encode() in written
    assert b"run-secret" not in written
    assert b"sessions/private" not in written


async def test_only_the_step_s_own_rule_tries_again_and_waits_as_told(start: Start, server: StandIn) -> None:
    server.reply({"error": "slow down"}, status=429, headers={"Retry-After-Ms": "1"})
    server.reply()
    retried = ASK.replace("} }]", "}, resilience: { retry: { attempts: 2, base: 1ms } } }]", 1)
    run = await start(retried).run({"question": "?"})
    assert output(run) == {"text": "hello"}
    first, second = run.steps[0].attempts
    assert first.error is not None
    assert first.error.rpc_code == "resource_exhausted"
    assert second.error is None
    assert len(server.asked) == 2


async def test_a_deadline_gives_the_call_up_at_the_server(start: Start, server: StandIn) -> None:
    server.reply()
    server.gate.clear()
    hurried = ASK.replace("} }]", "}, resilience: { timeout: 50ms } }]", 1)
    run = await start(hurried).run({"question": "?"})
    assert (run.status, run.reason) == (RunStatus.FAILED, Reason.TIMEOUT)
    await asyncio.wait_for(server.dropped.wait(), 5)


async def test_tokens_are_spent_from_the_run_s_budget(start: Start, server: StandIn) -> None:
    server.reply({**completion(), "usage": {"prompt_tokens": 90, "completion_tokens": 20}})
    steps = """
steps:
  - { name: first, component: llm, input_mapping: { prompt: input.question } }
  - { name: second, component: llm, input_mapping: { prompt: steps.first.text } }
output: { text: steps.second.text }
"""
    request = RunRequest(input={"question": "?"}, budget=BudgetSpec(tokens=100, deadline=timedelta(seconds=30)))
    run = await start(steps).run_request(request)
    assert (run.status, run.reason) == (RunStatus.FAILED, Reason.BUDGET)
    assert [step.status for step in run.steps] == [StepStatus.OK, StepStatus.FAILED]
    assert len(server.asked) == 1


async def test_a_conversation_with_tools_goes_on_until_the_model_answers(start: Start, server: StandIn) -> None:
    asked_for = {"id": "call-1", "type": "function", "function": {"name": "get_order", "arguments": '{"id": "7"}'}}
    server.reply(completion(message={"content": None, "tool_calls": [asked_for]}, finish_reason="tool_calls"))
    server.reply(completion("It has been shipped."))
    steps = """
steps:
  - name: talk
    repeat:
      carry: { messages: "[{'role': 'user', 'content': input.question}]" }
      until: size(steps.say.tool_calls) == 0
      max_rounds: 4
      steps:
        - { name: say, component: llm, input_mapping: { messages: carry.messages } }
        - name: act
          condition: size(steps.say.tool_calls) > 0
          component: lookup
          input_mapping: { name: "steps.say.tool_calls[0].name", arguments: "steps.say.tool_calls[0].arguments" }
        - name: note
          condition: size(steps.say.tool_calls) > 0
          component: keep
          input_mapping: { messages: "carry.messages + [steps.say.message, steps.act]" }
          output_mapping: { messages: carry.messages }
output: { text: steps.talk.last.say.text, rounds: steps.talk.rounds }
"""
    run = await start(steps, tools=[TOOL]).run({"question": "Where is order 7?"})
    assert output(run) == {"text": "It has been shipped.", "rounds": 2}
    assert server.asked[1].body["messages"] == [
        {"role": "user", "content": "Where is order 7?"},
        {"role": "assistant", "content": "", "tool_calls": [asked_for]},
        {"role": "tool", "tool_call_id": "call-1", "content": "get_order: shipped, 7"},
    ]


async def test_a_script_that_closes_nothing_ends_without_a_warning(
    start: Start, server: StandIn, tmp_path: Path
) -> None:
    server.reply(recorded("vllm/end")["body"])
    start()
    script = """
import stretto
workflow = stretto.load("workflow.yaml")
print(workflow.run_sync({"question": "Say only: hi"}).output_value)
"""
    command = [sys.executable, "-W", "error", "-c", script]
    process = await asyncio.create_subprocess_exec(
        *command, cwd=tmp_path, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate()
    assert (process.returncode, err.decode(), out.decode()) == (0, "", "{'text': 'Hi.'}\n")
