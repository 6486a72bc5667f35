"""What each field of a step's answer was worth to the run: by replay, with values that other runs saw in its place."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from statistics import fmean
from typing import Final, TypeAlias

from stretto.learn.explain.explained import FieldEffect
from stretto.record.canonical import canonical
from stretto.types.json import Json, JsonObject

MOST: Final = 8
"""Other values that are tried for a field: each is a replay."""

WHOLE: Final = ""
"""Name of the answer as a whole, all fields from one other run."""

Reward: TypeAlias = Callable[[JsonObject], Awaitable[float | None]]
"""The run's reward with another answer in the step's place; None where the run has none then."""


async def field_effects(
    output: JsonObject, reward: float, others: Iterable[JsonObject], replayed: Reward, *, most: int = MOST
) -> tuple[FieldEffect, ...]:
    """Effects of the answer as a whole and of each of its fields, the largest first after the whole.

    `others` are answers at the same step in other runs, the most telling first. Nothing but this step's answer changes;
    what depends on it is made again. A field that no other run answered otherwise has no effect to tell.
    """
    others = list(others)
    wholes = [other for other in _differing(output, others, most) if isinstance(other, dict)]
    whole = await _effect(WHOLE, output, wholes, reward, replayed)
    found = []
    for field, value in output.items():
        values = _differing(value, [other[field] for other in others if field in other], most)
        found.append(await _effect(field, value, [{**output, field: each} for each in values], reward, replayed))
    return (whole, *sorted(found, key=lambda each: -abs(each.effect or 0.0)))


async def _effect(
    field: str, value: Json, answers: Sequence[JsonObject], reward: float, replayed: Reward
) -> FieldEffect:
    told = [await replayed(answer) for answer in answers]
    rewards = tuple(each for each in told if each is not None)
    return FieldEffect(
        field=field,
        value=value,
        rewards=rewards,
        failed=len(told) - len(rewards),
        effect=reward - fmean(rewards) if rewards else None,
    )


def _differing(value: Json, others: Iterable[Json], most: int) -> list[Json]:
    """The first distinct ones that are not the value itself."""
    seen = {canonical(value)}
    distinct: list[Json] = []
    for other in others:
        key = canonical(other)
        if key not in seen and len(distinct) < most:
            seen.add(key)
            distinct.append(other)
    return distinct
