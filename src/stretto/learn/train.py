"""Training: roll out, read the runs back, update, keep; again, until all updates are made.

Learning knows no runtime: it is given a function that makes runs and one that reads them.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from stretto.components.policy import SoftmaxPolicy
from stretto.learn.arguments import check_policy
from stretto.learn.claim import claimed
from stretto.learn.options import TrainOptions
from stretto.learn.resuming import Code, check_changed_code, goes_on_with, held_already, no_changed_code
from stretto.learn.samples import collect
from stretto.learn.state import Progress, TrainFolder, advanced, taken_up
from stretto.learn.tasks import RolloutRequest, Task, enough_tasks, requests_of, tasks_digest
from stretto.learn.update import Learner, UpdateReport
from stretto.learn.usable import Recorded
from stretto.types.arguments import as_path
from stretto.types.errors import LearningError, UsageError
from stretto.types.ids import RunId

_log: Final = logging.getLogger(__name__)

Rollout = Callable[[SoftmaxPolicy, Sequence[RolloutRequest]], Awaitable[Sequence[RunId]]]
"""Makes the runs with this policy in the workflow; returns their ids in the order asked for, failed runs too."""

Read = Callable[[Sequence[RunId]], Awaitable[Sequence[Recorded]]]
"""Reads sealed runs and their annotations back from the store."""

OnUpdate = Callable[[UpdateReport], None]


class TrainResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a training came to."""

    policy: SoftmaxPolicy
    """With the last weights."""
    checkpoint: Path
    """Of the last weights."""
    reports: tuple[UpdateReport, ...]


async def train(
    policy: SoftmaxPolicy,
    tasks: Sequence[Task],
    *,
    rollout: Rollout,
    read: Read,
    folder: str | Path,
    options: TrainOptions | None = None,
    code: Code | None = None,
    resume: bool = False,
    changed_code: bool = False,
    on_update: OnUpdate | None = None,
) -> TrainResult:
    """Improve a policy from its own recorded runs.

    Everything is kept in `folder` after each update. With `resume` a training goes on from there and comes to the
    same numbers as one that was never interrupted, given runs that depend on their seeds only; `updates` may be
    raised. `code`, the workflow's as `Workflow.code` gives it, must then be the same; with `changed_code`
    it is another, which the log tells, and the report of the first update with it. Cancelling is safe at any moment:
    what was begun of an update is made again. An update whose runs were all lost to accidents is skipped, and told in
    the log; a fourth in a row raises LearningError, and `resume` tries again.

    Raises UsageError when the folder holds a training and `resume` is not set, holds another one or, with
    `resume`, none, when `changed_code` has no effect, or when another training is at work in it;
    PolicyMismatchError or LearningError when the runs cannot be learnt from.
    """
    check_policy(policy)
    check_changed_code(changed_code, resume=resume)
    options, folder = options or TrainOptions(), as_path("folder", folder)
    tasks = enough_tasks(tasks, options)
    if not policy.options.sample:
        raise UsageError(
            f"policy '{policy.name}' takes the likeliest alternative and explores nothing; set sample: true"
        )
    kept = TrainFolder(folder)
    if resume:
        kept.check_started()
    with claimed(folder):
        return await _trained(
            policy, tasks, rollout, read, kept, options, code, on_update, resume=resume, changed_code=changed_code
        )


async def _trained(
    policy: SoftmaxPolicy,
    tasks: Sequence[Task],
    rollout: Rollout,
    read: Read,
    kept: TrainFolder,
    options: TrainOptions,
    code: Code | None,
    on_update: OnUpdate | None,
    *,
    resume: bool,
    changed_code: bool,
) -> TrainResult:
    """Train in a folder that nobody else writes into."""
    start = policy.with_weights(str(kept.save_weights(policy.weights)))
    learner = Learner(start, options)
    progress = Progress(
        start=start.weights_digest,
        weights=start.weights_digest,
        tasks=tasks_digest(tasks),
        options=options,
        code=code,
    )
    if kept.begun:
        progress = _resumed(kept, learner, progress, resume=resume, changed_code=changed_code)
    elif changed_code:
        raise no_changed_code(kept.folder)
    while progress.update < options.updates:
        progress = await _one_update(policy, tasks, rollout, read, kept, learner, progress)
        if on_update is not None:
            on_update(progress.reports[-1])
    checkpoint = kept.checkpoint(progress.weights)
    return TrainResult(policy=policy.with_weights(str(checkpoint)), checkpoint=checkpoint, reports=progress.reports)


def _resumed(kept: TrainFolder, learner: Learner, fresh: Progress, *, resume: bool, changed_code: bool) -> Progress:
    """Set the learner to where the training in the folder stands."""
    if not resume:
        progress, _ = kept.load()
        raise held_already(kept.folder, progress.update)
    progress = taken_up(kept, learner, fresh, changed_code=changed_code)
    if progress.changed_code and progress.update < progress.options.updates:
        _log.warning("%s", goes_on_with(progress.changed_code, kept.folder, progress.update + 1))
    return progress


async def _one_update(
    policy: SoftmaxPolicy,
    tasks: Sequence[Task],
    rollout: Rollout,
    read: Read,
    kept: TrainFolder,
    learner: Learner,
    progress: Progress,
) -> Progress:
    number = progress.update + 1
    acting = policy.with_weights(str(kept.checkpoint(progress.weights)))
    ids = await rollout(acting, requests_of(tasks, progress.options, number))
    samples = collect(await _read_back(read, ids), acting, downgraded=progress.options.downgraded)
    return advanced(kept, learner, progress, samples)


async def _read_back(read: Read, ids: Sequence[RunId]) -> list[Recorded]:
    """The runs in the order asked for, whatever order the store gives: sums of floats depend on it."""
    recorded = {item.run.id: item for item in await read(ids)}
    lost = [run_id for run_id in ids if run_id not in recorded]
    if lost:
        raise LearningError(
            f"{len(lost)} of {len(ids)} runs are not in the store, the first is {lost[0]}; is it the same?"
        )
    return [recorded[run_id] for run_id in ids]
