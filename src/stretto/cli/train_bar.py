"""How far a training is, shown on stderr."""

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from stretto.cli.terminal import notes
from stretto.learn.options import TrainOptions


def training_bar(unit: str) -> Progress:
    """A bar over what a training counts in, on stderr where that is a terminal."""
    console = notes()
    return Progress(
        TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn(unit), TimeRemainingColumn(),
        console=console, transient=True, disable=not console.is_terminal,
    )  # fmt: skip


class TrainBar:
    """A bar over all runs, where stderr is a terminal, and a line for each update."""

    def __init__(self, options: TrainOptions) -> None:
        self._updates = options.updates
        self._an_update = options.tasks_per_update * options.group_size
        self.shown = training_bar("runs")
        self._task: TaskID = self.shown.add_task("", total=options.updates * self._an_update)

    def advance(self) -> None:
        """One run has ended."""
        self.shown.advance(self._task)

    def tell(self, update: int, told: str) -> None:
        """Say what came of an update."""
        self.shown.update(self._task, completed=update * self._an_update)
        console = self.shown.console
        console.print(f"update {update:>3} of {self._updates}  {told}", soft_wrap=not console.is_terminal)
