"""Blocks and the bodies inside them, compiled against the names of their place."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from stretto.plan.model import FIRST_FREE_SLOT, INPUT, CallOp, LoopOp, MapOp, SubOp
from stretto.plan.valuetype import INT, object_of
from stretto.spec.workflow import parse_workflow
from stretto.types.enums import Effect
from tests.unit.engine.plans import linear, plan
from tests.unit.plan.flows import Bench, component, fields, inside

ADD = component("add", takes=fields(n="integer"), gives=fields(n="integer"))
ANY = component("any")
PAY = component("pay", effects={"*": Effect.WRITE})
ITEMS = {"type": "object", "properties": {"items": {"type": "array", "items": {"type": "integer"}}}}


def bench(**given_: Any) -> Bench:
    return Bench(ADD, ANY, PAY, **given_)


def frame(values: dict[int, object]) -> list[Any]:
    return [values.get(slot) for slot in range(40)]


leaves = st.just({"component": "any"}) | st.just({"component": "any", "for_each": "input.items"})


def holders(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    bodies = st.lists(inner, min_size=1, max_size=3)
    carries = st.dictionaries(st.sampled_from(["x", "y"]), st.just("input.n"), min_size=1)
    return st.builds(lambda steps: {"for_each": "input.items", "steps": steps}, bodies) | st.builds(
        lambda steps, carry: {"repeat": {"max_rounds": 2, "carry": carry, "steps": steps}}, bodies, carries
    )


flows = st.lists(st.recursive(leaves, holders, max_leaves=8), min_size=1, max_size=3)


def numbered(steps: list[dict[str, Any]], number: Iterator[int]) -> list[dict[str, Any]]:
    """The steps with names that differ all over the workflow."""
    named = []
    for step in steps:
        step = {"name": f"s{next(number)}", **step}
        if "steps" in step:
            step["steps"] = numbered(step["steps"], number)
        if "repeat" in step:
            step["repeat"] = {**step["repeat"], "steps": numbered(step["repeat"]["steps"], number)}
        named.append(step)
    return named


@settings(max_examples=50)
@given(flows)
def test_no_two_things_of_a_workflow_share_a_place(steps: list[dict[str, Any]]) -> None:
    text = json.dumps({"stretto": 1, "components": "c.py", "steps": numbered(steps, iter(range(99)))})
    one = bench()
    block = one.blocks.compile(parse_workflow(text, name="w.json").steps, one.names)
    taken: list[int] = []
    for op in inside(block.ops):
        taken.append(op.slot)
        if isinstance(op, MapOp):
            taken += [op.item_slot, op.index_slot]
        if isinstance(op, LoopOp):
            taken += [op.round_slot, *(carry.slot for carry in op.carries)]
    assert sorted(taken) == list(range(FIRST_FREE_SLOT, len(one.slots.names)))


class TestConditions:
    def test_a_step_waits_for_what_its_condition_reads(self) -> None:
        block = bench().block(
            """
            - {name: late, component: add, condition: "steps.first.n > 1", input_mapping: {n: input.n}}
            - {name: first, component: add, input_mapping: {n: input.n}}
            """
        )
        first, late = block.ops
        assert (first.name, late.name, block.linear) == ("first", "late", True)
        assert late.guard is not None
        assert (late.guard_source, late.guard_reads) == ("steps.first.n > 1", frozenset({first.slot}))
        assert late.reads == {INPUT, first.slot}
        assert [late.guard(frame({first.slot: {"n": n}})) for n in (1, 2)] == [False, True]

    def test_under_its_condition_a_step_may_read_what_may_be_null(self) -> None:
        one = bench(takes={"type": "object", "properties": {"n": {"type": "integer"}}})
        one.block('- {name: a, component: add, condition: "input.n > 1", input_mapping: {n: input.n}}')
        one.block("- {name: b, component: add, input_mapping: {n: input.n}}")
        assert [note.verbose for note in one.reader.notes] == [True, False]

    def test_a_condition_on_one_field_of_a_step_makes_sure_of_the_others(self) -> None:
        one = bench(takes=fields(n="integer"))
        one.block(
            """
            - {name: a, component: add, condition: "input.n > 1", input_mapping: {n: input.n}}
            - {name: b, component: add, condition: "steps.a != null", input_mapping: {n: steps.a.n}}
            - {name: c, component: add, input_mapping: {n: steps.a.n}}
            """
        )
        assert [note.verbose for note in one.reader.notes] == [True, False]

    @pytest.mark.parametrize("holder", ["for_each: input.items, component: any", "workflow: sub.yaml"])
    def test_steps_that_hold_others_have_conditions_too(self, holder: str) -> None:
        one = bench(workflows={"sub.yaml": plan(linear())})
        (op,) = one.block(f'- {{name: a, condition: "input.go == true", {holder}}}').ops
        assert op.guard_source == "input.go == true"


class TestAliases:
    def test_steps_read_each_others_aliases_and_merges_and_wait_for_all_their_writers(self) -> None:
        block = bench().block(
            """
            - {name: late, component: any, input_mapping: {v: best}}
            - {name: total, component: any, input_mapping: {v: sum.a}}
            - {name: a, component: add, input_mapping: {n: input.n}, output_mapping: {n: sum.a}}
            - {name: b, component: add, input_mapping: {n: input.n}, merge: {best: [steps.b.n, steps.a.n]}}
            """
        )
        ops = {op.name: op for op in block.ops}
        late, a, b = ops["late"], ops["a"], ops["b"]
        assert isinstance(late, CallOp)
        assert late.reads == {a.slot, b.slot}
        assert ops["total"].reads == {a.slot}
        ((_, best),) = late.inputs
        assert best(frame({a.slot: {"n": 1}, b.slot: {"n": 2}})) == 2
        assert best(frame({a.slot: {"n": 1}})) == 1


class TestCannotBeCompiled:
    @pytest.mark.parametrize(
        ("step", "codes"),
        [
            ("component: unknown", ["plan.unknown_component"]),
            ("component: unknown, for_each: input.items", ["plan.unknown_component"]),
            ("component: any, for_each: inptu.items", ["expr.unknown_name"]),
            ("component: any, condition: 'inptu.n > 1'", ["expr.unknown_name"]),
            ("workflow: unknown.yaml", []),  # who looks for it tells why it is not there
        ],
    )
    def test_what_is_wrong_with_one_step_keeps_nothing_else_from_being_told(self, step: str, codes: list[str]) -> None:
        one = bench()
        one.block(f"[{{name: a, {step}}}, {{name: b, component: add, input_mapping: {{n: inptu.n}}}}]")
        assert one.codes == [*codes, "expr.unknown_name"]

    @pytest.mark.parametrize("key", ["resilience: {timeout: 1s}", "estimate: {tokens: 5}"])
    @pytest.mark.parametrize(
        ("holder", "codes"),
        [
            ("for_each: input.items, steps: [{name: b, component: any}]", ["spec.no_effect"]),
            ("repeat: {max_rounds: 2, steps: [{name: b, component: any}]}", ["spec.no_effect"]),
            ("workflow: sub.yaml", ["spec.no_effect"]),
            ("for_each: input.items, component: any", []),
            ("component: any", []),
        ],
    )
    def test_what_acts_on_a_call_has_no_effect_where_there_is_none(
        self, key: str, holder: str, codes: list[str]
    ) -> None:
        one = bench(workflows={"sub.yaml": plan(linear())})
        one.block(f"- {{name: a, {key}, {holder}}}")
        assert one.codes == codes


class TestMap:
    def test_its_body_reads_the_item_and_its_place_under_their_names(self) -> None:
        one = bench(takes=ITEMS)
        (op,) = one.block(
            "- {name: a, for_each: input.items, as: order, component: any, input_mapping: {o: order, i: index}}"
        ).ops
        assert isinstance(op, MapOp)
        (call,) = op.body.ops
        assert isinstance(call, CallOp)
        own = frame({op.item_slot: 7, op.index_slot: 2})
        assert {name: get(own) for name, get in call.inputs} == {"o": 7, "i": 2}
        assert (op.over_source, op.over(frame({INPUT: {"items": [1]}}))) == ("input.items", [1])
        assert op.over_reads == {INPUT}

    def test_its_item_has_the_type_of_the_lists_items(self) -> None:
        one = bench(takes={**ITEMS, "properties": {"items": {"type": "array", "items": {"type": "string"}}}})
        one.block("- {name: a, for_each: input.items, component: add, input_mapping: {n: item}}")
        assert one.codes == ["plan.type"]

    def test_what_is_no_list_is_told(self) -> None:
        one = bench(takes=fields(items="string"))
        one.block("- {name: a, for_each: input.items, component: any}")
        (problem,) = one.problems
        assert (problem.code, problem.expected) == ("plan.not_a_list", "a list")

    def test_the_result_of_an_item_is_the_call_or_an_object_of_the_steps(self) -> None:
        one = bench()
        alone, several = one.block(
            """
            - {name: a, for_each: input.items, component: any}
            - name: b
              for_each: "input.items"
              steps: [{name: x, component: any}, {name: y, component: any}]
            """
        ).ops
        assert isinstance(alone, MapOp)
        assert isinstance(several, MapOp)
        (call,) = alone.body.ops
        assert (call.name, alone.result(frame({call.slot: {"v": 1}}))) == ("", {"v": 1})
        x, y = several.body.ops
        assert several.result(frame({x.slot: {"v": 1}})) == {"x": {"v": 1}, "y": None}
        assert (x.name, y.name) == ("x", "y")

    def test_it_waits_for_what_its_body_reads_outside_and_not_for_its_own(self) -> None:
        one = bench()
        block = one.block(
            """
            - name: each
              for_each: "input.items"
              steps:
                - {name: x, component: any, input_mapping: {a: item, b: steps.first.n}}
                - {name: y, component: any, input_mapping: {a: steps.x.v}}
            - {name: first, component: add, input_mapping: {n: input.n}}
            """
        )
        first, each = block.ops
        assert (first.name, each.reads) == ("first", frozenset({INPUT, first.slot}))

    @pytest.mark.parametrize(("said", "parallel", "null"), [("", 16, False), (", max_parallel: 3", 3, False)])
    def test_how_many_items_are_in_flight_is_said_or_a_default(self, said: str, parallel: int, null: bool) -> None:
        (op,) = bench().block(f"- {{name: a, for_each: input.items, component: any{said}}}").ops
        assert isinstance(op, MapOp)
        assert (op.max_parallel, op.null_on_error) == (parallel, null)

    def test_an_item_that_fails_may_read_null(self) -> None:
        (op,) = bench().block("- {name: a, for_each: input.items, component: any, on_item_error: null}").ops
        assert isinstance(op, MapOp)
        assert op.null_on_error

    def test_the_share_of_a_map_is_that_of_all_items(self) -> None:
        (op,) = bench().block("- {name: a, for_each: input.items, component: any, share: 0.5}").ops
        assert isinstance(op, MapOp)
        assert (op.share, op.body.ops[0].share) == (0.5, None)


class TestLoop:
    LOOP = """
        - name: loop
          repeat:
            max_rounds: 3
            carry: {total: input.n, kept: {value: 8}}
            until: "carry.total > 5 && round > 1"
            steps:
              - {name: x, component: add, input_mapping: {n: carry.total}, output_mapping: {n: carry.total}}
        """

    def loop(self, text: str = LOOP, **given_: Any) -> tuple[LoopOp, Bench]:
        one = bench(**given_)
        (op,) = one.block(text).ops
        assert one.problems == ()
        assert isinstance(op, LoopOp)
        return op, one

    def test_a_carry_starts_outside_and_goes_on_with_what_a_step_wrote(self) -> None:
        op, _ = self.loop()
        total, kept = op.carries
        (step,) = op.body.ops
        assert (total.name, total.start(frame({INPUT: {"n": 4}})), total.start_reads) == (
            "total",
            4,
            frozenset({INPUT}),
        )
        assert total.next is not None
        assert (total.next(frame({step.slot: {"n": 9}})), total.next_reads) == (9, frozenset({step.slot}))
        assert (kept.name, kept.start(frame({})), kept.next) == ("kept", 8, None)

    def test_it_ends_by_what_the_round_carries(self) -> None:
        op, _ = self.loop()
        assert op.until is not None
        total = op.carries[0].slot
        rounds = [(6, 1), (5, 2), (6, 2)]
        assert [op.until(frame({total: n, op.round_slot: r})) for n, r in rounds] == [False, False, True]
        assert (op.until_reads, op.max_rounds) == (frozenset({total, op.round_slot}), 3)

    def test_what_it_gives_are_the_outputs_of_its_steps_by_name(self) -> None:
        op, _ = self.loop()
        assert op.results == (("x", op.body.ops[0].slot),)

    def test_it_waits_for_what_stands_outside_alone(self) -> None:
        block = bench().block(
            """
            - name: loop
              repeat:
                max_rounds: 3
                carry: {total: steps.a.n}
                until: "carry.total > steps.b.n"
                steps: [{name: x, component: any, input_mapping: {c: steps.c.n, t: carry.total, r: round}}]
            - {name: a, component: add, input_mapping: {n: input.n}}
            - {name: b, component: add, input_mapping: {n: input.n}}
            - {name: c, component: add, input_mapping: {n: input.n}}
            """
        )
        *others, loop = block.ops
        assert loop.name == "loop"
        assert loop.reads == {op.slot for op in others}

    def test_inside_it_the_carry_of_a_loop_around_it_is_out_of_sight(self) -> None:
        one = bench()
        one.block(
            """
            - name: outer
              repeat:
                max_rounds: 2
                carry: {a: input.n}
                steps:
                  - name: inner
                    repeat:
                      max_rounds: 2
                      carry: {b: carry.a}
                      steps: [{name: x, component: any, input_mapping: {v: carry.a}}]
            """
        )
        assert one.codes == ["expr.unknown_path"]

    @pytest.mark.parametrize(
        ("start", "dyn"),
        [
            ("input.n", []),
            ("input.text", ["carry.total"]),  # text or a number, so only the run can tell
        ],
    )
    def test_a_carry_has_the_type_of_its_start_and_of_what_is_written(self, start: str, dyn: list[str]) -> None:
        one = bench(takes=fields(n="integer", text="string"))
        one.block(self.LOOP.replace("total: input.n", f"total: {start}").replace("carry.total > 5 && round", "round"))
        assert one.codes == []
        assert [note.text.split("`")[1] for note in one.reader.notes if "dyn" in note.text] == dyn

    def test_it_cannot_end_by_what_is_no_condition(self) -> None:
        one = bench(takes=fields(n="integer"))
        one.block(self.LOOP.replace("carry.total > 5 && round > 1", "carry.total + round"))
        assert len(one.problems) == 1

    def test_without_a_condition_it_runs_all_its_rounds(self) -> None:
        op, _ = self.loop("- {name: a, repeat: {max_rounds: 2, steps: [{name: x, component: any}]}}")
        assert (op.until, op.until_source, op.until_reads) == (None, "", frozenset())


class TestSub:
    def test_its_input_is_held_against_the_other_workflows(self) -> None:
        sub = plan(linear(), input_schema=fields(n="integer"), output_type=object_of({"m": INT}))
        one = bench(takes=fields(n="integer", text="string"), workflows={"sub.yaml": sub})
        good, bad = one.block(
            """
            - {name: a, workflow: sub.yaml, input_mapping: {n: input.n}, share: 0.5}
            - {name: b, workflow: sub.yaml, input_mapping: {n: input.text}}
            """
        ).ops
        assert isinstance(good, SubOp)
        assert (good.plan, good.reads, good.share) == (sub, frozenset({INPUT}), 0.5)
        assert [(name, get(frame({INPUT: {"n": 3}}))) for name, get in good.inputs] == [("n", 3)]
        (problem,) = one.problems
        assert (problem.code, problem.line) == ("plan.type", 4)
        assert "sub-workflow 'test'" in problem.message
        assert bad.name == "b"


def test_what_anything_reads_is_known_of_the_whole_workflow() -> None:
    one = bench()
    one.block(
        """
        - name: each
          for_each: "memory.recent"
          steps: [{name: x, component: any, input_mapping: {r: resources.shop}}]
        - {name: loop, repeat: {max_rounds: 2, until: "run.seed > round", steps: [{name: y, component: any}]}}
        """
    )
    one.block("- {name: all, for_each: input.items, component: any, input_mapping: {i: index}}")
    names = one.slots.names
    assert {names[slot] for slot in one.slots.read} == {"memory", "resources", "run", "round", "input", "index"}


def test_writes_of_a_body_are_in_order_with_those_around_it() -> None:
    block = bench().block(
        """
        - {name: a, component: pay}
        - {name: each, for_each: input.items, component: pay}
        - {name: loop, repeat: {max_rounds: 2, steps: [{name: x, component: pay}]}}
        """
    )
    assert [op.name for op in block.ops] == ["a", "each", "loop"]
    assert block.linear
