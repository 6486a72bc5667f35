"""A workflow drawn as text: every step a box, every arrow with its contract."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rich.text import Text

from stretto.cli.plan_lines import effects_of
from stretto.plan.model import Plan
from stretto.plan.valuetype import from_schema, render
from stretto.spec.model import FieldMapping, LiteralSpec, StepSpec, WorkflowSpec
from stretto.types.json import Json, Schema

_BOUNDS: Final = (("minLength", "maxLength"), ("minItems", "maxItems"), ("minimum", "maximum"))


@dataclass(frozen=True, slots=True)
class Strokes:
    """What boxes and arrows are drawn with."""

    top: str
    sides: str
    bottom: str
    line: str
    down: str
    across: str
    tip: str
    comes_from: str


UNICODE: Final = Strokes("╭╮", "│", "╰╯", "│", "┬", "─", "▼", "←")
ASCII: Final = Strokes("++", "|", "++", "|", "+", "-", "v", "<-")


@dataclass(frozen=True, slots=True)
class Arrow:
    """What one field of a step is given."""

    field: str
    contract: str
    source: str


@dataclass(frozen=True, slots=True)
class Box:
    """A step, or one of the workflow's two ends."""

    name: str
    says: str
    arrows: tuple[Arrow, ...]


def boxes_of(spec: WorkflowSpec, plan: Plan) -> list[Box]:
    """The input, every step in the order of the file, and the output."""
    start = Box("input", _fields(plan.input_schema), ())
    end = Box("output", "what the caller gets", tuple(_arrows(spec.output, _output_schema(spec))))
    return [start, *_steps(spec.steps, plan, ""), end]


def draw(boxes: Iterable[Box], strokes: Strokes) -> Text:
    """The boxes under one another, each below the arrows that lead to it."""
    boxes = list(boxes)
    width = max(len(box.name) for box in boxes) + 4
    middle = width // 2
    arrows = [arrow for box in boxes for arrow in box.arrows]
    columns = [max((len(getattr(a, part)) for a in arrows), default=0) for part in ("field", "contract")]
    text = Text()
    for number, box in enumerate(boxes):
        if number:
            text.append_text(_incoming(box.arrows, " " * (middle + 1), columns, strokes))
        text.append_text(_box(box, width, middle, strokes, is_last=number == len(boxes) - 1))
    return text


def _incoming(arrows: tuple[Arrow, ...], indent: str, columns: list[int], strokes: Strokes) -> Text:
    text = Text()
    for arrow in arrows or (Arrow("", "", ""),):
        text.append(f"{indent}{strokes.line}", "dim")
        if arrow.field:
            text.append(f"  {arrow.field:<{columns[0]}}", "cyan").append(f"  {arrow.contract:<{columns[1]}}")
            text.append(f"  {strokes.comes_from} {arrow.source}", "dim")
        text.append("\n")
    return text.append(f"{indent}{strokes.tip}\n", "dim")


def _box(box: Box, width: int, middle: int, strokes: Strokes, *, is_last: bool) -> Text:
    edge = strokes.across * width
    below = edge if is_last else f"{strokes.across * middle}{strokes.down}{strokes.across * (width - middle - 1)}"
    text = Text(f"{strokes.top[0]}{edge}{strokes.top[1]}\n", "dim")
    text.append(strokes.sides, "dim").append(f"{box.name:^{width}}", "bold").append(strokes.sides, "dim")
    text.append(f"  {box.says}\n")
    return text.append(f"{strokes.bottom[0]}{below}{strokes.bottom[1]}\n", "dim")


def _steps(steps: Iterable[StepSpec], plan: Plan, prefix: str) -> Iterator[Box]:
    for step in steps:
        name = prefix + step.name.value
        component = plan.components.get(step.component.value.partition("@")[0]) if step.component else None
        schema = component.card.input if component else {}
        says = [f"{component.card.kind}, {effects_of(component.card)}"] if component else []
        if step.condition is not None:
            says.append(f"if {step.condition.value}")
        yield Box(name, "; ".join(says), tuple(_arrows(step.input_mapping or (), schema)))
        inner = step.repeat.steps if step.repeat else step.for_each.steps if step.for_each else ()
        yield from _steps(inner, plan, f"{name}/")


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
