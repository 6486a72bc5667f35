"""What stands above a run: identity, outcome, pins, reward."""

from collections.abc import Iterator
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from stretto.cli.words import (
    count_text,
    escaped,
    number_text,
    pinned_text,
    status_text,
    time_text,
    took_text,
    total_text,
)
from stretto.components.acp.answer import EVIDENCE
from stretto.components.acp.pinned import ANSWERED_BY
from stretto.engine.hedge import copies_of
from stretto.record.model import Run
from stretto.types.json import JsonObject
from stretto.types.learning import Reward
from stretto.types.messages import Usage

_LONG_NAME: Final = "workflow_run_id"


def header(run: Run, width: int) -> RenderableType:
    """Identity and outcome on the first line, the rest as a table; the long name on a line of its own where that is
    what it takes to keep it whole."""
    first = Text.assemble(("run ", "dim"), (run.id, "bold"), "  ").append_text(status_text(run.status, run.reason))
    if run.status is not None:
        first.append(f" in {took_text(run)}")
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    parts: list[RenderableType] = [first]
    for name, value in _facts(run):
        if name == _LONG_NAME and len(name) + len(value) + 4 > width:  # two before, two between
            parts.append(Padding(Text(str(value), overflow="fold"), (0, 0, 0, 2), expand=False))
        else:
            table.add_row(name, value)
    return Group(*parts, Padding(table, (0, 0, 0, 2), expand=False))


def _facts(run: Run) -> Iterator[tuple[str, Text | str]]:
    manifest = run.manifest
    yield "workflow", Text.assemble((escaped(manifest.workflow), "bold"), f" {escaped(manifest.version)}")
    yield _LONG_NAME, run.workflow_run_id
    yield "started", time_text(run.started_at_ns)
    yield "pinned to", ", ".join(f"{name} {pinned_text(pin)}" for name, pin in sorted(manifest.components.items()))
    if run.labels:
        yield "labels", escaped(" ".join(f"{name}={value}" for name, value in sorted(run.labels.items())))
    yield "tenant, seed", escaped(f"{run.tenant}, {run.seed}")
    if run.rewards:
        yield "reward", total_text(run)
        for reward in run.rewards:
            yield "", _term(reward)
    if run.usage is not None:
        yield "usage", _usage(run.usage)
    if run.retries:
        yield "retries", _retries(run)
    if run.replay_of:
        yield "replay of", run.replay_of
    if run.parent:
        yield "started by", escaped(f"run {run.parent}")
    if run.effect_key:
        yield "answers", escaped(f"the call with the effect key {run.effect_key}")
    for number, told in enumerate(_runs_elsewhere(run)):
        yield "" if number else "ran elsewhere", escaped(told)
    for told in _answered_by_others(run):
        yield "warning", Text(escaped(told), "yellow")
    if run.settings:
        yield "settings", Text(f"revision {run.settings} when it began; stretto config history FILE lists them")
    if run.simulated:
        yield "simulated", Text("some step stands downstream of a substitute; folds leave this run out", "magenta")
    if run.is_quarantined:
        where = [str(step.path) for step in run.steps if step.is_quarantined] or ["the run's own input or output"]
        told = f"{escaped(', '.join(where))}: a value meant nothing, so no training learns from this run"
        yield "quarantined", Text(told, "yellow")
    for warning in run.warnings:
        yield "warning", Text(escaped(warning), "yellow")


def _runs_elsewhere(run: Run) -> Iterator[str]:
    """Steps that workflows on other servers answered, each with the run that was made there."""
    for path, told in _told_elsewhere(run):
        run_id = told.get("run_id")
        if isinstance(run_id, str):
            yield f"{path}: run {run_id}"


def _answered_by_others(run: Run) -> Iterator[str]:
    """Steps that another version answered than the run is pinned to."""
    for path, told in _told_elsewhere(run):
        by = told.get(ANSWERED_BY)
        if isinstance(by, dict):
            yield f"{path}: answered by {by.get('version')}@{by.get('digest')!s:.8}, another than it is pinned to"


def _told_elsewhere(run: Run) -> Iterator[tuple[str, JsonObject]]:
    """What servers told of their answers, by the step that they answered."""
    for step in run.steps:
        told = step.evidence.get(EVIDENCE)
        if isinstance(told, dict):
            yield step.path, told


def _retries(run: Run) -> str:
    """How often something was tried again, of which copies count too."""
    copies = sum(map(copies_of, run.steps))
    return f"{run.retries}, of which {count_text(copies, 'hedge')}" if copies else str(run.retries)


def _term(reward: Reward) -> Text:
    """One term: its weight and value, or that it is unknown, and why."""
    text = Text.assemble((f"{number_text(reward.weight)} * ", "dim"), reward.name)
    if reward.value is None:
        text.append(" unknown", "yellow")
    else:
        text.append(f" {number_text(reward.value)}", "bold")
    return text.append(f"  {escaped(reward.reason)}", "dim") if reward.reason else text


def _usage(usage: Usage) -> str:
    cost = f", cost {number_text(usage.cost)}" if usage.cost else ""
    return f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out{cost}"
