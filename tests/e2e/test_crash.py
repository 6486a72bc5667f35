"""A process that is killed at any moment loses nothing that it acknowledged, and writes nothing twice.

The shop is the real retail server; the truth is its own call log, kept for each run under the run's id. `telling` asks
that log about writes in doubt; `mute` has nobody to ask, so runs park; `bank` is a fake that may be asked twice.
"""

import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from stretto.types.enums import RunStatus
from tests.e2e.crash.world import World

ROOT: Final = Path(__file__).parents[2]

RUNS: Final = 2
"""At once in each process that is to be killed."""

KILLS: Final = 5
"""Processes killed for each seed; ten seeds at the shop make 50. The first of each workflow is in `make test` too."""

MOMENTS: Final = {"telling": 24, "mute": 24, "bank": 26}
"""Of a whole run, as the tripwire counts them."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def nursery() -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.crash.nursery"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process


@pytest.fixture
def world(tmp_path: Path, nursery: "subprocess.Popen[str]", workflow: str) -> Iterator[World]:
    world = World(tmp_path, workflow, nursery)
    yield world
    world.clear()


def end_all(world: World, run_ids: set[str]) -> None:
    """Resume what is left of the runs until each has ended, after a person's word where nobody else knows."""
    assert world.go_on(world.pending(), about=run_ids).code == 0
    for run_id in run_ids:
        run = world.check_ended(run_id)
        assert run.status is RunStatus.OK or world.workflow == "mute"
        if run.status is RunStatus.PARKED:
            world.tell(run_id)
            assert world.go_on({run_id}).code == 0
            assert world.check_ended(run_id).status is RunStatus.OK


@pytest.mark.parametrize(
    ("workflow", "seed"),
    [
        pytest.param(workflow, seed, marks=pytest.mark.ci if seed else ())
        for workflow, seeds in {"telling": 6, "mute": 4, "bank": 2}.items()
        for seed in range(seeds)
    ],
)
def test_kills_at_random_moments(world: World, seed: int) -> None:
    whole = world.do(serve=RUNS)
    assert (whole.code, len(whole.runs("sealed"))) == (0, RUNS)
    world.check_nothing_lost(whole)
    draw = random.Random(f"{world.workflow}-{seed}")
    kills = 0
    while kills < KILLS:
        at, after_s = draw.randint(1, RUNS * MOMENTS[world.workflow]), 0.0
        if draw.random() < 0.5:
            at, after_s = 1, draw.uniform(0.0, whole.span_s)
        life = world.do(serve=RUNS, at=at, after_s=after_s)
        print(f"seed {seed}, kill {kills}: {after_s:.4f} s after moment {at}, ended with {life.code}")
        world.check_nothing_lost(life)
        if life.code != -signal.SIGKILL:
            assert life.code == 0
            assert after_s, "that moment never came"
            continue
        kills += 1
        left = world.pending()
        begun = left | life.runs("accepted")
        if left and draw.random() < 0.3:
            at = draw.randint(1, MOMENTS[world.workflow])
            life = world.go_on(left, at=at)
            print(f"  resuming {len(left)} runs, killed again at moment {at}, ended with {life.code}")
            assert life.code in (0, -signal.SIGKILL)
            world.check_nothing_lost(life)
        end_all(world, begun)
        assert world.pending() == set()
        world.clear()


BEFORE_INTENT, AFTER_INTENT, AFTER_CALL, AFTER_RECEIPT = 5, 6, 7, 8
NESTED_AFTER_INTENT, NESTED_AFTER_CALL, NESTED_AFTER_RECEIPT = 14, 15, 16
BEFORE_SEAL = 23
"""Moments of a single run at the shop."""


@pytest.mark.parametrize("workflow", ["telling", "mute"])
@pytest.mark.parametrize(
    ("at", "made", "in_doubt"),
    [
        (BEFORE_INTENT, [], []),
        (AFTER_INTENT, [], ["cancel"]),
        (AFTER_CALL, ["cancel"], ["cancel"]),
        (AFTER_RECEIPT, ["cancel"], []),
        (NESTED_AFTER_INTENT, ["cancel"], ["move/shop#2"]),
        (NESTED_AFTER_CALL, ["cancel", "move/shop#2"], ["move/shop#2"]),
        (NESTED_AFTER_RECEIPT, ["cancel", "move/shop#2"], []),
        (BEFORE_SEAL, ["cancel", "move/shop#2"], []),
    ],
)
def test_a_kill_around_a_write(world: World, at: int, made: list[str], in_doubt: list[str]) -> None:
    life = world.do(serve=1, at=at)
    assert life.code == -signal.SIGKILL
    world.check_nothing_lost(life)
    (run_id,) = world.pending()
    with world.store as store:
        assert [effect.path for effect in store.in_doubt()] == in_doubt
    world.go_on([], about=[run_id])
    assert sorted(world.logs[run_id]) == made
    world.go_on([run_id])
    parks = bool(in_doubt) and world.workflow == "mute"
    run = world.check_ended(run_id)
    assert run.status is (RunStatus.PARKED if parks else RunStatus.OK)
    if parks:
        assert sorted(world.logs[run_id]) == made, "nothing was sent while a person was waited for"
        end_all(world, {run_id})
