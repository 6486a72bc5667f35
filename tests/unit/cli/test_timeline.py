"""Bars: where they begin, how long they are, what they are made of."""

from io import BytesIO, TextIOWrapper

import pytest
from rich.console import Console

from stretto.cli.step_tree import StepNode
from stretto.cli.timeline import ASCII, bar, legend, timeline
from stretto.record.model import NULL, Attempt, ErrorInfo, Manifest, Run, StepRecord
from stretto.types.enums import RunStatus, StepStatus
from stretto.types.ids import Digest, RunId, StepPath

SHED = ErrorInfo(code="component.shed", message="full")
GONE = ErrorInfo(code="component", message="gone")


def step(path: str = "a", *, status: StepStatus = StepStatus.OK, **fields: object) -> StepRecord:
    return StepRecord(path=StepPath(path), status=status, component="c", **fields)  # type: ignore[arg-type]  # fields of a record


def drawn(record: StepRecord, width: int = 10, total_ms: float = 100.0) -> str:
    node = StepNode(path=record.path, name=record.path, index=None, record=record)
    return bar(node, total_ms, width, ASCII).plain


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (step(started_ms=0, ended_ms=100), "##########"),
        (step(started_ms=50, ended_ms=100), "     #####"),
        (step(started_ms=20, ended_ms=60, queue_ms=20), "  ..##    "),
        (step(started_ms=99.9, ended_ms=100), "         #"),
        (step(started_ms=0, ended_ms=0.01), "#         "),
        (step(started_ms=0, ended_ms=400), "##########"),
        (step(started_ms=10, ended_ms=10, status=StepStatus.SKIPPED), "          "),
        (
            step(
                started_ms=0,
                ended_ms=100,
                attempts=(
                    Attempt(started_ms=0, service_ms=20, error=GONE),
                    Attempt(started_ms=60, queue_ms=20, service_ms=20),
                ),
            ),
            "xx    ..##",
        ),
        (step(started_ms=0, ended_ms=60, attempts=(Attempt(started_ms=0, queue_ms=40, error=SHED),)), "....      "),
    ],
)
def test_a_bar_shows_waiting_working_and_failed_attempts(record: StepRecord, line: str) -> None:
    assert drawn(record) == line


def run_of(*steps: StepRecord) -> Run:
    return Run(
        id=RunId("r"), workflow_run_id="w", input=NULL, input_digest=Digest("0" * 64), started_at_ns=0,
        manifest=Manifest(workflow="w", version="1.0.0", plan=Digest("0" * 64), components={}),
        status=RunStatus.OK, duration_ms=100.0, steps=list(steps),
    )  # fmt: skip


@pytest.mark.parametrize("width", [60, 80, 140])
def test_the_table_fits_the_terminal(width: int) -> None:
    console = Console(width=width, color_system=None)
    steps = [step(f"talk[{n}]/{'long_name_' * 4}", started_ms=n, ended_ms=n + 50) for n in range(12)]
    with console.capture() as told:
        console.print(timeline(run_of(*steps), console))
    assert max(map(len, told.get().splitlines())) <= width


def test_a_rounds_number_stands_at_its_first_step_only() -> None:
    console = Console(width=100, color_system=None)
    steps = [step(f"talk[{n}]/{name}", started_ms=n, ended_ms=n) for n in (1, 2) for name in ("a", "b")]
    with console.capture() as told:
        console.print(timeline(run_of(*steps), console))
    labels = [line[:9].rstrip() for line in told.get().splitlines()[1:]]
    assert labels == ["talk", "  [1] a", "      b", "  [2] a", "      b"]


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (step(), "pure"),
        (step(attempts=(Attempt(started_ms=0, error=GONE), Attempt(started_ms=2))), "pure, 2 attempts"),
        (
            step(attempts=(Attempt(started_ms=0, error=SHED), Attempt(started_ms=2, error=SHED))),
            "pure, not asked 2 times",
        ),
        (step(attempts=(Attempt(started_ms=0, error=SHED), Attempt(started_ms=2))), "pure, not asked 1 time"),
        (step(evidence={"hedge": [{"beside": False}, {"beside": True}]}), "pure, hedged by 1 copy"),
    ],
)
def test_a_step_tells_of_its_attempts_and_copies_and_of_those_that_were_never_made(
    record: StepRecord, told: str
) -> None:
    console = Console(width=120, color_system=None)
    with console.capture() as drawn_so:
        console.print(timeline(run_of(record), console))
    assert drawn_so.get().rstrip().endswith(told)


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([step(started_ms=0, ended_ms=100)], "# working"),
        ([step(started_ms=0, ended_ms=100, attempts=(Attempt(started_ms=0, error=SHED),))], ""),
        ([step(started_ms=0, ended_ms=90, attempts=(Attempt(started_ms=0, queue_ms=90, error=SHED),))], ". waiting"),
    ],
)
def test_the_legend_tells_of_what_is_drawn_and_of_nothing_else(steps: list[StepRecord], told: str) -> None:
    with TextIOWrapper(BytesIO(), encoding="ascii") as stream:
        assert legend(run_of(*steps), Console(width=100, file=stream)).plain == told


def test_the_legend_explains_the_dots_of_a_step_that_was_never_asked() -> None:
    with TextIOWrapper(BytesIO(), encoding="utf-8") as stream:
        run = run_of(step(started_ms=0, ended_ms=100, attempts=(Attempt(started_ms=0, error=SHED),)))
        assert legend(run, Console(width=100, file=stream)).plain == "· not asked, or between attempts"
