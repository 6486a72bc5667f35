"""Mappings: what is read, held against the place that it feeds."""

from typing import Any

import pytest

from stretto.plan.fields import Mapped, compile_mapping
from stretto.plan.model import INPUT, MEMORY
from stretto.plan.names import Binding
from stretto.plan.valuetype import INT, object_of
from stretto.spec.model import FieldMapping
from stretto.types.json import Schema
from tests.unit.plan.flows import Bench, fields, located, step_of

TAKES = fields(n="integer", text="string")
OPTIONAL: Schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}


class Mapping:
    """A mapping compiled for a place with a schema."""

    def __init__(
        self, written: str, schema: Schema | None, takes: Schema = TAKES, *, after_steps: bool = False
    ) -> None:
        self.bench = Bench(takes=takes)
        step = step_of(f"name: s, component: c, input_mapping: {{{written}}}")
        self.mapped: Mapped = compile_mapping(
            self.bench.reader, step.input_mapping or (), self.bench.names, schema, step.name.span, "component 'c'"
        )

    def built(self, run_input: object) -> dict[str, Any]:
        return {name: get([run_input]) for name, get in self.mapped.getters}

    @property
    def notes(self) -> list[tuple[str, bool]]:
        return [(note.text, note.verbose) for note in self.bench.reader.notes]


class TestValues:
    def test_each_field_reads_its_source(self) -> None:
        mapping = Mapping("a: input.n, b: 'input.n + 1', c: {value: 'input.n'}", None)
        assert mapping.built({"n": 4}) == {"a": 4, "b": 5, "c": "input.n"}
        assert mapping.mapped.slots == {INPUT}
        assert mapping.mapped.type.fields["b"] == INT

    def test_a_constant_is_new_at_every_reading(self) -> None:
        mapping = Mapping("a: {value: {list: [1]}}", None)
        mapping.built({})["a"]["list"].append(2)
        assert mapping.built({}) == {"a": {"list": [1]}}

    def test_the_slots_of_all_sources_are_read(self) -> None:
        assert Mapping("a: input.n, b: memory.recent", None).mapped.slots == {INPUT, MEMORY}

    def test_a_source_that_cannot_be_compiled_is_told_and_the_others_are_held_on(self) -> None:
        mapping = Mapping("n: inptu.n, x: input.n", fields(n="integer"))
        assert mapping.bench.codes == ["expr.unknown_name", "plan.unknown_field"]


class TestProof:
    @pytest.mark.parametrize(
        ("written", "schema", "proven"),
        [
            ("a: input.n", None, True),
            ("n: input.n", fields(n="integer"), True),
            ("n: input.n", fields(n="number"), True),
            ("n: {value: 3}", fields(n="integer"), True),
            ("n: memory.n", fields(n="integer"), False),  # of which nothing is known
            ("n: input.n", {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}, False),
        ],
    )
    def test_a_check_is_left_out_only_where_every_value_fits(
        self, written: str, schema: Schema | None, proven: bool
    ) -> None:
        mapping = Mapping(written, schema)
        assert mapping.bench.problems == ()
        assert mapping.mapped.proven is proven


class TestNames:
    def test_a_field_that_is_not_taken_is_told_with_the_nearest_that_is(self) -> None:
        mapping = Mapping("n: input.n, txet: input.text", TAKES)
        (missing, unknown) = mapping.bench.problems
        assert (unknown.code, unknown.expected, unknown.suggestion) == ("plan.unknown_field", "one of n, text", "text")
        assert missing.code == "plan.missing_field"

    def test_what_takes_no_field_takes_none_of_any_name(self) -> None:
        (problem,) = Mapping("n: input.n", fields()).bench.problems
        assert (problem.code, problem.expected) == ("plan.unknown_field", "one of none: it has no fields")

    @pytest.mark.parametrize(
        "schema",
        [
            {"type": "object"},
            {},
            {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": True},
        ],
    )
    def test_where_any_field_is_taken_none_is_unknown(self, schema: Schema) -> None:
        assert Mapping("anything: input.n", schema).bench.problems == ()

    @pytest.mark.parametrize(
        ("missing", "suggestion"),
        [
            (fields(n="integer"), 'n: "input.n"'),
            (fields(text="integer"), "text: {value: ...}, or a path in quotes"),  # there is one, of another type
            (fields(other="integer"), "other: {value: ...}, or a path in quotes"),
        ],
    )
    def test_a_field_that_nothing_gives_is_told_with_a_path_that_can(self, missing: Schema, suggestion: str) -> None:
        (problem,) = Mapping("", missing).bench.problems
        assert (problem.code, problem.suggestion) == ("plan.missing_field", suggestion)

    @pytest.mark.parametrize(("after_steps", "suggestion"), [(True, 'm: "steps.a.m"'), (False, "m: {value: ...}")])
    def test_what_a_step_gives_is_offered_where_every_step_has_ended(self, after_steps: bool, suggestion: str) -> None:
        bench, at = Bench(takes=TAKES), located("output")
        kind = object_of({"m": INT})
        bench.names.bind(("steps", "a"), [Binding(slot=4, type=kind, step="a")])
        schema = fields(m="integer")
        compile_mapping(bench.reader, [], bench.names, schema, at.span, "the output", after_steps=after_steps)
        assert [each.suggestion.split(", or")[0] for each in bench.problems] == [suggestion]

    def test_a_field_that_may_be_left_out_is_not_missing(self) -> None:
        assert Mapping("", {"type": "object", "properties": {"n": {"type": "integer"}}}).bench.problems == ()


class TestTypes:
    def test_a_value_that_never_fits_is_told_where_it_is_written(self) -> None:
        (problem,) = Mapping("n: input.text", fields(n="integer")).bench.problems
        assert (problem.code, problem.expected) == ("plan.type", "integer")
        assert problem.message == ("'n' of component 'c' can never take this value: a string is not an integer")
        assert problem.excerpt[problem.column - problem.excerpt_column :].startswith("input.text")

    @pytest.mark.parametrize(
        ("value", "fits"), [("3", True), ("5", False), ("'3'", False), ("{deep: 1}", False), ("null", False)]
    )
    def test_a_constant_is_held_against_the_whole_schema(self, value: str, fits: bool) -> None:
        schema: Schema = {
            "type": "object",
            "properties": {"n": {"$ref": "#/$defs/small"}},
            "$defs": {"small": {"type": "integer", "maximum": 4}},
        }
        assert Mapping(f"n: {{value: {value}}}", schema).bench.codes == ([] if fits else ["plan.type"])


class TestNull:
    SAYS = "may be null, and then fails: 'n' of component 'c' takes no null"

    def test_what_may_be_null_where_null_fails_is_noted(self) -> None:
        assert Mapping("n: input.n", fields(n="integer"), OPTIONAL).notes == [(self.SAYS, False)]

    @pytest.mark.parametrize(
        "schema",
        [
            None,
            {"type": "object"},
            {"properties": {"n": {}}},
            {"properties": {"n": {"type": ["integer", "null"]}}},
        ],
    )
    def test_where_null_is_taken_nothing_is_noted(self, schema: Schema | None) -> None:
        assert Mapping("n: input.n", schema, OPTIONAL).notes == []

    def test_what_an_expression_makes_null_was_meant_so(self) -> None:
        mapping = Mapping("n: 'input.text == \"\" ? input.n : null'", fields(n="integer"))
        assert (self.SAYS, True) in mapping.notes
        assert (self.SAYS, False) not in mapping.notes

    def test_under_a_condition_that_asks_it_is_said_only_to_those_who_want_all(self) -> None:
        bench = Bench(takes=OPTIONAL)
        mapping = FieldMapping(located("n"), located("input.n"))
        with bench.reader.guards.under("input.n > 1", frozenset({INPUT})):
            compile_mapping(
                bench.reader, [mapping], bench.names, fields(n="integer"), mapping.field.span, "component 'c'"
            )
        assert [(note.text, note.verbose) for note in bench.reader.notes] == [(self.SAYS, True)]


class TestConditions:
    def test_a_condition_that_is_never_true_makes_a_step_that_never_runs(self) -> None:
        bench = Bench()
        bench.reader.condition(located("1 > 2"), bench.names)
        assert bench.codes == ["plan.unreachable"]

    def test_a_condition_that_is_always_true_is_noted(self) -> None:
        bench = Bench()
        bench.reader.condition(located("1 < 2"), bench.names)
        assert bench.problems == ()
        assert [note.text for note in bench.reader.notes] == ["the condition `1 < 2` is always true"]

    def test_a_condition_that_reads_something_is_neither(self) -> None:
        bench = Bench(takes=TAKES)
        read = bench.reader.condition(located("input.n > 2"), bench.names)
        assert read is not None
        assert (bench.problems, bench.reader.notes) == ((), [])
        assert [read.get([{"n": n}]) for n in (2, 3)] == [False, True]

    def test_what_can_never_be_true_or_false_is_no_condition(self) -> None:
        bench = Bench(takes=TAKES)
        assert bench.reader.condition(located("input.n + 1"), bench.names) is None
        assert len(bench.problems) == 1


class TestExpressions:
    def test_a_problem_stands_at_its_part_of_the_file(self) -> None:
        step = step_of("name: s, component: c, input_mapping: {n: 'input.n + inptu.n'}")
        bench = Bench(takes=TAKES)
        (mapping,) = step.input_mapping or ()
        assert bench.reader.source(mapping, bench.names) is None
        (problem,) = bench.problems
        assert problem.excerpt[problem.column - problem.excerpt_column :].startswith("inptu.n")

    @pytest.mark.parametrize(("text", "path"), [(" input.n ", "input.n"), ("input.n + 1", "")])
    def test_only_a_path_alone_is_one(self, text: str, path: str) -> None:
        bench = Bench(takes=TAKES)
        read = bench.reader.expression(located(text), bench.names)
        assert read is not None
        assert read.path == path

    def test_what_cannot_be_typed_is_noted_for_those_who_want_all(self) -> None:
        bench = Bench()
        bench.reader.expression(located("input.n + 1"), bench.names)
        assert bench.reader.notes
        assert all(note.verbose and "is dyn" in note.text for note in bench.reader.notes)


def test_nothing_mapped_builds_the_empty_object() -> None:
    mapping = Mapping("", None)
    assert (mapping.built({}), mapping.mapped.type) == ({}, object_of({}))
