"""What recorded runs tell of alignment: what was aligned, and what a person said of it later."""

from collections.abc import Iterator
from typing import Final, TypeVar

import msgspec

from stretto.engine.meaning import ALIGNMENTS
from stretto.learn.rewards import check_run
from stretto.learn.semantics.samples import Sample
from stretto.record.model import Annotation, Run
from stretto.types.ids import RunId
from stretto.types.json import Json
from stretto.types.meaning import AlignedBy

LABEL: Final = "semantics.label"
"""Name of the annotation that says what a text of a run means."""


class Alignment(msgspec.Struct, frozen=True, kw_only=True):
    """One value of a run that was no value of its domain already."""

    run_id: RunId
    at_ns: int
    """When the run began."""
    path: str
    """Step path; empty at the workflow's own ends."""
    at: str
    domain: str
    text: str
    to: str | None
    """The value that it was aligned to; None where nothing said so surely enough."""
    by: AlignedBy
    confidence: float
    guess: str = ""
    untranslated: bool = False
    """It is a value of another domain that this one does not translate: a gap in the contract, and nothing to learn."""


class _Note(msgspec.Struct, frozen=True, kw_only=True):
    at: str
    domain: str
    value: str
    to: str | None = None
    by: AlignedBy
    confidence: float
    guess: str = ""
    untranslated: bool = False


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """A person's word on what a text means; the value of an annotation."""

    domain: str
    text: str
    value: str
    """Empty for no value of the domain."""


def alignments_of(run: Run) -> Iterator[Alignment]:
    """Every alignment of a run, in the order of its record.

    Those of simulated steps did not come of what people said, and a reused step was counted where it really happened.
    """
    check_run(run)
    if not run.simulated:
        yield from _noted(run, "", run.evidence)
    for step in run.steps:
        if not step.simulated and not step.reused_from:
            yield from _noted(run, step.path, step.evidence)


def corrections(annotations: Iterator[Annotation], domain: str) -> Iterator[Sample]:
    """The labels of one domain among annotations, in their order; what is no label is passed over."""
    for annotation in annotations:
        label = _as(Label, annotation.value) if annotation.name == LABEL else None
        if label is not None and label.domain == domain:
            yield Sample(text=label.text, value=label.value)


_T = TypeVar("_T")


def _as(kind: type[_T], value: Json) -> _T | None:
    """The value as such a record; None where it is none, since components and programs may use the same names."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None


def _noted(run: Run, path: str, evidence: dict[str, Json]) -> Iterator[Alignment]:
    notes = evidence.get(ALIGNMENTS)
    for note in notes if isinstance(notes, list) else ():
        found = _as(_Note, note)
        if found is None:
            continue
        yield Alignment(
            run_id=run.id,
            at_ns=run.started_at_ns,
            path=path,
            at=found.at,
            domain=found.domain,
            text=found.value,
            to=found.to,
            by=found.by,
            confidence=found.confidence,
            guess=found.guess,
            untranslated=found.untranslated,
        )
