"""What an explanation says of what answers were worth: only what its replays showed, by which nobody else is called."""

from pathlib import Path

import pytest

import stretto
from stretto.learn.explain.explained import RunExplained
from stretto.learn.explain.page import page
from stretto.learn.explain.summary import summary_of

COMPONENTS = """
import itertools
from pathlib import Path
from stretto import component, reward

counted = itertools.count()

@component(effects="pure", inline=True)
def pair(a: int, b: int) -> dict[str, int]:
    return {"a": a, "b": b}

@component(effects="read", inline=True)
def lookup(a: int) -> dict[str, int]:
    with Path(__file__).with_name("asked").open("a") as asked:
        asked.write("asked\\n")
    return {"a": a}

@reward(inline=True)
def judge(a: int, b: int) -> float:
    return JUDGED
"""

WORKFLOW = """
stretto: 1
name: shop
components: components.py
steps:
  - {name: pair, component: pair, input_mapping: {a: input.a, b: input.b}}
  - {name: lookup, component: lookup, input_mapping: {a: steps.pair.a}}
  - {name: judge, component: judge, input_mapping: {a: steps.lookup.a, b: steps.pair.b}}
output: {a: steps.lookup.a}
"""

Pairs = tuple[tuple[int, int], ...]


def told_of(folder: Path, judged: str, pairs: Pairs, *, later: str = "", reads: bool = True) -> RunExplained:
    """The last of such runs explained, where `later` is what judges it by then."""
    (folder / "w.yaml").write_text(WORKFLOW)
    (folder / "components.py").write_text(COMPONENTS.replace("JUDGED", judged))
    with stretto.load(folder / "w.yaml", store=folder / "runs.db") as workflow:
        for a, b in pairs:
            workflow.run_sync({"a": a, "b": b})
    (folder / "asked").unlink()
    (folder / "components.py").write_text(COMPONENTS.replace("JUDGED", later or judged))
    with stretto.load(folder / "w.yaml", store=folder / "runs.db") as workflow:
        return workflow.blocking(lambda: stretto.explain(workflow, reads=reads))


def said(told: RunExplained) -> str:
    return " ".join(told.summary)


def test_a_step_that_reads_the_world_is_not_asked_again(tmp_path: Path) -> None:
    told = told_of(tmp_path, "float(a)", ((0, 0), (1, 1)), reads=False)
    assert not (tmp_path / "asked").exists()
    effects = {each.field: each for each in told.steps[0].effects}
    assert (effects["a"].effect, effects["a"].failed, effects["b"].effect) == (None, 1, 0.0)
    assert "one that reads, would have had to be called for real" in said(told)


def test_it_is_asked_where_that_is_wanted(tmp_path: Path) -> None:
    told = told_of(tmp_path, "float(a)", ((0, 0), (1, 1)))
    assert (tmp_path / "asked").exists()
    assert "pair.a = 1 gained it 1: with 1 other value" in said(told)


def test_of_two_fields_of_which_either_is_enough_the_whole_answer_is_told(tmp_path: Path) -> None:
    told = told_of(tmp_path, "float(a or b)", ((0, 0), (1, 1)))
    assert "All of pair's answer gained it 1" in said(told)
    assert "the same in all" not in said(told)


def test_effects_that_cancel_are_no_rewards_that_stay(tmp_path: Path) -> None:
    told = told_of(tmp_path, "float(a)", ((0, 0), (2, 0), (1, 0)))
    assert "moved its reward on average: in 8 replays it was 0 to 2." in said(told)
    assert "Without an effect" not in page(told)


def test_what_judges_it_otherwise_now_is_no_merit_of_an_answer(tmp_path: Path) -> None:
    told = told_of(tmp_path, "float(a)", ((0, 0), (1, 1)), later="50.0 + b")
    assert (told.reward, told.again) == (1.0, 51.0)
    assert "A replay with nothing changed comes to 51 now" in said(told)
    assert {each.field: each.effect for each in told.steps[0].effects} == {"": 1.0, "b": 1.0, "a": 0.0}


def test_a_reward_that_is_another_since_a_step_is_is_not_laid_to_the_judge() -> None:
    told = RunExplained(
        run="r", workflow="w", status="ok", reward=1.0, again=2.0, compared=1, changed=("net",), summary=(), steps=()
    )
    [why] = [each for each in summary_of(told) if "A replay with nothing changed" in each]
    assert "what is named above answers otherwise, or its reward was told from elsewhere" in why


def test_a_judge_that_says_another_thing_each_time_is_named(tmp_path: Path) -> None:
    told = told_of(tmp_path, "float(next(counted))", ((0, 0), (1, 1)))
    assert "does not say the same twice" in said(told)


@pytest.mark.parametrize("judged", ["float('nan')", "None"])
def test_nothing_is_said_to_have_left_a_reward_as_it_was_where_there_is_none(tmp_path: Path, judged: str) -> None:
    told = told_of(tmp_path, f"{judged} if a else 1.0", ((0, 0), (1, 1)))
    assert told.reward is None
    assert "Without an effect" not in page(told)
    assert "No other answer of these was tried" in page(told)
