"""Training end to end on toy worlds: it learns, it is repeatable, and it resumes as if never stopped."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from stretto.components.policy import SoftmaxPolicy
from stretto.learn.advantage import Scale
from stretto.learn.claim import claimed
from stretto.learn.options import TrainOptions
from stretto.learn.state import TrainFolder
from stretto.learn.tasks import RolloutRequest, Task
from stretto.learn.train import TrainResult, train
from stretto.learn.update import UpdateReport
from stretto.learn.usable import Exclusion, Recorded
from stretto.types.enums import Reason, RunStatus
from stretto.types.errors import LearningError, PolicyMismatchError, StoreError, UsageError
from stretto.types.ids import RunId, digest_of
from stretto.types.json import JsonObject
from tests.unit.learn.worlds import World

INTENTS = ("track", "cancel", "refund", "exchange")
SAYINGS = ("where is my parcel", "stop the order", "money back please", "swap it for a blue one")
TASKS = [
    Task(name=f"t{i}", input={"words": f"{SAYINGS[i % 4]} number {i}", "state": {"vip": i % 3 == 0}}) for i in range(16)
]


def right(task: Task, chosen: list[str]) -> float:
    """1 when every choice is the one that the words ask for."""
    want = INTENTS[int(task.name[1:]) % 4]
    return sum(name == want for name in chosen) / len(chosen)


def policy_of(**options: Any) -> SoftmaxPolicy:
    return SoftmaxPolicy("planner", INTENTS, **{"text_scale": 1.0, **options})


OPTIONS = TrainOptions(updates=12, tasks_per_update=8, group_size=4)


async def go(folder: Path, world: World, options: TrainOptions = OPTIONS, **more: Any) -> TrainResult:
    return await train(
        more.pop("policy", policy_of()),
        more.pop("tasks", TASKS),
        rollout=world.rollout,
        read=world.read,
        folder=folder,
        options=options,
        **more,
    )


async def optimum_share(policy: SoftmaxPolicy, world: World, tasks: Sequence[Task] = TASKS) -> float:
    """Mean reward of the likeliest choices, of 1."""
    greedy = policy.with_sampling(False)
    requests = [RolloutRequest(task=task, seed=0, labels={"task": task.name}) for task in tasks]
    ids = await world.rollout(greedy, requests)
    return float(np.mean([world.runs[i].reward for i in ids]))


@pytest.mark.parametrize("advantage", list(Scale))
async def test_a_contextual_bandit_is_learnt_to_95_percent_of_its_optimum(tmp_path: Path, advantage: Scale) -> None:
    world = World(right)
    options = msgspec.structs.replace(OPTIONS, advantage=advantage)
    result = await go(tmp_path, world, options)
    assert await optimum_share(policy_of(), world) <= 0.5
    assert await optimum_share(result.policy, world) >= 0.95
    assert result.reports[-1].reward_mean > 0.75 > 0.4 > result.reports[0].reward_mean


async def test_what_is_learnt_of_a_fact_holds_for_alternatives_that_were_never_right(tmp_path: Path) -> None:
    def asked(i: int) -> Task:
        about: JsonObject = {INTENTS[j]: {"asked": j == i % 4} for j in range(4)}
        return Task(name=f"t{i}", input={"about": about})

    policy = SoftmaxPolicy("planner", INTENTS, text=(), state=(), about="about")
    result = await go(tmp_path, World(right), policy=policy, tasks=[asked(i) for i in range(16) if i % 4 < 2])
    world = World(right)
    assert await optimum_share(result.policy, world, [asked(2), asked(3)]) == 1.0
    assert {task.task.name for task in world.asked} == {"t2", "t3"}


async def test_a_stopped_training_with_facts_about_alternatives_resumes_as_if_never_stopped(tmp_path: Path) -> None:
    policy = policy_of(about="about")
    tasks = [
        msgspec.structs.replace(t, input={**t.input, "about": {INTENTS[i % 4]: i % 3}}) for i, t in enumerate(TASKS)
    ]
    more: dict[str, Any] = {"policy": policy, "tasks": tasks}
    short = msgspec.structs.replace(OPTIONS, updates=3)
    straight = await go(tmp_path / "straight", World(right), **more)
    await go(tmp_path / "stopped", World(right), short, **more)
    resumed = await go(tmp_path / "stopped", World(right), resume=True, **more)
    assert resumed.reports == straight.reports
    assert resumed.checkpoint.read_bytes() == straight.checkpoint.read_bytes()


async def test_several_rounds_with_one_reward_at_the_end_are_learnt(tmp_path: Path) -> None:
    world = World(right, rounds=4)
    result = await go(tmp_path, world, msgspec.structs.replace(OPTIONS, updates=20))
    assert await optimum_share(result.policy, world) >= 0.95


async def test_training_twice_gives_the_same_numbers(tmp_path: Path) -> None:
    first = await go(tmp_path / "a", World(right))
    again = await go(tmp_path / "b", World(right))
    assert first.reports == again.reports
    assert first.checkpoint.read_bytes() == again.checkpoint.read_bytes()
    assert first.reports != (await go(tmp_path / "c", World(right), msgspec.structs.replace(OPTIONS, seed=1))).reports


@pytest.mark.parametrize("minibatches", [1, 3])
@pytest.mark.parametrize("stop_after", [1, 5, 11])
async def test_a_stopped_training_resumes_as_if_never_stopped(
    tmp_path: Path, stop_after: int, minibatches: int
) -> None:
    options = msgspec.structs.replace(OPTIONS, minibatches=minibatches)
    straight = await go(tmp_path / "straight", World(right), options)

    def stop(report: UpdateReport) -> None:
        if report.update == stop_after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await go(tmp_path / "stopped", World(right), options, on_update=stop)
    resumed = await go(tmp_path / "stopped", World(right), options, resume=True)
    assert resumed.reports == straight.reports
    assert resumed.checkpoint.read_bytes() == straight.checkpoint.read_bytes()


async def test_cancelling_in_the_middle_of_an_update_loses_that_update_only(tmp_path: Path) -> None:
    straight = await go(tmp_path / "straight", World(right))
    world = World(right)
    asked = 0

    async def rollout(policy: SoftmaxPolicy, requests: Sequence[RolloutRequest]) -> list[RunId]:
        nonlocal asked
        asked += 1
        if asked == 4:
            await world.rollout(policy, requests[:5])
            raise asyncio.CancelledError
        return await world.rollout(policy, requests)

    with pytest.raises(asyncio.CancelledError):
        await train(policy_of(), TASKS, rollout=rollout, read=world.read, folder=tmp_path / "cut", options=OPTIONS)
    resumed = await go(tmp_path / "cut", World(right), resume=True)
    assert resumed.reports == straight.reports


async def test_a_finished_training_can_be_made_longer_and_equals_a_long_one(tmp_path: Path) -> None:
    long = await go(tmp_path / "long", World(right))
    await go(tmp_path / "short", World(right), msgspec.structs.replace(OPTIONS, updates=4))
    longer = await go(tmp_path / "short", World(right), resume=True)
    assert longer.reports == long.reports
    again = await go(tmp_path / "short", World(right), resume=True)
    assert again.reports == long.reports


async def test_each_update_reports_what_it_did(tmp_path: Path) -> None:
    seen: list[UpdateReport] = []
    result = await go(tmp_path, World(right), on_update=seen.append)
    assert tuple(seen) == result.reports
    assert [report.update for report in seen] == list(range(1, 13))
    assert all((r.runs, r.decisions, r.groups, r.singleton_groups, r.excluded) == (32, 32, 8, 0, {}) for r in seen)
    assert all(before.weights == after.acted for before, after in pairwise(seen))
    assert seen[0].acted == policy_of().weights_digest
    assert seen[-1].weights == result.policy.weights_digest
    assert result.checkpoint.name == f"{seen[-1].weights}.safetensors"
    assert seen[0].entropy > seen[-1].entropy > 0.0
    assert 0.0 < seen[0].kl_start < seen[-1].kl_start
    assert all(0.0 <= r.clip_fraction < 1.0 and r.grad_norm > 0.0 and r.kl_behaviour >= 0.0 for r in seen)
    assert len(list((tmp_path / "weights").iterdir())) == 13


async def test_a_strong_pull_to_the_start_keeps_the_policy_near_it(tmp_path: Path) -> None:
    free = await go(tmp_path / "free", World(right), msgspec.structs.replace(OPTIONS, kl=0.0))
    held = await go(tmp_path / "held", World(right), msgspec.structs.replace(OPTIONS, kl=5.0))
    assert held.reports[-1].kl_start < 0.3 * free.reports[-1].kl_start


async def test_failed_runs_and_unknown_rewards_neither_stop_nor_bend_an_update(tmp_path: Path) -> None:
    class Shaky(World):
        async def read(self, ids: Sequence[RunId]) -> list[Recorded]:
            recorded = await super().read(ids)
            for i, item in enumerate(recorded):
                if i % 8 == 0:
                    item.run.status, item.run.reward = RunStatus.FAILED, 1000.0
                elif i % 8 == 1:
                    item.run.reward, item.run.rewards = None, ()
            return recorded

    world = Shaky(right)
    result = await go(tmp_path, world, msgspec.structs.replace(OPTIONS, updates=16))
    assert result.reports[0].excluded == {Exclusion.NOT_SUCCEEDED: 4, Exclusion.REWARD_UNKNOWN: 4}
    assert result.reports[0].runs == 24
    assert all(report.reward_mean <= 1.0 for report in result.reports)
    assert await optimum_share(result.policy, world) >= 0.95


async def test_singleton_groups_are_reported(tmp_path: Path) -> None:
    class Lonely(World):
        async def read(self, ids: Sequence[RunId]) -> list[Recorded]:
            recorded = await super().read(ids)
            for item in recorded:
                if item.run.labels["task"] in ("t0", "t1", "t2", "t3") and item.run.seed % 2:
                    item.run.reward = None
            return recorded

    result = await go(
        tmp_path, Lonely(right), msgspec.structs.replace(OPTIONS, tasks_per_update=16, group_size=2, updates=1)
    )
    assert result.reports[0].singleton_groups > 0


async def test_an_update_with_nothing_to_learn_from_says_why(tmp_path: Path) -> None:
    with pytest.raises(LearningError, match=r"update 1 has no decision to learn from \(reward_unknown: 32\)"):
        await go(tmp_path, World(lambda task, chosen: None))


class Weather(World):
    """In some rollouts, counted from 1, what decides times out."""

    def __init__(self, *bad: int, status: RunStatus = RunStatus.DEGRADED) -> None:
        super().__init__(right)
        self.rollouts = 0
        self._bad = bad
        self._status = status

    async def rollout(self, policy: SoftmaxPolicy, requests: Sequence[RolloutRequest]) -> list[RunId]:
        self.rollouts += 1
        ids = await super().rollout(policy, requests)
        for run in (self.runs[run_id] for run_id in ids if self.rollouts in self._bad):
            run.status = self._status
            run.steps[0] = msgspec.structs.replace(run.steps[0], reason=Reason.TIMEOUT)
        return ids


@pytest.mark.parametrize("status", [RunStatus.DEGRADED, RunStatus.FAILED, RunStatus.BUSINESS_FALLBACK])
async def test_an_update_that_accidents_leave_nothing_of_is_skipped(
    tmp_path: Path, status: RunStatus, caplog: pytest.LogCaptureFixture
) -> None:
    options = msgspec.structs.replace(OPTIONS, updates=4)
    result = await go(tmp_path / "a", Weather(2, 3, status=status), options)
    assert [report.is_skipped for report in result.reports] == [False, True, True, False]
    first, second, third, last = result.reports
    assert first.weights == second.weights == third.acted == third.weights == last.acted != last.weights
    assert "update 3 has no decision to learn from" in caplog.text
    again = await go(tmp_path / "a", Weather(), options, resume=True)
    assert again.reports == result.reports, "what was skipped is kept, and reads back"


async def test_a_fourth_update_in_a_row_without_anything_to_learn_from_stops_it_until_it_is_resumed(
    tmp_path: Path,
) -> None:
    options = msgspec.structs.replace(OPTIONS, updates=5)
    for first in (2, 1):
        with pytest.raises(LearningError, match=r"update 5 .* and the 3 before it had none either"):
            await go(tmp_path, Weather(*range(first, 9)), options, resume=TrainFolder(tmp_path).begun)
        assert TrainFolder(tmp_path).load()[0].update == 4
    result = await go(tmp_path, Weather(), options, resume=True)
    assert [report.is_skipped for report in result.reports] == [False, True, True, True, False]


async def test_runs_that_another_policy_made_are_an_error(tmp_path: Path) -> None:
    world = World(right)
    stranger = policy_of(temperature=3.0, prior={"track": 1.0})

    async def rollout(policy: SoftmaxPolicy, requests: Sequence[RolloutRequest]) -> list[RunId]:
        return await world.rollout(stranger, requests)

    with pytest.raises(PolicyMismatchError):
        await train(policy_of(), TASKS, rollout=rollout, read=world.read, folder=tmp_path, options=OPTIONS)


async def test_runs_missing_from_the_store_are_an_error(tmp_path: Path) -> None:
    world = World(right)

    async def read(ids: Sequence[RunId]) -> list[Recorded]:
        return (await world.read(ids))[:-2]

    with pytest.raises(LearningError, match="2 of 32 runs are not in the store, the first is run-1"):
        await train(policy_of(), TASKS, rollout=world.rollout, read=read, folder=tmp_path, options=OPTIONS)


async def test_a_policy_that_explores_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="explores nothing; set sample: true"):
        await go(tmp_path, World(right), policy=policy_of(sample=False))


async def test_a_folder_with_a_training_is_not_overwritten(tmp_path: Path) -> None:
    await go(tmp_path, World(right), msgspec.structs.replace(OPTIONS, updates=2))
    with pytest.raises(UsageError, match="holds a training already, 2 updates long; go on with it"):
        await go(tmp_path, World(right))


async def test_a_folder_without_a_training_is_not_resumed(tmp_path: Path) -> None:
    await go(tmp_path / "planner", World(right), msgspec.structs.replace(OPTIONS, updates=1))
    with pytest.raises(UsageError, match=r"plannr holds no training to go on with; did you mean .*planner"):
        await go(tmp_path / "plannr", World(right), resume=True)
    with pytest.raises(UsageError, match="leave out `resume` to begin one there"):
        await go(tmp_path / "else" / "where", World(right), resume=True)
    assert os.listdir(tmp_path) == ["planner"]


async def test_a_training_that_was_stopped_before_its_first_update_is_resumed(tmp_path: Path) -> None:
    async def stop(policy: SoftmaxPolicy, requests: Sequence[RolloutRequest]) -> list[RunId]:
        raise asyncio.CancelledError

    world, options = World(right), msgspec.structs.replace(OPTIONS, updates=1)
    with pytest.raises(asyncio.CancelledError):
        await train(policy_of(), TASKS, rollout=stop, read=world.read, folder=tmp_path, options=options)
    assert len((await go(tmp_path, world, options, resume=True)).reports) == 1


async def test_two_trainings_at_once_in_one_folder_are_refused(tmp_path: Path) -> None:
    world, told = World(right), []
    options = msgspec.structs.replace(OPTIONS, updates=1)

    async def rollout(policy: SoftmaxPolicy, requests: Sequence[RolloutRequest]) -> list[RunId]:
        for resume in (False, True):
            with pytest.raises(UsageError, match=f"another training is at work in .*, in process {os.getpid()};"):
                await go(tmp_path, World(right), options, resume=resume)
            told.append(resume)
        return await world.rollout(policy, requests)

    await train(policy_of(), TASKS, rollout=rollout, read=world.read, folder=tmp_path, options=options)
    assert told == [False, True]
    await go(tmp_path, World(right), options, resume=True)


def test_the_lock_of_a_process_that_died_holds_nobody_up(tmp_path: Path) -> None:
    takes = "import os, sys, pathlib; from stretto.learn.claim import claimed\n"
    takes += "with claimed(pathlib.Path(sys.argv[1])): os._exit(9)"
    assert subprocess.run([sys.executable, "-c", takes, str(tmp_path)], check=False).returncode == 9
    with claimed(tmp_path), pytest.raises(UsageError, match="another training is at work"), claimed(tmp_path):
        pass


async def test_a_folder_that_cannot_be_written_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"cannot write .*training\.lock"):
        await go(tmp_path / "file", World(right))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"options": msgspec.structs.replace(OPTIONS, entropy=0.5)}, r"entropy was 0.003 and is now 0.5\."),
        ({"tasks": TASKS[::-1]}, "the tasks are others"),
    ],
)
async def test_another_training_is_not_resumed(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    world = World(right)
    await go(tmp_path, world, msgspec.structs.replace(OPTIONS, updates=1))
    given = {"tasks": TASKS, "options": OPTIONS, **changed}
    tasks = given.pop("tasks")
    with pytest.raises(UsageError, match=f"cannot be resumed: {message}"):
        await train(policy_of(), tasks, rollout=world.rollout, read=world.read, folder=tmp_path, resume=True, **given)


WAS = {"components.py": digest_of(b"was"), "helper.py": digest_of(b"as it is")}
NOW = {**WAS, "components.py": digest_of(b"mended")}
CHANGED = "the code in components.py is another"


async def test_changed_code_is_taken_where_that_is_asked_for_and_told_with_the_first_update(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    two, four = (msgspec.structs.replace(OPTIONS, updates=updates) for updates in (2, 4))
    straight = await go(tmp_path / "straight", World(right), four, code=WAS)
    folder = tmp_path / "stopped"
    await go(folder, World(right), two, code=WAS)
    remedy = r"Give the same, go on with the other code by --changed-code \(changed_code=True\), or train in another"
    with pytest.raises(UsageError, match=rf"resumed: {CHANGED}\. {remedy}"):
        await go(folder, World(right), four, code=NOW, resume=True)
    await go(folder, World(right), two, code=NOW, resume=True, changed_code=True)  # nothing left: nothing is taken
    assert not caplog.records
    resumed = await go(folder, World(right), four, code=NOW, resume=True, changed_code=True)
    assert f"goes on with changed code from update 3 on: {CHANGED}" in caplog.text
    assert [report.changed_code for report in resumed.reports] == [(), (), (CHANGED,), ()]
    assert resumed.policy.weights_digest == straight.policy.weights_digest
    five = msgspec.structs.replace(OPTIONS, updates=5)
    with pytest.raises(UsageError, match=CHANGED):
        await go(folder, World(right), five, code=WAS, resume=True)
    again = await go(folder, World(right), five, code={}, resume=True, changed_code=True)
    gone = "is no longer there, or not imported"
    assert again.reports[4].changed_code == (f"the code in components.py {gone}", f"the code in helper.py {gone}")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"resume": False}, "changed_code has no effect without resume"),
        (
            {"code": WAS},
            r"--changed-code \(changed_code=True\) has no effect: no code has changed that the training in",
        ),
        ({"code": None}, r"has no effect: no code has changed that the training in .* holds; leave it out"),
        ({"changed_code": "yes"}, "changed_code is 'yes'; expected True or False"),
        (
            {"options": msgspec.structs.replace(OPTIONS, entropy=0.5)},
            r"resumed: entropy was 0.003 and is now 0.5\. --changed-code \(changed_code=True\) takes code alone: give",
        ),
    ],
)
async def test_changed_code_is_taken_alone_and_where_it_is(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    await go(tmp_path, World(right), msgspec.structs.replace(OPTIONS, updates=1), code=WAS)
    with pytest.raises(UsageError, match=message):
        await go(tmp_path, World(right), **{"code": NOW, "resume": True, "changed_code": True, **given})


async def test_a_training_that_kept_no_update_yet_holds_no_code(tmp_path: Path) -> None:
    policy_of().weights.save(tmp_path / "weights")
    with pytest.raises(UsageError, match="no code has changed that the training in"):
        await go(tmp_path, World(right), code=NOW, resume=True, changed_code=True)


async def test_another_start_is_not_resumed(tmp_path: Path) -> None:
    first = await go(tmp_path / "a", World(right), msgspec.structs.replace(OPTIONS, updates=1))
    await go(tmp_path / "b", World(right), msgspec.structs.replace(OPTIONS, updates=1))
    with pytest.raises(UsageError, match="the weights to start from were"):
        await go(tmp_path / "b", World(right), policy=first.policy, resume=True)


async def test_a_damaged_state_is_a_store_error(tmp_path: Path) -> None:
    await go(tmp_path, World(right), msgspec.structs.replace(OPTIONS, updates=1))
    state = tmp_path / "state.safetensors"
    state.write_bytes(state.read_bytes()[:-1])
    with pytest.raises(StoreError, match="not a whole safetensors file"):
        await go(tmp_path, World(right), resume=True)
    checkpoint = next((tmp_path / "weights").iterdir())
    state.write_bytes(checkpoint.read_bytes())
    with pytest.raises(StoreError, match="not the state of a training"):
        await go(tmp_path, World(right), resume=True)


async def test_a_training_goes_on_from_trained_weights(tmp_path: Path) -> None:
    world = World(right)
    first = await go(tmp_path / "a", world)
    second = await go(tmp_path / "b", world, msgspec.structs.replace(OPTIONS, updates=2), policy=first.policy)
    assert second.reports[0].acted == first.policy.weights_digest
    assert second.reports[0].kl_start < 0.3 * first.reports[-1].kl_start
    assert second.reports[0].reward_mean > 0.75
