"""Records the cases anew: ``python -m tests.replay.record [CASE...]``. Done on purpose only; no test does it.

Writes into `FOLDER` and nowhere else: what a released version recorded stays as it is.
"""

import asyncio
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import stretto
from stretto import Annotation, Run, RunRequest, Store
from stretto.types.ids import RunId, StepPath
from tests.replay.cases import Case, copied, folders, read_case, recorded_in

FOLDER: Final = "v1"
"""Where this release records. Once it is released, the next change of what a run holds needs a new folder."""


def record(folder: Path) -> None:
    """Run a case with everything real, in a place of its own, and export the run over the one that stands there."""
    out = recorded_in(folder)
    shutil.rmtree(out.with_suffix(".blobs"), ignore_errors=True)
    with TemporaryDirectory() as place, chdir(copied(folder, Path(place))), Store("runs.db") as store:
        case = read_case(folder)
        run = asyncio.run(_run(case, store))
        store.annotate(*_annotations(case, run.id))
        store.export(out)


async def _run(case: Case, store: Store) -> Run:
    asked = RunRequest(
        input=case.input,
        labels=case.labels,
        tenant=case.tenant,
        seed=case.seed,
        reference=case.reference,
        resources=case.resources,
        budget=None if case.budget is None else case.budget.spec,
        traceparent=case.traceparent,
        baggage=case.baggage,
    )
    async with stretto.load("workflow.yaml", store=store) as workflow:
        return await workflow.run_request(asked)


def _annotations(case: Case, run_id: RunId) -> list[Annotation]:
    now = time.time_ns()
    return [
        Annotation(
            run_id=run_id,
            name=noted.name,
            value=noted.value,
            at_ns=now + number,
            path=StepPath(noted.path),
            by=noted.by,
            reason=noted.reason,
        )
        for number, noted in enumerate(case.annotations)
    ]


def main(names: Sequence[str]) -> None:
    """Record the named cases, or all."""
    for folder in folders(FOLDER):
        if not names or folder.name in names:
            record(folder)
            print(f"{folder.name}: {recorded_in(folder).stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
