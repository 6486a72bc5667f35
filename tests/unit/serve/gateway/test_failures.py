"""What goes wrong behind the gateway, before it, and in its own store."""

import asyncio
import logging
from typing import Any

import openai
import pytest

from stretto.store.journal import StepJournal
from stretto.store.sqlite import Store
from stretto.types.enums import Reason, StepStatus
from stretto.types.errors import StoreError
from stretto.types.http_status import CODES
from tests.unit.components.openai.standin import completion
from tests.unit.serve.gateway.conftest import HELLO, Begin, Standing, calls
from tests.unit.serve.gateway.model_server import ModelServer, chunk, vllm_stream

CHAT = "/run/k1/v1/chat/completions"
ASKED = {"model": "small", "messages": HELLO}


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (429, {"error": {"message": "slow down", "type": "tokens", "param": None, "code": "rate_limit"}}, "slow down"),
        (400, {"error": {"message": "no", "type": "BadRequestError", "param": "x", "code": 400}}, "no"),
        (401, {"error": "Unauthorized"}, "Unauthorized"),
        (409, {"error": {"message": "twice", "hint": "once"}}, "twice"),
        (404, {"detail": "Not Found"}, "Not Found"),
        (503, {"message": "loading", "type": "unavailable", "code": None}, "loading (unavailable)"),
        (502, b"<html><body>Bad Gateway</body></html>", "Bad Gateway"),
        (500, b"", "the model server answered 500 and nothing else"),
    ],
)
async def test_a_refusal_is_handed_on_in_openais_shape_and_recorded(
    gateway: Standing, server: ModelServer, status: int, body: Any, message: str
) -> None:
    server.reply(body, status=status, headers={"Retry-After": "7", "Set-Cookie": "a=1"})
    found, told, headers = await gateway.ask("POST", CHAT, ASKED)
    assert (found, told["error"]["message"]) == (status, message)
    assert {"message", "type", "param", "code"} <= set(told["error"]) <= {"message", "type", "param", "code", "hint"}
    assert headers["Retry-After"] == "7"
    assert "Set-Cookie" not in headers
    run = await gateway.end("k1")
    (step,) = calls(run).values()
    assert step.status is StepStatus.FAILED
    assert step.error is not None
    assert step.error.rpc_code == CODES[status].value
    assert len(step.attempts) == 1
    assert step.attempts[0].error == step.error


async def test_openais_client_raises_what_it_would_without_the_gateway(gateway: Standing, server: ModelServer) -> None:
    server.recorded("vllm/too_long")
    with pytest.raises(openai.BadRequestError, match="maximum context length"):
        await gateway.client("k1").chat.completions.create(model="smollm2", messages=HELLO)
    assert len(server.asked) == 1  # it names nothing that the gateway added


async def test_a_call_that_failed_is_asked_again_where_it_stood_and_costs_the_run_nothing(
    gateway: Standing, server: ModelServer
) -> None:
    server.reply({"error": {"message": "busy"}}, status=429, headers={"Retry-After-Ms": "1"})
    server.reply(completion("one"))
    client = gateway.client("k1", max_retries=1)
    await client.chat.completions.create(model="small", messages=HELLO)
    made = calls(await gateway.end("k1"))
    assert [(path, step.status, step.reason) for path, step in made.items()] == [
        ("agent[0]", StepStatus.FAILED, None),
        ("agent[1]", StepStatus.OK, None),
    ]


async def test_a_call_that_failed_for_good_says_why_when_the_run_ends(gateway: Standing, server: ModelServer) -> None:
    server.reply({"error": {"message": "busy"}}, status=429)
    await gateway.ask("POST", CHAT, ASKED)
    run = await gateway.end("k1", status="failed")
    assert [step.reason for step in run.steps] == [Reason.CONGESTION, Reason.CONGESTION]  # the call, its conversation
    assert run.error is not None
    assert "busy" in run.error.message


async def test_a_server_that_is_not_there_is_told(begin: Begin, server: ModelServer) -> None:
    await server.stop()
    gateway = await begin()
    status, told, _ = await gateway.ask("POST", CHAT, ASKED)
    assert (status, told["error"]["type"]) == (502, "upstream_error")
    assert "cannot be reached" in told["error"]["message"]
    assert (await gateway.ask("GET", "/v1/models"))[0] == 502


async def test_a_server_that_does_not_answer_is_given_up(begin: Begin, server: ModelServer) -> None:
    gateway = await begin(timeout=0.05)
    server.gate.clear()
    server.reply()
    status, told, _ = await gateway.ask("POST", CHAT, ASKED)
    assert (status, told["error"]["message"]) == (504, "no answer came within 0.05 s")
    await asyncio.wait_for(server.dropped.wait(), 5)
    (step,) = calls(await gateway.end("k1")).values()
    assert step.reason is Reason.TIMEOUT


@pytest.mark.parametrize(
    "body", [b"<html>hello</html>", {"object": "x"}, {"choices": []}, {"choices": [{"message": 7}]}, [1]]
)
async def test_a_success_that_is_no_completion_is_recorded_as_a_failure(
    gateway: Standing, server: ModelServer, body: Any
) -> None:
    server.reply(body)
    status, _, _ = await gateway.ask("POST", CHAT, ASKED)
    assert status == (200 if isinstance(body, dict) and "choices" in body else 502)  # what it is, the agent judges
    (step,) = calls(await gateway.end("k1")).values()
    assert step.error is not None
    assert "no chat completion" in step.error.message


async def test_an_error_inside_a_success_is_one(gateway: Standing, server: ModelServer) -> None:
    server.reply({"error": {"message": "no such model", "code": 404}})
    status, told, _ = await gateway.ask("POST", CHAT, ASKED)
    assert status == 502
    assert "no such model" in told["error"]["message"]


async def test_a_stream_that_breaks_ends_with_an_error_and_what_came_of_it_is_kept(
    gateway: Standing, server: ModelServer
) -> None:
    server.stream(*vllm_stream()[0][:3], breaks=True)
    stream = await gateway.client("k1").chat.completions.create(model="small", messages=HELLO, stream=True)
    texts: list[str | None] = []
    with pytest.raises(openai.APIError, match="was lost before its answer was whole"):
        await _read(stream, texts)
    assert texts == ["", "Hi", "."]
    (step,) = calls(await gateway.end("k1")).values()
    assert step.status is StepStatus.FAILED
    (call,) = step.model_calls
    assert call.completion_ids is not None
    assert (call.text, call.completion_ids.tolist()) == ("Hi.", [26843, 30])


async def _read(stream: Any, texts: list[str | None]) -> None:  # openai's stream of chunks
    async for piece in stream:
        texts.append(piece.choices[0].delta.content)  # noqa: PERF401  # what came before it broke counts


async def test_a_stream_that_ends_without_an_end_is_no_answer(gateway: Standing, server: ModelServer) -> None:
    server.stream(chunk({"content": "Hi"}), is_done=False)
    stream = await gateway.client("k1").chat.completions.create(model="small", messages=HELLO, stream=True)
    with pytest.raises(openai.APIError, match="ended before its answer did"):
        [piece async for piece in stream]


async def test_an_error_inside_a_stream_is_handed_on(gateway: Standing, server: ModelServer) -> None:
    server.stream(chunk({"content": "Hi"}), {"error": {"message": "out of memory", "code": 500}})
    stream = await gateway.client("k1").chat.completions.create(model="small", messages=HELLO, stream=True)
    with pytest.raises(openai.APIError, match="out of memory"):
        [piece async for piece in stream]
    (step,) = calls(await gateway.end("k1")).values()
    assert step.error is not None
    assert "out of memory" in step.error.message


async def test_a_client_that_hangs_up_frees_the_server_and_the_place(gateway: Standing, server: ModelServer) -> None:
    server.reply(completion("late"))
    server.gate.clear()
    asking = asyncio.ensure_future(
        gateway.client("k1").chat.completions.create(model="small", messages=HELLO, timeout=30)
    )
    await server.arrived.wait()
    asking.cancel()
    await asyncio.wait_for(server.dropped.wait(), 5)
    server.gate.set()
    await gateway.client("k1").chat.completions.create(model="small", messages=HELLO)
    made = calls(await gateway.end("k1"))
    assert [(path, step.status, step.reason) for path, step in made.items()] == [
        ("agent[0]", StepStatus.FAILED, Reason.CANCELLED),
        ("agent[1]", StepStatus.OK, None),
    ]
    assert 'calls_total{outcome="cancelled"} 1.0' in (await gateway.ask("GET", "/metrics"))[1]


async def test_a_client_that_hangs_up_in_a_stream_frees_the_server(gateway: Standing, server: ModelServer) -> None:
    server.stream(*[chunk({"content": "word "})] * 50)
    server.steps = asyncio.Semaphore(2)
    stream = await gateway.client("k1").chat.completions.create(model="small", messages=HELLO, stream=True)
    await anext(aiter(stream))
    await stream.close()
    while not server.dropped.is_set():  # it finds out when it writes
        server.steps.release()
        await asyncio.sleep(0.001)
    (step,) = calls(await gateway.end("k1")).values()
    assert (step.status, step.reason) == (StepStatus.FAILED, Reason.CANCELLED)
    assert step.model_calls[0].text.startswith("word ")


async def test_a_client_that_does_not_read_holds_the_server_up(gateway: Standing, server: ModelServer) -> None:
    """The gateway takes no more in than what stands between two sockets."""
    word = "x" * 60_000
    server.stream(*[chunk({"content": word})] * 400, chunk({}, finish_reason="stop"))
    server.steps = asyncio.Semaphore(402)
    stream = await gateway.client("k1").chat.completions.create(model="small", messages=HELLO, stream=True)
    left, quiet = server.steps._value, 0
    while quiet < 3000:  # turns of the loop in which the server makes no progress, though it could
        await asyncio.sleep(0)
        quiet = quiet + 1 if left == server.steps._value else 0
        left = server.steps._value
    assert left > 100
    length = sum([len(piece.choices[0].delta.content or "") async for piece in stream])
    assert length == 400 * len(word)


async def test_a_field_that_a_server_refuses_is_left_out_from_then_on(
    gateway: Standing, server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    told = "Unrecognized request argument supplied: return_token_ids"
    server.reply({"error": {"message": told, "type": "invalid_request_error", "param": None, "code": None}}, status=400)
    server.reply({**completion("one"), "usage": {"prompt_tokens": 9, "completion_tokens": 1}})
    client = gateway.client("k1")
    for _ in range(2):
        await client.chat.completions.create(model="gpt", messages=HELLO)
    assert ["return_token_ids" in asked.body for asked in server.asked] == [True, False, False]
    assert all("logprobs" in asked.body for asked in server.asked)
    assert "the server refuses return_token_ids for chat completions of model 'gpt'" in caplog.text
    made = calls(await gateway.end("k1"))
    assert [step.status for step in made.values()] == [StepStatus.OK, StepStatus.OK]
    assert "no token ids" in str(made["agent[0]"].evidence["tokens"])


async def test_log_probabilities_that_llama_cpp_refuses_for_tools_in_a_stream_are_asked_for_elsewhere(
    gateway: Standing, server: ModelServer
) -> None:
    request = server.recorded("llama_cpp/stream_tools_refused")["request"]
    server.stream(chunk({"content": "Hi"}), chunk({}, finish_reason="stop"))
    client = gateway.client("k1")
    stream = await client.chat.completions.create(model="smollm2", messages=HELLO, tools=request["tools"], stream=True)
    assert len([piece async for piece in stream]) == 2
    server.reply()
    await client.chat.completions.create(model="smollm2", messages=HELLO)
    assert ["logprobs" in asked.body for asked in server.asked] == [True, False, True]


async def test_a_refusal_that_names_what_the_agent_asked_for_itself_is_its_own(
    gateway: Standing, server: ModelServer
) -> None:
    server.reply({"error": {"message": "logprobs must be a boolean"}}, status=400)
    status, _, _ = await gateway.ask(
        "POST", CHAT, {**ASKED, "logprobs": True, "top_logprobs": 2, "return_token_ids": True}
    )
    assert (status, len(server.asked)) == (400, 1)


async def test_a_completion_that_the_server_broke_off_teaches_nothing(gateway: Standing, server: ModelServer) -> None:
    server.reply(completion("half", finish_reason="abort"))
    assert (await gateway.ask("POST", CHAT, ASKED))[0] == 200
    (step,) = calls(await gateway.end("k1")).values()
    assert step.status is StepStatus.FAILED
    assert step.model_calls[0].text == "half"


async def test_what_cannot_be_recorded_is_counted_and_told_and_reaches_the_agent(
    gateway: Standing, server: ModelServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server.reply(completion("one"))
    await gateway.ask("POST", CHAT, ASKED)

    def full(self: Any, record: Any) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(StepJournal, "step", full)
        status, told, _ = await gateway.ask("POST", CHAT, ASKED)
    assert (status, told["choices"][0]["message"]["content"]) == (200, "one")
    assert "step 'agent-2[0]'" in caplog.text
    assert "the disk is full" in caplog.text
    assert "stretto_gateway_unrecorded_total 1.0" in (await gateway.ask("GET", "/metrics"))[1]


async def test_a_run_that_cannot_be_opened_lets_the_agent_go_on(
    gateway: Standing, server: ModelServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server.reply(completion("one"))

    async def locked(self: Any, *given: Any) -> Any:
        raise StoreError("the store is locked")

    with monkeypatch.context() as patched:
        patched.setattr(Store, "open", locked)
        assert (await gateway.ask("POST", CHAT, ASKED))[0] == 200
        assert (await gateway.ask("POST", "/runs", {"key": "k2"}))[0] == 503
    assert "the store is locked" in caplog.text
    assert (await gateway.ask("POST", CHAT, ASKED))[0] == 200
    assert len(calls(await gateway.end("k1"))) == 1  # the store took the run that the second call opened


async def test_a_mistake_of_ours_is_told_in_openais_shape(
    gateway: Standing, server: ModelServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    monkeypatch.setattr("stretto.serve.gateway.call.hide", lambda *_, **__: 1 / 0)
    server.reply()
    status, told, _ = await gateway.ask("POST", CHAT, ASKED)
    assert (status, told["error"]["code"]) == (500, "internal")
    assert "ZeroDivisionError" in caplog.text
    (step,) = calls(await gateway.end("k1")).values()
    assert step.status is StepStatus.FAILED
