"""Collusion that is real: planners trained with one executor, held to others. What each kind did for five seeds
is in docs/log.md."""

from pathlib import Path

import pytest

from stretto.learn import Perturbation
from stretto.learn.adversity.measuring import Measuring, requests_for
from stretto.learn.adversity.vagueness import vagueness_of
from tests.unit.learn.adversity.worlds import DESK, WIRE, customers, taught, trained, world

NAMES = {DESK: ("planner", "executor"), WIRE: ("sender", "receiver")}


async def shares(folder: Path, steps: str, *, is_held: bool) -> tuple[float, float]:
    """Vagueness and forgiveness after a training, with others' executors in half of its runs or without."""
    workflow, names = world(folder, steps), NAMES[steps]
    early, other = (taught(workflow, names[1], seed) for seed in (100, 101))
    perturb = {names[1]: Perturbation(share=0.5, worse=[early])} if is_held else {}
    measuring = Measuring(trained(workflow, names, 0, perturb, updates=60), planner="plan", executor="act")
    found = vagueness_of(await measuring.sides(requests_for(customers(60, seed=7)), {"other": other}))
    assert found.own.value > 0.8
    assert found.vagueness is not None
    assert found.forgiveness is not None
    return found.vagueness.value, found.forgiveness.value


@pytest.mark.parametrize(("steps", "is_forgiven"), [(DESK, True), (WIRE, False)])
async def test_a_planner_beside_one_executor_grows_vague(tmp_path: Path, steps: str, *, is_forgiven: bool) -> None:
    vagueness, forgiveness = await shares(tmp_path, steps, is_held=False)
    assert vagueness > 0.5
    assert (forgiveness > 0.9) == is_forgiven
    assert (forgiveness < 0.2) != is_forgiven


@pytest.mark.parametrize("steps", [DESK, WIRE])
async def test_a_planner_that_met_another_executor_is_understood_by_a_third(tmp_path: Path, steps: str) -> None:
    vagueness, _ = await shares(tmp_path, steps, is_held=True)
    assert vagueness < 0.05
