"""A study's figures for people."""

from collections.abc import Iterator, Mapping
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from stretto.cli.demo.figures import Figures, Side
from stretto.learn.evaluate import Figure

TITLES: Final = {
    "before": "before training",
    "after": "after training",
    "difference": "difference",
    "baseline_nothing": "do nothing",
    "baseline_majority": "the commonest tool only",
    "baseline_supervised": "supervised classifier",
}

_HEADS: Final = {
    "reward": "reward",
    "write_actions_right": "gold writes right",
    "tasks_right": "database right",
    "calls_per_task": "calls",
}

_SHARES: Final = frozenset({"write_actions_right", "tasks_right"})


def comparison(figures: Figures) -> RenderableType:
    """Before and after with the paired difference, and the baselines under them."""
    table = _table([_HEADS[name] for name in figures.difference])
    baselines = [arm for arm in figures.sides if arm not in ("before", "after")]
    for arm in ("before", "after"):
        table.add_row(TITLES[arm], *_cells(figures.sides[arm].figures))
    table.add_row(Text(TITLES["difference"], "bold"), *_cells(figures.difference, signed=True), end_section=True)
    for arm in baselines:
        table.add_row(TITLES[arm], *_cells(figures.sides[arm].figures))
    return Group(table, *_remarks(figures.sides))


def apart(figures: Figures) -> RenderableType:
    """The customers for whom nothing is to be changed."""
    names = figures.sides["after"].apart
    table = _table([_HEADS[name] for name in names])
    for arm, side in figures.sides.items():
        table.add_row(TITLES[arm], *_cells(side.apart))
    return table


def _table(heads: list[str]) -> Table:
    table = Table.grid(padding=(0, 3))
    table.add_column()
    for _ in heads:
        table.add_column(no_wrap=True)
    table.add_row("", *(Text(head, "bold") for head in heads))
    return table


def _cells(figures: Mapping[str, Figure], *, signed: bool = False) -> Iterator[Text]:
    for name, figure in figures.items():
        number = _share if name in _SHARES else _plain
        sign = "+" if signed else ""
        value, low, high = (number(each, sign) for each in (figure.value, figure.low, figure.high))
        yield Text.assemble((value, "bold" if signed else ""), (f"  {low} to {high}", "dim"))


def _share(value: float, sign: str) -> str:
    return f"{100 * value:{sign}.1f} %"


def _plain(value: float, sign: str) -> str:
    return f"{value:{sign}.2f}"


def _remarks(sides: Mapping[str, Side]) -> Iterator[RenderableType]:
    for arm, side in sides.items():
        if side.unknown:
            text = f"{TITLES[arm]}: the reward of {side.unknown} of {side.runs} runs is unknown; they are left out"
            yield Padding(Text(text, "yellow"), (0, 0, 0, 2))
