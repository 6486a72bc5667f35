"""A run's writes, and what became known of it later."""

import json
from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from stretto.cli.pasted import Whole
from stretto.cli.rows import labelled, one_piece
from stretto.cli.waiting import Typed, settling
from stretto.cli.words import escaped, time_text
from stretto.record.model import Annotation, EffectRecord, Run
from stretto.spec.source import printable

_SHOWN_CHARS: Final = 200
_WORD_CHARS: Final = 24
"""A longer word is cut; half a number would be read as another."""


def effects_table(effects: Sequence[EffectRecord], run: Run, typed: Typed, width: int) -> RenderableType:
    """Every write with what is known of it; those in doubt in red, with what to type."""
    rows = []
    for effect in effects:
        what = Text(escaped(f"{effect.component} {effect.action}".strip()))
        when = one_piece(time_text(effect.intended_at_ns), "dim")
        rows.append((Text(escaped(effect.path), "bold"), (what, _state(effect), when)))
    table = labelled(rows, width)
    in_doubt = [effect.path for effect in effects if effect.in_doubt]
    if not in_doubt:
        return table
    return Group(table, Whole(Text("In doubt: ").append_text(settling(run, in_doubt, typed))))


def annotations_table(annotations: Sequence[Annotation], width: int) -> RenderableType:
    """What became known, in that order."""
    rows = []
    for each in annotations:
        value = cut(printable(json.dumps(each.value, ensure_ascii=False)), _SHOWN_CHARS)
        about = escaped(" ".join(part for part in (each.path, each.name) if part))
        who = f"by {each.by}" if each.by else ""
        told = (Text(about, "bold"), Text(value), Text(escaped(who)), Text(escaped(each.reason)))
        rows.append((Text(time_text(each.at_ns), "dim"), told))
    return labelled(rows, width)


def cut(text: str, most: int) -> str:
    """The text, shortened when it is longer: before a word, where one begins not far from there."""
    if len(text) <= most:
        return text
    space = text.rfind(" ", most - _WORD_CHARS, most)
    return f"{text[: most - 1] if space < 0 else text[: space + 1]}…"


def _state(effect: EffectRecord) -> Text:
    if effect.in_doubt:
        return one_piece("IN DOUBT", "bold red")
    if effect.refused:
        return one_piece("did not happen", "yellow")
    return one_piece("confirmed" if effect.confirmed else "done", "green")
