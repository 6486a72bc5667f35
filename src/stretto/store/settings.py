"""What was changed of workflows while they run, by whom, when and why. Rows are only ever added."""

import sqlite3
import time
from collections.abc import Mapping
from typing import Final

import msgspec

from stretto.types.errors import StoreError
from stretto.types.setting import Setting, SettingValue

_GIVEN: Final = "workflow, key, value, at_ns, by, reason"
_COLUMNS: Final = f"revision, {_GIVEN}"


def newest_revision(connection: sqlite3.Connection, workflow: str) -> int:
    """Of the last change of a workflow; 0 when there is none. One step in an index."""
    query = "SELECT coalesce(max(revision), 0) FROM settings WHERE workflow = ?"
    return int(connection.execute(query, (workflow,)).fetchone()[0])


def load_history(connection: sqlite3.Connection, workflow: str, key: str | None) -> list[Setting]:
    """Every change of a workflow, or of one of its keys, oldest first."""
    query = f"SELECT {_COLUMNS} FROM settings WHERE workflow = ?1 AND (?2 IS NULL OR key = ?2) ORDER BY revision"  # noqa: S608  # the columns are ours
    return [_setting(row) for row in connection.execute(query, (workflow, key))]


def load_settings(connection: sqlite3.Connection, workflow: str) -> list[Setting]:
    """The last change of each key, oldest first; also those that took one back, for their revision."""
    latest = {setting.key: setting for setting in load_history(connection, workflow, None)}
    return sorted(latest.values(), key=lambda setting: setting.revision)


def append_settings(
    connection: sqlite3.Connection,
    workflow: str,
    changes: Mapping[str, SettingValue],
    by: str,
    reason: str,
    after: int | None,
) -> list[Setting] | None:
    """Add changes; None, and nothing is added, when another came since revision `after`."""
    if after is not None and newest_revision(connection, workflow) != after:
        return None
    at_ns = time.time_ns()
    query = f"INSERT INTO settings ({_GIVEN}) VALUES (?, ?, ?, ?, ?, ?) RETURNING {_COLUMNS}"  # noqa: S608  # as above
    rows = [
        connection.execute(query, (workflow, key, msgspec.json.encode(value).decode(), at_ns, by, reason)).fetchone()
        for key, value in changes.items()
    ]
    return [_setting(row) for row in rows]


def _setting(row: tuple[int, str, str, str, int, str, str]) -> Setting:
    revision, workflow, key, value, at_ns, by, reason = row
    try:
        plain = msgspec.json.decode(value, type=SettingValue)
    except msgspec.MsgspecError as error:
        raise StoreError(
            f"revision {revision} of the settings holds {value!r} for '{key}' of workflow '{workflow}', which is no "
            f"value: {error}. Stretto writes no such row; remove it from the table `settings` by hand"
        ) from error
    return Setting(
        workflow=workflow,
        key=key,
        value=plain,
        revision=revision,
        at_ns=at_ns,
        by=by,
        reason=reason,
    )
