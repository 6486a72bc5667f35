"""What a batch borrows of the engine: an event loop of its own, open components, states of runs."""

import asyncio
import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from stretto.engine.admission import Admitted
from stretto.engine.engine import Engine
from stretto.engine.state import RunState
from stretto.record.model import EffectRecord, Run, StepRecord
from stretto.runtime.workflow import Workflow
from stretto.types.budget import Budget
from stretto.types.enums import Durability

T = TypeVar("T")


class Unkept:
    """A journal that keeps nothing: a batch's runs are handed to whoever asks for them."""

    def step(self, record: StepRecord) -> None:
        """Nothing: the record is on its run."""

    async def intent(self, effect: EffectRecord) -> None:
        """Nothing, as under durability ``none``."""

    async def receipt(self, effect: EffectRecord) -> None:
        """Nothing, as under durability ``none``."""

    async def seal(self, run: Run) -> None:
        """Nothing."""


class LoopThread:
    """An event loop in a thread of its own, so that code that blocks may wait for it also inside a running loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: Callable[[], Any] | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do work there to its end; Ctrl-C cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._begun())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def is_here(self) -> bool:
        """Whether the caller runs in it."""
        return asyncio.get_running_loop() is self._loop

    def _begun(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = loop = asyncio.new_event_loop()
            threading.Thread(target=_serve, args=(loop,), name="stretto-batch", daemon=True).start()
            self._end = weakref.finalize(self, _stop, loop)
        return self._loop

    def end(self) -> None:
        """End the loop; the next work begins another."""
        self._loop = None
        if self._end is not None:
            self._end()


def _stop(loop: asyncio.AbstractEventLoop) -> None:
    loop.call_soon_threadsafe(loop.stop)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


class Host:
    """The engine of a workflow, for batches.

    Work is done in the loop of `run_sync`, so that modules of a workflow and its `run_sync` share what is open; inside
    a running event loop, and while that holds anything open, in a loop of its own.
    """

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self._thread = LoopThread()
        self._engine: Engine | None = None
        self._is_open_in_thread = False

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do work to its end, with everything open."""
        return self._do(self._with_engine(work))

    async def _with_engine(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            self._engine = await self.workflow.engine()
        except BaseException:
            work.close()
            raise
        self._is_open_in_thread = self._thread.is_here()
        return await work

    def begin(self, admitted: Admitted) -> tuple[RunState, Budget]:
        """The state of a run about to begin; in the loop, by work that `run` does."""
        assert self._engine is not None
        state, budget = self._engine.begin(self.workflow.plan, admitted, Unkept())
        state.durability = Durability.NONE
        return state, budget

    def close(self) -> None:
        """Close what is open, and end the event loop unless others need it. The next batch opens it again."""
        if self._engine is not None:
            self._engine = None
            if self._needs_thread():
                self._thread.run(self.workflow.aclose())
            else:
                self.workflow.close()
            self._is_open_in_thread = False
        self._thread.end()

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        if self._needs_thread():
            return self._thread.run(work)
        try:
            return self.workflow.blocking(lambda: work)
        finally:
            work.close()  # where it was refused; else it is over

    def _needs_thread(self) -> bool:
        return self._is_open_in_thread or _is_in_event_loop()


def _is_in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
