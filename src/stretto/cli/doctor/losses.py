"""What the store shows was lost or done twice: one finding a kind, and the counter that must read 0."""

from collections.abc import Iterator, Sequence
from typing import Final

from stretto.cli.doctor.findings import Finding, State
from stretto.cli.words import count_text
from stretto.store.losses import Loss, LossKind
from stretto.store.sqlite import Store
from stretto.types.json import Json

_SHOWN: Final = 3
"""Places in one finding."""

_TOLD: Final = {
    LossKind.STEPS_LOST: (
        "lost steps",
        "run",
        "what these steps answered is gone: see that the disk is well, and run them again",
    ),
    LossKind.RAN_TWICE: (
        "ran twice",
        "step",
        "two processes executed the run: let one resume it, and compare both answers with stretto runs show",
    ),
    LossKind.EFFECT_DUPLICATED: (
        "duplicated effects",
        "write",
        "the world was changed twice under one key: see both with stretto runs show, and take one back",
    ),
    LossKind.WRITE_LOST: (
        "lost writes",
        "write",
        "a write and the record of its run contradict each other: ask the system behind it what happened",
    ),
}
"""Of each kind: the finding's name, what is counted, and what to do."""


def losses(store: Store) -> Iterator[Finding]:
    """A finding of each kind."""
    found = store.losses()
    for kind, (name, what, remedy) in _TOLD.items():
        yield _finding(name, what, remedy, [loss for loss in found if loss.kind is kind])


def _finding(name: str, what: str, remedy: str, found: Sequence[Loss]) -> Finding:
    if not found:
        return Finding(name=name, state=State.WELL, text="0", count=0)
    places = [f"{loss.run_id} {loss.path}".rstrip() for loss in found[:_SHOWN]]
    more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    text = f"{count_text(len(found), what)}: {', '.join([*places, *more])}"
    return Finding(name=name, state=State.WRONG, text=text, remedy=remedy, count=len(found))


def counted(findings: Sequence[Finding]) -> dict[str, Json]:
    """Every loss by kind, and their sum; empty where there is no store to count in."""
    counts = {finding.name.replace(" ", "_"): finding.count for finding in findings if finding.count is not None}
    found: dict[str, Json] = {**counts}
    return {**found, "total": sum(counts.values())} if counts else {}


def counter(findings: Sequence[Finding]) -> Iterator[Finding]:
    """The sum of all losses, for people; nothing where there is no store to count in."""
    counts = [finding.count for finding in findings if finding.count is not None]
    if counts:
        total = sum(counts)
        yield Finding(name="losses", state=State.WRONG if total else State.WELL, text=f"{total:,}")
