"""The card holders: what is seen of each, what each decision is worth once the rules have had their say, and the parts.

Shape letters: N card holders, D figures seen, A decisions.
"""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

import stretto
from examples.risk.components import DECISIONS, UTILITY
from examples.risk.table import tasks
from stretto.learn.tasks import Task
from stretto.record.model import Run

RULES: Final = Path(__file__).parent / "rules.yaml"

PERSON: Final = slice(5, 10)
"""What of the facts is of the person; nothing of a person is zeros."""

Floats: TypeAlias = npt.NDArray[np.float32]
Places: TypeAlias = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cards:
    """Every card holder of the table."""

    seen_ND: Floats
    """What the five networks see, flat, then what the rules before them say: severity and doubt. Nothing of the
    person."""
    seen_with_person_ND: Floats
    worth_NA: Floats
    """Utility of each decision, after the rules over it."""
    defaulted_N: npt.NDArray[np.bool_]
    train: Places
    validation: Places
    test: Places


def read(table: Path) -> list[Task]:
    """Every card holder as a task, with sex, age and marriage."""
    return [*tasks(table, with_person=True)]


def tabulate(read: Sequence[Task]) -> Cards:
    """Ask the features and the rules about every card holder, and the rules after the choice about every decision."""
    with tempfile.TemporaryDirectory() as folder:
        runs = asyncio.run(_asked(read, Path(folder) / "runs.db"))
    defaulted = [bool(_of(task.reference)["defaulted"]) for task in read]
    seen = np.stack([_seen(run.output_value) for run in runs])
    without = seen.copy()
    without[:, PERSON] = 0.0
    parts = np.array([task.labels["split"] for task in read])
    return Cards(
        seen_ND=without,
        seen_with_person_ND=seen,
        worth_NA=np.array([_worth(run, each) for run, each in zip(runs, defaulted, strict=True)], dtype=np.float32),
        defaulted_N=np.array(defaulted),
        train=np.flatnonzero(parts == "train"),
        validation=np.flatnonzero(parts == "validation"),
        test=np.flatnonzero(parts == "test"),
    )


async def _asked(read: Sequence[Task], store: Path) -> list[Run]:
    async with stretto.load(RULES, store=store) as workflow:
        runs = await workflow.run_many([task.input for task in read])
    for run in runs:
        if run.error is not None:
            raise ValueError(f"the rules do not take a row of the table: {run.error}")
    return runs


def _seen(told: Any) -> Floats:
    parts = [told["facts"], *told["months"], *told["money"], [told["severity"], told["doubt"]]]
    return np.concatenate([np.asarray(part, dtype=np.float32) for part in parts])


def _worth(run: Run, defaulted: bool) -> list[float]:
    outcomes: list[str] = run.output_value["outcomes"]
    assert len(outcomes) == len(DECISIONS)
    return [UTILITY[outcome][defaulted] for outcome in outcomes]


def _of(reference: Any) -> dict[str, bool]:
    assert isinstance(reference, dict)
    return reference
