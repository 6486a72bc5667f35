"""What the terminal and the page say alike."""

from typing import Final

from stretto.cli.words import count_text, number_text
from stretto.learn.explain.explained import ChoiceExplained, FieldEffect, Part

BELIEVED: Final = 0.01
"""The largest residual at which parts may be read as they stand."""


def part_text(part: Part) -> str:
    """A number or a token by its name."""
    return f"{part.name} = {part.text!r}" if part.value is None else f"{part.name} = {part.value:.3g}"


def words_of(choice: ChoiceExplained) -> dict[str, list[Part]]:
    """The tokens of each layer that embeds some, in their order."""
    found: dict[str, list[Part]] = {}
    for part in sorted((each for each in choice.parts if each.place is not None), key=lambda each: each.place or 0):
        found.setdefault(part.name.rpartition("[")[0], []).append(part)
    return found


def rewards_text(effect: FieldEffect) -> str:
    """The rewards with other values, or why there are none."""
    if not effect.rewards:
        return f"no reward with {count_text(effect.failed, 'other')}" if effect.failed else "never answered otherwise"
    low, high = number_text(min(effect.rewards)), number_text(max(effect.rewards))
    failed = f", no reward with {effect.failed}" if effect.failed else ""
    return f"{low if low == high else f'{low} to {high}'} with {count_text(len(effect.rewards), 'other')}{failed}"
