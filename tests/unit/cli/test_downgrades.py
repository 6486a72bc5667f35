"""A degraded run says why, without being asked for one of its steps."""

from pathlib import Path

import pytest

from stretto.cli.downgrades import downgrades
from stretto.record.model import ErrorInfo, StepRecord
from stretto.types.enums import StepStatus
from stretto.types.ids import StepPath
from tests.unit.cli.conftest import COMPONENTS, Cli
from tests.unit.cli.test_timeline import run_of

TRIP = """
stretto: 1
name: trip
components: components.py
steps:
  - name: look
    component: look
    input_mapping: {plan: "input.plan"}
    resilience: {fallback: {output: {seats: 0}}}
output: {seats: "steps.look.seats"}
"""

LOOK = """
@component("look", version="1.0.0", effects="read", inline=True)
def look(plan: str) -> dict[str, int]:
    raise KeyError(plan)
"""


def stood_in(path: str, message: str, component: str = "geo") -> StepRecord:
    error = ErrorInfo(code="component", message=message, path=path)
    return StepRecord(path=StepPath(path), status=StepStatus.FALLBACK, component=component, error=error)


@pytest.mark.parametrize("verb", ["run", "show"])
@pytest.mark.parametrize("columns", ["80", "120"])
def test_what_went_wrong_is_told_by_the_run_and_by_show(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, verb: str, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    (folder / "workflow.yaml").write_text(TRIP)
    (folder / "components.py").write_text(COMPONENTS + LOOK)
    told = cli("run", "--input", '{"plan": "rome"}')
    assert (told.code, told.document) == (0, {"seats": 0})
    text = told.err if verb == "run" else cli("runs", "show", "last").out
    assert "look: component 'look' raised KeyError: 'rome'" in " ".join(text.split())


def test_a_run_whose_steps_answered_has_nothing_to_tell(cli: Cli) -> None:
    cli("run", "--input", '{"query": "oslo"}')
    assert "answered by a fallback" not in cli("runs", "show", "last").out


def test_the_same_of_one_component_is_told_once_with_its_count() -> None:
    run = run_of(*(stood_in(f"talk[{number}]/geo", "down") for number in range(4)))
    assert [text.plain for text in downgrades(run)] == ["talk[0]/geo: down  (at 4 steps)"]


def test_after_a_run_no_more_is_told_than_fits() -> None:
    run = run_of(*(stood_in(f"geo{number}", "down", f"geo{number}") for number in range(5)))
    assert [text.plain for text in downgrades(run, 3)][2:] == ["geo2: down", "and 2 more of the kind"]
    assert len(downgrades(run)) == 5
