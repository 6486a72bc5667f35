"""Which runs are meant: the options that listing and exporting share."""

import time
from datetime import datetime, timedelta
from typing import Annotated, Final

import typer

from stretto.cli.values import read_choice
from stretto.spec.durations import duration_or_none
from stretto.store.reading import Filters
from stretto.types.enums import RunStatus
from stretto.types.errors import UsageError

Workflow = Annotated[str | None, typer.Option("--workflow", metavar="NAME", help="Of this workflow.")]
Status = Annotated[
    str | None, typer.Option("--status", metavar="STATUS", help="That ended so: ok, failed, parked, ...")
]
Task = Annotated[str | None, typer.Option("--task", metavar="TEXT", help="With this label `task`.")]
Split = Annotated[str | None, typer.Option("--split", metavar="TEXT", help="With this label `split`.")]
Purpose = Annotated[str | None, typer.Option("--purpose", metavar="TEXT", help="With this label `purpose`.")]
Tenant = Annotated[str | None, typer.Option("--tenant", metavar="NAME", help="Of this tenant.")]
Since = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="Started in the last 90s, 15m or 2h, or since 2025-11-29.")
]

_FIRST_YEAR: Final = 1678
_LAST_YEAR: Final = 2261
"""The whole years whose nanoseconds since 1970 fit into 64 bits, as a record holds them."""


def read_filters(
    *,
    workflow: str | None,
    status: str | None,
    task: str | None,
    split: str | None,
    purpose: str | None,
    tenant: str | None,
    since: str | None,
) -> Filters:
    """The filters that were given; raises UsageError for a status or time that is none."""
    texts = {"workflow": workflow, "task": task, "split": split, "purpose": purpose, "tenant": tenant}
    filters: Filters = {name: text for name, text in texts.items() if text is not None}  # type: ignore[assignment]  # names as in Filters
    if status is not None:
        filters["status"] = read_choice(status, RunStatus, "status")
    if since is not None:
        filters["since_ns"] = _read_since(since)
    return filters


def _read_since(text: str) -> int:
    ago = duration_or_none(text)
    if ago is not None:
        return time.time_ns() - ago // timedelta(microseconds=1) * 1000
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"--since {text!r} is no time; expected how long ago (90s, 15m, 2h) or when (2025-11-29, 2025-11-29T17:00)"
        ) from None
    if not _FIRST_YEAR <= when.year <= _LAST_YEAR:
        raise UsageError(
            f"--since {text!r} is of a year that no run can be of; expected one from {_FIRST_YEAR} to {_LAST_YEAR}, "
            "or no --since for all runs"
        )
    return int(when.astimezone().timestamp() * 1e9)
