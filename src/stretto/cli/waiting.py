"""What to type for a run that waits for somebody: one that was interrupted, or whose write is in doubt."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from rich.text import Text

from stretto.cli.options import DEFAULT_WORKFLOW
from stretto.cli.pasted import PASTED
from stretto.record.model import Run
from stretto.runtime.asked import is_of_training


class Typed(msgspec.Struct, frozen=True, kw_only=True):
    """How a command was typed, as far as one that is typed next must agree with it."""

    store: Path | None
    """Where runs are kept, when that was said."""
    file: Path = msgspec.field(default_factory=lambda: DEFAULT_WORKFLOW if DEFAULT_WORKFLOW.is_file() else Path("FILE"))
    """The workflow's. When it is not known, the usual one, where that is there, else what stands for one."""
    weights: Mapping[str, str] | None = None
    """Checkpoints by the policy that they were given for; None when that is not known."""

    def command(self, *words: str) -> str:
        """A command on the same store, fit to be copied."""
        store = () if self.store is None else ("--store", str(self.store))
        return shlex.join(["stretto", *words, *store])

    def resume(self, run: Run, in_doubt: Sequence[str] = ()) -> str:
        """The command that goes on with a run, up to the word on a write in doubt.

        Names what the run needs again, and which write is meant when there are several.
        """
        words = ["runs", "resume", run.id, "--workflow", str(self.file)]
        for name, path in (self.weights or {}).items():
            words += ["--checkpoint", f"{name}={path}"]
        for name in run.baggage:
            words += ["--baggage", f"{name}=TEXT"]
        words += ["--step", in_doubt[0]] if len(in_doubt) > 1 else []
        return self.command(*words)


def settling(run: Run, in_doubt: Sequence[str], typed: Typed) -> Text:
    """How writes in doubt, by their paths, are settled, or what else can be done when a training made the run, or when
    no intent of the write was kept."""
    several = len(in_doubt) > 1
    each = f"each of these writes happened, {', '.join(in_doubt)}" if several else "the write happened"
    if is_of_training(run.labels):
        return Text.assemble(f"find out whether {each}; ", training_words(run.id, typed, in_doubt=True))
    if not in_doubt:
        return Text.assemble(f"find out whether {each}; ", no_way_on(run.id, typed))
    then = "then, one after the other" if several else "then"
    command = f"{typed.resume(run, in_doubt)} --happened OUTPUT"
    text = Text.assemble(f"find out whether {each}, {then}: ", (command, PASTED), " or ", ("--did-not-happen", PASTED))
    text.append("; with neither it is sent again where its component is `idempotent`, asked for where it can be")
    if typed.weights is None and any(step.actions for step in run.steps):
        text.append("; when it was made with --checkpoint, give that again")
    return text


def training_words(run_id: str, typed: Typed, *, in_doubt: bool) -> str:
    """What helps with a run that a training left behind, which cannot go on by itself."""
    force = ["--force"] if in_doubt else []
    return (
        "`stretto train ... --resume` makes the runs of an unfinished update again, and "
        f"`{typed.command('runs', 'delete', run_id, *force)}` removes this one"
    )


def no_way_on(run_id: str, typed: Typed) -> str:
    """What helps with a parked run that kept no intents."""
    return (
        "this run has no intents of its own here, since it was made without `durability: step` or imported, and cannot "
        f"go on: make it again where nothing happened, and remove this one with "
        f"`{typed.command('runs', 'delete', run_id)}`"
    )
