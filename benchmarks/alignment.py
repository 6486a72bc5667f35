"""How well the learned aligner aligns BANKING77, and how quickly: trained on its train split, measured on its test.

The data are shared beside the checkout and are not the project's own; without them there is nothing to measure.
CLINC150's out-of-scope utterances are shown to the same aligner at the same threshold, which knows nothing of them.
"""

import csv
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from stretto.components.aligner.component import LearnedAligner
from stretto.learn.semantics.samples import Sample
from stretto.learn.semantics.train import measure, train_first

DATA: Final = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
BANKING: Final = DATA / "banking77" / "banking77.csv"
CLINC: Final = DATA / "clinc150_banking_oos" / "clinc.csv"


def align_figures() -> dict[str, float]:
    """The figures of the learned path, by their keys; empty where the data are not.

    `align_error_at_default` is a share of what is aligned, the others are shares of all; `align_us` is the median time
    of one text, microseconds.
    """
    if not (BANKING.is_file() and CLINC.is_file()):
        return {}
    train, test = (_banking(split) for split in ("train", "test"))
    model = train_first("intent", sorted({sample.value for sample in train}), train, trained_at="")
    measured = measure(model, test)
    _, sure = model.guesses(outside := _out_of_scope())
    return {
        "align_accuracy_forced": round(measured.accuracy, 4),
        "align_error_at_default": round(measured.error, 4),
        "align_coverage_at_default": round(measured.coverage, 4),
        "align_oos_refused": round(float((sure < model.meta.threshold).mean()), 4),
        "align_us": round(_median_us(LearnedAligner(model), [sample.text for sample in test] + outside), 1),
    }


def _banking(split: str) -> list[Sample]:
    with BANKING.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["source_split"] == split]
    return [Sample(text=row["text"], value=row["category"]) for row in rows]


def _out_of_scope() -> list[str]:
    with CLINC.open(newline="", encoding="utf-8") as file:
        return [row["text"] for row in csv.DictReader(file) if row["domain"] == "oos"]


def _median_us(aligner: LearnedAligner, texts: Sequence[str]) -> float:
    taken_ns = []
    for text in texts:
        started = time.perf_counter_ns()
        aligner.align(text)
        taken_ns.append(time.perf_counter_ns() - started)
    return float(np.median(taken_ns)) / 1e3


if __name__ == "__main__":
    print(align_figures())
