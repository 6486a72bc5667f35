"""A function's hints, read once: input and output schemas, and every signature that cannot work refused at its line."""

import typing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import jsonschema_rs
import pytest

from stretto.components.python import Context
from stretto.components.python.signature import read_signature
from stretto.types.errors import ContractError, SpecError
from stretto.types.messages import Response

if TYPE_CHECKING:
    from decimal import Decimal


@dataclass
class Plan:
    tool: str


@dataclass
class Even:
    number: int

    def __post_init__(self) -> None:
        if self.number % 2:
            raise ValueError("not even")


@dataclass
class Node:
    next: "Node | None" = None


class Answer(TypedDict):
    reply: str


def test_parameters_become_fields_and_defaults_make_them_optional() -> None:
    def f(
        query: str, history: list[dict[str, str]], limit: int = 5, tone: Literal["warm", "dry"] | None = None
    ) -> Answer:
        raise NotImplementedError

    schema = read_signature(f, f).input
    assert schema["required"] == ["query", "history"]
    assert schema["properties"]["limit"] == {"type": "integer", "default": 5}  # type: ignore[call-overload, index]
    assert jsonschema_rs.is_valid(dict(schema), {"query": "q", "history": []})
    assert not jsonschema_rs.is_valid(dict(schema), {"query": "q", "history": [], "tone": "rude"})
    assert not jsonschema_rs.is_valid(dict(schema), {"query": "q", "history": [], "limits": 3})


def test_a_parameter_without_a_hint_takes_anything() -> None:
    def f(x, y=None):  # type: ignore[no-untyped-def]
        raise NotImplementedError

    signature = read_signature(f, f)
    assert signature.input["properties"] == {"x": {}, "y": {"default": None}}
    assert signature.output == {"type": "object"}


def test_further_keyword_arguments_take_further_fields() -> None:
    def f(x: int, **rest: Any) -> dict[str, Any]:
        raise NotImplementedError

    signature = read_signature(f, f)
    assert signature.input["additionalProperties"] is True
    assert signature.bind({"x": 1, "z": 2}, None) == {"x": 1, "z": 2}


@pytest.mark.parametrize(
    ("hint", "value", "output"),
    [
        (str, "hi", {"result": "hi"}),
        (None, None, {"result": None}),
        (list[int], [1], {"result": [1]}),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (Plan, Plan("x"), Plan("x")),
        (Plan | None, Plan("x"), {"result": Plan("x")}),
        (Answer, {"reply": "hi"}, {"reply": "hi"}),
        (Any, {"a": 1}, {"a": 1}),
        (Any, [1], {"result": [1]}),
        (object, Plan("x"), Plan("x")),
        (Node, Node(), Node()),
    ],
    ids=str,
)
def test_what_is_no_object_is_wrapped_as_its_hint_says(hint: Any, value: Any, output: Any) -> None:
    def f() -> None: ...

    f.__annotations__["return"] = hint
    signature = read_signature(f, f)
    assert signature.output["type"] == "object"
    assert signature.as_output(value) == output


def test_a_function_may_build_its_response_itself() -> None:
    def f() -> Response:
        raise NotImplementedError

    assert read_signature(f, f).output == {"type": "object"}


def test_instances_are_built_and_the_context_is_no_field() -> None:
    def f(plan: Plan, ctx: Context, note: str = "") -> dict[str, Any]:
        raise NotImplementedError

    signature = read_signature(f, f)
    assert set(signature.input["properties"]) == {"plan", "note"}  # type: ignore[arg-type]
    assert signature.bind({"plan": {"tool": "t"}}, None) == {"plan": Plan("t"), "ctx": None}


def test_a_value_that_its_class_refuses_breaks_the_contract_at_the_field() -> None:
    def f(even: Even) -> None: ...

    with pytest.raises(ContractError, match="not even") as caught:
        read_signature(f, f).bind({"even": {"number": 3}}, None)
    assert caught.value.violations[0].pointer == "/even"
    assert not caught.value.retryable


def _args(*items: int) -> None: ...


def _unresolved(x: "Decimal") -> None: ...


def _opaque(x: Path, y: type[Any] | BaseException) -> None: ...


def _called(back: "typing.Callable | None") -> None: ...  # type: ignore[type-arg]  # as people write it


def _mapped() -> dict[tuple[int, int], int]: ...  # type: ignore[empty-body]  # only its hint is read


def _two_contexts(a: Context, b: Context) -> None: ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_args, "'*items' cannot be filled"),
        (_called, "the hint of parameter 'back', typing.Callable | None"),
        (_mapped, "the return hint, dict[tuple[int, int], int]"),
        (_unresolved, "'Decimal' is not defined"),
        (_opaque, "parameter 'y'"),
        (_two_contexts, "'a' and 'b' both take the Context"),
    ],
)
def test_what_cannot_work_is_refused_at_its_line(function: Any, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        read_signature(function, function)
    problem = caught.value.problems[0]
    assert message in problem.message.replace("typing.Optional[typing.Callable]", "typing.Callable | None")
    assert problem.file == __file__
    assert problem.excerpt.startswith(f"def {function.__name__}")
    assert problem.expected
    assert problem.suggestion


def test_recursive_parameters_share_the_root_definitions() -> None:
    def f(a: Node, b: list[Node]) -> None: ...

    schema = read_signature(f, f).input
    assert jsonschema_rs.is_valid(dict(schema), {"a": {"next": {}}, "b": [{"next": None}]})
    assert not jsonschema_rs.is_valid(dict(schema), {"a": {"next": 3}, "b": []})
