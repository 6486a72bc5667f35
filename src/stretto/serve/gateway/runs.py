"""The runs of a gateway by their keys: opened, gone on with, rewarded and ended."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from stretto.record.model import Annotation, Run
from stretto.runtime.asked import GATEWAY_KEY
from stretto.serve.gateway.asgi import Asked
from stretto.serve.gateway.ending import Ending
from stretto.serve.gateway.keys import id_in
from stretto.serve.gateway.metrics import GatewayMetrics
from stretto.serve.gateway.models import Models
from stretto.serve.gateway.open_run import OpenRun
from stretto.serve.gateway.open_runs import OpenRuns
from stretto.serve.gateway.opening import Opening, run_of
from stretto.serve.gateway.sealing import is_call
from stretto.serve.gateway.settings import GatewaySettings, OnStop
from stretto.serve.gateway.taking_up import LOOK_S, TakingUp
from stretto.serve.gateway.underway import BrokenOff, Underway
from stretto.serve.refused import Refused, unavailable
from stretto.store.journal import RunJournal
from stretto.store.sqlite import Store
from stretto.types.enums import Durability, RunStatus, StepStatus
from stretto.types.errors import StoreError, StrettoError, UsageError
from stretto.types.ids import RunId
from stretto.types.learning import Reward

MOST_REMEMBERED: Final = 1_000_000
"""Keys; some 200 bytes each."""

_LONGEST_WAIT_S: Final = 60.0
"""That anybody is told to wait for a run to end."""

_log: Final = logging.getLogger(__name__)


class Runs:
    """All runs, open or remembered. Used from one event loop."""

    def __init__(self, store: Store, settings: GatewaySettings, metrics: GatewayMetrics) -> None:
        self._store = store
        self._settings = settings
        self._metrics = metrics
        self.models = Models(settings)
        self._ids: OrderedDict[str, RunId] = OrderedDict()
        """Run by key, also of those that have ended."""
        self.open_ones = OpenRuns(settings.idle.total_seconds(), self._went_silent, metrics.open_runs)
        self._taking_up = TakingUp(store, settings, self.models, self._lost)
        self._claims: dict[str, asyncio.Future[OpenRun | None]] = {}
        """Runs that are being taken up."""
        self._tasks: set[asyncio.Task[None]] = set()
        """Work that nobody waits for."""
        self._looking: asyncio.Task[None] | None = None
        """The search for runs that others leave; None before it has started."""

    async def start(self) -> None:
        """Remember the keys of the store, and take up what an earlier gateway left open. Raises StoreError."""
        await asyncio.to_thread(lambda: self._store.input_key)
        for key, run_id in await self._taking_up.remembered():
            self._remember(key, run_id)
        await self._taking_up.claim_left(self._claimed)
        self._looking = asyncio.create_task(self._look_again())

    async def stop(self) -> None:
        """Break off what is under way, and seal the open runs or let go of them."""
        self.open_ones.stop()
        if self._looking is not None:
            self._looking.cancel()
        for run in self.open_ones:
            await self._settled(run, BrokenOff.STOPPING)
            if self._settings.on_stop is OnStop.END and not run.ending:
                run.ending = True
                await self._seal_quietly(run, _silent(run, "the gateway was stopped before anybody said how it ended"))
        await asyncio.gather(*self._tasks)
        if left := len(self.open_ones):
            _log.warning("open runs are left: %d; the next gateway over this store goes on with them", left)
        await asyncio.to_thread(self._store.close)

    # calls

    def knows(self, key: str) -> bool:
        """Whether a run of this key is open, or was until lately."""
        return key in self._ids

    async def for_call(self, key: str, first: Callable[[], Opening]) -> OpenRun:
        """The run that a call belongs to; opened when the key is new, or there is none. Raises Refused."""
        run = await self._found(key) if key else None
        if run is None and key and self.knows(key):
            raise _ended(key)
        if run is None:
            run = self.open(first())
        if run.ending:
            raise _ended(key)
        return run

    @contextmanager
    def calling(self, run: OpenRun, asked: Asked) -> Iterator[Underway]:
        """A call of the run, while it is under way: the run does not grow idle meanwhile."""
        underway = Underway(asked)
        run.underway.add(underway)
        try:
            yield underway
        finally:
            underway.end()
            run.underway.discard(underway)
            self.open_ones.used(run)

    def open(self, opening: Opening) -> OpenRun:
        """Open a run; its acceptance is committed beside what follows. Raises Refused when there are too many."""
        key, count = opening.key, len(self.open_ones)
        if key and self.knows(key):
            told = f"there is a run of key '{key}' already; choose another key"
            raise Refused(409, told, code="key_taken", param="key")
        if count >= self._settings.max_runs:
            told = f"{count} runs are open, the limit; end those that are done, or raise --max-runs"
            wait_s = min(_LONGEST_WAIT_S, self.open_ones.until_idle_s())
            raise Refused(429, told, code="too_many_runs", retry_after_s=wait_s)
        run = run_of(opening, self._settings, self.models, self._store.input_key)
        accepted = asyncio.ensure_future(self._store.open(run, Durability.STEP))
        opened = OpenRun(run.labels[GATEWAY_KEY], run, accepted, self._lost)
        self._add(opened)
        accepted.add_done_callback(lambda done: self._forget_failed(opened, done))
        return opened

    def ended_alone(self, run: OpenRun) -> None:
        """Seal a run that had no key, behind its one call: nobody can go on with it."""
        run.ending = True
        answered = any(step.status is StepStatus.OK for step in run.run.steps)
        self._behind(self._seal_quietly(run, Ending(status=RunStatus.OK if answered else RunStatus.FAILED)))

    # what is said of them

    def key_of(self, text: str) -> str:
        """The key that is meant by a key or by an open run's id."""
        run_id = id_in(text)
        return text if run_id is None else self.open_ones.key_of(run_id) or text

    async def end(self, key: str, ending: Ending) -> Run:
        """Seal a run, breaking off what is under way. Ending it again in the same way is no harm. Raises Refused."""
        run = await self._found(key)
        if run is None:
            return _as_ended(await self.sealed(key), ending)
        if run.ending:
            raise Refused(409, f"run '{key}' is being ended already", code="run_ended", param="key")
        run.ending = True
        await self._settled(run, BrokenOff.RUN_ENDED)
        await self._seal(run, ending)
        return run.run

    async def reward(self, key: str, reward: Reward) -> bool:
        """Take a reward in, kept on return; whether its run was open. Raises Refused for a run that is not there."""
        run = await self._found(key)
        if run is not None and not run.ending:
            run.reward(reward)
            self.open_ones.used(run)
            await self._kept(run.kept(self._store))
            return True
        note = Annotation(
            run_id=(await self.sealed(key)).id,
            name=f"reward.{reward.name}",
            value=reward.value,
            at_ns=time.time_ns(),
            by=self._settings.name,
            reason=reward.reason,
        )
        await self._kept(asyncio.to_thread(self._store.annotate, note))
        return False

    async def sealed(self, key: str) -> Run:
        """A run that is in the store, by its key or its id. Raises Refused when there is none."""
        run_id = self._ids.get(key) or id_in(key)
        try:
            if run_id is not None:
                return await asyncio.to_thread(self._store.get, run_id)
        except UsageError:  # it was deleted, or never was
            self._ids.pop(key, None)
        except StoreError as error:
            raise unavailable(error) from error
        told = f"there is no run of key '{key}'; `stretto runs list` shows those that are"
        raise Refused(404, told, code="run_not_found", param="key")

    # within

    async def _found(self, key: str) -> OpenRun | None:
        """The open run of a key, taken up when an earlier process opened it; None when there is none."""
        run = self.open_ones.get(key)
        if run is None and key in self._ids:
            run = await self._claimed(key, self._ids[key])
        return run

    def _claimed(self, key: str, run_id: RunId) -> "asyncio.Future[OpenRun | None]":
        """Take up a run, once however many ask."""
        if key not in self._claims:
            self._claims[key] = asyncio.ensure_future(self._claim(key, run_id))
            self._claims[key].add_done_callback(lambda _: self._claims.pop(key, None))
        return asyncio.shield(self._claims[key])

    async def _claim(self, key: str, run_id: RunId) -> OpenRun | None:
        run = self.open_ones.get(key) or await self._taking_up.claim(key, run_id)
        if run is not None and self.open_ones.get(key) is None:
            self._add(run)
        return run

    def _add(self, run: OpenRun) -> None:
        self.open_ones.add(run)
        self._remember(run.key, run.run.id)

    def _remember(self, key: str, run_id: RunId) -> None:
        self._ids[key] = run_id
        if len(self._ids) > MOST_REMEMBERED:
            self._ids.popitem(last=False)

    def _forget_failed(self, run: OpenRun, opened: "asyncio.Future[RunJournal]") -> None:
        """A run that the store did not take is none: the next call of its key opens another."""
        if opened.cancelled() or opened.exception() is not None:
            self.open_ones.drop(run)
            self._ids.pop(run.key, None)

    async def _settled(self, run: OpenRun, why: BrokenOff) -> None:
        """Break off the calls of a run, and wait until they are recorded."""
        under_way = list(run.underway)
        for call in under_way:
            call.break_off(why)
        for call in under_way:
            await call.done.wait()

    async def _seal(self, run: OpenRun, ending: Ending) -> None:
        try:
            await run.seal(ending)
        except StrettoError as error:
            self._lost(f"the end of run {run.run.id} is not recorded: {error}")
            raise unavailable(error) from error
        finally:
            self.open_ones.drop(run)
        self._metrics.ended(ending.status)

    async def _seal_quietly(self, run: OpenRun, ending: Ending) -> None:
        """Seal a run that nobody waits for; trouble is told and counted already."""
        with suppress(Refused):
            await self._seal(run, ending)

    def _went_silent(self, run: OpenRun) -> None:
        run.ending = True
        ending = _silent(run, f"nobody said how it ended; sealed after {self._settings.idle_text} without a call")
        self._behind(self._seal_quietly(run, ending))

    def _behind(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _look_again(self) -> None:
        """Take up what other gateways over this store leave when they end."""
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                await self._taking_up.claim_left(self._claimed)
            except StoreError as error:
                _log.warning("the store cannot be looked through: %s", error)

    async def _kept(self, work: Coroutine[Any, Any, None]) -> None:
        """Wait for a reward to be kept. Raises Refused when it cannot be."""
        try:
            await work
        except StrettoError as error:
            self._lost(f"a reward is not recorded: {error}")
            raise unavailable(error) from error

    def _lost(self, what: str) -> None:
        self._metrics.lost()
        _log.error("%s", what)


def _silent(run: OpenRun, why: str) -> Ending:
    """Of a run that nobody has ended: it is what its calls came to, and expired when none was answered."""
    answered = any(is_call(step) and step.status is StepStatus.OK for step in run.run.steps)
    return Ending(status=RunStatus.OK if answered else RunStatus.EXPIRED, warning=why)


def _as_ended(run: Run, ending: Ending) -> Run:
    """The run, when it ended so; raises Refused when it ended in another way."""
    if run.status is ending.status:
        return run
    told = f"the run has ended as {run.status}, and cannot end as {ending.status}"
    raise Refused(409, told, code="run_ended", param="status")


def _ended(key: str) -> Refused:
    told = f"run '{key}' has ended; a new run takes a new key"
    return Refused(409, told, code="run_ended", param="key")
