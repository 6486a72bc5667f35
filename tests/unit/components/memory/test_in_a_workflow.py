"""A searched memory in a workflow: its embedding is a step inside, and runs to learn from have one of their own."""

from pathlib import Path
from typing import Any

import pytest

import stretto
from stretto.types.errors import SpecError

COMPONENTS = """
import stretto

@stretto.component("embedder", "1.0.0", effects="pure")
async def embed(texts: list[str]) -> dict:
    return {"vectors": VECTORS}

@stretto.component("fails", "1.0.0", effects="read")
async def fails(texts: list[str]) -> dict:
    raise stretto.ComponentError("no model today", stretto.Code.UNAVAILABLE)
"""

WORKFLOW = """
stretto: 1
name: notes
version: 1.0.0
durability: DURABILITY
components:
  - components.py
  - notes: { kind: memory, search: { embed: EMBED, dimensions: 2 } }
steps:
  - name: ask
    component: notes
    input_mapping: { remember: "input.words", query: "input.words" }
output: { found: "steps.ask.found.map(each, each.value)" }
"""


def load(
    folder: Path, embed: str = "embedder", vectors: str = "[[1.0, 0.5]] * len(texts)", durability: str = "run"
) -> Any:
    (folder / "components.py").write_text(COMPONENTS.replace("VECTORS", vectors))
    text = WORKFLOW.replace("EMBED", embed).replace("DURABILITY", durability)
    (folder / "workflow.yaml").write_text(text)
    return stretto.load(folder / "workflow.yaml", store=folder / "runs.db")


def told(run: stretto.Run) -> Any:
    """What the memory answered."""
    return next(step.output_value for step in run.steps if step.path == "ask")


async def test_the_embedding_s_call_is_a_step_inside(tmp_path: Path) -> None:
    async with load(tmp_path) as workflow:
        first = await workflow.run({"words": "tea"})
        second = await workflow.run({"words": "coffee"})
        assert (first.output_value, second.output_value) == ({"found": []}, {"found": ["tea"]})
        assert {step.path: step.component for step in second.steps} == {"ask": "notes", "ask/embedder#1": "embedder"}
        assert told(second)["found"][0]["source"] == f"{first.id}/ask"


async def test_runs_to_learn_from_find_nothing_of_each_other_s(tmp_path: Path) -> None:
    async with load(tmp_path) as workflow:
        await workflow.run({"words": "tea"})
        async with workflow.for_rollouts() as rollouts:
            for _ in range(2):
                assert (await rollouts.run({"words": "coffee"})).output_value == {"found": []}
        assert (await workflow.run({"words": "water"})).output_value == {"found": ["tea"]}


async def test_a_replay_takes_what_was_found_from_the_record(tmp_path: Path) -> None:
    async with load(tmp_path) as workflow:
        await workflow.run({"words": "tea"})
        run = await workflow.run({"words": "coffee"})
        again = await workflow.replay(run)
        assert again.output_value == {"found": ["tea"]}
        assert (await workflow.run({"words": "milk"})).output_value == {"found": ["coffee", "tea"]}


@pytest.mark.parametrize(
    ("embed", "vectors", "says"),
    [
        ("fails", "", "no model today"),
        ("embedder", "[[1.0]] * len(texts)", "answered 1 numbers as vector 0; expected 2"),
        ("embedder", "[[float('nan'), 1.0]] * len(texts)", "not JSON"),
    ],
)
@pytest.mark.parametrize("durability", ["run", "step"])
async def test_what_cannot_be_embedded_is_not_kept_and_not_in_doubt(
    tmp_path: Path, embed: str, vectors: str, says: str, durability: str
) -> None:
    async with load(tmp_path, embed, vectors or "[]", durability) as workflow:
        run = await workflow.run({"words": "tea"})
        assert run.status == "failed"
        assert says in run.error.message
        assert told(await workflow.run({"words": None})) == {"recent": []}


async def test_an_embedding_that_is_not_there_is_told_when_the_workflow_loads(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        load(tmp_path, "embeder")
    (problem,) = caught.value.problems
    assert (problem.code, problem.line, problem.suggestion) == ("plan.unknown_component", 8, "embedder")


async def test_a_query_of_a_memory_that_is_not_searched_is_told_when_the_workflow_loads(tmp_path: Path) -> None:
    load(tmp_path)
    text = (tmp_path / "workflow.yaml").read_text().replace(", search: { embed: embedder, dimensions: 2 }", "")
    (tmp_path / "workflow.yaml").write_text(text)
    with pytest.raises(SpecError, match="query"):
        stretto.load(tmp_path / "workflow.yaml")
