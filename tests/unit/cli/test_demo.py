"""What the demo tells of its runs: pairs, intervals, what is unknown; and where it finds its example."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from stretto.cli.demo import commands, telling_run
from stretto.cli.demo.document import flat
from stretto.cli.demo.figures import Figures, fold
from stretto.cli.demo.place import PLACES, example_folder
from stretto.cli.demo.study import QUICK, Size, Study, seed_of
from stretto.learn.evaluate import Metric
from stretto.learn.imitate import ImitationReport
from stretto.learn.train import TrainResult
from stretto.learn.usable import Recorded
from stretto.record.model import NULL, Manifest, Run, StepRecord
from stretto.types.enums import RunStatus, StepStatus
from stretto.types.errors import UsageError
from stretto.types.ids import Digest, RunId, StepPath
from stretto.types.learning import Reward
from tests.unit.cli.conftest import Cli

METRICS = {"reward": Metric(), "share": Metric("right", over="gold"), "tasks": Metric("database")}
ZERO = Digest("0" * 64)


def recorded(task: str, seed: int, reward: float | None, right: float = 1.0, steps: int = 1) -> Recorded:
    """A run whose reward is that of `database`; two gold writes."""
    terms = (
        Reward(name="database", value=reward),
        Reward(name="right", value=right, weight=0.0),
        Reward(name="gold", value=2.0, weight=0.0),
    )
    run = Run(
        id=RunId(f"{task}/{seed}/{steps}"), workflow_run_id="w", input=NULL, input_digest=ZERO, started_at_ns=0,
        manifest=Manifest(workflow="w", version="1.0.0", plan=ZERO, components={}), status=RunStatus.OK,
        labels={"task": task}, seed=seed, rewards=terms, reward=reward,
        steps=[StepRecord(path=StepPath(f"s{n}"), status=StepStatus.OK, component="c") for n in range(steps)],
    )  # fmt: skip
    return Recorded(run=run)


BEFORE = [recorded("a", 1, 0.0, 0.0), recorded("a", 2, 1.0), recorded("b", 1, 0.0), recorded("idle", 1, None)]
AFTER = [recorded("a", 1, 1.0, 2.0), recorded("a", 2, 1.0), recorded("b", 1, None), recorded("idle", 1, None)]


def folded(**arms: Sequence[Recorded]) -> Figures:
    return fold({"before": BEFORE, "after": AFTER, **arms}, METRICS, lambda task: task != "idle")


def test_an_unknown_reward_is_left_out_and_counted_never_zero() -> None:
    after = folded().sides["after"]
    assert (after.figures["reward"].value, after.figures["reward"].runs) == (1.0, 2)
    assert (after.runs, after.unknown) == (3, 1)


def test_only_pairs_known_on_both_sides_make_the_difference() -> None:
    difference = folded().difference["reward"]
    assert (difference.value, difference.runs) == (0.5, 2)  # b is unknown afterwards


def test_a_share_is_of_all_gold_writes_and_not_a_mean_of_shares() -> None:
    assert folded().sides["after"].figures["share"].value == pytest.approx(4 / 6)


def test_customers_without_gold_writes_stand_apart() -> None:
    idle = [recorded("a", 1, 0.0), recorded("a", 2, 0.0), recorded("b", 1, 0.0), recorded("idle", 1, 1.0)]
    figures = folded(baseline_nothing=idle)
    assert figures.sides["baseline_nothing"].figures["tasks"].value == 0.0
    assert figures.sides["baseline_nothing"].apart["tasks"].value == 1.0
    assert figures.sides["before"].apart == {}  # known for none of them
    assert figures.over["baseline_nothing"]["reward"].value == 1.0


def test_a_figure_is_told_with_its_interval_and_how_many_runs_it_rests_on() -> None:
    told = flat(folded().difference)
    assert set(told) == {f"{name}{end}" for name in METRICS for end in ("", "_low", "_high", "_runs")}


def study(arms: Mapping[str, Sequence[Recorded]]) -> Study:
    """A study of which only the runs matter."""
    nothing = TrainResult(policy=None, checkpoint=Path("w"), reports=())  # type: ignore[arg-type]  # not looked at
    return Study(arms=arms, training=nothing, imitation=ImitationReport(examples=0, loss=0, accuracy=0), seconds={})


def test_the_run_shown_is_the_shortest_of_those_that_gained_most() -> None:
    before = [recorded("a", 1, 0.0), recorded("b", 1, 0.0), recorded("c", 1, 1.0), recorded("idle", 1, 0.0)]
    after = [recorded("a", 1, 1.0, steps=3), recorded("b", 1, 1.0, steps=2), recorded("c", 1, 1.0), before[3]]
    shown = telling_run(study({"before": before, "after": after}), lambda task: task != "idle")
    assert shown.labels["task"] == "b"


def test_what_to_type_next_is_quoted_and_names_the_program_that_a_shell_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.cli.demo.stretto_command", lambda: ".venv/bin/stretto")
    run, store = recorded("a", 1, 1.0).run, Path("my store/runs.db")
    kept = "--store 'my store/runs.db'"
    asking = """run retail/workflow.yaml --input '{"words":"it'"'"'s"}' --checkpoint planner=w"""
    assert commands(run, "planner=w", {"words": "it's"}, Path("retail/workflow.yaml"), store) == [
        f".venv/bin/stretto runs show a/1/1 --io {kept}",
        f".venv/bin/stretto runs list --purpose after {kept}",
        f".venv/bin/stretto {asking} {kept}",
    ]


def test_the_example_is_found_beside_the_source() -> None:
    assert example_folder() == PLACES[0]


def test_a_wheel_carries_the_example(tmp_path: Path) -> None:
    inside = tmp_path / "_examples" / "retail"
    inside.mkdir(parents=True)
    (inside / "workflow.yaml").touch()
    assert example_folder((tmp_path / "gone", inside)) == inside


def test_an_example_that_is_nowhere_is_told_with_the_places(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone nor in .*also-gone"):
        example_folder((tmp_path / "gone", tmp_path / "also-gone"))


@pytest.mark.parametrize("seeds", ["0", "101", "99999999999"])
def test_a_number_of_seeds_that_takes_for_ever_is_refused(cli: Cli, folder: Path, seeds: str) -> None:
    told = cli("demo", "--seeds", seeds)
    assert told.code == 2
    assert "Invalid value for '--seeds'" in told.err
    assert not (folder / ".stretto").exists()


@pytest.mark.parametrize("size", [Size(), QUICK])
def test_the_demo_trains_on_at_most_500_runs(size: Size) -> None:
    options = size.training
    assert options.updates * options.tasks_per_update * options.group_size <= 500


def test_no_two_customers_draw_the_same_numbers() -> None:
    seeds = {seed_of(task, number) for task in ("a", "b", "1") for number in (1, 2, 11)}
    assert len(seeds) == 9
    assert all(0 <= seed < 2**63 for seed in seeds)
