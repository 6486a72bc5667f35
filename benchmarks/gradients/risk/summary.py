"""What trainings came to, summed up: pure, of points alone.

A ratio of runs is PPO's over ours: the mean over the seeds, over the smallest training from which on ours is no less on
unseen card holders, in the mean over the seeds, than PPO.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from benchmarks.gradients.risk.measures import COVERAGES
from benchmarks.gradients.risk.points import Point, by_runs, mean_utility, on_validation


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurements:
    """Everything that was trained."""

    ours: Sequence[Point]
    with_person: Sequence[Point]
    trees: Sequence[Point]
    ppo: Sequence[Sequence[Point]]
    """A curve for each rate and seed."""


def summed_up(found: Measurements) -> dict[str, Any]:
    """The keys of the benchmark's line."""
    every = max(point.runs for point in found.ours)
    whole = [point for point in found.ours if point.runs == every]
    final, best = _final(found.ppo), _best(found.ppo)
    at_final, at_best = _reached(found.ours, mean_utility(final)), _reached(found.ours, mean_utility(best))
    best_runs = fmean(point.runs for point in best)
    return {
        "updates_to_ppo_final": at_final[0].updates if at_final else None,
        "runs_to_ppo_final": at_final[0].runs if at_final else None,
        "runs_ratio_at_ppo_final": final[0].runs / at_final[0].runs if at_final else None,
        "updates_to_ppo_best": at_best[0].updates if at_best else None,
        "runs_to_ppo_best": at_best[0].runs if at_best else None,
        "runs_ratio_at_ppo_best": best_runs / at_best[0].runs if at_best else None,
        "runs_of_ppo_best": best_runs,
        **_utilities({"": whole, "_hgb": found.trees, "_ppo_final": final, "_ppo_best": best}),
        "auc": _mean_auc(whole),
        "auc_hgb": _mean_auc(found.trees),
        "utility_with_person": mean_utility(found.with_person),
        "auc_with_person": _mean_auc(found.with_person),
    }


def _final(curves: Iterable[Sequence[Point]]) -> list[Point]:
    """The last of each seed, with the rate whose last are best on validation."""
    return _of_best_rate([curve[-1] for curve in curves])


def _best(curves: Iterable[Sequence[Point]]) -> list[Point]:
    """The checkpoint of each seed that is best on validation, with the rate whose such are best there."""
    return _of_best_rate([_best_of(curve) for curve in curves])


def _best_of(curve: Sequence[Point]) -> Point:
    """The earliest of equals."""
    return max(curve, key=lambda point: (on_validation(point), -point.runs))


def _of_best_rate(points: Sequence[Point]) -> list[Point]:
    names = dict.fromkeys(point.learner for point in points)
    of_rate = [[point for point in points if point.learner == name] for name in names]
    return max(of_rate, key=lambda those: fmean(on_validation(point) for point in those))


def _reached(points: Iterable[Point], utility: float) -> list[Point]:
    """The smallest trainings from which on no mean is less; empty when that of the largest is."""
    found: list[Point] = []
    for those in reversed(by_runs(points).values()):
        if mean_utility(those) < utility:
            return found
        found = those
    return found


def _utilities(of: dict[str, Sequence[Point]]) -> dict[str, Any]:
    """Means, every seed's, and how often calls are right by coverage."""
    found: dict[str, Any] = {f"utility{name}": mean_utility(points) for name, points in of.items()}
    found |= {f"utility{name}_seeds": [p.test.utility for p in points] for name, points in of.items()}
    for name, points in of.items():
        found |= {
            f"accuracy{name}_at_{round(100 * each)}": fmean(p.test.accuracy[each] for p in points) for each in COVERAGES
        }
    return found


def _mean_auc(points: Iterable[Point]) -> float:
    return fmean(point.test.auc for point in points if point.test.auc is not None)
