"""What to type when a folder holds a training already: the same command, further or elsewhere."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from stretto.cli.perturb_options import PERTURB_OPTIONS
from stretto.cli.train_mode import TrainMode
from stretto.cli.words import count_text
from stretto.learn.joint.options import JointOptions
from stretto.learn.options import TrainOptions
from stretto.learn.state import TrainFolder
from stretto.types.errors import UsageError

FURTHER: Final = 2
"""A training is gone on with to so many times the updates made: enough to see whether it still rises."""


class TrainCommand(msgspec.Struct, frozen=True, kw_only=True):
    """`stretto train` as it was typed."""

    file: Path
    tasks: Path | None
    component: str | None
    folder: Path | None
    options: Sequence[str]
    store: Path | None
    mode: TrainMode | None = None
    concurrency: int | None = None
    changed_code: bool = False

    def further(self, made: int) -> str:
        """The command that goes on with the training from the updates made."""
        return self.resumed(updates=FURTHER * max(made, 1))

    def as_held(self, made: int, options: JointOptions | TrainOptions) -> str:
        """The command that goes on with a training that was made with these options, whatever was typed now."""
        perturbing = [each for each in self.options if each.partition("=")[0].rpartition(".")[2] in PERTURB_OPTIONS]
        held = msgspec.structs.replace(self, options=[*_typed(options), *perturbing])
        return held.resumed(updates=options.updates) if options.updates > made else held.further(made)

    def resumed(self, **changed: int) -> str:
        """The command that goes on with the training, with other options than were typed."""
        options = [each for each in self.options if each.partition("=")[0] not in changed]
        return self._typed(
            self.folder, [*options, *(f"{name}={value}" for name, value in changed.items())], resume=True
        )

    def elsewhere(self, place: Path) -> str:
        """The command that trains anew, in the first folder beside `place` that is not there."""
        number = 2
        while (free := place.with_name(f"{place.name}-{number}")).exists():
            number += 1
        return self._typed(free, self.options, resume=False)

    def _typed(self, folder: Path | None, options: Sequence[str], *, resume: bool) -> str:
        words = ["stretto", "train", str(self.file)]
        given = {
            "--tasks": self.tasks, "--mode": self.mode, "--component": self.component, "--folder": folder,
            "--concurrency": self.concurrency, "--store": self.store,
        }  # fmt: skip
        for flag, value in given.items():
            words += [flag, str(value)] if value is not None else []
        words += ["--resume"] if resume else []
        words += ["--changed-code"] if resume and self.changed_code else []
        for option in options:
            words += ["--set", option]
        return shlex.join(words)


def hold_to_mode(command: TrainCommand) -> None:
    """Raise UsageError for a flag that mode ``end-to-end`` does not heed."""
    given = {"--component": command.component, "--concurrency": command.concurrency}
    wrong = [flag for flag, value in given.items() if value is not None]
    if wrong:
        raise UsageError(
            f"{wrong[0]} has no effect with --mode {TrainMode.END_TO_END}, in which all PyTorch components learn "
            "together, a batch at a time; leave it out"
        )


def updates_made(place: Path) -> int:
    """How many updates the training has made that a folder holds; 0 when it holds none."""
    kept = TrainFolder(place)
    return kept.load()[0].update if kept.begun else 0


def hold_to_folder(place: Path, command: TrainCommand, *, resume: bool) -> None:
    """Raise UsageError where there is no training to go on with, or one that another, begun anew, would overwrite."""
    if resume:
        TrainFolder(place).check_started()
    elif TrainFolder(place).begun:
        kept = TrainFolder(place).load()[0]
        raise held_already(place, kept.update, command, kept.options)


def held_already(place: Path, made: int, command: TrainCommand, options: JointOptions | TrainOptions) -> UsageError:
    """That a folder holds a training, made with `options`, with what to type instead."""
    return UsageError(
        f"{place} holds a training already, {count_text(made, 'update')} long\n"
        f"  go on with it: {command.as_held(made, options)}\n"
        f"  train anew: {command.elsewhere(place)}"
    )


def nothing_left(place: Path, made: int, asked: int, command: TrainCommand) -> str:
    """What to say of a training that was resumed and had made all updates."""
    return (
        f"nothing is left to do: the training in {place} has made {count_text(made, 'update')} of {asked}\n"
        f"go on with it: {command.further(made)}"
    )


def _typed(options: JointOptions | TrainOptions) -> list[str]:
    """What to type after each ``--set`` for these options, without those that have their default."""
    given, usual = msgspec.to_builtins(options), msgspec.to_builtins(type(options)())
    components = given.pop("components", {})
    found = {name: value for name, value in given.items() if value != usual[name]}
    own = {f"{name}.{key}": value for name, each in components.items() for key, value in each.items()}
    return [f"{name}={json.dumps(value).strip(chr(34))}" for name, value in {**found, **own}.items()]
