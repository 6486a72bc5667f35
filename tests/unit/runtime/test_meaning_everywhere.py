"""The raw text reaches no component whose place a domain holds, whatever way a run takes to it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from msgspec.structs import replace

import stretto
from stretto.record.model import Run
from stretto.types.enums import Durability, RunStatus
from stretto.types.ids import new_run_id
from tests.unit.runtime.conftest import Write

VALUES = ("STATUS", "CANCEL")

COMPONENTS = """
import stretto

@stretto.component("say", effects="pure")
async def say(text: str) -> dict:
    return {"text": text}

@stretto.component("crash", effects="pure")
async def crash(text: str) -> dict:
    raise RuntimeError("down")

@stretto.component("split", effects="pure")
async def split(text: str) -> dict:
    return {"texts": [text, "STATUS", text]}

@stretto.component("through", effects="pure")
async def through(text: str, context: stretto.Context) -> dict:
    return {"text": (await context.call("say", text=text))["text"]}

@stretto.component("api", effects="read")
async def api(intent: str) -> dict:
    return {"done": intent}

@stretto.component("script", effects="read")
async def script(text: str, context: stretto.Context) -> dict:
    return {"done": (await context.call("api", intent=text))["done"]}

@stretto.component("person", effects="read")
async def person(intent: str | None) -> dict:
    return {"done": intent}
"""

DOMAIN = (
    "api: {values: [STATUS, CANCEL], at: [%s], synonyms: {STATUS: [where is it]}, "
    "rules: [{match: stop, value: CANCEL}]}"
)
ASKS = "{name: executor, component: api, input_mapping: {intent: %s}, resilience: {fallback: {component: person}}}"
SAYS = "{name: planner, component: say, input_mapping: {text: input.said}}"

WAYS = {
    "a step": ("executor.intent", [SAYS, ASKS % "steps.planner.text"]),
    "what is heard": (
        "planner.output.text",
        [SAYS.replace("}}", "}, resilience: {fallback: {output: {text: CANCEL}}}}"), ASKS % "steps.planner.text"],
    ),
    "a fallback component": (
        "executor.intent",
        [
            SAYS.replace("say,", "crash,").replace("}}", "}, resilience: {fallback: {component: say}}}"),
            ASKS % "steps.planner.text",
        ],
    ),
    "a loop": (
        "executor.intent",
        [
            "{name: talk, repeat: {max_rounds: 3, carry: {said: input.said}, steps: ["
            "{name: planner, component: say, input_mapping: {text: carry.said}, output_mapping: {text: carry.said}}, "
            + ASKS % "steps.planner.text"
            + "]}}"
        ],
    ),
    "a list": (
        "executor.intent",
        [
            "{name: parts, component: split, input_mapping: {text: input.said}}",
            "{name: each, for_each: steps.parts.texts, as: one, steps: [" + ASKS % "one" + "]}",
        ],
    ),
    "a call that a component makes": (
        "api.intent",
        [
            SAYS,
            "{name: executor, component: script, input_mapping: {text: steps.planner.text}}",
        ],
    ),
    "a call inside": (
        "executor.intent",
        ["{name: planner, component: through, input_mapping: {text: input.said}}", ASKS % "steps.planner.text"],
    ),
}

TEXTS = st.one_of(st.sampled_from([*VALUES, "Where  IS it", "do stop it", "status"]), st.text(max_size=12))


def workflow(at: str, steps: list[str]) -> str:
    listed = "\n".join(f"  - {step}" for step in steps)
    return f"stretto: 1\ncontract:\n  semantics:\n    {DOMAIN % at}\nsteps:\n{listed}\n"


def sub_workflow(write: Write, inner_at: str) -> None:
    write({"inner.yaml": workflow(inner_at, [ASKS % "input.intent"])})
    write({"workflow.yaml": f"stretto: 1\nsteps:\n  - {SAYS}\n  - {{name: sub, workflow: inner.yaml, "
                            "input_mapping: {intent: steps.planner.text}}\n"})  # fmt: skip


def seen(run: Run) -> set[Any]:
    """What whoever acts was asked for: they answer with just that."""
    return {
        step.output_value["done"] for step in run.steps if step.component in ("api", "person") and step.output_value
    }


@pytest.fixture(params=[*WAYS, "a sub-workflow", "its input"])
def flow(request: pytest.FixtureRequest, write: Write, tmp_path: Path) -> Iterator[stretto.Workflow]:
    write({"components.py": COMPONENTS})
    if request.param in WAYS:
        write({"workflow.yaml": workflow(*WAYS[request.param])})
    else:
        sub_workflow(write, "executor.intent" if request.param == "a sub-workflow" else "input.intent")
    with stretto.load(tmp_path / "workflow.yaml", store=tmp_path / "runs.db") as made:
        yield made


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(said=TEXTS)
def test_what_is_asked_is_a_value_or_nothing(flow: stretto.Workflow, said: str) -> None:
    run = flow.run_sync({"said": said})
    assert seen(run) <= {*VALUES, None}
    assert said not in VALUES or said in seen(run)


async def test_nor_when_a_replay_is_given_what_was_said(flow: stretto.Workflow) -> None:
    run = await flow.run({"said": "STATUS"})
    given_at = [step.path for step in run.steps if step.component == "say" and "#" not in step.path]
    again = [await flow.replay(run, outputs={path: {"text": "nonsense"}}) for path in given_at]
    assert all(seen(each) <= {*VALUES, None} for each in again)


async def test_nor_when_a_run_is_replayed_that_was_made_without_the_domain(write: Write, tmp_path: Path) -> None:
    at, steps = WAYS["what is heard"]
    written = workflow(at, steps)
    place = write({"workflow.yaml": written.replace("values:", "mode: off, values:"), "components.py": COMPONENTS})
    async with stretto.load(place, store=tmp_path / "runs.db") as before:
        runs = [await before.run({"said": said}) for said in ("nonsense", "where is it")]
        assert [seen(run) for run in runs] == [{"nonsense"}, {"where is it"}]
        write({"workflow.yaml": written})
        async with stretto.load(place, store=before.store) as after:
            again = [await after.replay(run) for run in runs]
            twice = [await after.replay(run) for run in again]
    assert [seen(run) for run in again] == [{"CANCEL"}, {"STATUS"}]
    assert [run.status for run in again] == [RunStatus.DEGRADED, RunStatus.OK]
    told: Any = [run.steps[0].evidence["alignments"] for run in twice]
    assert [[note["to"] for note in notes] for notes in told] == [[None], ["STATUS"]]


ANSWERED = f"""
stretto: 1
contract: {{semantics: {{{DOMAIN % "input.said"}}}}}
budget: {{deadline: 5s}}
fallback: {{component: person, input_mapping: {{intent: input.said}}, after: 2}}
steps:
  - {ASKS.replace("person", "say") % "input.said"}
output: {{done: steps.executor.done}}
"""


async def test_an_input_that_means_nothing_is_answered_in_the_workflows_place_and_kept(
    write: Write, tmp_path: Path
) -> None:
    place = write({"workflow.yaml": ANSWERED.replace(", resilience: {fallback: {component: say}}", ""),
                   "components.py": COMPONENTS})  # fmt: skip
    async with stretto.load(place, store=tmp_path / "runs.db") as flow:
        runs = [await flow.run({"said": said}) for said in (*["nonsense"] * 4, "where is it")]
        again = await flow.replay(runs[0])
        cut = replace(runs[0], id=new_run_id(), status=None, error=None, steps=[], output=msgspec.Raw(b"null"))
        await flow.store.open(cut, Durability.STEP)
        flow.store.flush()
        resumed = await flow.resume(cut.id)
        kept = flow.store.get(runs[0].id)
    assert [run.status for run in runs] == [RunStatus.BUSINESS_FALLBACK] * 4 + [RunStatus.OK]
    assert [again.status, resumed.status] == [RunStatus.BUSINESS_FALLBACK] * 2
    assert seen(again) == seen(resumed) == {None}
    assert (kept.input_value, runs[0].output_value, seen(runs[0])) == ({"said": None}, {"done": None}, {None})
    notes: Any = kept.evidence["alignments"]
    assert [(note["value"], note["to"]) for note in notes] == [("nonsense", None)]
    assert kept.error is not None
    assert "'nonsense' means no value of the domain 'api' surely enough" in str(kept.error.violations)
