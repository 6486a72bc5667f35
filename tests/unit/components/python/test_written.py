"""What a function returns is written as its hint's schema says, or the hint is refused."""

import collections
import datetime as dt
import decimal
import ipaddress
import pathlib
import uuid
from collections.abc import Iterable, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import jsonschema_rs
import msgspec
import orjson
import pydantic
import pytest

from stretto.components.python.signature import read_signature
from stretto.record.canonical import snapshot
from stretto.types.errors import ContractError
from tests.ids import plainly


@dataclass
class Late:
    a: int
    b: int = field(init=False, default=3)
    _c: int = 5


@dataclass
class Sums:
    a: int
    b: int = field(init=False)

    def __post_init__(self) -> None:
        self.b = self.a + 1


@dataclass
class Holds:
    marks: set[int]
    late: Late


class Names(TypedDict):
    names: frozenset[str]


class Packed(msgspec.Struct):
    by_day: dict[dt.date, bytes]


class Order(pydantic.BaseModel):
    order_id: str = pydantic.Field(alias="orderId")


@pydantic.dataclasses.dataclass
class OrderData:
    order_id: str = pydantic.Field(alias="orderId")


Text = Annotated[dt.date, pydantic.PlainSerializer(lambda day: day.year, return_type=int)]
Named = Annotated[str, pydantic.Field(max_length=3)]


def written(hint: Any, value: Any) -> Any:
    """The value as the engine encodes it, held to the output schema."""

    def f() -> None: ...

    f.__annotations__["return"] = hint
    signature = read_signature(f, f)
    output = orjson.loads(snapshot(signature.as_output(value)))
    jsonschema_rs.validator_for(dict(signature.output)).validate(output)
    return output if signature.wraps is False else output["result"]


@pytest.mark.parametrize(
    ("hint", "value", "json"),
    [
        (set[int], {10, 9}, [9, 10]),
        (frozenset, frozenset([1]), [1]),
        (AbstractSet[str], {"b", "a"}, ["a", "b"]),
        (set[Any], {1, "a"}, None),
        (bytes, b"\xff", "/w=="),
        (dt.timedelta, dt.timedelta(1), "P1D"),
        (decimal.Decimal, decimal.Decimal("1.50"), "1.50"),
        (pathlib.Path, pathlib.Path("/x"), "/x"),
        (complex, 1 + 2j, "1+2j"),
        (collections.deque, collections.deque([1]), [1]),
        (ipaddress.IPv4Address, ipaddress.IPv4Address("1.1.1.1"), "1.1.1.1"),
        (dict[int, str], {1: "a"}, {"1": "a"}),
        (dict[bool, str], {True: "a"}, {"true": "a"}),
        (dict[uuid.UUID, set[int]] | None, {uuid.UUID(int=1): {1}}, {"00000000-0000-0000-0000-000000000001": [1]}),
        (collections.Counter[str], collections.Counter("a"), {"a": 1}),
        (Iterable[int], (n for n in [1, 2]), [1, 2]),
        (Sequence[dt.datetime], [dt.datetime(2026, 1, 1)], ["2026-01-01T00:00:00"]),  # noqa: DTZ001  # as it comes
        (list[pathlib.Path], [pathlib.Path("/x")], ["/x"]),
        (tuple[set[int], str], ({1}, "a"), [[1], "a"]),
        (Names, {"names": {"b", "a"}, "more": 1}, {"names": ["a", "b"], "more": 1}),
        (Packed, Packed({dt.date(2026, 1, 1): b"a"}), {"by_day": {"2026-01-01": "YQ=="}}),
        (Late, Late(1), {"a": 1, "b": 3, "_c": 5}),
        (dict, Late(1), {"a": 1, "b": 3, "_c": 5}),
        (Any, [Late(1)], [{"a": 1, "b": 3, "_c": 5}]),
        (Holds, Holds({1}, Late(1)), {"marks": [1], "late": {"a": 1, "b": 3, "_c": 5}}),
        (Sums, Sums(1), {"a": 1, "b": 2}),
        (Order, Order(orderId="x"), {"orderId": "x"}),
        (list[Order], [Order(orderId="x")], [{"orderId": "x"}]),
        (dict[str, Any], {"order": Order(orderId="x")}, {"order": {"orderId": "x"}}),
        (OrderData, OrderData(orderId="x"), {"orderId": "x"}),
        (Text, dt.date(2026, 1, 1), 2026),
        (Named, "abc", "abc"),
    ],
)
def test_a_value_is_written_as_its_schema_says(hint: Any, value: Any, json: Any) -> None:
    found = written(hint, value)
    assert found == json if json is not None else len(found) == len(value)


@pytest.mark.parametrize("hint", [Late, Sums, Order, OrderData, Holds, dict[bool, int], set[int]], ids=str)
def test_what_one_component_writes_another_of_the_same_hint_reads(hint: Any) -> None:
    value = {
        Late: Late(2),
        Sums: Sums(2),
        Order: Order(orderId="x"),
        OrderData: OrderData(orderId="x"),
        Holds: Holds({1}, Late(1)),
        dict[bool, int]: {True: 1},
        set[int]: {1, 2},
    }[hint]

    def take(value: object) -> None: ...

    take.__annotations__["value"] = hint
    signature = read_signature(take, take)
    fields = {"value": written(hint, value)}
    jsonschema_rs.validator_for(dict(signature.input)).validate(fields)
    assert signature.bind(fields, None) == {"value": value}


@pytest.mark.parametrize(("hint", "value"), [(bytes, object()), (set[pathlib.Path], {object()})], ids=plainly)
def test_a_value_that_its_hint_did_not_say_breaks_the_contract(hint: Any, value: Any) -> None:
    with pytest.raises(ContractError, match=r"it returned, of type \w+, cannot be written as its hint says: .*object"):
        written(hint, value)


def test_a_value_of_another_type_is_left_to_the_schema() -> None:
    with pytest.raises(jsonschema_rs.ValidationError):
        written(set[int], "x")
