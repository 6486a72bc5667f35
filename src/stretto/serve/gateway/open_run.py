"""One run that is open: what was recorded of it, what is under way, and its way into the store."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

import msgspec

from stretto.record.canonical import snapshot
from stretto.record.conversation import request_at
from stretto.record.model import Run, StepRecord
from stretto.serve.gateway.ending import Ending
from stretto.serve.gateway.said import Messages, Said, prompt_of
from stretto.serve.gateway.sealing import conclude, is_call
from stretto.serve.gateway.steps import Answered, long_fields
from stretto.serve.gateway.turns import Place, Turn, Turns
from stretto.serve.gateway.underway import Underway
from stretto.serve.refused import Refused
from stretto.store.journal import RunJournal
from stretto.store.sqlite import Store
from stretto.types.enums import Reason, StepStatus
from stretto.types.errors import StoreError, StrettoError
from stretto.types.ids import StepPath
from stretto.types.learning import Reward

REWARDS: Final = "$reward"
"""Where rewards stand that come while the run is open, which no agent may be called: ``$reward-1``."""


class OpenRun:
    """A run that calls are added to. Its acceptance is committed beside the first of them, and does not hold it up."""

    def __init__(self, key: str, run: Run, opening: asyncio.Future[RunJournal], lost: Callable[[str], None]) -> None:
        """`lost` is told what could not be recorded."""
        self.key = key
        self.run = run
        self.turns = Turns()
        self.underway: set[Underway] = set()
        self.used_at = _now()
        """When its last call ended, in event-loop time."""
        self.ending = False
        """Nothing more is taken."""
        self._began_s = time.perf_counter() - (time.time_ns() - run.started_at_ns) / 1e9
        self._journal: RunJournal | None = None
        self._has_failed = False
        """It could not be opened."""
        self._waiting: list[StepRecord] = []
        """Recorded before the acceptance was committed."""
        self._lost = lost
        self._rewards = 0
        self._in_vain: dict[bytes, list[StepRecord]] = {}
        """Failed calls by what they asked, until that is answered."""
        self._opening = opening
        opening.add_done_callback(self._opened)

    @property
    def calls(self) -> int:
        """Recorded so far, failed ones too."""
        return sum(map(is_call, self.run.steps))

    def ms(self) -> float:
        """Milliseconds since it began."""
        return (time.perf_counter() - self._began_s) * 1000.0

    async def opened(self) -> None:
        """Return when its acceptance is committed. Raises StoreError when that failed."""
        await asyncio.shield(self._opening)
        self._opened(self._opening)  # when it was committed just now, its callback has not run yet

    async def kept(self, store: Store) -> None:
        """Return when everything recorded so far is committed. Raises StoreError when some of it cannot be."""
        await self.opened()
        await asyncio.to_thread(store.flush)
        if self._journal is not None and self._journal.refused is not None:
            raise self._journal.refused

    def record(self, step: StepRecord) -> None:
        """Write a step behind, within milliseconds; what the store refuses is counted, and holds nobody up."""
        self.run.steps.append(step)
        if self._journal is not None:
            self._write(self._journal, step)
        elif self._has_failed:
            self._tell(step, "its run could not be opened")
        else:
            self._waiting.append(step)

    def answered(self, place: Place, said: Said, answered: Answered) -> None:
        """Record a call that was answered; those in which the same was asked in vain cost the run nothing."""
        self.turns.answered(place, said, answered.ends)
        self._in_vain.pop(said.whole, None)
        self.record(answered.step)

    def failed(self, place: Place, said: Said, step: StepRecord, reason: Reason | None) -> None:
        """Record a call that failed. Why, when it is not known from the outset, is said when the run ends: by then the
        same was asked again and answered, or it was not."""
        self.turns.failed(place, said)
        step.reason = reason
        if reason is None:
            self._in_vain.setdefault(said.whole, []).append(step)
        self.record(step)

    def lost(self, what: str) -> None:
        """Count and tell what could not be recorded."""
        self._lost(what)

    def reward(self, reward: Reward) -> None:
        """Take a reward in: a later one of the same name takes the place of an earlier."""
        path, now = StepPath(f"{REWARDS}-{self._rewards + 1}"), self.ms()
        self._rewards += 1
        given = {"name": reward.name, "value": reward.value, "reason": reward.reason}
        self.record(
            StepRecord(
                path=path,
                status=StepStatus.OK,
                started_ms=now,
                ended_ms=now,
                input=msgspec.Raw(snapshot(given)),
                output=msgspec.Raw(b"{}"),
                rewards=(reward,),
            )
        )

    def pin(self, component: str, version: str) -> None:
        """Add what was called to the manifest."""
        components = self.run.manifest.components
        if component not in components:
            self.run.manifest = msgspec.structs.replace(
                self.run.manifest, components={**components, component: version}
            )

    async def seal(self, ending: Ending) -> None:
        """End it, with what it comes to. Raises StoreError when that cannot be kept."""
        await self.opened()
        if self._journal is None:
            raise StoreError(f"run {self.run.id} could not be opened, so it cannot be sealed")
        in_vain = [step for steps in self._in_vain.values() for step in steps]
        conclude(self.run, ending, in_vain, round(self.ms(), 3))
        await self._journal.seal(self.run)

    def recall(self) -> None:
        """Take up the conversations of a run that an earlier process recorded."""
        for step in self.run.steps:
            if is_call(step):
                with suppress(StrettoError, Refused, LookupError, TypeError, ValueError):  # nobody goes on with it then
                    self._stand_again(step)
            self._rewards += bool(step.rewards)

    def _stand_again(self, step: StepRecord) -> None:
        document = request_at(self.run, step.path)
        said = _said(document)
        place = self.turns.stood(step.path)
        if step.status is not StepStatus.OK:
            self.turns.failed(place, said)
            if step.reason is None:
                self._in_vain.setdefault(said.whole, []).append(step)
            return
        self._in_vain.pop(said.whole, None)
        output = step.output_value
        outputs = output.get("choices", [output])
        fields = long_fields(document)
        ends = [
            (said.with_answer(each["message"]), Turn(place, said, fields, (call.prompt_ids, call.completion_ids)))
            for each, call in zip(outputs, step.model_calls, strict=True)
        ]
        self.turns.answered(place, said, ends)

    def _opened(self, opening: asyncio.Future[RunJournal]) -> None:
        """Hand over what was recorded meanwhile; once."""
        if self._journal is not None or self._has_failed:
            return
        waiting, self._waiting = self._waiting, []
        error = None if opening.cancelled() else opening.exception()
        if opening.cancelled() or error is not None:
            self._has_failed = True
            self._lost(f"run {self.run.id} could not be opened: {error or 'the gateway was stopped'}")
            for step in waiting:
                self._tell(step, "its run could not be opened")
            return
        self._journal = opening.result()
        for step in waiting:
            self._write(self._journal, step)

    def _write(self, journal: RunJournal, step: StepRecord) -> None:
        try:
            journal.step(step)
        except StrettoError as error:
            self._tell(step, str(error))

    def _tell(self, step: StepRecord, why: str) -> None:
        self._lost(f"step '{step.path}' of run {self.run.id} is not recorded: {why}")


def _said(document: Mapping[str, object]) -> Said:
    given = msgspec.to_builtins(document)
    return Messages(given["messages"]) if "messages" in given else prompt_of(given.get("prompt"))


def _now() -> float:
    return asyncio.get_running_loop().time()
