"""A run's writes, and what became known of it later."""

from collections.abc import Sequence
from typing import Final

import orjson
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from stretto.cli.words import time_text
from stretto.record.model import Annotation, EffectRecord, Run
from stretto.spec.source import printable

_SHOWN_CHARS: Final = 200


def effects_table(effects: Sequence[EffectRecord], run: Run) -> RenderableType:
    """Every write with what is known of it; those in doubt in red, with what to type."""
    table = Table.grid(padding=(0, 2))
    for in_one_piece in (False, False, True, True):
        table.add_column(no_wrap=in_one_piece, overflow="ellipsis" if in_one_piece else "fold")
    for effect in effects:
        what = f"{effect.component} {effect.action}".strip()
        table.add_row(Text(effect.path, "bold"), what, _state(effect), Text(time_text(effect.intended_at_ns), "dim"))
    if not any(effect.in_doubt for effect in effects):
        return table
    advice = Text.assemble(
        "A write in doubt may have happened. Find out, then say so: ",
        (f"stretto runs resume {run.id} --happened OUTPUT", "bold"), " or ", ("--did-not-happen", "bold"),
    )  # fmt: skip
    return Group(table, advice)


def annotations_table(annotations: Sequence[Annotation]) -> Table:
    """What became known, in that order."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    for _ in range(4):
        table.add_column(overflow="fold")
    for each in annotations:
        value = cut(printable(orjson.dumps(each.value).decode()), _SHOWN_CHARS)
        about = printable(" ".join(part for part in (each.path, each.name) if part))
        who = f"by {each.by}" if each.by else ""
        table.add_row(
            Text(time_text(each.at_ns), "dim"), Text(about, "bold"), value, printable(who), printable(each.reason)
        )
    return table


def cut(text: str, most: int) -> str:
    """The text, shortened when it is longer."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _state(effect: EffectRecord) -> Text:
    if effect.in_doubt:
        return Text("IN DOUBT", "bold red")
    if effect.refused:
        return Text("did not happen", "yellow")
    return Text("confirmed" if effect.confirmed else "done", "green")
