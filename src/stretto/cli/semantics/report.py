"""`stretto semantics report`: what recorded runs aligned, by what, and what they could not."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
import typer
from rich.text import Text

from stretto.cli.exits import Exit
from stretto.cli.help import VerbCommand
from stretto.cli.opened import opened
from stretto.cli.options import AsJson, StorePath
from stretto.cli.rows import labelled as labelled_rows
from stretto.cli.runs.filters import Purpose, Since, Split, Status, Task, Tenant, Workflow, read_filters
from stretto.cli.semantics.kept import recorded
from stretto.cli.terminal import print_json, results, show
from stretto.cli.words import count_text, escaped
from stretto.learn.semantics.summary import DomainSummary, summarise

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def report(
    domain: Annotated[
        str | None, typer.Option("--domain", metavar="NAME", help="Only this domain. [default: all]")
    ] = None,
    workflow: Workflow = None,
    status: Status = None,
    task: Task = None,
    split: Split = None,
    purpose: Purpose = None,
    tenant: Tenant = None,
    since: Since = None,
    store: StorePath = None,
    as_json: AsJson = False,
) -> int:
    """Report what recorded runs aligned: by which stage, how surely, and what nothing understood.

    Values that were right already leave no trace and are not counted.
    """
    filters = read_filters(
        workflow=workflow, status=status, task=task, split=split, purpose=purpose, tenant=tenant, since=since
    )
    with opened(store) as kept:
        domains = summarise(recorded(kept, domain, filters))
    if as_json:
        print_json({"domains": [msgspec.to_builtins(each) for each in domains]})
    else:
        _show(domains)
    return Exit.OK


def _show(domains: Sequence[DomainSummary]) -> None:
    if not domains:
        show("no recorded run aligned anything")
    for each in domains:
        show(Text.assemble((escaped(each.domain), "bold"), f"  {count_text(each.texts, 'text')} aligned or refused"))
        shares = [
            (Text(f"  {stage}"), (Text(f"{count:,}"), Text(f"{count / each.texts:.1%}")))
            for stage, count in each.by.items()
        ]
        show(labelled_rows(shares, results().width))
        if each.drift is not None:
            drift = each.drift
            show(
                f"  of the {drift.texts:,} that came to the aligner: confidence {drift.before:.3f} in the older half, "
                f"{drift.after:.3f} in the newer; abstained {drift.abstained_before:.1%}, then "
                f"{drift.abstained_after:.1%}"
            )
        if each.abstained:
            show("  abstained from:")
        for text in each.abstained:
            why = ", a value that this domain does not translate" if text.untranslated else ""
            times = "time " if text.count == 1 else "times"
            show(f"  {text.count:>6,} {times} {escaped(text.text)}{why}")
