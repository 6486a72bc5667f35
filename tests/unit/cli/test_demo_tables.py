"""The demo's results stay whole however narrow the terminal is."""

import pytest
from rich.console import Console, RenderableType

from stretto.cli.demo.figures import Figures, Side
from stretto.cli.demo.tables import TITLES, apart, comparison
from stretto.learn.evaluate import Figure
from stretto.types.enums import RunStatus

NAMES = ("reward", "write_actions_right", "tasks_right", "calls_per_task")
HEADS = ("reward", "gold writes right", "database right", "calls")


def figure(value: float, spread: float) -> Figure:
    return Figure(value=value, low=value - spread, high=value + spread, runs=80)


def side(reward: float) -> Side:
    kept = {"calls_per_task": figure(2.25, 0.5), "tasks_right": figure(1.0, 0.0)}
    figures = {name: figure(reward + place, 0.05) for place, name in enumerate(NAMES)}
    return Side(figures=figures, apart=kept, runs=80, unknown=2 if reward > 0.3 else 0, statuses={RunStatus.OK: 78})


FIGURES = Figures(
    sides={arm: side(0.1 * place) for place, arm in enumerate(arm for arm in TITLES if arm != "difference")},
    difference={**{name: figure(-0.123, 0.05) for name in NAMES}, "calls_per_task": figure(-0.001, 0.0)},
    over={},
)


def drawn(what: RenderableType, width: int) -> list[str]:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(what)
    return [line.rstrip() for line in capture.get().splitlines()]


@pytest.mark.parametrize("width", [36, 48, 60, 80, 100, 120, 200])
def test_every_label_head_and_figure_stands_whole(width: int) -> None:
    lines = drawn(comparison(FIGURES, width), width)
    text = "\n".join(lines)
    assert "…" not in text
    assert all(head in text for head in HEADS)
    tables = text.split("\n\n")
    for title in TITLES.values():
        assert all(sum(line.startswith(title) for line in table.splitlines()) >= 1 for table in tables), title
    for told in (
        "-0.12  -0.17 to -0.07",
        "-12.3 %  -17.3 to -7.3",
        "+0.00  +0.00 to +0.00",
        "0.40  0.35 to 0.45",
        "140.0 %  135.0 to 145.0",
    ):
        assert told in text


@pytest.mark.parametrize(("width", "tables"), [(60, 4), (80, 2), (100, 2), (130, 1), (200, 1)])
def test_there_are_as_few_tables_as_fit(width: int, tables: int) -> None:
    lines = drawn(comparison(FIGURES, width), width)
    assert sum(line.startswith(TITLES["difference"]) for line in lines) == tables


@pytest.mark.parametrize("width", [36, 60, 80, 200])
def test_the_customers_apart_are_told_as_whole(width: int) -> None:
    text = "\n".join(drawn(apart(FIGURES, width), width))
    assert "…" not in text
    assert all(TITLES[arm] in text for arm in FIGURES.sides)
    assert text.count("2.25  1.75 to 2.75") == len(FIGURES.sides)
