"""Answers of a model server that are not what they should be: the agent is told, the record whole, nothing breaks."""

from contextlib import suppress
from typing import Any, Final

import msgspec
import orjson
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from stretto.serve.gateway.events import DONE, Events, data_of
from stretto.serve.gateway.pieces import Pieces
from stretto.serve.gateway.steps import completion_of, in_one_piece
from stretto.types.enums import StepStatus
from tests.unit.components.openai.standin import completion
from tests.unit.serve.gateway.conftest import HELLO, Begin, Standing, calls
from tests.unit.serve.gateway.model_server import ModelServer, Pieces as Stream, chunk, vllm_stream

CHAT: Final = "/run/k1/v1/chat/completions"
END: Final[Any] = {"finish_reason": "stop"}


def tool(**function: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": 0, "id": "c", "function": function}]}


def deep(levels: int) -> bytes:
    """A chunk, and an answer, with a field nested so deep."""
    field = b'"x":' + b"[" * levels + b"]" * levels + b',"finish_reason":"stop"'
    return b'{"choices":[{"index":0,"delta":{"content":"a"},"message":{"content":"a"},%s}]}' % field


STREAMS: Final = [
    ("a name that is a number", [chunk(tool(name=5, arguments="{}")), chunk({}, **END)], StepStatus.OK, ""),
    ("arguments as object, then text", [chunk(tool(name="f", arguments={"a": 1})), chunk(tool(arguments="x"), **END)],
     StepStatus.OK, ""),
    ("a call without a function", [chunk({"tool_calls": [{"index": 0}]}, **END)], StepStatus.OK, ""),
    ("an index that is text", [{"choices": [{"index": "0", "delta": {"content": "a"}, **END}]}], StepStatus.OK, ""),
    ("choices that are an object", [{"choices": {"a": 1}}, chunk({"content": "a"}, **END)], StepStatus.OK, ""),
    ("an event that is no JSON", [b"data: nonsense\n\n", chunk({"content": "a"}, token_ids=[7], **END)],
     StepStatus.OK, "events of the stream that were no JSON: 1; its tokens are left out"),
    ("an event that is an array", [b"data: [1]\n\n", chunk({"content": "a"}, token_ids=[7], **END)],
     StepStatus.OK, "events of the stream that were no JSON: 1; its tokens are left out"),
    ("an event that is no UTF-8", [b'data: {"choices": "\xff"}\n\n', chunk({"content": "a"}, token_ids=[7], **END)],
     StepStatus.OK, "events of the stream that were no JSON: 1; its tokens are left out"),
    ("log-probabilities of some tokens", [chunk({"content": "a"}, token_ids=[1], logprobs={"content": [
        {"token": "a", "logprob": -0.1}]}), chunk({"content": "b"}, token_ids=[2], **END)],
     StepStatus.OK, "the server gave 2 token ids and 1 log-probabilities; the latter are left out"),
    ("nested deeper than can be written", [b"data: " + deep(400) + b"\n\n"], StepStatus.FAILED,
     "the model server's answer cannot be handed on: Recursion limit reached"),
    ("usage that is text", [chunk({"content": "a"}, **END), {"choices": [], "usage": "many"}], StepStatus.OK,
     "what the server told beside its answer is left out: Expected `object | null`, got `str` - at `$.usage`"),
    ("ids that are text", [chunk({"content": "a"}, token_ids=["a"], **END)], StepStatus.OK,
     "beside its answer is left out: Expected `int`, got `str` - at `$.choices[0].token_ids[0]`"),
    ("a log-probability that is text", [chunk({"content": "a"}, logprobs={"content": [{"logprob": "x"}]}, **END)],
     StepStatus.OK, "beside its answer is left out: Expected `float | null`, got `str`"),
    ("a model that is a number", [{**chunk({"content": "a"}, **END), "model": 7}], StepStatus.OK,
     "beside its answer is left out: Expected `str | null`, got `int` - at `$.model`"),
    ("nothing but an end", [], StepStatus.FAILED, "answered what is no chat completion"),
    ("a reason that is a number", [chunk({"content": "a"}, finish_reason=7)], StepStatus.FAILED, "no chat completion"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("events", "status", "says"), [each[1:] for each in STREAMS], ids=[each[0] for each in STREAMS]
)
async def test_an_odd_stream_is_recorded_as_what_it_is(
    gateway: Standing, server: ModelServer, events: list[Any], status: StepStatus, says: str
) -> None:
    server.stream(*events)
    code, told, _ = await gateway.ask("POST", CHAT, {"messages": HELLO, "stream": True})
    assert code == 200
    assert (b"cannot be handed on" in told.encode()) == ("handed on" in says)
    (step,) = calls(await gateway.end("k1")).values()
    assert step.status is status
    assert says in (str(step.evidence.get("tokens", "")) if step.error is None else step.error.message)
    assert "gateway itself" not in ("" if step.error is None else step.error.message)
    if "no JSON" in says:
        assert step.model_calls[0].completion_ids is None
    await assert_sound(gateway)


WHOLE: Final = [
    ("nested deeper than can be written", deep(400), 502, StepStatus.FAILED),
    ("choices that are texts", {"choices": ["a"]}, 200, StepStatus.FAILED),
    ("usage of what no record counts", b'{"choices":[{"message":{"content":"a"}}],"usage":{"prompt_tokens":1e30}}', 200,
     StepStatus.OK),
    ("a byte order mark", b"\xef\xbb\xbf" + orjson.dumps(completion()), 502, StepStatus.FAILED),
    ("no content", {"choices": [{"message": {"content": None}, **END}]}, 200, StepStatus.OK),
    ("arguments nested deeper than can be written",
     completion(message={"content": None, "tool_calls": [{"id": "c", "function": {"name": "f",
                "arguments": "[" * 900 + "]" * 900}}]}), 200, StepStatus.OK),
    ("a log-probability beyond a float32",
     completion(token_ids=[1], logprobs={"content": [{"token": "a", "logprob": -1e300}]}), 200, StepStatus.OK),
]  # fmt: skip


@pytest.mark.parametrize(("body", "code", "status"), [each[1:] for each in WHOLE], ids=[each[0] for each in WHOLE])
@pytest.mark.parametrize("stream", [False, True])
async def test_an_odd_answer_is_recorded_as_what_it_is(
    gateway: Standing, server: ModelServer, body: Any, code: int, status: StepStatus, stream: bool
) -> None:
    server.reply(body)
    found, told, _ = await gateway.ask("POST", CHAT, {"messages": HELLO, "stream": stream})
    assert found == code, told
    (step,) = calls(await gateway.end("k1")).values()
    assert step.status is status
    assert "gateway itself" not in ("" if step.error is None else step.error.message)
    await assert_sound(gateway)


@pytest.mark.parametrize(("status", "code"), [(302, 502), (304, 502), (600, 502), (999, 502), (418, 418)])
async def test_a_refusal_has_a_status_that_is_one(
    gateway: Standing, server: ModelServer, status: int, code: int
) -> None:
    server.reply(b"", status=status)
    assert (await gateway.ask("POST", CHAT, {"messages": HELLO}))[0] == code
    assert (await gateway.ask("GET", "/v1/models"))[0] == code
    await assert_sound(gateway)


async def test_arguments_that_no_record_can_hold_are_kept_as_text(gateway: Standing, server: ModelServer) -> None:
    """A model makes up a number of thirty digits: the call is still on the record, and is gone on with."""
    text = '{"order": 123456789012345678901234567890}'
    call = {"id": "c", "type": "function", "function": {"name": "find", "arguments": text}}
    server.reply(completion(message={"role": "assistant", "content": "", "tool_calls": [call]}))
    await gateway.ask("POST", CHAT, {"messages": HELLO})
    said = [*HELLO, {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": "no"}]
    await gateway.ask("POST", CHAT, {"messages": said})
    made = calls(await gateway.end("k1"))
    assert list(made) == ["agent[0]", "agent[1]"]
    assert made["agent[0]"].output_value["tool_calls"] == [{"id": "c", "name": "find", "arguments": None, "text": text}]
    await assert_sound(gateway)


async def assert_sound(gateway: Standing) -> None:
    """Nothing is under way, nothing was lost, and it still answers."""
    _, figures, _ = await gateway.ask("GET", "/metrics")
    assert "stretto_gateway_unrecorded_total 0.0" in figures
    assert "stretto_gateway_calls_under_way 0.0" in figures


WIRE: Final = b"".join(Stream(vllm_stream()[0]).events)


@given(st.data())
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_whatever_comes_of_a_stream_is_read_or_counted(data: st.DataObject) -> None:
    """Bytes changed, taken out and cut anywhere: nothing raises, and what was not read is known."""
    wire = bytearray(WIRE)
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(wire) - 1))
        wire[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    wire = wire[: data.draw(st.integers(0, len(wire)))]
    events, pieces, cut = Events(), Pieces(), data.draw(st.integers(1, 400))
    for begun in range(0, len(wire), cut):
        for event in events.feed(bytes(wire[begun : begun + cut])):
            carried = data_of(event)
            if carried and carried != DONE:
                read = in_one_piece(carried)
                if read is None:
                    pieces.unread += 1
                else:
                    pieces.add(read)
    body = pieces.body()
    if pieces.unread:
        assert not any("token_ids" in choice for choice in body["choices"])
    with suppress(msgspec.MsgspecError, TypeError):  # what `Recording` takes for no completion
        completion_of(body, is_chat=True)


async def test_an_event_of_a_thousand_pieces_is_put_together_once() -> None:
    """In time linear in its length: joining all that came before with each piece would take some 10^10 copies."""
    events, content = Events(), b"x" * 1000
    for _ in range(20_000):
        assert events.feed(content) == []
    assert events.feed(b"\n\n") == [content * 20_000 + b"\n\n"]


async def test_a_body_of_pictures_is_handed_on_and_recorded(begin: Begin, server: ModelServer) -> None:
    """Longer than what may pass between two steps of a workflow."""
    gateway = await begin()
    server.reply(completion())
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * (9 << 20)}}
    body = orjson.dumps({"messages": [{"role": "user", "content": [picture]}]})
    halves = [body[: len(body) // 2], body[len(body) // 2 :]]

    async def sent() -> Any:
        for half in halves:
            yield half

    status, _, _ = await gateway.ask("POST", CHAT, data=sent(), headers={"Content-Type": "application/json"})
    run = await gateway.end("k1")
    assert (status, calls(run)["agent[0]"].status) == (200, StepStatus.OK)
    assert run.input_value["messages"][0]["content"] == [picture]
    await assert_sound(gateway)


async def test_what_a_run_s_input_cannot_hold_does_not_hold_its_call_up(gateway: Standing, server: ModelServer) -> None:
    server.reply(completion())
    nested = b'{"messages":[{"role":"user","content":' + b"[" * 220 + b"]" * 220 + b"}]}"
    assert (await gateway.ask("POST", CHAT, nested))[0] == 200
    run = await gateway.end("k1")
    assert (run.input_value, calls(run)) == ({}, {})
    assert "stretto_gateway_unrecorded_total 1.0" in (await gateway.ask("GET", "/metrics"))[1]
