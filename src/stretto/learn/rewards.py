"""A run's reward as it was known at some time: the sealed one, or what annotations have made of it since."""

from collections.abc import Iterable
from typing import Final

import msgspec

from stretto.record.model import Annotation, Run
from stretto.types.arguments import wrong
from stretto.types.errors import LearningError
from stretto.types.json import Json
from stretto.types.learning import Reward, total_reward

REWARD: Final = "reward"
"""Annotation of a run's whole reward. ``reward.<term>`` is that of one term; the total follows with its weight."""

A_RUN: Final = "a run; a store gives one by `store.get(id)`"


def check_run(value: object) -> None:
    """Raise UsageError unless it is a run."""
    if not isinstance(value, Run):
        raise wrong("the run", value, A_RUN)


def reward_as_of(run: Run, annotations: Iterable[Annotation] = (), as_of_ns: int | None = None) -> float | None:
    """The run's reward as known at `as_of_ns` (UTC, nanoseconds; None is now); None when it is unknown.

    The latest annotation of a name counts; a null value makes what it names unknown. Raises LearningError for a
    value that is no number.
    """
    check_run(run)
    latest = _latest(run, annotations, as_of_ns)
    if REWARD in latest:
        return _number(run, REWARD, latest[REWARD])
    return total_reward(_terms(run, latest)) if latest else run.reward


def terms_as_of(run: Run, annotations: Iterable[Annotation] = (), as_of_ns: int | None = None) -> tuple[Reward, ...]:
    """The terms of a run's reward as known at `as_of_ns`; an annotation of the whole reward says nothing of them.

    Raises LearningError for a value that is no number.
    """
    check_run(run)
    return _terms(run, _latest(run, annotations, as_of_ns))


def _terms(run: Run, latest: dict[str, Json]) -> tuple[Reward, ...]:
    changed = {name.removeprefix(f"{REWARD}."): value for name, value in latest.items() if name != REWARD}
    if not changed:
        return run.rewards
    terms = {reward.name: reward for reward in run.rewards}
    for name, value in changed.items():
        number = _number(run, f"{REWARD}.{name}", value)
        known = terms.get(name)
        terms[name] = Reward(name=name, value=number) if known is None else msgspec.structs.replace(known, value=number)
    return tuple(terms.values())


def _latest(run: Run, annotations: Iterable[Annotation], as_of_ns: int | None) -> dict[str, Json]:
    latest: dict[str, Annotation] = {}
    for note in annotations:
        about_reward = note.name == REWARD or note.name.startswith(f"{REWARD}.")
        if not about_reward or note.run_id != run.id or note.path:
            continue
        if as_of_ns is not None and note.at_ns > as_of_ns:
            continue
        if note.name not in latest or note.at_ns >= latest[note.name].at_ns:
            latest[note.name] = note
    return {name: note.value for name, note in latest.items()}


def _number(run: Run, name: str, value: Json) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise LearningError(f"annotation '{name}' of run {run.id} is {value!r}; expected a number, or null for unknown")
    return float(value)
