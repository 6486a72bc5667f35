"""The components of the data cases."""

import asyncio
from collections.abc import Callable
from typing import Any, Literal, TypedDict

import stretto


class Number(TypedDict):
    n: int


class Text(TypedDict):
    text: str


@stretto.component(name="llm-planner-v2")
async def plan(user_query: str, history: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"action_plan": [{"type": "api_call", "spec": {"query": user_query, "seen": len(history or [])}}]}


@stretto.component(name="api-executor")
async def execute(api_spec: dict[str, Any]) -> dict[str, Any]:
    return {"done": api_spec}


@stretto.component(version="1.0.0")
async def add(n: int, by: int = 1) -> Number:
    return {"n": n + by}


@stretto.component
async def say(text: str) -> Text:
    return {"text": text}


class Route(TypedDict):
    intent: Literal["track", "cancel", "chat"]


class Routes(TypedDict):
    intents: list[str]


@stretto.component
async def route(text: str) -> Route:
    return {"intent": text}  # type: ignore[typeddict-item]  # the cases give what is refused


@stretto.component
async def split(text: str) -> Routes:
    return {"intents": text.split(", ")}


@stretto.component(effects="read")
async def call_api(intent: str | None, order: str = "7") -> Text:
    return {"text": f"{intent} {order}"}


@stretto.component
async def list_text(intent: str | None) -> Text:
    return {"text": f"asked {intent}"}


@stretto.component
async def crash_text(text: str) -> Text:
    raise RuntimeError(f"no luck with {text}")


@stretto.component(effects="read")
async def call_strict(intent: Literal["STATUS", "CANCEL"]) -> Text:
    return {"text": intent}


@stretto.component(effects="read")
async def call_each(intents: list[str]) -> Text:
    return {"text": "+".join(map(str, intents))}


@stretto.component
async def repeated(times: int) -> str:
    return "ab" * times


@stretto.component
async def packed() -> dict[int, set[bytes]]:
    return {1: {b"b", b"a"}}


@stretto.component
async def answer(value: Any) -> dict[str, Any]:
    """Gives back whatever it is given, as its whole output."""
    return value  # type: ignore[no-any-return]  # the cases give what must be refused


@stretto.component
async def odd(n: int) -> dict[str, Any]:
    """Returns what is not JSON, by number."""
    small = [float("nan"), float("inf"), "\ud800", 2**64, {1: 2}, object()]
    return {"value": small[n] if n < len(small) else "x" * 50_000_000}


@stretto.component
async def wrong(n: int) -> Number:
    return {"n": "not a number"}  # type: ignore[typeddict-item]  # the mistake under test


@stretto.component
async def crash(n: int) -> Number:
    raise RuntimeError(f"no luck with {n}")


@stretto.component
async def list_of(one: Any, two: Any = None) -> dict[str, Any]:
    return {"all": [one, two]}


@stretto.component
async def asks_crash(n: int, context: stretto.Context) -> dict[str, Any]:
    return dict(await context.call("crash", n=n))


@stretto.component(calls=False)
async def calls_none(n: int, context: stretto.Context) -> Number:
    context.evidence("asked", n)
    return {"n": n}


async def asks_anyway(n: int, context: stretto.Context) -> dict[str, Any]:
    return dict(await context.call("crash", n=n))


class Mute(Exception):
    """Cannot say what is wrong."""

    def __str__(self) -> str:
        raise ValueError("no words")


ODDITIES: dict[str, Callable[[], BaseException]] = {
    "SystemExit": lambda: SystemExit(3),
    "KeyboardInterrupt": KeyboardInterrupt,
    "GeneratorExit": GeneratorExit,
    "BaseException": lambda: BaseException("bare"),
    "StopIteration": lambda: StopIteration(3),
    "StopAsyncIteration": StopAsyncIteration,
    "CancelledError": asyncio.CancelledError,
    "Mute": Mute,
    "10 MB": lambda: ValueError("x" * 10_000_000),
    "half a character": lambda: ValueError("a\ud800\0b"),
}
"""Each made when it is thrown: this file is imported again for every case, and what was imported stays."""


def throw(what: str) -> dict[str, Any]:
    error = ODDITIES[what]()
    raise error


@stretto.component
async def throws(what: str) -> dict[str, Any]:
    return throw(what)


@stretto.component
def throws_in_a_thread(what: str) -> dict[str, Any]:
    return throw(what)


@stretto.component
async def throws_in_a_group(what: str) -> dict[str, Any]:
    async with asyncio.TaskGroup() as group:
        group.create_task(throws(what))
    return {}


@stretto.component
async def hang(n: int) -> Number:
    await asyncio.Event().wait()
    return {"n": n}


@stretto.reward("judge", terms=("right", "quick"), inline=True)
def judge(n: int) -> dict[str, float]:
    return {"right": float(n), "quick": 1.0}


@stretto.component(effects="write")
async def pay(n: int) -> Number:
    return {"n": n}


@stretto.component("counts", scope="run", effects="read")
class Counts:
    """One for each run."""

    async def __call__(self, n: int) -> Number:
        return {"n": n}


@stretto.component(effects="pure")
async def rules(risk: str, reason: str = "") -> dict[str, str]:
    """A stand-in for a decision table, whose output has no schema."""
    return {"text": f"call us ({risk}{', ' if reason else ''}{reason})"}


@stretto.component(effects="pure")
async def card_rules() -> Text:
    return {"text": "call 110"}


@stretto.component(effects="pure")
async def number_rules(n: int) -> Number:
    return {"n": 0}


@stretto.component(effects="write")
async def writing_rules(n: int) -> Number:
    return {"n": 0}


@stretto.component(effects="pure")
async def calling_rules(n: int, context: stretto.Context) -> Number:
    answer = await context.call("add", n=n)
    return {"n": 0 if answer else n}
