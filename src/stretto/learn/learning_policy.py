"""A policy that learns where it is served: from how its choices were judged, and from nothing else."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import msgspec

from stretto.components.loop_lock import LoopLock
from stretto.components.policy import SoftmaxPolicy
from stretto.learn.arguments import check_policy
from stretto.learn.claim import claimed
from stretto.learn.judged import JudgedRuns
from stretto.learn.options import MOST_UPDATES, TrainOptions
from stretto.learn.samples import collect
from stretto.learn.state import Progress, TrainFolder, advanced, taken_up
from stretto.learn.tasks import tasks_digest
from stretto.learn.unjudged import Unjudged
from stretto.learn.update import Learner, UpdateReport
from stretto.learn.usable import Recorded
from stretto.types.arguments import as_path
from stretto.types.card import ANY_ACTION, Card
from stretto.types.enums import Effect
from stretto.types.errors import LearningError, StoreError, UsageError
from stretto.types.ids import digest_of
from stretto.types.messages import Request, Response
from stretto.types.signals import Signal

_log: Final = logging.getLogger(__name__)

UNJUDGED: Final = "unjudged.jsonl"
"""File of the choices that nobody had judged when the policy was closed."""

_WITHOUT_EFFECT: Final = {
    "downgraded": "whoever made the run knows what an accident downgraded, and sends no reward of it",
    "seed": "it is that of the minibatches, and there is one",
}
"""Options of a training that change nothing here, or not always, and why."""


class LearningPolicy:
    """Chooses as a policy does, and learns as `stretto train` does, an update from every ``tasks_per_update`` times
    ``group_size`` runs that were judged.

    Behind the protocol it is told by Reflect, in process by `stretto acp reflect`. A run counts when every choice in it
    is judged. What it learnt is kept in a folder with the runs that wait for the next update, and when it is closed
    what was chosen and not yet judged: whoever serves it again goes on. Its choices name the weights that made them,
    its card does not: a run is pinned to a policy that learns, wherever it stands.
    """

    def __init__(self, policy: SoftmaxPolicy, folder: str | Path, **options: Any) -> None:  # of TrainOptions, checked
        """Raises UsageError for an option that is unknown, out of range or without effect, and for a policy that
        explores nothing."""
        check_policy(policy)
        self._options = _read(policy.name, options)
        if not policy.options.sample:
            raise UsageError(
                f"policy '{policy.name}' takes the likeliest alternative and explores nothing; set sample: true"
            )
        self._policy = policy
        self._folder = as_path("folder", folder)
        self._card = _card_of(policy, self._options)
        self._unjudged = Unjudged(self._card)
        self._training: _Training | None = None
        self._turn = LoopLock()

    @property
    def card(self) -> Card:
        """Its digest covers options and the weights that it began with."""
        return self._card

    @property
    def acting(self) -> SoftmaxPolicy:
        """The policy with the weights that act; as it was given until it is opened."""
        return self._policy if self._training is None else self._training.acting

    @property
    def reports(self) -> tuple[UpdateReport, ...]:
        """Of every update that was made, also by those who served it before."""
        return () if self._training is None else self._training.progress.reports

    async def open(self) -> None:
        """Take up what its folder holds; nobody else may learn there meanwhile.

        Raises UsageError where another process does, or another training stands there; StoreError where it cannot be
        read.
        """
        await self._opened()

    async def close(self) -> None:
        """Leave the folder to others."""
        async with self._turn.held(self._words):
            training, self._training = self._training, None
            if training is not None:
                await asyncio.to_thread(training.close)

    async def __call__(self, request: Request) -> Response:
        """Choose, with the weights as they stand now."""
        training = self._training or await self._opened()
        response = await training.acting(request)
        self._unjudged.add(request, response)
        return response

    async def reflect(self, signal: Signal) -> bool | str:
        """Whether it learns from the signal; in words why not. The signal that makes an update whole waits for it."""
        training = self._training or await self._opened()
        made, asked = training.progress.update, self._options.updates
        if made >= asked:
            return f"it has made its {asked} updates, and learns no more; raise updates to let it"
        said = self._unjudged.judged(signal)
        if isinstance(said, str):
            return said
        if said is not None:
            training.judged.add(said)
        if not training.judged.batch:
            return True
        return await asyncio.shield(asyncio.ensure_future(self._learnt()))

    async def _learnt(self) -> bool | str:
        """Make the updates that there are runs for, beside the event loop, which goes on to choose by the weights of
        before."""
        async with self._turn.held(self._words):
            said: bool | str = True
            while (training := self._training) is not None and (batch := self._due(training)):
                try:
                    await asyncio.to_thread(training.learn, batch)
                except LearningError as error:
                    _log.warning("policy '%s' learnt nothing: %s", self._policy.name, error)
                    said = str(error)
                training.judged.take_out(batch, training.progress.update)
        return said

    def _due(self, training: "_Training") -> list[Recorded]:
        """The runs of the next update; none where they are too few, or it was the last."""
        return training.judged.batch if training.progress.update < self._options.updates else []

    async def _opened(self) -> "_Training":
        async with self._turn.held(self._words):
            if self._training is None:
                given = (self._policy, self._folder, self._options, self._unjudged)
                self._training = await asyncio.to_thread(_Training, *given)
            return self._training

    @property
    def _words(self) -> str:
        return f"policy '{self._policy.name}'"


class _Training:
    """What was learnt so far, in memory and in its folder."""

    def __init__(self, policy: SoftmaxPolicy, folder: Path, options: TrainOptions, unjudged: Unjudged) -> None:
        self._policy = policy
        self._unjudged = unjudged
        self._unjudged_file = folder / UNJUDGED
        self._kept = TrainFolder(folder)
        self._options = options
        with ExitStack() as stack:
            stack.enter_context(claimed(folder))
            self._restore()
            an_update = options.tasks_per_update * options.group_size
            self.judged: Final = JudgedRuns(folder, self.progress.update, an_update)
            self._take_up_choices()
            self._claim = stack.pop_all()

    def close(self) -> None:
        """Keep the choices that nobody has judged, and leave the folder. Raises StoreError when the disk refuses."""
        with self._claim:
            try:
                self._unjudged_file.write_bytes(b"".join(self._unjudged.lines()))
            except OSError as error:
                raise StoreError(f"cannot write {self._unjudged_file}: {error}") from error

    def _take_up_choices(self) -> None:
        """Those of the process before. They are not left there: after a crash, what was judged meanwhile would be
        learnt from twice."""
        try:
            if self._unjudged_file.exists():
                self._unjudged.take_up(self._unjudged_file.read_bytes().splitlines())
                self._unjudged_file.unlink()
        except OSError as error:
            raise StoreError(f"cannot read {self._unjudged_file}: {error}") from error
        except StoreError as error:
            raise StoreError(f"{self._unjudged_file} is damaged: {error}. Remove it; its choices are lost") from error

    def learn(self, batch: Sequence[Recorded]) -> None:
        """One update, of the runs in the order in which they began: a sum of floats depends on it."""
        ordered = sorted(batch, key=lambda each: each.run.id)
        try:
            samples = collect(ordered, self.acting, on_policy=False)
            self._stand(advanced(self._kept, self._learner, self.progress, samples))
        except BaseException:  # what the learner holds now was not kept
            self._restore()
            raise
        report = self.progress.reports[-1]
        told = (self._policy.name, report.update, report.runs, report.reward_mean, report.weights[:8])
        _log.info("policy '%s', update %d: %d runs, mean reward %.4f, weights %s", *told)

    def _restore(self) -> None:
        """Take up what the folder holds, or begin in it."""
        start = self._policy.with_weights(str(self._kept.save_weights(self._policy.weights)))
        self._learner = Learner(start, self._options)
        digest = start.weights_digest
        fresh = Progress(start=digest, weights=digest, tasks=tasks_digest(()), options=self._options)
        self._stand(taken_up(self._kept, self._learner, fresh) if self._kept.begun else fresh)

    def _stand(self, progress: Progress) -> None:
        self.progress = progress
        self.acting = self._policy.with_weights(str(self._kept.checkpoint(progress.weights)))
        _ = self.acting.weights.dense_FK  # laid out here, beside the event loop


def _read(name: str, options: dict[str, Any]) -> TrainOptions:
    try:
        read = msgspec.convert({"updates": MOST_UPDATES, **options}, TrainOptions)
    except msgspec.ValidationError as error:
        known = ", ".join(each for each in TrainOptions.__struct_fields__ if each != "downgraded")
        raise UsageError(f"policy '{name}': {error}. What can be said of its learning is {known}") from error
    for option, why in _WITHOUT_EFFECT.items():
        if option in options and not (option == "seed" and read.minibatches > 1):
            raise UsageError(f"policy '{name}': `{option}` has no effect here: {why}. Leave it out")
    return read


def _card_of(policy: SoftmaxPolicy, options: TrainOptions) -> Card:
    card = policy.card
    decisive = (card.digest.encode(), msgspec.json.encode(options, order="deterministic"))
    return msgspec.structs.replace(
        card,
        digest=digest_of(b"\0".join(decisive)),
        effects={ANY_ACTION: Effect.READ},  # what it answers hangs on what it was told before
        description=f"{card.description.removesuffix('.')} where it is served.",
    )
