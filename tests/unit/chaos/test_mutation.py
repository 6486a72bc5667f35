"""What a contract catches of wrong values."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

import stretto
from stretto.chaos.experiment import Experiment
from stretto.chaos.mutation import MutationScore
from stretto.spec.chaos import parse_chaos
from stretto.store.sqlite import Store
from tests.unit.chaos.conftest import GIVEN, Experimenting, made, workflow_of

HARMLESS = "{component: planner, rate: 1, fault: jitter, delay: 1ms}"


@dataclass
class Planned:
    intent: Literal["track", "refund"]
    share: Annotated[float, Field(ge=0, le=1)]


@stretto.component("planner", effects="pure")
async def planner(query: str) -> Planned:
    return Planned("refund" if "refund" in query else "track", 1.0)


@stretto.reward("right")
def right(intent: str, query: str) -> float:
    return float((intent == "refund") is ("refund" in query))


def score(experiment: Experimenting, **options: Any) -> MutationScore:
    found = made(experiment(HARMLESS, runs=2, **options)).mutation
    assert found is not None
    return found


def test_without_anything_that_looks_every_wrong_value_survives(experiment: Experimenting) -> None:
    found = score(experiment)
    assert (found.good_runs, found.caught, found.score) == (2, 0, 0.0)
    told = {(each.step, each.field, each.was, each.wrong) for each in found.survivors}
    assert told == {
        ("planner", "intent", "refund", "track"),
        ("planner", "intent", "track", "refund"),
        ("executor", "status", "refunded", "declined"),
    }


def test_a_bound_on_mutants_takes_every_place_in_turn(experiment: Experimenting) -> None:
    found = score(experiment, expect="mutants: 2")
    assert {each.step for each in found.survivors} == {"planner", "executor"}
    assert score(experiment, expect="mutants: 2").survivors[0].wrong == found.survivors[0].wrong


def test_a_tighter_schema_and_a_reward_catch(tmp_path: Path) -> None:
    text = """
stretto: 1
name: judged
contract:
  output: {intent: string, share: "float[0.5,1]"}
  reward: {right: 1}
steps:
  - {name: planner, component: planner, input_mapping: {query: "input.query"}}
  - {name: right, component: right, input_mapping: {intent: "steps.planner.intent", query: "input.query"}}
output: {intent: "steps.planner.intent", share: "steps.planner.share"}
"""
    with Store(tmp_path / "judged.db") as store:
        judged = workflow_of(tmp_path, text, [planner, right], store)
        chaos = parse_chaos(f"stretto: 1\nfaults: [{HARMLESS}]\nexpect: {{min_mutation_score: 1}}")
        report = made(Experiment(judged, chaos, GIVEN, runs=1))
    found = report.mutation
    assert found is not None
    assert found.by == {"reward": 2, "contract": 1}, "the middle of the range is in the contract's: it survives"
    assert [(each.field, each.wrong) for each in found.survivors] == [("share", 0.5)]
    assert not report.met


def test_the_measure_itself_is_not_mutated(experiment: Experimenting) -> None:
    assert all(each.step != "right" for each in score(experiment).survivors)


def test_a_score_that_cannot_be_measured_does_not_meet_an_expectation(experiment: Experimenting, world: Any) -> None:
    world.lies = True
    chaos = experiment(HARMLESS, runs=1, expect="mutants: 5\nexpect: {min_mutation_score: 0}")
    report = made(chaos)
    assert report.mutation is not None
    assert report.met, "an enum of the executor's schema is enough to try it with"


MEANT = """
stretto: 1
name: meant
contract:
  input: {{query: string}}
  output: {{intent: string}}
  semantics:
    intent:
      values: [track, refund, cancel]
      at: [planner.intent]
      synonyms: {{refund: [money back], track: [trace]}}
      {mode}
    call: {{values: [money back, TRACE, other], at: [caller.call], mode: warn}}
steps:
  - name: planner
    component: planner
    input_mapping: {{query: "input.query"}}
    {fallback}
  - {{name: caller, component: caller, input_mapping: {{intent: "steps.planner.intent"}}}}
output: {{intent: "steps.planner.intent"}}
"""


@stretto.component("planner", effects="pure")
async def talker(query: str) -> dict[str, str]:
    """Says it in a word of its own."""
    return {"intent": "Money  Back" if "refund" in query else "Trace"}


@stretto.component("caller", effects="pure")
async def caller(intent: str) -> dict[str, str]:
    """What is called for an intent."""
    return {"call": "money back" if intent == "refund" else "TRACE"}


@pytest.mark.parametrize(
    ("mode", "fallback", "by", "survive"),
    [
        # of the planner's: another value of the domain passes, `other` is refused, and a word for what was there is put
        # back, while one for another value is taken for that
        ("", "", {"aligned": 2, "contract": 2}, {"cancel", "track", "refund", "money back", "TRACE"}),
        (
            "",
            "resilience: {fallback: {output: {intent: cancel}}}",
            {"aligned": 2, "contract": 2},
            {"cancel", "track", "refund", "money back", "TRACE"},
        ),
        ("mode: warn", "", {"aligned": 2}, {"cancel", "track", "refund", "money back", "TRACE", "other"}),
    ],
)
def test_what_is_put_back_or_refused_is_caught_and_what_is_taken_for_another_is_not(
    mode: str, fallback: str, by: dict[str, int], survive: set[str], tmp_path: Path
) -> None:
    text = MEANT.format(mode=mode, fallback=fallback)
    with Store(tmp_path / "meant.db") as store:
        meant = workflow_of(tmp_path, text, [talker, caller], store)
        report = made(Experiment(meant, parse_chaos(f"stretto: 1\nfaults: [{HARMLESS}]"), GIVEN, runs=1))
    found = report.mutation
    assert found is not None
    assert found.good_runs == 2
    planner_only = {each.wrong for each in found.survivors if each.step == "planner"}
    assert (planner_only, found.by) == (survive, by)


def test_a_breaker_that_opens_on_some_wrong_values_hides_no_others(tmp_path: Path) -> None:
    """Nor does a fallback that stands in after one failure."""
    others = ", ".join(f"v{number}" for number in range(20))
    text = f"""
stretto: 1
name: guarded
fallback: {{component: spare, after: 1}}
contract:
  input: {{query: string}}
  output: {{intent: string}}
  semantics:
    intent: {{values: [track, refund], at: [planner.intent], synonyms: {{refund: [money back], track: [trace]}}}}
    other: {{values: [{others}], at: [output.unsaid]}}
steps:
  - name: planner
    component: planner
    input_mapping: {{query: "input.query"}}
    resilience: {{breaker: {{failure_rate: 0.1, min_calls: 1}}, retry: {{attempts: 2, base: 1ms}}}}
output: {{intent: "steps.planner.intent", unsaid: "steps.planner.unsaid"}}
""".replace("output: {intent: string}", "output: {intent: string, unsaid: string?}")
    with Store(tmp_path / "guarded.db") as store:
        guarded = workflow_of(tmp_path, text, [talker, spare], store)
        chaos = parse_chaos(f"stretto: 1\nmutants: 42\nfaults: [{HARMLESS}]")
        found = made(Experiment(guarded, chaos, GIVEN, runs=1)).mutation
    assert found is not None
    assert (found.mutants, found.caught) == (42, 40)


@stretto.component("spare", effects="pure")
async def spare(query: str) -> dict[str, str]:
    """Stands in."""
    return {"intent": "track"}
