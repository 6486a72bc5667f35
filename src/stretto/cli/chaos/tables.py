"""A trial's report for people."""

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import orjson
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from stretto.chaos.mutation import MutationScore
from stretto.chaos.report import Broke, ChaosReport, Expectation, FaultRow
from stretto.cli.pasted import PASTED, Whole
from stretto.cli.rows import Row, labelled, one_piece
from stretto.cli.section import Indented
from stretto.cli.words import STATUS_STYLES, count_text, escaped, ms_text, number_text
from stretto.types.json import Json

MOST_BROKEN: Final = 10
"""Ways in which runs broke that are shown; all runs are in the store, and in --json."""

MOST_STRUCK: Final = 4
"""Faults shown of one run."""

MOST_SURVIVORS: Final = 10

_LEAST_ENDS: Final = 30
"""Columns that how struck runs ended is told in at least."""

_VALUE_CHARS: Final = 40


def report_tables(report: ChaosReport, again: Callable[[int], str], store: Path, width: int) -> RenderableType:
    """Everything that the report says, for a terminal so many columns wide; `again` is the command that makes one run
    alone."""
    parts: list[RenderableType] = [_head(report), Padding(labelled(_figures(report), width - 2), (0, 0, 0, 2))]
    if report.faults:
        parts += [Text("\nWhat was injected, and how the runs that it struck ended", "bold")]
        parts += [Padding(labelled(_faults(report), width - 2, prose=_LEAST_ENDS), (0, 0, 0, 2))]
    if report.mutation is not None:
        parts += list(_mutation(report.mutation, width))
    if report.broke:
        parts += list(_broken(report.broke, again, store))
    parts += [Text("\nExpected", "bold"), Padding(labelled(_expected(report), width - 2), (0, 0, 0, 2))]
    return Group(*parts)


def _head(report: ChaosReport) -> Text:
    stopped = ", stopped before all were made" if report.stopped else ""
    return Text(
        f"{report.workflow}: {count_text(report.runs, 'run')} under faults, seed {report.seed}{stopped}", "bold"
    )


def _figures(report: ChaosReport) -> list[Row]:
    statuses = Text(", ").join(
        Text(f"{count} {status}", STATUS_STYLES.get(status, "")) for status, count in report.statuses.items()
    )
    latency = ", ".join(f"{name} {ms_text(value)}" for name, value in report.latency_ms.items())
    components = ", ".join(
        f"{row.component} {number_text(row.attempts / row.calls)}"
        for row in report.components
        if row.attempts > row.calls
    )
    late = f", {report.late} too late" if report.late else ""
    rows: list[tuple[str, Text]] = [
        ("answered in time", Text(f"{_share(report.answered_rate)} ({report.answered} of {report.runs}{late})")),
        ("by what", statuses),
        ("latency", Text(latency or "none")),
        ("amplification", Text(f"{number_text(report.amplification)}{f' ({components})' if components else ''}")),
        (
            "writes",
            Text(f"{report.writes} made, {len(report.duplicated_effects)} of them twice")
            if report.writes
            else Text("none made"),
        ),
        ("lost runs", Text(str(len(report.lost_runs)) or "0")),
    ]
    if report.redelivered:
        rows.append(("delivered again", Text(f"{count_text(report.redelivered, 'run')}, after they had ended")))
    rows += [("written twice", Text(f"{each.component}: {each.key}", "red")) for each in report.duplicated_effects]
    return [(Text(label), [text]) for label, text in rows]


def _faults(report: ChaosReport) -> list[Row]:
    rows: list[Row] = []
    for row in report.faults:
        struck = f"{count_text(row.injected, 'call')} in {count_text(row.runs, 'run')}"
        never = "never struck: a call was not made, or another fault came first"
        rows.append(
            (Text(row.what), [Text(row.at), one_piece(struck) if row.injected else Text(""), Text(_ends(row) or never)])
        )
    return rows


def _ends(row: FaultRow) -> str:
    """How its runs ended: those that it struck alone, and apart from them those where it may have been another."""
    shared = Counter(row.outcomes) - Counter(row.outcomes_alone)
    parts = [_counts(row.outcomes_alone)] if row.outcomes_alone else []
    return "; ".join([*parts, *([f"struck by others too: {_counts(shared)}"] if shared else [])])


def _counts(outcomes: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {status}" for status, count in sorted(outcomes.items()))


def _mutation(score: MutationScore, width: int) -> Iterator[RenderableType]:
    if score.score is None:
        why = "no run was good and alike when repeated" if not score.good_runs else "no field is bounded"
        yield Text(f"\nMutation score of the contract: not measured, {why}", "yellow")
        return
    by = ", ".join(f"{count} by {name}" for name, count in score.by.items())
    told = f"{_share(score.score)}, {score.caught} of {score.mutants} wrong values caught"
    yield Text(f"\nMutation score of the contract: {told}{f' ({by})' if by else ''}", "bold")
    if score.survivors:
        rows: list[Row] = [
            (Text(escaped(each.step)), [Text(escaped(each.field)), Text(f"{_value(each.was)} → {_value(each.wrong)}")])
            for each in score.survivors[:MOST_SURVIVORS]
        ]
        yield Padding(Text("not caught:"), (0, 0, 0, 2))
        yield Padding(labelled(rows, width - 4), (0, 0, 0, 4))
        if len(score.survivors) > MOST_SURVIVORS:
            yield Padding(Text(f"and {len(score.survivors) - MOST_SURVIVORS} more; --json tells all"), (0, 0, 0, 4))


def _broken(broke: Sequence[Broke], again: Callable[[int], str], store: Path) -> Iterator[RenderableType]:
    """Runs that broke alike together, with one of them to look at."""
    groups: dict[tuple[str, str, str], list[Broke]] = {}
    for each in broke:
        groups.setdefault((each.status, each.reason, _first_line(each.error)), []).append(each)
    yield Text(f"\n{count_text(len(broke), 'run')} broke", "bold")
    shown = sorted(groups.items(), key=lambda group: -len(group[1]))
    for (status, reason, error), alike in shown[:MOST_BROKEN]:
        one = _plainest(alike)
        why = f" ({reason})" if reason and reason != status else ""
        head = Text.assemble(f"{len(alike)} ", (status, STATUS_STYLES.get(status, "red")), f"{why}: {error}")
        yield Indented(Whole(head))
        yield Padding(Text(f"run {one.index}: {_struck(one)}", "dim"), (0, 0, 0, 4))
        show = shlex.join(["stretto", "runs", "show", one.run, "--store", str(store)])
        yield Indented(Whole(Text(show, PASTED)), 4)
    if len(shown) > MOST_BROKEN:
        yield Padding(Text(f"and {len(shown) - MOST_BROKEN} more ways; --json tells all"), (0, 0, 0, 2))
    command = again(_plainest(shown[0][1]).index)
    yield Indented(Whole(Text.assemble(("one of them alone: ", "dim"), (command, PASTED))))


def _plainest(alike: Sequence[Broke]) -> Broke:
    """The run that the fewest faults struck."""
    return min(alike, key=lambda each: len(each.struck_by))


def _first_line(error: str) -> str:
    return escaped(error.splitlines()[0]) if error else "no error is told"


def _struck(one: Broke) -> str:
    """What struck it, with the first few places."""
    more = len(one.struck_by) - MOST_STRUCK
    shown = "; ".join(one.struck_by[:MOST_STRUCK]) or "struck by nothing"
    return f"{shown}; and {more} more" if more > 0 else shown


def _expected(report: ChaosReport) -> list[Row]:
    return [(Text(each.name), [_bound(each), _found(each)]) for each in report.expectations]


def _bound(each: Expectation) -> Text:
    return one_piece(f"{'≥' if each.name.startswith('min_') else '≤'} {number_text(each.wanted)}")


def _found(each: Expectation) -> Text:
    found = "not measured" if each.found is None else number_text(each.found)
    return Text(f"{found}: met", "green") if each.met else Text(f"{found}: not met", "bold red")


def _share(value: float) -> str:
    return f"{100 * value:.4g} %"


def _value(value: Json) -> str:
    text = escaped(orjson.dumps(value).decode())
    return text if len(text) <= _VALUE_CHARS else f"{text[:_VALUE_CHARS]}…"
