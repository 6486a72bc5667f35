"""The tables, and how an older file becomes one of this release. The newest step is the schema.

A run is one row in `runs` (columns to find it by, and its document without the steps), one in `step_batches` for all
steps that were written together, one in `effects` for each write. A field of a document above 4 KiB lies in `blobs`
once per tenant and digest; `spilled` names the fields that do. `blob_refs` says which run needs which blob, so that
deleting runs deletes content. Whoever asks in SQL finds the steps one by one in the view `steps`. Beside the runs,
`settings` keeps what was changed of workflows while they run.
"""

import secrets
import sqlite3
from typing import Final

VERSION: Final = 4
"""What `PRAGMA user_version` says of a file of this release."""

APPLICATION_ID: Final = 0x53545254
"""``STRT`` in `PRAGMA application_id`, by which a file says whose it is (https://sqlite.org/fileformat2.html)."""

_VERSION_1: Final = """
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value
) WITHOUT ROWID;

CREATE TABLE runs (
    id             TEXT PRIMARY KEY NOT NULL,
    workflow       TEXT NOT NULL,
    version        TEXT NOT NULL,
    tenant         TEXT NOT NULL,
    status         TEXT,              -- NULL until it is sealed
    started_at_ns  INTEGER NOT NULL,
    durability     TEXT NOT NULL,
    owner          TEXT NOT NULL,
    epoch          INTEGER NOT NULL,  -- a fence: only the writer that holds it may write
    lease_until_ns INTEGER NOT NULL,  -- after it another process may claim an unsealed run
    task           TEXT,
    "group"        TEXT,
    split          TEXT,
    purpose        TEXT,
    doc            TEXT NOT NULL,
    spilled        TEXT
);
CREATE INDEX runs_workflow ON runs (workflow, started_at_ns);
CREATE INDEX runs_task ON runs (task) WHERE task IS NOT NULL;
CREATE INDEX runs_group ON runs ("group") WHERE "group" IS NOT NULL;
CREATE INDEX runs_split ON runs (split, purpose) WHERE split IS NOT NULL;
CREATE INDEX runs_purpose ON runs (purpose) WHERE purpose IS NOT NULL;
CREATE INDEX runs_unsealed ON runs (owner) WHERE status IS NULL;

CREATE TABLE steps (
    run_id    TEXT NOT NULL,
    seq       INTEGER NOT NULL,       -- order of completion, from 0
    doc       TEXT NOT NULL,
    spilled   TEXT,
    path      TEXT AS (json_extract(doc, '$.path')),  -- for people who ask in SQL; computed when they do
    component TEXT AS (json_extract(doc, '$.component')),
    status    TEXT AS (json_extract(doc, '$.status')),
    PRIMARY KEY (run_id, seq)
);

CREATE TABLE effects (
    run_id         TEXT NOT NULL,
    path           TEXT NOT NULL,
    state          TEXT NOT NULL,     -- intended, received, refused
    request_digest TEXT NOT NULL,
    intended_at_ns INTEGER NOT NULL,
    doc            TEXT NOT NULL,
    spilled        TEXT,
    PRIMARY KEY (run_id, path)
);
CREATE INDEX effects_in_doubt ON effects (intended_at_ns) WHERE state = 'intended';

CREATE TABLE annotations (
    id     INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL,
    name   TEXT NOT NULL,
    at_ns  INTEGER NOT NULL,
    doc    TEXT NOT NULL
);
CREATE INDEX annotations_run ON annotations (run_id, at_ns);

CREATE TABLE blobs (
    tenant  TEXT NOT NULL,
    digest  TEXT NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (tenant, digest)
);
CREATE TABLE blob_refs (
    run_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (run_id, tenant, digest)
) WITHOUT ROWID;
CREATE INDEX blob_refs_blob ON blob_refs (tenant, digest);
"""

_VERSION_2: Final = """
CREATE TABLE step_batches (           -- steps that were written together
    run_id  TEXT NOT NULL,
    seq     INTEGER NOT NULL,         -- of the first, in order of completion, from 0
    size    INTEGER NOT NULL,         -- how many
    doc     TEXT NOT NULL,            -- an array of them, or the one itself
    spilled TEXT,
    PRIMARY KEY (run_id, seq)
);
INSERT INTO step_batches SELECT run_id, seq, 1, doc, spilled FROM steps;
DROP TABLE steps;
CREATE VIEW steps AS  -- one by one, for people who ask in SQL
SELECT run_id,
       seq + key AS seq,
       json_extract(value, '$.path') AS path,
       json_extract(value, '$.component') AS component,
       json_extract(value, '$.status') AS status,
       value AS doc,
       spilled
FROM step_batches, json_each(iif(doc LIKE '[%', doc, '[' || doc || ']'));
"""

_VERSION_3: Final = """
CREATE TABLE settings (               -- what was changed of a workflow while it runs; only ever added to
    revision INTEGER PRIMARY KEY AUTOINCREMENT,
    workflow TEXT NOT NULL,
    key      TEXT NOT NULL,
    value    TEXT NOT NULL,           -- JSON; null takes the key back to what the file says
    at_ns    INTEGER NOT NULL,
    by       TEXT NOT NULL,
    reason   TEXT NOT NULL
);
CREATE INDEX settings_workflow ON settings (workflow, revision);
"""

_VERSION_4: Final = """
ALTER TABLE runs ADD COLUMN effect_key TEXT;
CREATE INDEX runs_effect_key ON runs (effect_key) WHERE effect_key IS NOT NULL;
CREATE UNIQUE INDEX runs_effect_once ON runs (workflow, effect_key)  -- what failed may be answered again
WHERE durability = 'step' AND effect_key IS NOT NULL
AND (status IS NULL OR status IN ('ok', 'degraded', 'business_fallback', 'parked'));
"""

_STEPS: Final = (_VERSION_1, _VERSION_2, _VERSION_3, _VERSION_4)
"""Script n turns a file of version n into one of version n + 1."""

INPUT_KEY_BYTES: Final = 32
"""As long as the digest that it keys (RFC 2104 section 3)."""


def version_of(connection: sqlite3.Connection) -> int:
    """Schema version of an open file; 0 for a new one."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def application_of(connection: sqlite3.Connection) -> int:
    """Whose file this says it is; 0 when it does not say."""
    return int(connection.execute("PRAGMA application_id").fetchone()[0])


def migrate(connection: sqlite3.Connection) -> None:
    """Bring an older file to this release's schema; all or nothing, and once when several processes try together."""
    if version_of(connection) >= VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = version_of(connection)  # again: another process may have been faster, also one of a later release
        if found < VERSION:
            for script in _STEPS[found:]:
                for statement in _statements(script):
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            _first_values(connection)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _statements(script: str) -> list[str]:
    """Single statements: `executescript` would commit between them."""
    return [statement for statement in script.split(";\n") if statement.strip()]


def _first_values(connection: sqlite3.Connection) -> None:
    connection.executemany(
        "INSERT OR IGNORE INTO meta VALUES (?, ?)",
        [("input_key", secrets.token_bytes(INPUT_KEY_BYTES)), ("lost", 0)],
    )
