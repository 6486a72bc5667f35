"""Learning curves: points, kept as JSON lines and as a picture."""

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from benchmarks.gradients.risk.measures import Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One learner at one place of its curve."""

    learner: str
    seed: int
    runs: int
    """Different card holders, or episodes, that a reward was asked for."""
    updates: int
    """Steps of the optimiser."""
    test: Measured
    validation: Measured | None = None


def keep(points: Sequence[Point], folder: Path) -> None:
    """Write ``risk.jsonl`` and ``risk.png``."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(asdict(point)) for point in points)
    (folder / "risk.jsonl").write_text("".join(line + "\n" for line in lines))
    _draw(points, folder / "risk.png")


def told(point: Point) -> Point:
    """The same, told on stderr."""
    line = f"  {point.learner:32} seed {point.seed}  {point.runs:7,} runs  utility {point.test.utility:.3f}"
    print(line, file=sys.stderr, flush=True)
    return point


def by_runs(points: Iterable[Point]) -> dict[int, list[Point]]:
    """Those of every seed together, fewest runs first."""
    found: dict[int, list[Point]] = defaultdict(list)
    for point in points:
        found[point.runs].append(point)
    return dict(sorted(found.items()))


def mean_utility(points: Iterable[Point]) -> float:
    """Of their card holders that nothing was learnt from."""
    return fmean(point.test.utility for point in points)


def on_validation(point: Point) -> float:
    """Its utility there; only of what was measured there."""
    assert point.validation is not None
    return point.validation.utility


def _draw(points: Sequence[Point], path: Path) -> None:
    import matplotlib as mpl  # takes half a second, and only a picture needs it

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 5))
    for learner in dict.fromkeys(point.learner for point in points):
        there = {runs: those for runs, those in by_runs(p for p in points if p.learner == learner).items() if runs}
        low, high = ([pick(p.test.utility for p in those) for those in there.values()] for pick in (min, max))
        mark = "o" if len(there) < 20 else None
        (line,) = axes.plot([*there], [mean_utility(those) for those in there.values()], marker=mark, label=learner)
        axes.fill_between([*there], low, high, color=line.get_color(), alpha=0.15)
    axes.set(xscale="log", xlabel="runs", ylabel="utility on unseen card holders, mean and range of the seeds")
    axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)
