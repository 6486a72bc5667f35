"""`stretto train --mode end-to-end`: all PyTorch components of a workflow, together."""

import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from stretto.cli.exits import Exit
from stretto.cli.interrupted import tell_interrupted
from stretto.cli.joint_bar import JointBar
from stretto.cli.joint_curve import draw, shown_in_terminal, undrawn_text
from stretto.cli.perturb_options import read_perturbations
from stretto.cli.terminal import note, notes, print_json, results, show
from stretto.cli.train_again import TrainCommand, held_already
from stretto.cli.train_mode import TrainMode
from stretto.cli.words import count_text, number_text
from stretto.learn.joint import JointOptions, JointReport, train_jointly
from stretto.learn.joint.progress import WEIGHTS, JointFolder
from stretto.learn.tasks import Task
from stretto.runtime.workflow import Workflow

if TYPE_CHECKING:
    from stretto.learn.joint.train import JointResult


class JointTraining:
    """One joint training, its progress shown on stderr."""

    def __init__(
        self, workflow: Workflow, tasks: Sequence[Task], folder: Path, options: JointOptions, command: TrainCommand, *,
        resume: bool,
    ) -> None:  # fmt: skip
        """Raises UsageError where the folder holds a training that is not to be gone on with, or none that is."""
        self._kept = JointFolder(folder)
        if not resume and self._kept.begun:
            kept = self._kept.progress()
            raise held_already(folder, kept.update, command, kept.options)
        self._kept.check(resume=resume)
        self._workflow = workflow
        self._tasks = tasks
        self._options = options
        self._command = command
        self._perturb = read_perturbations(command.options)
        self._resume = resume
        self._has_updated = False
        self._bar = JointBar(options)
        self._result: JointResult | None = None

    def go(self) -> None:
        """Train to the end, or until Ctrl-C."""
        if self._command.mode is None:
            mode = f"--mode {TrainMode.END_TO_END}"
            note(f"'{self._workflow.name}' has no policy: its PyTorch components learn, as with {mode}")
        with suppress(KeyboardInterrupt), self._bar.shown:
            self._result = train_jointly(
                self._workflow, self._tasks, folder=self._kept.folder, options=self._options, resume=self._resume,
                changed_code=self._command.changed_code, on_update=self._after, perturb=self._perturb,
            )  # fmt: skip

    def tell(self, *, as_json: bool) -> int:
        """Say what came of it; the exit code."""
        result, place = self._result, self._kept.folder
        if result is None:
            made = count_text(self._kept.progress().update if self._kept.begun else 0, "update")
            message = f"stopped by Ctrl-C with {made} made; --resume goes on with the training in {place}"
            return tell_interrupted(message, as_json=as_json)
        if not self._has_updated:
            note(self._nothing_left(result))
        picture = draw(result.reports, place)
        if as_json:
            _print(result, picture)
        else:
            self._tell(result, picture)
        return Exit.OK

    def _after(self, report: JointReport) -> None:
        self._has_updated = self._has_updated or report.update > 0
        self._bar.tell(report)

    def _nothing_left(self, result: "JointResult") -> str:
        made, patience = result.reports[-1].update, self._options.patience
        if result.has_ended_early and patience is not None:
            why = f"ended after {count_text(patience, 'evaluation')} without a better one"
            further = self._command.resumed(patience=2 * patience)
        else:
            why = f"has made {count_text(made, 'update')} of {self._options.updates}"
            further = self._command.further(made)
        return f"nothing is left to do: the training in {self._kept.folder} {why}\ngo on with it: {further}"

    def _tell(self, result: "JointResult", picture: Path | None) -> None:
        show(shown_in_terminal(result.reports))
        show(_came_to(result))
        for report in result.surrogates.values():
            results().print(str(report), soft_wrap=True, highlight=False)
        results().print(f"weights: {result.folder / WEIGHTS}", soft_wrap=True)  # a path that is cut cannot be copied
        told = [text for text in (undrawn_text() if picture is None else f"picture: {picture}",) if text]
        file, folder = shlex.quote(str(self._command.file)), shlex.quote(str(result.folder))
        for line in (*told, f"serve them: stretto run {file} --checkpoint {folder}"):
            notes().print(line, soft_wrap=True)


def _came_to(result: "JointResult") -> str:
    last, best = result.reports[-1], result.best
    skipped = sum(bool(report.skipped) for report in result.reports)
    told = [f"{count_text(last.update, 'update')}, {count_text(last.runs, 'run')}"]
    told += ["ended early, nothing got better"] if result.has_ended_early else []
    told += [f"{count_text(skipped, 'update')} skipped"] if skipped else []
    if best.reward_mean is None:
        return f"{', '.join(told)}; kept are the last weights, since nothing was held out"
    first = next(report.held_out for report in result.reports if report.held_out is not None)
    return (
        f"{', '.join(told)}; held-out reward {number_text(first.reward_mean)} at the start, "
        f"{number_text(best.reward_mean)} after update {best.update}, whose weights are kept"
    )


def _print(result: "JointResult", picture: Path | None) -> None:
    print_json(
        {
            "mode": TrainMode.END_TO_END.value,
            "folder": str(result.folder),
            "checkpoints": {name: str(path) for name, path in result.checkpoints.items()},
            "best": {"update": result.best.update, "reward_mean": result.best.reward_mean},
            "ended_early": result.has_ended_early,
            "surrogates": [msgspec.to_builtins(report) for report in result.surrogates.values()],
            "picture": None if picture is None else str(picture),
            "updates": [msgspec.to_builtins(report) for report in result.reports],
        }
    )
