"""Type hints become JSON Schemas, and conversions only where a hint is more than JSON."""

import datetime as dt
import enum
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import jsonschema_rs
import msgspec
import orjson
import pydantic
import pytest

from stretto.components.python.adapter import HintError
from stretto.components.python.hints import Level, codec_of, level_of, writer_of
from stretto.record.canonical import snapshot
from stretto.types.json import Json, JsonObject


class Intent(enum.StrEnum):
    TRACK = "track"
    CANCEL = "cancel"


@dataclass
class Item:
    sku: str
    count: int = 1


@dataclass
class Order:
    items: list[Item]
    intent: Intent = Intent.TRACK
    tags: list[str] = field(default_factory=list)


@dataclass
class Tree:
    name: str
    children: "list[Tree]" = field(default_factory=list)


class Facts(TypedDict):
    user: str
    zip: NotRequired[str]


class Step(msgspec.Struct):
    tool: str
    order: Order | None = None


class Brief(msgspec.Struct, omit_defaults=True):
    text: str
    note: str = ""


class Point(NamedTuple):
    x: int
    y: int = 0


class Model(pydantic.BaseModel):
    name: str = pydantic.Field(max_length=3)
    order: Order | None = None


PLAIN: list[Any] = [
    int,
    None,
    Any,
    object,
    dict[str, object],
    list[object],
    object | None,
    Json,
    JsonObject,
    list[str | None],
    Literal["a", "b"],
    Facts,
    list[Facts],
    Sequence[str],
    Annotated[str, msgspec.Meta(max_length=3)],
    Annotated[str, "words about it"],
]
RICH: list[Any] = [
    Order,
    list[Order],
    Order | None,
    Step,
    Intent,
    dt.datetime,
    tuple[int, str],
    Point,
    dict[int, Item],
]
PYDANTIC: list[Any] = [Model, list[Model], Annotated[str, pydantic.Field(max_length=3)], dict[str, Model] | None]


@pytest.mark.parametrize("hint", PLAIN, ids=str)
def test_what_is_json_already_is_not_converted(hint: Any) -> None:
    codec = codec_of(hint)
    assert codec.convert is None
    jsonschema_rs.meta.validate(codec.schema)


@pytest.mark.parametrize(
    ("hint", "level"), [*((h, Level.MSGSPEC) for h in RICH), *((h, Level.PYDANTIC) for h in PYDANTIC)], ids=str
)
def test_richer_hints_are_converted_by_the_library_that_knows_them(hint: Any, level: Level) -> None:
    codec = codec_of(hint)
    assert level_of(hint) is level
    assert codec.convert is not None
    jsonschema_rs.meta.validate(codec.schema)


def test_a_value_that_fits_becomes_an_instance() -> None:
    value = {"items": [{"sku": "a"}], "intent": "cancel"}
    codec = codec_of(Order)
    assert jsonschema_rs.is_valid(codec.schema, value)
    assert codec.convert is not None
    assert codec.convert(value) == Order([Item("a")], Intent.CANCEL)


def test_integer_keys_come_back_from_the_text_that_json_makes_of_them() -> None:
    convert = codec_of(dict[int, Item]).convert
    assert convert is not None
    assert convert({"3": {"sku": "a"}}) == {3: Item("a")}


def test_a_pydantic_model_is_validated_by_pydantic() -> None:
    convert = codec_of(Model).convert
    assert convert is not None
    assert convert({"name": "abc"}) == Model(name="abc")
    with pytest.raises(pydantic.ValidationError):
        convert({"name": "abcd"})


def test_an_alias_is_how_a_model_is_read_and_how_it_is_encoded() -> None:
    class Aliased(pydantic.BaseModel):
        name: str = pydantic.Field(alias="fullName")

    schemas = codec_of(Aliased).schema, writer_of(Aliased).schema
    assert [list(schema["properties"]) for schema in schemas] == [["fullName"], ["fullName"]]  # type: ignore[arg-type]
    assert jsonschema_rs.is_valid(schemas[1], orjson.loads(snapshot(Aliased(fullName="x"))))


def test_a_schema_holds_no_reference_unless_the_type_is_recursive() -> None:
    assert "$ref" not in str(codec_of(Step).schema)
    tree = codec_of(Tree).schema
    assert tree["$ref"] == "#/$defs/Tree"
    assert jsonschema_rs.is_valid(tree, {"name": "a", "children": [{"name": "b"}]})
    assert not jsonschema_rs.is_valid(tree, {"name": "a", "children": [{"name": 1}]})


@pytest.mark.parametrize("hint", [Order, Step, list[Order], Model], ids=str)
def test_what_an_instance_always_encodes_is_required_of_an_output(hint: Any) -> None:
    def required(schema: Any) -> list[str]:
        return sorted((schema.get("items") or schema).get("required", []))

    output: Any = writer_of(hint).schema
    properties = (output.get("items") or output)["properties"]
    assert required(writer_of(hint).schema) == sorted(properties)
    assert required(codec_of(hint).schema) != required(writer_of(hint).schema)


@pytest.mark.parametrize("hint", [Facts, Brief], ids=str)
def test_a_field_that_may_be_left_out_of_an_output_stays_optional(hint: Any) -> None:
    assert len(writer_of(hint).schema["required"]) == 1  # type: ignore[arg-type]


class Opaque: ...


class Called(pydantic.BaseModel):
    back: Callable[..., None]


@dataclass
class Calls:
    back: Callable[..., None] | None


NO_JSON: list[Any] = [
    Opaque,
    range,
    Callable,
    Callable[[int], int] | None,
    list[Callable[..., int]],
    Called,
    Calls,
    type,
    type[int],
    dict[tuple[int, int], int],
    dict[str, dict[frozenset[int], int]],
    Iterator[int],
    AsyncIterator[int],
]


@pytest.mark.parametrize("hint", NO_JSON, ids=str)
@pytest.mark.parametrize("read", [codec_of, writer_of], ids=["read", "written"])
def test_a_hint_without_a_json_form_is_refused(hint: Any, read: Any) -> None:
    with pytest.raises(HintError) as caught:
        read(hint)
    assert "\n" not in str(caught.value)


def test_a_return_hint_that_says_nothing_of_json_is_refused() -> None:
    with pytest.raises(HintError, match="Hashable"):
        writer_of(Hashable)


@pytest.mark.skipif(find_spec("email_validator") is not None, reason="the package that the hint needs is here")
@pytest.mark.parametrize("read", [codec_of, writer_of], ids=["read", "written"])
def test_a_hint_that_needs_another_package_says_so(read: Any) -> None:
    with pytest.raises(HintError, match="email-validator is not installed"):
        read(pydantic.EmailStr)


def test_a_strict_model_reads_json_as_json() -> None:
    class Strict(pydantic.BaseModel, strict=True):
        when: dt.date
        raw: Annotated[bytes, pydantic.Field(min_length=1)]

    convert = codec_of(Strict).convert
    assert convert is not None
    assert convert({"when": "2026-01-01", "raw": "a"}) == Strict(when=dt.date(2026, 1, 1), raw=b"a")


def test_pydantic_is_imported_only_for_who_uses_it() -> None:
    code = (
        "import sys, dataclasses, datetime\n"
        "from stretto.components.python.hints import codec_of, writer_of\n"
        "P = dataclasses.make_dataclass('P', [('x', int), ('when', datetime.datetime)])\n"
        "codec_of(list[P]); writer_of(dict[str, object] | None)\n"
        "assert 'pydantic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
