"""What trainings came to, summed up: pure, of points alone.

A ratio of runs is PPO's over ours: the mean over the seeds, over the smallest training from which on ours is no less on
unseen card holders, in the mean over the seeds, than PPO.
"""

from collections.abc import Iterable, Mapping, Sequence
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
    return {
        **_reaching("final", found.ours, final),
        **_reaching("best", found.ours, best),
        **_measures({"": whole, "_hgb": found.trees, "_ppo_final": final, "_ppo_best": best}),
        **_measures({"_with_person": found.with_person}),
    }


def _reaching(name: str, ours: Sequence[Point], ppo: Sequence[Point]) -> dict[str, Any]:
    """What it took to come to PPO's utility, of the mean and of every seed by itself, and what it took PPO."""
    there = _reached(ours, mean_utility(ppo))
    runs = fmean(point.runs for point in ppo)
    alone = [_reached((each for each in ours if each.seed == point.seed), point.test.utility) for point in ppo]
    return {
        f"updates_to_ppo_{name}": there[0].updates if there else None,
        f"runs_to_ppo_{name}": there[0].runs if there else None,
        f"runs_to_ppo_{name}_seeds": [each[0].runs if each else None for each in alone],
        f"runs_ratio_at_ppo_{name}": runs / there[0].runs if there else None,
        f"learner_ppo_{name}": ppo[0].learner,
        f"runs_of_ppo_{name}": runs,
        f"updates_of_ppo_{name}": fmean(point.updates for point in ppo),
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


def _measures(of: Mapping[str, Sequence[Point]]) -> dict[str, Any]:
    """Means and every seed's utility and AUC, and how often calls are right by coverage."""
    found: dict[str, Any] = {}
    for name, points in of.items():
        found[f"utility{name}"] = mean_utility(points)
        found[f"utility{name}_seeds"] = [point.test.utility for point in points]
        aucs = [point.test.auc for point in points if point.test.auc is not None]
        if aucs:
            found[f"auc{name}"] = fmean(aucs)
            found[f"auc{name}_seeds"] = aucs
        for each in COVERAGES:
            found[f"accuracy{name}_at_{round(100 * each)}"] = fmean(point.test.accuracy[each] for point in points)
    return found
