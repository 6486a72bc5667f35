"""The example `risk`: its rules, its networks in one run, and the table that it is taught with."""

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import stretto
from examples.risk.components import UTILITY
from examples.risk.judge import auc_of, judge, main
from examples.risk.table import split_of, tasks
from stretto.learn.tasks import Task
from stretto.types.enums import RunStatus
from stretto.types.errors import UsageError
from stretto.types.json import Json

WORKFLOW = Path(__file__).parents[3] / "examples" / "risk" / "workflow.yaml"

TABLE = Path(__file__).parents[4] / "shared" / "data" / "credit_taiwan" / "default_credit_card.csv.gz"

ACCOUNT: dict[str, Any] = {
    "limit": 120_000,
    "education": 2,
    "status": [-1, 2, 0, 0, 0, 2],
    "bills": [2682, 1725, 2682, 3272, 3455, 3261],
    "paid": [0, 1000, 1000, 1000, 0, 2000],
}


@pytest.fixture
def workflow(tmp_path: Path) -> Iterator[stretto.Workflow]:
    with stretto.load(WORKFLOW, store=tmp_path / "runs.db") as loaded:
        yield loaded


@pytest.mark.parametrize("defaulted", [True, False])
def test_a_run_is_worth_what_its_outcome_comes_to(workflow: stretto.Workflow, defaulted: bool) -> None:
    run = workflow.run_sync({"account": ACCOUNT}, seed=1, reference={"defaulted": defaulted})
    assert run.status is RunStatus.OK, run.error
    output: Any = run.output_value
    terms = {term.name: term.value for step in run.steps for term in step.rewards}
    assert terms["utility"] == UTILITY[output["outcome"]][defaulted]
    assert terms["calibration"] == pytest.approx(math.log(output["risk"] if defaulted else 1 - output["risk"]))
    assert sum(output["probabilities"]) == pytest.approx(1.0)


def test_a_run_whose_end_is_not_known_yet_has_an_outcome_and_no_reward(workflow: stretto.Workflow) -> None:
    run = workflow.run_sync({"account": ACCOUNT}, seed=1)
    assert run.status is RunStatus.OK, run.error
    assert run.reward is None


@pytest.mark.parametrize(
    ("status", "outcomes"),
    [
        pytest.param([3, 3, 2, 2, 2, 2], ("refer", "refer", "decline"), id="who is late now is not approved unseen"),
        pytest.param([-1, -1, 0, 0, 0, -1], ("approve", "refer", "refer"), id="nobody is declined without grounds"),
    ],
)
async def test_the_rules_have_the_last_word(tmp_path: Path, status: list[int], outcomes: tuple[str, ...]) -> None:
    async with stretto.load(WORKFLOW, store=tmp_path / "runs.db") as workflow:
        run = await workflow.run({"account": {**ACCOUNT, "status": status}}, seed=1)
        router: Any = next(step.output_value for step in run.steps if step.path == "router")
        for decision, outcome in zip(UTILITY, outcomes, strict=True):
            again: Any = await workflow.replay(run, outputs={"router": {**router, "decision": decision}})
            assert again.output_value["outcome"] == outcome


def test_a_card_is_in_the_same_part_whatever_table_it_stands_in() -> None:
    parts = Counter(split_of(str(number)) for number in range(10_000))
    assert parts["train"] == pytest.approx(6_000, abs=200)
    assert parts["test"] == pytest.approx(2_000, abs=160)
    assert split_of("17") == split_of("17")


def test_another_table_is_refused_with_what_it_lacks(tmp_path: Path) -> None:
    table = tmp_path / "other.csv"
    table.write_text("ID,LIMIT_BAL,default\n1,2,0\n")
    with pytest.raises(UsageError, match=r"other\.csv has no column SEX, EDUCATION, .*default\.payment\.next\.month"):
        next(tasks(table))


@pytest.mark.skipif(not TABLE.exists(), reason="the table of card holders is not here")
def test_the_table_becomes_tasks_that_the_workflow_takes(workflow: stretto.Workflow) -> None:
    read = list(tasks(TABLE, with_person=True))
    assert len(read) == len({task.name for task in read}) == 20_975
    for task in [*read[:10], *(task for task in read if _account(task)["education"] in (0, 5, 6))][:15]:
        run = workflow.run_sync(task.input, seed=1, reference=task.reference)
        assert run.status is RunStatus.OK, run.error


async def test_a_judge_tells_what_decisions_come_to_as_they_would_be_served() -> None:
    late: list[Json] = [2, 2, 2, 2, 2, 2]
    early: list[Json] = [-1, -1, -1, -1, -1, -1]
    cards = [
        Task(
            name=f"card-{number}",
            input={"account": {**ACCOUNT, "status": late if defaulted else early}},
            reference={"defaulted": defaulted},
        )
        for number, defaulted in enumerate([True, False, False, True])
    ]
    found = await judge(cards)
    assert found == await judge(cards)  # the likeliest, so nothing is drawn
    assert found.card_holders == 4
    assert found.auc in (0.0, 0.5, 1.0)  # two alike who default, two alike who do not
    shares = found.outcomes
    assert sum(shares.values()) == pytest.approx(1.0)
    assert set(shares.values()) <= {0.5, 1.0}


def test_an_auc_counts_pairs_in_their_right_order_and_halves_of_equal_ones() -> None:
    found = auc_of([0.9, 0.2, 0.2, 0.1], [True, True, False, False])
    assert found == pytest.approx((2 + 1.5) / 4)


def _account(task: Task) -> dict[str, Any]:
    return task.input["account"]  # type: ignore[return-value]  # as the table has it


def test_a_judge_of_a_part_without_tasks_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tasks.jsonl").write_text('{"name": "a", "input": {}, "labels": {"split": "train"}}')
    monkeypatch.setattr("sys.argv", ["judge", str(tmp_path / "tasks.jsonl")])
    with pytest.raises(SystemExit):
        main()
    assert "has no task of the split test" in capsys.readouterr().err
