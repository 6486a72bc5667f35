"""`stretto fallback exercise`: what a workflow's fallback would have answered for recorded runs, held to its word."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from stretto.cli.exits import Exit
from stretto.cli.fallback.declared import declared
from stretto.cli.help import VerbCommand
from stretto.cli.opened import opened
from stretto.cli.options import DEFAULT_WORKFLOW, AsJson, StorePath, WorkflowFile
from stretto.cli.rows import labelled
from stretto.cli.stopping import run_async
from stretto.cli.terminal import print_json, results, show, stdout_for_results_only
from stretto.cli.words import count_text
from stretto.engine.exercise import Exercised
from stretto.plan.model import BusinessFallback, Plan
from stretto.record.model import Run
from stretto.runtime.load import load
from stretto.runtime.workflow import Workflow
from stretto.store.sqlite import Store
from stretto.types.errors import UsageError

app = typer.Typer(add_completion=False)

_TOLD: Final = 5
"""Runs in which something went wrong that are told of in full."""


@app.command(cls=VerbCommand)
def exercise(
    file: WorkflowFile = DEFAULT_WORKFLOW,
    last: Annotated[
        int, typer.Option("--last", metavar="N", min=1, help="How many recorded runs, newest first.")
    ] = 100,
    store: StorePath = None,
    as_json: AsJson = False,
) -> int:
    """Ask a workflow's fallback what it would have answered for the last recorded runs.

    Each answer is held to the contract and the expectations. Nothing is run again. Exits with 1 when something does
    not hold, or when an expectation applied to none of the runs.
    """
    with opened(store) as kept:
        with stdout_for_results_only():
            workflow = load(file, store=kept)
            business = declared(workflow.plan, file)
            runs = _recorded(kept, workflow.plan, last)
            asked = run_async(_asked(workflow, runs))
        wrong = _wrong(business, asked)
        if as_json:
            print_json(_document(business, runs, asked, wrong))
        else:
            show(_report(business, runs, asked, wrong))
    return Exit.FAILED if wrong else Exit.OK


def _recorded(store: Store, plan: Plan, last: int) -> Sequence[Run]:
    """The last runs of the workflow whose input it still takes; UsageError when there is none."""
    found = [run for run in store.runs(workflow=plan.name, limit=last) if run.status is not None and not run.replay_of]
    check = plan.input_check
    runs = [run for run in found if check is None or check.is_valid(run.input_value)]
    if not runs:
        raise UsageError(
            f"{store.path} has no run of workflow '{plan.name}' with an input that it takes now, so there is nothing "
            "to exercise its fallback with; run it first"
        )
    return runs


async def _asked(workflow: Workflow, runs: Sequence[Run]) -> list[Exercised]:
    async with workflow:
        return await workflow.exercise_fallback(runs)


def _applied(name: str, asked: Sequence[Exercised]) -> tuple[int, int]:
    """To how many of the answers an expectation applied, and of how many it held."""
    found = [each.expectations[name] for each in asked if name in each.expectations]
    return len(found), sum(found)


def _wrong(business: BusinessFallback, asked: Sequence[Exercised]) -> str:
    """What is wrong, in words; empty when nothing is."""
    broken = sum(not each.held for each in asked)
    if broken:
        return f"{broken:,} of {count_text(len(asked), 'answer')} went wrong"
    idle = [each.name for each in business.expectations if not _applied(each.name, asked)[0]]
    return f"of these runs none was checked by: {', '.join(idle)}" if idle else ""


def _document(
    business: BusinessFallback, runs: Sequence[Run], asked: Sequence[Exercised], wrong: str
) -> dict[str, Any]:
    return {
        "ok": not wrong,
        "wrong": wrong,
        "component": business.op.component_name,
        "runs": [
            {"run": run.id, "held": each.held, **msgspec.to_builtins(each)}
            for run, each in zip(runs, asked, strict=True)
        ],
        "expectations": {
            each.name: dict(zip(("applied", "held"), _applied(each.name, asked), strict=True))
            for each in business.expectations
        },
    }


def _report(business: BusinessFallback, runs: Sequence[Run], asked: Sequence[Exercised], wrong: str) -> RenderableType:
    answered, fits = sum(each.answered for each in asked), sum(each.contract for each in asked)
    rows = [
        (Text("answers", "bold"), (_share(answered, len(asked)),)),
        (Text("contract", "bold"), (_share(fits, len(asked)),)),
        *(
            (Text(each.name, "bold"), (_share(*reversed(_applied(each.name, asked))),))
            for each in business.expectations
        ),
    ]
    told = [(run, each) for run, each in zip(runs, asked, strict=True) if not each.held]
    lines = [Text(f"{run.id}: {each.broken}", "red") for run, each in told[:_TOLD]]
    more = [Text(f"and {len(told) - _TOLD:,} more", "red")] if len(told) > _TOLD else []
    verdict = (
        Text(wrong, "bold red") if wrong else Text(f"{count_text(len(asked), 'answer')}, all as expected", "bold green")
    )
    return Group(labelled(rows, results().width), *(Padding(line, (0, 0, 0, 2)) for line in (*lines, *more)), verdict)


def _share(held: int, of: int) -> Text:
    return Text(f"{held:,} of {of:,}", "" if held == of and of else "red")
