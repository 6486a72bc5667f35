"""What the expressions of a declaration can read: the request's input and, once there is one, the service's answer."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import msgspec

from stretto.plan.expr import Leaf, UnknownPath, descend, path_getter
from stretto.plan.expr.access import as_number
from stretto.plan.valuetype import DYN, INT, STRING, Kind, ValueType, array_of, object_of
from stretto.types.json import Json, JsonObject, PathPart

Frame: TypeAlias = list[Any]
"""The values that one call's expressions read, by slot."""

INPUT: Final = 0
RESPONSE: Final = 1
ITEMS: Final = 2
PAGE: Final = 3
ITEM: Final = 4
CALL: Final = 5

_SLOTS: Final = {"input": INPUT, "response": RESPONSE, "items": ITEMS, "page": PAGE, "item": ITEM, "call": CALL}

_TEXTS: Final = ValueType(kind=Kind.OBJECT, rest=STRING)

FAULT: Final = object_of(
    {"code": STRING, "subcode": STRING, "reason": STRING, "detail": STRING}, optional=("subcode", "detail")
)


class Scope(msgspec.Struct, frozen=True):
    """The roots in sight, with their types."""

    types: Mapping[str, ValueType]

    def roots(self) -> frozenset[str]:
        """Their names."""
        return frozenset(self.types)

    def lookup(self, path: tuple[PathPart, ...]) -> Leaf:
        """How to read a path. Raises UnknownPath."""
        root = path[0]
        if not isinstance(root, str) or root not in self.types:
            raise UnknownPath(path, 0, sorted(self.types), f"`{root}` names nothing here")
        found = descend(self.types[root], path, 1)
        slot = _SLOTS[root]
        return Leaf(as_number(path_getter(slot, path[1:]), found.kind), found, frozenset((slot,)))

    def with_root(self, name: str, value_type: ValueType) -> "Scope":
        """The same and one more root, which hides another of its name."""
        return Scope({**self.types, name: value_type})


_CALL: Final = object_of({"effect_key": STRING})


def of_request(input_type: ValueType) -> Scope:
    """What a request is made of: the input, and `call`, whose effect key names the write, whatever the attempt."""
    return Scope({"input": input_type, "call": _CALL})


def of_answer(input_type: ValueType, body: ValueType = DYN) -> Scope:
    """What an answer is judged by: the input, and `response`."""
    response = object_of(
        {"status": INT, "headers": _TEXTS, "links": _TEXTS, "body": body, "fault": FAULT.or_null()},
        optional=("body",),
    )
    return of_request(input_type).with_root("response", response)


def of_pages(scope: Scope) -> Scope:
    """What a page leads on by: `page` is its number, from 1."""
    return scope.with_root("page", INT)


def of_gathered(scope: Scope) -> Scope:
    """What is given once every page is there: `items` of all of them; `response` is the last."""
    return scope.with_root("items", array_of(DYN))


def frame_of(data: JsonObject, effect_key: str) -> Frame:
    """The frame of a request, in which there is no answer yet."""
    return [data, None, None, None, None, {"effect_key": effect_key}]


def answered(frame: Frame, response: JsonObject, items: list[Json] | None = None, page: int = 1) -> Frame:
    """The frame of a request, with its answer."""
    made = list(frame)
    made[RESPONSE], made[ITEMS], made[PAGE] = response, items, page
    return made
