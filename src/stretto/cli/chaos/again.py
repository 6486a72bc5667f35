"""The command that makes one run of a trial again, alone."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec
import orjson

from stretto.types.json import JsonObject

_STDIN = "-"


class ChaosCommand(msgspec.Struct, frozen=True, kw_only=True):
    """`stretto chaos` as it was typed, as far as what becomes of a run depends on it."""

    file: Path
    plan: Path | None
    runs: int | None
    """None for the usual number."""
    seed: int | None
    given: str | None
    """The text of ``--input``."""
    one: JsonObject | None
    """What that text says."""
    inputs: Path | None
    tasks: Path | None
    checkpoint: Sequence[str]

    def only(self, index: int) -> str:
        """The command that makes this run alone, fit to be copied; what came by stdin is written out."""
        given = orjson.dumps(self.one).decode() if self.given == _STDIN else self.given
        flags = {
            "--plan": self.plan,
            "--runs": self.runs,
            "--seed": self.seed,
            "--input": given,
            "--inputs": self.inputs,
            "--tasks": self.tasks,
        }
        words = ["stretto", "chaos", str(self.file)]
        for flag, value in flags.items():
            words += [flag, str(value)] if value is not None else []
        for pair in self.checkpoint:
            words += ["--checkpoint", pair]
        return shlex.join([*words, "--only", str(index)])
