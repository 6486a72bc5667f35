"""DBOS: durable workflows in a database, here SQLite.

Durability: the workflow's start, each step's result and the workflow's result are each committed before going on.
`sqlite` as it comes (rollback journal, `synchronous=FULL`, survives a power cut); `sqlite_normal` with WAL and
`synchronous=NORMAL` through an engine of our own, which DBOS documents, and which survives a killed process, the same
guarantee as Stretto's. No tracing, logging of errors only.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import sqlalchemy
from dbos import DBOS

from benchmarks.peers.serving import START, Block, Case, at_once, serve

Value = dict[str, int]


def value_of(found: Value) -> object:
    return found["value"]


def launched(folder: Path, engine: Any = None) -> Any:
    """Start DBOS in the folder; returns the workflow."""
    config = {"name": "benchmark", "system_database_url": _url(folder), "log_level": "ERROR"}
    DBOS(config=config if engine is None else {**config, "system_database_engine": engine})

    @DBOS.step()  # type: ignore[untyped-decorator]  # dbos is not installed for mypy
    async def step(given: Value) -> Value:
        return {"value": given["value"] + 1}

    @DBOS.workflow()  # type: ignore[untyped-decorator]  # dbos is not installed for mypy
    async def linear4(given: Value) -> Value:
        found: Value = await step(given)
        found = await step(found)
        if found["value"] > 0:
            found = await step(found)
        last: Value = await step(found)
        return last

    DBOS.launch()
    return linear4


def normal_engine(folder: Path) -> Any:
    """An SQLAlchemy engine whose connections use the write-ahead log and `synchronous=NORMAL`."""
    engine = sqlalchemy.create_engine(_url(folder), connect_args={"timeout": 30})

    def use_wal(connection: Any, _: object) -> None:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")

    sqlalchemy.event.listen(engine, "connect", use_wal)
    return engine


def _url(folder: Path) -> str:
    return f"sqlite:///{folder / 'dbos.db'}"


@asynccontextmanager
async def sqlite(folder: Path) -> AsyncIterator[Block]:
    workflow = launched(folder)
    yield at_once(lambda: workflow({"value": START}), value_of)
    DBOS.destroy()


@asynccontextmanager
async def sqlite_normal(folder: Path) -> AsyncIterator[Block]:
    workflow = launched(folder, normal_engine(folder))
    yield at_once(lambda: workflow({"value": START}), value_of)
    DBOS.destroy()


CASES: Final = {
    "sqlite": Case(
        open=sqlite,
        durability="start, each step and result committed; SQLite rollback journal, synchronous=FULL, as it comes",
    ),
    "sqlite_normal": Case(
        open=sqlite_normal, durability="start, each step and result committed; SQLite WAL, synchronous=NORMAL"
    ),
}

if __name__ == "__main__":
    serve(CASES, ("dbos", "sqlalchemy"))
