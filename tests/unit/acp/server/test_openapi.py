"""The OpenAPI document says what the proto says, and what is really sent fits it."""

from typing import Any

import jsonschema_rs
import msgspec
import pytest

from stretto.acp import messages as m
from stretto.acp.failure import Failure
from stretto.acp.names import Reason, Verb
from stretto.acp.problem import problem_of
from stretto.acp.server.openapi import openapi
from stretto.acp.v1 import acp_pb2
from stretto.types.errors import Code, Violation


def _schemas() -> dict[str, Any]:
    schemas: dict[str, Any] = openapi()["components"]["schemas"]
    return schemas


def _fits(name: str, value: Any) -> bool:
    root = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": _schemas()}}
    return jsonschema_rs.Draft202012Validator(root).is_valid(value)


@pytest.mark.parametrize("message", sorted(acp_pb2.DESCRIPTOR.message_types_by_name))
def test_every_message_of_the_proto_is_there_with_every_field_and_its_words(message: str) -> None:
    schema = _schemas()[message]
    descriptor = acp_pb2.DESCRIPTOR.message_types_by_name[message]
    assert set(schema["properties"]) == {field.json_name for field in descriptor.fields}
    assert schema["title"] == message


def test_there_is_no_other_message() -> None:
    assert set(_schemas()) - set(acp_pb2.DESCRIPTOR.message_types_by_name) == {"Problem", "Violation"}


def test_the_words_are_those_of_the_proto() -> None:
    envelope = _schemas()["Envelope"]
    assert envelope["description"] == "What travels with every call."
    assert envelope["properties"]["attempt"]["description"] == "1 for the first."
    assert openapi()["paths"]["/acp/v1/plan"]["post"]["summary"] == "Decide what to do next."


def test_every_verb_is_a_path() -> None:
    paths = openapi()["paths"]
    assert {verb.path for verb in Verb} <= set(paths)
    assert set(paths["/acp/v1/describe"]) == {"post", "get"}


def test_what_is_sent_fits() -> None:
    asked = m.CallRequest(
        envelope=m.Envelope(protocol="1.0", run_id="r", attempt=1, remaining_ms=5, budget=m.BudgetLeft(tokens=3)),
        input={"a": 1},
        blobs=(m.Blob(digest="sha256:0", content=b"x"),),
    )
    answer = m.CallResponse(result=m.Result(outcome="ok", usage=m.Spent(cost=0.5)), output={"a": 1})
    _, _, problem = problem_of(
        Failure(
            code=Code.INVALID_ARGUMENT,
            message="no",
            reason=Reason.CONTRACT,
            violations=(Violation(pointer="/a", message="b"),),
        )
    )
    assert _fits("ExecuteRequest", msgspec.json.decode(msgspec.json.encode(asked)))
    assert _fits("ExecuteResponse", msgspec.json.decode(msgspec.json.encode(answer)))
    assert _fits("Problem", msgspec.json.decode(problem))
    assert not _fits("ExecuteRequest", {"envelope": {"attempt": "one"}})


def test_every_reference_is_there() -> None:
    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            return own + [found for each in value.values() for found in references(each)]
        return [found for each in value for found in references(each)] if isinstance(value, list) else []

    names = {reference.rpartition("/")[2] for reference in references(openapi())}
    assert names <= set(_schemas())
