"""What `run.*` reads."""

from stretto.record.model import Run
from stretto.types.json import JsonObject


def run_root(run: Run) -> JsonObject:
    """Facts of a run that its steps may read."""
    labels: JsonObject = dict(run.labels)
    return {
        "id": run.id,
        "workflow_run_id": run.workflow_run_id,
        "tenant": run.tenant,
        "labels": labels,
        "seed": run.seed,
        "started_at_ms": run.started_at_ns // 1_000_000,
    }
