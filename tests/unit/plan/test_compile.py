"""What only the whole of a workflow can tell: its output, its memory, what it is pinned to."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from stretto.plan.compile import compile_workflow
from stretto.plan.model import MEMORY, Plan
from stretto.plan.valuetype import FLOAT, INT, object_of
from stretto.spec.contract import parse_contract
from stretto.spec.report import Report
from stretto.spec.workflow import parse_workflow
from stretto.types.enums import Durability, Effect
from stretto.types.errors import SpecError
from tests.unit.engine.plans import Probe
from tests.unit.plan.flows import Shelf, component, fields

ADD = component("add", takes=fields(n="integer"), gives=fields(n="integer"))
ANY = component("any")
PAY = component("pay", effects={"*": Effect.WRITE})
RECENT = component("recent", gives=fields(last="string"), kind="memory")
PLAIN = "steps: [{name: a, component: add, input_mapping: {n: input.n}}]"


def compiled(text: str, *more: Probe, contract: str = "", workflows: dict[str, Plan] | None = None) -> Plan:
    plans = workflows or {}
    spec = parse_workflow(f"stretto: 1\n{text}", name="w.yaml")
    if contract:
        spec = msgspec.structs.replace(spec, contract=parse_contract(contract))
    shelf = Shelf([ADD, ANY, PAY, RECENT, *more])
    return compile_workflow(spec, shelf, Report(), lambda place: plans.get(place.value))


def refused(text: str, *more: Probe, **options: Any) -> list[tuple[str, str]]:
    with pytest.raises(SpecError) as caught:
        compiled(text, *more, **options)
    return [(problem.code, problem.message) for problem in caught.value.problems]


class TestOutput:
    def frame(self, plan: Plan, **values: object) -> list[Any]:
        return [values.get(name.replace("steps.", "")) for name in plan.slot_names]

    def test_it_is_what_the_file_maps(self) -> None:
        plan = compiled(PLAIN + "\noutput: {total: steps.a.n, asked: input.n}")
        frame = self.frame(plan, a={"n": 3}, input={"n": 2})
        assert {name: get(frame) for name, get in plan.output} == {"total": 3, "asked": 2}
        assert {plan.slot_names[slot] for slot in plan.output_reads} == {"steps.a", "input"}

    def test_where_nothing_is_said_it_is_what_every_step_gave_under_its_name(self) -> None:
        plan = compiled("steps: [{name: a, component: any}, {name: b, component: any}]")
        frame = self.frame(plan, a={"v": 1})
        assert {name: get(frame) for name, get in plan.output} == {"a": {"v": 1}, "b": None}
        assert (plan.output_check, plan.input_check) == (None, None)

    def test_a_contract_asks_for_its_fields_and_checks_them(self) -> None:
        contract = "{input: {n: int}, output: {total: int}}"
        assert refused(PLAIN, contract=contract) == [
            ("plan.missing_field", "the output of workflow 'w' needs the field 'total', which nothing gives")
        ]
        plan = compiled(PLAIN + "\noutput: {total: steps.a.n}", contract=contract)
        assert plan.output_check is not None
        assert plan.input_check is not None
        assert plan.input_check.is_valid({"n": 3})
        assert not plan.input_check.is_valid({"n": "3"})
        assert plan.input_schema == plan.input_check.schema


class TestMemory:
    def test_it_is_read_before_the_first_step_when_a_step_reads_it(self) -> None:
        plan = compiled("memory: recent\nsteps: [{name: a, component: any, input_mapping: {m: memory.last}}]")
        assert plan.memory is not None
        assert (plan.memory.component, plan.memory.name, plan.memory.slot) == (RECENT, "$memory", MEMORY)
        assert set(plan.components) == {"any", "recent"}

    def test_when_only_the_output_reads_it_it_is_read_too(self) -> None:
        plan = compiled("memory: recent\nsteps: [{name: a, component: any}]\noutput: {m: memory.last}")
        assert plan.memory is not None

    def test_when_nothing_reads_it_it_is_not_asked(self) -> None:
        plan = compiled("memory: recent\nsteps: [{name: a, component: any}]")
        assert plan.memory is None
        assert set(plan.components) == {"any"}

    def test_its_fields_are_those_of_its_card(self) -> None:
        (problem,) = refused("memory: recent\nsteps: [{name: a, component: any, input_mapping: {m: memory.lats}}]")
        assert problem[0] == "expr.unknown_path"

    def test_another_kind_of_component_is_none(self) -> None:
        assert refused("memory: any\nsteps: [{name: a, component: any}]") == [
            ("plan.memory", "'any' is of kind 'python' and cannot provide `memory`")
        ]


@pytest.mark.parametrize(("source", "reads"), [("run.seed", True), ("input.seed", False)])
def test_what_the_run_says_of_itself_is_made_only_where_it_is_read(source: str, reads: bool) -> None:
    assert compiled(f"steps: [{{name: a, component: any, input_mapping: {{s: {source}}}}}]").reads_run is reads


class TestNested:
    def test_every_component_may_be_called_where_one_calls_others(self) -> None:
        agent = component("agent", capabilities=("call",))
        plan = compiled("steps: [{name: a, component: agent}]", agent)
        assert set(plan.nested) == {"add", "any", "pay", "recent", "agent"}
        assert plan.nested["add"].component is ADD
        assert set(plan.components) == set(plan.nested)

    def test_where_none_does_nothing_more_is_known(self) -> None:
        plan = compiled(PLAIN)
        assert (plan.nested, plan.components) == ({}, {"add": ADD})


class TestManifest:
    def test_it_names_what_the_workflow_calls_by_version_and_digest(self) -> None:
        manifest = compiled("steps: [{name: a, component: any}]\nname: talk\nversion: 1.2.0").manifest
        assert (manifest.workflow, manifest.version) == ("talk", "1.2.0")
        assert manifest.components == {"any": f"1.0.0@{ANY.card.digest}"}

    def test_the_same_files_have_the_same_and_any_other_text_another(self) -> None:
        sub = {"sub.yaml": compiled("steps: [{name: x, component: any}]")}
        other = {"sub.yaml": compiled("steps: [{name: y, component: any}]")}
        holder = "steps: [{name: a, workflow: sub.yaml}]"
        plans = [
            compiled(PLAIN),
            compiled(PLAIN + " "),
            compiled(PLAIN, contract="input: {n: int}"),
            compiled(PLAIN, contract="input: {n: float}"),
            compiled(holder, workflows=sub),
            compiled(holder, workflows=other),
        ]
        assert len({plan.manifest_digest for plan in plans}) == len({plan.files_digest for plan in plans}) == len(plans)
        again = compiled(PLAIN)
        assert (again.manifest_digest, again.files_digest) == (plans[0].manifest_digest, plans[0].files_digest)


class TestSubWorkflows:
    HOLDER = "steps: [{name: a, workflow: sub.yaml}, {name: b, component: any}]"

    def test_what_they_call_the_run_may_call(self) -> None:
        plan = compiled(self.HOLDER, workflows={"sub.yaml": compiled(PLAIN)})
        assert plan.components == {"add": ADD, "any": ANY}

    def test_a_name_is_one_component_in_all_of_them(self) -> None:
        sub = compiled("steps: [{name: x, component: twin}]", component("twin"))
        text = "steps: [{name: a, workflow: sub.yaml}, {name: b, component: twin}]"
        ((code, message),) = refused(text, component("twin"), workflows={"sub.yaml": sub})
        assert code == "plan.duplicate_component"
        assert message == "component 'twin' is one thing in 'sub.yaml' and another here"

    def test_two_that_differ_from_each_other_are_told_apart(self) -> None:
        one, other = (compiled("steps: [{name: x, component: twin}]", component("twin")) for _ in range(2))
        text = "steps: [{name: a, workflow: one.yaml}, {name: b, workflow: other.yaml}]"
        ((_, message),) = refused(text, workflows={"one.yaml": one, "other.yaml": other})
        assert message == "component 'twin' is one thing in 'other.yaml' and another in 'one.yaml'"


@pytest.mark.parametrize(
    ("text", "noted"),
    [
        ("steps: [{name: a, component: pay}]", True),
        ("durability: step\nsteps: [{name: a, component: pay}]", False),
        ("steps: [{name: a, component: any}]", False),
    ],
)
def test_a_write_that_no_journal_keeps_is_noted(text: str, noted: bool) -> None:
    notes = [note.text for note in compiled(text).notes]
    assert any("a write in doubt parks the run for good" in note for note in notes) is noted


def test_the_weights_of_a_contract_are_kept() -> None:
    judge = component("judge", kind="reward")
    plan = compiled("steps: [{name: a, component: judge}]", judge, contract="reward: {right: 0.5, quick: -1}")
    assert plan.reward_weights == {"right": 0.5, "quick": -1.0}


def test_a_weight_of_what_no_step_gives_is_told() -> None:
    ((code, _),) = refused("steps: [{name: a, component: any}]", contract="reward: {right: 0.5}")
    assert code == "plan.reward"


def test_a_step_of_a_body_is_to_be_read_through_the_steps_around_it() -> None:
    text = """steps:
  - name: talk
    repeat:
      max_rounds: 2
      steps:
        - {name: ask, component: any}
        - {name: turn, repeat: {max_rounds: 2, steps: [{name: deep, component: any}]}}
  - {name: each, for_each: input.items, steps: [{name: item_of, component: any}]}
  - {name: last, component: any, input_mapping: {a: ask.v, b: deep.v, c: item_of.v}}
"""
    with pytest.raises(SpecError) as caught:
        compiled(text)
    tries = [problem.suggestion for problem in caught.value.problems]
    assert tries == ["steps.talk.last.ask", "steps.talk.last.turn.last.deep", "steps.each.items"]


def test_the_terms_of_the_file_are_those_of_the_plan() -> None:
    plan = compiled("budget: {deadline: 3s, tokens: 7}\ndurability: none\nsteps: [{name: a, component: any}]")
    assert (plan.budget.deadline, plan.budget.tokens) == (timedelta(seconds=3), 7)
    assert plan.durability is Durability.NONE


def test_the_type_of_the_output_is_the_contracts_or_what_the_steps_give() -> None:
    mapped = PLAIN + "\noutput: {total: steps.a.n}"
    assert compiled(mapped).output_type == object_of({"total": INT})
    promised = compiled(mapped, contract="output: {total: float}").output_type
    assert promised.fields == {"total": FLOAT}


def test_everything_wrong_with_a_workflow_is_told_at_once() -> None:
    text = "memory: any\nsteps: [{name: a, component: unknown}]\noutput: {m: inptu.n}"
    assert {code for code, _ in refused(text)} == {"plan.memory", "plan.unknown_component", "expr.unknown_name"}
