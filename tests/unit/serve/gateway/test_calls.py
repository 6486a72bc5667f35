"""Calls of OpenAI's own client: what the agent sees, and what is recorded of it."""

import asyncio
from typing import Any

import numpy as np
import pytest

from stretto.components.openai import OpenAiModel
from stretto.record.conversation import request_at
from stretto.record.model import Run, StepRecord
from stretto.testing.request import request_for
from stretto.types.enums import Effect, RunStatus, StepStatus
from tests.unit.components.openai.standin import completion, recorded
from tests.unit.serve.gateway.conftest import HELLO, Begin, Standing, calls
from tests.unit.serve.gateway.model_server import ModelServer, chunk, vllm_stream


def only_call(run: Run) -> StepRecord:
    (step,) = calls(run).values()
    return step


def assert_tokens(step: StepRecord, body: dict[str, Any]) -> None:
    """Every id and log-probability is as the server sent it."""
    (choice,), (call,) = body["choices"], step.model_calls
    assert call.prompt_ids is not None
    assert call.completion_ids is not None
    assert call.logprobs is not None
    assert call.mask is not None
    assert call.prompt_ids.tolist() == body["prompt_token_ids"]
    assert call.completion_ids.tolist() == choice["token_ids"]
    sent = np.array([token["logprob"] for token in choice["logprobs"]["content"]], np.float32)
    assert call.logprobs.tolist() == sent.tolist()
    assert call.completion_ids.dtype == np.int32
    assert call.logprobs.dtype == np.float32
    assert call.mask.all()


async def test_an_answer_reaches_the_agent_without_what_it_did_not_ask_for(
    gateway: Standing, server: ModelServer
) -> None:
    sent = server.recorded("vllm/end")["body"]
    answer = await gateway.client("k1").chat.completions.create(model="smollm2", messages=HELLO)
    assert answer.choices[0].message.content == "Hi."
    assert answer.choices[0].logprobs is None
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 3
    assert "prompt_token_ids" not in (answer.model_extra or {})
    assert "token_ids" not in (answer.choices[0].model_extra or {})
    asked = server.asked[0].body
    assert asked == {
        "model": "smollm2",
        "messages": HELLO,
        "logprobs": True,
        "top_logprobs": 1,
        "return_token_ids": True,
    }
    step = only_call(await gateway.end("k1"))
    assert_tokens(step, sent)
    assert (step.path, step.component, step.effect, step.status) == ("agent[0]", "smollm2", Effect.READ, StepStatus.OK)
    assert step.input_value == {"model": "smollm2", "messages": HELLO}
    assert step.output_value == {
        "text": "Hi.",
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": "Hi."},
    }


async def test_what_the_agent_asked_for_it_sees(gateway: Standing, server: ModelServer) -> None:
    sent = server.recorded("vllm/end")["body"]
    client = gateway.client("k1")
    answer = await client.chat.completions.create(
        model="smollm2", messages=HELLO, logprobs=True, top_logprobs=1, extra_body={"return_token_ids": True}
    )
    assert answer.choices[0].model_extra == {"stop_reason": None, "token_ids": [26843, 30, 2], "routed_experts": None}
    assert answer.choices[0].logprobs is not None
    assert [token.logprob for token in answer.choices[0].logprobs.content or ()] == [
        token["logprob"] for token in sent["choices"][0]["logprobs"]["content"]
    ]
    assert_tokens(only_call(await gateway.end("k1")), sent)


async def test_alternatives_that_nobody_asked_for_are_hidden(gateway: Standing, server: ModelServer) -> None:
    server.recorded("vllm/end")
    answer = await gateway.client("k1").chat.completions.create(model="smollm2", messages=HELLO, logprobs=True)
    assert server.asked[0].body["top_logprobs"] == 1
    assert answer.choices[0].logprobs is not None
    assert [token.top_logprobs for token in answer.choices[0].logprobs.content or ()] == [[], [], []]


async def test_a_stream_reaches_the_agent_as_it_comes_and_is_recorded_whole(
    gateway: Standing, server: ModelServer
) -> None:
    events, sent = vllm_stream()
    server.stream(*events)
    server.steps = asyncio.Semaphore(0)
    stream = await _started(gateway, server)
    texts = []
    server.steps.release()
    async for piece in stream:
        assert piece.usage is None
        assert "prompt_token_ids" not in (piece.model_extra or {})
        for choice in piece.choices:
            assert choice.logprobs is None
            assert "token_ids" not in (choice.model_extra or {})
            texts.append(choice.delta.content)
        for _ in range(3 if len(texts) == 3 else 1):  # what comes with the end waits for what follows it
            server.steps.release()
    assert texts == ["", "Hi", ".", ""]
    assert server.asked[0].body["stream_options"] == {"include_usage": True}
    step = only_call(await gateway.end("k1"))
    assert_tokens(step, sent)
    assert step.output_value["text"] == "Hi."
    assert step.usage is not None
    assert (step.usage.input_tokens, step.usage.output_tokens) == (34, 3)
    assert "tokens" not in step.evidence


async def _started(gateway: Standing, server: ModelServer) -> Any:  # openai's stream of chunks
    creating = asyncio.ensure_future(
        gateway.client("k1").chat.completions.create(model="smollm2", messages=HELLO, stream=True)
    )
    await server.arrived.wait()
    return await creating


async def test_usage_that_the_agent_asked_for_ends_its_stream(gateway: Standing, server: ModelServer) -> None:
    server.stream(*vllm_stream()[0])
    client = gateway.client("k1")
    stream = await client.chat.completions.create(
        model="smollm2", messages=HELLO, stream=True, stream_options={"include_usage": True}
    )
    pieces = [piece async for piece in stream]
    assert pieces[-1].usage is not None
    assert pieces[-1].usage.total_tokens == 37


async def test_a_stream_of_a_real_llama_cpp_is_recorded_and_what_it_kept_back_is_told(
    gateway: Standing, server: ModelServer
) -> None:
    """Its stream leaves out the token that ended the answer, of which `usage` knows."""
    server.recorded("llama_cpp/stream")
    stream = await gateway.client("k1").chat.completions.create(model="smollm2", messages=HELLO, stream=True)
    assert "".join([piece.choices[0].delta.content or "" async for piece in stream]) == "Hi."
    step = only_call(await gateway.end("k1"))
    (call,) = step.model_calls
    assert call.completion_ids is not None
    assert call.completion_ids.tolist() == [26843, 30]
    assert call.completion_tokens == 3
    assert step.evidence["tokens"] == "the server counted 3 tokens and told the ids of 2"


async def test_a_tool_call_in_pieces_is_put_together(gateway: Standing, server: ModelServer) -> None:
    call = {"index": 0, "id": "call-1", "type": "function", "function": {"name": "get_order", "arguments": ""}}
    server.stream(
        chunk({"role": "assistant", "content": None, "tool_calls": [call]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"id":'}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": ' "W1"}'}}]}),
        chunk({}, finish_reason="tool_calls"),
    )
    client = gateway.client("k1")
    stream = await client.chat.completions.create(model="small", messages=HELLO, stream=True)
    assert [piece async for piece in stream][-1].choices[0].finish_reason == "tool_calls"
    output = only_call(await gateway.end("k1")).output_value
    assert output["tool_calls"] == [{"id": "call-1", "name": "get_order", "arguments": {"id": "W1"}}]


@pytest.mark.parametrize("usage", [False, True])
async def test_a_stream_may_be_asked_for_whole(begin: Begin, server: ModelServer, usage: bool) -> None:
    """SGLang tells token ids of whole answers only, and llama.cpp log-probabilities beside tools."""
    gateway = await begin(whole=True)
    sent = server.recorded("vllm/end")["body"]
    more: Any = {"stream_options": {"include_usage": True}} if usage else {}
    stream = await gateway.client("k1").chat.completions.create(model="smollm2", messages=HELLO, stream=True, **more)
    pieces = [piece async for piece in stream]
    assert "".join(choice.delta.content or "" for piece in pieces for choice in piece.choices) == "Hi."
    assert [choice.finish_reason for piece in pieces for choice in piece.choices] == [None, "stop"]
    assert all(choice.logprobs is None for piece in pieces for choice in piece.choices)
    assert (pieces[-1].usage is not None) is usage
    assert not {"stream", "stream_options"} & set(server.asked[0].body)
    assert_tokens(only_call(await gateway.end("k1")), sent)


async def test_tool_calls_and_texts_may_be_asked_for_whole_too(begin: Begin, server: ModelServer) -> None:
    gateway = await begin(whole=True)
    server.recorded("vllm/tool_call")
    client = gateway.client("k1")
    stream = await client.chat.completions.create(model="smollm2", messages=HELLO, stream=True)
    (call,) = [call async for piece in stream for choice in piece.choices for call in choice.delta.tool_calls or ()]
    assert call.function is not None
    assert (call.index, call.function.name, call.function.arguments) == (0, "get_weather", '"Paris"')
    server.recorded("llama_cpp/text")
    texts = await client.completions.create(model="smollm2", prompt="Once upon", stream=True)
    assert "".join([piece.choices[0].text async for piece in texts]) == " the scene,"
    first, second = calls(await gateway.end("k1")).values()
    assert first.model_calls[0].completion_ids is not None
    assert second.model_calls[0].text == " the scene,"


async def test_all_choices_are_recorded_and_any_of_them_may_be_gone_on_with(
    gateway: Standing, server: ModelServer
) -> None:
    body = recorded("llama_cpp/two_choices")["body"]
    body["choices"][1]["message"]["content"] = "Ho."
    server.reply(body)
    client = gateway.client("k1")
    answer = await client.chat.completions.create(model="smollm2", messages=HELLO, n=2)
    assert [choice.message.content for choice in answer.choices] == ["Hi.", "Ho."]
    server.reply(completion("and on"))
    second: Any = answer.choices[1].message.model_dump()
    await client.chat.completions.create(
        model="smollm2", messages=[*HELLO, second, {"role": "user", "content": "And?"}]
    )
    made = calls(await gateway.end("k1"))
    assert [call.text for call in made["agent[0]"].model_calls] == ["Hi.", "Ho."]
    assert [len(call.completion_ids) for call in made["agent[0]"].model_calls if call.completion_ids is not None] == [
        3,
        3,
    ]
    assert made["agent[0]"].usage is not None
    assert made["agent[0]"].usage.output_tokens == 3  # as the server counted
    assert made["agent[1]"].evidence["continues"] == "agent[0]"


@pytest.mark.parametrize("stream", [False, True])
async def test_text_completions_go_on_with_each_other(gateway: Standing, server: ModelServer, stream: bool) -> None:
    server.recorded("llama_cpp/text_stream" if stream else "llama_cpp/text")
    client = gateway.client("k1")

    async def complete(prompt: str) -> str:
        answer: Any = await client.completions.create(model="smollm2", prompt=prompt, stream=stream)
        if not stream:
            assert answer.choices[0].logprobs is None
            return str(answer.choices[0].text)
        return "".join([piece.choices[0].text async for piece in answer])

    assert await complete("Once upon") == " the scene,"
    await complete("Once upon the scene, a fox")
    run = await gateway.end("k1")
    first, second = calls(run).values()
    assert server.asked[0].body["logprobs"] == 1
    assert first.model_calls[0].completion_ids is not None
    assert first.model_calls[0].completion_ids.tolist() == [260, 6621, 28]
    assert first.model_calls[0].text == " the scene,"
    assert second.evidence["continues"] == second.input_value["$after"] == "agent[0]"
    assert second.input_value["prompt"] == " the scene, a fox"
    assert request_at(run, "agent[1]")["prompt"] == "Once upon the scene, a fox"


async def test_models_are_passed_through_and_make_no_run(gateway: Standing, server: ModelServer) -> None:
    server.reply({"object": "list", "data": [{"id": "smollm2", "object": "model", "created": 1, "owned_by": "me"}]})
    assert [model.id async for model in gateway.client().models.list()] == ["smollm2"]
    assert [asked.path for asked in server.asked] == ["/v1/models"]
    assert gateway.runs() == []


async def test_embeddings_are_handed_on_and_make_no_run(gateway: Standing, server: ModelServer) -> None:
    answer = {"object": "list", "model": "e", "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}]}
    server.reply({**answer, "usage": {"prompt_tokens": 1, "total_tokens": 1}})
    for key in ("", "k1"):
        found = await gateway.client(key).embeddings.create(model="e", input="hi", encoding_format="float")
        assert found.data[0].embedding == [0.5]
    assert [each.path for each in server.asked] == ["/v1/embeddings"] * 2
    assert server.asked[0].body == {"model": "e", "input": "hi", "encoding_format": "float"}
    assert (await gateway.ask("GET", "/runs/k1"))[0] == 404
    server.reply({"error": {"message": "no such model"}}, status=404)
    status, told, _ = await gateway.ask("POST", "/v1/embeddings", {"input": "hi"})
    assert (status, told["error"]["message"], told["error"]["type"]) == (404, "no such model", "not_found_error")
    assert (await gateway.ask("GET", "/v1/embeddings"))[0] == 405


async def test_the_server_gets_its_key_and_the_agents_stays_here(
    begin: Begin, server: ModelServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("UPSTREAM_KEY", "upstream-secret")
    gateway = await begin(key_env="UPSTREAM_KEY")
    server.reply(
        {"error": {"message": "bad key upstream-secret", "type": "x", "param": None, "code": None}}, status=401
    )
    client = gateway.client("k1", api_key="agent-secret", default_headers={"X-Other": "1", "traceparent": "00-1-2-01"})
    with pytest.raises(Exception, match=r"bad key \*\*\*"):
        await client.chat.completions.create(model="small", messages=HELLO)
    headers = server.asked[0].headers
    assert headers["Authorization"] == "Bearer upstream-secret"
    assert headers["traceparent"] == "00-1-2-01"
    assert "X-Other" not in headers
    assert "x-stretto-run" not in {name.lower() for name in headers}
    await gateway.end("k1")
    await gateway.stop()
    kept = b"".join(path.read_bytes() for path in gateway.store.parent.iterdir())
    assert b"agent-secret" not in kept
    assert b"upstream-secret" not in kept
    assert "secret" not in caplog.text


async def test_further_fields_are_asked_for_where_the_agent_does_not_bring_them(
    begin: Begin, server: ModelServer
) -> None:
    """As SGLang wants it to tell the version of the weights."""
    gateway = await begin(extra_body={"return_meta_info": True, "top_p": 0.5})
    meta = {"weight_version": "v7", "output_token_logprobs": [[-0.5, 9, None]]}
    server.reply(completion("one", meta_info=meta))
    answer = await gateway.client("k1").chat.completions.create(model="small", messages=HELLO, top_p=0.9)
    assert (server.asked[0].body["return_meta_info"], server.asked[0].body["top_p"]) == (True, 0.9)
    assert "meta_info" not in (answer.choices[0].model_extra or {})
    (call,) = only_call(await gateway.end("k1")).model_calls
    assert call.policy_versions == (("v7", 1),)
    assert call.completion_ids is not None
    assert call.completion_ids.tolist() == [9]


async def test_stretto_s_own_client_goes_through_a_gateway_too(gateway: Standing, server: ModelServer) -> None:
    sent = server.recorded("vllm/end")["body"]
    model = OpenAiModel("llm", model="smollm2", base_url=f"{gateway.url}/run/k1/v1", token_ids=True)
    response = await model(request_for(prompt="Say only: hi"))
    await model.close()
    (ours,) = response.model_calls
    step = only_call(await gateway.end("k1"))
    assert_tokens(step, sent)
    assert ours.completion_ids is not None
    assert ours.completion_ids.tolist() == sent["choices"][0]["token_ids"]


async def test_two_calls_of_one_run_at_once_stand_on_branches_of_their_own(
    gateway: Standing, server: ModelServer
) -> None:
    server.reply(completion("one"))
    server.gate.clear()
    client = gateway.client("k1")
    both = [asyncio.ensure_future(client.chat.completions.create(model="small", messages=HELLO)) for _ in range(2)]
    await server.was_asked(2)
    server.gate.set()
    await asyncio.gather(*both)
    run = await gateway.end("k1")
    assert set(calls(run)) == {"agent[0]", "agent-2[0]"}
    assert run.status is RunStatus.OK


async def test_a_call_without_a_key_is_a_run_of_its_own_that_says_its_key(
    gateway: Standing, server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    server.reply()
    raw = await gateway.client().chat.completions.with_raw_response.create(model="small", messages=HELLO)
    await gateway.client().chat.completions.create(model="small", messages=HELLO)
    first, second = await gateway.ended(2)
    assert first.id == raw.headers["x-stretto-run-id"]
    assert raw.headers["x-stretto-run"] == f"run-{first.id}" == first.labels["gateway_key"]
    assert first.id in caplog.text
    assert (await gateway.ask("POST", f"/runs/run-{second.id}/reward", {"value": 0.5}))[0] == 200


@pytest.mark.parametrize("way", ["path", "header", "bearer"])
async def test_a_key_travels_in_the_path_in_a_header_or_as_bearer(
    gateway: Standing, server: ModelServer, way: str
) -> None:
    server.reply()
    client = {
        "path": lambda: gateway.client("run-7"),
        "header": lambda: gateway.client(default_headers={"X-Stretto-Run": "run-7"}),
        "bearer": lambda: gateway.client(api_key="run-7"),
    }[way]()
    for _ in range(2):
        await client.chat.completions.create(model="small", messages=HELLO)
    assert len(calls(await gateway.end("run-7"))) == 2


async def test_a_bearer_that_names_no_run_is_no_key_and_is_not_recorded(gateway: Standing, server: ModelServer) -> None:
    server.reply()
    await gateway.client(api_key="sk-somebodys").chat.completions.create(model="small", messages=HELLO)
    (run,) = await gateway.ended(1)
    assert run.labels == {"gateway_key": f"run-{run.id}"}
    await gateway.ask("POST", "/runs", {"key": "sk-somebodys"})
    await gateway.client(api_key="sk-somebodys").chat.completions.create(model="small", messages=HELLO)
    assert len(calls(await gateway.end("sk-somebodys"))) == 1  # opened so, it is one


async def test_agents_that_share_a_run_may_give_their_names(gateway: Standing, server: ModelServer) -> None:
    server.reply()
    for name in ("planner", "critic", "planner"):
        client = gateway.client("k1", default_headers={"X-Stretto-Agent": name})
        await client.chat.completions.create(model="small", messages=[{"role": "system", "content": name}, *HELLO])
    assert set(calls(await gateway.end("k1"))) == {"planner[0]", "critic[0]", "planner-2[0]"}
