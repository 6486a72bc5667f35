"""What the terminal and the page say alike."""

from typing import Final

from stretto.cli.words import count_text, number_text
from stretto.learn.explain.explained import FieldEffect

BELIEVED: Final = 0.01
"""The largest residual at which parts may be read as they stand."""


def rewards_text(effect: FieldEffect) -> str:
    """The rewards with other values, or why there are none."""
    if not effect.rewards:
        return f"no reward with {count_text(effect.failed, 'other')}" if effect.failed else "never answered otherwise"
    low, high = number_text(min(effect.rewards)), number_text(max(effect.rewards))
    failed = f", none with {effect.failed}" if effect.failed else ""
    return f"{low if low == high else f'{low} to {high}'} with {count_text(len(effect.rewards), 'other')}{failed}"
