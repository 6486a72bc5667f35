"""The HTTP form as an OpenAPI 3.1 document, made from the messages; the words are those of the proto."""

from functools import cache
from typing import Any, Final, TypeAlias

import msgspec

from stretto.acp import messages as m
from stretto.acp.names import STEP_VERBS, Reason, Verb
from stretto.acp.problem import MEDIA_TYPE, ProblemDetails
from stretto.acp.v1.words import words
from stretto.acp.version import CURRENT
from stretto.types.errors import Code
from stretto.types.http_status import STATUSES

_Document: TypeAlias = dict[str, Any]
"""A part of an OpenAPI document. Any: JSON."""

_REF: Final = "#/components/schemas/{name}"

_PROTO_NAMES: Final = {"WireCard": "Card", "BudgetLeft": "Budget", "Spent": "Usage", "ProblemDetails": "Problem"}
"""Records that are called otherwise in the proto, or in RFC 9457."""

_SHARED: Final = {"CallRequest": "Request", "CallResponse": "Response"}
"""Records that stand for three messages of the proto each: PlanRequest and so on."""


@cache
def openapi() -> _Document:
    """The document; the same object each time, not to be changed."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Agent Communication Protocol",
            "version": CURRENT,
            "description": "How Stretto and a component in any language speak, in JSON over HTTP. Not the retired "
            "protocol of the same name that merged into A2A.",
        },
        "paths": _paths(),
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"bearer": []}],
    }


def _paths() -> _Document:
    paths: _Document = {verb.path: {"post": _operation(verb)} for verb in Verb}
    described = {"operationId": "describeAll", "summary": "All cards.", "responses": _responses(Verb.DESCRIBE)}
    paths[Verb.DESCRIBE.path] = {"post": _operation(Verb.DESCRIBE), "get": described}
    for path, summary, failing in (
        ("/livez", "Whether the process is there.", {}),
        ("/readyz", "Whether calls are taken.", {"503": {"description": "The server is about to stop."}}),
    ):
        text = {"text/plain": {"schema": {"type": "string"}}}
        well: _Document = {"200": {"description": "It is.", "content": text}}
        operation = {"operationId": path[1:], "summary": summary, "security": [], "responses": {**well, **failing}}
        paths[path] = {"get": operation}
    return paths


def _operation(verb: Verb) -> _Document:
    name = verb.value.capitalize()
    return {
        "operationId": verb.value,
        "summary": words()["Component", name],
        "requestBody": {"required": True, "content": {"application/json": {"schema": _ref(f"{name}Request")}}},
        "responses": _responses(verb),
    }


def _responses(verb: Verb) -> _Document:
    """The answer, and for each status the codes that have it."""
    answer = {"application/json": {"schema": _ref(f"{verb.value.capitalize()}Response")}}
    problem = {MEDIA_TYPE: {"schema": _ref("Problem")}}
    responses: _Document = {"200": {"description": "The answer.", "content": answer}}
    for status in sorted(set(STATUSES.values())):
        codes = ", ".join(code.value for code in Code if STATUSES[code] == status)
        responses[str(status)] = {"description": codes, "content": problem}
    return responses


def _schemas() -> _Document:
    """Every message as JSON Schema 2020-12, by its name in the proto."""
    records = [
        *(m.CallRequest, m.CallResponse, m.ReflectRequest, m.ReflectResponse),
        *(m.DescribeRequest, m.DescribeResponse, m.VjpRequest, m.VjpResponse, ProblemDetails),
    ]
    _, made = msgspec.json.schema_components(records, ref_template=_REF)
    schemas: _Document = {}
    for record, schema in made.items():
        for name in _names(record):
            schemas[name] = _told(name, _renamed(schema))
    problem = schemas["Problem"]
    problem["properties"]["code"]["enum"] = [code.value for code in Code]
    problem["properties"]["reason"]["examples"] = [reason.value for reason in Reason]
    return dict(sorted(schemas.items()))


def _names(record: str) -> list[str]:
    """What a record is called in the proto."""
    if record in _SHARED:
        return [f"{verb.value.capitalize()}{_SHARED[record]}" for verb in STEP_VERBS]
    return [_PROTO_NAMES.get(record, record)]


def _told(message: str, schema: _Document) -> _Document:
    """The schema with the proto's words, and without the fields that this message does not have."""
    told = {name: text for (owner, name), text in words().items() if owner == message}
    properties = dict(schema.get("properties", {}))
    if message in ("ExecuteResponse", "ObserveResponse"):
        del properties["executeAction"]
    for name, text in told.items():
        field = _camel(name)
        if field in properties:
            properties[field] = {**properties[field], "description": text}
    description = words().get((message, ""), schema.get("description", ""))
    return {**schema, "title": message, "description": description, "properties": properties}


def _renamed(value: Any) -> Any:  # JSON
    """The same, its references by the names of the proto."""
    if isinstance(value, dict):
        return {key: _proto_ref(each) if key == "$ref" else _renamed(each) for key, each in value.items()}
    return [_renamed(each) for each in value] if isinstance(value, list) else value


def _proto_ref(reference: str) -> str:
    record = reference.rpartition("/")[2]
    return _REF.format(name=_PROTO_NAMES.get(record, record))


def _ref(name: str) -> _Document:
    return {"$ref": _REF.format(name=name)}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
