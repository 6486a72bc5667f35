"""A store in memory, and what a second process does with what it finds there."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from stretto.engine.engine import Engine
from stretto.engine.history import History
from stretto.plan.model import Block, Plan, Retry
from stretto.record.model import NULL, EffectRecord, Run
from stretto.testing import VirtualLoop, run_virtual
from stretto.types.enums import Durability, Effect
from stretto.types.errors import Code, ComponentError, StoreError
from stretto.types.ids import StepPath
from stretto.types.messages import Request, Response
from tests.unit.engine.plans import Ledger, Probe, plan, run

WRITE = {"*": Effect.WRITE}
LOST = ComponentError("connection lost", Code.UNAVAILABLE)
TWICE = Retry(max_attempts=2, base_s=0.0)

Answer = Callable[[Request], Awaitable[object]]


class Book(Ledger):
    """A ledger that keeps what a store would: a snapshot of each record at the time that it was handed over."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[StepPath, EffectRecord] = {}
        self.begun: list[str] = []
        """Kinds of what was handed over to be committed."""
        self.fail_at = ""
        """Kind of the next call that the disk fails at."""
        self.accepted_memory = NULL
        """The run's memory as the store was given it when the run was accepted."""

    async def open(self, run: Run, durability: Durability) -> "Book":
        self.accepted_memory = run.memory
        await super().open(run, durability)
        return self

    async def intent(self, effect: EffectRecord) -> None:
        await self._keep("intent", effect)
        await super().intent(effect)

    async def receipt(self, effect: EffectRecord) -> None:
        await self._keep("receipt", effect)
        await super().receipt(effect)

    @property
    def in_doubt(self) -> list[str]:
        return [path for path, effect in self.kept.items() if effect.in_doubt]

    async def _keep(self, kind: str, effect: EffectRecord) -> None:
        if self.fail_at == kind:
            self.fail_at = ""
            raise StoreError("the disk is full")
        self.begun.append(kind)
        before = self.kept.get(effect.path)
        assert before is None or before.receipt is None, "a receipt stands once"
        self.kept[effect.path] = msgspec.structs.replace(effect)
        await asyncio.sleep(0)


class Bank(Probe):
    """A component that writes and can tell: `told` answers about a write in doubt."""

    def __init__(self, answer: Answer, told: Answer, **card: Any) -> None:
        super().__init__("pay", answer, effects=WRITE, confirms=True, **card)
        self.asked: list[Request] = []
        self._told = told

    async def confirm(self, request: Request) -> Response | None:
        self.asked.append(request)
        told = await self._told(request)
        return None if told is None else Response(output=told)


def saying(value: object) -> Answer:
    async def answer(_request: Request) -> object:
        if isinstance(value, BaseException):
            raise value
        return value

    return answer


def execute(body: Block, book: Book, value: dict[str, Any] | None = None, **fields: Any) -> Run:
    return run(body, value, ledger=book, durability=Durability.STEP, **fields)


def killed(whole: Run, *, steps: int) -> Run:
    """The run as a store has it after a kill that came when so many steps were recorded."""
    return Run(
        id=whole.id,
        workflow_run_id=whole.workflow_run_id,
        manifest=whole.manifest,
        input=whole.input,
        input_digest=whole.input_digest,
        started_at_ns=whole.started_at_ns,
        seed=whole.seed,
        steps=list(whole.steps[:steps]),
    )


def resume(interrupted: Run, again: Plan, book: Book) -> Run:
    """Go on with a run in another process, which finds what `book` holds."""

    async def main() -> Run:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        effects = {path: msgspec.structs.replace(effect) for path, effect in book.kept.items()}
        history = History.resume(interrupted, effects)
        return await Engine(book, clock=loop).resume(again, interrupted, history, book)

    return run_virtual(main())


def settled(book: Book, path: str, response: object | None) -> None:
    """A person's word on a write in doubt."""
    effect = book.kept[StepPath(path)]
    assert effect.in_doubt
    if response is None:
        effect.refused = True
    else:
        effect.receipt = msgspec.Raw(msgspec.json.encode(response))


def stepping(body: Block, **fields: Any) -> Plan:
    return plan(body, durability=Durability.STEP, **fields)
