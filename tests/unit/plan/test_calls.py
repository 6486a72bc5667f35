"""Calls: what a component is asked, and what answers when it fails."""

from typing import Any

import pytest

from stretto.plan.model import NO_RETRY, CallOp, Retry
from stretto.types.card import ANY_OBJECT
from stretto.types.enums import Effect, Scope
from stretto.types.errors import Code
from tests.unit.engine.plans import Probe
from tests.unit.plan.flows import Bench, component, fields, step_of

SLOT = 7
N, TEXT = fields(n="integer"), fields(text="string")


def compiled(keys: str, called: Probe, *others: Probe) -> tuple[CallOp, Bench]:
    """The call that a step with these keys makes."""
    bench = Bench(called, *others, takes=fields(n="integer", text="string"))
    op = bench.calls.of_step(step_of(f"name: s, component: {called.card.name}, {keys}"), called, SLOT, bench.names)
    return op, bench


class TestPlain:
    def plain(self, **card: Any) -> CallOp:
        bench, called = Bench(), component("add", **card)
        op = bench.calls.plain(called, "step", SLOT)
        assert bench.calls.components == {"add": called}
        assert (op.name, op.slot, op.component, op.component_name) == ("step", SLOT, called, "add")
        return op

    def test_it_is_checked_in_full(self) -> None:
        op = self.plain(takes=N, gives=TEXT)
        assert op.input_check is not None
        assert op.output_check is not None
        assert (op.input_check.schema, op.output_check.schema) == (N, TEXT)

    def test_where_any_object_will_do_there_is_nothing_to_check(self) -> None:
        op = self.plain(takes=ANY_OBJECT, gives={"type": "object"})
        assert (op.input_check, op.output_check) == (None, None)

    @pytest.mark.parametrize(
        ("card", "field", "value"),
        [
            ({"kind": "reward"}, "sees_reference", True),
            ({"kind": "python"}, "sees_reference", False),
            ({"scope": Scope.RUN}, "per_run", True),
            ({}, "per_run", False),
            ({"capabilities": ("call",)}, "calls_others", True),
            ({"capabilities": ("seed",)}, "calls_others", False),
            ({"action_field": "action"}, "action_field", "action"),
            ({"effects": {"*": Effect.WRITE}}, "effect", Effect.WRITE),
            ({"effects": {"find": Effect.READ}}, "effect", Effect.WRITE),  # an action that the card does not know
            ({}, "effect", Effect.READ),
        ],
    )
    def test_the_card_says_how_it_is_called(self, card: dict[str, Any], field: str, value: object) -> None:
        assert getattr(self.plain(**card), field) == value


class TestOfStep:
    def test_it_asks_what_the_step_maps(self) -> None:
        op, bench = compiled("input_mapping: {n: input.n}", component("add", takes=N))
        assert bench.problems == ()
        assert [(name, get([{"n": 3}])) for name, get in op.inputs] == [("n", 3)]
        assert op.reads == {0}

    @pytest.mark.parametrize(("source", "checked"), [("input.n", False), ("memory.n", True)])
    def test_what_is_proven_to_fit_is_not_checked_again(self, source: str, checked: bool) -> None:
        op, _ = compiled(f"input_mapping: {{n: {source}}}", component("add", takes=N))
        assert (op.input_check is not None) is checked

    def test_the_answer_is_checked_whatever_is_known_of_the_question(self) -> None:
        op, _ = compiled("input_mapping: {n: input.n}", component("add", takes=N, gives=N))
        assert op.output_check is not None

    def test_a_step_that_says_nothing_is_tried_once_and_given_all_that_is_left(self) -> None:
        op, _ = compiled("needs: [t]", component("add"))
        assert (op.timeout_s, op.retry, op.fallback, op.share) == (None, NO_RETRY, None, None)
        assert (op.estimate_tokens, op.estimate_cost) == (0, 0.0)

    def test_what_the_step_says_of_time_attempts_and_cost_is_kept_in_seconds(self) -> None:
        op, _ = compiled(
            "share: 0.5, estimate: {tokens: 30, cost: 0.2}, resilience: {timeout: 1500ms, "
            "retry: {attempts: 4, base: 200ms, cap: 2s, on: [unavailable]}}",
            component("add"),
        )
        assert (op.timeout_s, op.share, op.estimate_tokens, op.estimate_cost) == (1.5, 0.5, 30, 0.2)
        assert op.retry == Retry(max_attempts=4, base_s=0.2, cap_s=2.0, codes=frozenset({Code.UNAVAILABLE}))

    def test_the_components_of_a_step_and_of_its_fallback_are_remembered(self) -> None:
        called, other = component("add"), component("other")
        _, bench = compiled("resilience: {fallback: {component: other}}", called, other)
        assert bench.calls.components == {"add": called, "other": other}


class TestFallback:
    MAPPED = "input_mapping: {n: input.n}, "

    def test_a_component_that_takes_and_gives_the_same_stands_in(self) -> None:
        stand_in = component("other", takes=N, gives=TEXT)
        keys = self.MAPPED + "resilience: {fallback: {component: other}}"
        op, bench = compiled(keys, component("add", takes=N, gives=TEXT), stand_in)
        assert bench.problems == ()
        assert op.fallback is not None
        assert op.fallback.op is not None
        assert (op.fallback.op.name, op.fallback.op.slot, op.fallback.op.component) == ("fallback", SLOT, stand_in)
        assert op.fallback.op.input_check is not None  # what was proven for the one is not for the other

    @pytest.mark.parametrize(
        ("takes", "gives", "says"),
        [
            (TEXT, TEXT, ["it cannot be asked the same: the object lacks the required field 'text'"]),
            (N, N, ["it cannot answer in the same form: the object lacks the required field 'text'"]),
            (TEXT, N, ["it cannot be asked the same", "it cannot answer in the same form"]),
        ],
    )
    def test_one_that_takes_or_gives_something_else_cannot(self, takes: Any, gives: Any, says: list[str]) -> None:
        keys = self.MAPPED + "resilience: {fallback: {component: other}}"
        _, bench = compiled(keys, component("add", takes=N, gives=TEXT), component("other", takes=takes, gives=gives))
        assert bench.codes == ["plan.fallback"] * len(says)
        for problem, part in zip(bench.problems, says, strict=True):
            assert f"'other' cannot stand in for 'add': {part}" in problem.message

    def test_one_that_is_not_there_is_told(self) -> None:
        op, bench = compiled("resilience: {fallback: {component: ohter}}", component("add"), component("other"))
        assert (op.fallback, bench.codes) == (None, ["plan.unknown_component"])

    def test_an_output_is_kept_encoded_when_it_fits_the_steps_schema(self) -> None:
        op, bench = compiled("resilience: {fallback: {output: {text: sorry}}}", component("add", gives=TEXT))
        assert bench.problems == ()
        assert op.fallback is not None
        assert op.fallback.output == b'{"text":"sorry"}'

    def test_every_place_at_which_an_output_does_not_fit_is_told(self) -> None:
        called = component("add", gives=fields(a="integer", b="string"))
        _, bench = compiled("resilience: {fallback: {output: {a: x, b: 3}}}", called)
        assert bench.codes == ["plan.fallback"] * 2
        assert all("this output cannot stand for the output of 'add'" in each.message for each in bench.problems)
