"""LangGraph: a compiled graph over a typed state.

Durability: `linear4` has no checkpointer and keeps nothing. The others write a checkpoint at each step through
AsyncSqliteSaver with the default durability mode "async" (the checkpoint is written while the next step runs):
`sqlite` as it comes (WAL, `synchronous=FULL`, each commit survives a power cut); `sqlite_normal` with
`synchronous=NORMAL`, which survives a killed process, the same guarantee as Stretto's. The graph is compiled once;
tracing is off, as it is by default.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final, TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START as ENTRY, StateGraph

from benchmarks.peers.serving import START, Block, Case, in_memory, one_by_one, serve


class Value(TypedDict):
    value: int


async def step(state: Value) -> Value:
    return {"value": state["value"] + 1}


def route(state: Value) -> str:
    return "c" if state["value"] > 0 else "d"


def compiled(checkpointer: Any = None) -> Any:
    graph = StateGraph(Value)
    for name in "abcd":
        graph.add_node(name, step)
    graph.add_edge(ENTRY, "a")
    graph.add_edge("a", "b")
    graph.add_conditional_edges("b", route, ["c", "d"])
    graph.add_edge("c", "d")
    graph.add_edge("d", END)
    return graph.compile(checkpointer=checkpointer)


def value_of(state: Value) -> object:
    return state["value"]


def without_saver(graph: Any) -> Block:
    return one_by_one(lambda: graph.ainvoke({"value": START}), value_of)


def with_saver(graph: Any) -> Block:
    """Each run is a thread of its own, as the checkpointer calls it."""
    threads = count()

    async def run() -> Any:
        return await graph.ainvoke({"value": START}, {"configurable": {"thread_id": str(next(threads))}})

    return one_by_one(run, value_of)


@asynccontextmanager
async def sqlite(folder: Path) -> AsyncIterator[Block]:
    async with AsyncSqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
        yield with_saver(compiled(saver))


@asynccontextmanager
async def sqlite_normal(folder: Path) -> AsyncIterator[Block]:
    async with AsyncSqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
        await saver.setup()
        await saver.conn.execute("PRAGMA synchronous=NORMAL")
        yield with_saver(compiled(saver))


CASES: Final = {
    "linear4": Case(open=in_memory(without_saver(compiled())), durability="nothing is kept: no checkpointer"),
    "sqlite": Case(
        open=sqlite,
        durability="a checkpoint a step, written behind (mode async); SQLite WAL, synchronous=FULL, as it comes",
    ),
    "sqlite_normal": Case(
        open=sqlite_normal,
        durability="a checkpoint a step, written behind (mode async); SQLite WAL, synchronous=NORMAL",
    ),
}

if __name__ == "__main__":
    serve(CASES, ("langgraph", "langgraph-checkpoint-sqlite", "aiosqlite"))
