"""What to type when a folder holds a training already: the same command, further or elsewhere."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from stretto.cli.words import count_text
from stretto.learn.state import TrainFolder
from stretto.types.errors import UsageError

FURTHER: Final = 2
"""A training is gone on with to so many times the updates made: enough to see whether it still rises."""


class TrainCommand(msgspec.Struct, frozen=True, kw_only=True):
    """`stretto train` as it was typed."""

    file: Path
    tasks: Path
    component: str | None
    folder: Path | None
    options: Sequence[str]
    store: Path | None

    def further(self, made: int) -> str:
        """The command that goes on with the training from the updates made."""
        options = [each for each in self.options if each.partition("=")[0] != "updates"]
        return self._typed(self.folder, [*options, f"updates={FURTHER * made}"], resume=True)

    def elsewhere(self, place: Path) -> str:
        """The command that trains anew, in the first folder beside `place` that is not there."""
        number = 2
        while (free := place.with_name(f"{place.name}-{number}")).exists():
            number += 1
        return self._typed(free, self.options, resume=False)

    def _typed(self, folder: Path | None, options: Sequence[str], *, resume: bool) -> str:
        words = ["stretto", "train", str(self.file), "--tasks", str(self.tasks)]
        for flag, value in (("--component", self.component), ("--folder", folder), ("--store", self.store)):
            words += [flag, str(value)] if value is not None else []
        words += ["--resume"] if resume else []
        for option in options:
            words += ["--set", option]
        return shlex.join(words)


def updates_made(place: Path) -> int:
    """How many updates the training has made that a folder holds; 0 when it holds none."""
    kept = TrainFolder(place)
    return kept.load()[0].update if kept.begun else 0


def hold_to_folder(place: Path, command: TrainCommand, *, resume: bool) -> None:
    """Raise UsageError where there is no training to go on with, or one that another, begun anew, would overwrite."""
    if resume:
        TrainFolder(place).check_started()
        return
    if not TrainFolder(place).begun:
        return
    made = updates_made(place)
    raise UsageError(
        f"{place} holds a training already, {count_text(made, 'update')} long\n"
        f"  go on with it: {command.further(made)}\n"
        f"  train anew: {command.elsewhere(place)}"
    )


def nothing_left(place: Path, made: int, asked: int, command: TrainCommand) -> str:
    """What to say of a training that was resumed and had made all updates."""
    return (
        f"nothing is left to do: the training in {place} has made {count_text(made, 'update')} of {asked}\n"
        f"go on with it: {command.further(made)}"
    )
