"""The line that a drawing runs down: from the input over what the output comes from, and where branches leave it."""

from collections.abc import Sequence
from dataclasses import replace

from stretto.cli.drawing import Box
from stretto.cli.plan_lines import StepLine


def along_the_trunk(boxes: Sequence[Box], lines: Sequence[StepLine]) -> list[Box]:
    """The boxes with those on the line that the output's values come down, the others beside it.

    A branch stands below the last box of the line that it waits for: below the input when it waits for none.
    Which steps happen to have a neighbour to run beside has no say in it.
    """
    start, *steps, end = boxes
    after = {line.path: line.after for line in lines}
    trunk = _trunk(end, after)
    place: dict[str, int] = {}
    for number, box in enumerate(steps, 1):  # each follows what it waits for
        waits = (place[each] for each in after[box.name])
        place[box.name] = number if box.name in trunk else max(waits, default=0)
    steps.sort(key=lambda box: place[box.name])
    return [start, *(replace(box, beside=box.name not in trunk) for box in steps), end]


def _trunk(end: Box, after: dict[str, tuple[str, ...]]) -> set[str]:
    """The steps that the output reads, and all that they wait for."""
    found: set[str] = set()
    reached = [name for name in after if any(arrow.source.startswith(f"steps.{name}.") for arrow in end.arrows)]
    while reached:
        name = reached.pop()
        found.add(name)
        reached += after[name]
    return found
