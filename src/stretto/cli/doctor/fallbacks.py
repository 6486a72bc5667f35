"""What answers when a workflow fails: whether it was tried of late, and did well."""

import time
from collections.abc import Iterator

from stretto.cli.doctor.findings import Finding, State
from stretto.cli.words import count_text, time_text
from stretto.runtime.exercising import Drill, last_drills
from stretto.store.sqlite import Store


def fallbacks(store: Store) -> Iterator[Finding]:
    """A finding for each workflow whose fallback was ever exercised in this store."""
    for _, drill in sorted(last_drills(store).items()):
        yield _finding(drill, time.time_ns())


def _finding(drill: Drill, now_ns: int) -> Finding:
    name = f"fallback of {drill.workflow}"
    when, runs = time_text(drill.began_at_ns), count_text(len(drill.results), "run")
    if drill.failures:
        return Finding(
            name=name,
            state=State.WRONG,
            text=f"exercised on {when}: {len(drill.failures)} of {runs} went wrong, the first so: "
            f"{drill.failures[0].broken}",
            remedy="mend it before it is needed, then: stretto fallback exercise FILE",
        )
    if drill.is_stale(now_ns):
        return Finding(
            name=name,
            state=State.WRONG,
            text=f"exercised on {when} and not since, though it is to be every {drill.every_s / 86400:.3g} days",
            remedy="stretto fallback exercise FILE, or see whether the workflow still runs",
        )
    return Finding(name=name, state=State.WELL, text=f"exercised on {when}: {runs}, all as expected")
