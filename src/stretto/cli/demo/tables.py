"""A study's figures for people."""

from collections.abc import Iterator, Mapping
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from stretto.cli.demo.figures import Figures, Side
from stretto.cli.demo.side_tables import side_tables
from stretto.learn.evaluate import Figure

TITLES: Final = {
    "before": "before training",
    "after": "after training",
    "difference": "difference",
    "baseline_nothing": "do nothing",
    "baseline_majority": "commonest tool only",
    "baseline_available": "commonest available",
    "baseline_supervised": "supervised classifier",
}

HEADS: Final = {
    "reward": "reward",
    "write_actions_right": "gold writes right",
    "tasks_right": "database right",
    "calls_per_task": "calls",
}

_SHARES: Final = frozenset({"write_actions_right", "tasks_right"})


def comparison(figures: Figures, width: int) -> RenderableType:
    """Before and after with the paired difference, and the baselines under them."""
    rows = [(Text(TITLES[arm]), [*_cells(figures.sides[arm].figures)]) for arm in figures.sides]
    difference = (Text(TITLES["difference"], "bold"), [*_cells(figures.difference, signed=True)])
    rows.insert(1 + list(figures.sides).index("after"), difference)
    heads = [HEADS[name] for name in figures.difference]
    return Group(side_tables(heads, rows, width), *_remarks(figures.sides))


def apart(figures: Figures, width: int) -> RenderableType:
    """The customers for whom nothing is to be changed."""
    rows = [(Text(TITLES[arm]), [*_cells(side.apart)]) for arm, side in figures.sides.items()]
    return side_tables([HEADS[name] for name in figures.sides["after"].apart], rows, width)


def _cells(figures: Mapping[str, Figure], *, signed: bool = False) -> Iterator[Text]:
    for name, figure in figures.items():
        value, interval = written(name, figure, signed=signed)
        yield Text.assemble((value, "bold" if signed else ""), (f"  {interval}", "dim"))


def written(name: str, figure: Figure, *, signed: bool = False) -> tuple[str, str]:
    """A figure's value and its interval: ``("+24.1 %", "+11.0 to +38.2")``; signed where it is a difference."""
    scale, digits, unit = (100, 1, " %") if name in _SHARES else (1, 2, "")
    sign = "+" if signed else ""
    value, low, high = (f"{scale * each:{sign}z.{digits}f}" for each in (figure.value, figure.low, figure.high))
    return value + unit, f"{low} to {high}"


def _remarks(sides: Mapping[str, Side]) -> Iterator[RenderableType]:
    for arm, side in sides.items():
        if side.unknown:
            text = f"{TITLES[arm]}: the reward of {side.unknown} of {side.runs} runs is unknown; they are left out"
            yield Padding(Text(text, "yellow"), (0, 0, 0, 2))
