"""Every step has its slot, and its output its names, before any step is compiled."""

import pytest

from stretto.plan.declare import Carried, Declarations
from stretto.plan.flow import Writers, declared_order
from stretto.plan.model import FIRST_FREE_SLOT
from stretto.plan.outputs import OutputTypes
from stretto.plan.valuetype import INT, from_schema
from tests.unit.plan.flows import Bench, component, fields, read, steps_of

ADD = component("add", gives=fields(n="integer"))
NEST = component(
    "nest",
    gives={"type": "object", "properties": {"in": dict(fields(n="integer"))}, "required": ["in"]},
)
OPEN = component("open")


class Declaring:
    """The names that steps get."""

    def __init__(self, text: str, carried: Carried | None = None) -> None:
        self.bench = bench = Bench(ADD, NEST, OPEN)
        self.names = bench.names
        self.carried = carried
        outputs = OutputTypes(bench.finder, bench.calls.meanings)
        declarations = Declarations(bench.report, bench.reader, outputs, bench.slots)
        writers = Writers(bench.report)
        steps = steps_of(text)
        self.slots = [declarations.declare(step, self.names, writers, carried) for step in steps]
        needs = declared_order(steps, bench.report)
        writers.bind(self.names, needs)
        if carried is not None:
            carried.settle(needs, bench.report)
        declarations.bind_merges(steps, self.names, writers)


def test_steps_have_slots_of_their_own_in_the_order_of_the_file() -> None:
    declared = Declaring("[{name: a, component: add}, {name: b, component: add}]")
    assert declared.slots == [FIRST_FREE_SLOT, FIRST_FREE_SLOT + 1]
    assert declared.bench.slots.names[FIRST_FREE_SLOT:] == ["steps.a", "steps.b"]
    assert declared.names.lookup(("steps", "b")).slots == {FIRST_FREE_SLOT + 1}


@pytest.mark.parametrize(("condition", "type_"), [("", INT), ("condition: 'input.n > 1',", INT.or_null())])
def test_what_a_step_with_a_condition_gives_may_be_null(condition: str, type_: object) -> None:
    declared = Declaring(f"- {{name: a, component: add, {condition} output_mapping: {{n: total}}}}")
    assert declared.names.lookup(("steps", "a", "n")).type == type_
    assert declared.names.lookup(("total",)).type == type_


def test_what_is_read_under_the_condition_of_its_writer_is_surely_there() -> None:
    declared = Declaring("- {name: a, component: add, condition: 'input.n > 1'}")
    guards = declared.bench.reader.guards
    written = frozenset(declared.slots)
    assert not guards.cover("steps.a.n", written)
    with guards.under("input.n > 1", frozenset({0})):
        assert guards.cover("steps.a.n", written)


class TestAliases:
    def test_an_alias_reads_a_field_or_a_place_inside_one(self) -> None:
        declared = Declaring(
            "[{name: a, component: add, output_mapping: {n: total}},"
            " {name: b, component: nest, output_mapping: {in.n: deep.n}}]"
        )
        frame = {FIRST_FREE_SLOT: {"n": 1}, FIRST_FREE_SLOT + 1: {"in": {"n": 2}}}
        assert read(declared.names, "total", frame) == 1
        assert read(declared.names, "deep", frame) == {"n": 2}
        assert declared.names.lookup(("deep", "n")).type == INT

    def test_a_field_that_the_output_has_not_is_told_and_not_bound(self) -> None:
        declared = Declaring("- {name: a, component: nest, output_mapping: {in.m: total, in: whole}}")
        (problem,) = declared.bench.problems
        assert (problem.code, problem.expected) == ("plan.unknown_field", "one of n")
        assert "the output of step 'a' has no field 'in.m'" in problem.message
        assert "total" not in declared.names.roots()
        assert declared.names.lookup(("whole",)).type == from_schema(fields(n="integer"))

    def test_of_an_output_of_which_nothing_is_known_any_field_may_be_named(self) -> None:
        declared = Declaring("- {name: a, component: open, output_mapping: {x.y: total}}")
        assert declared.bench.problems == ()
        assert read(declared.names, "total", {FIRST_FREE_SLOT: {"x": {"y": 3}}}) == 3


class TestCarries:
    STEP = "- {name: a, component: add, output_mapping: {n: carry.total}}"

    def test_a_step_of_a_loop_writes_what_the_loop_carries(self) -> None:
        carried = Carried({"total": 9})
        declared = Declaring(self.STEP, carried)
        assert declared.bench.problems == ()
        assert [(each.slot, each.path) for each in carried.writers["total"]] == [(FIRST_FREE_SLOT, ("n",))]
        assert "carry" not in declared.names.roots()

    def test_a_name_that_only_begins_so_is_one_of_the_steps_own(self) -> None:
        declared = Declaring("- {name: a, component: add, output_mapping: {n: carryover.n}}")
        assert declared.bench.problems == ()
        assert read(declared.names, "carryover.n", {FIRST_FREE_SLOT: {"n": 4}}) == 4

    def test_of_several_that_write_it_the_last_in_their_order_is_asked_first(self) -> None:
        carried = Carried({"total": 9})
        later = self.STEP.replace("name: a,", "name: b, needs: [a],")
        declared = Declaring(f"{self.STEP}\n{later}", carried)
        assert declared.bench.problems == ()
        assert [each.step for each in carried.writers["total"]] == ["b", "a"]

    @pytest.mark.parametrize(
        ("carried", "expected", "suggestion"),
        [
            (None, "a step inside a repeat that carries it", "a name of your own"),
            (Carried({"totals": 9}), "one of carry.totals", "carry.totals"),
            (Carried({"facts": 9}), "one of carry.facts", "carry: {total: {value: null}} in the repeat"),
        ],
    )
    def test_what_no_loop_around_it_carries_cannot_be_written(
        self, carried: Carried | None, expected: str, suggestion: str
    ) -> None:
        (problem,) = Declaring(self.STEP, carried).bench.problems
        assert (problem.code, problem.expected, problem.suggestion) == ("plan.carry", expected, suggestion)


class TestMerges:
    def test_a_merge_reads_its_sources_in_its_own_order(self) -> None:
        declared = Declaring(
            "[{name: a, component: add}, {name: b, component: add, merge: {total: [steps.b.n, steps.a.n]}}]"
        )
        a, b = declared.slots
        assert [binding.slot for binding in declared.names.bindings(("total",))] == [b, a]
        assert read(declared.names, "total", {a: {"n": 1}, b: {"n": 2}}) == 2
        assert read(declared.names, "total", {a: {"n": 1}}) == 1

    def test_a_source_may_be_any_path_with_its_indices(self) -> None:
        declared = Declaring(
            """
            - {name: a, component: open}
            - {name: b, component: open, merge: {m.t: ["steps.a.x[0]", "(steps.b['x y'])"]}}
            """
        )
        a, b = declared.slots
        assert declared.bench.problems == ()
        assert read(declared.names, "m.t", {a: {"x": [10, 20]}, b: {"x y": 2}}) == 10
        assert read(declared.names, "m.t", {a: {"x": []}, b: {"x y": 2}}) == 2

    def test_a_list_with_a_source_that_is_none_is_bound_to_nothing(self) -> None:
        declared = Declaring("[{name: a, component: add}, {name: b, component: add, merge: {total: [steps.b.n, '1']}}]")
        assert declared.bench.codes == ["expr.unsupported"]
        assert "total" not in declared.names.roots()

    def test_a_source_that_is_not_there_is_told(self) -> None:
        declared = Declaring(
            "[{name: a, component: add}, {name: b, component: add, merge: {total: [steps.b.n, steps.c.n]}}]"
        )
        assert declared.bench.codes == ["expr.unknown_path"]
