"""What the demo says of its own figures is what their intervals allow; the numbers are those of docs/log.md."""

import pytest

from stretto.cli.demo.figures import Figures, Side
from stretto.cli.demo.verdict import verdict
from stretto.learn.evaluate import Figure

Told = tuple[float, float, float]
"""Value, low, high."""


def figures(*numbers: Told) -> dict[str, Figure]:
    """Of the reward, and of the gold writes right."""
    return {
        name: Figure(value=value, low=low, high=high, runs=72)
        for name, (value, low, high) in zip(("reward", "write_actions_right"), numbers, strict=True)
    }


def side(reward: float, writes: float) -> Side:
    return Side(figures=figures((reward, 0, 1), (writes, 0, 1)), apart={}, runs=72, unknown=0, statuses={})


def study(difference: tuple[Told, Told], over_available: Told = (0.04, -0.09, 0.18)) -> Figures:
    """The demo with the strong baseline: supervised is best in reward, the commonest available in writes."""
    return Figures(
        sides={
            "before": side(0.31, 0.30),
            "after": side(0.58, 0.54),
            "baseline_nothing": side(0.0, 0.0),
            "baseline_available": side(0.50, 0.50),
            "baseline_supervised": side(0.59, 0.49),
        },
        difference=figures(*difference),
        over={
            "baseline_nothing": figures((0.58, 0.2, 0.9), (0.54, 0.4, 0.7)),
            "baseline_available": figures((0.08, -0.27, 0.45), over_available),
            "baseline_supervised": figures((-0.01, -0.3, 0.28), (0.05, -0.05, 0.15)),
        },
    )


RECORDED = ((0.27, -0.01, 0.56), (0.24, 0.11, 0.38))


def test_each_figure_is_set_against_before_and_against_its_best_baseline() -> None:
    reward, writes = verdict(study(RECORDED)).splitlines()
    assert reward == (
        "reward: after training not told apart from before (the interval of the difference includes 0), and not told "
        "apart from the best baseline, supervised classifier (-0.01, -0.30 to +0.28)"
    )
    assert writes == (
        "gold writes right: after training higher than before (the interval of the difference excludes 0), and not "
        "told apart from the best baseline, commonest available (+4.0 %, -9.0 to +18.0)"
    )


@pytest.mark.parametrize(
    ("interval", "stands", "zero"),
    [
        ((0.2, 0.1, 0.3), "higher than", "excludes"),
        ((-0.2, -0.3, -0.1), "lower than", "excludes"),
        ((0.1, 0.0, 0.2), "not told apart from", "includes"),
        ((-0.1, -0.2, 0.0), "not told apart from", "includes"),
        ((0.0, 0.0, 0.0), "not told apart from", "includes"),
        ((0.1, float("nan"), float("nan")), "not told apart from", "includes"),
    ],
)
def test_only_an_interval_without_0_tells_sides_apart(interval: Told, stands: str, zero: str) -> None:
    told = verdict(study((interval, interval), over_available=interval))
    for line in told.splitlines():
        assert f"after training {stands} before (the interval of the difference {zero} 0)" in line
    assert f"and {stands} the best baseline, commonest available" in told
