"""Streams: events cut out of bytes however they come, and chunks put together to the whole answer."""

from typing import Any

import orjson
from hypothesis import given, strategies as st

from stretto.serve.gateway.events import Events, data_of, event
from stretto.serve.gateway.pieces import Pieces
from stretto.serve.gateway.steps import completion_of
from tests.unit.components.openai.standin import recorded
from tests.unit.serve.gateway.model_server import chunk, vllm_stream

DATA = st.binary(max_size=20).filter(lambda data: not set(data) & set(b"\r\n"))


@given(sent=st.lists(DATA, max_size=6), end=st.sampled_from([b"\n\n", b"\r\n\r\n"]), cuts=st.lists(st.integers(0, 200)))
def test_events_are_the_same_however_they_are_cut(sent: list[bytes], end: bytes, cuts: list[int]) -> None:
    stream = b"".join(b"data: " + data + end for data in sent) + b"data: half"
    events, found, begun = Events(), [], 0
    for cut in [*sorted(cut for cut in cuts if cut < len(stream)), len(stream)]:
        found += events.feed(stream[begun:cut])
        begun = cut
    assert [data_of(each) for each in found] == [data.strip() for data in sent]
    assert b"".join(found) + events.left == stream


def test_a_comment_and_an_event_of_several_lines_are_read() -> None:
    assert data_of(b": keep alive\n\n") == b""
    assert data_of(b'event: x\ndata: {"a":\ndata: 1}\nid: 7\n\n') == b'{"a":\n1}'
    assert data_of(event(b"x")) == b"x"


def put_together(chunks: list[dict[str, Any]]) -> Pieces:
    pieces = Pieces()
    for each in chunks:
        pieces.add(each)
    return pieces


def test_a_stream_of_vllm_comes_to_the_answer_that_it_sends_whole() -> None:
    chunks, body = vllm_stream()
    assert completion_of(put_together(chunks).body(), is_chat=True) == completion_of(body, is_chat=True)


def test_a_text_stream_of_llama_cpp_comes_to_the_answer_that_it_sends_whole() -> None:
    events = Events().feed(recorded("llama_cpp/text_stream")["body"].encode())
    chunks = [orjson.loads(data) for each in events if (data := data_of(each)) != b"[DONE]"]
    streamed = completion_of(put_together(chunks).body(), is_chat=False)
    whole = completion_of(recorded("llama_cpp/text")["body"], is_chat=False)
    assert streamed.choices == whole.choices


def test_choices_and_their_parts_are_told_apart() -> None:
    pieces = put_together(
        [
            chunk({"content": "b"}, index=1),
            chunk({"content": "a"}, index=0),
            chunk({"reasoning_content": "why"}, index=0),
            chunk({"content": "b"}, index=1, finish_reason="length"),
            chunk({}, index=0, finish_reason="stop"),
        ]
    )
    assert pieces.ended
    first, second = completion_of(pieces.body(), is_chat=True).choices
    assert (first.message.text, first.message.reasoning_content, first.finish_reason) == ("a", "why", "stop")
    assert (second.message.text, second.finish_reason) == ("bb", "length")


def test_two_tool_calls_in_pieces_are_told_apart() -> None:
    def called(index: int, **function: str) -> dict[str, Any]:
        told = {"id": f"c{index}"} if "name" in function else {}
        return chunk({"tool_calls": [{"index": index, **told, "function": function}]})

    pieces = put_together(
        [
            called(0, name="f", arguments=""),
            called(1, name="g", arguments="{"),
            called(0, arguments="{}"),
            called(1, arguments="}"),
        ]
    )
    calls = completion_of(pieces.body(), is_chat=True).choices[0].message.tool_calls
    assert calls is not None
    assert [(each.id, each.function.name, each.function.arguments) for each in calls] == [
        ("c0", "f", "{}"),
        ("c1", "g", "{}"),
    ]


def test_what_has_another_form_is_passed_over() -> None:
    odd: list[dict[str, Any]] = [
        {"choices": 7},
        {"choices": [7]},
        {"choices": [{"index": "x", "delta": 7}]},
        {"choices": [{"delta": {"content": 7, "tool_calls": 7}, "logprobs": 7, "token_ids": 7}]},
        {"choices": [{"delta": {"tool_calls": [7, {"function": 7}]}, "logprobs": {"content": 7}}]},
    ]
    pieces = put_together([*odd, chunk({"content": "a"}, finish_reason="stop")])
    assert pieces.body()["choices"][0]["message"]["content"] == "a"
