"""The line that a terminal shows while a run is made: which steps it is at, and since when."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.text import Text

from stretto.cli.plan_lines import StepLine, step_lines
from stretto.cli.words import ms_text
from stretto.plan.model import Plan
from stretto.record.model import Run
from stretto.spec.source import printable

_MINUTE_S: Final = 60


class Underway:
    """Drawn again and again; `plan` and `run` become known while it stands there."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._began = time.monotonic()
        self._steps: Sequence[StepLine] = ()
        self.run: Run | None = None
        """The run as the engine adds to it; None before it was begun."""

    def follow(self, plan: Plan) -> None:
        """Say from now on which of the plan's steps are being done."""
        self._steps = [line for line in step_lines(plan) if not line.depth]

    def __rich__(self) -> Text:
        seconds = int(time.monotonic() - self._began)
        since = f"{seconds} s" if seconds < _MINUTE_S else ms_text(1000 * seconds)
        now = ", ".join(() if self.run is None else steps_at(self._steps, self.run))
        said = f"running {self._file}{': ' if now else ''}{now}"
        return Text(f"{since}  {printable(said)}", no_wrap=True, overflow="ellipsis")


def steps_at(steps: Sequence[StepLine], run: Run) -> list[str]:
    """The steps that have begun and not ended: all that they wait for has ended."""
    ended = {str(step.path) for step in tuple(run.steps)}
    return [line.name for line in steps if line.path not in ended and ended.issuperset(line.after)]
