import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from stretto.spec.model import ComponentDecl, ComponentFile, ComponentKind, LiteralSpec, OnItemError, WorkflowSpec
from stretto.spec.nodes import to_json
from stretto.spec.source import Located
from stretto.spec.workflow import load_workflow, parse_workflow
from stretto.types.budget import BudgetSpec
from stretto.types.enums import Durability
from stretto.types.errors import Code, SpecError

W2 = """steps:
  - name: "planner"
    component: "llm-planner-v2"
    input_mapping: { "user_query": "input.query", "history": "memory.recent" }
    output_mapping: { "action_plan": "plan.steps" }
  - name: "executor"
    component: "api-executor"
    condition: "plan.steps[0].type == 'api_call'"
    input_mapping: { "api_spec": "plan.steps[0].spec" }
"""


def _step(text: str) -> Any:
    return parse_workflow(f"steps:\n  - {{name: a, {text}}}\n").steps[0]


def test_the_least_workflow_has_defaults_for_everything_else() -> None:
    workflow = parse_workflow(W2, name="flows/retail support.v2.yaml")
    assert (workflow.name, workflow.version, workflow.durability) == ("retail-support.v2", "0.0.0", Durability.RUN)
    assert (workflow.budget, workflow.contract, workflow.components, workflow.output) == (BudgetSpec(), None, (), ())


def test_expressions_keep_their_text_and_their_place() -> None:
    executor = parse_workflow(W2, name="w.yaml").steps[1]
    assert executor.condition is not None
    assert executor.condition.value == "plan.steps[0].type == 'api_call'"
    assert (executor.condition.mark.line, executor.condition.mark.column) == (8, 16)
    assert executor.condition.part(14).mark.column == 31


def test_mappings_keep_order_and_place_of_both_sides() -> None:
    planner = parse_workflow(W2).steps[0]
    assert planner.input_mapping is not None
    assert [entry.field.value for entry in planner.input_mapping] == ["user_query", "history"]
    assert planner.input_mapping[1].field.mark.column == 51
    assert isinstance(planner.input_mapping[1].source, Located)
    assert planner.output_mapping[0].target.value == "plan.steps"


def test_no_input_mapping_is_told_from_an_empty_one() -> None:
    assert _step("component: b").input_mapping is None
    assert _step("component: b, input_mapping: {}").input_mapping == ()


def test_a_constant_may_be_any_json() -> None:
    mapping = _step("component: b, input_mapping: {x: {value: {deep: [1, null]}}}").input_mapping
    assert isinstance(mapping[0].source, LiteralSpec)
    assert mapping[0].source.value == {"deep": [1, None]}


def test_a_loop_carries_names_into_the_next_round() -> None:
    repeat = _step(
        "repeat: {max_rounds: 3, until: b.done, carry: {facts: input.facts}, steps: [{name: b, component: c}]}"
    ).repeat
    assert (repeat.max_rounds, repeat.until.value, repeat.carry[0].field.value) == (3, "b.done", "facts")
    assert repeat.steps[0].name.value == "b"


@pytest.mark.parametrize(
    ("written", "meant"),
    [("", OnItemError.FAIL), ("on_item_error: null,", OnItemError.NULL), ("on_item_error: 'null',", OnItemError.NULL)],
)
def test_what_a_failed_item_means_may_be_a_bare_null(written: str, meant: OnItemError) -> None:
    for_each = _step(f"for_each: input.x, {written} as: order, max_parallel: 2, component: c").for_each
    assert (for_each.on_item_error, for_each.item.value, for_each.max_parallel) == (meant, "order", 2)
    assert for_each.steps == ()


def test_a_map_over_steps_has_a_body() -> None:
    assert _step("for_each: input.x, steps: [{name: b, workflow: c.yaml}]").for_each.steps[0].workflow.value == "c.yaml"


def test_resilience_is_read_with_units_and_codes() -> None:
    resilience = _step(
        "component: b, resilience: {timeout: 800ms, retry: {attempts: 5, base: 0ms, on: [unavailable]}, "
        "fallback: {output: {text: sorry}}}, share: 0.25"
    ).resilience
    assert resilience.timeout == timedelta(milliseconds=800)
    assert (resilience.retry.attempts, resilience.retry.base, resilience.retry.cap) == (
        5,
        timedelta(0),
        timedelta(seconds=10),
    )
    assert resilience.retry.on == (Code.UNAVAILABLE,)
    assert resilience.fallback.output.value == {"text": "sorry"}


def test_a_merge_names_its_writers() -> None:
    (merge,) = _step("component: b, merge: {reply.text: [steps.x.text, steps.y.text]}").merge
    assert (merge.target.value, [source.value for source in merge.sources]) == (
        "reply.text",
        ["steps.x.text", "steps.y.text"],
    )


@pytest.mark.parametrize(
    "components",
    [
        "components.py",
        "[components.py]",
        "{shop: {kind: mcp, args: [1]}}",
        "[components.py, {shop: {kind: mcp, args: [1]}}]",
    ],
)
def test_components_are_files_declarations_or_both(components: str) -> None:
    parts = parse_workflow(f"stretto: 1\ncomponents: {components}\nsteps: [{{name: a, component: b}}]").components
    for part in parts:
        if isinstance(part, ComponentFile):
            assert part.path.value == "components.py"
        else:
            assert isinstance(part, ComponentDecl)
            assert (part.name.value, part.kind, to_json(part.options)) == ("shop", ComponentKind.MCP, {"args": [1]})
    assert len(parts) == ("components.py" in components) + ("shop" in components)


def test_budget_and_the_rest_of_the_top_are_read() -> None:
    workflow = parse_workflow(
        "stretto: 1\nname: shop\nversion: 1.2.3-rc.1\ndescription: d\nmemory: recent@1\ndurability: none\n"
        "budget: {deadline: 30s, reserve: 2s, retries: 0, tokens: 10, cost: 1}\n"
        "steps: [{name: a, component: b}]\noutput: {reply: a.text}\n"
    )
    assert (workflow.name, workflow.version, workflow.description) == ("shop", "1.2.3-rc.1", "d")
    assert workflow.memory is not None
    assert workflow.durability is Durability.NONE
    assert workflow.budget == BudgetSpec(
        deadline=timedelta(seconds=30), reserve=timedelta(seconds=2), retries=0, tokens=10, cost=1.0
    )
    assert workflow.output[0].field.value == "reply"


def test_the_contract_file_is_read_from_beside_the_workflow(tmp_path: Path) -> None:
    (tmp_path / "contract.yaml").write_text("input: {a: int}")
    path = tmp_path / "workflow.yaml"
    path.write_text("stretto: 1\ncontract: contract.yaml\nsteps: [{name: a, component: b}]")
    workflow = load_workflow(path)
    assert workflow.contract is not None
    assert workflow.contract.source.name == str(tmp_path / "contract.yaml")


def test_a_text_leaves_the_files_it_names_unread() -> None:
    workflow = parse_workflow("stretto: 1\ncontract: c.yaml\ncomponents: x.py\nsteps: [{name: a, component: b}]")
    assert workflow.contract is None
    assert workflow.contract_path is not None


def test_a_folder_is_no_contract(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"spec\.file_reference"):
        parse_workflow("stretto: 1\ncontract: '.'\nsteps: [{name: a, component: b}]", folder=tmp_path)


def test_specs_are_frozen() -> None:
    with pytest.raises(AttributeError):
        parse_workflow(W2).steps[0].share = 0.5  # type: ignore[misc]


def test_an_aliased_mistake_is_told_once() -> None:
    text = "steps:\n  - &s {name: a, component: 3}\n  - {name: b, for_each: input.x, steps: [*s]}\n"
    with pytest.raises(SpecError) as caught:
        parse_workflow(text)
    assert [problem.code for problem in caught.value.problems] == ["spec.duplicate_step", "spec.type"]


def test_a_flood_of_problems_is_cut() -> None:
    with pytest.raises(SpecError) as caught:
        parse_workflow("steps: [" + "x," * 150 + "]")
    assert len(caught.value.problems) == 101
    assert "50 more problems" in caught.value.problems[-1].message


# Round trips ----------------------------------------------------------------------------------------------------

NAMES = st.from_regex(r"\A[a-z]{1,6}[0-9]{1,3}\Z")
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=12)
SOURCES = WORDS | st.integers(-9, 9).map(lambda value: {"value": value})
LEAVES = st.fixed_dictionaries(
    {"component": NAMES},
    optional={
        "condition": WORDS,
        "input_mapping": st.dictionaries(NAMES, SOURCES, max_size=3),
        "output_mapping": st.dictionaries(NAMES, NAMES, min_size=1, max_size=2),
        "share": st.floats(0.01, 1),
        "resilience": st.just({"timeout": "1s"}),
        "estimate": st.fixed_dictionaries({"tokens": st.integers(1, 9)}, optional={"cost": st.floats(0.01, 1)}),
    },
)


def _named(steps: list[dict[str, Any]], prefix: str) -> list[dict[str, Any]]:
    return [{"name": f"{prefix}{index}", **step} for index, step in enumerate(steps)]


STEPS = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(
            lambda body, rounds: {"repeat": {"steps": _named(body, f"r{rounds}_"), "max_rounds": rounds}},
            st.lists(inner, min_size=1, max_size=2),
            st.integers(1, 99),
        )
        | st.builds(lambda body, over: {"for_each": over, **body}, LEAVES, WORDS)
    ),
    max_leaves=5,
)


def _plain(spec: object) -> object:
    """A spec without its places: what two spellings of one workflow have in common."""
    if isinstance(spec, Located):
        return spec.value
    if isinstance(spec, LiteralSpec):
        return ("literal", spec.value)
    if isinstance(spec, tuple):
        return [_plain(part) for part in spec]
    fields = getattr(spec, "__struct_fields__", None)
    if fields is None:
        return spec
    return {
        name: _plain(getattr(spec, name))
        for name in fields
        if name not in ("span", "source", "places") or (name == "source" and not isinstance(spec, WorkflowSpec))
    }


@settings(max_examples=60)
@given(st.lists(STEPS, min_size=1, max_size=3))
def test_json_and_yaml_of_one_workflow_are_read_alike(steps: list[dict[str, Any]]) -> None:
    text = json.dumps({"stretto": 1, "name": "w", "steps": _named(steps, "s")})
    try:
        from_json = parse_workflow(text, name="w.json")
    except SpecError as error:
        # Nested loops may shadow names; then both readers must say so.
        with pytest.raises(SpecError) as caught:
            parse_workflow(text, name="w.yaml")
        assert [p.code for p in caught.value.problems] == [p.code for p in error.problems]  # noqa: PT017
        return
    from_yaml = parse_workflow(text, name="w.yaml")
    assert _plain(from_json.steps) == _plain(from_yaml.steps)
    assert [step.name.value for step in from_json.steps] == [f"s{index}" for index in range(len(steps))]


@settings(max_examples=200)
@given(st.data())
def test_a_file_with_a_hole_or_a_stain_is_read_or_refused_in_words(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(W2)))
    cut = data.draw(st.integers(0, 5))
    stain = data.draw(
        st.sampled_from(["", "\t", ":", "'", '"', "{", "]", "&a ", "*a", "!x ", "- ", "\n", "#", "|", "%"])
    )
    try:
        parse_workflow(W2[:at] + stain + W2[at + cut :])
    except SpecError as error:
        shown = str(error)
        assert "[spec." in shown
