"""`stretto fallback status`: whether what answers in a workflow's place was tried of late, and what came of it."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec
import typer
from rich.text import Text

from stretto.cli.compiled import compiled
from stretto.cli.exits import Exit
from stretto.cli.fallback.declared import declared
from stretto.cli.help import VerbCommand
from stretto.cli.opened import opened
from stretto.cli.options import DEFAULT_WORKFLOW, AsJson, StorePath, WorkflowFile
from stretto.cli.plan_lines import fallback_of
from stretto.cli.rows import labelled
from stretto.cli.terminal import print_json, results, show, stdout_for_results_only
from stretto.cli.words import count_text, time_text
from stretto.engine.exercise import Exercised
from stretto.plan.model import BusinessFallback, Plan
from stretto.runtime.exercising import NS, Exercise, last_exercises
from stretto.runtime.load import load, store_path
from stretto.spec.durations import duration_or_none, seconds
from stretto.store.connect import is_there
from stretto.store.sqlite import Store
from stretto.types.enums import RunStatus

app = typer.Typer(add_completion=False)

_EVERY: Final = "fallback.exercise.every"
"""The setting of how often it is exercised."""

_TOLD: Final = 3
"""Ways to go wrong that are told in full."""


@app.command(cls=VerbCommand)
def status(file: WorkflowFile = DEFAULT_WORKFLOW, store: StorePath = None, as_json: AsJson = False) -> int:
    """Say whether a workflow's fallback was exercised of late, what came of it, and how often it answered.

    Exits with 1 when the last exercise went wrong, or when the next is overdue.
    """
    plan = compiled(file)
    business = _as_set(declared(plan, file), file, store)
    exercise, answered = _kept(plan, business, store)
    wrong = _wrong(business, exercise, time.time_ns())
    if as_json:
        print_json(_document(plan, business, exercise, answered, wrong))
    else:
        show(_report(plan, business, exercise, answered, wrong))
    return Exit.FAILED if wrong else Exit.OK


def _as_set(business: BusinessFallback, file: Path, store: Path | None) -> BusinessFallback:
    """With the period of its exercises that holds now, where a store has another than the file."""
    rule = business.exercise
    if rule is None or not is_there(store_path(store)):
        return business
    with opened(store) as kept, stdout_for_results_only():
        every_s = seconds(duration_or_none(str(load(file, store=kept).settings[_EVERY].value)))
    return business if every_s is None else replace(business, exercise=msgspec.structs.replace(rule, every_s=every_s))


def _kept(plan: Plan, business: BusinessFallback, store: Path | None) -> tuple[Exercise | None, Counter[str]]:
    """Of what a store knows: the last exercise of it, as it is now, and how often it answered, by why."""
    if not is_there(store_path(store)):
        return None, Counter()
    with opened(store) as kept:
        return last_exercises(kept, of=business.op.component.card.digest).get(plan.name), _answered(kept, plan.name)


def _answered(store: Store, workflow: str) -> Counter[str]:
    found = store.list(workflow=workflow, status=RunStatus.BUSINESS_FALLBACK)
    return Counter(str(run.reason or "unknown") for run in found if not run.replay_of)


def _wrong(business: BusinessFallback, exercise: Exercise | None, now_ns: int) -> str:
    """What is wrong, in words; empty when nothing is."""
    if exercise is None:
        return "" if business.exercise is None else "it was never exercised as it is now"
    if exercise.failures:
        return f"{len(exercise.failures)} of {count_text(len(exercise.results), 'run')} of its last exercise went wrong"
    rule = business.exercise
    due = exercise if rule is None else msgspec.structs.replace(exercise, every_s=rule.every_s)
    return "its next exercise is overdue" if due.is_stale(now_ns) else ""


def _document(
    plan: Plan, business: BusinessFallback, exercise: Exercise | None, answered: Counter[str], wrong: str
) -> dict[str, Any]:
    return {
        "ok": not wrong,
        "wrong": wrong,
        "workflow": plan.name,
        "component": business.op.component_name,
        "last_exercise": None
        if exercise is None
        else {
            "began_at_ns": exercise.began_at_ns,
            "runs": len(exercise.results),
            "failures": [each.broken for each in exercise.failures],
        },
        "business_fallback_triggered_count": answered.total(),
        "reasons": dict(answered),
    }


def _report(
    plan: Plan, business: BusinessFallback, exercise: Exercise | None, answered: Counter[str], wrong: str
) -> Any:
    rows = [
        (Text("fallback", "dim"), (Text(fallback_of(plan)),)),
        (Text("last exercise", "dim"), (_last(exercise),)),
        (Text("next due", "dim"), (_next(business, exercise),)),
        (Text("answered", "dim"), (_times(answered),)),
        (Text("verdict", "dim"), (Text(wrong, "bold red") if wrong else Text("well", "bold green"),)),
    ]
    return labelled(rows, results().width)


def _last(exercise: Exercise | None) -> Text:
    if exercise is None:
        return Text("none of it as it is now in this store; `stretto fallback exercise` makes one of recorded runs")
    text = Text(f"{time_text(exercise.began_at_ns)}, {count_text(len(exercise.results), 'run')}: ")
    if not exercise.failures:
        return text.append("all as expected", "green")
    return text.append(f"{len(exercise.failures)} went wrong: {'; '.join(_ways(exercise.failures))}", "red")


def _ways(failures: Sequence[Exercised]) -> Iterator[str]:
    """Each way in which they went wrong, the commonest first, with how often it did; of answers one stands for all."""
    ways: dict[str, list[Exercised]] = {}
    for each in failures:
        ways.setdefault(each.missed or each.error, []).append(each)
    for alike in sorted(ways.values(), key=len, reverse=True)[:_TOLD]:
        yield alike[0].broken + (f" ({len(alike):,} times)" if len(alike) > 1 else "")


def _next(business: BusinessFallback, exercise: Exercise | None) -> Text:
    rule = business.exercise
    if rule is None:
        return Text("never: its `exercise` is not declared")
    if exercise is None:
        return Text("with the next run")
    return Text(time_text(exercise.began_at_ns + int(rule.every_s * NS)))


def _times(answered: Counter[str]) -> Text:
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(answered.items()))
    return Text(f"{count_text(answered.total(), 'run')} of this store" + (f" ({reasons})" if reasons else ""))
