"""Workflows behind all their faces, in the test's own event loop, with steps that do as the query says."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from stretto.acp.server import Limits
from stretto.acp.server.tokens import Tokens
from stretto.runtime.load import load
from stretto.runtime.workflow import Workflow
from stretto.serve.acp_metrics import AcpMetrics
from stretto.serve.acp_serving import HttpDoor
from stretto.serve.faces.serving import ChatNames, Faces
from stretto.serve.listening import listen
from stretto.store.sqlite import Store
from stretto.types.enums import RunStatus

COMPONENTS = '''
import asyncio
from pathlib import Path

import stretto
from stretto import Code, ComponentError, Context, Response, Usage

WRITTEN = Path(__file__).parent / "written"


@stretto.component("look", "1.0.0", effects="read")
async def look(query: str, history: list | None = None) -> Response:
    """Reads, or fails as the query says."""
    if query == "hang":
        await asyncio.sleep(3600)
    if query == "bug":
        raise ValueError("a bug")
    if query.startswith("fails "):
        raise ComponentError("the shop is closed", Code(query.split()[1]), retry_after_s=3)
    told = f"{query} ({len(history or [])} before)"
    return Response(output={"found": told}, usage=Usage(input_tokens=7, output_tokens=5))


@stretto.component("card", "1.0.0", effects="pure")
async def card(query: str) -> dict:
    """What answers in the workflow's place."""
    return {"reply": "please call us"}


@stretto.component("pay", "1.0.0", effects="write")
async def pay(query: str, context: Context) -> dict:
    """Writes, and loses its answer when the query says so."""
    with WRITTEN.open("a") as written:
        written.write(context.effect_key + "\\n")
    if query == "pay and be lost":
        raise ComponentError("the line broke", Code.UNAVAILABLE)
    if query == "pay and wait":
        await asyncio.sleep(3600)
    return {"paid": query}


@stretto.component("check", "1.0.0", effects="pure")
async def check(query: str) -> dict:
    """Fails after the write when the query says so."""
    if query == "pay and fail":
        raise ComponentError("the receipt printer is out", Code.UNAVAILABLE)
    return {"checked": True}
'''

CONTRACT = '{ input: { query: "string[1,64]", history: "array[object]?" }, output: { reply: string } }'

READING = f"""
stretto: 1
name: reading
version: 1.2.0
contract: {CONTRACT}
budget: {{ deadline: 20s }}
steps:
  - {{ name: look, component: look, input_mapping: {{ query: input.query, history: input.history }} }}
output: {{ reply: steps.look.found }}
"""

HURRIED = READING.replace("name: reading", "name: hurried").replace("20s", "100ms")

DEGRADED = READING.replace("name: reading", "name: degraded").replace(
    "history: input.history }", 'history: input.history }, resilience: { fallback: { output: { found: "a card" } } }'
)

WRITING = f"""
stretto: 1
name: writing
version: 1.0.0
durability: step
contract: {CONTRACT}
budget: {{ deadline: 20s }}
steps:
  - {{ name: look, component: look, input_mapping: {{ query: input.query, history: input.history }} }}
  - {{ name: pay, component: pay, input_mapping: {{ query: input.query }}, needs: [look] }}
  - {{ name: check, component: check, input_mapping: {{ query: input.query }}, needs: [pay] }}
output: {{ reply: steps.look.found }}
"""

RESCUED = READING.replace("name: reading", "name: rescued").replace(
    "deadline: 20s }",
    "deadline: 20s, reserve: 1s }\nfallback: { component: card, input_mapping: { query: input.query } }",
)

RESCUED_LATE = RESCUED.replace("name: rescued", "name: rescued-late").replace(
    "deadline: 20s, reserve: 1s", "deadline: 1s, reserve: 900ms"
)

ALL = (READING, HURRIED, DEGRADED, RESCUED, RESCUED_LATE, WRITING)


def workflows_in(folder: Path, store: Store, *texts: str) -> list[Workflow]:
    """Loaded, over one store."""
    folder.mkdir(exist_ok=True)
    (folder / "components.py").write_text(COMPONENTS)
    made = []
    for number, text in enumerate(texts):
        (folder / f"{number}.yaml").write_text(text)
        made.append(load(folder / f"{number}.yaml", store=store))
    return made


@asynccontextmanager
async def served_faces(
    workflows: list[Workflow],
    *,
    tokens: Tokens | None = None,
    limits: Limits | None = None,
    tools: bool = True,
    explain: bool = False,
) -> AsyncIterator[tuple[Faces, str]]:
    """The faces, and the address where they are. With tools it is left in the task in which it was entered, as a
    fixture cannot."""
    faces = Faces(workflows, limits)
    faces.own_pages_only = tokens is None
    faces.add_runs(tokens)
    faces.add_models(ChatNames(), tokens, must_fit=False)
    if explain:
        faces.add_explanations(tokens)
    if tools:
        faces.add_tools(tokens, is_local=True)
    with listen("127.0.0.1", 0) as listening:
        metrics = AcpMetrics(faces.desk)
        door = HttpDoor(faces.desk, listening, tokens=tokens, metrics=metrics, tls=None, beside=faces.beside)
        async with faces.living():
            await faces.desk.open()
            await door.open()
            try:
                yield faces, door.url
            finally:
                await door.close(at_once=True)
                await faces.desk.close()


async def given_up(store: Store, call: Coroutine[Any, Any, object]) -> list[RunStatus | None]:
    """What runs came to of which the first was given up by its caller once it had begun; durability ``step`` tells."""
    asked = asyncio.ensure_future(call)
    await _until(lambda: bool(store.list()))
    asked.cancel()
    with suppress(asyncio.CancelledError):
        await asked
    await _until(lambda: all(run.status is not None for run in store.list()))
    return [run.status for run in store.list()]


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110  # the store tells nobody
            await asyncio.sleep(0.01)
