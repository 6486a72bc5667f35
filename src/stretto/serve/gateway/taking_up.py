"""Runs that an earlier gateway opened over the same store: keys are remembered, and the open ones gone on with."""

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from stretto.engine.carried import note_lying
from stretto.runtime.asked import GATEWAY_KEY
from stretto.serve.gateway.models import Models
from stretto.serve.gateway.open_run import OpenRun
from stretto.serve.gateway.sealing import is_call
from stretto.serve.gateway.settings import GatewaySettings
from stretto.serve.refused import Refused, unavailable
from stretto.store.journal import RunJournal
from stretto.store.owner import LEASE_S
from stretto.store.sqlite import Store
from stretto.types.errors import StoreError, UsageError
from stretto.types.ids import RunId

REMEMBERED: Final = timedelta(days=1)
"""For how long a key is known after its run began: a call that comes late is refused, not made a run of its own."""

MOST_READ: Final = 100_000
"""Runs that are looked at when it starts, the newest; some 10 µs each."""

LOOK_S: Final = LEASE_S
"""Between two looks for runs whose process has gone: as long as another machine's may be silent."""

_log: Final = logging.getLogger(__name__)


class TakingUp:
    """Reads the store for what is this gateway's to go on with."""

    def __init__(self, store: Store, settings: GatewaySettings, models: Models, lost: Callable[[str], None]) -> None:
        self._store = store
        self._settings = settings
        self._models = models
        self._lost = lost

    async def remembered(self) -> list[tuple[str, RunId]]:
        """Key and id of every run of late, oldest first."""
        since_ns = time.time_ns() - int(REMEMBERED.total_seconds() * 1e9)
        name = self._settings.name
        listed = await asyncio.to_thread(self._store.list, workflow=name, since_ns=since_ns, limit=MOST_READ)
        return [(run.labels[GATEWAY_KEY], run.id) for run in reversed(listed) if GATEWAY_KEY in run.labels]

    async def left(self) -> list[tuple[str, RunId]]:
        """Key and id of every run that is open and that nobody is at work on."""
        pending = await asyncio.to_thread(self._store.pending)
        name = self._settings.name
        return [
            (run.labels[GATEWAY_KEY], run.id) for run in pending if run.workflow == name and GATEWAY_KEY in run.labels
        ]

    async def claim(self, key: str, run_id: RunId) -> OpenRun | None:
        """Go on with a run; None when it has ended, or is not there any more.

        Raises Refused while another process holds it, and when the store cannot be read.
        """
        try:
            if (await asyncio.to_thread(self._store.get, run_id)).status is not None:
                return None
            claim = await asyncio.to_thread(self._store.claim, run_id, self._settings.name)
        except UsageError:  # it was deleted
            return None
        except StoreError as error:
            raise unavailable(error, LEASE_S) from error
        note_lying(claim.run, time.time_ns())
        accepted: asyncio.Future[RunJournal] = asyncio.get_running_loop().create_future()
        accepted.set_result(claim.journal)
        run = OpenRun(key, claim.run, accepted, self._lost)
        for step in filter(is_call, claim.run.steps):
            run.pin(*self._models.pin(str(step.input_value.get("model") or "")))
        run.recall()
        _log.info("run %s is gone on with, after %d calls", run_id, run.calls)
        return run

    async def claim_left(self, claim: Callable[[str, RunId], "asyncio.Future[OpenRun | None]"]) -> None:
        """Take up every run that is left; what cannot be is told, and tried again at the next look."""
        for key, run_id in await self.left():
            try:
                await claim(key, run_id)
            except Refused as error:
                _log.warning("run %s is not taken up: %s", run_id, error.message)
