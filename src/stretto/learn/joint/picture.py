"""The learning curve of a joint training as a picture. Imports matplotlib, of extra ``curves``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from stretto.learn.joint.report import JointReport, Reach
from stretto.types.errors import StoreError

_INCHES: Final = (8.0, 7.0)
_NORMS: Final = (Reach.STEPPED, Reach.CLIPPED)


def draw_curve(reports: Sequence[JointReport], path: Path) -> Path:
    """Draw rewards and the norms of the components' gradients over the updates, as PNG. Raises StoreError when the disk
    refuses."""
    figure = Figure(figsize=_INCHES, layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    _rewards(above, reports)
    _norms(below, reports)
    FigureCanvasAgg(figure)
    try:
        figure.savefig(path, dpi=120)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error}") from error
    return path


def _rewards(axes: Axes, reports: Sequence[JointReport]) -> None:
    each = [(report.update, report.reward_mean) for report in reports if report.reward_mean is not None]
    held_out = [(report.update, report.held_out) for report in reports if report.held_out is not None]
    if each:
        axes.plot(*zip(*each, strict=True), color="0.7", linewidth=1, label="runs of the update")
    if held_out:
        axes.plot(
            [update for update, _ in held_out], [found.reward_mean for _, found in held_out],
            color="tab:blue", linewidth=2, marker="o", label="held out",
        )  # fmt: skip
        best, found = [(update, found) for update, found in held_out if found.is_best][-1]
        axes.plot(
            [best], [found.reward_mean], color="tab:red", marker="*", markersize=16, linestyle="none",
            label=f"kept: {found.reward_mean:.3f} after update {best}",
        )  # fmt: skip
    for report in reports:
        if report.skipped:
            axes.axvline(report.update, color="tab:orange", linewidth=1, alpha=0.5)
    axes.set_ylabel("mean reward of a run")
    axes.grid(visible=True, alpha=0.3)
    if each or held_out:
        axes.legend(loc="lower right")


def _norms(axes: Axes, reports: Sequence[JointReport]) -> None:
    names = dict.fromkeys(name for report in reports for name in report.gradients)
    for name in names:
        found = [(report.update, report.gradients[name]) for report in reports if name in report.gradients]
        points = [(update, each.norm) for update, each in found if each.reach in _NORMS and each.norm > 0]
        if points:
            axes.plot(*zip(*points, strict=True), linewidth=1, label=name)
    axes.set_yscale("log")
    axes.set_ylabel("norm of the gradient")
    axes.set_xlabel("update")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(visible=True, alpha=0.3)
    if axes.get_lines():
        axes.legend(loc="upper left", fontsize="small", ncols=2)
