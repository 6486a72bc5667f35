"""`--checkpoint`: trained weights act, in a run that is made, gone on with or replayed; what has none is told."""

import re
import shlex
from pathlib import Path
from typing import cast

import numpy as np
import pytest

import stretto
from stretto.cli.checkpoints import each_with_checkpoints
from stretto.components.policy_weights import PolicyWeights
from tests.unit.cli.conftest import Cli, Told

COMPONENTS = """
import stretto

painter = stretto.SoftmaxPolicy("painter", ("red", "blue"), state=(), buckets=8)

@stretto.component("bucket", effects="pure", inline=True)
def bucket(colour: str) -> dict[str, str]:
    return {"holds": colour}

@stretto.component("wall", effects="write", inline=True)
def wall(colour: str) -> dict[str, str]:
    raise OSError("the line went dead")
"""

WORKFLOW = """
stretto: 1
name: paint
version: 1.0.0
components: components.py
steps:
  - {name: paint, component: painter, input_mapping: {words: "input.words"}}
  - {name: fill, component: bucket, input_mapping: {colour: "steps.paint.action"}}
output: {colour: "steps.fill.holds"}
"""

FILLING = """
stretto: 1
name: fill
components: filling.py
steps: [{name: fill, component: bucket, input_mapping: {colour: "input.colour"}}]
output: {colour: "steps.fill.holds"}
"""


@pytest.fixture
def weights(folder: Path) -> Path:
    """Weights under which blue is certain, in a folder with a workflow that paints."""
    (folder / "components.py").write_text(COMPONENTS)
    (folder / "paint.yaml").write_text(WORKFLOW)
    (folder / "doubt.yaml").write_text(WORKFLOW.replace("bucket", "wall") + "durability: step\n")
    (folder / "fill.yaml").write_text(FILLING)
    (folder / "filling.py").write_text(COMPONENTS.replace("painter", "plasterer"))
    workflow = stretto.load(folder / "paint.yaml", store=folder / "runs.db")
    spec = cast("stretto.SoftmaxPolicy", workflow.component("painter")).spec
    dense = np.tile([0.0, 99.0], (8, 1))
    return PolicyWeights.from_dense(spec, dense).save(folder / "weights")


def test_the_weights_given_act_and_are_pinned_in_the_run(cli: Cli, weights: Path) -> None:
    for seed in range(4):
        told = cli("run", "paint.yaml", "-i", '{"words": "x"}', "--seed", str(seed), "--json",
                   "--checkpoint", f"painter={weights}")  # fmt: skip
        assert told.code == 0, told.err
        assert told.document["run"]["output"] == {"colour": "blue"}
        [action] = [action for step in told.document["run"]["steps"] for action in step.get("actions", [])]
        assert action["policy"] == weights.stem


def parked(cli: Cli, weights: Path) -> Told:
    """A run with these weights whose write nobody heard of."""
    return cli("run", "doubt.yaml", "-i", '{"words": "x"}', "--checkpoint", f"painter={weights}")


def test_what_is_printed_to_settle_a_write_goes_on_with_the_same_weights(cli: Cli, weights: Path) -> None:
    told = parked(cli, weights)
    hint = re.search(r"then: stretto (.*) --happened OUTPUT or --did-not-happen", told.err)
    assert hint is not None
    again = cli(*shlex.split(hint[1]), "--happened", '{"holds": "blue"}')
    assert (again.code, again.document) == (0, {"colour": "blue"})


def test_without_the_weights_a_run_does_not_go_on_and_it_is_told_how_to_give_them(cli: Cli, weights: Path) -> None:
    parked(cli, weights)
    told = cli("runs", "resume", "last", "--workflow", "doubt.yaml", "--did-not-happen")
    assert told.code == 1
    assert "changed since: painter" in told.err
    assert "Weights that it was made with must be given again: --checkpoint painter=PATH" in told.err
    assert "settled" not in told.err
    assert "when it was made with --checkpoint, give that again" in " ".join(cli("runs", "show", "last").out.split())


def test_a_replay_is_made_with_the_weights_given(cli: Cli, weights: Path) -> None:
    made = ("--workflow", "paint.yaml", "--json")
    first = cli("run", "paint.yaml", "-i", '{"words": "x"}', "--json", "--checkpoint", f"painter={weights}").document
    same = cli("replay", first["run"]["id"], *made, "--checkpoint", f"painter={weights}").document["run"]
    other = cli("replay", first["run"]["id"], *made).document["run"]
    assert [step["path"] for step in same["steps"] if step.get("reused_from")] == ["paint", "fill"]
    assert "paint" not in [step["path"] for step in other["steps"] if step.get("reused_from")]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("bucket=w", "--checkpoint bucket=w: 'bucket' is of kind python; it has no weights"),
        ("paiter=w", "workflow 'paint' has no component 'paiter'; it has: bucket, painter"),
        ("w.safetensors", "--checkpoint 'w.safetensors' is no pair"),
        (
            "gone",
            "'gone' is no pair, and there is no such folder; expected NAME=PATH, or the FOLDER of a joint training",
        ),
        ("painter=gone.safetensors", "gone.safetensors"),
    ],
)
def test_weights_that_cannot_act_are_told_and_nothing_is_run(cli: Cli, weights: Path, given: str, says: str) -> None:
    told = cli("run", "paint.yaml", "-i", '{"words": "x"}', "--checkpoint", given)
    assert told.code in (1, 2)
    assert says in told.err
    assert "bug" not in told.err
    assert "no runs" in cli("runs", "show", "last").err or "no store" in cli("runs", "show", "last").err


def test_of_several_workflows_each_is_given_the_weights_of_its_own_components(folder: Path, weights: Path) -> None:
    painting, filling = stretto.load(folder / "paint.yaml"), stretto.load(folder / "fill.yaml")
    painted, other = each_with_checkpoints((painting, filling), {"painter": str(weights)})
    assert painted.component("painter").card.digest != painting.component("painter").card.digest
    assert other is filling
