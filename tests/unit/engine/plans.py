"""Hand-built plans, so that the engine is tested without the compiler; and a recorder that keeps runs in memory."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from stretto.engine.engine import Engine
from stretto.engine.request import RunRequest
from stretto.plan.check import Check
from stretto.plan.model import FIRST_FREE_SLOT, AnyOp, Block, CallOp, Frame, Getter, MapOp, Plan
from stretto.record.model import EffectRecord, Manifest, Run, StepRecord
from stretto.testing import VirtualLoop, run_virtual
from stretto.types.budget import BudgetSpec
from stretto.types.card import Card
from stretto.types.enums import Durability
from stretto.types.errors import Code, ComponentError
from stretto.types.ids import Digest
from stretto.types.json import Json
from stretto.types.messages import Request, Response

ZERO = Digest("0" * 64)


class Probe:
    """A component made of a coroutine function from input to output; remembers every request."""

    def __init__(self, name: str, answer: Callable[[Request], Awaitable[object]], **card: Any) -> None:
        self.card = Card(**{"name": name, "version": "1.0.0", "kind": "python", "digest": ZERO, **card})
        self.requests: list[Request] = []
        self._answer = answer

    async def __call__(self, request: Request) -> Response:
        self.requests.append(request)
        answer = await self._answer(request)
        return answer if isinstance(answer, Response) else Response(output=answer)


def returning(name: str, output: object, **card: Any) -> Probe:
    """A component that always gives the same output."""

    async def answer(_request: Request) -> object:
        return output

    return Probe(name, answer, **card)


def failing(name: str, *outcomes: object, **card: Any) -> Probe:
    """A component that raises or returns the outcomes in turn, the last one for ever."""
    left = list(outcomes)

    async def answer(_request: Request) -> object:
        outcome = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    return Probe(name, answer, **card)


def sleeping(name: str, seconds: float, output: object = None, **card: Any) -> Probe:
    """A component that takes its time."""

    async def answer(_request: Request) -> object:
        await asyncio.sleep(seconds)
        return output if output is not None else {}

    return Probe(name, answer, **card)


async def deaf(_request: Request) -> object:
    """What a component does that ignores every cancellation."""
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            continue


def read(slot: int, *path: str | int) -> Getter:
    """A getter of a path in a slot; missing reads as None."""

    def get(frame: Frame) -> Json:
        value: Any = frame[slot]
        for part in path:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                return None
        result: Json = value
        return result

    return get


def call(component: Probe, slot: int, inputs: dict[str, Getter] | None = None, **fields: Any) -> CallOp:
    """A call step named after its component."""
    card = component.card
    output = dict(card.output)
    return CallOp(
        **{
            "name": card.name,
            "slot": slot,
            "component": component,
            "component_name": card.name,
            "inputs": tuple((inputs or {}).items()),
            "input_check": None,
            "output_check": Check(output) if output != {"type": "object"} else None,
            "effect": card.effect_of(""),
            **fields,
        }
    )


def each(body_op: Any, **fields: Any) -> MapOp:
    """A map over the input's `items` with one step as its body, named ``each``."""
    return MapOp(
        **{
            "name": "each", "slot": S, "over": read(0, "items"), "over_source": "input.items", "item_slot": S + 1,
            "index_slot": S + 2, "body": linear(body_op), "result": read(body_op.slot), "max_parallel": 2, **fields,
        }
    )  # fmt: skip


def linear(*ops: AnyOp) -> Block:
    """A block in one order."""
    return Block(ops=ops, linear=True)


def graph(ops: list[AnyOp], edges: list[tuple[int, int]]) -> Block:
    """A block with the given dependencies: (before, after)."""
    return Block(
        ops=tuple(ops),
        linear=False,
        indegree=tuple(sum(after == index for _, after in edges) for index in range(len(ops))),
        children=tuple(tuple(after for before, after in edges if before == index) for index in range(len(ops))),
    )


def plan(body: Block, slots: int = 40, output: dict[str, Getter] | None = None, **fields: Any) -> Plan:
    """A plan around a body."""
    manifest = Manifest(workflow="test", version="1.0.0", plan=ZERO, components={})
    return Plan(
        **{
            "name": "test",
            "version": "1.0.0",
            "manifest": manifest,
            "manifest_digest": ZERO,
            "files_digest": ZERO,
            "body": body,
            "slots": slots,
            "slot_names": (),
            "components": {},
            "input_check": None,
            "output_check": None,
            "output": tuple((output or {}).items()),
            **fields,
        }
    )


def deadline(seconds: float, reserve: float = 0.0, **limits: Any) -> BudgetSpec:
    """A budget of time."""
    return BudgetSpec(deadline=timedelta(seconds=seconds), reserve=timedelta(seconds=reserve), **limits)


class Ledger:
    """Recorder and journal in memory, in the order of calls."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.events: list[tuple[str, str]] = []
        self.effects: dict[str, EffectRecord] = {}

    async def open(self, run: Run, durability: Durability) -> "Ledger":
        self.events.append(("open", durability))
        return self

    def step(self, record: StepRecord) -> None:
        self.events.append(("step", record.path))

    async def intent(self, effect: EffectRecord) -> None:
        self.events.append(("intent", effect.path))
        self.effects[effect.path] = effect

    async def receipt(self, effect: EffectRecord) -> None:
        self.events.append(("receipt", effect.path))

    async def seal(self, run: Run) -> None:
        self.events.append(("seal", run.status or ""))
        self.runs.append(run)


def run(
    body: Block,
    value: dict[str, Any] | None = None,
    *,
    ledger: Ledger | None = None,
    request: dict[str, Any] | None = None,
    **fields: Any,
) -> Run:
    """Execute a body on a virtual clock and return the sealed run."""

    async def main() -> Run:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        engine = Engine(ledger or Ledger(), clock=loop)
        return await engine.run(plan(body, **fields), RunRequest(input=value or {}, **(request or {})))

    return run_virtual(main())


def step(run_: Run, path: str) -> StepRecord:
    """The one record at a path."""
    found = [record for record in run_.steps if record.path == path]
    assert len(found) == 1, f"{path}: {[record.path for record in run_.steps]}"
    return found[0]


S = FIRST_FREE_SLOT
"""First slot that a step may have."""

UNAVAILABLE = ComponentError("down", Code.UNAVAILABLE)
