"""Values built from expressions: JSON whose texts are expressions, constants as ``{value: ...}``, and secrets as
``{env: NAME}``."""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import orjson

from stretto.components.http.scope import Frame, Scope
from stretto.components.http.secrets import Secrets
from stretto.plan.expr import Expression, compile_located
from stretto.plan.valuetype import DYN, ValueType, array_of, from_schema, object_of
from stretto.spec.codes import SpecCode
from stretto.spec.nodes import ListNode, MapNode, Node, ScalarNode, to_json
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.types.json import Json, JsonObject

Fill: TypeAlias = Callable[[Frame, Secrets], Json]
"""Builds a value out of a frame. Raises ExpressionError where an expression has none, ComponentError for a secret that
is not set."""

Template: TypeAlias = tuple[Fill, ValueType]
"""How a value is built, and the type that it will have."""

CONSTANT: Final = frozenset({"value"})
SECRET: Final = frozenset({"env"})


def compile_template(node: Node, scope: Scope, report: Report, *, secrets: bool = True) -> Template | None:
    """Compile a value; None after reporting what is wrong in it. `secrets` says whether environment variables may be
    read: what they hold goes to the service, never into an output."""
    if isinstance(node, ListNode):
        return _list(node, scope, report, secrets=secrets)
    if isinstance(node, MapNode):
        if node.entries.keys() == CONSTANT:
            return _constant(node.entries["value"].node, report)
        if secrets and node.entries.keys() == SECRET:
            variable = secret_of(node, report)
            return (
                None if variable is None else (lambda _, known: known.read(variable), from_schema({"type": "string"}))
            )
        return _object(node, scope, report, secrets=secrets)
    if isinstance(node.value, str):
        return expression_of(Located(node.value, node.span), scope, report)
    return _fixed(node.value)


def expression_of(text: Located[str], scope: Scope, report: Report) -> Template | None:
    """An expression as a template."""
    compiled = compile_located(text, scope, report)
    return None if compiled is None else (_evaluate(compiled), compiled.type)


def secret_of(node: Node, report: Report) -> str | None:
    """The variable that ``{env: NAME}`` names; None after reporting that it is none."""
    inner = node.get("env") if isinstance(node, MapNode) and node.entries.keys() == SECRET else None
    name = inner.value if isinstance(inner, ScalarNode) else None
    if isinstance(name, str) and name.isidentifier() and name.isascii():
        return name
    message = "a secret stands in the environment, and the file names its variable"
    expected = "{env: NAME}, the name of an environment variable"
    report.add(node.span.problem(SpecCode.VALUE, message, expected=expected, suggestion="{ env: SERVICE_KEY }"))
    return None


def _evaluate(compiled: Expression) -> Fill:
    run = compiled.evaluate
    return lambda frame, _: run(frame)


def _fixed(value: Json) -> Template:
    encoded = orjson.dumps(value)
    return (lambda _, __: orjson.loads(encoded)), from_schema({"const": value})


def _constant(node: Node, report: Report) -> Template | None:
    """A constant; text that reads as a path of the input was surely meant as one."""
    value = to_json(node)
    if isinstance(value, str) and value.startswith("input."):
        message = f"`{{value: ...}}` is a constant, so the text '{value}' itself would be sent"
        expected = f'"{value}" for the field; for an object with the one key `value`, an expression'
        suggestion = f"\"{{'value': {value}}}\""
        report.add(node.span.problem(SpecCode.VALUE, message, expected=expected, suggestion=suggestion))
        return None
    return _fixed(value)


def _list(node: ListNode, scope: Scope, report: Report, *, secrets: bool) -> Template | None:
    compiled = [compile_template(item, scope, report, secrets=secrets) for item in node.items]
    parts = [part for part in compiled if part is not None]
    if len(parts) < len(compiled):
        return None
    fills = [fill for fill, _ in parts]
    return (lambda frame, known: [fill(frame, known) for fill in fills]), array_of(DYN)


def _object(node: MapNode, scope: Scope, report: Report, *, secrets: bool) -> Template | None:
    parts = compile_fields(node, scope, report, secrets=secrets)
    if parts is None:
        return None
    fills = {name: fill for name, (fill, _) in parts.items()}

    def build(frame: Frame, known: Secrets) -> JsonObject:
        return {name: fill(frame, known) for name, fill in fills.items()}

    return build, object_of({name: kind for name, (_, kind) in parts.items()})


def compile_fields(
    node: MapNode, scope: Scope, report: Report, *, secrets: bool = True
) -> Mapping[str, Template] | None:
    """The values of a mapping by name; None after reporting what is wrong in any."""
    compiled = {
        name: compile_template(entry.node, scope, report, secrets=secrets) for name, entry in node.entries.items()
    }
    parts = {name: part for name, part in compiled.items() if part is not None}
    return parts if len(parts) == len(compiled) else None
