"""The learning curve of a joint training, in the terminal and as a picture; both by extra ``curves``."""

import math
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from rich.text import Text

from stretto.cli.terminal import note, results
from stretto.learn.joint.report import JointReport
from stretto.types.errors import StoreError
from stretto.types.extras import install_command

EXTRA: Final = "curves"
PICTURE: Final = "curve.png"

_WIDEST: Final = 100
_HIGH: Final = 18
_TICKS: Final = 6


def shown_in_terminal(reports: Sequence[JointReport]) -> Text:
    """The rewards of updates and evaluations over the updates, or how to see them."""
    if find_spec("plotext") is None:
        return Text(f"a curve is shown here, and drawn as a picture, with: {install_command(EXTRA)}")
    import plotext  # only where a curve is drawn

    figure = plotext.figure
    figure.clear()
    figure.plot_size(min(results().width, _WIDEST), _HIGH)
    figure.theme("colorless")
    drawn = [(report.update, report.reward_mean) for report in reports if report.reward_mean is not None]
    held_out = [(each.update, each.held_out.reward_mean) for each in reports if each.held_out is not None]
    for each, marker in ((drawn, "dot"), (held_out, "braille")):
        points = [(update, reward) for update, reward in each if math.isfinite(reward)]  # NaN ends the process there
        if points:
            signal = figure.signal(*zip(*points, strict=True), marker=marker)
            signal.lines(active=marker == "braille")
            figure.draw(signal)
    figure.title(f"reward of each update (•){' and held out (line)' if held_out else ''}")
    figure.label("update", "x")
    figure.ruler("x").ticks(_ticks(reports[-1].update))
    return Text.from_ansi(str(figure.build()))


def undrawn_text() -> str:
    """How to get the picture, where the terminal shows a curve and nothing is there to draw one."""
    missing = find_spec("matplotlib") is None and find_spec("plotext") is not None
    return f"a picture is drawn with: {install_command(EXTRA)}" if missing else ""


def draw(reports: Sequence[JointReport], folder: Path) -> Path | None:
    """Draw the curve into a training's folder; returns the picture, None where nothing is there to draw it.

    A disk that refuses it is told of: what was trained is kept, and wants to be told.
    """
    if find_spec("matplotlib") is None:
        return None
    from stretto.learn.joint.picture import draw_curve  # with matplotlib

    try:
        return draw_curve(reports, folder / PICTURE)
    except StoreError as error:
        note(f"there is no picture: {error}")
        return None


def _ticks(updates: int) -> list[int]:
    """Some whole numbers of updates, the first and the last among them."""
    step = max(1, updates // _TICKS)
    return [*range(0, updates - step // 2, step), updates]
