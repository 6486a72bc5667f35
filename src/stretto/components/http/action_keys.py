"""One thing that a service can be asked, as it is written."""

from typing import Any, Final

import msgspec

from stretto.components.http.action import Method
from stretto.components.http.request_keys import (
    BODIES,
    HEADERS,
    METHOD,
    QUERY,
    URL,
    SoapSpec,
)
from stretto.components.http.response_keys import (
    ERRORS,
    PAGING,
    RESPONSE,
    ErrorSpec,
    PagingSpec,
    ResponseSpec,
)
from stretto.spec.codes import SpecCode
from stretto.spec.fields import SchemaShape
from stretto.spec.nodes import MapNode, Node, to_json_object
from stretto.spec.records import Fields, Key, Record
from stretto.spec.shapes import Choice
from stretto.spec.source import Located, Span
from stretto.spec.texts import EXPRESSION
from stretto.types.enums import Effect
from stretto.types.errors import Problem
from stretto.types.json import JsonObject

INPUT: Final = Key(
    "input",
    SchemaShape(),
    means="what comes in, as in a contract; when absent, the fields that `url` has a place for, and any others",
    example='input: { order_id: "string[1,32]", detail: "bool?" }',
)
OUTPUT: Final = Key(
    "output",
    SchemaShape(),
    means="what goes out, as in a contract",
    example="output: { state: string, total: float }",
)
EFFECTS: Final = Key(
    "effects",
    Choice(Effect),
    means="what it does to the world: `read` for GET and HEAD, `write` for the others when absent",
    example="effects: read",
    also=("effect",),
)

_ASKING: Final[tuple[Key[Any], ...]] = (URL, METHOD, QUERY, HEADERS, *BODIES, RESPONSE, ERRORS)
"""Keys of whatever is asked."""


class ActionSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was written of it; expressions are still text."""

    places: dict[str, Span]
    """Where each of its keys stands."""
    url: Located[str]
    method: Method
    query: MapNode | None
    headers: MapNode | None
    json: Node | None
    form: MapNode | None
    xml: Located[str] | None
    soap: SoapSpec | None
    input: JsonObject | None
    output: JsonObject | None
    response: ResponseSpec
    errors: tuple[ErrorSpec, ...]
    paging: PagingSpec | None
    effect: Effect | None
    confirm: "ConfirmSpec | None"
    written: JsonObject
    """All of it as plain values, for the digest."""

    def problem(self, key: str, code: SpecCode, message: str, *, expected: str, suggestion: str = "") -> Problem:
        """A problem at one of its keys, or at its address."""
        place = self.places.get(key, self.places[URL.name])
        return place.problem(code, message, expected=expected, suggestion=suggestion)

    @property
    def bodies(self) -> list[str]:
        """Which kinds of body are given."""
        return [key.name for key in BODIES if getattr(self, key.name) is not None]


class ConfirmSpec(msgspec.Struct, frozen=True):
    """A read that tells whether the write happened, as it was written."""

    action: ActionSpec
    happened: Located[str]


def action_spec(fields: Fields) -> ActionSpec | None:
    """Read one; None after reporting that something it needs is not there."""
    url, method, schema, output = fields.get(URL), fields.get(METHOD), fields.get(INPUT), fields.get(OUTPUT)
    response, errors = fields.get(RESPONSE), fields.get(ERRORS)
    bodies: dict[str, Any] = {key.name: fields.get(key) for key in BODIES}
    headers, query = fields.get(HEADERS), fields.get(QUERY)
    paging, effect, confirm = fields.get(PAGING), fields.get(EFFECTS), fields.get(CONFIRM)
    needed: tuple[Key[Any], ...] = (RESPONSE, ERRORS, PAGING, CONFIRM, *BODIES)
    if url is None or any(key in fields and fields.get(key) is None for key in needed):
        return None
    has_body = any(value is not None for value in bodies.values())
    return ActionSpec(
        places={key.name: fields.key_span(key) for key in ACTION_KEYS if key in fields},
        url=url,
        method=method or (Method.POST if has_body else Method.GET),
        query=query,
        headers=headers,
        **bodies,
        input=None if schema is None else dict(schema.schema),
        output=None if output is None else dict(output.schema),
        response=response or ResponseSpec(),
        errors=errors or (),
        paging=paging,
        effect=effect,
        confirm=confirm,
        written=_written(fields.node),
    )


def _written(node: MapNode) -> JsonObject:
    known = {key.name for key in ACTION_KEYS}
    return {name: value for name, value in to_json_object(node).items() if name in known}


def _needed(key: Key[Any]) -> Key[Any]:
    """The same key, where nothing else can stand in its place."""
    return Key(key.name, key.shape, means=key.means, example=key.example, required=True, also=key.also)


HAPPENED: Final = Key(
    "happened",
    EXPRESSION,
    means="condition over `response`: true when it happened, false when it surely did not; null says neither",
    example='happened: "response.status == 200"',
    required=True,
)


def _confirm(fields: Fields) -> ConfirmSpec | None:
    happened, action = fields.get(HAPPENED), action_spec(fields)
    return None if happened is None or action is None else ConfirmSpec(action, happened)


CONFIRM: Final = Key(
    "confirm",
    Record(
        "confirm",
        means="A read that tells whether a write in doubt happened.",
        keys=(HAPPENED, *(_needed(key) if key is URL else key for key in _ASKING)),
        build=_confirm,
        is_thing=False,
        may_be_empty=False,
    ),
    means="a read that tells whether the write happened whose answer was lost; its answer is then the write's",
    example='confirm: { url: "https://x.example/payments/{call.effect_key}", happened: "response.status == 200" }',
)

ACTION_KEYS: Final[tuple[Key[Any], ...]] = (*_ASKING, INPUT, OUTPUT, PAGING, EFFECTS, CONFIRM)

ACTION: Final[Record[ActionSpec]] = Record(
    "action",
    means="One thing that a service can be asked.",
    keys=tuple(_needed(key) if key is URL else key for key in ACTION_KEYS),
    build=action_spec,
    may_be_empty=False,
)
