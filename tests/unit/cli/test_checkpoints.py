"""`stretto run --checkpoint`: trained weights act, and what has none is told."""

from pathlib import Path
from typing import cast

import numpy as np
import pytest

import stretto
from stretto.components.policy_weights import PolicyWeights
from tests.unit.cli.conftest import Cli

COMPONENTS = """
import stretto

painter = stretto.SoftmaxPolicy("painter", ("red", "blue"), state=(), buckets=8)

@stretto.component("bucket", effects="pure", inline=True)
def bucket(colour: str) -> dict[str, str]:
    return {"holds": colour}
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


@pytest.fixture
def weights(folder: Path) -> Path:
    """Weights under which blue is certain, in a folder with a workflow that paints."""
    (folder / "components.py").write_text(COMPONENTS)
    (folder / "paint.yaml").write_text(WORKFLOW)
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


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("bucket=w", "--checkpoint bucket=w: 'bucket' is of kind python; it has no weights"),
        ("paiter=w", "workflow 'paint' has no component 'paiter'; it has: bucket, painter"),
        ("w.safetensors", "--checkpoint 'w.safetensors' is no pair"),
        ("painter=gone.safetensors", "gone.safetensors"),
    ],
)
def test_weights_that_cannot_act_are_told_and_nothing_is_run(cli: Cli, weights: Path, given: str, says: str) -> None:
    told = cli("run", "paint.yaml", "-i", '{"words": "x"}', "--checkpoint", given)
    assert told.code in (1, 2)
    assert says in told.err
    assert "bug" not in told.err
    assert "no runs" in cli("runs", "show", "last").err or "no store" in cli("runs", "show", "last").err
