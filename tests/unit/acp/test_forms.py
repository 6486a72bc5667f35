"""Both forms of a message hold the same, and the JSON form is the proto's own JSON mapping."""

from importlib import resources
from pathlib import Path

import msgspec
import pytest
from google.protobuf import json_format
from grpc_tools import protoc
from hypothesis import given, settings, strategies as st

import stretto.acp.v1
from stretto.acp import json_form, messages as m, proto_form
from stretto.acp.names import Verb
from tests.unit.acp.strategies import messages

verbs = st.sampled_from(Verb)
requests = verbs.flatmap(lambda verb: st.tuples(st.just(verb), messages(m.REQUESTS[verb])))
responses = verbs.flatmap(lambda verb: st.tuples(st.just(verb), messages(m.RESPONSES[verb])))


@settings(max_examples=30)
@given(requests)
def test_a_request_crosses_as_protobuf(drawn: tuple[Verb, m.Message]) -> None:
    verb, request = drawn
    assert proto_form.request_of(verb, proto_form.request_bytes(verb, request)) == request


@settings(max_examples=30)
@given(responses)
def test_a_response_crosses_as_protobuf(drawn: tuple[Verb, m.Message]) -> None:
    verb, response = drawn
    crossed = proto_form.response_of(verb, proto_form.response_bytes(verb, response))
    if isinstance(response, m.CallResponse) and verb is not Verb.PLAN:  # only a plan wants something done
        response = msgspec.structs.replace(response, execute_action=None)
    assert crossed == response


@settings(max_examples=30)
@given(requests)
def test_a_request_crosses_as_json(drawn: tuple[Verb, m.Message]) -> None:
    _, request = drawn
    assert json_form.decode(json_form.encode(request), type(request)) == request


@settings(max_examples=30)
@given(requests)
def test_a_reader_of_the_protos_json_mapping_reads_what_we_write(drawn: tuple[Verb, m.Message]) -> None:
    verb, request = drawn
    proto = json_format.Parse(json_form.encode(request), proto_form.REQUESTS[verb]())
    assert proto_form.request_of(verb, proto.SerializeToString()) == request


@settings(max_examples=30)
@given(requests, st.booleans())
def test_what_others_write_in_the_protos_json_mapping_is_read(drawn: tuple[Verb, m.Message], by_name: bool) -> None:
    verb, request = drawn
    proto = proto_form.REQUESTS[verb].FromString(proto_form.request_bytes(verb, request))
    written = json_format.MessageToJson(proto, preserving_proto_field_name=by_name)
    read = json_form.decode(written.encode(), type(request))
    assert proto_form.request_of(verb, proto_form.request_bytes(verb, read)) == request


@pytest.mark.parametrize(
    ("text", "attempt"),
    [
        ('{"envelope": {"attempt": 2}}', 2),
        ('{"envelope": {"attempt": "2"}}', 2),
        ('{"envelope": {"attempt": 2.0, "later_field": 1}}', 2),
        ('{"envelope": {"attempt": 2, "component": null}, "input": null}', 2),
        ('{"envelope": null}', 0),
    ],
)
def test_a_number_as_text_a_null_and_an_unknown_field_are_read(text: str, attempt: int) -> None:
    assert json_form.decode(text.encode(), m.CallRequest).envelope.attempt == attempt


def test_names_within_the_peers_own_values_are_left_alone() -> None:
    text = b'{"envelope": {"run_id": "r", "labels": {"step_path": "x"}}, "input": {"run_id": null, "effect_key": 1}}'
    read = json_form.decode(text, m.CallRequest)
    assert read.envelope.run_id == "r"
    assert read.envelope.labels == {"step_path": "x"}
    assert read.input == {"run_id": None, "effect_key": 1}


@pytest.mark.parametrize("content", ["+/8A", "-_8A"])
@pytest.mark.parametrize("name", ["mediaType", "media_type"])
def test_bytes_are_read_in_either_alphabet(content: str, name: str) -> None:
    text = f'{{"blobs": [{{"digest": "d", "content": "{content}", "{name}": "x"}}]}}'
    assert json_form.decode(text.encode(), m.CallRequest).blobs == (
        m.Blob(digest="d", content=b"\xfb\xff\x00", media_type="x"),
    )


@pytest.mark.parametrize("padding", ["", "="])
def test_bytes_are_read_without_their_padding(padding: str) -> None:
    text = f'{{"inputs": "AP8{padding}"}}'
    assert json_form.decode(text.encode(), m.VjpRequest).inputs == b"\x00\xff"


@pytest.mark.parametrize(
    "text",
    [
        '{"envelope": 3}',
        '{"input": []}',
        "[]",
        '{"envelope": {"attempt": -1.5}}',
        '{"confirmOnly": "true"}',
        '{"envelope": {"variant": {"mirror": 1}}}',
        '{"blobs": [{"content": "A"}]}',
        '{"blobs": [{"content": "\u00fc"}]}',
        '{"blobs": [{"content": 3}]}',
    ],
)
def test_another_form_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        json_form.decode(text.encode(), m.CallRequest)


def test_integers_beyond_a_double_cross_whole_as_text() -> None:
    request = m.CallRequest(input_json='{"n": 9007199254740993}')
    read = proto_form.request_of(Verb.EXECUTE, proto_form.request_bytes(Verb.EXECUTE, request))
    assert isinstance(read, m.CallRequest)
    assert read.input_json == '{"n": 9007199254740993}'


def test_what_is_generated_is_of_the_schema_as_it_stands(tmp_path: Path) -> None:
    folder = Path(stretto.acp.v1.__file__).parent
    source = folder.parents[2]
    known = resources.files("grpc_tools") / "_proto"
    places = [f"-I{source}", f"-I{known}", f"--python_out={tmp_path}", f"--pyi_out={tmp_path}"]
    code = protoc.main(["", *places, str(folder / "acp.proto")])
    assert code == 0
    for name in ("acp_pb2.py", "acp_pb2.pyi"):
        made = (tmp_path / "stretto" / "acp" / "v1" / name).read_text()
        assert made == (folder / name).read_text(), "run: make proto"
