"""Runs: conversations in them, rewards, ends, silence, limits, and what a restart leaves."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from stretto.learn.rewards import reward_as_of
from stretto.record.conversation import request_at
from stretto.serve.gateway.ending import Ending
from stretto.serve.gateway.models import Models
from stretto.serve.gateway.open_run import OpenRun
from stretto.serve.gateway.opening import Opening, run_of
from stretto.serve.gateway.settings import GatewaySettings, OnStop
from stretto.store.journal import RunJournal
from stretto.store.sqlite import Store
from stretto.types.enums import Durability, Reason, RunStatus, StepStatus
from tests.unit.components.openai.standin import completion
from tests.unit.serve.gateway.conftest import HELLO, Begin, Standing, calls
from tests.unit.serve.gateway.model_server import ModelServer

TOOL = {"type": "function", "function": {"name": "get_order", "parameters": {"type": "object", "properties": {}}}}


async def chat(gateway: Standing, messages: list[Any], key: str = "k1", **more: Any) -> Any:  # the answer's message
    client = gateway.client(key)
    answer = await client.chat.completions.create(model="small", messages=messages, **more)
    return answer.choices[0].message.model_dump(exclude_none=True)


async def test_a_conversation_is_one_branch_that_keeps_each_message_once(
    gateway: Standing, server: ModelServer
) -> None:
    for text in ("one", "two", "three"):
        server.reply(completion(text))
    messages = [{"role": "system", "content": "Be brief."}, *HELLO]
    tools = [TOOL]
    sent = []
    for _ in range(3):
        sent.append({"model": "small", "messages": [*messages], "tools": tools})
        messages += [await chat(gateway, messages, tools=tools), {"role": "user", "content": "Go on."}]
    run = await gateway.end("k1")
    first, second, third = calls(run).values()
    assert [step.path for step in (first, second, third)] == ["agent[0]", "agent[1]", "agent[2]"]
    assert second.input_value == {
        "$after": "agent[0]",
        "$same": ["tools"],
        "model": "small",
        "messages": [{"role": "assistant", "content": "one"}, {"role": "user", "content": "Go on."}],
    }
    assert [request_at(run, f"agent[{at}]") for at in range(3)] == sent
    assert run.output_value["text"] == "three"
    assert run.input_value == {"messages": [{"role": "system", "content": "Be brief."}, *HELLO]}


async def test_an_answer_that_is_sent_back_in_another_form_is_still_the_same(
    gateway: Standing, server: ModelServer
) -> None:
    call = {"id": "call-1", "type": "function", "function": {"name": "get_order", "arguments": '{"id": "W1", "n": 2}'}}
    server.reply(
        completion("", tool_calls=None)
        | {
            "choices": [
                {"message": {"role": "assistant", "content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}
            ]
        }
    )
    await chat(gateway, HELLO)
    again = {**call, "function": {"name": "get_order", "arguments": '{"n":2,"id":"W1"}'}}
    told = {"role": "tool", "tool_call_id": "call-1", "content": [{"type": "text", "text": "shipped"}]}
    echo = {"role": "assistant", "content": "", "tool_calls": [again], "refusal": None}
    server.reply(completion("done"))
    await chat(gateway, [*HELLO, echo, told])
    made = calls(await gateway.end("k1"))
    assert list(made) == ["agent[0]", "agent[1]"]
    assert made["agent[1]"].evidence["continues"] == "agent[0]"


async def test_another_system_prompt_an_edited_history_and_a_second_question_open_branches(
    gateway: Standing, server: ModelServer
) -> None:
    server.reply(completion("one"))
    one = await chat(gateway, HELLO)
    await chat(gateway, [*HELLO, one, {"role": "user", "content": "A?"}])
    await chat(gateway, [*HELLO, one, {"role": "user", "content": "B?"}])  # from the same place
    await chat(gateway, [{"role": "system", "content": "Other."}, *HELLO])
    await chat(gateway, [*HELLO, {"role": "assistant", "content": "edited"}, {"role": "user", "content": "C?"}])
    made = calls(await gateway.end("k1"))
    assert {path: step.evidence.get("continues") for path, step in made.items()} == {
        "agent[0]": None,
        "agent[1]": "agent[0]",
        "agent-2[0]": "agent[0]",
        "agent-3[0]": None,
        "agent-4[0]": None,
    }


async def test_a_prompt_whose_tokens_are_not_those_that_were_sampled_is_told(
    gateway: Standing, server: ModelServer
) -> None:
    def told(prompt: list[int], text: str, ids: list[int]) -> dict[str, Any]:
        return {**completion(text, token_ids=ids), "prompt_token_ids": prompt}

    server.reply(told([1, 2], "one", [7, 8]))
    server.reply(told([1, 2, 7, 8, 3], "two", [9]))
    server.reply(told([1, 2, 7, 8, 3, 5, 4], "three", [9]))
    messages: list[Any] = [*HELLO]
    for _ in range(3):
        messages += [await chat(gateway, messages), {"role": "user", "content": "Go on."}]
    made = calls(await gateway.end("k1"))
    assert "drift" not in made["agent[1]"].evidence
    assert made["agent[2]"].evidence["drift"] == {"after": "agent[1]", "at": 5}


async def test_a_run_is_opened_with_labels_seed_reference_and_input(gateway: Standing, server: ModelServer) -> None:
    opening = {
        "labels": {"task": "7", "group": "g", "split": "train", "purpose": "rollout"},
        "seed": 42,
        "reference": {"answer": "blue"},
        "input": {"question": "sky?"},
        "model": "small",
    }
    status, told, _ = await gateway.ask("POST", "/runs", opening)
    assert status == 201
    assert told["base_url"] == f"{gateway.url}/run/{told['key']}/v1"
    assert told["key"] == f"run-{told['run']}"
    server.reply()
    await chat(gateway, HELLO, told["key"])
    run = await gateway.end(told["key"], labels={"outcome": "won"})
    assert run.labels == {**opening["labels"], "gateway_key": told["key"], "outcome": "won"}  # type: ignore[dict-item]
    assert (run.seed, run.reference_value, run.input_value) == (42, {"answer": "blue"}, {"question": "sky?"})
    assert list(run.manifest.components) == ["small"]


async def test_a_reward_is_part_of_an_open_run_and_an_annotation_of_one_that_has_ended(
    gateway: Standing, server: ModelServer
) -> None:
    server.reply()
    await chat(gateway, HELLO)
    assert (await gateway.ask("POST", "/runs/k1/reward", {"value": 0.25, "reason": "half"}))[1]["annotation"] is False
    await gateway.ask("POST", "/runs/k1/reward", {"value": 0.5})
    await gateway.ask("POST", "/runs/k1/reward", {"name": "style", "value": 1})
    run = await gateway.end("k1")
    assert [(reward.name, reward.value) for reward in run.rewards] == [("outcome", 0.5), ("style", 1.0)]
    assert run.reward == 1.5
    status, told, _ = await gateway.ask("POST", "/runs/k1/reward", {"value": 0.75, "reason": "on reflection"})
    assert (status, told["annotation"]) == (200, True)
    by_id = await gateway.ask("POST", f"/runs/{run.id}/reward", {"name": "style", "value": None})
    assert by_id[0] == 200
    with Store(gateway.store) as store:
        notes = store.annotations(run.id)
    assert [(note.name, note.value, note.reason) for note in notes] == [
        ("reward.outcome", 0.75, "on reflection"),
        ("reward.style", None, ""),
    ]
    assert reward_as_of(run, notes[:1]) == 1.75
    assert reward_as_of(run, notes) is None  # unknown, never 0


async def test_a_reward_that_is_unknown_is_never_zero(gateway: Standing, server: ModelServer) -> None:
    server.reply()
    await chat(gateway, HELLO)
    await gateway.ask("POST", "/runs/k1/reward", {"value": None, "reason": "the judge was down"})
    run = await gateway.end("k1")
    assert run.reward is None
    assert run.rewards[0].value is None


@pytest.mark.parametrize(
    ("status", "reason"),
    [("ok", None), ("failed", Reason.ERROR), ("cancelled", Reason.CANCELLED), ("expired", Reason.TIMEOUT)],
)
async def test_a_run_ends_as_is_said(
    gateway: Standing, server: ModelServer, status: str, reason: Reason | None
) -> None:
    server.reply()
    await chat(gateway, HELLO)
    run = await gateway.end("k1", status=status, error="it gave up", output={"done": False})
    assert (run.status, run.reason, run.output_value) == (status, reason, {"done": False})
    assert run.error is not None
    assert run.error.message == "it gave up"


async def test_a_run_can_be_sealed_in_the_moment_in_which_it_was_opened(tmp_path: Path) -> None:
    """The store has committed it, and what waits for that has not been told yet."""
    settings = GatewaySettings(upstream="http://a/v1")
    run = run_of(Opening(key="k1"), settings, Models(settings), b"k")
    with Store(tmp_path / "other.db") as store:
        accepted: asyncio.Future[RunJournal] = asyncio.get_running_loop().create_future()
        opened = OpenRun("k1", run, accepted, pytest.fail)
        accepted.set_result(await store.open(run, Durability.STEP))
        await opened.seal(Ending())
        assert store.get(run.id).status is RunStatus.OK


async def test_an_end_may_be_told_twice_and_not_otherwise(gateway: Standing, server: ModelServer) -> None:
    server.reply()
    await chat(gateway, HELLO)
    first = await gateway.ask("POST", "/runs/k1/end", {"status": "ok"})
    assert (await gateway.ask("POST", "/runs/k1/end", {"status": "ok"}))[:2] == first[:2]
    status, told, _ = await gateway.ask("POST", "/runs/k1/end", {"status": "failed"})
    assert (status, told["error"]["code"]) == (409, "run_ended")
    assert "has ended as ok" in told["error"]["message"]


async def test_a_key_is_not_used_again_after_its_end(gateway: Standing, server: ModelServer, begin: Begin) -> None:
    server.reply()
    await chat(gateway, HELLO)
    await gateway.end("k1")
    body = {"model": "small", "messages": HELLO}
    for where in (gateway, await begin()):  # another gateway over the store knows it too
        status, told, _ = await where.ask("POST", "/run/k1/v1/chat/completions", body)
        assert (status, told["error"]["code"]) == (409, "run_ended")
        assert (await where.ask("POST", "/runs", {"key": "k1"}))[0] == 409
    assert len(server.asked) == 1


async def test_an_end_breaks_off_what_is_under_way(gateway: Standing, server: ModelServer) -> None:
    server.reply()
    server.gate.clear()
    asking = asyncio.ensure_future(gateway.ask("POST", "/run/k1/v1/chat/completions", {"messages": HELLO}))
    await server.arrived.wait()
    run = await gateway.end("k1", status="cancelled")
    status, told, _ = await asking
    assert (status, told["error"]["message"]) == (409, "the call was broken off: its run was ended")
    await asyncio.wait_for(server.dropped.wait(), 5)
    (step,) = calls(run).values()
    assert (step.status, step.reason) == (StepStatus.FAILED, Reason.CANCELLED)


async def test_a_run_that_goes_silent_is_sealed_as_what_it_is(begin: Begin, server: ModelServer) -> None:
    gateway = await begin(idle=0.05)
    server.reply()
    await chat(gateway, HELLO)
    await gateway.ask("POST", "/runs", {"key": "never"})
    first, second = await gateway.ended(2)
    assert (first.status, first.labels["gateway_key"]) == (RunStatus.OK, "k1")
    assert first.warnings == ("nobody said how it ended; sealed after 50ms without a call",)
    assert (second.status, second.labels["gateway_key"]) == (RunStatus.EXPIRED, "never")


async def test_a_run_with_a_call_under_way_is_not_silent(begin: Begin, server: ModelServer) -> None:
    gateway = await begin(idle=0.02)
    server.reply()
    server.gate.clear()
    asking = asyncio.ensure_future(chat(gateway, HELLO))
    await server.arrived.wait()
    await gateway.ask("POST", "/runs", {"key": "other"})
    await gateway.ended(1)  # the other one, opened later, has gone silent meanwhile
    server.gate.set()
    await asking
    assert (await gateway.ended(2))[0].status is RunStatus.OK


async def test_the_next_gateway_goes_on_with_what_was_left_open(begin: Begin, server: ModelServer) -> None:
    first = await begin()
    server.reply(completion("one"))
    server.reply({"error": {"message": "busy"}}, status=503)
    server.reply(completion("two"))
    messages: list[Any] = [*HELLO, await chat(first, HELLO), {"role": "user", "content": "Go on."}]
    with pytest.raises(Exception, match="busy"):
        await chat(first, messages)
    await first.ask("POST", "/runs/k1/reward", {"value": 1})
    await first.stop()
    assert [run.status for run in first.runs()] == []
    second = await begin()
    await chat(second, messages)
    run = await second.end("k1")
    assert list(calls(run)) == ["agent[0]", "agent[1]", "agent[2]"]
    assert calls(run)["agent[2]"].evidence["continues"] == "agent[0]"
    assert calls(run)["agent[1]"].reason is None  # it was asked again, and answered
    assert (run.reward, run.status) == (1.0, RunStatus.OK)
    assert run.lay_ms > 0
    with Store(second.store) as store:
        assert store.losses() == []
        assert store.stats().lost == 0


async def test_a_gateway_takes_up_what_another_leaves_while_it_runs(
    begin: Begin, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stretto.serve.gateway.runs.LOOK_S", 0.01)
    first, second = await begin(), await begin(idle=0.05)
    server.reply()
    await chat(first, HELLO)
    await first.stop()
    (run,) = await second.ended(1)
    assert (run.status, list(calls(run))) == (RunStatus.OK, ["agent[0]"])


async def test_a_run_of_another_gateway_is_not_gone_on_with_while_that_lives(
    begin: Begin, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await begin()
    server.reply()
    await chat(first, HELLO)
    with Store(first.store) as store:  # as another process, whose own run it is not
        assert store.pending() == []
    second = await begin()
    status, told, headers = await second.ask("POST", "/run/k1/v1/chat/completions", {"messages": HELLO})
    assert (status, headers["Retry-After"]) == (503, "30")
    assert "is being executed by" in told["error"]["message"]
    assert len(calls(await first.end("k1"))) == 1


async def test_a_gateway_may_end_its_runs_when_it_stops(begin: Begin, server: ModelServer) -> None:
    gateway = await begin(on_stop=OnStop.END)
    server.reply()
    await chat(gateway, HELLO)
    await gateway.stop()
    (run,) = gateway.runs()
    assert run.status is RunStatus.OK
    assert "the gateway was stopped" in run.warnings[0]


async def test_too_many_open_runs_are_refused_until_one_ends(begin: Begin, server: ModelServer) -> None:
    gateway = await begin(max_runs=1)
    server.reply()
    await chat(gateway, HELLO)
    status, told, headers = await gateway.ask("POST", "/run/k2/v1/chat/completions", {"messages": HELLO})
    assert (status, told["error"]["type"], told["error"]["code"]) == (429, "rate_limit_error", "too_many_runs")
    assert headers["Retry-After"] == "60"
    await gateway.end("k1")
    assert (await gateway.ask("POST", "/runs", {"key": "k2"}))[0] == 201


async def test_too_many_calls_at_once_are_refused(begin: Begin, server: ModelServer) -> None:
    gateway = await begin(max_calls=1)
    server.reply()
    server.gate.clear()
    asking = asyncio.ensure_future(chat(gateway, HELLO))
    await server.arrived.wait()
    status, told, headers = await gateway.ask("POST", "/run/k1/v1/chat/completions", {"messages": HELLO})
    assert (status, told["error"]["code"], headers["Retry-After"]) == (429, "too_many_calls", "1")
    server.gate.set()
    await asking


async def test_an_open_run_and_one_that_has_ended_can_be_looked_at(gateway: Standing, server: ModelServer) -> None:
    server.reply()
    await chat(gateway, HELLO)
    told = (await gateway.ask("GET", "/runs/k1"))[1]
    assert (told["status"], told["calls"], told["branches"]) == (None, 1, 1)
    run = await gateway.end("k1")
    told = (await gateway.ask("GET", f"/runs/{run.id}"))[1]
    assert told == {"key": "k1", "run": run.id, "status": "ok", "calls": 1, "branches": 1, "reward": None}


async def test_no_agent_rewards_itself_where_runs_ask_for_a_token(
    begin: Begin, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNS_TOKEN", "a-token-that-is-long-enough")
    gateway = await begin(token_env="RUNS_TOKEN")
    server.reply()
    await chat(gateway, HELLO)
    for path in ("/runs", "/runs/k1/reward", "/runs/k1/end"):
        for given in ({}, {"Authorization": "Bearer none"}):
            status, told, _ = await gateway.ask("POST", path, {"value": 1}, headers=given)
            assert (status, told["error"]["code"]) == (401, "invalid_token")
    allowed = {"Authorization": "Bearer a-token-that-is-long-enough"}
    assert (await gateway.ask("POST", "/runs/k1/reward", {"value": 1}, headers={**allowed}))[0] == 200
    assert (await gateway.ask("POST", "/runs/k1/end", {}, headers={**allowed}))[1]["reward"] == 1.0


async def test_figures_and_health_are_told(gateway: Standing, server: ModelServer) -> None:
    server.reply()
    await chat(gateway, HELLO)
    await gateway.ask("GET", "/nowhere")
    assert (await gateway.ask("GET", "/livez"))[:2] == (200, "ok\n")
    ready = (await gateway.ask("GET", "/readyz"))[1]
    assert ready == {"status": "ready", "upstream": server.base_url, "open_runs": 1, "unrecorded": 0}
    text = (await gateway.ask("GET", "/metrics"))[1]
    for line in (
        'stretto_gateway_calls_total{outcome="ok"} 1.0',
        "stretto_gateway_calls_under_way 0.0",
        "stretto_gateway_open_runs 1.0",
        "stretto_gateway_unrecorded_total 0.0",
        'stretto_gateway_untold_total{what="token_ids"} 1.0',
        'stretto_gateway_refusals_total{status="404"} 1.0',
        "stretto_gateway_call_seconds_count 1.0",
        "stretto_gateway_added_seconds_count 1.0",
    ):
        assert f"\n{line}\n" in text, line
