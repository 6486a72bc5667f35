"""What a store knows of a workflow's alignments: what was recorded, and what people said of it."""

from collections.abc import Iterator
from pathlib import Path

from stretto.learn.semantics.alignments import LABEL, Alignment, alignments_of, corrections
from stretto.learn.semantics.samples import Sample
from stretto.record.model import Annotation
from stretto.runtime.load import store_path
from stretto.store.connect import is_there
from stretto.store.reading import Filters
from stretto.store.sqlite import Store
from stretto.types.errors import UsageError
from stretto.types.meaning import AlignedBy


def kept_corrections(store: Path | None, workflow: str, domain: str) -> list[Sample]:
    """The labels that the store holds of one domain, oldest first; none where there is no store."""
    path = store_path(store)
    if not is_there(path):
        return []
    with Store(path) as kept:
        return list(corrections(_labels(kept, workflow), domain))


def _labels(store: Store, workflow: str) -> Iterator[Annotation]:
    return (label for of, label in store.annotated(LABEL) if of == workflow)


def recorded(store: Store, domain: str | None, filters: Filters) -> Iterator[Alignment]:
    """The alignments of recorded runs, the oldest run first; of every domain where none is named."""
    for run in store.runs(**filters):
        yield from (each for each in alignments_of(run) if domain is None or each.domain == domain)


def unclear(store: Store, workflow: str, domain: str, below: float) -> list[Alignment]:
    """What nothing said surely enough, or surer than `below`, and nobody has labelled; each text once, newest first."""
    done = {sample.text for sample in corrections(_labels(store, workflow), domain)}
    found: dict[str, Alignment] = {}
    for each in recorded(store, domain, {"workflow": workflow}):
        if each.untranslated:
            continue
        unsure = each.by is AlignedBy.ABSTAINED or (each.by is AlignedBy.LEARNED and each.confidence < below)
        if unsure and each.text not in done:
            found.pop(each.text, None)
            found[each.text] = each
    return list(reversed(found.values()))


def find_alignment(store: Store, run_id: str, domain: str, at: str | None) -> Alignment:
    """The one alignment of a run that is meant; raises UsageError that names those there are."""
    found = {
        (each.at, each.text): each
        for each in alignments_of(store.get(run_id))
        if each.domain == domain and at in (None, each.at, each.path)
    }
    taught = {key: each for key, each in found.items() if not each.untranslated}
    if len(taught) == 1:
        return next(iter(taught.values()))
    where = "" if at is None else f" at '{at}'"
    if found and not taught:
        ((place, text), *_) = found
        raise UsageError(
            f"{text!r:.40} at {place} is a value of another domain that '{domain}' does not translate, so there is "
            f"nothing to learn: say what it means there under `from` of '{domain}'"
        )
    if not found:
        raise UsageError(
            f"run {run_id} aligned nothing to the domain '{domain}'{where}; its texts were values already, or it has "
            f"no such place. `stretto semantics label --domain {domain}` without --run lists what there is"
        )
    places = ", ".join(f"{text!r:.40} at {place}" for place, text in taught)
    raise UsageError(f"run {run_id} aligned {len(taught)} texts to the domain '{domain}'{where}: {places}; name --at")
