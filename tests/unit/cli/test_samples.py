"""`stretto runs samples`: what it writes, what it says of what is left out, and what it refuses."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stretto.record.model import StepRecord
from stretto.store.sqlite import Store
from stretto.types.enums import Durability, Reason
from stretto.types.ids import new_run_id
from tests.unit.cli.conftest import Cli
from tests.unit.learn.test_tokens import completed
from tests.unit.learn.worlds import run_of, step_of


def kept(folder: Path, *rewards: float | None, steps: list[StepRecord] | None = None, **changed: Any) -> None:
    """A run of task ``t`` for each reward."""

    async def seal(store: Store, reward: float | None) -> None:
        run_id = new_run_id()
        run = run_of(run_id, steps or [completed()], reward, workflow_run_id=run_id, **changed)
        journal = await store.open(msgspec.structs.replace(run, status=None, steps=[], reward=None), Durability.RUN)
        for step in run.steps:
            journal.step(step)
        await journal.seal(run)

    with Store(folder / ".stretto" / "runs.db") as store:
        for reward in rewards:
            asyncio.run(seal(store, reward))


def lines(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


def test_samples_have_advantages_over_their_task(cli: Cli, folder: Path) -> None:
    kept(folder, 1.0, 0.0)
    told = cli("runs", "samples", "out.jsonl")
    assert (told.code, told.err) == (0, "")
    assert told.out == "2 samples of 2 runs in out.jsonl, 4 tokens to learn from\n"
    assert [line["advantage"] for line in lines(folder)] == pytest.approx([0.7071, -0.7071], abs=1e-4)
    assert cli("runs", "samples", "out.jsonl", "--advantage", "none", "--force").code == 0
    assert [line["advantage"] for line in lines(folder)] == [0.5, -0.5]


def test_what_is_left_out_and_what_teaches_nothing_is_said(cli: Cli, folder: Path) -> None:
    kept(folder, 1.0, None, 1.0)
    told = cli("runs", "samples", "out.jsonl", "--json")
    assert told.document == {
        "samples": 2,
        "runs": 2,
        "tokens": 4,
        "groups": 1,
        "singleton_groups": 0,
        "flat_groups": 1,
        "excluded": {"reward_unknown": 1},
        "component": "llm",
        "file": "out.jsonl",
    }
    told = cli("runs", "samples", "out.jsonl", "--force")
    assert "left out: reward_unknown: 1" in told.err
    assert "nothing can be learnt yet from 1 of 1 task: such a task has one run, or all of its" in " ".join(
        told.err.split()
    )


def test_a_prompt_without_ids_is_said(cli: Cli, folder: Path) -> None:
    kept(folder, 1.0, 0.0, steps=[completed(call={"prompt_ids": None})])
    told = cli("runs", "samples", "out.jsonl")
    assert "of 2 the server did not tell the prompt's ids; `request` holds what was asked" in told.err
    assert lines(folder)[0]["request"]["messages"] == [{"role": "user", "content": "hi"}]


def test_runs_that_an_accident_downgraded_can_be_kept(cli: Cli, folder: Path) -> None:
    kept(folder, 1.0, 0.0, steps=[completed(), step_of("api", {}, {}, reason=Reason.TIMEOUT)])
    assert "accident: 2" in cli("runs", "samples", "out.jsonl").err
    assert cli("runs", "samples", "out.jsonl", "--downgraded", "keep").code == 0


REFUSED = [
    ([], {"labels": {}}, 1, "none of 1 run has tokens of 'llm' to learn from (no_task: 1). Look at one with"),
    ([], {"steps": [completed(call={"logprobs": None})]}, 1, "to learn from (tokens_untold: 1)"),
    ([], {"steps": [step_of("api", {}, {})]}, 1, "no answer of a model is recorded in these runs"),
    (["--component", "judge"], {}, 1, "none of 1 run has tokens of 'judge' to learn from (no_decision: 1)"),
    (["--task", "none"], {}, 2, "no such run has ended in .stretto/runs.db, so nothing was written"),
    (["--advantage", "big"], {}, 2, "there is no --advantage 'big'; there are: std, batch, none"),
    (["--downgraded", "no"], {}, 2, "there is no --downgraded 'no'"),
]


@pytest.mark.parametrize(("flags", "changed", "code", "says"), REFUSED, ids=[each[3][:40] for each in REFUSED])
def test_where_nothing_is_left_nothing_is_written(
    cli: Cli, folder: Path, flags: list[str], changed: dict[str, Any], code: int, says: str
) -> None:
    kept(folder, 1.0, **changed)
    told = cli("runs", "samples", "out.jsonl", *flags)
    assert (told.code, told.out) == (code, "")
    assert says in " ".join(told.err.split())
    assert not (folder / "out.jsonl").exists()


def test_a_file_that_is_there_is_not_written_over_unless_told_to(cli: Cli, folder: Path) -> None:
    kept(folder, 1.0)
    (folder / "out.jsonl").write_text("mine")
    told = cli("runs", "samples", "out.jsonl")
    assert (told.code, "--force writes over it" in told.err) == (2, True)
    assert (folder / "out.jsonl").read_text() == "mine"
    assert cli("runs", "samples", "out.jsonl", "--force").code == 0


def test_a_place_that_cannot_be_written_is_said(cli: Cli, folder: Path) -> None:
    kept(folder, 1.0)
    told = cli("runs", "samples", "no/such/folder.jsonl")
    assert (told.code, "no/such/folder.jsonl cannot be written" in told.err) == (1, True)
