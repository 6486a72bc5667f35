"""Runs folded into figures, and two sets of runs into paired differences."""

from typing import Any

import pytest

from stretto.learn.compare import compare
from stretto.learn.evaluate import Metric, evaluate
from stretto.learn.usable import Recorded
from stretto.record.model import Annotation
from stretto.types.enums import RunStatus
from stretto.types.errors import LearningError
from stretto.types.ids import RunId
from stretto.types.learning import Reward
from tests.unit.learn.worlds import run_of

METRICS = {"reward": Metric(), "calls": Metric("calls"), "right": Metric("right", over="gold")}


def recorded(
    task: str, seed: int, reward: float | None, right: float = 0, gold: float | None = 1, **changed: Any
) -> Recorded:
    terms = (
        Reward(name="right", value=right, weight=0),
        Reward(name="gold", value=gold, weight=0),
        Reward(name="calls", value=seed + 1.0, weight=0),
    )
    run_id = f"{task}-{seed}"
    return Recorded(run=run_of(run_id, [], reward, rewards=terms, labels={"task": task}, seed=seed, **changed))


BEFORE = [recorded("a", 0, 0.0), recorded("a", 1, 0.2), recorded("b", 0, 1.0, 1, 3), recorded("b", 1, None, 0, None)]


def test_a_set_of_runs_has_the_mean_of_what_is_known() -> None:
    evaluation = evaluate(BEFORE, METRICS)
    assert evaluation.figures["reward"].value == pytest.approx(0.4)
    assert evaluation.figures["reward"].runs == 3
    assert evaluation.figures["calls"].value == pytest.approx(1.5)
    assert evaluation.figures["right"].value == pytest.approx(1 / 5)
    assert evaluation.figures["reward"].low <= 0.4 <= evaluation.figures["reward"].high
    assert evaluation.runs == 4
    assert evaluation.statuses == {RunStatus.OK: 4}


def test_the_mean_reward_is_what_is_given_when_nothing_is_named() -> None:
    assert set(evaluate(BEFORE).figures) == {"reward"}


def test_a_failed_run_is_counted_and_its_unknown_reward_is_not_nought() -> None:
    evaluation = evaluate([*BEFORE, recorded("c", 0, None, status=RunStatus.FAILED)])
    assert evaluation.figures["reward"].value == pytest.approx(0.4)
    assert evaluation.statuses == {RunStatus.OK: 4, RunStatus.FAILED: 1}


def test_a_delayed_reward_counts_once_it_is_known() -> None:
    late = Annotation(run_id=RunId("b-1"), name="reward", value=2.0, at_ns=50)
    items = [*BEFORE[:3], Recorded(run=BEFORE[3].run, annotations=(late,))]
    assert evaluate(items).figures["reward"].value == pytest.approx(3.2 / 4)
    assert evaluate(items, as_of_ns=49).figures["reward"].value == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("items", "metric", "message"),
    [
        ([], Metric(), "known for none of 0 runs"),
        (BEFORE, Metric("mood"), r"known for none of 4 runs; their terms are \['calls', 'gold', 'reward', 'right'\]"),
        ([*BEFORE, BEFORE[0]], Metric(), "task 'a' was run twice with seed 0"),
        ([recorded("a", 0, 1.0, 0, 0)], Metric("right", over="gold"), "denominator that is not 0"),
    ],
)
def test_a_metric_without_an_answer_is_an_error(items: list[Recorded], metric: Metric, message: str) -> None:
    with pytest.raises(LearningError, match=message):
        evaluate(items, {"m": metric})


def test_differences_are_of_pairs_of_task_and_seed() -> None:
    after = [recorded("a", 0, 0.5), recorded("a", 1, 0.7), recorded("b", 1, 9.0), recorded("z", 0, 9.0)]
    comparison = compare(BEFORE, after)
    figure = comparison.figures["reward"]
    assert (figure.value, figure.low, figure.high) == pytest.approx((0.5, 0.5, 0.5))
    assert figure.runs == 2
    assert comparison.unpaired == 2


def test_every_metric_is_compared() -> None:
    after = [recorded("a", 0, 1.0, 1), recorded("a", 1, 1.0, 1), recorded("b", 0, 1.0, 1, 3)]
    figures = compare(BEFORE, after, METRICS).figures
    assert figures["right"].value == pytest.approx(3 / 5 - 1 / 5)
    assert figures["calls"].value == 0.0


def test_comparing_is_repeatable() -> None:
    after = [recorded("a", 0, 1.0), recorded("a", 1, 0.1), recorded("b", 0, 0.3)]
    assert compare(BEFORE, after) == compare(BEFORE, after)


def test_sets_without_a_pair_are_an_error() -> None:
    with pytest.raises(
        LearningError, match=r"no pair: .*\(4 runs before, 1 after\). Run the same tasks with the same seeds"
    ):
        compare(BEFORE, [recorded("z", 0, 1.0)])
