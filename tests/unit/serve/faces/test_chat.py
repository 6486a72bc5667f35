"""Workflows as models: what a conversation goes in by, each way to ask wrongly, and streams."""

from pathlib import Path
from typing import Any

import aiohttp
import pytest
from openai import APIError, AsyncOpenAI, AuthenticationError, ConflictError, NotFoundError

from stretto.acp.server import Limits
from stretto.acp.server.tokens import Tokens
from stretto.runtime.workflow import Workflow
from stretto.serve.faces import chat
from stretto.serve.faces.chat_fields import chat_fields
from stretto.store.sqlite import Store
from stretto.types.enums import RunStatus
from stretto.types.errors import UsageError
from tests.unit.serve.acp_living import post
from tests.unit.serve.faces.served_faces import READING, WRITING, given_up, served_faces, workflows_in

USER = {"role": "user", "content": "hello"}
GOOD: dict[str, Any] = {"model": "reading", "messages": [USER]}


@pytest.mark.parametrize(
    ("body", "status", "code", "param", "says"),
    [
        (b"{", 400, "malformed", None, "no JSON"),
        (b"[]", 400, "malformed", None, "no JSON object"),
        (b'{"model": "reading", "messages": [' + b"[" * 5000, 400, "malformed", None, "no JSON"),
        ({"messages": [USER]}, 400, None, "model", "`model` is missing"),
        ({**GOOD, "model": "readin"}, 404, "model_not_found", "model", "did you mean 'reading'?"),
        ({**GOOD, "model": "untalkative"}, 404, "model_not_found", "model", "Name one: --chat-output FIELD"),
        ({"model": "reading"}, 400, None, "messages", "`messages` is missing"),
        ({**GOOD, "messages": []}, 400, None, "messages", "missing or empty"),
        ({**GOOD, "messages": "hello"}, 400, None, "messages", "expected a list"),
        ({**GOOD, "messages": ["hello"]}, 400, None, "messages[0]", "expected {role, content}"),
        ({**GOOD, "messages": [{"role": "boss"}]}, 400, None, "messages[0].role", "'boss'"),
        ({**GOOD, "messages": [USER, {"role": "assistant"}]}, 400, None, "messages[1].role", "expected 'user'"),
        ({**GOOD, "messages": [{**USER, "content": 7}]}, 400, None, "messages[0].content", "7"),
        (
            {**GOOD, "messages": [{**USER, "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
            *(400, None, "messages[0].content", "'image_url'; only text is taken"),
        ),
        (
            {**GOOD, "messages": [{**USER, "content": [{"type": "text"}]}]},
            *(400, None, "messages[0].content", "a part of text without a `text`"),
        ),
        ({**GOOD, "stream": "yes"}, 400, None, "stream", "expected true or false"),
        ({**GOOD, "seed": 1.5}, 400, None, "seed", "integer of 64 bits"),
        ({**GOOD, "metadata": {"a": 1}}, 400, None, "metadata", "text to text"),
        ({**GOOD, "n": 2}, 400, "unsupported_parameter", "n", "leave it out"),
        ({**GOOD, "tools": [{"type": "function"}]}, 400, "unsupported_parameter", "tools", "leave it out"),
        (
            {**GOOD, "response_format": {"type": "json_object"}},
            *(400, "unsupported_parameter", "response_format", "the form that its contract gives it"),
        ),
        ({**GOOD, "messages": [{**USER, "content": ""}]}, 400, "contract", "messages", "breaks its schema"),
        ({**GOOD, "filler": "x" * 5000}, 413, "too_large", None, "larger than 4,000 bytes"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
async def test_what_is_wrong_is_told(
    tmp_path: Path, body: Any, status: int, code: str | None, param: str | None, says: str
) -> None:
    limits = Limits(max_request_bytes=4000 if status == 413 else 100_000)
    with Store(tmp_path / "runs.db") as store:
        async with served_faces(some_workflows(tmp_path, store), limits=limits, tools=False) as (_, url):
            found, headers, told = await post(f"{url}/v1/chat/completions", body)
            again = await post(f"{url}/v1/chat/completions", GOOD)
    assert (found, told["error"]["code"], told["error"]["param"]) == (status, code, param)
    assert says in told["error"]["message"]
    assert headers["x-should-retry"] == "false"
    assert (headers.get("Connection") == "close") is (status == 413)
    assert "Traceback" not in told["error"]["message"]
    assert again[0] == 200


def some_workflows(tmp_path: Path, store: Store) -> list[Workflow]:
    untalkative = READING.replace("reading", "untalkative").replace("reply", "result")
    return workflows_in(tmp_path / "wf", store, READING, WRITING, untalkative)


async def test_models_are_listed_and_told(tmp_path: Path) -> None:
    with Store(tmp_path / "runs.db") as store:
        async with (
            served_faces(some_workflows(tmp_path, store), tools=False) as (_, url),
            AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
        ):
            assert [model.id async for model in await client.models.list()] == ["reading", "writing"]
            assert (await client.models.retrieve("writing")).owned_by == "stretto"
            async with aiohttp.ClientSession() as session, session.delete(f"{url}/v1/models") as refused:
                assert (refused.status, refused.headers["allow"]) == (405, "GET")
            with pytest.raises(NotFoundError, match="is not served; served are /v1/chat/completions"):
                await client.embeddings.create(model="reading", input="hello")


async def test_a_conversation_goes_in_with_its_labels_and_comes_out_with_its_usage(tmp_path: Path) -> None:
    before: Any = [{"role": "system", "content": "be brief"}, {"role": "assistant", "content": "yes?"}]
    parts: Any = {"role": "user", "content": [{"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}]}
    with Store(tmp_path / "runs.db") as store:
        async with (
            served_faces(some_workflows(tmp_path, store), tools=False) as (_, url),
            AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
        ):
            answer = await client.chat.completions.create(
                model="reading",
                messages=[*before, parts],
                seed=42,
                user="ann",
                metadata={"task": "t-1"},
                temperature=0.7,
                max_tokens=10,
            )
            (summary,) = store.list()
            run = store.get(summary.id)
    assert answer.choices[0].message.content == "hello (2 before)"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (7, 5, 12)
    assert answer.id == f"chatcmpl-{run.id}"
    assert (run.seed, run.labels, run.parent) == (42, {"task": "t-1", "user": "ann"}, "")
    assert run.input_value == {"query": "hello", "history": before}


async def test_a_stream_ends_with_its_usage_when_it_is_asked_for(tmp_path: Path) -> None:
    with Store(tmp_path / "runs.db") as store:
        async with (
            served_faces(some_workflows(tmp_path, store), tools=False) as (_, url),
            AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
        ):
            asked: Any = {**GOOD, "stream": True}
            plain = [chunk async for chunk in await client.chat.completions.create(**asked)]
            asked["stream_options"] = {"include_usage": True}
            counted = [chunk async for chunk in await client.chat.completions.create(**asked)]
    assert [chunk.choices[0].finish_reason for chunk in plain] == [None, None, "stop"]
    assert [chunk.choices[0].delta.content for chunk in plain] == ["", "hello (0 before)", None]
    assert counted[-1].usage is not None
    assert (counted[-1].choices, counted[-1].usage.total_tokens) == ([], 12)
    assert all(chunk.usage is None for chunk in counted[:-1])


@pytest.mark.parametrize("query", ["hello", "fails unavailable"])
async def test_a_stream_that_waits_says_so_and_tells_an_error_that_comes_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(chat, "KEEP_ALIVE_S", 0.0)
    asked = {**GOOD, "stream": True, "messages": [{"role": "user", "content": query}]}
    with Store(tmp_path / "runs.db") as store:
        async with (
            served_faces(some_workflows(tmp_path, store), tools=False) as (_, url),
            aiohttp.ClientSession() as session,
            session.post(f"{url}/v1/chat/completions", json=asked) as reply,
            AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
        ):
            text = await reply.text()
            if query != "hello":
                with pytest.raises(APIError, match="the shop is closed"):
                    async for _chunk in await client.chat.completions.create(**asked):
                        pass
    assert text.startswith(": the workflow is at work\n\n")
    assert text.endswith("data: [DONE]\n\n")
    assert ('"code":"unavailable"' in text) is (query != "hello")


async def test_a_failure_that_may_pass_says_when_to_ask_again(tmp_path: Path) -> None:
    body = {**GOOD, "messages": [{"role": "user", "content": "fails unavailable"}]}
    with Store(tmp_path / "runs.db") as store:
        async with served_faces(some_workflows(tmp_path, store), tools=False) as (faces, url):
            await post(f"{url}/v1/chat/completions", body)
            await faces.desk.drain(1.0)
            status, headers, told = await post(f"{url}/v1/chat/completions", body)
    assert (status, told["error"]["code"]) == (503, "draining")
    assert headers["Retry-After"] == "1", headers
    assert headers["x-should-retry"] == "true"


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_hangs_up_cancels_the_run(tmp_path: Path, stream: bool) -> None:
    with Store(tmp_path / "runs.db") as store:
        async with served_faces(some_workflows(tmp_path, store), tools=False) as (_, url):
            body = {"model": "writing", "messages": [{"role": "user", "content": "hang"}], "stream": stream}
            call = post(f"{url}/v1/chat/completions", body)
            assert await given_up(store, call) == [RunStatus.CANCELLED]


async def test_a_key_of_the_client_makes_a_write_happen_once(tmp_path: Path) -> None:
    body = {"model": "writing", "messages": [{"role": "user", "content": "pay"}]}
    with Store(tmp_path / "runs.db") as store:
        async with served_faces(some_workflows(tmp_path, store), tools=False) as (_, url):
            for key, replayed in (("a", False), ("a", True), ("b", False)):
                headers = {"idempotency-key": key}
                _, _, told = await post(f"{url}/v1/chat/completions", body, headers=headers)
                assert told["stretto"]["replayed"] is replayed
        assert len(store.list()) == 2


async def test_whoever_has_no_token_is_refused(tmp_path: Path) -> None:
    tokens = Tokens(("a-token-of-sixteen-or-more",))
    with Store(tmp_path / "runs.db") as store:
        async with served_faces(some_workflows(tmp_path, store), tokens=tokens, tools=False) as (_, url):
            async with AsyncOpenAI(base_url=f"{url}/v1", api_key="another", max_retries=0) as client:
                with pytest.raises(AuthenticationError) as raised:
                    await client.models.list()
            async with AsyncOpenAI(base_url=f"{url}/v1", api_key="a-token-of-sixteen-or-more") as client:
                assert (await client.chat.completions.create(**GOOD)).choices
    assert raised.value.code == "invalid_api_key"
    assert raised.value.response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("contract", "asked", "answered", "says"),
    [
        ("{ input: { words: string } }", None, None, "no input field is called messages, user_query"),
        ("{ input: { query: string, order: string } }", None, None, "its input also requires order"),
        ("{ input: { query: string } }", "word", None, "its input has no field 'word'; it has: query"),
        ("{ input: { query: int } }", "query", None, "takes neither a text nor a list of messages"),
        ("{ input: { query: string } }", None, "text", "its output has no field 'text'; it has: reply"),
        (None, None, None, "it has no contract that says what its input has. Name one: --chat-input FIELD"),
    ],
)
def test_a_workflow_that_a_conversation_does_not_fit_says_why(
    tmp_path: Path, contract: str | None, asked: str | None, answered: str | None, says: str
) -> None:
    with Store(tmp_path / "runs.db") as store, pytest.raises(UsageError, match="cannot stand as a model: ") as raised:
        chat_fields(of_contract(tmp_path, store, contract).plan, asked, answered)
    assert says in str(raised.value)


def of_contract(tmp_path: Path, store: Store, contract: str | None) -> Workflow:
    lines = [line for line in READING.splitlines() if not line.startswith(("contract:", "  - "))]
    if contract is not None:
        lines.insert(2, f"contract: {contract}")
    lines.insert(lines.index("steps:") + 1, '  - { name: look, component: look, input_mapping: { query: "run.id" } }')
    (made,) = workflows_in(tmp_path / "wf", store, "\n".join(lines))
    return made


def test_the_messages_go_in_whole_where_the_input_takes_them(tmp_path: Path) -> None:
    said = [{"role": "system", "content": "be brief"}, USER]
    with Store(tmp_path / "runs.db") as store:
        taking = chat_fields(of_contract(tmp_path, store, "{ input: { messages: 'array[object]' } }").plan)
        named = chat_fields(of_contract(tmp_path, store, None).plan, "words", "reply")
    assert taking.input_of(said) == {"messages": said}
    assert named.input_of(said) == {"words": "hello"}


async def test_a_client_that_tries_again_by_itself_does_not_write_twice(tmp_path: Path) -> None:
    asked: Any = {"model": "writing", "messages": [{"role": "user", "content": "pay and be lost"}]}
    with Store(tmp_path / "runs.db") as store:
        async with (
            served_faces(some_workflows(tmp_path, store), tools=False) as (_, url),
            AsyncOpenAI(base_url=f"{url}/v1", api_key="none") as client,
        ):
            with pytest.raises(ConflictError, match="is parked over a write in doubt"):
                await client.chat.completions.create(**asked)
    assert len((tmp_path / "wf" / "written").read_text().splitlines()) == 1
