"""The figures of learning through rules: what counts as reached, as best, and as a right call."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from benchmarks.gradients.risk import KEYS
from benchmarks.gradients.risk.cards import Cards
from benchmarks.gradients.risk.measures import Measured, measured
from benchmarks.gradients.risk.points import Point, keep
from benchmarks.gradients.risk.summary import Measurements, summed_up


def point(learner: str, seed: int, runs: int, test: float, validation: float = 0.0, auc: float = 0.7) -> Point:
    def of(utility: float) -> Measured:
        return Measured(utility=utility, accuracy={0.5: 0.9, 0.7: 0.8, 0.9: 0.7, 1.0: 0.6}, auc=auc)

    return Point(learner=learner, seed=seed, runs=runs, updates=runs // 10, test=of(test), validation=of(validation))


def curve(learner: str, seed: int, tests: Sequence[float], validations: Sequence[float]) -> list[Point]:
    return [
        point(learner, seed, 1_000 * number, *both)
        for number, both in enumerate(zip(tests, validations, strict=True), start=1)
    ]


def found(ours: dict[int, float]) -> dict[str, Any]:
    """Two seeds: the first rate of PPO ends better on validation, the second was better there before."""
    return summed_up(
        Measurements(
            ours=[point("ours", seed, runs, test) for runs, test in ours.items() for seed in range(2)],
            with_person=[point("person", 0, 400, 0.5, auc=0.8)],
            trees=[point("trees", 0, 400, 0.6, auc=0.75)],
            ppo=[
                *(curve("slow", seed, [0.1, 0.2, 0.3], [0.1, 0.2, 0.35]) for seed in range(2)),
                *(curve("fast", seed, [0.2, 0.4, 0.9], [0.2, 0.5, 0.1]) for seed in range(2)),
            ],
        )
    )


def test_of_ppo_the_rate_and_the_checkpoint_are_chosen_on_validation() -> None:
    told = found({100: 0.5})
    assert told["utility_ppo_final"] == pytest.approx(0.3)
    assert told["utility_ppo_best"] == pytest.approx(0.4)
    assert (told["learner_ppo_final"], told["learner_ppo_best"]) == ("slow", "fast")
    assert (told["runs_of_ppo_best"], told["updates_of_ppo_best"]) == (2_000, 200)
    assert told.keys() >= {*KEYS}


def test_a_utility_is_reached_by_the_smallest_training_after_which_none_falls_below_it() -> None:
    told = found({50: 0.35, 100: 0.25, 200: 0.38, 400: 0.45})
    assert (told["runs_to_ppo_final"], told["updates_to_ppo_final"]) == (200, 20)
    assert told["runs_ratio_at_ppo_final"] == pytest.approx(3_000 / 200)
    assert told["runs_ratio_at_ppo_best"] == pytest.approx(2_000 / 400)
    assert told["runs_to_ppo_best_seeds"] == [400, 400]
    assert told["utility"] == pytest.approx(0.45)
    assert told["auc_with_person"] == pytest.approx(0.8)


def test_what_is_not_reached_has_no_ratio() -> None:
    told = found({100: 0.5, 200: 0.35})
    assert told["runs_ratio_at_ppo_final"] == pytest.approx(3_000 / 100)
    assert told["runs_ratio_at_ppo_best"] is None
    assert told["runs_to_ppo_best_seeds"] == [None, None]


def test_a_right_call_approves_who_pays_and_the_surest_are_called_first() -> None:
    preference_NA = np.array([[9, 0, 0], [5, 9, 0], [0, 9, 3], [0, 9, 1], [0, 9, 0.5]], dtype=np.float32)
    cards = Cards(
        seen_ND=np.zeros((5, 1), dtype=np.float32),
        seen_with_person_ND=np.zeros((5, 1), dtype=np.float32),
        worth_NA=np.array([[1, 0, 0], [1, 0.4, 0], [-4, -0.5, 0], [1, 0.4, 0], [1, 0.4, 0]], dtype=np.float32),
        defaulted_N=np.array([False, False, True, False, False]),
        train=np.arange(0),
        validation=np.arange(0),
        test=np.arange(5),
    )
    told = measured(cards, cards.test, preference_NA, np.array([0.1, 0.2, 0.9, 0.4, 0.3], dtype=np.float32))
    assert told.utility == pytest.approx((1 + 0.4 - 0.5 + 0.4 + 0.4) / 5)  # four are referred
    assert told.accuracy[1.0] == pytest.approx(3 / 5)  # the last two, who pay, would be declined
    assert told.accuracy[0.7] == pytest.approx(3 / 4)
    assert told.auc == 1.0


def test_curves_are_kept_as_lines_and_as_a_picture(tmp_path: Any) -> None:
    points = [point("ours", seed, runs, 0.1 * seed) for seed in range(2) for runs in (10, 100)]
    keep([*points, *curve("ppo", 0, [0.1, 0.2], [0.1, 0.2])], tmp_path / "curves")
    assert len((tmp_path / "curves" / "risk.jsonl").read_text().splitlines()) == 6
    assert (tmp_path / "curves" / "risk.png").stat().st_size > 10_000
