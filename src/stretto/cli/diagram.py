"""A workflow as boxes and arrows: every step a box, every arrow with its contract."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from stretto.cli.drawing import Arrow, Box
from stretto.cli.plan_lines import StepLine, effects_of, step_lines
from stretto.plan.model import Plan
from stretto.plan.valuetype import from_schema, render
from stretto.spec.model import FieldMapping, LiteralSpec, StepSpec, WorkflowSpec
from stretto.types.json import Json, Schema

_BOUNDS: Final = (("minLength", "maxLength"), ("minItems", "maxItems"), ("minimum", "maximum"))


def boxes_of(spec: WorkflowSpec, plan: Plan) -> list[Box]:
    """The input, every step in the order in which they run, and the output."""
    start = Box("input", _fields(plan.input_schema), ())
    end = Box("output", "what the caller gets", tuple(_arrows(spec.output, _output_schema(spec))))
    written = dict(_written(spec.steps, ""))
    lines = [line for line in step_lines(plan) if line.path in written]
    return [start, *(_step(line, written[line.path], plan) for line in lines), end]


def _written(steps: Iterable[StepSpec], prefix: str) -> Iterator[tuple[str, StepSpec]]:
    """Steps as the file has them, by path."""
    for step in steps:
        path = prefix + step.name.value
        yield path, step
        yield from _written(step.inside, f"{path}/")


def _step(line: StepLine, step: StepSpec, plan: Plan) -> Box:
    component = plan.components.get(step.component.value.partition("@")[0]) if step.component else None
    schema = {} if component is None else component.card.input
    says = [] if component is None else [f"{component.card.kind}, {effects_of(component.card)}"]
    if step.condition is not None:
        says.append(f"if {step.condition.value}")
    return Box(line.path, "; ".join(says), tuple(_arrows(step.input_mapping or (), schema)), beside=line.together)


def _arrows(mappings: Iterable[FieldMapping], schema: Schema) -> Iterator[Arrow]:
    properties = schema.get("properties")
    for mapping in mappings:
        field, source = mapping.field.value, mapping.source
        known = properties.get(field, {}) if isinstance(properties, Mapping) else {}
        read = repr(source.value) if isinstance(source, LiteralSpec) else source.value
        yield Arrow(field, contract_text(known), read)


def contract_text(schema: Any) -> str:  # a sub-schema: an object, or true
    """A schema in a few characters: ``string[1,2000]``, ``orders | refunds``."""
    if not isinstance(schema, Mapping) or not schema:
        return "any"
    kind = from_schema(schema)
    if kind.values:
        return " | ".join(kind.values) + ("?" if kind.nullable else "")
    types = schema.get("type")
    text = " | ".join(map(str, types)) if isinstance(types, list) else render(kind)
    for low, high in _BOUNDS:
        if low in schema or high in schema:
            text = f"{text.rstrip('?')}[{_bound(schema, low)},{_bound(schema, high)}]{'?' if kind.nullable else ''}"
    return text


def _bound(schema: Mapping[str, Json], name: str) -> str:
    return str(schema.get(name, ""))


def _fields(schema: Schema) -> str:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return "what the caller gives"
    return ", ".join(f"{name}: {contract_text(each)}" for name, each in properties.items())


def _output_schema(spec: WorkflowSpec) -> Schema:
    return spec.contract.output.schema if spec.contract is not None and spec.contract.output is not None else {}
