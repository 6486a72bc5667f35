"""How much of a planner's success depends on the forgiveness of the executor that it was trained with.

Shape letters: T tasks, S seeds.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from stretto.learn.evaluate import REWARD, Figure, Key, figure_of, grid, tables_of
from stretto.learn.objective import Floats
from stretto.learn.usable import Recorded
from stretto.stats.bootstrap import Interval, difference_interval, ratio_interval
from stretto.types.errors import LearningError, UsageError

MESSAGES: Final = "messages"
"""Name of the side in which the planner says what it said of another task."""


class Sides(msgspec.Struct, frozen=True, kw_only=True):
    """Runs of the same tasks under the same seeds."""

    own: Sequence[Recorded]
    """The planner with the executor that it is used with."""
    strict: Mapping[str, Sequence[Recorded]]
    """The planner with others, each by a name of its own."""
    answers: Sequence[Recorded]
    """The executor answers what it answered to another task."""
    messages: Sequence[Recorded]
    """The planner says what it said of another task."""


class Vagueness(msgspec.Struct, frozen=True, kw_only=True):
    """Rewards of each side, and what they say of the planner."""

    own: Figure
    strict: Mapping[str, Figure]
    answers: Figure
    messages: Figure
    failed: Mapping[str, int]
    """Side → its runs that have no reward where the planner's own have one: they count as answers to other tasks do."""
    vagueness: Figure | None
    """(own - strict) / (own - answers), in [0, 1]: 0 where others do as well by what the planner says as its own
    executor, 1 where they do no better than by answers to other tasks. None where that is not defined."""
    forgiveness: Figure | None
    """(messages - answers) / (own - answers), in [0, 1]: what remains of the success whatever the planner says. None as
    above."""
    undefined: str = ""
    """Why neither is defined; empty where both are."""


def vagueness_of(sides: Sides, *, seed: int = 0) -> Vagueness:
    """Fold the runs of all sides; of several strict executors by their mean.

    The intervals are of a hierarchical bootstrap over tasks and seeds, in which a task's runs of all sides are drawn
    together. A run whose own reward is unknown, or that of answers to other tasks, is left out of all sides. Raises
    LearningError when none is left, or nothing strict is given.
    """
    if not sides.strict:
        raise LearningError("vagueness is told by other executors; give one or more")
    keys, own_TS, answers_TS = _known(sides)
    grids = {name: _held(runs, keys, answers_TS) for name, runs in sides.strict.items()}
    messages_TS, messages_lost = _held(sides.messages, keys, answers_TS)
    strict_TS = np.mean([table for table, _ in grids.values()], axis=0)
    undefined = _why_undefined(own_TS, answers_TS, seed)
    success_TS = own_TS - answers_TS
    return Vagueness(
        own=_mean(own_TS, seed),
        strict={name: _mean(table, seed) for name, (table, _) in grids.items()},
        answers=_mean(answers_TS, seed),
        messages=_mean(messages_TS, seed),
        failed={name: lost for name, (_, lost) in [*grids.items(), (MESSAGES, (messages_TS, messages_lost))] if lost},
        vagueness=None if undefined else _share(own_TS - strict_TS, success_TS, seed),
        forgiveness=None if undefined else _share(messages_TS - answers_TS, success_TS, seed),
        undefined=undefined,
    )


def _known(sides: Sides) -> tuple[list[Key], Floats, Floats]:
    """Tasks and seeds with a reward of the planner's own executor and of answers to other tasks, and these rewards."""
    own, answers = (tables_of(each, REWARD)[0] for each in (sides.own, sides.answers))
    keys = sorted(own.keys() & answers.keys())
    if not keys:
        raise LearningError(
            f"none of {len(sides.own)} runs has a reward that is known both with the executor's own answers "
            f"({len(own)}) and with those to other tasks ({len(answers)}); a step of kind reward gives a run one"
        )
    return keys, grid(own, keys), grid(answers, keys)


def _held(runs: Sequence[Recorded], keys: Sequence[Key], answers_TS: Floats) -> tuple[Floats, int]:
    """Rewards of a side; where a run of it failed, what answers to other tasks are worth there. How many did."""
    table_TS = grid(tables_of(runs, REWARD)[0], keys)
    is_lost_TS = np.isnan(table_TS) & ~np.isnan(answers_TS)
    return np.where(is_lost_TS, answers_TS, table_TS), int(is_lost_TS.sum())


def _why_undefined(own_TS: Floats, answers_TS: Floats, seed: int) -> str:
    ones_TS = np.where(np.isnan(own_TS), np.nan, 1.0)
    apart = difference_interval((answers_TS, ones_TS), (own_TS, ones_TS), seed=seed)
    if apart.low > 0.0:
        return ""
    return (
        f"the planner's own executor does no better than its answers to other tasks do ({apart.value:+.3g} on average, "
        f"{apart.low:+.3g} to {apart.high:+.3g}), so there is no success that could depend on anything; measure more "
        "tasks, or train the two first"
    )


def _share(part_TS: Floats, whole_TS: Floats, seed: int) -> Figure:
    """Of the success, held to [0, 1]: a strict executor may be the better one, or do worse than nothing."""
    try:
        found = ratio_interval(part_TS, whole_TS, seed=seed)
    except UsageError as error:
        raise LearningError(f"vagueness cannot be given: {error}") from error
    value, low, high = (min(1.0, max(0.0, each)) for each in (found.value, found.low, found.high))
    return figure_of(Interval(value=value, low=low, high=high), int((~np.isnan(whole_TS)).sum()))


def _mean(table_TS: Floats, seed: int) -> Figure:
    ones_TS = np.where(np.isnan(table_TS), np.nan, 1.0)
    return figure_of(ratio_interval(table_TS, ones_TS, seed=seed), int((~np.isnan(table_TS)).sum()))
