"""Components are opened before the first run and closed at the end, through the Python door."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import stretto
from stretto.testing import run_virtual

WORKFLOW = """
steps:
  - name: first
    component: first
  - name: second
    component: second
"""

COMPONENTS = """
import asyncio
import sys
import stretto

told = []

def hang():
    return asyncio.Event().wait()

class Held:
    async def __call__(self) -> dict:
        return {{}}

    async def open(self) -> None:
        told.append(f"open {{type(self).__name__}}")

    async def close(self) -> None:
        told.append(f"close {{type(self).__name__}}")

@stretto.component("first")
class First(Held):
    pass

@stretto.component("second")
class Second(Held):
    async def {hook}(self) -> None:
        {body}
"""

HAND_MADE = """
import asyncio
import sys
import stretto
from stretto.types.card import Card

@stretto.component("first")
async def first() -> dict:
    return {{}}

class HandMade:
    @property
    def card(self):
        return Card(name="second", version="1.0.0", kind="python", digest="0" * 64)

    async def __call__(self, request):
        return stretto.Response(output={{}})

    async def open(self):
        {body}

    async def close(self): ...

second = HandMade()
"""


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], stretto.Workflow]:
    """Writes the components, loads the workflow."""

    def written(components: str) -> stretto.Workflow:
        (tmp_path / "workflow.yaml").write_text(WORKFLOW)
        (tmp_path / "components.py").write_text(components)
        return stretto.load(tmp_path / "workflow.yaml", store=tmp_path / "runs.db")

    return written


Load = Callable[[str], stretto.Workflow]


def told(workflow: stretto.Workflow) -> list[str]:
    """What the components' hooks said, in order."""
    said: list[str] = vars(sys.modules[workflow.component("first").target.__module__])["told"]  # type: ignore[attr-defined]  # a PythonComponent
    return said


@pytest.mark.parametrize(
    ("body", "says", "takes_s"),
    [
        ("await hang()", "component 'second' did not close: it took longer than 10 s", 10.0),
        (
            "while True:\n            try: await hang()\n            except asyncio.CancelledError: pass",
            "component 'second' did not close: it took longer than 10 s",
            11.0,
        ),
        ("raise ValueError('stuck')", "did not close: component 'second' raised ValueError: stuck (", 0.0),
        ("raise SystemExit(3)", "did not close: SystemExit: 3", 0.0),
        ("raise asyncio.CancelledError", "did not close: CancelledError: no message", 0.0),
    ],
)
def test_a_component_that_does_not_close_is_told_of_and_costs_nobody_an_answer(
    load: Load, caplog: pytest.LogCaptureFixture, body: str, says: str, takes_s: float
) -> None:
    workflow = load(COMPONENTS.format(hook="close", body=body))

    async def main() -> tuple[stretto.Run, float]:
        async with workflow:
            run = await workflow.run({})
        return run, asyncio.get_running_loop().time()

    run, took_s = run_virtual(main())
    assert (run.status, took_s) == ("ok", takes_s)
    assert [record.message for record in caplog.records if says in record.message] == [caplog.messages[-1]]
    assert told(workflow) == ["open First", "open Second", "close First"]
    assert workflow.store.get(run.id).status == "ok"


@pytest.mark.parametrize("error", ["ValueError('no key')", "SystemExit(3)", "GeneratorExit"])
def test_a_component_that_does_not_open_is_named_and_what_was_opened_is_closed(load: Load, error: str) -> None:
    workflow = load(COMPONENTS.format(hook="open", body=f"raise {error}"))
    for _ in range(2):  # it may be tried again
        with pytest.raises(stretto.ComponentError, match=r"component 'second' .*raised " + error.partition("(")[0]):
            run_virtual(workflow.run({}))
    assert told(workflow) == ["open First", "close First"] * 2
    assert workflow.store.list() == []


def test_a_plain_hook_that_does_not_open_is_named(load: Load) -> None:
    body = COMPONENTS.format(hook="open", body="raise OSError('no such port')").replace("async def open", "def open")
    with load(body) as workflow, pytest.raises(stretto.ComponentError, match="raised OSError: no such port"):
        workflow.run_sync({})


@pytest.mark.parametrize("body", ["1 / 0", "exit(3)", "raise asyncio.CancelledError"])
def test_a_hand_made_component_that_does_not_open_is_named(load: Load, body: str) -> None:
    workflow = load(HAND_MADE.format(body=body))
    with workflow, pytest.raises(stretto.ComponentError, match="component 'second' did not open: it raised"):
        workflow.run_sync({})


def test_a_caller_who_is_cancelled_while_components_open_is_cancelled(load: Load) -> None:
    workflow = load(COMPONENTS.format(hook="open", body="await hang()"))

    async def main() -> None:
        task = asyncio.ensure_future(workflow.run({}))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_virtual(main())
    assert told(workflow) == ["open First", "close First"]


def test_a_component_that_never_opens_is_named_in_time_and_what_was_opened_is_closed(load: Load) -> None:
    workflow = load(COMPONENTS.format(hook="open", body="await hang()"))

    async def main() -> float:
        with pytest.raises(stretto.ComponentError, match="component 'second' did not open within 60 s; see whether"):
            await workflow.run({})
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == 60.0
    assert told(workflow) == ["open First", "close First"]
    assert workflow.store.list() == []


def test_a_class_says_how_long_it_may_take_to_open(load: Load) -> None:
    text = COMPONENTS.format(hook="open", body="await asyncio.sleep(100)")
    longer = text.replace("class Second(Held):", "class Second(Held):\n    open_limit = timedelta(minutes=2)\n")
    workflow = load("from datetime import timedelta\n" + longer)
    assert run_virtual(workflow.run({})).succeeded
    workflow.close()


def test_a_plain_hook_that_hangs_is_given_up(load: Load) -> None:
    text = COMPONENTS.format(hook="open", body="hanging.wait(30)").replace("async def open", "def open")
    limited = text.replace("class Second(Held):", "class Second(Held):\n    open_limit = timedelta(seconds=0.01)\n")
    workflow = load("import threading\nfrom datetime import timedelta\nhanging = threading.Event()\n" + limited)
    with workflow, pytest.raises(stretto.ComponentError, match=r"'second' did not open within 0\.01 s"):
        workflow.run_sync({})
    vars(sys.modules[workflow.component("first").target.__module__])["hanging"].set()  # type: ignore[attr-defined]  # a PythonComponent
