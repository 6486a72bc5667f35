"""What the steps of a run saw of `resources`."""

from collections.abc import Iterator
from typing import Any

import orjson
from rich.text import Text

from stretto.cli.rows import Row
from stretto.cli.words import escaped, number_text
from stretto.record.model import Run, StepRecord
from stretto.types.resources import SEEN, SEEN_BY_ROUND


def seen_rows(run: Run) -> list[Row]:
    """By step, in the order in which they ended; empty when none saw anything."""
    return [
        (Text(label, "bold"), (Text(escaped(", ".join(_told(seen)))),))
        for step in run.steps
        if step.evidence
        for label, seen in _seen(step)
        if isinstance(seen, dict) and seen
    ]


def _seen(step: StepRecord) -> Iterator[tuple[str, Any]]:
    yield step.path, step.evidence.get(SEEN)
    rounds: Any = step.evidence.get(SEEN_BY_ROUND) or ()
    yield from ((f"{step.path}[{number}]", seen) for number, seen in enumerate(rounds, 1))


def _told(seen: Any, prefix: str = "") -> Iterator[str]:
    for name, value in seen.items():
        if isinstance(value, dict):
            yield from _told(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name} {_text(value)}"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return number_text(value)
    return orjson.dumps(value).decode()  # a text in quotes: "10" is no number
