"""What `stretto demo --json` prints."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from stretto.cli.demo.figures import Figures, Side
from stretto.cli.demo.study import Study
from stretto.learn.evaluate import Figure
from stretto.types.json import JsonObject


def demo_document(study: Study, figures: Figures, store: Path) -> JsonObject:
    """One object for each side, one for the difference, and what it all rests on."""
    sides: dict[str, Any] = {arm: _side(side) for arm, side in figures.sides.items()}
    for arm, over in figures.over.items():
        sides[arm]["after_less_this"] = flat(over)
    return {
        **sides,
        "difference": flat(figures.difference),
        "training": [msgspec.to_builtins(report, str_keys=True) for report in study.training.reports],
        "imitation": msgspec.to_builtins(study.imitation),
        "checkpoint": str(study.training.checkpoint),
        "store": str(store),
        "seconds": dict(study.seconds),
    }


def flat(figures: Mapping[str, Figure]) -> JsonObject:
    """``reward``, ``reward_low``, ``reward_high``, ``reward_runs``, and so on: intervals of 95 %."""
    flattened: JsonObject = {}
    for name, figure in figures.items():
        flattened |= {
            name: figure.value,
            f"{name}_low": figure.low,
            f"{name}_high": figure.high,
            f"{name}_runs": figure.runs,
        }
    return flattened


def _side(side: Side) -> JsonObject:
    return {
        **flat(side.figures),
        "runs": side.runs,
        "reward_unknown": side.unknown,
        "statuses": {status.value: count for status, count in side.statuses.items()},
        "without_gold_writes": flat(side.apart),
    }
