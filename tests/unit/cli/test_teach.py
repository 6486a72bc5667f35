"""`stretto train` of a component that learns where it is: it is told how its answers were judged."""

import json
from pathlib import Path

import pytest

from stretto.cli.teach import Teaching
from tests.unit.cli.conftest import Cli

COMPONENTS = """
import stretto

router = stretto.LearningPolicy(
    stretto.SoftmaxPolicy("router", ("orders", "refunds"), state=(), text_scale=1.0),
    "learnt", tasks_per_update=2, group_size=4, learning_rate=0.3, updates=9,
)


@stretto.reward
def right(desk: str, context: stretto.Context) -> float:
    return float(desk == context.reference)
"""

FROZEN = """
import stretto


@stretto.component("router", trainable=True)
def route(words: str) -> dict[str, str]:
    return {"action": "orders"}
"""

WORKFLOW = """
stretto: 1
name: routing
contract: { reward: { right: 1.0 } }
steps:
  - { name: route, component: router, input_mapping: { words: input.words } }
  - { name: judge, component: right, input_mapping: { desk: steps.route.action } }
"""

TRAIN = ("train", "--tasks", "tasks.jsonl", "--set", "tasks_per_update=2")


@pytest.fixture
def desk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = folder / "desk"
    place.mkdir()
    (place / "components.py").write_text(COMPONENTS)
    (place / "workflow.yaml").write_text(WORKFLOW)
    tasks = [{"name": each, "input": {"words": f"my {each}"}, "reference": each} for each in ("orders", "refunds")]
    (place / "tasks.jsonl").write_text("\n".join(map(json.dumps, tasks)))
    monkeypatch.chdir(place)
    return place


def test_the_reward_rises_and_what_is_learnt_stays_with_the_component(cli: Cli, desk: Path) -> None:
    told = cli(*TRAIN, "--set", "updates=6")
    assert told.code == 0, told.err
    assert told.err.count("8 runs, 8 signals accepted") == 6
    assert told.out.startswith("reward ")
    assert told.out.endswith("'router' was told of 48 runs\n")
    again = cli(*TRAIN, "--set", "updates=1", "--set", "seed=1", "--json").document
    assert again["component"] == "router"
    assert again["updates"][0]["reward_mean"] >= 0.75
    assert (desk / "learnt" / "state.safetensors").exists()


def test_a_component_that_has_learnt_all_that_it_will_ends_it(cli: Cli, desk: Path) -> None:
    told = cli(*TRAIN, "--set", "updates=11")
    assert told.code == 1
    assert "'router' learns from none of the 8 runs of update 10: it has made its 9 updates" in told.err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--set", "learning-rate=0.1"), "--set learning_rate has no effect: 'router' learns where it is served"),
        (("--folder", "there"), "--folder has no effect"),
        (("--resume",), "--resume has no effect"),
    ],
)
def test_what_only_weights_that_are_here_heed_is_refused(
    cli: Cli, desk: Path, options: tuple[str, ...], says: str
) -> None:
    told = cli(*TRAIN, *options)
    assert told.code == 2
    assert says in told.err
    assert "--set takes updates, tasks_per_update, group_size, seed" in told.err


def test_ctrl_c_says_what_was_learnt(cli: Cli, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def stopped(_: Teaching) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Teaching, "_taught", stopped)
    told = cli(*TRAIN)
    assert told.code == 130
    assert "stopped by Ctrl-C; what 'router' was told of 0 updates it has learnt" in told.err


def test_one_that_chooses_and_does_not_learn_is_told_what_to_be(cli: Cli, desk: Path) -> None:
    (desk / "components.py").write_text(FROZEN + COMPONENTS[COMPONENTS.index("\n\n@") :])
    told = cli(*TRAIN)
    assert told.code == 2
    assert "'router' chooses and does not learn; where it is served, make it a stretto.LearningPolicy" in told.err
