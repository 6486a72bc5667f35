"""How much a store holds, and whether it lost anything."""

import sqlite3
from pathlib import Path
from typing import Final

import msgspec

_COUNTS: Final = {
    "runs": "SELECT count(*) FROM runs",
    "unsealed": "SELECT count(*) FROM runs WHERE status IS NULL",
    "steps": "SELECT coalesce(sum(size), 0) FROM step_batches",
    "effects": "SELECT count(*) FROM effects",
    "in_doubt": "SELECT count(*) FROM effects WHERE state = 'intended'",
    "annotations": "SELECT count(*) FROM annotations",
    "blobs": "SELECT count(*) FROM blobs",
    "lost": "SELECT value FROM meta WHERE key = 'lost'",
}


class StoreStats(msgspec.Struct, frozen=True, kw_only=True):
    """How much a store holds."""

    runs: int
    unsealed: int
    steps: int
    effects: int
    in_doubt: int
    """Intents without a receipt, of runs that execute now too."""
    annotations: int
    blobs: int
    bytes: int
    """Of the file and its log."""
    lost: int
    """Runs and steps ever accepted for writing and not committed. Anything but 0 is a fault."""


def count(connection: sqlite3.Connection, path: Path, lost_unsaved: int) -> StoreStats:
    """Count what is there; `lost_unsaved` is what the file could not be told of yet."""
    counts = {name: int(connection.execute(query).fetchone()[0]) for name, query in _COUNTS.items()}
    counts["lost"] += lost_unsaved
    files = [Path(f"{path}{suffix}") for suffix in ("", "-wal")]
    return StoreStats(bytes=sum(file.stat().st_size for file in files if file.exists()), **counts)
