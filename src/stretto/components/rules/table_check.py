"""Holds a decision table to what it is for: every input gets an answer, every row has its turn."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

import msgspec

from stretto.components.rules.axes import FieldAxis, axes_of, outcome_of
from stretto.components.rules.codes import RuleCode
from stretto.components.rules.coverage import MAX_STATES, Coverage, Region, cover, overlaps
from stretto.components.rules.model import HitPolicy, ModelNode, Row, Table
from stretto.components.rules.unanalysed import unanalysed
from stretto.components.rules.values import words_of
from stretto.components.rules.words import untold_words
from stretto.spec.nodes import quote
from stretto.spec.report import Report
from stretto.spec.source import Span
from stretto.types.json import Schema

MAX_OVERLAPS: Final = 5
"""Told of one table."""

MAX_PAIRED_ROWS: Final = 300
"""Above, rows are not compared in pairs: 45,000 pairs take a tenth of a second."""


class RuleNote(msgspec.Struct, frozen=True):
    """What a reader should know and nothing has to be done about."""

    span: Span
    text: str

    @property
    def place(self) -> str:
        """``file:line:column``."""
        return self.span.mark.place


class TableVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the analysis of one table came to."""

    name: str
    rows: int
    columns: int
    is_exact: bool
    """Everything in it could be analysed."""
    always_answers: bool
    """Whatever comes in, surely."""
    notes: tuple[RuleNote, ...] = ()


def check_table(node: ModelNode, table: Table, seen: Schema, report: Report, *, is_guarded: bool) -> TableVerdict:
    """Analyse the table of a node whose cells see what `seen` describes.

    `is_guarded`: a switch before it lets only some inputs through.
    """
    return _Check(node, table, seen, report, is_guarded=is_guarded).run()


class _Check:
    """One table under analysis."""

    def __init__(self, node: ModelNode, table: Table, seen: Schema, report: Report, *, is_guarded: bool) -> None:
        self._node = node
        self._what = f"the table {quote(node.name)}"
        self._table = table
        self._report = report
        self._is_guarded = is_guarded
        self._seen = seen
        self._axes = axes_of(table, seen)
        self._outcome = outcome_of(table)
        self._notes: list[RuleNote] = []

    def run(self) -> TableVerdict:
        axes = [*(each.axis for each in self._axes), self._outcome]
        never = self._check_cells()
        found = cover(axes, len(self._table.rows))
        if not found.is_whole:
            self._note(f"is too intricate to be analysed to the end: given up after {MAX_STATES:,} steps")
        if self._table.hit_policy is HitPolicy.FIRST:
            self._tell_gaps(found)
            self._tell_unreachable(found, never)
            self._tell_overlaps()
        is_exact = self._tell_unanalysed() and found.is_whole
        return TableVerdict(
            name=self._node.name,
            rows=len(self._table.rows),
            columns=len(self._table.inputs),
            is_exact=is_exact,
            always_answers=found.is_whole and not found.gaps and not found.doubts,
            notes=tuple(self._notes),
        )

    def _note(self, text: str) -> None:
        self._notes.append(RuleNote(self._node.span, f"{self._what} {text}"))

    def _check_cells(self) -> set[int]:
        """Report cells that nothing fits; gives the rows that so never answer."""
        never = set[int]()
        for index, row in enumerate(self._table.rows):
            for axis in self._axes:
                if not axis.axis.may[index] & axis.axis.possible:
                    self._report_never(row, axis)
                    never.add(index)
        return never

    def _report_never(self, row: Row, axis: FieldAxis) -> None:
        cells = [row.inputs[column] for column in axis.columns]
        cell = next((each for each in cells if each.value and not self._can_fit(axis, each.value)), cells[-1])
        written = " and ".join(quote(each.value) for each in cells if each.value) or "empty"
        is_contradiction = not frozenset.intersection(*(axis.fitting.get(c.value, _all_parts(axis)) for c in cells))
        why = "which no value fits" if is_contradiction else f"which no value of `{axis.field}` fits"
        expected = "" if is_contradiction else f"`{axis.field}` may be {_words(axis, axis.axis.possible)}"
        message = f"{row.label} of {self._what} asks that `{axis.field}` be {written}, {why}: it never answers"
        self._report.add(cell.span.problem(RuleCode.NEVER, message, expected=expected or "a test that some value fits"))

    def _can_fit(self, axis: FieldAxis, cell: str) -> bool:
        return bool(axis.fitting.get(cell, _all_parts(axis)) & axis.axis.possible)

    def _tell_gaps(self, found: Coverage) -> None:
        is_whole = all(axis.facts.is_whole for axis in self._axes)
        is_sure = all(axis.is_alone for axis in self._axes) and is_whole and not self._is_guarded
        for region in found.gaps:
            where = self._where(region)
            if is_sure:
                problem = self._node.span.problem(
                    RuleCode.GAP,
                    f"no row of {self._what} answers {where}",
                    expected="a row that fits every input",
                    suggestion="a last row with empty input cells answers all that no other does; "
                    "or say in `input` what comes in",
                )
                self._report.add(problem)
            else:
                loose = "what hangs together in its columns" if is_whole else "what else the schema says"
                why = "a switch before it" if self._is_guarded else loose
                self._note(f"has no row that answers {where}, unless {why} keeps that away")
        for region in found.doubts:
            self._note(f"may have no row that answers {self._where(region)}: the rows that could are not analysed")

    def _tell_unreachable(self, found: Coverage, never: set[int]) -> None:
        if not found.is_whole:
            return
        for index, row in enumerate(self._table.rows):
            if index in found.answering or index in never:
                continue
            above = self._covering(index)
            by = f"{above.label} fits whatever it fits" if above else "the rows before it fit whatever it fits"
            message = f"{row.label} of {self._what} never answers: {by}"
            self._report.add(
                row.span.problem(
                    RuleCode.UNREACHABLE,
                    message,
                    expected="rows from the special to the general, since the first that fits answers",
                    suggestion="move it up, or remove it",
                )
            )

    def _covering(self, index: int) -> Row | None:
        """One earlier row that fits all that a row fits, if a single one does."""
        for above in range(index):
            if self._outcome.must[above] and all(
                a.axis.may[index] & a.axis.possible <= a.axis.must[above] for a in self._axes
            ):
                return self._table.rows[above]
        return None

    def _tell_overlaps(self) -> None:
        rows = self._table.rows
        if len(rows) > MAX_PAIRED_ROWS:
            self._note(f"has {len(rows)} rows: overlaps are told of tables of at most {MAX_PAIRED_ROWS}")
            return
        told = [*islice(self._overlapping(), MAX_OVERLAPS + 1)]
        for first, second in told[:MAX_OVERLAPS]:
            where = self._where(self._shared(first, second))
            text = f"answers {where} by {rows[first].label}, though {rows[second].label} fits it too and says otherwise"
            self._notes.append(RuleNote(rows[second].span, f"{self._what} {text}"))
        if len(told) > MAX_OVERLAPS:
            self._note(f"has more rows that overlap; {MAX_OVERLAPS} pairs are told")

    def _overlapping(self) -> Iterator[tuple[int, int]]:
        rows = self._table.rows
        for first, second in overlaps([each.axis for each in self._axes], len(rows)):
            if [cell.value for cell in rows[first].outputs] != [cell.value for cell in rows[second].outputs]:
                yield first, second

    def _shared(self, first: int, second: int) -> Region:
        return tuple(a.axis.must[first] & a.axis.must[second] & a.axis.possible for a in self._axes)

    def _tell_unanalysed(self) -> bool:
        """Note what could not be analysed; gives whether there was nothing of the kind."""
        found = [*unanalysed(self._table, self._axes, self._outcome)]
        for span, why in found:
            self._notes.append(RuleNote(span or self._node.span, f"{self._what} is not fully analysed: {why}"))
        told = untold_words(self._table, self._seen)
        self._notes += [RuleNote(span, f"{self._what} {words}") for span, words in told]
        return not found

    def _where(self, region: Region) -> str:
        parts = (
            f"`{axis.field}` {_is(axis, chosen)}"
            for axis, chosen in zip(self._axes, region, strict=False)
            if not axis.axis.possible <= chosen
        )
        return " and ".join(parts) or "anything"


def _is(axis: FieldAxis, chosen: frozenset[int]) -> str:
    return f"is {_words(axis, chosen)}"


def _words(axis: FieldAxis, chosen: frozenset[int]) -> str:
    return words_of([axis.parts[index] for index in sorted(chosen)]) or "nothing"


def _all_parts(axis: FieldAxis) -> frozenset[int]:
    return frozenset(range(len(axis.parts)))
