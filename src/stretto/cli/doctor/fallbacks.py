"""What answers when a workflow fails: whether it was tried of late, and did well."""

import time
from collections.abc import Iterator

from stretto.cli.doctor.findings import Finding, State
from stretto.cli.words import count_text, time_text
from stretto.runtime.exercising import Exercise, last_exercises
from stretto.store.sqlite import Store


def fallbacks(store: Store) -> Iterator[Finding]:
    """A finding for each workflow whose fallback was ever exercised in this store."""
    for _, exercise in sorted(last_exercises(store).items()):
        yield _finding(exercise, time.time_ns())


def _finding(exercise: Exercise, now_ns: int) -> Finding:
    name = f"fallback of {exercise.workflow}"
    when, runs = time_text(exercise.began_at_ns), count_text(len(exercise.results), "run")
    on_its_file = f"on the file of workflow '{exercise.workflow}'"  # which the store does not know
    if exercise.failures:
        return Finding(
            name=name,
            state=State.WRONG,
            text=f"exercised on {when}: {len(exercise.failures)} of {runs} went wrong, the first so: "
            f"{exercise.failures[0].broken}",
            remedy=f"mend it before it is needed, then run `stretto fallback exercise` {on_its_file}",
        )
    if exercise.is_stale(now_ns):
        return Finding(
            name=name,
            state=State.WRONG,
            text=f"exercised on {when} and not since, though it is to be every {exercise.every_s / 86400:.3g} days",
            remedy=f"run `stretto fallback exercise` {on_its_file}, or see whether it still runs",
        )
    return Finding(name=name, state=State.WELL, text=f"exercised on {when}: {runs}, all as expected")
