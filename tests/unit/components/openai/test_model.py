"""The component over real HTTP: one request an attempt, what goes with it, and every way in which it can break."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from stretto.components.openai import OpenAiModel
from stretto.components.web import pool
from stretto.testing.request import request_for
from stretto.types.errors import Code, ComponentError, UsageError
from stretto.types.messages import Response
from tests.unit.components.openai.standin import StandIn, bringing, completion, recorded

ModelOf = Callable[..., OpenAiModel]


def text(response: Response) -> str:
    assert isinstance(response.output, dict)
    found = response.output["text"]
    assert isinstance(found, str)
    return found


async def test_one_call_is_one_request(server: StandIn, model_of: ModelOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWN_KEY", "own-key")
    server.reply(recorded("vllm/end")["body"])
    model = model_of(api_key_env="OWN_KEY", headers={"X-Team": "a"}, temperature=0)
    response = await model(request_for(prompt="Say only: hi", _traceparent="00-1-2-01", _tracestate="v=1"))
    assert text(response) == "Hi."
    (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    expected = {
        "Authorization": "Bearer own-key",
        "X-Team": "a",
        "traceparent": "00-1-2-01",
        "tracestate": "v=1",
        "Content-Type": "application/json",
    }
    assert {name: asked.headers.get(name) for name in expected} == expected
    assert asked.body == {
        "model": "small",
        "messages": [{"role": "user", "content": "Say only: hi"}],
        "temperature": 0,
        "logprobs": True,
        "top_logprobs": 1,
    }
    assert response.model_calls[0].messages == asked.body["messages"]


async def test_nothing_is_sent_that_was_not_given(server: StandIn, model_of: ModelOf) -> None:
    server.reply()
    await model_of()(request_for(prompt="hi"))
    assert not {"Authorization", "traceparent", "tracestate", "Cookie"} & set(server.asked[0].headers)


async def test_a_run_brings_its_own_server_and_key(server: StandIn) -> None:
    server.reply()
    model = OpenAiModel("llm", model="small", base_url="http://127.0.0.1:1/v1")
    request = bringing(request_for(prompt="hi"), openai_base_url=f"{server.base_url}/run/7", openai_api_key="run-key")
    await model(request)
    await model.close()
    (asked,) = server.asked
    assert (asked.path, asked.headers["Authorization"]) == ("/v1/run/7/chat/completions", "Bearer run-key")


async def test_a_failure_is_sent_once_and_never_again(server: StandIn, model_of: ModelOf) -> None:
    server.reply({"error": {"message": "overloaded"}}, status=503, headers={"Retry-After": "2"})
    with pytest.raises(ComponentError, match="answered 503: overloaded") as caught:
        await model_of()(request_for(prompt="hi"))
    assert (caught.value.rpc_code, caught.value.retry_after_s) == (Code.UNAVAILABLE, 2.0)
    assert len(server.asked) == 1


async def test_a_redirect_is_not_followed(server: StandIn, model_of: ModelOf) -> None:
    server.reply(b"", status=308, headers={"Location": f"{server.base_url}/elsewhere"})
    with pytest.raises(ComponentError, match="set base_url to where that is"):
        await model_of()(request_for(prompt="hi"))
    assert len(server.asked) == 1


async def test_a_cookie_of_one_run_does_not_go_out_with_another(server: StandIn, model_of: ModelOf) -> None:
    server.reply(headers={"Set-Cookie": "session=1"})
    model = model_of()
    await model(request_for(prompt="hi"))
    await model(request_for(prompt="hi"))
    assert "Cookie" not in server.asked[1].headers


async def test_a_connection_is_kept_for_the_next_call(server: StandIn, model_of: ModelOf) -> None:
    server.reply()
    model = model_of()
    for _ in range(3):
        await model(request_for(prompt="hi"))
    assert len({asked.peer for asked in server.asked}) == 1


async def test_calls_wait_for_a_connection_and_the_wait_is_measured(server: StandIn, model_of: ModelOf) -> None:
    server.reply()
    server.gate.clear()
    model = model_of(max_connections=1)
    first, second = (asyncio.create_task(model(request_for(prompt="hi"))) for _ in range(2))
    await server.arrived.wait()
    assert len(server.asked) == 1
    server.gate.set()
    assert (await first).queue_ms == 0.0
    assert (await second).queue_ms > 0.0
    assert len({asked.peer for asked in server.asked}) == 1


async def test_a_call_that_is_given_up_drops_its_connection(server: StandIn, model_of: ModelOf) -> None:
    server.reply()
    server.gate.clear()
    call = asyncio.create_task(model_of()(request_for(prompt="hi")))
    await server.arrived.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.wait_for(server.dropped.wait(), 5)


async def test_an_answer_beyond_the_limit_is_not_read_to_its_end(server: StandIn, model_of: ModelOf) -> None:
    server.reply(completion("x" * 100_000))
    model = model_of(max_response_bytes=10_000)
    with pytest.raises(ComponentError, match=r"more than 10,000 bytes, the limit; lower max_tokens") as caught:
        await model(request_for(prompt="hi"))
    assert caught.value.rpc_code is Code.OUT_OF_RANGE


UNREADABLE = [
    pytest.param(b"", "Input data was truncated", id="nothing"),
    pytest.param(b"not json", "JSON is malformed", id="no JSON"),
    pytest.param(b'{"choices": [{"mess', "Input data was truncated", id="half"),
    pytest.param(b'{"choices": []}', r"length >= 1 - at `\$.choices`", id="no choice"),
    pytest.param(b'{"object": "list", "data": []}', "missing required field `choices`", id="another answer of the API"),
    pytest.param(b'{"choices": [{}]}', "missing required field `message`", id="a streamed chunk"),
    pytest.param(b'data: {"choices": []}\n\ndata: [DONE]', "JSON is malformed", id="a stream"),
    pytest.param(
        b'{"choices": [{"message": {"content": 7}}]}', r"at `\$\.choices\[0\]\.message\.content`", id="a number"
    ),
    pytest.param(b'{"choices": [{"message": {}, "token_ids": [-1]}]}', "int", id="an id below 0"),
    pytest.param(b'{"choices": [{"message": {}, "token_ids": [4294967296]}]}', "int", id="an id beyond int32"),
    pytest.param(b'{"choices": [{"message": {"content": "\xff"}}]}', "utf-8", id="no UTF-8"),
    pytest.param(b'{"choices": NaN}', "malformed", id="NaN"),
    pytest.param(b"[" * 5_000, "recursion|nested|truncated|Expected `object`", id="nested deep"),
]


@pytest.mark.parametrize(("body", "why"), UNREADABLE)
async def test_a_success_that_is_no_completion_is_told(
    server: StandIn, model_of: ModelOf, body: bytes, why: str
) -> None:
    server.reply(body)
    with pytest.raises(ComponentError, match=rf"(?is)answered what is no chat completion \(.*{why}") as caught:
        await model_of()(request_for(prompt="hi"))
    assert (caught.value.rpc_code, caught.value.retryable) == (Code.INTERNAL, False)


async def test_an_error_inside_a_success_is_an_error(server: StandIn, model_of: ModelOf) -> None:
    server.reply({"error": {"message": "no provider is free", "code": 503}})
    with pytest.raises(ComponentError, match="answered 503: no provider is free") as caught:
        await model_of()(request_for(prompt="hi"))
    assert caught.value.rpc_code is Code.UNAVAILABLE


@pytest.mark.parametrize("reason", ["abort", "error"])
async def test_a_completion_that_the_server_broke_off_is_an_error(
    server: StandIn, model_of: ModelOf, reason: str
) -> None:
    server.reply(completion("half a sen", finish_reason=reason))
    with pytest.raises(ComponentError, match=f"its finish reason is '{reason}'") as caught:
        await model_of()(request_for(prompt="hi"))
    assert (caught.value.rpc_code, caught.value.retryable) == (Code.ABORTED, True)


@asynccontextmanager
async def raw_server(*written: bytes) -> AsyncIterator[OpenAiModel]:
    """A model whose server reads the request, writes these bytes and closes."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.writelines(written)
        await writer.drain()
        writer.close()

    serving = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = serving.sockets[0].getsockname()[1]
    model = OpenAiModel("llm", model="small", base_url=f"http://127.0.0.1:{port}/v1")
    try:
        yield model
    finally:
        await model.close()
        serving.close()
        await serving.wait_closed()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "written",
    [
        pytest.param((), id="nothing"),
        pytest.param((HEAD,), id="half a head"),
        pytest.param((HEAD, b"Content-Length: 500\r\n\r\n", b'{"choices": ['), id="half a body"),
        pytest.param((HEAD, b"Transfer-Encoding: chunked\r\n\r\n", b"5\r\n{"), id="half a chunk"),
    ],
)
async def test_a_connection_lost_on_the_way_is_told(written: tuple[bytes, ...]) -> None:
    async with raw_server(*written) as model:
        with pytest.raises(ComponentError, match="was lost before its answer was whole") as caught:
            await model(request_for(prompt="hi"))
    assert (caught.value.rpc_code, caught.value.retryable, caught.value.sent) == (Code.UNAVAILABLE, True, True)


async def test_what_speaks_no_http_is_told() -> None:
    async with raw_server(b"SSH-2.0-OpenSSH_9.6\r\n") as model:
        with pytest.raises(ComponentError, match="answered what is no HTTP") as caught:
            await model(request_for(prompt="hi"))
    assert caught.value.rpc_code is Code.INTERNAL


async def test_an_address_where_nobody_listens_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    model = OpenAiModel("llm", model="small", base_url=f"http://127.0.0.1:{port}/v1")
    with pytest.raises(ComponentError, match=f"'llm' at http://127.0.0.1:{port} cannot be reached") as caught:
        await model(request_for(prompt="hi"))
    await model.close()
    assert (caught.value.rpc_code, caught.value.sent, caught.value.retryable) == (Code.UNAVAILABLE, False, True)


async def test_a_host_that_does_not_exist_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_args: object, **_options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    model = OpenAiModel("llm", model="small", base_url="http://no-such-host/v1")
    with pytest.raises(ComponentError, match=r"cannot be reached: .*Name or service not known") as caught:
        await model(request_for(prompt="hi"))
    await model.close()
    assert (caught.value.sent, caught.value.retryable) == (False, True)


@pytest.mark.parametrize("host", ["a..b", "256.1.1.1", "a" * 70])
async def test_a_host_that_cannot_exist_is_told_and_not_tried_again(host: str) -> None:
    model = OpenAiModel("llm", model="small", base_url=f"http://{host}/v1")
    with pytest.raises(ComponentError, match="cannot be reached") as caught:
        await model(request_for(prompt="hi"))
    await model.close()
    assert (caught.value.sent, caught.value.retryable) == (False, False)


async def test_a_server_without_tls_is_told_and_not_tried_again(server: StandIn) -> None:
    model = OpenAiModel("llm", model="small", base_url=server.base_url.replace("http:", "https:"))
    with pytest.raises(ComponentError, match="cannot be reached") as caught:
        await model(request_for(prompt="hi"))
    await model.close()
    assert (caught.value.sent, caught.value.retryable) == (False, False)


async def test_a_host_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "CONNECT_TIMEOUT_S", 0.05)
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):  # fills the queue: the next one is not answered
            model = OpenAiModel("llm", model="small", base_url=f"http://127.0.0.1:{port}/v1")
            with pytest.raises(ComponentError, match="cannot be reached") as caught:
                await model(request_for(prompt="hi"))
            await model.close()
    assert (caught.value.rpc_code, caught.value.sent) == (Code.UNAVAILABLE, False)


async def test_it_is_closed_with_its_last_user_and_connects_again(server: StandIn, model_of: ModelOf) -> None:
    server.reply()
    model = model_of()
    await model.open()
    await model.open()
    await model(request_for(prompt="hi"))
    await model.close()
    await model(request_for(prompt="hi"))
    await model.close()
    await model(request_for(prompt="hi"))
    peers = [asked.peer for asked in server.asked]
    assert peers[0] == peers[1] != peers[2]


def test_it_works_in_one_event_loop_after_another() -> None:
    model = OpenAiModel("llm", model="small", base_url="http://127.0.0.1:1/v1")

    async def ask() -> None:
        server = StandIn()
        server.reply()
        await server.start()
        await model.open()
        await model(bringing(request_for(prompt="hi"), openai_base_url=server.base_url))
        await model.close()
        await server.stop()

    asyncio.run(ask())
    asyncio.run(ask())


def test_an_event_loop_that_lives_keeps_it_until_it_closes_it() -> None:
    model = OpenAiModel("llm", model="small", base_url="http://127.0.0.1:1/v1")
    with asyncio.Runner() as resting:
        resting.run(model.open())
        for use in (model.open(), model.close(), model(request_for(prompt="hi"))):
            with pytest.raises(UsageError, match="model 'llm' is open in another event loop, which is not at work but"):
                asyncio.run(use)
        resting.run(model.close())
    asyncio.run(model.close())


async def test_many_calls_at_once_are_told_apart(server: StandIn, model_of: ModelOf) -> None:
    for number in range(50):
        server.reply(completion(str(number)))
    responses = await asyncio.gather(*(model_of()(request_for(prompt=str(n))) for n in range(50)))
    by_prompt = {asked.body["messages"][0]["content"]: index for index, asked in enumerate(server.asked)}
    assert [text(response) for response in responses] == [str(by_prompt[str(n)]) for n in range(50)]


@pytest.mark.parametrize("module", ["aiohttp", "numpy"])
def test_declaring_a_model_imports_nothing_heavy(module: str) -> None:
    program = (
        "import sys; from stretto.components.openai import OpenAiModel; "
        "OpenAiModel('llm', model='m', base_url='http://x/v1'); "
        f"sys.exit({module!r} in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
