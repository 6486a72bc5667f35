"""The type of what a step will give, before the step is compiled."""

import pytest

from stretto.plan.model import Plan
from stretto.plan.outputs import OutputTypes
from stretto.plan.valuetype import BOOL, DYN, INT, STRING, ValueType, array_of, at, from_schema, object_of
from tests.unit.engine.plans import linear, plan
from tests.unit.plan.flows import Bench, component, fields, step_of, steps_of

SUM = from_schema(fields(n="integer"))
SAID = from_schema(fields(text="string"))


@pytest.fixture
def outputs() -> OutputTypes:
    sub: Plan = plan(linear(), output_type=object_of({"answer": STRING}))
    add, say = component("add", gives=fields(n="integer")), component("say", gives=fields(text="string"))
    bench = Bench(add, say, workflows={"sub.yaml": sub})
    return OutputTypes(bench.finder, bench.calls.meanings)


@pytest.mark.parametrize(
    ("step", "type_"),
    [
        ("component: add", SUM),
        ("workflow: sub.yaml", object_of({"answer": STRING})),
        ("component: add, for_each: input.x", object_of({"items": array_of(SUM)})),
        ("component: add, for_each: input.x, on_item_error: null", object_of({"items": array_of(SUM.or_null())})),
        ("workflow: sub.yaml, for_each: input.x", object_of({"items": array_of(object_of({"answer": STRING}))})),
        (
            "for_each: input.x, steps: [{name: a, component: add}, {name: b, component: say}]",
            object_of({"items": array_of(object_of({"a": SUM.or_null(), "b": SAID.or_null()}))}),
        ),
        (
            "repeat: {max_rounds: 2, carry: {n: input.n}, steps: [{name: a, component: add}]}",
            object_of(
                {
                    "last": object_of({"a": SUM.or_null()}),
                    "rounds": INT,
                    "done": BOOL,
                    "carry": object_of({"n": DYN}),
                }
            ),
        ),
    ],
)
def test_each_kind_of_step_gives_what_it_holds(outputs: OutputTypes, step: str, type_: ValueType) -> None:
    assert outputs.of(step_of(f"name: s, {step}")) == type_


@pytest.mark.parametrize("step", ["component: unknown", "workflow: unknown.yaml"])
def test_of_what_is_not_there_nothing_is_known(outputs: OutputTypes, step: str) -> None:
    assert outputs.of(step_of(f"name: s, {step}")) == DYN


def test_a_step_of_a_body_may_have_been_skipped(outputs: OutputTypes) -> None:
    step = step_of("name: s, repeat: {max_rounds: 2, steps: [{name: a, component: add}]}")
    last = at(outputs.of(step), "last")
    assert isinstance(last, ValueType)
    assert at(last, "a") == SUM.or_null()


class TestCarry:
    @pytest.mark.parametrize(
        ("mapping", "type_"),
        [
            ("n: carry.n", INT),
            ("n: carry.m", STRING),  # nobody writes it: that of its start
            ("n: total", STRING),
            ("m: carry.n", DYN),  # there is no such field, which is told elsewhere
            ("n.deep: carry.n", DYN),
        ],
    )
    def test_it_has_the_type_that_a_step_of_the_loop_writes(
        self, outputs: OutputTypes, mapping: str, type_: ValueType
    ) -> None:
        steps = steps_of(f"- {{name: a, component: add, output_mapping: {{{mapping}}}}}")
        assert outputs.of_carry(steps, "n", STRING) == type_

    def test_a_place_inside_a_field_has_its_own_type(self, outputs: OutputTypes) -> None:
        steps = steps_of("- {name: a, workflow: sub.yaml, for_each: input.x, output_mapping: {items: carry.all}}")
        assert outputs.of_carry(steps, "all", DYN) == array_of(object_of({"answer": STRING}))
        loop = "repeat: {max_rounds: 2, steps: [{name: b, component: add}]}"
        inner = steps_of(f"- {{name: a, {loop}, output_mapping: {{last.b.n: carry.n}}}}")
        assert outputs.of_carry(inner, "n", STRING) == INT.or_null()

    def test_with_several_that_write_it_it_is_what_one_or_the_other_gives(self, outputs: OutputTypes) -> None:
        steps = steps_of(
            """
            - {name: a, component: say, output_mapping: {text: carry.x}}
            - {name: b, component: add, output_mapping: {n: carry.x}}
            - {name: c, component: add, output_mapping: {n: carry.n}}
            - {name: d, component: add, condition: "input.go == true", output_mapping: {n: carry.n}}
            """
        )
        assert outputs.of_carry(steps, "x", STRING) == DYN
        assert outputs.of_carry(steps, "n", STRING) == INT
