"""Progress of a long command in named phases: a bar while one runs on a terminal, a line when it is over."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from stretto.cli.terminal import notes
from stretto.cli.words import count_text, ms_text
from stretto.learn.update import UpdateReport


class Phases:
    """Called with a phase's key, what it does, and how many runs it has; `seconds` holds how long each took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        console = notes()
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("runs"),
            TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal,
        )  # fmt: skip
        self._at = self._bar.add_task("", visible=False)

    @contextmanager
    def __call__(self, key: str, what: str, runs: int) -> Iterator[None]:
        """One phase; nothing is said of one that fails."""
        began = time.monotonic()
        self._bar.reset(self._at, description=what, total=runs or None, visible=True)
        with self._bar:
            yield
        self.seconds[key] = round(time.monotonic() - began, 2)
        self._bar.update(self._at, visible=False)
        self._bar.console.print(Text.assemble(what, (f"  {ms_text(1000 * self.seconds[key])}", "dim")))

    def advance(self) -> None:
        """One run of the phase has ended."""
        self._bar.advance(self._at)

    def tell_update(self, report: UpdateReport) -> None:
        """Say what an update of a training came to."""
        self._bar.console.print(
            f"  update {report.update:>2}  reward {report.reward_mean:6.3f}  entropy {report.entropy:5.3f}  "
            f"KL to the start {report.kl_start:6.3f}  {count_text(report.runs, 'run')}",
            soft_wrap=not self._bar.console.is_terminal,
        )

    def tell(self, text: str) -> None:
        """Say one more thing of the phase, under what it has said."""
        console = self._bar.console
        if console.is_terminal:
            console.print(Padding(Text(text), (0, 0, 0, 2), expand=False))
        else:
            console.print(Text(f"  {text}"), soft_wrap=True)
