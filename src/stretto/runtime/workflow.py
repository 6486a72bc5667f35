"""A loaded workflow: run it, run many, resume and replay, from async code or from a script."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from stretto.engine.engine import Engine
from stretto.engine.history import History, hold_to_manifest
from stretto.engine.holding import close_each, open_one
from stretto.engine.request import RunRequest
from stretto.plan.check import Check
from stretto.plan.model import Plan
from stretto.record.model import EffectRecord, Run, decoded
from stretto.runtime.catalog import ComponentCatalog
from stretto.store.sqlite import Store
from stretto.types.budget import BudgetSpec
from stretto.types.errors import InputError, UsageError
from stretto.types.ids import StepPath
from stretto.types.json import Json, JsonObject
from stretto.types.protocols import Component, Opens

T = TypeVar("T")

_log: Final = logging.getLogger(__name__)

CLOSE_GRACE_S: Final = 10.0
"""A component that cannot be closed in this time is left behind; a tool server kills its process sooner."""

Compiler = Callable[[ComponentCatalog], Plan]
"""Compiles the workflow's file against a catalog."""


class Workflow:
    """A compiled workflow with its components and its store.

    Components are opened at the first run and closed by `close`. Use it as a context manager, async or not.
    """

    def __init__(self, compiler: Compiler, catalog: ComponentCatalog, store: Store) -> None:
        self._compiler = compiler
        self._catalog = catalog
        self.store = store
        self.plan = compiler(catalog)
        self._engine: Engine | None = None
        self._opened: list[tuple[str, Opens]] = []
        self._opening: asyncio.Lock | None = None
        self._is_open = False
        self._runner: asyncio.Runner | None = None

    @property
    def name(self) -> str:
        return self.plan.name

    def component(self, name: str) -> Component:
        """A component of this workflow; UsageError names those there are."""
        found = self._catalog.find(name)
        if found is None:
            raise UsageError(f"workflow '{self.name}' has no component '{name}'; it has: {self._names()}")
        return found

    def with_component(self, component: Component) -> "Workflow":
        """This workflow with another component in place of its namesake, compiled again; shares the store."""
        self.component(component.card.name)
        return Workflow(self._compiler, self._catalog.replaced(component), self.store)

    # run

    async def run(
        self,
        run_input: Mapping[str, object],
        *,
        labels: Mapping[str, str] | None = None,
        tenant: str = "default",
        seed: int | None = None,
        reference: Json = None,
        memory: dict[str, Json] | None = None,
        resources: dict[str, Json] | None = None,
        budget: BudgetSpec | None = None,
        baggage: Mapping[str, str] | None = None,
    ) -> Run:
        """Run once; returns the sealed run, whatever became of it.

        Raises InputError, before anything is run, when the input does not fit the contract. Cancelling the task
        cancels the components and seals the run as cancelled.
        """
        request = RunRequest(
            input=run_input,
            labels=labels or {},
            tenant=tenant,
            seed=seed,
            reference=reference,
            memory=memory,
            resources=resources or {},
            budget=budget,
            baggage=baggage or {},
        )
        return await self.run_request(request)

    async def run_request(self, request: RunRequest) -> Run:
        """Run once, with everything that a run can be asked for."""
        engine = await self._ready()
        return await engine.run(self.plan, request)

    def run_sync(self, run_input: Mapping[str, object], **options: Any) -> Run:
        """`run` for code that is not async; takes the same options.

        Keeps one event loop for this workflow, so components stay open between calls. Raises UsageError inside a
        running event loop.
        """
        return self._sync(lambda: self.run(run_input, **options))

    async def run_many(
        self,
        requests: Iterable[RunRequest | Mapping[str, object]],
        *,
        concurrency: int = 16,
        on_run: Callable[[Run], None] | None = None,
    ) -> list[Run]:
        """Run all, at most `concurrency` at a time; returns the runs in the order of the requests.

        A failed run is an entry like any other and stops nothing. `on_run` is told of each as it ends. Raises
        InputError, before anything is run, when any input does not fit the contract.
        """
        if concurrency < 1:
            raise UsageError(f"concurrency is {concurrency}; it must be 1 or more")
        todo = [request if isinstance(request, RunRequest) else RunRequest(input=request) for request in requests]
        self._check_inputs(todo)
        engine = await self._ready()
        runs: list[Run | None] = [None] * len(todo)
        left = iter(enumerate(todo))

        async def work() -> None:
            for index, request in left:
                run = runs[index] = await engine.run(self.plan, request)
                if on_run is not None:
                    on_run(run)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(concurrency, len(todo))):
                    group.create_task(work())
        except BaseExceptionGroup as broken:  # the first says what a single run would have
            raise broken.exceptions[0] from None
        return [run for run in runs if run is not None]

    # resume and replay

    async def resume(self, run_id: str, *, owner: str = "resume") -> Run:
        """Go on with an interrupted or parked run; what was recorded is not done again.

        Raises ReplayError when it was pinned to other versions, StoreError when it is being executed; it is then left
        as it was.
        """
        found = await asyncio.to_thread(self.store.get, run_id)
        hold_to_manifest(found, self.plan.manifest)
        engine = await self._ready()
        claim = await asyncio.to_thread(self.store.claim, found.id, owner)
        history = History.resume(claim.run, {effect.path: effect for effect in claim.effects})
        return await engine.resume(self.plan, claim.run, history, claim.journal)

    async def settle(
        self, run_id: str, path: str, *, response: JsonObject | None, by: str = "", reason: str = ""
    ) -> EffectRecord:
        """Write down a person's word on a write in doubt: the response it gave, or None when it did not happen.

        Raises InputError when the component could not have answered so, ReplayError when the run was pinned to other
        versions, UsageError when no such write is in doubt. The run can be resumed afterwards.
        """
        found = await asyncio.to_thread(self.store.get, run_id)
        hold_to_manifest(found, self.plan.manifest)
        effects = {effect.path: effect for effect in await asyncio.to_thread(self.store.effects, found.id)}
        if response is not None and path in effects:
            self._hold_to_card(effects[StepPath(path)], response)
        settle = partial(self.store.settle_effect, found.id, path, response=response, by=by, reason=reason)
        return await asyncio.to_thread(settle)

    def _hold_to_card(self, effect: EffectRecord, response: JsonObject) -> None:
        component = self.plan.components.get(effect.component)
        violations = () if component is None else Check(component.card.output).violations(response)
        if violations:
            raise InputError(f"the answer given for '{effect.path}', a write of '{effect.component}',", violations)

    async def replay(
        self,
        run: Run,
        *,
        run_input: Mapping[str, object] | None = None,
        outputs: Mapping[str, Json] | None = None,
        dry_run: bool = False,
    ) -> Run:
        """Run a recorded run again under a change: this workflow's versions, another input, or given step outputs."""
        engine = await self._ready()
        request = RunRequest(
            input=decoded(run.input) if run_input is None else run_input,
            labels={**run.labels, "purpose": "replay"},
            tenant=run.tenant,
            seed=run.seed,
            reference=decoded(run.reference),
            resources=decoded(run.resources) or {},
        )
        return await engine.replay(self.plan, run, request, outputs=outputs or {}, dry_run=dry_run)

    # life

    async def open(self) -> None:
        """Open every component that holds something; done by the first run when not done before."""
        if self._is_open:
            return
        if self._opening is None:
            self._opening = asyncio.Lock()
        async with self._opening:
            if not self._is_open:
                await self._open_components()
                self._is_open = True

    async def _ready(self) -> Engine:
        """The engine, with everything open that it needs. The store's file is made here, not when a workflow loads."""
        await self.open()
        if self._engine is None:
            self._engine = Engine(self.store, input_key=await asyncio.to_thread(lambda: self.store.input_key))
        return self._engine

    async def _open_components(self) -> None:
        try:
            for name, component in self.plan.components.items():
                if isinstance(component, Opens):
                    await open_one(name, component)
                    self._opened.append((name, component))
        except BaseException:  # nobody closes a workflow that did not open: a server would stay
            await self._close_components()
            raise

    async def _close_components(self) -> None:
        """Close all that is open. Runs were answered already, so trouble is told and stops nothing."""
        for trouble in await close_each(self._newest_first(), CLOSE_GRACE_S):
            _log.warning("%s", trouble)

    def _newest_first(self) -> Iterator[tuple[str, Opens]]:
        """Takes what is open, one at a time: what is not reached stays to be closed later."""
        while self._opened:
            name, component = self._opened.pop()
            yield f"component '{name}'", component

    async def aclose(self) -> None:
        """Close the components and flush the store. The workflow may be used again.

        A component that does not close, within seconds and without an error, is told of in the log.
        """
        self._is_open = False
        self._opening = None
        await self._close_components()
        await asyncio.to_thread(self.store.flush)

    def close(self) -> None:
        """`aclose` for code that is not async."""
        self._sync(self.aclose)
        if self._runner is not None:
            self._runner.close()
            self._runner = None

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _sync(self, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if _in_event_loop():
            raise UsageError("an event loop is running here: use `await workflow.run(...)`")
        if self._runner is None:
            self._runner = asyncio.Runner()
        return self._runner.run(start())

    def _check_inputs(self, requests: Sequence[RunRequest]) -> None:
        check = self.plan.input_check
        if check is None:
            return
        for index, request in enumerate(requests):
            violations = check.violations(dict(request.input))  # type: ignore[arg-type]  # outside data, checked here
            if violations:
                raise InputError(f"input {index} of workflow '{self.name}'", violations)

    def _names(self) -> str:
        return ", ".join(self._catalog.names())


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
