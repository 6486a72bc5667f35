"""Training on runs that the engine made and recorded: the same record that serving leaves."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from stretto.components.policy import SoftmaxPolicy
from stretto.engine.engine import Engine
from stretto.engine.request import RunRequest
from stretto.learn.options import TrainOptions
from stretto.learn.tasks import RolloutRequest, Task
from stretto.learn.train import TrainResult, train
from stretto.learn.usable import Recorded
from stretto.plan.model import FIRST_FREE_SLOT, Plan
from stretto.record.codec import decode_run, encode_run
from stretto.record.model import Manifest
from stretto.types.ids import RunId
from stretto.types.learning import Reward
from stretto.types.messages import Request, Response
from tests.unit.engine.plans import ZERO, Ledger, Probe, call, linear, plan, read

INPUT_SLOT = 0
COLOURS = ("red", "green", "blue")
TASKS = [
    Task(name=f"t{i}", input={"words": f"please paint it {COLOURS[i % 3]}"}, reference=COLOURS[i % 3]) for i in range(6)
]
OPTIONS = TrainOptions(updates=10, tasks_per_update=6, group_size=4)


async def judge(request: Request) -> Response:
    right = request.input["action"] == request.call.run.reference
    return Response(output={}, rewards=(Reward(name="right", value=float(right)),))


def workflow(policy: SoftmaxPolicy) -> Plan:
    """Paint as the customer says, then judge."""
    painter = call(cast("Probe", policy), FIRST_FREE_SLOT, {"words": read(INPUT_SLOT, "words")})
    reward = Probe("judge", judge)
    judged = call(reward, FIRST_FREE_SLOT + 1, {"action": read(FIRST_FREE_SLOT, "action")}, sees_reference=True)
    manifest = Manifest(
        workflow="paint", version="1.0.0", plan=ZERO, components={"painter": f"1.0.0@{policy.card.digest}"}
    )
    return plan(linear(painter, judged), manifest=manifest)


class Workplace:
    """Engine and store of one training; the store keeps bytes, as a real one does."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.kept: dict[RunId, bytes] = {}

    async def rollout(self, policy: SoftmaxPolicy, requests: Sequence[RolloutRequest]) -> list[RunId]:
        engine, compiled = Engine(self.ledger), workflow(policy)
        runs = await asyncio.gather(*(engine.run(compiled, _request(request)) for request in requests))
        self.kept |= {run.id: encode_run(run) for run in runs}
        return [run.id for run in runs]

    async def read(self, ids: Sequence[RunId]) -> list[Recorded]:
        return [Recorded(run=decode_run(self.kept[run_id])) for run_id in ids]


def _request(request: RolloutRequest) -> RunRequest:
    task = request.task
    return RunRequest(input=cast("Any", task.input), reference=task.reference, seed=request.seed, labels=request.labels)


async def go(folder: Path, options: TrainOptions = OPTIONS, *, resume: bool = False) -> TrainResult:
    painter = SoftmaxPolicy("painter", COLOURS, text_scale=1.0)
    place = Workplace()
    return await train(
        painter, TASKS, rollout=place.rollout, read=place.read, folder=folder, options=options, resume=resume
    )


async def test_a_workflow_learns_from_its_own_runs_and_from_nothing_else(tmp_path: Path) -> None:
    result = await go(tmp_path)
    assert result.reports[0].reward_mean < 0.6
    place, greedy = Workplace(), result.policy.with_sampling(False)
    ids = await place.rollout(greedy, [RolloutRequest(task=task, seed=0, labels={"task": task.name}) for task in TASKS])
    assert np.mean([item.run.reward for item in await place.read(ids)]) >= 0.95


async def test_a_stopped_training_resumes_bit_for_bit(tmp_path: Path) -> None:
    straight = await go(tmp_path / "straight")
    await go(tmp_path / "stopped", TrainOptions(updates=4, tasks_per_update=6, group_size=4))
    resumed = await go(tmp_path / "stopped", resume=True)
    assert resumed.reports == straight.reports
    assert resumed.checkpoint.read_bytes() == straight.checkpoint.read_bytes()
