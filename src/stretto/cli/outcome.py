"""What a verb that made a run says of it."""

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from stretto.cli.downgrades import MOST_AFTER_RUN, downgrades
from stretto.cli.errors import failure_text
from stretto.cli.interrupted import tell_interrupted
from stretto.cli.pasted import PASTED
from stretto.cli.run_document import run_document
from stretto.cli.terminal import note, print_json_bytes
from stretto.cli.waiting import Typed, settling
from stretto.cli.words import status_text, took_text
from stretto.record.model import Run
from stretto.types.enums import RunStatus


def tell_run(run: Run, path: Path, typed: Typed, in_doubt: Sequence[str], *, as_json: bool) -> None:
    """Print a run's output, or with ``--json`` the run, and in a line what became of it and what to type next.

    `path` is the store, `in_doubt` holds the paths of writes in doubt.
    """
    if as_json:
        print_json_bytes(run_document(run, path))
        return
    if run.answered:
        print_json_bytes(bytes(run.output))
    if run.error is not None:
        note(failure_text(run.error))
    elif run.status is RunStatus.DEGRADED:
        for text in downgrades(run, MOST_AFTER_RUN):
            note(text)
    line = status_text(run.status, run.reason)
    if run.is_quarantined:
        line.append(", quarantined", "yellow")
    line.append(f" in {took_text(run)}, kept in {path}; ")
    note(line.append("look at it: ").append(typed.command("runs", "show", run.id), PASTED))
    if run.status is RunStatus.PARKED:
        note(settling(run, in_doubt, typed))


def tell_cancelled(run: Run, typed: Typed, *, as_json: bool) -> int:
    """Say in one line what became of the run that Ctrl-C ended; returns the exit code."""
    line = status_text(run.status, run.reason)
    if run.status is RunStatus.CANCELLED:
        line.append(" by Ctrl-C; look at the run: ")
    else:  # it came to its end all the same, a write is in doubt, or a second Ctrl-C came before it was sealed
        line = Text("stopped by Ctrl-C; the run: ").append_text(line).append("; look at it: ")
    show = typed.command("runs", "show", run.id)
    return tell_interrupted(line.append(show, PASTED), as_json=as_json, run=run.id)
