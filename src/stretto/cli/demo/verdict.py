"""What a study's intervals allow to be said, and no more."""

from typing import Final

from stretto.cli.demo.figures import Figures
from stretto.cli.demo.tables import HEADS, TITLES, written
from stretto.learn.evaluate import Figure

JUDGED: Final = ("reward", "write_actions_right")
"""What training is for; the other figures follow from these or are what they cost."""


def verdict(figures: Figures) -> str:
    """A line for each figure that is judged: after training against before, and against the best baseline."""
    return "\n".join(_line(figures, name) for name in JUDGED)


def _line(figures: Figures, name: str) -> str:
    gained = figures.difference[name]
    best = max(figures.over, key=lambda arm: figures.sides[arm].figures[name].value)
    over = figures.over[best][name]
    value, interval = written(name, over, signed=True)
    includes = "excludes" if _excludes_0(gained) else "includes"
    return (
        f"{HEADS[name]}: after training {_stands(gained)} before (the interval of the difference {includes} 0), and "
        f"{_stands(over)} the best baseline, {TITLES[best]} ({value}, {interval})"
    )


def _stands(difference: Figure) -> str:
    if not _excludes_0(difference):
        return "not told apart from"
    return "higher than" if difference.value > 0 else "lower than"


def _excludes_0(difference: Figure) -> bool:
    return difference.low > 0 or difference.high < 0
