"""Why a run is degraded, where several of its steps are: one reason, and the same whichever of them ended first."""

import re
from collections.abc import Iterable
from typing import Final, TypeAlias

from stretto.plan.model import Block, Op, Plan, block_in
from stretto.record.model import StepRecord
from stretto.types.enums import Reason, StepStatus
from stretto.types.ids import StepPath

_PART: Final = re.compile(r"(?P<name>.*?)(?:[\[#](?P<number>\d+)\]?)?")
"""One part of a step path: ``talk``, ``talk[3]``, ``look#1``."""

_Place: TypeAlias = tuple[tuple[int, str, int], ...]
"""For each part of a path where its step stands in its block, its name, and its number; compares as a run in order."""


def downgrade_of(plan: Plan, steps: Iterable[StepRecord]) -> Reason | None:
    """Why the downgraded step was that comes first in the plan; None when all steps answered."""
    downgraded = [step for step in steps if step.status is StepStatus.FALLBACK]
    first = min(downgraded, key=lambda step: _place(plan.body, step.path), default=None)
    return None if first is None else first.reason or Reason.ERROR


def _place(body: Block, path: StepPath) -> _Place:
    block: Block | None = body
    place = []
    for part in path.split("/"):
        found = _PART.fullmatch(part)
        name, number = (part, None) if found is None else found.group("name", "number")
        ops: tuple[Op, ...] = () if block is None else block.ops
        position = next((index for index, op in enumerate(ops) if op.name == name), -1)
        place.append((position, name, -1 if number is None else int(number)))
        block = block_in(ops[position]) if position >= 0 else None
    return tuple(place)
