"""What a program asks of a workflow in the wrong way is told in words, and nothing is run."""

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

import pytest

import stretto
from stretto import Run, RunRequest, Workflow
from stretto.types.errors import InputError, StrettoError, UsageError
from tests.unit.runtime.conftest import WorkflowOf

ONE = """
stretto: 1
name: one
contract: {input: {n: int}, output: {n: int}}
steps:
  - {name: work, component: work, input_mapping: {n: input.n}}
output: {n: steps.work.n}
"""

A_LIST = "expected a list, each an input (a mapping) or a stretto.RunRequest"
A_REQUEST = "expected an input (a mapping) or a stretto.RunRequest"
A_COMPONENT = "expected what is declared with @stretto.component, or has a card and can be called"
A_COUNT = "expected a whole number from 1"


@stretto.component("work", effects="pure")
async def work(n: int) -> dict[str, int]:
    return {"n": 2 * n}


@pytest.fixture
def workflow(workflow_of: WorkflowOf) -> Workflow:
    return workflow_of(ONE, work)


class Carded:
    """Has a card, and cannot be called."""

    card = stretto.McpSession


CASES: list[tuple[str, dict[str, Any], type[StrettoError], str]] = [
    ("run", {"run_input": 3}, InputError, "expected an object, found int"),
    ("run", {"run_input": None}, InputError, "expected an object, found NoneType"),
    ("run", {"run_input": "n=3"}, InputError, "expected an object, found str"),
    ("run", {"run_input": {"n": object()}}, InputError, "/n: a value of type object is not JSON"),
    ("run", {"run_input": {"n": 1}, "labels": 0}, UsageError, "labels is 0; expected a mapping of text to text"),
    ("run", {"run_input": {"n": 1}, "resources": []}, UsageError, "resources is []; expected a mapping"),
    ("run", {"run_input": {"n": 1}, "baggage": ""}, UsageError, "baggage is ''; expected a mapping"),
    ("run", {"run_input": {"n": 1}, "budget": 3}, UsageError, "budget is 3; expected a BudgetSpec"),
    ("run", {"run_input": {"n": 1}, "budget": {"retries": 1}}, UsageError, "budget is {'retries': 1}; expected"),
    ("run_request", {"request": 3}, UsageError, "the request is 3; expected a stretto.RunRequest"),
    ("run_request", {"request": {"n": 1}}, UsageError, "the request is {'n': 1}; expected a stretto.RunRequest"),
    ("run_many", {"requests": None}, UsageError, f"requests is None; {A_LIST}"),
    ("run_many", {"requests": "text"}, UsageError, f"requests is 'text'; {A_LIST}"),
    ("run_many", {"requests": {"n": 1}}, UsageError, f"requests is {{'n': 1}}; {A_LIST}"),
    ("run_many", {"requests": 3}, UsageError, f"requests is 3; {A_LIST}"),
    ("run_many", {"requests": [{"n": 1}, 3]}, UsageError, f"request 1 is 3; {A_REQUEST}"),
    ("run_many", {"requests": [{"n": 1}, "ab"]}, UsageError, f"request 1 is 'ab'; {A_REQUEST}"),
    ("run_many", {"requests": [{"n": 1}, {"n": object()}]}, InputError, "/n: a value of type object is not JSON"),
    ("run_many", {"requests": [RunRequest(input=[1])]}, InputError, "request 0: the input of workflow 'one'"),  # type: ignore[arg-type]
    ("run_many", {"requests": [{"n": 1}], "concurrency": "4"}, UsageError, f"concurrency is '4'; {A_COUNT}"),
    ("run_many", {"requests": [{"n": 1}], "concurrency": 0}, UsageError, f"concurrency is 0; {A_COUNT}"),
    ("run_many", {"requests": [{"n": 1}], "concurrency": -1}, UsageError, f"concurrency is -1; {A_COUNT}"),
    ("run_many", {"requests": [{"n": 1}], "concurrency": True}, UsageError, f"concurrency is True; {A_COUNT}"),
    ("run_many", {"requests": [{"n": 1}], "concurrency": 1.5}, UsageError, f"concurrency is 1.5; {A_COUNT}"),
    ("run_many", {"requests": [], "concurrency": None}, UsageError, f"concurrency is None; {A_COUNT}"),
    ("run_many", {"requests": [{"n": 1}], "on_run": 3}, UsageError, "on_run is 3; expected a function"),
    (
        "run_many",
        {"requests": [{"n": 1}, RunRequest(input={"n": 1}, tenant=3)]},  # type: ignore[arg-type]
        UsageError,
        "request 1: tenant is 3; expected text",
    ),
    ("resume", {"run_id": 3}, UsageError, "the run that is asked for is 3; expected a run's id"),
    ("resume", {"run_id": ""}, UsageError, "the run that is asked for is ''; expected a run's id"),
    ("settle", {"run_id": 3, "path": "pay", "response": None}, UsageError, "the run that is asked for is 3;"),
    ("replay", {"run": 7}, UsageError, "the run to replay is 7; expected a stretto.Run, or the id of one"),
]


@pytest.mark.parametrize(("method", "arguments", "error", "says"), CASES)
async def test_what_cannot_be_run_is_refused_before_anything_is_opened(
    workflow: Workflow, method: str, arguments: dict[str, Any], error: type[StrettoError], says: str
) -> None:
    with pytest.raises(error) as caught:
        await getattr(workflow, method)(**arguments)
    assert says in str(caught.value)
    assert workflow.store.list() == []


class Told:
    """Is told of a run, by a call that must be awaited."""

    async def __call__(self, run: Run) -> None: ...

    async def told(self, run: Run) -> None: ...


async def told(run: Run) -> None: ...


async def telling(run: Run) -> AsyncIterator[Run]:
    yield run


def yielding(run: Run) -> Iterator[Run]:
    yield run


@pytest.mark.parametrize("on_run", [told, telling, yielding, Told(), Told().told, partial(told)])
async def test_an_on_run_whose_call_does_nothing_by_itself_is_refused(workflow: Workflow, on_run: Any) -> None:
    with pytest.raises(UsageError, match=r"on_run is .*; expected a plain function that takes a run"):
        await workflow.run_many([{"n": 1}], on_run=on_run)
    assert workflow.store.list() == []


@pytest.mark.parametrize("given", [3, None, "work", len, Carded, Carded()])
def test_what_is_no_component_is_refused(workflow: Workflow, given: Any) -> None:
    with pytest.raises(UsageError) as caught:
        workflow.with_component(given)
    assert A_COMPONENT in str(caught.value)


def test_what_a_decorator_declared_is_a_component(workflow: Workflow) -> None:
    @stretto.component("work", "2.0.0", effects="pure")
    async def other(n: int) -> dict[str, int]:
        return {"n": 3 * n}

    with workflow.with_component(other) as changed:
        assert bytes(changed.run_sync({"n": 2}).output) == b'{"n":6}'


@pytest.mark.parametrize("name", [3, None, ["work"], "\ud800"])
def test_what_is_no_name_is_refused(workflow: Workflow, name: Any) -> None:
    with pytest.raises(UsageError, match="the name of a component is "):
        workflow.component(name)


@pytest.mark.parametrize(
    ("outputs", "dry_run", "says"),
    [
        (3, False, "outputs is 3; expected a mapping from step paths to outputs"),
        (["work"], False, "outputs is ['work']; expected a mapping"),
        ({3: {}}, False, "a step path of outputs is 3; expected text"),
        (None, "no", "dry_run is 'no'; expected True or False"),
    ],
)
async def test_a_replay_under_no_change_that_there_is_is_refused(
    workflow: Workflow, outputs: Any, dry_run: Any, says: str
) -> None:
    async with workflow:
        run = await workflow.run({"n": 1})
        with pytest.raises(UsageError) as caught:
            await workflow.replay(run, outputs=outputs, dry_run=dry_run)
    assert says in str(caught.value)


@pytest.mark.parametrize("path", ["", 3, None, b"workflow.yaml", "a\0b"])
def test_what_is_no_path_of_a_workflow_or_store_is_refused(path: Any) -> None:
    loads: list[Callable[[], object]] = [lambda: stretto.load(path)]
    if path is not None:
        loads.append(lambda: stretto.load("workflow.yaml", store=path))
    for load in loads:
        with pytest.raises(UsageError, match=r"(the path of a workflow|store) is .*; expected"):
            load()


async def test_the_sync_face_inside_a_running_loop_says_what_to_do(workflow: Workflow) -> None:
    for call in (lambda: workflow.run_sync({"n": 1}), workflow.close):
        with pytest.raises(UsageError, match=r"an event loop is running here: use `await"):
            call()
