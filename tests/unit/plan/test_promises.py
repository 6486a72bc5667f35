"""What a contract promises must be about what is there."""

import pytest

from stretto.plan.fields import Reader
from stretto.plan.promises import check_promises, check_reward, names_of
from stretto.spec.contract import parse_contract
from stretto.spec.report import Report
from tests.unit.engine.plans import Probe
from tests.unit.plan.flows import component, found_in, steps_of

NESTED = """
- {name: first, component: a}
- name: each
  for_each: "input.items"
  steps:
    - name: loop
      repeat: {max_rounds: 2, steps: [{name: deep, component: a}]}
- {name: last, component: a}
"""


class Judge(Probe):
    """A reward component that says which terms it gives."""

    def __init__(self, *terms: str) -> None:
        self.terms = terms
        plain = component("judge", kind="reward")
        self.card = plain.card


def reward_problems(*components: Probe) -> list[tuple[str, str, str]]:
    report = Report()
    weights = parse_contract("reward: {right: 0.5, quick: 0.5}").reward
    check_reward(weights, components, report)
    return [(each.message, each.expected, each.suggestion) for each in found_in(report)]


class TestReward:
    def test_terms_of_all_judges_together_are_enough(self) -> None:
        assert reward_problems(Judge("right"), component("plain", kind="python"), Judge("quick", "kind")) == []

    def test_a_term_that_no_judge_gives_is_told_with_the_nearest_that_one_does(self) -> None:
        (problem,) = reward_problems(Judge("quick", "wright"))
        assert problem == (
            "the contract weighs 'right', and no reward step gives it",
            "one of quick, wright",
            "wright",
        )

    def test_without_any_judge_every_term_is_unknown(self) -> None:
        problems = reward_problems(component("plain", kind="python"))
        assert [expected for _, expected, _ in problems] == ["a step whose component is of kind reward"] * 2

    @pytest.mark.parametrize("silent", [component("other", kind="reward"), Judge()])
    def test_a_judge_that_does_not_say_may_give_any_term(self, silent: Probe) -> None:
        assert reward_problems(Judge("quick"), silent) == []


class TestPromises:
    def check(self, contract: str) -> tuple[list[str], list[str]]:
        report = Report()
        reader = Reader(report)
        check_promises(parse_contract(contract), steps_of(NESTED), report, reader)
        return [problem.message for problem in found_in(report)], [note.text for note in reader.notes]

    @pytest.mark.parametrize("target", ["workflow", "first", "each", "loop", "deep"])
    def test_a_step_may_be_promised_something_wherever_it_stands(self, target: str) -> None:
        problems, notes = self.check(f"sla: {{{target}: {{p95_latency: 5s}}}}")
        assert problems == []
        assert notes == []

    def test_a_promise_about_no_step_is_a_problem(self) -> None:
        problems, _ = self.check("sla: {workflow: {p95_latency: 5s}, frist: {p95_latency: 5s}}")
        assert problems == ["the sla of 'frist' is about no step of this workflow"]


def test_names_are_those_of_the_file_in_its_order() -> None:
    assert list(names_of(steps_of(NESTED))) == ["first", "each", "loop", "deep", "last"]
