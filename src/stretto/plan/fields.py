"""Compile mappings: expressions to getters, held against the schema of the place that they feed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import orjson

from stretto.plan.check import Check
from stretto.plan.codes import PlanCode
from stretto.plan.expr import Expression, compile_located
from stretto.plan.guards import Guards
from stretto.plan.model import NO_RESOURCES, Getter, Note, Resources
from stretto.plan.names import Names
from stretto.plan.resources import resources_in
from stretto.plan.valuetype import (
    BOOL,
    DYN,
    Kind,
    ValueType,
    from_schema,
    may_be_null,
    mismatch,
    object_of,
    proves,
    render,
)
from stretto.spec.model import FieldMapping, LiteralSpec
from stretto.spec.report import Report
from stretto.spec.source import Located, Span
from stretto.spec.suggest import nearest
from stretto.types.errors import Problem
from stretto.types.json import Json, Schema, ValuePath


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One compiled source: an expression or a constant."""

    get: Getter
    type: ValueType
    slots: frozenset[int] = frozenset()
    span: Span
    constant: tuple[Json] | None = None
    """The value, boxed, when the file gives a constant."""
    path: str = ""
    """Its text, when it is a path and nothing else."""
    parts: ValuePath = ()
    """That path, part by part."""
    resources: Resources = NO_RESOURCES
    """What it reads of `resources`."""


class Reader:
    """Compiles the expressions of one workflow file; problems go to the report, doubts to the notes."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.notes: list[Note] = []
        self.guards = Guards()
        self.texts: list[str] = []
        """Every expression that was compiled, as it is written."""

    def expression(self, text: Located[str], names: Names, *, expect: ValueType | None = None) -> Read | None:
        """Compile an expression; None after reporting what is wrong with it."""
        compiled = compile_located(text, names, self.report, expect=expect)
        if compiled is None:
            return None
        self.texts.append(text.value)
        self._note_doubts(text, compiled)
        path = text.value.strip() if compiled.is_path else ""
        return Read(
            get=compiled.evaluate,
            type=compiled.type,
            slots=compiled.slots,
            span=text.span,
            path=path,
            parts=compiled.is_path or (),
            resources=resources_in(compiled.paths),
        )

    def condition(self, text: Located[str], names: Names) -> Read | None:
        """Compile a condition; a constant one is reported or noted."""
        read = self.expression(text, names, expect=BOOL)
        if read is not None and not read.slots and read.type.kind is BOOL.kind:
            if read.get([]) is not True:
                self.report.add(
                    text.span.problem(
                        PlanCode.UNREACHABLE,
                        f"the condition `{text.value}` is never true, so the step can never run",
                        expected="a condition that depends on the run",
                        suggestion="remove the step, or its condition",
                    )
                )
            else:
                self.note(text.span, f"the condition `{text.value}` is always true")
        return read

    def source(self, mapping: FieldMapping, names: Names) -> Read | None:
        """Compile where a field's value comes from."""
        source = mapping.source
        if isinstance(source, LiteralSpec):
            encoded = orjson.dumps(source.value)

            def constant(_frame: list[Any], encoded: bytes = encoded) -> Json:
                value: Json = orjson.loads(encoded)
                return value

            kind = from_schema({"const": source.value})
            return Read(get=constant, type=kind, span=source.span, constant=(source.value,))
        return self.expression(source, names)

    def note(self, span: Span, text: str, *, verbose: bool = False) -> None:
        """Say something that is no error."""
        self.notes.append(Note(place=span.mark.place, text=text, verbose=verbose))

    def _note_doubts(self, text: Located[str], compiled: Expression) -> None:
        for part in compiled.dyn_parts:
            self.note(text.part(part.offset, part.width), f"`{part.text}` is dyn: {part.why}", verbose=True)


class Meant(Protocol):
    """Which domains the fields of the object that a mapping builds belong to."""

    def crossed(self, field_name: str, read: Read) -> ValueType:
        """The type of a field's value once it has crossed into its domains, if it belongs to any."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped:
    """A compiled mapping."""

    getters: tuple[tuple[str, Getter], ...]
    slots: frozenset[int]
    type: ValueType
    """Of the object that it builds."""
    proven: bool
    """Every value surely fits: nothing is left to check at run time."""
    resources: Resources


def compile_mapping(
    reader: Reader,
    mappings: Sequence[FieldMapping],
    names: Names,
    schema: Schema | None,
    at: Span,
    whose: str,
    *,
    after_steps: bool = False,
    meant: Meant | None = None,
) -> Mapped:
    """Compile a mapping and hold it against the schema of the object that it builds.

    `whose` names the place in messages: ``component 'planner'``; `after_steps`, that every step has ended there.
    What belongs to a domain is held against the schema as it is once it has crossed.
    """
    reads: dict[str, Read] = {}
    for mapping in mappings:
        read = reader.source(mapping, names)
        read = read or Read(get=_null, type=DYN, span=mapping.field.span)
        if meant is not None:
            read = replace(read, type=meant.crossed(mapping.field.value, read))
        reads[mapping.field.value] = read
    target = DYN if schema is None else from_schema(schema)
    if schema is not None:
        _check_names(reader.report, mappings, target, whose)
        for name in sorted(target.required - reads.keys()):
            kind = target.fields.get(name, DYN)
            suggestion = _source_of(name, kind, names, after_steps=after_steps)
            reader.report.add(_missing(name, kind, at, whose, suggestion))
        for mapping in mappings:
            _check_value(reader, mapping, reads[mapping.field.value], target, schema, whose)
    built = object_of({name: read.type for name, read in reads.items()})
    return Mapped(
        getters=tuple((name, read.get) for name, read in reads.items()),
        slots=frozenset().union(*(read.slots for read in reads.values())),
        type=built,
        proven=schema is None or proves(built, target),
        resources=NO_RESOURCES.union(*(read.resources for read in reads.values())),
    )


def _check_names(report: Report, mappings: Sequence[FieldMapping], target: ValueType, whose: str) -> None:
    for mapping in mappings:
        name = mapping.field.value
        if target.kind is Kind.OBJECT and name not in target.fields and target.rest is None:
            near = nearest(name, target.fields)
            report.add(
                mapping.field.span.problem(
                    PlanCode.UNKNOWN_FIELD,
                    f"{whose} has no field '{name}'",
                    expected=f"one of {_listed(target.fields)}",
                    suggestion=near or "",
                )
            )


def _missing(name: str, kind: ValueType, at: Span, whose: str, suggestion: str) -> Problem:
    return at.problem(
        PlanCode.MISSING_FIELD,
        f"{whose} needs the field '{name}', which nothing gives",
        expected=f"'{name}' ({render(kind)}) in the mapping",
        suggestion=suggestion,
    )


def _source_of(name: str, kind: ValueType, names: Names, *, after_steps: bool) -> str:
    """An entry for a field that is missing: from a path of that name whose value can fit, else a constant."""
    offered = (path for path, found in names.offering(name, steps=after_steps) if mismatch(found, kind) is None)
    path = next(offered, None)
    return f"{name}: {{value: ...}}, or a path in quotes" if path is None else f'{name}: "{path}"'


def _check_value(
    reader: Reader, mapping: FieldMapping, read: Read, target: ValueType, schema: Schema, whose: str
) -> None:
    name = mapping.field.value
    wanted = target.fields.get(name)
    if wanted is None:
        return
    reason = mismatch(read.type, wanted)
    if reason is None and read.constant is not None:
        found = Check(_field_schema(schema, name)).violations(read.constant[0])
        reason = str(found[0]) if found else None
    if reason is not None:
        reader.report.add(
            read.span.problem(
                PlanCode.TYPE,
                f"'{name}' of {whose} can never take this value: {reason}",
                expected=render(wanted),
            )
        )
    elif may_be_null(read.type) and not may_be_null(wanted) and wanted.kind is not DYN.kind:
        asked_before = not read.path or reader.guards.cover(read.path, read.slots)
        reader.note(read.span, f"may be null, and then fails: '{name}' of {whose} takes no null", verbose=asked_before)


def _field_schema(schema: Schema, name: str) -> Schema:
    """A field's own schema, with the definitions that it may refer to."""
    properties = schema.get("properties")
    own = properties.get(name) if isinstance(properties, Mapping) else None
    definitions = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    return {**(own if isinstance(own, dict) else {}), **definitions}


def _null(_frame: list[Any]) -> Json:
    return None


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(sorted(names)) or "none: it has no fields"
