"""The learning curve of a joint training as a picture. Imports matplotlib, of extra ``curves``."""

import math
from collections.abc import Sequence
from itertools import cycle, product
from pathlib import Path
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from stretto.learn.joint.report import ComponentGradient, JointReport, Reach
from stretto.types.errors import StoreError
from stretto.types.words import number_text

_INCHES: Final = (8.0, 6.5)
"""Without the legends, which make it higher."""
_DPI: Final = 120
_BESIDE: Final = 1.1
"""Inches beside the axes, for figures and words; a legend is as wide as the rest."""
_COLUMNS: Final = 6
"""Of a legend, at most."""
_FEW: Final = 40
"""Points that are marked, each; of more the line tells enough, unless one stands alone."""

_REWARD: Final = "mean reward of a run"
_NORMS: Final = (Reach.STEPPED, Reach.CLIPPED)
_STYLES: Final = tuple((f"C{colour}", style) for style, colour in product(("-", "--", ":", "-."), range(10)))
"""One for each of forty components."""

Points = list[tuple[int, float]]
"""Update and figure; what is unknown, or no number, is NaN: a gap in the line."""


def draw_curve(reports: Sequence[JointReport], path: Path) -> Path:
    """Draw rewards and the norms of the components' gradients over the updates, as PNG. Raises StoreError when the disk
    refuses."""
    figure = curve_figure(reports)
    try:
        figure.savefig(path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error}") from error
    return path


def curve_figure(reports: Sequence[JointReport]) -> Figure:
    """The picture. What its lines mean stands above them, and over none: the more there is to say, the higher it is."""
    figure = Figure(figsize=_INCHES, dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    _rewards(above, reports)
    _norms(below, reports)
    figure.set_figheight(_INCHES[1] + _legend(above) + _legend(below))
    figure.draw_without_rendering()
    _say_scale(above)
    return figure


def _rewards(axes: Axes, reports: Sequence[JointReport]) -> None:
    each = [(report.update, _number(report.reward_mean)) for report in reports if report.update > 0]
    _line(axes, each, color="0.7", linewidth=1, label="runs of the update")
    held_out = [(report.update, report.held_out) for report in reports if report.held_out is not None]
    points = [(update, _number(found.reward_mean)) for update, found in held_out]
    _line(axes, points, color="tab:blue", linewidth=2, marker="o", markersize=5, label="held out")
    best = [(update, found.reward_mean) for update, found in held_out if found.is_best][-1:]
    for update, reward in best:
        label = f"kept: {number_text(reward)} after update {update}"
        _line(axes, best, color="tab:red", marker="*", markersize=14, linestyle="none", label=label)
    if not axes.get_lines():
        _say_nothing(axes, "no reward is known")
    skipped = [report.update for report in reports if report.skipped]
    for number, update in enumerate(skipped):
        axes.axvline(update, color="tab:orange", linewidth=1, alpha=0.5, label="" if number else "skipped", zorder=0)
    axes.set_ylabel(_REWARD)
    axes.grid(visible=True, alpha=0.3)


def _norms(axes: Axes, reports: Sequence[JointReport]) -> None:
    names = dict.fromkeys(name for report in reports for name in report.gradients)
    axes.set_yscale("log")
    for name, (colour, style) in zip(names, cycle(_STYLES)):
        points = [(report.update, _norm(report.gradients.get(name))) for report in reports]
        label = f" {name}"  # a label that begins with '_' would be none
        _line(axes, points, color=colour, linestyle=style, linewidth=1, label=label)
    if not axes.get_lines():
        _say_nothing(axes, "no gradient reached a component")
    axes.set_ylabel("norm of the gradient")
    axes.set_xlabel("update")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.grid(visible=True, alpha=0.3)


def _number(value: float | None) -> float:
    return math.nan if value is None or not math.isfinite(value) else value


def _norm(gradient: ComponentGradient | None) -> float:
    """What a logarithm has a place for: 0 is none."""
    if gradient is None or gradient.reach not in _NORMS or gradient.norm <= 0:
        return math.nan
    return _number(gradient.norm)


def _line(axes: Axes, points: Points, **style: Any) -> None:  # Any: as matplotlib's own
    """A line; nothing where no figure is known."""
    known = [math.isfinite(value) for _, value in points]
    if any(known):
        is_marked = sum(known) <= _FEW or _has_one_alone(known)
        axes.plot(*zip(*points, strict=True), **{"marker": "o", "markersize": 3 if is_marked else 0, **style})


def _has_one_alone(known: Sequence[bool]) -> bool:
    """Whether a point has none beside it, so that no line would show it."""
    padded = [False, *known, False]
    return any(each and not (padded[at] or padded[at + 2]) for at, each in enumerate(known))


def _say_nothing(axes: Axes, why: str) -> None:
    axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", va="center", color="0.4")
    axes.set_yticks([])
    axes.minorticks_off()


def _legend(axes: Axes) -> float:
    """Put a legend above the axes, in as many columns as they are wide enough for; how high it is, in inches."""
    lines, labels = axes.get_legend_handles_labels()
    for columns in range(min(len(lines), _COLUMNS), 0, -1):
        legend = axes.legend(
            lines, labels, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns,
            fontsize="small", frameon=False, borderaxespad=0.2, markerscale=0.8,
        )  # fmt: skip
        box = legend.get_window_extent()
        if box.width <= (_INCHES[0] - _BESIDE) * _DPI or columns == 1:
            return box.height / _DPI
    return 0.0


def _say_scale(axes: Axes) -> None:
    """Say what figures are to be multiplied by beside the axes, since the legend is where matplotlib would."""
    offset = axes.yaxis.get_offset_text()
    if offset.get_text():
        axes.set_ylabel(f"{_REWARD} ({offset.get_text()})")
        offset.set_visible(False)
