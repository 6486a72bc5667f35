"""Choices that a policy made where it is served, kept until somebody says what came of them."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from stretto.learn.usable import Recorded
from stretto.record.canonical import snapshot
from stretto.record.codec import decode_steps, encode_step
from stretto.record.model import Manifest, Run, StepRecord
from stretto.types.card import Card
from stretto.types.enums import RunStatus, StepStatus
from stretto.types.errors import StoreError
from stretto.types.ids import Digest, RunId, StepPath
from stretto.types.messages import Request, Response
from stretto.types.signals import Signal

MOST_RUNS: Final = 10_000
"""Whose choices are kept, and as many again that were judged, the oldest forgotten first: as many as a server remembers
effect keys."""

MOST_CHOICES: Final = 1_000
"""Of one run: longer ones go on, and are not learnt from."""

_UNTOLD: Final = Digest("0" * 64)
"""Digests of a run that is recorded elsewhere."""


class _Made:
    """What was chosen in one run, and how much of that was judged."""

    __slots__ = ("credits", "is_cut", "steps")

    def __init__(self) -> None:
        self.steps: dict[StepPath, StepRecord] = {}
        self.credits: dict[StepPath, float | None] = {}
        self.is_cut = False
        """It made more choices than are kept."""


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    """One run, as a line of a file."""

    run: RunId
    steps: msgspec.Raw
    credits: dict[StepPath, float | None]
    is_cut: bool


class Unjudged:
    """The choices of one component, by run and step."""

    def __init__(self, card: Card) -> None:
        self._card = card
        self._runs: OrderedDict[RunId, _Made] = OrderedDict()
        self._over: OrderedDict[RunId, None] = OrderedDict()

    def add(self, request: Request, response: Response) -> None:
        """Keep a choice; one that was made again, as for a retry, is the one that counts."""
        call = request.call
        made = self._runs.setdefault(call.run.id, _Made())
        self._runs.move_to_end(call.run.id)
        if len(made.steps) >= MOST_CHOICES and call.path not in made.steps:
            made.is_cut = True
            return
        made.steps[call.path] = StepRecord(
            path=call.path,
            status=StepStatus.OK,
            component=self._card.name,
            input=msgspec.Raw(snapshot(request.input)),
            output=msgspec.Raw(snapshot(response.output)),
            actions=response.actions,
        )
        while len(self._runs) > MOST_RUNS:
            self._runs.popitem(last=False)

    def lines(self) -> Iterator[bytes]:
        """All that is kept, a line for each run, for the next process to take up."""
        for run_id, made in self._runs.items():
            steps = msgspec.Raw(b"[%b]" % b",".join(map(encode_step, made.steps.values())))
            kept = _Kept(run=run_id, steps=steps, credits=made.credits, is_cut=made.is_cut)
            yield msgspec.json.encode(kept) + b"\n"

    def take_up(self, lines: Iterable[bytes]) -> None:
        """Add what a process before kept; what is known here stands. Raises StoreError for a line that is none."""
        for line in lines:
            try:
                kept = msgspec.json.decode(line, type=_Kept)
            except msgspec.MsgspecError as error:
                raise StoreError(str(error)) from error
            made = _Made()
            made.steps = {step.path: step for step in decode_steps(bytes(kept.steps))}
            made.credits, made.is_cut = kept.credits, kept.is_cut
            self._runs.setdefault(kept.run, made)

    def judged(self, signal: Signal) -> Recorded | str | None:
        """Take note of what came of a choice: the run to learn from, once all that was chosen in it is judged; None
        while some is not; in words why this signal teaches nothing."""
        run_id = signal.run.id
        made = self._runs.get(run_id)
        why = self._why_not(made, signal)
        if made is None or why:
            return why
        made.credits[signal.path] = signal.credit
        if len(made.credits) < len(made.steps):
            return None
        del self._runs[run_id]
        self._over[run_id] = None
        if len(self._over) > MOST_RUNS:
            self._over.popitem(last=False)
        if made.is_cut:
            return f"run {run_id} made more than {MOST_CHOICES:,} choices; expected fewer, which can be learnt from"
        return Recorded(run=self._run_of(made, signal))

    def _why_not(self, made: _Made | None, signal: Signal) -> str:
        run_id, path = signal.run.id, signal.path
        if made is None and run_id in self._over:
            return f"run {run_id} was judged before, and is learnt from once"
        if made is None or path not in made.steps:
            return f"no choice of run {run_id} at {path} is remembered here: it was long ago, or its process was killed"
        if signal.reward is None and signal.credit is None:
            return f"the reward of run {run_id} is unknown, which teaches nothing; judge it first"
        if not signal.run.labels.get("task"):
            return f"run {run_id} has no label `task`; runs of one task are compared with each other, so give it one"
        if not any(_is_drawn(step) for step in made.steps.values()):
            return f"nothing was drawn in run {run_id}: one alternative was available, or the likeliest is taken"
        return ""

    def _run_of(self, made: _Made, signal: Signal) -> Run:
        """As much of the caller's run as is known here. Where each choice was given its credit, their sum counts."""
        earned = [credit for credit in made.credits.values() if credit is not None]
        reward = sum(earned) if len(earned) == len(made.steps) else signal.reward
        info = signal.run
        return Run(
            id=info.id,
            workflow_run_id=info.workflow_run_id,
            manifest=Manifest(
                workflow=info.workflow,
                version=info.version,
                plan=_UNTOLD,
                components={self._card.name: f"{self._card.version}@{self._card.digest}"},
            ),
            input=msgspec.Raw(b"{}"),
            input_digest=_UNTOLD,
            started_at_ns=0,
            status=RunStatus.OK,
            labels=dict(info.labels),
            seed=info.seed,
            steps=list(made.steps.values()),
            reward=reward,
        )


def _is_drawn(step: StepRecord) -> bool:
    return any(not action.forced and action.propensity < 1.0 for action in step.actions)
