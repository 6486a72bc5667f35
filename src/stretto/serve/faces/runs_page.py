"""The newest runs as a page, each with the way to its explanation."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

from stretto.learn.explain.document import document, html_text
from stretto.store.reading import RunSummary
from stretto.types.words import number_text

LISTED: Final = 100

LINK: Final = '<p class=note><a href="/runs">All runs</a></p>'
"""From an explanation back to the list."""


def runs_page(runs: Sequence[RunSummary]) -> str:
    """The page; it runs nothing."""
    rows = "".join(map(_row, runs)) or "<tr><td>No run has been made yet.</td></tr>"
    columns = "<th>started (UTC)</th><th>workflow</th><th>status</th><th class=figure>reward</th><th>labels</th>"
    return document("Runs", f"<h1>The newest runs</h1><table><tr><th>run</th>{columns}</tr>{rows}</table>")


def _row(run: RunSummary) -> str:
    started = datetime.fromtimestamp(run.started_at_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S")
    labels = ", ".join(f"{name}={value}" for name, value in run.labels.items())
    status = "not ended" if run.status is None else run.status.value
    name = f"<code>{html_text(run.id)}</code>"
    linked = name if run.status is None else f'<a href="/runs/{quote(run.id)}/explanation">{name}</a>'
    reward = "" if run.reward is None else number_text(run.reward)
    return (
        f"<tr><td>{linked}</td><td>{started}</td><td>{html_text(f'{run.workflow} {run.version}')}</td><td>{status}</td>"
        f"<td class=figure>{reward}</td><td>{html_text(labels)}</td></tr>"
    )
