"""Why a run is degraded: what went wrong in each step that something else answered for."""

from typing import Final

from rich.text import Text

from stretto.cli.errors import failure_text
from stretto.record.model import ErrorInfo, Run
from stretto.types.enums import StepStatus

MOST_AFTER_RUN: Final = 3
"""Lines that a run's own command says; ``runs show`` has them all."""


def downgrades(run: Run, most: int | None = None) -> list[Text]:
    """A text for each error that a fallback, or an item's null, stood in for; where one component failed with the same
    words at several steps the first of them with a count. At most `most` texts, then how many there are besides."""
    found: dict[tuple[str, str], list[ErrorInfo]] = {}
    for step in run.steps:
        if step.status is StepStatus.FALLBACK and step.error is not None:
            found.setdefault((step.component, step.error.message), []).append(step.error)
    texts = [_one(errors) for errors in found.values()]
    if most is None or len(texts) <= most:
        return texts
    return [*texts[:most], Text(f"and {len(texts) - most} more of the kind", "dim")]


def _one(errors: list[ErrorInfo]) -> Text:
    text = failure_text(errors[0])
    if len(errors) > 1:
        text.append(f"  (at {len(errors)} steps)", "dim")
    return text
