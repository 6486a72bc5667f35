"""How much is computed for an explanation: as much as is needed of a small network, and of a language model what can be
waited for."""

from typing import Final

import msgspec

from stretto.learn.attribution.faithfulness import ORDERS, POINTS
from stretto.learn.attribution.integrated import MOST_POINTS

MOST_WORK: Final = 1e12
"""Weights, times positions, times rows, of all passes for a faithfulness score, and of those for gradients: one or two
minutes of a core at 135 million weights and 25 tokens."""

LEAST_POINTS: Final = 16
"""Of a path: fewer add up for no network."""

LEAST_ON_CURVE: Final = 4

MOST_RUNS: Final = 200
"""Other runs in which heads and logits are computed, as many as are read."""

LEAST_RUNS: Final = 24
"""Twice what a spread can be told of."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Of one explanation."""

    path: int
    """Points of the path of integrated gradients, at most; where they do not add up, `residual` tells."""
    curve: int
    """Points of each deletion and insertion curve, at most."""
    runs: int
    """Other runs in which heads and logits are computed, at most."""


def bounds_for(weights: int, positions: int) -> Bounds:
    """For modules of so many weights together, each of which every position passes."""
    rows = MOST_WORK / max(1, weights * positions)
    path = max(LEAST_POINTS, min(MOST_POINTS, int(rows / 3)))  # a pass back costs two
    curve = max(LEAST_ON_CURVE, min(POINTS, int(rows / (2 * (ORDERS + 1)))))
    runs = max(LEAST_RUNS, min(MOST_RUNS, int(rows / 3)))
    return Bounds(path=path, curve=curve, runs=runs)
