"""A run whose planner is served by another process holds what it would hold with the planner in process, and trains the
same: folded where it was recorded, or by Reflect where the planner is."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

import stretto
from stretto import Run, SoftmaxPolicy, StepRecord
from stretto.cli.boundary import execute
from stretto.learn.options import TrainOptions
from stretto.learn.reflect import reflect
from stretto.learn.rollouts import Rollouts
from stretto.learn.samples import collect
from stretto.learn.state import TrainFolder
from stretto.learn.tasks import Task, requests_of
from stretto.learn.tokens import collect_tokens
from stretto.learn.train import train
from stretto.learn.update import Learner, UpdateReport
from stretto.learn.usable import Recorded
from tests.unit.acp.reports import is_same

pytestmark = pytest.mark.ci

PLANNERS = """
import numpy as np

import stretto
from stretto import Action, Context, ModelCall

router = stretto.SoftmaxPolicy("router", ("orders", "refunds", "person"), state=(), text_scale=1.0)


@stretto.component("writer", "1.0.0", effects="write", idempotent=True, trainable=True)
async def writer(words: str, context: Context) -> dict[str, str]:
    '''Stands for a language model: what it samples, and what it chooses, hang on the seed alone.'''
    ids = np.array([context.rng.randrange(2**31) for _ in words], np.int32)
    draws = [context.rng.random() for _ in words]
    prompt = np.arange(len(words) * 1000, dtype=np.int32)
    for sample in range(2):
        context.model_call(
            ModelCall(
                model="m", prompt_ids=prompt, completion_ids=ids, logprobs=np.log(np.array(draws, np.float32)),
                mask=ids % 2 == sample, policy_versions=(("v1", 1), ("v2", len(words) - 1)), finish_reason="stop",
                prompt_tokens=len(prompt), completion_tokens=len(ids), messages=[{"role": "user", "content": words}],
                text=words[::-1],
            )
        )
    chosen = context.rng.choice("ab")
    context.action(
        Action(name="letter", chosen=chosen, support=("a", "b", "c"), available=(True, True, False),
               logprob=float(np.log(0.5)), propensity=0.5, policy="v2", forced=len(words) > 20)
    )
    return {"letter": chosen}
"""

LEARNER = """
import stretto

router = stretto.LearningPolicy(
    stretto.SoftmaxPolicy("router", ("orders", "refunds", "person"), state=(), text_scale=1.0),
    "learnt", tasks_per_update=6, group_size=4,
)
"""

JUDGE = """
import stretto


@stretto.reward(inline=True)
def right(desk: str, context: stretto.Context) -> float | None:
    return None if context.reference is None else float(desk == context.reference)
"""

ROUTING = """
stretto: 1
name: routing
version: 1.0.0
durability: {durability}
contract: {{ input: {{ words: "string[1,1000]" }}, reward: {{ right: 1.0 }} }}
components: {components}
steps:
  - {{ name: route, component: router, input_mapping: {{ words: input.words }} }}
  - {{ name: judge, component: right, input_mapping: {{ desk: steps.route.action }} }}
"""

WRITING = "  - { name: write, component: writer, input_mapping: { words: input.words } }\n"

SAYINGS = {
    "orders": ("where is my order", "has it left", "when does it come", "not here yet"),
    "refunds": ("i want my money back", "refund please", "give the money back", "no refund yet"),
    "person": ("let me talk to a human", "a human please", "is there a human", "call me, human"),
}
TASKS = [
    Task(name=f"{desk} {number}", input={"words": words}, reference=desk)
    for desk, sayings in SAYINGS.items()
    for number, words in enumerate(sayings)
]
OPTIONS = TrainOptions(updates=5, tasks_per_update=6, group_size=4)


class Server:
    """Planners in a process of their own."""

    def __init__(self, folder: Path, components: str) -> None:
        folder.mkdir()
        (folder / "components.py").write_text(components)
        command = [sys.executable, "-m", "stretto", "acp", "serve", "components.py", "--json"]
        self._process = subprocess.Popen(
            [*command, "--http", ":0", "--grpc", ":0"], cwd=folder, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.told: dict[str, Any] = json.loads(self._process.stdout.readline())

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        assert self._process.stdout is not None
        self._process.stdout.close()
        assert self._process.wait(timeout=30) == 0


@pytest.fixture(params=["http", "grpc"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def planners(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path / "planners", PLANNERS)
    yield running
    running.stop()


def workflow_in(folder: Path, components: str, there: dict[str, str], *, writes: bool = False) -> stretto.Workflow:
    """The workflow, with some of its components in a file beside it and some at addresses."""
    folder.mkdir()
    (folder / "components.py").write_text(components)
    declared = [f'{name}: {{ kind: acp, url: "acp+{url}#{name}" }}' for name, url in there.items()]
    listed = ", ".join(["components.py", *(f"{{ {each} }}" for each in declared)])
    text = ROUTING.format(components=f"[{listed}]", durability="step" if writes else "run")
    (folder / "workflow.yaml").write_text(text + (WRITING if writes else ""))
    return stretto.load(folder / "workflow.yaml", store=folder / "runs.db")


async def rolled_out(workflow: stretto.Workflow, update: int) -> list[Run]:
    """The runs that a training would make for this update."""
    asked = [
        stretto.RunRequest(
            input=dict(each.task.input), reference=each.task.reference, seed=each.seed, labels=each.labels
        )
        for each in requests_of(TASKS, OPTIONS, update)
    ]
    return await workflow.run_many(asked, concurrency=8)


def reported(step: StepRecord) -> Any:
    return step.path, step.output_value, step.actions


async def test_runs_hold_the_same_and_fold_to_the_same_update(form: str, planners: Server, tmp_path: Path) -> None:
    there = dict.fromkeys(("router", "writer"), planners.told[form])
    async with (
        workflow_in(tmp_path / "here", PLANNERS + JUDGE, {}, writes=True) as at_home,
        workflow_in(tmp_path / "away", JUDGE, there, writes=True) as away,
    ):
        ours, theirs = await rolled_out(at_home, 1), await rolled_out(away, 1)
        ours, theirs = [at_home.store.get(run.id) for run in ours], [away.store.get(run.id) for run in theirs]
        policy = cast("SoftmaxPolicy", at_home.component("router"))
    for mine, other in zip(ours, theirs, strict=True):
        assert sorted(map(reported, mine.steps)) == sorted(map(reported, other.steps))
        mine_written, other_written = (
            next(step.model_calls for step in run.steps if step.path == "write") for run in (mine, other)
        )
        assert len(mine_written) == 2
        assert all(map(is_same, mine_written, other_written))
    learnt = [Learner(policy, OPTIONS).learn(collect(map(_unannotated, runs), policy), 1) for runs in (ours, theirs)]
    assert learnt[0] == learnt[1]
    assert learnt[0].decisions == len(ours)
    assert learnt[0].weights != learnt[0].acted
    tokens = [collect_tokens(map(_unannotated, runs), "writer") for runs in (ours, theirs)]
    assert tokens[0].tokens == tokens[1].tokens > 100
    for one, same in zip(tokens[0].sequences, tokens[1].sequences, strict=True):
        assert one.completion_ids.tolist() == same.completion_ids.tolist()
        assert one.logprobs.tolist() == same.logprobs.tolist()
        assert (one.versions, one.mask.tolist()) == (same.versions, same.mask.tolist())


def _unannotated(run: Run) -> Recorded:
    return Recorded(run=run)


async def test_a_planner_learns_where_it_is_as_it_would_at_home(form: str, tmp_path: Path) -> None:
    reports = await _trained_at_home(tmp_path / "here")
    server = Server(tmp_path / "there", LEARNER)
    try:
        async with workflow_in(tmp_path / "away", JUDGE, {"router": server.told[form]}) as away:
            curve = []
            for update in range(1, OPTIONS.updates + 1):
                runs = await rolled_out(away, update)
                curve.append(sum(run.reward or 0.0 for run in runs) / len(runs))
                told = await reflect(away, runs)
                assert {each.note for each in told} == {""}
    finally:
        server.stop()
    assert curve == [report.reward_mean for report in reports]
    assert _learnt_there(tmp_path / "there") == tuple(reports)  # weights by digest among them: the very same
    assert curve[-1] > curve[0] + 0.2


async def _trained_at_home(folder: Path) -> Sequence[UpdateReport]:
    async with workflow_in(folder, PLANNERS + JUDGE, {}) as workflow:
        rollouts = Rollouts(workflow, concurrency=8)
        policy = cast("SoftmaxPolicy", workflow.component("router"))
        result = await train(
            policy, TASKS, rollout=rollouts.make, read=rollouts.read, folder=folder / "t", options=OPTIONS
        )
    return result.reports


def _learnt_there(folder: Path) -> tuple[UpdateReport, ...]:
    progress, _ = TrainFolder(folder / "learnt").load()
    return progress.reports


def test_they_keep_to_the_protocol(form: str, planners: Server, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("router", "writer"):
        assert execute(["acp", "verify", f"{planners.told[form]}#{name}", "--writes"]) == 0, capfd.readouterr().out
        assert "actions     4 of 4" in capfd.readouterr().out
