"""What a plan holds of its contract's domains: where, on which side, how many mappings were compared, what is noted."""

import msgspec
import pytest

from stretto.plan.compile import compile_workflow
from stretto.plan.meaning import Side
from stretto.plan.model import CallOp, Note, Plan, SubOp
from stretto.plan.valuetype import Kind
from stretto.spec.contract import parse_contract
from stretto.spec.report import Report
from stretto.spec.workflow import parse_workflow
from stretto.types.errors import SpecError
from stretto.types.json import Schema
from tests.unit.plan.flows import Shelf, component, fields

PLAN = component("plan", takes=fields(said="string"), gives=fields(intent="string"))
API = component("api", takes=fields(intent="string"), gives=fields(reply="string"))
HELP = component("help", takes=fields(intent="string"), gives=fields(reply="string"))

STEPS = """
steps:
  - {name: planner, component: plan, input_mapping: {said: input.said}}
  - {name: executor, component: api, input_mapping: {intent: steps.planner.intent}}
output: {reply: steps.executor.reply}
"""
INTENT = "intent: {values: [track, cancel], at: [planner.intent]}"
TO_API = "api: {values: [STATUS, CANCEL], at: [executor.intent], from: {intent: {track: STATUS, cancel: CANCEL}}}"


def compiled(contract: str, steps: str = STEPS, workflows: dict[str, Plan] | None = None) -> Plan:
    plans = workflows or {}
    spec = parse_workflow(f"stretto: 1\nname: w\n{steps}", name="w.yaml")
    spec = msgspec.structs.replace(spec, contract=parse_contract(contract, name="c.yaml"))
    return compile_workflow(spec, Shelf([PLAN, API, HELP]), Report(), lambda place: plans.get(place.value))


def told(plan: Plan, *, verbose: bool = False) -> list[str]:
    notes: tuple[Note, ...] = plan.notes
    return [note.text for note in notes if note.verbose is verbose and "domain" in note.text]


def calls(plan: Plan) -> list[CallOp]:
    return [op for op in plan.body.ops if isinstance(op, CallOp)]


def test_a_place_is_held_on_the_side_where_the_field_is() -> None:
    plan = compiled(f"semantics: {{{INTENT}, {TO_API}}}")
    assert [(held.at, held.domain.name, held.side) for held in plan.held] == [
        ("planner.intent", "intent", Side.GIVES),
        ("executor.intent", "api", Side.GIVEN),
    ]
    assert plan.mappings_compared == 1
    planner, executor = calls(plan)
    assert (planner.crossings_in, executor.crossings_out) == ((), ())
    (crossing,) = executor.crossings_in
    assert crossing.exact["track"] == "STATUS"


ANY: Schema = {"type": "object"}
LAMPS = [
    component("hear", takes=fields(said="string"), gives=ANY),
    component("switch", takes=fields(zone="string"), gives=ANY),
]
LIGHTS = """
steps:
  - {name: hear, component: hear, input_mapping: {said: input.said}}
  - {name: switch, component: switch, input_mapping: {zone: steps.hear.room}}
output: {done: steps.switch.done}
"""


def doubts(places: str, steps: str = LIGHTS) -> list[str]:
    """What is noted of places of a domain, beside one that is surely there."""
    spec = parse_workflow(f"stretto: 1\nname: w\n{steps}", name="w.yaml")
    text = f"semantics: {{zone: {{values: [Z1], at: [{places}]}}}}"
    spec = msgspec.structs.replace(spec, contract=parse_contract(text, name="c.yaml"))
    plan = compile_workflow(spec, Shelf(LAMPS), Report(), lambda _: None)
    return [note.text for note in plan.notes if "nothing says" in note.text]


@pytest.mark.parametrize(
    ("place", "whose", "near"),
    [
        ("switch.zon", "step 'switch' has a field 'zon'", "switch.zone"),
        ("switch.output.zon", "step 'switch' has a field 'zon'", ""),
        ("hear.rooms", "step 'hear' has a field 'rooms'", "hear.room"),
        ("hear.colour", "step 'hear' has a field 'colour'", ""),
        ("input.sad", "the workflow's input has a field 'sad'", "input.said"),
    ],
)
def test_a_place_that_no_schema_has_and_nothing_else_names_is_told(place: str, whose: str, near: str) -> None:
    (text,) = doubts(f"switch.zone, {place}")
    assert f"nothing says that {whose}, where the domain 'zone' holds, and nothing else names one" in text
    assert text.endswith(f"did you mean `{near}`?" if near else "names one")


@pytest.mark.parametrize(
    ("place", "steps"),
    [
        ("hear.room", LIGHTS),
        ("input.said", LIGHTS),
        ("hear.tone", LIGHTS.replace("zone: steps.hear.room", "zone: 'has(steps.hear.tone) ? steps.hear.room : \"\"'")),
        ("hear.tone", LIGHTS.replace("input.said}}", "input.said}, output_mapping: {tone: heard}}")),
        ("hear.tone", LIGHTS.replace("input.said}}", "input.said}, resilience: {fallback: {output: {tone: Z1}}}}")),
        ("hear.tone", LIGHTS.replace("{done: steps.switch.done}", "{done: steps.hear}")),
    ],
)
def test_a_place_that_something_names_or_that_may_be_read_is_not(place: str, steps: str) -> None:
    assert doubts(f"switch.zone, {place}", steps) == []


def test_places_at_the_ends_of_the_workflow_that_are_not_there_are_refused() -> None:
    with pytest.raises(SpecError, match=r"and the workflow's output has no 'don'"):
        doubts("switch.zone, output.don")
    with pytest.raises(SpecError, match=r"and the workflow's input has no 'sad'"):
        compiled(f"input: {{said: string}}\nsemantics: {{{INTENT}, tone: {{values: [a], at: [input.sad]}}}}")


def test_a_proven_request_is_proven_by_what_has_crossed() -> None:
    strict: Schema = {
        "type": "object",
        "properties": {"intent": {"enum": ["STATUS", "CANCEL"]}},
        "required": ["intent"],
    }
    shelf = Shelf([PLAN, component("api", takes=strict, gives=fields(reply="string"))])
    spec = parse_workflow(f"stretto: 1\n{STEPS}", name="w.yaml")
    spec = msgspec.structs.replace(spec, contract=parse_contract(f"semantics: {{{INTENT}, {TO_API}}}"))
    plan = compile_workflow(spec, shelf, Report(), lambda _: None)
    assert calls(plan)[1].input_check is None


@pytest.mark.parametrize(("mode", "ends"), [("enforce", "is refused"), ("warn", "passes as it is")])
def test_a_value_that_nobody_translates_is_told_with_what_becomes_of_it(mode: str, ends: str) -> None:
    plan = compiled(
        f"semantics: {{{INTENT}, api: {{values: [STATUS], at: [executor.intent], mode: {mode}, "
        "from: {intent: {track: STATUS}}}}"
    )
    assert told(plan) == [
        f"'cancel' of the domain 'intent' has no translation in 'api': at `executor.intent` it {ends}"
    ]
    assert calls(plan)[1].crossings_in[0].untranslated == {"cancel"}


def test_what_comes_of_no_domain_is_told_to_whoever_asks() -> None:
    plan = compiled("semantics: {api: {values: [STATUS], at: [executor.intent]}}")
    assert told(plan) == []
    assert told(plan, verbose=True) == [
        "`steps.planner.intent` is in no domain: it is held to 'api' for `executor.intent` when it comes"
    ]


def test_a_fallback_that_takes_no_null_is_told() -> None:
    fallback = "intent: steps.planner.intent}, resilience: {fallback: {component: help}}}"
    steps = STEPS.replace("intent: steps.planner.intent}}", fallback)
    (note,) = told(compiled(f"semantics: {{{INTENT}, {TO_API}}}", steps))
    assert note.startswith("'help' takes no null for 'intent'")


def test_what_a_step_gives_is_closed_to_the_values_wherever_it_is_read() -> None:
    plan = compiled(
        "semantics: {api: {values: [STATUS], at: [executor.reply]}}",
        STEPS.replace("{reply: steps.executor.reply}", "{reply: steps.executor.reply, all: steps.executor}"),
    )
    assert plan.output_type.fields["reply"].values == ("STATUS",)
    assert plan.output_type.fields["all"].fields["reply"].domains == {"api"}


class TestSubWorkflows:
    INNER = """
steps:
  - {name: executor, component: api, input_mapping: {intent: input.intent}}
output: {reply: steps.executor.reply}
"""
    OUTER = """
steps:
  - {name: planner, component: plan, input_mapping: {said: input.said}}
  - {name: inner, workflow: inner.yaml, input_mapping: {intent: steps.planner.intent}}
  - {name: last, component: api, input_mapping: {intent: steps.inner.reply}}
"""

    def inner(self, values: str = "track, cancel") -> Plan:
        return compiled(f"semantics: {{intent: {{values: [{values}], at: [input.intent, output.reply]}}}}", self.INNER)

    def outer(self, inner: Plan, at: str = "planner.intent, last.intent") -> Plan:
        contract = f"semantics: {{intent: {{values: [track, cancel], at: [{at}]}}}}"
        return compiled(contract, self.OUTER, {"inner.yaml": inner})

    def test_a_domain_with_the_same_values_is_the_same(self) -> None:
        plan = self.outer(self.inner())
        (sub,) = (op for op in plan.body.ops if isinstance(op, SubOp))
        assert [crossing.at for crossing in sub.crossings_in] == ["inner.intent"]
        assert plan.mappings_compared == 2
        assert told(plan, verbose=True) == []

    def test_one_with_other_values_is_another_and_refused_on_both_sides(self) -> None:
        with pytest.raises(SpecError) as caught:
            self.outer(self.inner("track, stop"))
        gives, takes = caught.value.problems
        assert "the domain 'intent' has other values where" in takes.message
        assert "the domain 'intent' has other values in workflow" in gives.message
        assert (takes.line, gives.line) == (6, 6)

    def test_what_it_gives_crosses_into_a_domain_of_the_workflow_around_it(self) -> None:
        plan = self.outer(self.inner(), "planner.intent, inner.reply")
        (sub,) = (op for op in plan.body.ops if isinstance(op, SubOp))
        (crossing,) = sub.crossings_out
        assert (crossing.at, crossing.exact) == ("inner.reply", {"track": "track", "cancel": "cancel"})


def test_the_output_of_a_workflow_keeps_its_domains_under_a_schema() -> None:
    contract = "{output: {reply: string}, semantics: {tone: {values: [kind], at: [executor.reply]}}}"
    plan = compiled(contract)
    assert plan.output_type.fields["reply"].domains == {"tone"}
    assert plan.output_type.fields["reply"].kind is Kind.STRING
