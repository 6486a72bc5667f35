"""`stretto doctor`: whether this installation and this store are well, and what to do where they are not."""

from collections.abc import Sequence
from typing import Final

import msgspec
import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from stretto.cli.doctor.findings import Finding, State
from stretto.cli.doctor.installation import examine_installation
from stretto.cli.doctor.kept import examine_store
from stretto.cli.doctor.losses import counted, counter
from stretto.cli.exits import Exit
from stretto.cli.help import VerbCommand
from stretto.cli.options import AsJson, StorePath
from stretto.cli.pasted import Whole
from stretto.cli.rows import BETWEEN
from stretto.cli.section import Indented
from stretto.cli.terminal import is_unicode, print_json, results, show
from stretto.cli.words import count_text
from stretto.runtime.load import store_path

app = typer.Typer(add_completion=False)

_MARKS: Final = {State.WELL: ("✓", "ok", "green"), State.NOTE: ("·", "-", "dim"), State.WRONG: ("✗", "!!", "bold red")}
"""For a stream that knows Unicode, for one that does not, and the style."""


@app.command(cls=VerbCommand)
def doctor(store: StorePath = None, as_json: AsJson = False) -> int:
    """Examine the installation and the store.

    Extras, integrity, what was lost or done twice, interrupted runs, writes in doubt, stale or failing fallbacks,
    components that did not open. Exits with 1 when something is wrong; each finding says what to do.
    """
    findings = [*examine_installation(), *examine_store(store_path(store), given=store)]
    wrong = sum(finding.state is State.WRONG for finding in findings)
    if as_json:
        checks = [msgspec.to_builtins(finding) for finding in findings]
        print_json({"ok": not wrong, "losses": counted(findings), "checks": checks})
    else:
        show(_report([*findings, *counter(findings)], unicode=is_unicode(results())))
        verdict = Text("all is well", "bold green")
        if wrong:
            verdict = Text(f"{count_text(wrong, 'thing')} {'is' if wrong == 1 else 'are'} wrong", "bold red")
        show(verdict)
    return Exit.FAILED if wrong else Exit.OK


def _report(findings: Sequence[Finding], *, unicode: bool) -> RenderableType:
    """A line for each finding, and what to do under it: a command in one piece."""
    indent = 1 + BETWEEN if unicode else 2 + BETWEEN
    names = max(len(finding.name) for finding in findings)
    parts: list[RenderableType] = []
    for finding in findings:
        mark, plain, style = _MARKS[finding.state]
        table = Table.grid(padding=(0, BETWEEN))
        table.add_column(width=indent - BETWEEN)
        table.add_column(width=names)
        table.add_column(overflow="fold")
        text = Text(finding.text, "dim" if finding.state is State.NOTE else "")
        table.add_row(Text(mark if unicode else plain, style), finding.name, text)
        parts.append(table)
        if finding.remedy:
            arrow = "→" if unicode else "->"
            parts.append(Indented(Whole(Text(f"{arrow} {finding.remedy}", "bold")), indent + names + BETWEEN))
    return Group(*parts)
