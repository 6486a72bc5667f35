"""The picture of a learning curve: what its lines mean stands beside them and over none, whatever there is to draw."""

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stretto.learn.joint.picture import curve_figure, draw_curve
from stretto.learn.joint.report import ComponentGradient, HeldOutReport, JointReport, Reach

NAN, INF = math.nan, math.inf
LONGEST = "a-component-of-a-name-as-long-as-any-may-be-at-most-sixty-four-"


def report(
    update: int, reward: float | None = None, held_out: float | None = None, *, best: bool = False, **norms: float
) -> JointReport:
    found = HeldOutReport(reward_mean=held_out, runs=9, unknown=0, left_out={}, is_best=best) if held_out else None
    gradients = {name: ComponentGradient(norm=norm, reach=Reach.STEPPED) for name, norm in norms.items()}
    return JointReport(
        update=update, runs=8 * update, reward_mean=reward, unknown=0, gradients=gradients, held_out=found,
        skipped="" if norms or not update else "no number",
    )  # fmt: skip


def curve(rewards: list[float], *names: str) -> list[JointReport]:
    """Evaluated each time, and best at the last."""
    norms = {name: 0.1 * (place + 1) for place, name in enumerate(names or ("reader", "router"))}
    last = len(rewards) - 1
    return [
        report(update, None if not update else reward, reward, best=update in (0, last), **(norms if update else {}))
        for update, reward in enumerate(rewards)
    ]


CURVES = {
    "rising": curve([0.1 * step for step in range(1, 30)]),
    "falling": curve([-0.1 * step for step in range(1, 30)]),
    "flat": curve([0.5] * 20),
    "the start alone": curve([0.1]),
    "one update": curve([0.1, 0.2]),
    "nothing held out": [report(1, 0.2, reader=0.1)],
    "nothing known": [report(1), report(2)],
    "no report": [],
    "no numbers": [
        report(0, held_out=NAN, best=True),
        report(1, INF, NAN, reader=INF),
        report(2, NAN, 0.5, reader=0.0),
    ],
    "some numbers": [report(1, 0.1, reader=0.1), report(2, NAN, reader=NAN), report(3, 0.3, reader=0.3)],
    "large": curve([-1e6 / step for step in range(1, 30)]),
    "small apart": curve([1e6 + 1e-3 * step for step in range(30)]),
    "long names": curve([0.1, 0.2, 0.3], *(f"{LONGEST}{place}" for place in range(4))),
    "many components": curve([0.1, 0.2, 0.3], *(f"component-{place}" for place in range(50))),
    "many long names": curve([0.1, 0.2, 0.3], *(f"{LONGEST[:-1]}{place}" for place in range(10, 60))),
    "hidden": curve([0.1, 0.2], "_reader", "a__b.c-d"),
}


@cache
def drawn(name: str) -> Figure:
    figure = curve_figure(CURVES[name])
    figure.draw_without_rendering()
    return figure


def said(axes: Axes) -> list[str]:
    legend = axes.get_legend()
    return [] if legend is None else [text.get_text().strip() for text in legend.get_texts()]


@pytest.mark.parametrize("name", CURVES)
def test_no_legend_meets_the_place_of_the_lines_or_their_figures_and_all_of_it_is_on_the_picture(name: str) -> None:
    figure = drawn(name)
    for legend in filter(None, (axes.get_legend() for axes in figure.axes)):
        box = legend.get_window_extent()
        assert figure.bbox.containsx(box.x0)
        assert figure.bbox.containsx(box.x1)
        assert figure.bbox.containsy(box.y0)
        assert figure.bbox.containsy(box.y1)
        for axes in figure.axes:
            figures = [found for axis in (axes.xaxis, axes.yaxis) if (found := axis.get_tightbbox()) is not None]
            for other in (axes.bbox, *figures):
                assert not box.overlaps(other), (legend.get_texts(), other)


@pytest.mark.parametrize("name", CURVES)
def test_the_lines_have_as_much_room_whatever_is_to_be_said_of_them(name: str) -> None:
    above, below = (axes.bbox for axes in drawn(name).axes)
    assert min(above.width, below.width) > 6.4 * 120
    assert above.height > 3.0 * 120
    assert below.height > 2.0 * 120


@pytest.mark.parametrize("name", ["hidden", "many components", "long names"])
def test_every_component_is_named_and_no_two_look_alike_among_forty(name: str) -> None:
    below = drawn(name).axes[1]
    names = [*CURVES[name][-1].gradients]
    assert said(below) == names
    looks = [(line.get_color(), line.get_linestyle()) for line in below.get_lines()]
    assert len(set(looks)) == min(len(names), 40)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rising", ["runs of the update", "held out", "kept: 2.9 after update 28"]),
        ("the start alone", ["held out", "kept: 0.1 after update 0"]),
        ("nothing held out", ["runs of the update"]),
        ("nothing known", ["skipped"]),
        ("no numbers", ["held out"]),
        ("no report", []),
    ],
)
def test_what_is_drawn_of_rewards_is_said_and_nothing_else(name: str, expected: list[str]) -> None:
    above = drawn(name).axes[0]
    assert said(above) == expected
    assert [text.get_text() for text in above.texts] == (
        ["no reward is known"] if expected in ([], ["skipped"]) else []
    )


def test_what_is_no_number_is_a_gap_and_a_point_alone_is_marked() -> None:
    above, below = drawn("some numbers").axes
    for axes in (above, below):
        (line,) = axes.get_lines()
        assert np.isnan(np.asarray(line.get_ydata(), float)).tolist() == [False, True, False]
        assert line.get_markersize() > 0


@pytest.mark.parametrize(("name", "scale"), [("large", " (1e6)"), ("small apart", " (+1e6)"), ("rising", "")])
def test_a_scale_is_said_beside_the_axes_where_no_legend_is(name: str, scale: str) -> None:
    above = drawn(name).axes[0]
    assert above.get_ylabel() == f"mean reward of a run{scale}"
    assert not scale or not above.yaxis.get_offset_text().get_visible()


@pytest.mark.parametrize("name", ["the start alone", "one update", "nothing held out"])
def test_updates_are_told_in_whole_numbers(name: str) -> None:
    below = drawn(name).axes[1]
    low, high = below.get_xlim()
    ticks = [tick for tick in below.get_xticks() if low <= tick <= high]
    assert ticks
    assert all(float(tick).is_integer() for tick in ticks)


def test_what_is_written_is_a_picture_of_all_of_it(tmp_path: Path) -> None:
    path = draw_curve(CURVES["many long names"], tmp_path / "curve.png")
    assert path.read_bytes().startswith(b"\x89PNG")
