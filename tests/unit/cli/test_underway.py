"""The line of a run that is being made names the steps that it is at."""

from pathlib import Path

import pytest
from rich.console import Console

from stretto.cli.plan_lines import step_lines
from stretto.cli.underway import Underway, steps_at
from stretto.plan.model import Plan
from stretto.record.model import StepRecord
from stretto.runtime.load import Loader
from stretto.types.enums import StepStatus
from stretto.types.ids import StepPath
from tests.unit.record.generated import an_open_run

FORK = """
stretto: 1
components: components.py
steps:
  - {name: first, component: planner, input_mapping: {query: "input.query"}}
  - {name: left, component: planner, input_mapping: {query: "steps.first.plan"}}
  - {name: right, component: planner, input_mapping: {query: "steps.first.plan"}}
  - {name: each, for_each: "input.all", as: one, component: planner, input_mapping: {query: one}, needs: [left, right]}
"""


@pytest.fixture
def plan(folder: Path) -> Plan:
    (folder / "fork.yaml").write_text(FORK)
    loader = Loader(folder / "fork.yaml")
    return loader.compile(loader.catalog())


def ended(*paths: str) -> list[StepRecord]:
    return [StepRecord(path=StepPath(path), status=StepStatus.OK) for path in paths]


@pytest.mark.parametrize(
    ("paths", "at"),
    [
        ((), ["first"]),
        (("first",), ["left", "right"]),
        (("first", "right"), ["left"]),
        (("first", "right", "left", "each[0]"), ["each"]),
        (("first", "right", "left", "each[0]", "each"), []),
    ],
)
def test_a_step_is_being_done_when_all_that_it_waits_for_has_ended(
    plan: Plan, paths: tuple[str, ...], at: list[str]
) -> None:
    run = an_open_run()
    run.steps = ended(*paths)
    assert steps_at(step_lines(plan), run) == at


def test_the_line_says_how_long_what_and_where(plan: Plan) -> None:
    console = Console(width=60)
    line = Underway(Path("fork.yaml"))
    assert shown(console, line) == "0 s  running fork.yaml"
    line.follow(plan)
    line.run = an_open_run()
    line.run.steps = ended("first")
    assert shown(console, line) == "0 s  running fork.yaml: left, right"


def shown(console: Console, line: Underway) -> str:
    with console.capture() as capture:
        console.print(line)
    return capture.get().rstrip()
