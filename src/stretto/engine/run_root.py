"""What `run.*` reads."""

from stretto.record.model import Run
from stretto.types.json import Json, JsonObject


def run_root(run: Run, downgrades: list[Json]) -> JsonObject:
    """Facts of a run that its steps may read; the list may grow while it runs."""
    labels: JsonObject = dict(run.labels)
    return {
        "id": run.id,
        "workflow_run_id": run.workflow_run_id,
        "tenant": run.tenant,
        "labels": labels,
        "seed": run.seed,
        "started_at_ms": run.started_at_ns // 1_000_000,
        "downgrades": downgrades,
    }
