"""A loaded workflow: run it, run many, resume and replay, from async code or from a script."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec

from stretto.engine.admission import Admitted
from stretto.engine.engine import Engine
from stretto.engine.exercise import Exercised
from stretto.engine.history import History, hold_to_manifest
from stretto.engine.protection_stats import ProtectionStats
from stretto.engine.request import RunRequest, hold_to_baggage, request_of
from stretto.engine.standby import Fallbacks
from stretto.engine.substitutes import encoded_answer
from stretto.plan.dispensable import dispensable
from stretto.plan.model import Plan
from stretto.probes.live import LiveResources
from stretto.record.model import EffectRecord, Run
from stretto.runtime.alone import Alone
from stretto.runtime.answering import answering_of
from stretto.runtime.asked import (
    admit_each,
    as_component,
    check_many,
    check_replay,
    check_request_type,
    check_resumable,
)
from stretto.runtime.by_name import ByName
from stretto.runtime.catalog import ComponentCatalog
from stretto.runtime.exercising import Exercising, exercise_each
from stretto.runtime.finding import find_run
from stretto.runtime.kin import Kin
from stretto.runtime.many import in_order
from stretto.runtime.opening import Opening
from stretto.runtime.probing import live_of
from stretto.runtime.tuning import Compiles, Effective, Given, Tuning
from stretto.runtime.under_way import UnderWay
from stretto.store.sqlite import Store
from stretto.types.arguments import check_text
from stretto.types.budget import BudgetSpec
from stretto.types.errors import UsageError
from stretto.types.ids import Digest
from stretto.types.json import Json, JsonObject
from stretto.types.protocols import Component
from stretto.types.setting import Setting

T = TypeVar("T")


class Workflow:
    """A compiled workflow with its components and its store.

    Components are opened at the first run and closed by `close`. Use it as a context manager, async or not.
    """

    def __init__(self, source: Compiles, catalog: ComponentCatalog, store: Store, *, kin: Kin | None = None) -> None:
        self._source = source
        self._catalog = catalog
        self.store = store
        self.plan = source.compile(catalog)
        self._kin = kin or Kin()
        self._live = live_of(self.plan, self._kin.protections)
        held: dict[str, object] = dict(self.plan.components)
        if self._live is not None:
            held["resources"] = self._live
        without = frozenset[str]() if catalog.is_per_run else dispensable(self.plan)  # nothing is to be learnt of those
        self._opening = Opening(held, self._kin.shared, without)
        self._answering = None if catalog.is_per_run else answering_of(self.plan, self._opening, self._kin.shared)
        self._own_loop = self._kin.join(self._opening)
        self._engine: Engine | None = None
        self._under_way = UnderWay()
        self._exercising = None if catalog.is_per_run else _exercising(self.plan, store)
        protections, standbys = self._kin.protections, self._kin.standbys
        heed = partial(_heed, self._live, self._exercising)
        self._tuning = Tuning(self.plan, catalog, source, store, protections, standbys, heed)

    @property
    def name(self) -> str:
        return self.plan.name

    @property
    def budget(self) -> BudgetSpec:
        """What a run may spend that is not given a budget of its own, as it holds now."""
        return self._tuning.tuned.of(self.plan).budget

    @property
    def protections(self) -> dict[str, ProtectionStats]:
        """What became of the calls of each protected component: of all runs of this workflow and of those made from it,
        in this process.

        Empty before the first run. Its `amplification` is attempts for each call: 1 when nothing is tried again.
        """
        return ByName(f"workflow '{self.name}' has so far counted no call of component", self._kin.protections.stats)

    @property
    def fallbacks(self) -> Fallbacks:
        """How often fallbacks answered, by why: that of the workflow, and those of its steps. Counted like
        `protections`, without the runs of `for_rollouts`, unless these are `wrapped`."""
        found = self._kin.standbys.stats(self.plan, self._kin.protections.streaks)
        what = f"workflow '{self.name}' has so far counted no fallback of component"
        return msgspec.structs.replace(found, components=ByName(what, found.components))

    def component(self, name: str) -> Component:
        """A component of this workflow, or of one inside it; UsageError names those there are."""
        check_text("the name of a component", name)
        known = self._known()
        found = known.find(name)
        if found is None:
            raise UsageError(f"workflow '{self.name}' has no component '{name}'; it has: {', '.join(known.names())}")
        return found

    def code(self) -> dict[str, Digest]:
        """Digests of the Python files that its components are made of, as they are now, by path from its folder: those
        that its files name, and what these import of their folder. Components put in place of others are not looked at.
        """
        return self._source.code()

    def with_component(self, component: Component | Callable[..., Any]) -> "Workflow":
        """This workflow with another component in place of its namesake, compiled again.

        Shares the store and the other components: what both have open stays open until both are closed.
        """
        other = as_component(component)
        self.component(other.card.name)
        return Workflow(self._source, self._catalog.replaced(other), self.store, kin=self._kin)

    def for_rollouts(self) -> "Workflow":
        """This workflow for runs to learn from or to measure: each has memories of its own, which begin empty.

        Nothing of them reaches what serving remembers, and runs do not see each other. Shares what `with_component`
        shares.
        """
        return Workflow(self._source, self._catalog.per_run(), self.store, kin=self._kin)

    def wrapped(self, wrap: Callable[[Component], Component], *, alone: bool = False) -> "Workflow":
        """This workflow with something between the engine and every component, compiled again: faults, or counters.

        `wrap` must give the same for the same component each time. Shares the store, and nothing that is open; what
        protects components (quotas, breakers, bulkheads) and what is known of failures in a row begin anew. With
        `alone` there are none of these: no run changes anything for another.
        """
        source = Alone(self._source) if alone else self._source
        return Workflow(source, self._catalog.wrapped(wrap), self.store)

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
            labels={} if labels is None else labels,
            tenant=tenant,
            seed=seed,
            reference=reference,
            memory=memory,
            resources={} if resources is None else resources,
            budget=budget,
            baggage={} if baggage is None else baggage,
        )
        return await self.run_request(request)

    async def run_request(self, request: RunRequest) -> Run:
        """Run once, with everything that a run can be asked for."""
        check_request_type(request)
        with self._under_way.one():
            engine = await self._ready_to_answer()
            run = await engine.run(self.plan, request)
        if self._exercising is not None:
            self._exercising.after(run)
        return run

    def run_sync(self, run_input: Mapping[str, object], **options: Any) -> Run:
        """`run` for code that is not async; takes the same options.

        Keeps one event loop for this workflow and those made from it that share what is open, so components stay open
        between calls. Raises UsageError inside a running event loop, and while another thread is in such a call of one
        of them.
        """
        return self._own_loop.run(lambda: self._run_caught_up(run_input, options))

    async def _run_caught_up(self, run_input: Mapping[str, object], options: Mapping[str, Any]) -> Run:
        """Run, after a reading of the probes that slept between two calls with the event loop."""
        if self._live is not None and self._opening.open_in is asyncio.get_running_loop():
            await self._live.catch_up()
        run = await self.run(run_input, **options)
        if self._exercising is not None:  # between two calls nothing goes on in this loop
            await self._exercising.close()
        return run

    async def run_many(
        self,
        requests: Iterable[RunRequest | Mapping[str, object]],
        *,
        concurrency: int = 16,
        on_run: Callable[[Run], None] | None = None,
    ) -> list[Run]:
        """Run all, at most `concurrency` at a time; returns the runs in the order of the requests.

        A failed run is an entry like any other and stops nothing. `on_run` is told of each as it ends. Raises
        InputError or UsageError, before anything is run, when any request cannot be run.
        """
        check_many(concurrency, on_run)
        if self._engine is None:  # what the input is held to may have been changed
            await asyncio.to_thread(self._tuning.refresh)
        todo = admit_each(self._tuning.tuned.of(self.plan), requests)
        with self._under_way.one():
            return await self._run_each(await self._ready_to_answer(), todo, concurrency, on_run)

    async def _run_each(
        self, engine: Engine, todo: list[Admitted], concurrency: int, on_run: Callable[[Run], None] | None
    ) -> list[Run]:
        make = partial(engine.run_admitted, self.plan)
        exercising = self._exercising

        async def make_and_tell(admitted: Admitted) -> Run:
            run = await make(admitted)
            if exercising is not None:
                exercising.after(run)
            if on_run is not None:
                on_run(run)
            return run

        is_told = on_run is not None or exercising is not None
        return await in_order(make_and_tell if is_told else make, todo, concurrency=concurrency)

    # resume and replay

    async def resume(self, run_id: str, *, owner: str = "resume", baggage: Mapping[str, str] | None = None) -> Run:
        """Go on with an interrupted or parked run; what was recorded is not done again.

        It has its own budget, of which what was spent stays spent, but for the time. Its baggage was not recorded and
        must be given again. Raises ReplayError when it was pinned to other versions, UsageError when baggage is
        missing or a training made it, StoreError when it is being executed; it is then left as it was.
        """
        again = {} if baggage is None else baggage
        found = await asyncio.to_thread(find_run, self.store, run_id)
        check_resumable(found)
        hold_to_manifest(found, self.plan.manifest)
        hold_to_baggage(found, again)
        with self._under_way.one():
            engine = await self._ready()
            claim = await asyncio.to_thread(self.store.claim, found.id, owner)
            history = History.resume(claim.run, {effect.path: effect for effect in claim.effects})
            return await engine.resume(self.plan, claim.run, history, claim.journal, baggage=again)

    async def settle(
        self, run_id: str, path: str, *, response: JsonObject | None, by: str = "", reason: str = ""
    ) -> EffectRecord:
        """Write down a person's word on a write in doubt: the response it gave, or None when it did not happen.

        Raises InputError when the component could not have answered so, ReplayError when the run was pinned to other
        versions, UsageError when no such write is in doubt. The run can be resumed afterwards.
        """
        found = await asyncio.to_thread(find_run, self.store, run_id)
        hold_to_manifest(found, self.plan.manifest)
        effects = await asyncio.to_thread(self.store.effects, found.id)
        for effect in effects:
            if effect.path == path and response is not None:
                whose = f"the answer given for '{path}', a write of '{effect.component}',"
                encoded_answer(self.plan.components.get(effect.component), whose, response)
        settle = partial(self.store.settle_effect, found.id, path, response=response, by=by, reason=reason)
        return await asyncio.to_thread(settle)

    async def replay(
        self,
        run: Run | str,
        *,
        run_input: Mapping[str, object] | None = None,
        outputs: Mapping[str, Json] | None = None,
        dry_run: bool = False,
        baggage: Mapping[str, str] | None = None,
        keep_in: Store | None = None,
        is_closed: bool = False,
    ) -> Run:
        """Run a recorded run again under a change: this workflow's versions, another input, or given step outputs.

        The run may be given by its id; ``last`` is the newest. The new one is kept in the workflow's store, or in
        `keep_in`: then it shares with no other run what protects components. One that `is_closed` asks nothing that
        reads the world: it ends where the record does not hold the answer. Raises, before anything is run,
        ReplayError when `outputs` names a step that the run does not have, InputError when an output is none that the
        step's component could have given.
        """
        check_replay(run, outputs, dry_run)
        if isinstance(run, str):
            run = await asyncio.to_thread(find_run, self.store, run)
        recorded = request_of(run, {} if baggage is None else baggage)
        request = msgspec.structs.replace(
            recorded,
            input=recorded.input if run_input is None else run_input,
            labels={**run.labels, "purpose": "replay"},
            parent="",
            traceparent="",
            tracestate="",
        )
        with self._under_way.one():
            engine = await self._ready()
            if keep_in is not None:
                engine = self._engine_over(keep_in, alone=True)
            return await engine.replay(
                self.plan, run, request, outputs=outputs or {}, dry_run=dry_run, is_closed=is_closed
            )

    async def exercise_fallback(self, runs: Iterable[Run]) -> list[Exercised]:
        """Ask this workflow's fallback what it would have answered for recorded runs; results in their order.

        What it would have answered is held to the contract and to what is expected of it, and kept as annotations.
        Raises UsageError when the workflow has no fallback.
        """
        business = self.plan.business
        if business is None:
            raise UsageError(
                f"workflow '{self.name}' has no fallback to exercise; `fallback: {{component: ...}}` at the top of its "
                "file gives it one"
            )
        await self._ready_to_answer()
        business = self._tuning.tuned.of(self.plan).business or business
        return await exercise_each(self.plan, business, list(runs), self.store, time.time_ns())

    # settings

    async def set(self, key: str, value: Given, *, by: str = "", reason: str = "") -> Setting:
        """Give a figure of operations another value, from the next call on, here and in every process on this store.

        `key` is one of `settings`, ``steps.planner.timeout``; `value` is as in the file, or a timedelta, or a list of
        texts; None takes it back. Who and why is kept. Raises UsageError for a key that is none, SpecError when the
        value does not fit the file; then nothing was changed.
        """
        setting = await asyncio.to_thread(self._tuning.change, key, value, by, reason)
        await asyncio.to_thread(self._kin.following.look)
        return setting

    @property
    def settings(self) -> dict[str, Effective]:
        """Every figure that `set` can change, by key, as it holds now, and where it comes from. Reads the store."""
        return ByName(f"workflow '{self.name}' has no setting", self._tuning.effective())

    # life

    async def open(self) -> None:
        """Open every component that holds something; done by the first run when not done before.

        What an event loop left open that has ended is opened again. Raises UsageError when they are open in one that
        has not, ComponentError when one does not open, which must be done after 60 s unless the component says more.
        One need not where a fallback answers for it in each step that calls it; with a fallback of the workflow only
        that one's own component must. They answer until it is open, which the log tells.
        """
        if self._answering is None:
            await self._opening.open()
        else:
            await self._answering.open()
        self._kin.following.join(self._tuning)

    async def resources(self) -> JsonObject:
        """What the probes tell now, with ages and what is stale; components are not opened.

        Empty for a workflow that declares no probes. Raises UsageError while another event loop has them open.
        """
        async with self.probing() as read:
            return read()

    @asynccontextmanager
    async def probing(self) -> AsyncIterator[Callable[[], JsonObject]]:
        """Let the probes read in the background meanwhile; gives what tells what `resources` does, at once.

        Raises as `resources`.
        """
        live = self._live
        if live is None:
            yield dict
            return
        await asyncio.to_thread(self._tuning.refresh)
        share = await self._kin.shared.open("resources", live)
        try:
            yield lambda: live.read({})
        finally:
            await share.close()

    def blocking(self, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do what `start` makes in the event loop of `run_sync`, to its end; raises as that."""
        return self._own_loop.run(start)

    async def engine(self) -> Engine:
        """The engine, with everything open that it needs: for whoever executes the plan otherwise than `run` does."""
        return await self._ready()

    async def _ready_to_answer(self) -> Engine:
        """The engine, for runs that a fallback may answer when not everything is open."""
        if self._answering is None:
            return await self._ready()
        if self._opening.open_in is not asyncio.get_running_loop() and not self._answering.has_tried:
            await self.open()
        return await self._made_engine()

    async def _ready(self) -> Engine:
        """The engine, with everything open that it needs."""
        if self._opening.open_in is not asyncio.get_running_loop():  # in every run's way: no more than this
            await self._opening.open()
            self._kin.following.join(self._tuning)
        return await self._made_engine()

    async def _made_engine(self) -> Engine:
        """The engine. The store's file is made here, not when a workflow loads."""
        if self._engine is None:
            await asyncio.to_thread(lambda: self.store.input_key)
            await asyncio.to_thread(self._tuning.refresh)
            self._engine = self._engine_over(self.store)
        return self._engine

    def _engine_over(self, store: Store, *, alone: bool = False) -> Engine:
        """An engine that keeps its runs in a store; `alone` shares with no other what protects components."""
        is_measured = self._catalog.is_per_run and self._catalog.wrap is None
        engine = Engine(
            store,
            input_key=self.store.input_key,
            protections=None if alone else self._kin.protections,
            standbys=None if alone or is_measured else self._kin.standbys,
            tuned=self._tuning.tuned,
        )
        engine.live = self._live
        engine.shut = self._opening.shut.by_name
        engine.opens = None if self._answering is None else self._answering.opens
        return engine

    async def aclose(self) -> None:
        """Close the components and flush the store. The workflow may be used again.

        Waits for an `open` under way, and up to 10 s for runs that are. A component that does not close, within
        seconds and without an error, is told of in the log. Raises UsageError when they are open in another event loop
        that has not ended.
        """
        await self._under_way.end(self.name)
        if self._exercising is not None:
            await self._exercising.close()
        self._kin.following.leave(self._tuning)
        if self._answering is not None:
            await self._answering.close()
        await self._opening.close()
        await asyncio.to_thread(self.store.flush)

    def close(self) -> None:
        """`aclose` for code that is not async. What is left open is closed when the program ends."""
        self._own_loop.finish(self._close_here)

    async def _close_here(self) -> bool:
        """Whether nobody needs this event loop any more: another workflow may have something open in it."""
        await self.aclose()
        return not self._kin.shared.any_open_here

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

    def _known(self) -> ComponentCatalog:
        """Every component that it declares, and those that its sub-workflows call and bring themselves."""
        return ComponentCatalog({**{each.card.name: each for each in self._catalog}, **self.plan.components})


def _heed(live: LiveResources | None, exercising: Exercising | None, plan: Plan) -> None:
    """Let what goes on beside a workflow's runs go by the figures of a plan; from any thread."""
    if live is not None and plan.resources is not None:
        live.retune(plan.resources)
    if exercising is not None:
        exercising.retune(plan)


def _exercising(plan: Plan, store: Store) -> Exercising | None:
    business = plan.business
    if business is None or business.exercise is None:
        return None
    return Exercising(plan, business, business.exercise, store)
