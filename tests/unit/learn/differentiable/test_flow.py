"""A gradient that is lost on its way round is refused when the module is made; what loses none is not."""

from pathlib import Path

import pytest

from stretto.learn import as_module
from stretto.types.errors import UsageError
from tests.unit.learn.differentiable.made import loaded, module_of

LOOP = """
  - name: talk
    repeat:
      max_rounds: 2
      carry: {x: "input.x", told: "input.n"}
      steps:
        - {name: one, component: first, input_mapping: {x: carry.x}}
        - name: ask
          component: rated
          ESTIMATOR
          input_mapping: {score: SCORE, state: STATE}
          output_mapping: {score: carry.told}
        - {name: two, component: worth, input_mapping: {score: READ}}
"""


AFTER = """
  - {name: after, component: worth, input_mapping: {score: steps.talk.carry.told}}
"""


def looped(*, score: str = "steps.one.score", state: str = "steps.one.state", read: str, estimator: str = "") -> str:
    return LOOP.replace("SCORE", score).replace("STATE", state).replace("READ", read).replace("ESTIMATOR", estimator)


def test_a_cycle_through_a_step_outside_is_refused_with_the_steps_of_it(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError,
        match="in 'talk', what 'talk/one' computes goes through 'talk/ask', which is no module, and comes back into "
        r"'talk/two' in a later round\n.*estimator: surrogate",
    ):
        module_of(tmp_path, looped(read="carry.told"))


def test_only_where_it_comes_back_is_told_of_and_not_what_reads_it_afterwards(tmp_path: Path) -> None:
    after = "\n  - {name: after, component: second, input_mapping: {state: steps.talk.last.one.state}}\n"
    steps = LOOP.replace("SCORE", "steps.one.score").replace("STATE", "steps.one.state").replace("ESTIMATOR", "")
    steps = steps.replace("{score: carry.told}", "{score: carry.told, grade: carry.x}").replace(
        "READ", "steps.one.score"
    )
    with pytest.raises(UsageError, match="comes back into 'talk/one'") as refused:
        module_of(tmp_path, steps + after)
    assert "after" not in str(refused.value)


def test_a_cycle_through_several_steps_and_a_list_is_found(tmp_path: Path) -> None:
    steps = """
  - name: talk
    repeat:
      max_rounds: 2
      carry: {x: "input.x", all: "input.none"}
      steps:
        - {name: one, component: first, input_mapping: {x: carry.x}}
        - name: each
          for_each: "input.all"
          output_mapping: {items: carry.all}
          steps:
            - {name: ask, component: same, input_mapping: {value: steps.one.state}}
        - {name: two, component: second, input_mapping: {state: "carry.all[0].ask.value"}}
"""
    with pytest.raises(UsageError, match=r"'talk/one' computes goes through 'talk/each/ask'.* into 'talk/two'"):
        module_of(tmp_path, steps)


@pytest.mark.parametrize(
    "steps",
    [
        looped(read="steps.ask.score"),  # within a round, which is a way and no cycle
        looped(score="input.n", state="input.x", read="carry.told"),  # it is asked nothing that a module computed
        looped(read="carry.told", estimator="estimator: surrogate"),
        looped(read="steps.one.score"),  # it comes back, and nobody reads it
        looped(read="steps.one.score") + AFTER,  # and it is read when the rounds are over, which is a way too
    ],
)
def test_what_loses_no_gradient_on_its_way_round_is_not_refused(tmp_path: Path, steps: str) -> None:
    module_of(tmp_path, steps)


def test_a_choice_on_the_way_round_is_learnt_from(tmp_path: Path) -> None:
    steps = """
  - name: talk
    repeat:
      max_rounds: 2
      carry: {way: "input.none"}
      steps:
        - {name: choose, component: chooser, input_mapping: {state: input.x}}
        - {name: ask, component: same, input_mapping: {value: steps.choose.way}, output_mapping: {value: carry.way}}
        - {name: reward, component: of_way, condition: "carry.way != null", input_mapping: {way: carry.way}}
"""
    module_of(tmp_path, steps)


def test_nothing_is_lost_of_a_module_that_does_not_learn(tmp_path: Path) -> None:
    workflow = loaded(
        tmp_path, looped(read="carry.told") + "  - {name: end, component: second, input_mapping: {state: input.x}}\n"
    )
    as_module(workflow, train=["second"])
