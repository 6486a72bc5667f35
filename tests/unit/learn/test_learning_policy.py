"""A policy that learns where it is served comes to what a training of the same runs comes to."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

import stretto
from stretto import Annotation, LearningPolicy, Run, SoftmaxPolicy
from stretto.learn.judged import FILE
from stretto.learn.learning_policy import UNJUDGED
from stretto.learn.options import TrainOptions
from stretto.learn.reflect import reflect
from stretto.learn.rollouts import Rollouts
from stretto.learn.tasks import Task, requests_of
from stretto.learn.train import train
from stretto.learn.update import UpdateReport
from stretto.types.budget import Budget, BudgetSpec
from stretto.types.enums import Effect
from stretto.types.errors import StoreError, UsageError
from stretto.types.ids import RunId, StepPath
from stretto.types.learning import Reward
from stretto.types.messages import Call, Request, RunInfo
from stretto.types.protocols import Opens, Reflects
from stretto.types.signals import Signal

COLOURS = ("red", "green", "blue")

JUDGE = """
@stretto.reward(inline=True)
def right(action: str, context: stretto.Context) -> float | None:
    return None if context.reference is None else float(action == context.reference)
"""

PAINTER = 'stretto.SoftmaxPolicy("painter", ("red", "green", "blue"), state=(), text_scale=1.0)'

HERE = f"""
import stretto

painter = {PAINTER}
{JUDGE}
"""

THERE = f"""
import stretto

painter = stretto.LearningPolicy({PAINTER}, "FOLDER", tasks_per_update=3, group_size=4, learning_rate=0.2)
{JUDGE}
"""

WORKFLOW = """
stretto: 1
name: paint
version: 1.0.0
durability: run
contract: { input: { words: "string[1,99]" }, reward: { right: 1.0 } }
components: components.py
steps:
  - { name: paint, component: painter, input_mapping: { words: "input.words" } }
  - { name: again, component: painter, input_mapping: { words: "input.words" } }
  - { name: judge, component: right, input_mapping: { action: "steps.again.action" } }
"""

TASKS = [Task(name=colour, input={"words": f"paint it {colour}"}, reference=colour) for colour in COLOURS]
OPTIONS = TrainOptions(updates=4, tasks_per_update=3, group_size=4, learning_rate=0.2)


def loaded(folder: Path, components: str) -> stretto.Workflow:
    folder.mkdir(exist_ok=True)
    (folder / "components.py").write_text(components.replace("FOLDER", str(folder / "learnt")))
    (folder / "workflow.yaml").write_text(WORKFLOW)
    return stretto.load(folder / "workflow.yaml", store=folder / "runs.db")


async def trained(folder: Path) -> Sequence[UpdateReport]:
    """What `stretto train` comes to."""
    async with loaded(folder, HERE) as workflow:
        rollouts = Rollouts(workflow, concurrency=3)
        policy = cast("SoftmaxPolicy", workflow.component("painter"))
        result = await train(
            policy, TASKS, rollout=rollouts.make, read=rollouts.read, folder=folder / "t", options=OPTIONS
        )
    return result.reports


async def taught(workflow: stretto.Workflow, updates: Sequence[int]) -> list[list[Run]]:
    """Make the runs of these updates, and say after each how they were judged."""
    made = []
    for update in updates:
        asked = [
            stretto.RunRequest(
                input=dict(each.task.input), reference=each.task.reference, seed=each.seed, labels=each.labels
            )
            for each in requests_of(TASKS, OPTIONS, update)
        ]
        runs = await workflow.run_many(asked, concurrency=3)
        told = await reflect(workflow, runs)
        assert [each.note for each in told if not each.accepted] == []
        made.append(runs)
    return made


async def test_it_comes_to_the_very_weights_of_a_training(tmp_path: Path) -> None:
    reports = await trained(tmp_path / "here")
    async with loaded(tmp_path / "there", THERE) as workflow:
        await taught(workflow, (1, 2))
        assert learner(workflow).reports == tuple(reports[:2])
    async with loaded(tmp_path / "there", THERE) as workflow:  # another process would go on so too
        await taught(workflow, (3, 4))
        assert learner(workflow).reports == tuple(reports)
    assert reports[-1].reward_mean > reports[0].reward_mean


def learner(workflow: stretto.Workflow) -> LearningPolicy:
    return cast("LearningPolicy", workflow.component("painter"))


# one policy, asked and told without a workflow


def policy(folder: Path, **options: Any) -> LearningPolicy:
    small = {"tasks_per_update": 1, "group_size": 2, **options}
    return LearningPolicy(SoftmaxPolicy("painter", COLOURS, state=(), text_scale=1.0), folder, **small)


@pytest.fixture
async def painter(tmp_path: Path) -> AsyncIterator[LearningPolicy]:
    made = policy(tmp_path / "learnt")
    await made.open()
    yield made
    await made.close()


def run_of(name: str, **changed: Any) -> RunInfo:
    info = RunInfo(
        id=RunId(name), workflow_run_id=f"w@1.{name}", workflow="w", version="1", seed=len(name), labels={"task": "t"}
    )
    return msgspec.structs.replace(info, **changed)


async def choose(painter: LearningPolicy, run: str, path: str = "paint", **more: Any) -> str:
    call = Call(run_of(run), StepPath(path), 1, "", Effect.READ, None, Budget.start(BudgetSpec(), 0.0))
    response = await painter(Request({"words": "paint it red", **more}, call))
    assert response.actions[0].policy == painter.acting.weights_digest
    return response.actions[0].chosen


def signal(name: str, reward: float | None, path: str = "paint", **changed: Any) -> Signal:
    made = Signal(run=run_of(name), path=StepPath(path), reward=reward, terms=(Reward(name="right", value=reward),))
    return msgspec.structs.replace(made, **changed)


async def test_an_update_is_made_of_so_many_runs_each_judged_in_every_choice(painter: LearningPolicy) -> None:
    before = painter.acting.weights_digest
    for run, path in (("a", "paint"), ("a", "again"), ("bb", "paint")):
        await choose(painter, run, path)
    assert await painter.reflect(signal("bb", 0.0)) is True
    assert await painter.reflect(signal("a", 1.0)) is True
    assert painter.acting.weights_digest == before
    assert await painter.reflect(signal("a", 1.0, "again")) is True
    assert painter.acting.weights_digest != before
    [report] = painter.reports
    assert (report.runs, report.decisions, report.reward_mean) == (2, 3, 0.5)


async def test_credits_of_all_choices_of_a_run_stand_for_its_reward(painter: LearningPolicy) -> None:
    for run in ("a", "bb"):
        await choose(painter, run)
        await choose(painter, run, "again")
    for run, earned in (("a", 0.25), ("bb", 0.0)):
        await painter.reflect(signal(run, 1.0, credit=earned))
        await painter.reflect(signal(run, 1.0, "again", credit=0.5))
    assert painter.reports[0].reward_mean == pytest.approx((0.75 + 0.5) / 2)


@pytest.mark.parametrize(
    ("told", "says"),
    [
        (signal("elsewhere", 1.0), "no choice of run elsewhere at paint is remembered here"),
        (signal("a", 1.0, "never"), "no choice of run a at never is remembered here"),
        (signal("a", None), "the reward of run a is unknown, which teaches nothing"),
        (signal("a", 1.0, run=run_of("a", labels={})), "run a has no label `task`"),
        (signal("forced", 1.0), "nothing was drawn in run forced: one alternative was available"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
async def test_what_teaches_nothing_is_told(told: Signal, says: str, painter: LearningPolicy) -> None:
    await choose(painter, "a")
    await choose(painter, "forced", available=["blue"])
    said = await painter.reflect(told)
    assert isinstance(said, str)
    assert said.startswith(says)


async def test_a_run_is_learnt_from_once(painter: LearningPolicy) -> None:
    await choose(painter, "a")
    assert await painter.reflect(signal("a", 1.0)) is True
    assert await painter.reflect(signal("a", 0.0)) == "run a was judged before, and is learnt from once"


async def test_a_choice_that_was_made_again_counts_once(painter: LearningPolicy) -> None:
    for run in ("a", "bb"):
        assert await choose(painter, run) == await choose(painter, run)
        await painter.reflect(signal(run, float(run == "a")))
    assert painter.reports[0].decisions == 2


async def test_choices_of_older_weights_are_learnt_from_too(painter: LearningPolicy) -> None:
    for run in ("a", "bb", "late"):
        await choose(painter, run)
    for run in ("a", "bb"):
        await painter.reflect(signal(run, float(run == "a")))
    await choose(painter, "newer")
    for run in ("late", "newer"):
        assert await painter.reflect(signal(run, float(run == "late"))) is True
    assert [report.decisions for report in painter.reports] == [2, 2]


async def test_after_its_updates_it_chooses_and_learns_no_more(tmp_path: Path) -> None:
    painter = policy(tmp_path / "learnt", updates=1)
    for run in ("a", "bb", "ccc"):
        await choose(painter, run)
    said = [await painter.reflect(signal(run, 1.0)) for run in ("a", "bb", "ccc")]
    assert said[:2] == [True, True]
    assert said[2] == "it has made its 1 updates, and learns no more; raise updates to let it"
    await painter.close()


async def test_a_reward_that_no_update_can_hold_is_told_and_the_weights_stay(painter: LearningPolicy) -> None:
    before = painter.acting.weights_digest
    for run, reward in (("a", 1e200), ("bb", 0.0)):
        await choose(painter, run)
        said = await painter.reflect(signal(run, reward))
    assert said == "a run's reward is 1e+200; expected at most 1e+100 either way: scale it down"
    assert (painter.acting.weights_digest, painter.reports) == (before, ())


async def test_a_disk_that_refuses_leaves_it_where_it_was(
    painter: LearningPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreError("the disk is full")

    before = painter.acting.weights_digest
    for run in ("a", "bb", "ccc", "dddd"):
        await choose(painter, run)
    with monkeypatch.context() as patched:
        patched.setattr("stretto.learn.state.TrainFolder.save", full)
        await painter.reflect(signal("a", 1.0))
        with pytest.raises(StoreError, match="full"):
            await painter.reflect(signal("bb", 0.0))
    assert painter.acting.weights_digest == before
    for run in ("ccc", "dddd"):
        assert await painter.reflect(signal(run, float(run == "ccc"))) is True
    assert [(report.update, report.runs, report.reward_mean) for report in painter.reports] == [
        (1, 2, 0.5),
        (2, 2, 0.5),
    ]
    assert painter.reports[0].acted == before


async def test_what_waits_for_an_update_or_a_judgement_outlasts_the_process(tmp_path: Path) -> None:
    first = policy(tmp_path / "learnt")
    for run, path in (("a", "paint"), ("bb", "paint"), ("bb", "again")):
        await choose(first, run, path)
    await first.reflect(signal("a", 1.0))
    await first.reflect(signal("bb", 0.0, credit=0.25))
    await first.close()
    second = policy(tmp_path / "learnt")
    assert await second.reflect(signal("bb", 0.0, "again", credit=0.5)) is True
    [report] = second.reports
    assert (report.runs, report.decisions, report.reward_mean) == (2, 3, (1.0 + 0.75) / 2)
    await second.close()


async def test_choices_are_taken_up_once_and_a_file_of_something_else_is_told(tmp_path: Path) -> None:
    file = tmp_path / "learnt" / UNJUDGED
    first = policy(tmp_path / "learnt")
    await choose(first, "a")
    await first.close()
    second = policy(tmp_path / "learnt")
    await second.open()
    assert not file.exists()  # a crash from here on would learn from it twice
    await second.close()
    assert file.read_bytes().count(b"\n") == 1
    file.write_bytes(b"{}\n")
    with pytest.raises(StoreError, match=r"unjudged.jsonl is damaged: .* Remove it; its choices are lost"):
        await policy(tmp_path / "learnt").open()
    file.unlink()
    third = policy(tmp_path / "learnt")
    await third.open()
    await third.close()


async def test_what_an_update_learnt_from_before_the_process_died_is_not_learnt_from_again(
    painter: LearningPolicy, tmp_path: Path
) -> None:
    file = tmp_path / "learnt" / FILE
    for run in ("a", "bb", "ccc"):
        await choose(painter, run)
    await painter.reflect(signal("a", 1.0))
    waiting = file.read_bytes()
    await painter.reflect(signal("bb", 0.0))
    assert b"reward" not in file.read_bytes()
    await painter.reflect(signal("ccc", 0.25))
    behind = file.read_bytes().partition(b"\n")[2]
    await painter.close()
    lost = waiting + waiting.partition(b"\n")[2].replace(b'"a"', b'"bb"') + behind  # the weights were kept, no more
    file.write_bytes(lost)
    again = policy(tmp_path / "learnt")
    await choose(again, "dddd")
    await again.reflect(signal("dddd", 0.75))
    assert [(report.runs, report.reward_mean) for report in again.reports] == [(2, 0.5), (2, 0.5)]
    await again.close()


async def test_half_a_line_was_not_taken_and_a_line_that_is_none_is_told(
    painter: LearningPolicy, tmp_path: Path
) -> None:
    file = tmp_path / "learnt" / FILE
    await choose(painter, "a")
    await painter.reflect(signal("a", 1.0))
    await painter.close()
    whole = file.read_bytes()
    file.write_bytes(whole + whole.partition(b"\n")[2][:40])
    again = policy(tmp_path / "learnt")
    await again.open()
    await again.close()
    assert file.read_bytes() == whole
    file.write_bytes(whole + b"{}\n")
    with pytest.raises(StoreError, match=r"judged.jsonl is damaged: .* Remove it; the runs that waited in it are not"):
        await again.open()


async def test_whoever_gives_up_waiting_stops_no_update(painter: LearningPolicy) -> None:
    for run in ("a", "bb"):
        await choose(painter, run)
    await painter.reflect(signal("a", 1.0))
    telling = asyncio.ensure_future(painter.reflect(signal("bb", 0.0)))
    await asyncio.sleep(0)
    telling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await telling
    await painter.close()  # waits for its turn
    await painter.open()
    assert painter.reports[0].runs == 2


async def test_two_do_not_learn_in_one_folder(painter: LearningPolicy, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="another training is at work"):
        await policy(tmp_path / "learnt").open()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"learning_rate": 0.0}, "learning_rate is 0.0; expected a number above 0"),
        ({"rate": 1}, "policy 'painter': .*unknown field `rate`.* What can be said of its learning is updates"),
        ({"downgraded": "keep"}, "`downgraded` has no effect here: whoever made the run knows"),
        ({"seed": 3}, "`seed` has no effect here: it is that of the minibatches"),
    ],
)
def test_an_option_without_effect_or_sense_is_refused(options: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=says):
        policy(tmp_path, **options)


def test_a_policy_that_explores_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="explores nothing; set sample: true"):
        LearningPolicy(SoftmaxPolicy("painter", COLOURS, sample=False), tmp_path)


def test_its_card_says_that_it_learns_and_does_not_change_with_what_it_learns(tmp_path: Path) -> None:
    painter = policy(tmp_path)
    assert isinstance(painter, Reflects)
    assert isinstance(painter, Opens)
    assert painter.card.description == "Chooses one of 3 alternatives; learns from reward where it is served."
    assert painter.card.digest == policy(tmp_path / "other").card.digest
    assert painter.card.digest not in (policy(tmp_path, learning_rate=0.1).card.digest, painter.acting.card.digest)


async def test_of_a_run_that_an_accident_downgraded_no_reward_is_told(tmp_path: Path) -> None:
    async with loaded(tmp_path / "there", THERE) as workflow:
        [[run, *_]] = await taught(workflow, (1,))
        run = workflow.store.get(run.id)
        run.steps[-1].reason = stretto.Reason.TIMEOUT
        workflow.store.annotate(Annotation(run_id=run.id, name="reward", value=1.0, at_ns=1))
        told = await reflect(workflow, [run])
    assert [(each.reward, each.accepted) for each in told] == [(None, False), (None, False)]
