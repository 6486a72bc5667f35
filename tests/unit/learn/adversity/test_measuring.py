"""A planner and executors beside each other, in a workflow of plain components."""

from pathlib import Path

import pytest

import stretto
from stretto.learn.adversity.measuring import Measuring, requests_for
from stretto.learn.adversity.vagueness import Sides, Vagueness, vagueness_of
from stretto.learn.tasks import Task
from stretto.types.errors import UsageError
from stretto.types.messages import Request, Response

COMPONENTS = """
from stretto import Context, component, reward

WANTED = ("refund", "exchange", "track")

@component("clear", effects="pure", inline=True)
def clear(query: str) -> dict[str, str | float]:
    return {"plan": query, "sure": float(len(query))}

@component("vague", effects="pure", inline=True)
def vague(query: str) -> dict[str, str | float]:
    return {"plan": "handle it", "sure": 1.0}

@component("forgiving", effects="pure", inline=True)
def forgiving(plan: str, sure: float, query: str) -> dict[str, str]:
    return {"action": plan if plan in WANTED else query}

@component("literal", effects="pure", inline=True)
def literal(plan: str, sure: float, query: str) -> dict[str, str]:
    return {"action": plan if plan in WANTED else "track"}

@component("refusing", effects="pure", inline=True)
def refusing(plan: str, sure: float, query: str) -> dict[str, str]:
    if plan not in WANTED:
        raise ValueError(f"what is {plan!r}?")
    return {"action": plan}

@component("careful", effects="pure", inline=True)
def careful(plan: str, sure: float, query: str) -> dict[str, str]:
    return {"action": plan if sure == len(plan) else "refund"}

@component("broken", effects="pure", inline=True)
def broken(plan: str, sure: float, query: str) -> dict[str, str]:
    return {"deed": plan}

@component("opened", effects="pure")
class Opened:
    async def open(self) -> None:
        self.words = WANTED

    async def close(self) -> None:
        del self.words

    async def __call__(self, plan: str, sure: float, query: str) -> dict[str, str]:
        return {"action": plan if plan in self.words else "refund"}

@reward(inline=True)
def right(action: str, context: Context) -> float:
    return float(action == context.reference)
"""

WORKFLOW = """
stretto: 1
name: desk
components: components.py
contract: {input: {query: string}}
steps:
  - {name: plan, component: PLANNER, input_mapping: {query: input.query}}
  - name: act
    component: EXECUTOR
    input_mapping: {plan: steps.plan.plan, sure: steps.plan.sure, query: input.query}
  - {name: right, component: right, input_mapping: {action: steps.act.action}}
output: {action: steps.act.action}
"""

WANTED = ("refund", "exchange", "track")
TASKS = [Task(name=f"t{n}", input={"query": WANTED[n % 3]}, reference=WANTED[n % 3]) for n in range(12)]


def desk(folder: Path, planner: str, executor: str = "forgiving") -> stretto.Workflow:
    (folder / "components.py").write_text(COMPONENTS)
    text = WORKFLOW.replace("PLANNER", planner).replace("EXECUTOR", executor)
    (folder / "workflow.yaml").write_text(text)
    return stretto.load(folder / "workflow.yaml", store=folder / "runs.db")


async def sides(workflow: stretto.Workflow, *strict: str, noise: float = 0.0, tasks: list[Task] = TASKS) -> Sides:
    measuring = Measuring(workflow, planner="plan", executor="act")
    others = {name: workflow.component(name) for name in strict}
    return await measuring.sides(requests_for(tasks, seed=3), others, noise)


async def measured(workflow: stretto.Workflow, *strict: str, noise: float = 0.0) -> Vagueness:
    return vagueness_of(await sides(workflow, *strict, noise=noise))


def shares(found: Vagueness) -> tuple[float, float]:
    assert found.vagueness is not None
    assert found.forgiveness is not None
    return found.vagueness.value, found.forgiveness.value


@pytest.mark.parametrize("name", ["noise", "messages"])
async def test_an_executor_takes_no_name_of_another_side(tmp_path: Path, name: str) -> None:
    workflow = desk(tmp_path, "clear")
    measuring = Measuring(workflow, planner="plan", executor="act")
    with pytest.raises(UsageError, match=f"'{name}' names a side of every measurement"):
        await measuring.sides(requests_for(TASKS), {name: workflow.component("literal")}, 0.5)


async def test_a_vague_planner_is_worth_nothing_to_who_goes_by_its_words(tmp_path: Path) -> None:
    found = await measured(desk(tmp_path, "vague"), "literal")
    assert found.own.value == 1.0
    assert found.strict["literal"].value == pytest.approx(1 / 3)  # whose wish it happens to be
    assert found.messages.value == 1.0
    vagueness, forgiveness = shares(found)
    assert vagueness > 0.6
    assert forgiveness == 1.0


async def test_a_clear_planner_is_worth_as_much_to_anybody_and_its_words_are_needed(tmp_path: Path) -> None:
    found = await measured(desk(tmp_path, "clear"), "literal", "refusing")
    assert shares(found)[0] == 0.0
    assert found.messages == found.answers  # what is said of another task is done for this one
    assert shares(found)[1] == 0.0


async def test_who_cannot_go_on_counts_as_who_does_no_better_than_chance(tmp_path: Path) -> None:
    workflow = desk(tmp_path, "vague")
    with pytest.raises(UsageError, match=r"with 'refusing' none of 12 runs succeeded.*what is 'handle it'"):
        await measured(workflow, "refusing")


async def test_each_side_has_the_same_tasks_and_seeds_and_says_what_was_put_in_place(tmp_path: Path) -> None:
    found = await sides(desk(tmp_path, "clear"), "literal", noise=0.5)
    asked = [(run.run.labels["task"], run.run.seed, run.run.labels["purpose"]) for run in found.own]
    assert [(task, purpose) for task, _, purpose in asked] == [(task.name, "vagueness") for task in TASKS]
    assert len({seed for _, seed, _ in asked}) == len(TASKS)
    where = {"act": [found.answers, found.strict["literal"]], "plan": [found.messages, found.strict["noise"]]}
    kinds: set[str] = set()
    for step, those in where.items():
        for side in those:
            assert [(run.run.labels["task"], run.run.seed, run.run.labels["purpose"]) for run in side] == asked
            for item in side:
                marked = {str(each.path): each.evidence["perturbed"] for each in item.run.steps if each.evidence}
                assert set(marked) == {step}
                kinds.update(str(each) for each in marked.values())
    assert len(kinds) == 3, kinds
    assert not any(step.evidence for item in found.own for step in item.run.steps)


async def test_answers_are_exchanged_one_for_one_and_never_with_itself(tmp_path: Path) -> None:
    tasks = [Task(name=f"t{n}", input={"query": f"q{n}"}) for n in range(9)]
    found = await sides(desk(tmp_path, "clear"), "literal", tasks=tasks)
    told = [item.run.steps[1].output_value["action"] for item in found.answers]
    assert sorted(told) == [f"q{n}" for n in range(9)]
    assert all(one != f"q{n}" for n, one in enumerate(told))


async def test_noise_blurs_numbers_that_are_read_by_what_they_vary(tmp_path: Path) -> None:
    tasks = [Task(name=f"t{n}", input={"query": "q" * (1 + n % 9)}) for n in range(200)]
    found = await sides(desk(tmp_path, "clear"), noise=0.5, tasks=tasks)
    heard = [item.run.steps[1].input_value["sure"] for item in found.strict["noise"]]
    apart = [one - len(task.input["query"]) for one, task in zip(heard, tasks, strict=True)]  # type: ignore[arg-type]
    spread = (sum(each * each for each in apart) / len(apart)) ** 0.5
    assert 0.4 < spread / 2.58 < 0.6  # of 1 to 9, the standard deviation is 2.58


async def test_noise_tells_who_hangs_on_the_last_digit_from_who_does_not(tmp_path: Path) -> None:
    exact = await measured(desk(tmp_path, "clear", "careful"), noise=0.5)
    loose = await measured(desk(tmp_path, "clear", "forgiving"), noise=0.5)
    assert shares(exact)[0] > 0.5
    assert shares(loose)[0] == 0.0


async def test_an_executor_that_no_workflow_opens_is_open_while_it_is_asked(tmp_path: Path) -> None:
    workflow = desk(tmp_path, "clear")
    opened = workflow.component("opened")
    assert (await measured(workflow, "opened")).strict["opened"].value == 1.0
    assert not hasattr(getattr(opened, "_instance", opened), "words")


async def test_retries_and_loops_are_answered_by_the_same_step_of_the_other_task(tmp_path: Path) -> None:
    workflow = desk(tmp_path, "clear")
    text = (tmp_path / "workflow.yaml").read_text()
    head, _, rest = text.partition("  - name: act\n")
    act, _, right = rest.partition("  - {name: right")
    body = "".join(f"      {line}\n" for line in f"  - name: act\n{act}".splitlines())
    text = f"{head}  - name: talk\n    repeat:\n      max_rounds: 2\n      steps:\n{body}  - {{name: right{right}"
    (tmp_path / "workflow.yaml").write_text(text.replace("steps.act.action", "steps.talk.last.act.action"))
    workflow = stretto.load(tmp_path / "workflow.yaml", store=tmp_path / "runs.db")
    measuring = Measuring(workflow, planner="plan", executor="talk/act")
    found = await measuring.sides(requests_for(TASKS, seed=3), {"literal": workflow.component("literal")})
    for item in found.answers:
        rounds = [step for step in item.run.steps if step.path.startswith("talk[")]
        assert len(rounds) == 2
        assert all(step.evidence for step in rounds)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"planner": "planer"}, "has no step 'planer' that calls a component; it has: plan, act, right"),
        ({"executor": "plan"}, "named as planner and as executor"),
    ],
)
def test_steps_that_are_none_are_refused(tmp_path: Path, change: dict[str, str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Measuring(
            desk(tmp_path, "clear"), planner=change.get("planner", "plan"), executor=change.get("executor", "act")
        )


@pytest.mark.parametrize(
    ("planner", "strict", "noise", "tasks", "told"),
    [
        ("clear", ["forgiving"], 0.0, TASKS, "'forgiving' is the executor itself"),
        ("clear", ["broken"], 0.0, TASKS, "with 'broken' none of 12 runs succeeded"),
        ("clear", ["literal"], 0.0, TASKS[:1], "answered in runs of one task"),
        ("vague", [], 0.5, TASKS, "has no number that varies"),
    ],
)
async def test_what_tells_nothing_is_refused(
    tmp_path: Path, planner: str, strict: list[str], noise: float, tasks: list[Task], told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        await sides(desk(tmp_path, planner), *strict, noise=noise, tasks=tasks)


async def test_noise_on_what_no_executor_reads_is_refused(tmp_path: Path) -> None:
    desk(tmp_path, "clear")
    text = (tmp_path / "workflow.yaml").read_text().replace("sure: steps.plan.sure", "sure: {value: 1.0}")
    (tmp_path / "workflow.yaml").write_text(text)
    workflow = stretto.load(tmp_path / "workflow.yaml", store=tmp_path / "runs.db")
    with pytest.raises(UsageError, match="it reads none of them"):
        await sides(workflow, noise=0.5)


async def test_a_component_of_another_kind_that_answers_is_an_executor_too(tmp_path: Path) -> None:
    workflow = desk(tmp_path, "vague")

    literal = workflow.component("literal")

    class Silent:
        card = literal.card

        async def __call__(self, request: Request) -> Response:
            return Response(output={"action": "refund"})

    measuring = Measuring(workflow, planner="plan", executor="act")
    found = vagueness_of(await measuring.sides(requests_for(TASKS, seed=3), {"silent": Silent()}))
    assert found.strict["silent"].value == pytest.approx(1 / 3)
