"""Choices and model calls cross the wire whole, in both of its forms; what is no array is told."""

from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from hypothesis import given, strategies as st

from stretto.acp import json_form, messages as m, proto_form
from stretto.acp.blob import name_of
from stretto.acp.names import Verb
from stretto.acp.reported import actions_in, model_calls_in, reported_of
from stretto.record.arrays import content_of
from stretto.types.errors import ContractError
from stretto.types.learning import Action, ModelCall
from tests.unit.acp.reports import CHOICE, COMPLETION, is_same

Cross = Callable[[m.CallResponse], m.CallResponse]


def as_json(answer: m.CallResponse) -> m.CallResponse:
    return json_form.decode(json_form.encode(answer), m.CallResponse)


def as_protobuf(answer: m.CallResponse) -> m.CallResponse:
    crossed = proto_form.response_of(Verb.PLAN, proto_form.response_bytes(Verb.PLAN, answer))
    assert isinstance(crossed, m.CallResponse)
    return crossed


def answer_with(*calls: ModelCall, actions: tuple[Action, ...] = ()) -> m.CallResponse:
    reported = reported_of("planner", actions, calls)
    return m.CallResponse(actions=reported.actions, model_calls=reported.model_calls, blobs=reported.blobs)


@pytest.mark.parametrize("cross", [as_json, as_protobuf])
def test_a_model_call_crosses_bit_for_bit(cross: Cross) -> None:
    bare = ModelCall(model="m")
    whole, empty = model_calls_in(cross(answer_with(COMPLETION, bare)))
    assert is_same(whole, COMPLETION)
    assert is_same(empty, bare)


@given(
    logprob=st.floats(max_value=0.0, allow_infinity=False, allow_nan=False),
    propensity=st.floats(0.0, 1.0, exclude_min=True),
    available=st.lists(st.booleans(), min_size=3, max_size=3).map(tuple) | st.just(()),
    forced=st.booleans(),
)
def test_a_choice_crosses_bit_for_bit(
    logprob: float, propensity: float, available: tuple[bool, ...], forced: bool
) -> None:
    action = msgspec.structs.replace(CHOICE, logprob=logprob, propensity=propensity, available=available, forced=forced)
    answer = answer_with(actions=(action,))
    assert actions_in(as_json(answer)) == actions_in(as_protobuf(answer)) == (action,)


@pytest.mark.parametrize("cross", [as_json, as_protobuf])
def test_an_array_of_several_model_calls_is_sent_once(cross: Cross) -> None:
    long = np.arange(100_000, dtype=np.int32)
    samples = [msgspec.structs.replace(COMPLETION, prompt_ids=long, text=f"{n}") for n in range(8)]
    answer = answer_with(*samples)
    assert len(json_form.encode(answer)) < 2 * 4 * len(long)
    read = model_calls_in(cross(answer))
    assert all(map(is_same, read, samples))
    assert len({id(each.prompt_ids) for each in read}) == 1


FILE = content_of(np.array([1], np.int32))


@pytest.mark.parametrize(
    ("told", "says"),
    [
        (m.Array(), "`prompt_ids` of a model call has no content"),
        (m.Array(content=b"no file"), "is no array: it is no safetensors file of numbers"),
        (m.Array(content=FILE.replace(b"array", b"other")), r"holds the tensors \['other'\]; expected one, called"),
        (m.Array(content=FILE.replace(b"I32", b"F99")), "no safetensors file of numbers"),
        (m.Array(digest="sha256:0"), "has the content 'sha256:0', which did not come"),
        (m.Array(digest=name_of(b"x")), "and its content has another digest"),
    ],
)
def test_what_is_no_array_is_told(told: m.Array, says: str) -> None:
    blobs = (m.Blob(digest=name_of(b"x"), content=FILE),)
    answer = m.CallResponse(model_calls=(m.ModelCall(prompt_ids=told),), blobs=blobs)
    with pytest.raises(ValueError, match=says):
        model_calls_in(answer)


def test_messages_that_are_no_json_are_told() -> None:
    with pytest.raises(ValueError, match="`messagesJson` of a model call is no JSON"):
        model_calls_in(m.CallResponse(model_calls=(m.ModelCall(messages_json="[}"),)))


def test_a_truth_is_read_of_a_byte_that_is_neither() -> None:
    file = content_of(np.array([True, False]))
    answer = m.CallResponse(model_calls=(m.ModelCall(mask=m.Array(content=file[:-2] + b"\x07\x00")),))
    [call] = model_calls_in(answer)
    assert call.mask is not None
    assert call.mask.view(np.uint8).tolist() == [1, 0]


def test_more_tokens_than_the_wire_has_room_for_are_refused() -> None:
    with pytest.raises(ContractError, match="'planner' reported a model call of 4294967296 tokens"):
        reported_of("planner", (), (ModelCall(model="m", prompt_tokens=2**32),))


def test_a_short_name_that_stands_often_makes_no_more_than_may_be() -> None:
    file = content_of(np.zeros(2**20, np.int32))
    blobs = (m.Blob(digest=name_of(file), content=file),)
    calls = (m.ModelCall(prompt_ids=m.Array(digest=name_of(file))),) * 17
    with pytest.raises(ValueError, match="arrays of more than 67,108,864 bytes in all"):
        model_calls_in(m.CallResponse(model_calls=calls, blobs=blobs))


def test_arrays_that_no_caller_takes_are_not_sent() -> None:
    large = ModelCall(model="m", prompt_ids=np.zeros(2**20, np.int32))
    with pytest.raises(ContractError, match=r"'planner' reported arrays of 7.* bytes; expected at most 67,108,864"):
        reported_of("planner", (), (large,) * 17)
