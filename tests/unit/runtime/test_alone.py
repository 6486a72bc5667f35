"""A workflow whose runs know nothing of each other."""

from pathlib import Path

import stretto
from stretto.types.enums import RunStatus

WORKFLOW = """
stretto: 1
name: guarded
fallback: {component: spare, after: 1}
steps:
  - name: work
    component: work
    resilience: {breaker: {failure_rate: 0.1, min_calls: 1}, bulkhead: {limit: 1}, retry: {attempts: 2, base: 1ms}}
"""
COMPONENTS = """
import stretto

@stretto.component("work", effects="pure")
async def work() -> dict:
    raise stretto.ComponentError("never", stretto.Code.UNAVAILABLE)

@stretto.component("spare", effects="pure")
async def spare() -> dict:
    return {}
"""


async def test_what_became_of_one_run_changes_nothing_for_the_next(tmp_path: Path) -> None:
    (tmp_path / "workflow.yaml").write_text(WORKFLOW)
    (tmp_path / "components.py").write_text(COMPONENTS)
    plain = stretto.load(tmp_path / "workflow.yaml", store=tmp_path / "runs.db")
    alone, wrapped = plain.wrapped(lambda each: each, alone=True), plain.wrapped(lambda each: each)
    assert alone.plan.manifest == plain.plan.manifest
    assert not alone.plan.protections
    for workflow, asked in ((alone, [True] * 4), (wrapped, [True, False, False, False])):
        async with workflow:
            runs = [await workflow.run({}) for _ in range(4)]
        assert {run.status for run in runs} == {RunStatus.BUSINESS_FALLBACK}
        assert [any(step.attempts for step in run.steps) for run in runs] == asked
    plain.store.close()
