"""Small worlds that make proper run records, so that learning is tested without an engine; and their store."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from stretto.components.policy import SoftmaxPolicy
from stretto.learn.tasks import RolloutRequest, Task
from stretto.learn.usable import Recorded
from stretto.record.canonical import snapshot
from stretto.record.model import Manifest, Run, StepRecord
from stretto.types.budget import Budget, BudgetSpec
from stretto.types.enums import Effect, RunStatus, StepStatus
from stretto.types.ids import Digest, RunId, StepPath
from stretto.types.json import Json, JsonObject
from stretto.types.learning import Action, Reward
from stretto.types.messages import Call, Request, RunInfo

ZERO = Digest("0" * 64)

Score = Callable[[Task, list[str]], float | None]
"""Reward of what was chosen; None is unknown."""


class World:
    """Asks the policy `rounds` times a run, scores what it chose, and keeps the runs."""

    def __init__(self, score: Score, rounds: int = 1) -> None:
        self.runs: dict[RunId, Run] = {}
        self.asked: list[RolloutRequest] = []
        self._score = score
        self._rounds = rounds

    async def rollout(self, policy: SoftmaxPolicy, requests: Sequence[RolloutRequest]) -> list[RunId]:
        """Make one run for each request."""
        return [await self._run(policy, request) for request in requests]

    async def read(self, ids: Sequence[RunId]) -> list[Recorded]:
        """Read runs back, in no particular order."""
        return [Recorded(run=self.runs[run_id]) for run_id in reversed(ids)]

    async def _run(self, policy: SoftmaxPolicy, request: RolloutRequest) -> RunId:
        self.asked.append(request)
        run_id = RunId(f"run-{len(self.asked)}")
        steps, chosen = [], []
        for number in range(1, self._rounds + 1):
            data: JsonObject = {**request.task.input, "state": {**dict(_state(request.task)), "round": number}}
            step = await decide(policy, data, run_id, request.seed, f"talk[{number}]/{policy.name}")
            steps.append(step)
            chosen.append(step.actions[0].chosen)
        reward = self._score(request.task, chosen)
        self.runs[run_id] = run_of(run_id, steps, reward, labels=dict(request.labels), seed=request.seed)
        return run_id


def _state(task: Task) -> dict[str, Json]:
    state = task.input.get("state")
    return state if isinstance(state, dict) else {}


async def decide(policy: SoftmaxPolicy, data: JsonObject, run_id: RunId, seed: int, path: str) -> StepRecord:
    """One recorded choice, as the engine records it."""
    info = RunInfo(id=run_id, workflow_run_id="w", workflow="w", version="1", seed=seed)
    call = Call(info, StepPath(path), 1, "", Effect.PURE, None, Budget.start(BudgetSpec(), 0.0))
    response = await policy(Request(data, call))
    return step_of(policy.name, data, response.output, path=path, actions=response.actions)


def step_of(component: str, data: Json, output: Any, **changed: Any) -> StepRecord:
    """A step that went well, unless changed."""
    step = StepRecord(
        path=StepPath(component),
        status=StepStatus.OK,
        component=component,
        input=msgspec.Raw(snapshot(data)),
        output=msgspec.Raw(snapshot(output)),
    )
    return msgspec.structs.replace(step, **changed)


def action_of(policy: SoftmaxPolicy, chosen: str, **changed: Any) -> Action:
    """An untrained policy's choice, unless changed."""
    count = len(policy.options.alternatives)
    action = Action(
        name="action",
        chosen=chosen,
        support=policy.options.alternatives,
        logprob=-math.log(count),
        propensity=1 / count,
        policy=policy.weights_digest,
    )
    return msgspec.structs.replace(action, **changed)


def run_of(run_id: str, steps: list[StepRecord], reward: float | None = None, **changed: Any) -> Run:
    """A sealed run of task ``t`` that went well, unless changed."""
    run = Run(
        id=RunId(run_id),
        workflow_run_id=run_id,
        manifest=Manifest(workflow="w", version="1", plan=ZERO, components={"planner": "1@0"}),
        input=msgspec.Raw(b"{}"),
        input_digest=ZERO,
        started_at_ns=0,
        status=RunStatus.OK,
        labels={"task": "t"},
        steps=steps,
        rewards=(Reward(name="right", value=reward),),
        reward=reward,
    )
    return msgspec.structs.replace(run, **changed)
