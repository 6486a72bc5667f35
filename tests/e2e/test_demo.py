"""`stretto demo` as a process, on the real shop, with few customers."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from stretto.cli.demo.study import seed_of
from stretto.store.sqlite import Store

STRETTO = Path(sys.executable).with_name("stretto")
SIDES = ("before", "after", "baseline_nothing", "baseline_majority", "baseline_available", "baseline_supervised")
FIGURES = {"reward", "reward_low", "reward_high", "write_actions_right", "tasks_right", "calls_per_task"}


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("STRETTO", "COLUMNS"))}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def told(folder: Path) -> Any:
    """The document of one quick demo."""
    done = subprocess.run(
        [STRETTO, "demo", "--quick", "--json"], cwd=folder, env=environment(), capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "trains on 8 other customers" in done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_every_side_has_every_figure_and_its_value_lies_in_its_interval(told: Any) -> None:
    for side in SIDES:
        assert told[side].keys() >= FIGURES
        assert told[side]["reward_low"] <= told[side]["reward"] <= told[side]["reward_high"]
    assert told["difference"].keys() >= FIGURES


@pytest.mark.slow
def test_sides_are_paired_and_the_difference_is_that_of_the_pairs(told: Any) -> None:
    assert len({told[side]["runs"] for side in SIDES}) == 1
    assert told["difference"]["reward_runs"] == told["after"]["reward_runs"] == told["after"]["runs"]
    for name in ("reward", "write_actions_right", "tasks_right", "calls_per_task"):
        apart = told["after"][name] - told["before"][name]
        assert told["difference"][name] == pytest.approx(apart)


@pytest.mark.slow
def test_doing_nothing_gets_nothing_right_and_customers_who_want_nothing_do_not_raise_it(told: Any) -> None:
    nothing = told["baseline_nothing"]
    assert (nothing["reward"], nothing["write_actions_right"], nothing["calls_per_task"]) == (0.0, 0.0, 0.0)
    assert nothing["tasks_right"] == 0.0
    assert nothing["without_gold_writes"]["tasks_right"] == 1.0
    assert "reward" not in nothing["without_gold_writes"]  # unknown, which is not 0


@pytest.mark.slow
def test_all_runs_are_in_the_store_with_their_seeds_and_the_gold_is_shown_to_no_planner(
    told: Any, folder: Path
) -> None:
    with Store(folder / told["store"]) as store:
        for side in SIDES:
            runs = list(store.runs(purpose=side))
            assert len(runs) == told[side]["runs"] + told[side]["without_gold_writes"]["tasks_right_runs"]
            assert {run.seed for run in runs} == {seed_of(run.labels["task"], 1) for run in runs}
            assert {run.labels["split"] for run in runs} == {"test"}
        training = list(store.runs(purpose="train"))
        assert len(training) == 16
        assert {run.labels["split"] for run in training} == {"train"}
    assert (folder / told["checkpoint"]).is_file()


@pytest.mark.slow
def test_ctrl_c_ends_it_with_one_line_and_leaves_no_server(folder: Path) -> None:
    running = subprocess.Popen(
        [STRETTO, "demo", "--quick", "--store", "stopped.db"], cwd=folder, env=environment(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert running.stderr is not None
    line = running.stderr.readline()
    assert line.startswith("starting the shop's two servers"), line
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert out == ""
    assert err.splitlines()[-1] == "stopped by Ctrl-C; what was run so far is in stopped.db"
    assert _group_is_gone(running.pid)


def _group_is_gone(group: int, within_s: float = 10.0) -> bool:
    """Whether no process of the group is left; servers may take a moment to see that their input ended."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False
