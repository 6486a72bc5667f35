"""Burr: actions over an immutable state.

Durability: none; no persister is configured, so a killed process loses the run. No tracker and no hooks either. The
graph is built once and shared, as its documentation advises; each run is an application of its own, since state, id
and position belong to the application. The condition is a function, which is faster here than `expr`.
`reused_app` goes round one single application again, which saves its construction but is no run of its own.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from burr.core import ApplicationBuilder, Condition, GraphBuilder, State, action, default

from benchmarks.peers.serving import START, Block, Case, at_once, in_memory, one_by_one, serve


@action(reads=["value"], writes=["value"])  # type: ignore[untyped-decorator]  # burr is not installed for mypy
async def step(state: State) -> State:
    return state.update(value=state["value"] + 1)


def built(*more: tuple[str, str]) -> Any:
    """The graph of the four actions, with further transitions if any."""
    positive = Condition.lmda(lambda state: state["value"] > 0, ["value"])
    return (
        GraphBuilder()
        .with_actions(a=step, b=step, c=step, d=step)
        .with_transitions(("a", "b"), ("b", "c", positive), ("b", "d", default), ("c", "d"), *more)
        .build()
    )


async def application(graph: Any) -> Any:
    return await ApplicationBuilder().with_graph(graph).with_state(value=START).with_entrypoint("a").abuild()


GRAPH: Final = built()


async def run() -> Any:
    app = await application(GRAPH)
    return await app.arun(halt_after=["d"])


def value_of(result: Any) -> object:
    _, _, state = result
    return state["value"]


@asynccontextmanager
async def reused_app(_: Path) -> AsyncIterator[Block]:
    app = await application(built(("d", "a")))

    async def again() -> Any:
        app.update_state(app.state.update(value=START))
        return await app.arun(halt_after=["d"])

    yield one_by_one(again, value_of)


NOTHING: Final = "nothing is kept: in memory, no persister"

CASES: Final = {
    "linear4": Case(open=in_memory(one_by_one(run, value_of)), durability=NOTHING),
    "concurrent": Case(open=in_memory(at_once(run, value_of)), durability=NOTHING),
    "reused_app": Case(open=reused_app, durability=NOTHING),
}

if __name__ == "__main__":
    serve(CASES, ("apache-burr",))
