"""What decisions come to on card holders that nothing was learnt from, the likeliest of each. Run from the root:

python -m examples.risk.judge examples/risk/tasks.jsonl --checkpoint .stretto/training/credit-risk
"""

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import numpy as np
from scipy.stats import rankdata

import stretto
from stretto.cli.checkpoints import read_checkpoints, with_checkpoints
from stretto.cli.task_file import read_tasks
from stretto.components.torch.component import TorchComponent
from stretto.learn.tasks import Task

WORKFLOW: Final = Path(__file__).parent / "workflow.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Of one part of the table."""

    card_holders: int
    utility: float
    """Mean, in months of the bank's margin."""
    auc: float
    """Of the risk: how often who defaults has a higher one than who does not."""
    outcomes: dict[str, float]
    """Share of each, after the rules."""


async def judge(tasks: Sequence[Task], checkpoints: Sequence[str] = ()) -> Judged:
    """Run every task by the engine, as it would be served; `checkpoints` as `stretto run` takes them."""
    with tempfile.TemporaryDirectory() as folder:
        async with stretto.load(WORKFLOW, store=Path(folder) / "runs.db") as loaded:
            workflow = with_checkpoints(loaded, read_checkpoints(checkpoints))
            router = workflow.component("router")
            assert isinstance(router, TorchComponent)
            requests = [stretto.RunRequest(input=task.input, reference=task.reference) for task in tasks]
            runs = await workflow.with_component(router.with_sampling(False)).run_many(requests)
    return _judged([run.output_value for run in runs], [_terms(run)["utility"] for run in runs], tasks)


def _judged(outputs: Sequence[Any], utilities: Sequence[float], tasks: Sequence[Task]) -> Judged:
    references: list[Any] = [task.reference for task in tasks]
    told = [output["outcome"] for output in outputs]
    return Judged(
        card_holders=len(tasks),
        utility=fmean(utilities),
        auc=auc_of([output["risk"] for output in outputs], [reference["defaulted"] for reference in references]),
        outcomes={outcome: told.count(outcome) / len(told) for outcome in sorted(set(told))},
    )


def auc_of(risks: Sequence[float], defaulted: Sequence[bool]) -> float:
    """By ranks (Mann & Whitney 1947); needs one who defaults and one who does not."""
    is_bad, ranks = np.array(defaulted), rankdata(risks)
    bad = int(is_bad.sum())
    return float((ranks[is_bad].sum() - bad * (bad + 1) / 2) / (bad * (len(ranks) - bad)))


def _terms(run: stretto.Run) -> dict[str, float]:
    return {term.name: term.value for term in run.rewards if term.value is not None}


def main() -> None:
    parser = argparse.ArgumentParser(description="Tell what decisions come to on one part of the table.")
    parser.add_argument("tasks", type=Path, help="as examples.risk.table writes them")
    parser.add_argument("--checkpoint", action="append", default=[], help="the folder of a training, or NAME=PATH")
    parser.add_argument("--split", choices=["train", "validation", "test"], default="test")
    asked = parser.parse_args()
    tasks = [task for task in read_tasks(asked.tasks) if task.labels.get("split") == asked.split]
    if not tasks:
        parser.error(f"{asked.tasks} has no task of the split {asked.split}; examples.risk.table labels them")
    found = asyncio.run(judge(tasks, asked.checkpoint))
    told = ", ".join(f"{share:.0%} {outcome}" for outcome, share in found.outcomes.items())
    print(f"{found.card_holders:,} card holders: utility {found.utility:.3f}, AUC {found.auc:.3f}; {told}")


if __name__ == "__main__":
    main()
