"""A trading agent whose execution API takes 800 ms, and 5 s under load, where it is given 3 s.

A passive order earns the spread, if it rests until the API has answered; an aggressive one pays the spread and is
filled at once, whatever becomes of the answer. Under load the passive order times out, is cancelled, and the trade is
missed.
An agent that takes this for the consequence of its choice learns to cross the spread, and goes on to when the API is
quick again. One that knows a downgrade for what it was does not.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import pytest

import stretto
from stretto import Run, RunRequest, SoftmaxPolicy, Store
from stretto.learn.options import TrainOptions
from stretto.learn.rollouts import Rollouts
from stretto.learn.tasks import Task
from stretto.learn.train import TrainResult, train
from stretto.learn.usable import Downgraded, Exclusion, Recorded
from stretto.record.model import decoded
from stretto.testing import run_virtual
from stretto.types.enums import Reason, RunStatus, StepStatus
from stretto.types.ids import RunId

WORKFLOW: Final = """
stretto: 1
name: trading
components:
  - components.py
  - trader: {kind: policy, alternatives: [passive, aggressive], text: [symbol], state: [], output: order}
contract:
  input: {symbol: string, market: string}
  reward: {profit: 1.0}
durability: none
steps:
  - name: trader
    component: trader
    input_mapping: {symbol: input.symbol}
  - name: place
    component: exchange
    input_mapping: {order: steps.trader.order, market: input.market}
    resilience:
      timeout: 3s
      bulkhead: {limit: 16, queue: 100}
      fallback: {output: {filled: false}, after: 1000}  # it is asked whatever happened before
  - name: profit
    component: profit
    input_mapping: {order: steps.trader.order, filled: steps.place.filled, downgrades: run.downgrades}
output: {order: steps.trader.order, filled: steps.place.filled}
"""

COMPONENTS: Final = '''
import asyncio
import random

import stretto
from stretto import Context

QUICK_S = 0.8
PERIOD_S = 30.0


def crowd(market: str, now: float) -> float:
    """Offered load over capacity: in a rush it rises to 6.25, where 800 ms become 5 s, stays, and ends."""
    at = now % PERIOD_S
    if market == "quiet" or at >= 24.0:
        return 0.5
    return min(6.25, 0.5 + at)


FILLED = set()
OPEN = set()
"""The book of the exchange, which stands outside: orders by their keys."""


@stretto.component("exchange", effects="write")
class Exchange:
    """Takes orders; shares its capacity among those that are placed at the same time, and the crowd's."""

    async def __call__(self, order: str, market: str, ctx: Context) -> dict:
        key, draw = ctx.effect_key, random.Random(ctx.run.seed).uniform(0.95, 1.05)
        if order == "aggressive":
            FILLED.add(key)  # it takes what rests in the book; only the answer is slow
        OPEN.add(key)
        try:
            load = crowd(market, asyncio.get_running_loop().time()) + len(OPEN) / 32
            await asyncio.sleep(QUICK_S * max(1.0, load) * draw)
            FILLED.add(key)
        finally:
            OPEN.remove(key)  # a passive order that is given up is cancelled
        return {"filled": True}

    async def confirm(self, order: str, market: str, ctx: Context) -> dict | None:
        return {"filled": True} if ctx.effect_key in FILLED else None


@stretto.reward("profit", inline=True)
def profit(order: str, filled: bool, downgrades: list) -> float:
    if not filled:
        return -1.0
    return 1.0 if order == "passive" else 0.4
'''

TASKS: Final = [
    Task(name=name, input={"symbol": name, "market": "rush"}) for name in ("ACME", "INITECH", "HOOLI", "WAYNE")
]


@dataclass(frozen=True)
class Trained:
    """What an agent became, and what it learnt from."""

    result: TrainResult
    aggressive: float
    """Probability of an aggressive order in a quiet market."""
    profit: float
    """Mean reward there."""
    runs: list[Run]
    """Those of its training."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "workflow.yaml").write_text(WORKFLOW)
    (tmp_path / "components.py").write_text(COMPONENTS)
    return tmp_path


def train_agent(folder: Path, name: str, seed: int, downgraded: Downgraded, *, unmarked: bool = False) -> Trained:
    """Train on the project's own trainer, in rush hours, and measure in a quiet market. Nothing waits in real time."""

    async def go() -> Trained:
        with Store(folder / f"{name}.db") as store:
            async with stretto.load(folder / "workflow.yaml", store=store) as workflow:
                policy = workflow.component("trader")
                assert isinstance(policy, SoftmaxPolicy)
                await workflow.run({"symbol": "ACME", "market": "quiet"})
                rollouts = Rollouts(workflow, concurrency=4)
                made: list[Run] = []

                async def read(ids: Sequence[RunId]) -> list[Recorded]:
                    found = await rollouts.read(ids)
                    made.extend(each.run for each in found)
                    return [_without_marks(each) for each in found] if unmarked else found

                options = TrainOptions(
                    updates=18, tasks_per_update=4, group_size=12, learning_rate=0.1, seed=seed, downgraded=downgraded
                )
                result = await train(
                    policy, TASKS, rollout=rollouts.make, read=read, folder=folder / name, options=options
                )
                asked = [
                    RunRequest(input={"symbol": task.name, "market": "quiet"}, seed=number)
                    for number, task in enumerate(TASKS * 25)
                ]
                quiet = await workflow.with_component(result.policy).run_many(asked, concurrency=4)
                return Trained(
                    result=result,
                    aggressive=float(np.mean([_aggressive(run) for run in quiet])),
                    profit=float(np.mean([run.reward for run in quiet])),
                    runs=made,
                )

    return run_virtual(go())


def _aggressive(run: Run) -> float:
    (action,) = run.steps[0].actions
    return action.propensity if action.chosen == "aggressive" else 1 - action.propensity


def _without_marks(recorded: Recorded) -> Recorded:
    """The run as a record without reasons would have it: the fallback answered, and nobody knows why."""
    steps = [msgspec.structs.replace(step, reason=None) for step in recorded.run.steps]
    return Recorded(run=msgspec.structs.replace(recorded.run, steps=steps, reason=None))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_only_an_agent_without_the_mark_turns_aggressive(folder: Path, seed: int) -> None:
    """Both begin at one in two. In a quiet market a passive order is worth 1, an aggressive one 0.4."""
    marked = train_agent(folder, "marked", seed, Downgraded.EXCLUDE)
    weighed = train_agent(folder, "weighed", seed, Downgraded.DOWNWEIGHT)
    unmarked = train_agent(folder, "unmarked", seed, Downgraded.KEEP)
    assert marked.aggressive < 0.05
    assert weighed.aggressive < 0.3
    assert unmarked.aggressive > 0.7
    assert marked.profit > 0.95
    assert unmarked.profit < 0.65
    assert sum(report.excluded.get(Exclusion.ACCIDENT, 0) for report in marked.result.reports) > 100
    assert not any(report.excluded for report in unmarked.result.reports)


def test_a_record_without_reasons_teaches_the_same_mistake_whatever_is_asked(folder: Path) -> None:
    agent = train_agent(folder, "stripped", 0, Downgraded.EXCLUDE, unmarked=True)
    assert agent.aggressive > 0.7


def test_the_record_tells_a_quiet_market_from_a_rush_and_a_choice_from_an_accident(folder: Path) -> None:
    runs = train_agent(folder, "marked", 0, Downgraded.EXCLUDE).runs
    ended = Counter((run.status, _chosen(run), run.steps[1].status) for run in runs)
    assert set(ended) == {
        (RunStatus.OK, "passive", StepStatus.OK),
        (RunStatus.OK, "aggressive", StepStatus.OK),  # also those that timed out: the exchange confirms them
        (RunStatus.DEGRADED, "passive", StepStatus.FALLBACK),
    }
    reasons = Counter(run.reason for run in runs if run.status is RunStatus.DEGRADED)
    assert set(reasons) == {Reason.CONGESTION, Reason.TIMEOUT}
    assert reasons[Reason.CONGESTION] > 50


def test_the_reward_evaluator_sees_what_was_downgraded_and_why(folder: Path) -> None:
    for run in train_agent(folder, "marked", 0, Downgraded.EXCLUDE).runs:
        expected = [{"step": "place", "component": "exchange", "reason": run.reason}] if run.reason else []
        assert decoded(run.steps[2].input)["downgrades"] == expected


def _chosen(run: Run) -> str:
    return run.steps[0].actions[0].chosen
