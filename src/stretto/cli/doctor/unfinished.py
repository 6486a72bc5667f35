"""Runs that wait for somebody: interrupted, with a write in doubt, or parked though nothing can be settled. Those of a
training stand apart: they cannot go on by themselves."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from stretto.cli.doctor.findings import Finding, State
from stretto.cli.waiting import Typed, settling, training_words
from stretto.cli.words import count_text
from stretto.record.model import EffectRecord, Run
from stretto.runtime.asked import is_of_gateway, is_of_training
from stretto.store.sqlite import Store
from stretto.types.ids import RunId

_SHOWN: Final = 3
"""Ids in one finding; `stretto runs list` has them all."""


def unfinished(store: Store, typed: Typed) -> Iterator[Finding]:
    """A finding of each kind, those of a training and of parked runs only when there is one."""
    yield from _interrupted(store, typed)
    yield from _in_doubt(store, typed)
    yield from _parked(store, typed)


def _interrupted(store: Store, typed: Typed) -> Iterator[Finding]:
    found = store.pending()
    gone_on_with = [run for run in found if is_of_gateway(run.labels)]
    waiting = [run.id for run in found if not is_of_training(run.labels) and run not in gone_on_with]
    left = [run.id for run in found if is_of_training(run.labels)]
    yield _stranded("interrupted", waiting, lambda: typed.resume(store.get(waiting[0])))
    if left:
        remedy = training_words(left[0], typed, in_doubt=False)
        yield _stranded("interrupted in training", left, lambda: remedy)
    if gone_on_with:
        name = gone_on_with[0].workflow
        told = f"stretto gateway --name {name} over this store goes on with them, and seals those that stay silent"
        yield _stranded("left open by a gateway", [run.id for run in gone_on_with], lambda: told)


def _in_doubt(store: Store, typed: Typed) -> Iterator[Finding]:
    """The remedy is that of the first run."""
    effects = store.in_doubt()
    runs = {effect.run_id: store.get(effect.run_id) for effect in effects}
    for name, trained in (("in doubt", False), ("in doubt in training", True)):
        found = [effect for effect in effects if is_of_training(runs[effect.run_id].labels) is trained]
        if found or not trained:
            yield _listed(
                name, [f"{each.run_id} {each.path}" for each in found], "write", partial(_word, found, runs, typed)
            )


def _parked(store: Store, typed: Typed) -> Iterator[Finding]:
    """Of those whose doubt was settled, and of those that kept no intent of it."""
    found = store.parked()
    settled = [run.id for run, can_go_on in found if can_go_on and not is_of_training(run.labels)]
    stuck = [run.id for run, _ in found if run.id not in settled]
    if settled:
        yield _listed("settled, not resumed", settled, "run", lambda: typed.resume(store.get(settled[0])))
    if stuck:
        yield _listed("parked for good", stuck, "run", lambda: settling(store.get(stuck[0]), [], typed).plain)


def _word(found: Sequence[EffectRecord], runs: Mapping[RunId, Run], typed: Typed) -> str:
    """How the writes of the first run are settled."""
    first = runs[found[0].run_id]
    return settling(first, [each.path for each in found if each.run_id == first.id], typed).plain


def _stranded(name: str, found: Sequence[str], remedy: Callable[[], str]) -> Finding:
    """Runs that were accepted, are not sealed, and that nobody executes: a loss until somebody resumes them."""
    return msgspec.structs.replace(_listed(name, found, "run", remedy), count=len(found))


def _listed(name: str, found: Sequence[str], what: str, remedy: Callable[[], str]) -> Finding:
    if not found:
        return Finding(name=name, state=State.WELL, text="0")
    more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    text = f"{count_text(len(found), what)}: {', '.join([*found[:_SHOWN], *more])}"
    return Finding(name=name, state=State.WRONG, text=text, remedy=remedy())
