"""Errors as people read them, and as programs do."""

from typing import Final

import msgspec
from rich.cells import cell_len, set_cell_size
from rich.style import Style
from rich.text import Text

from stretto.cli.pasted import MENDED
from stretto.record.model import ErrorInfo
from stretto.spec.source import printable
from stretto.types.errors import ContractError, InputError, NotJsonError, Problem, SpecError, StrettoError, Violation
from stretto.types.json import Json, JsonObject

_MARGIN: Final = 12
"""Characters of a long source line that stay visible before the place."""

_CUT: Final = "…"


def error_text(error: StrettoError, width: int) -> Text:
    """What went wrong, for a stream so many columns wide; the last line says what became of the command."""
    if isinstance(error, SpecError):
        parts = [problem_text(problem, width) for problem in error.problems]
        return Text("\n\n").join([*parts, _count(error)])
    first, *rest = printable_lines(str(error))
    text = Text.assemble(("error: ", "bold red"), (first, "bold"))
    for line in rest:
        pointer, colon, message = line.partition(": ")
        text.append("\n").append(pointer, "cyan").append(colon + message)
    return text.append(f"\n  [{error.code}]", "dim")


def problem_text(problem: Problem, width: int) -> Text:
    """One problem of a file: its place, the line with a caret, what was expected and what to try."""
    text = Text()
    if problem.place:
        text.append(f"{problem.place}: ", "bold")
    text.append("\n".join(printable_lines(problem.message)), "bold red")
    if problem.excerpt:
        text.append("\n").append_text(_excerpt(problem, width))
    if problem.expected:
        text.append("\n  expected: ", "dim").append(problem.expected)
    if problem.suggestion:
        text.append("\n  try: ", "dim").append(problem.suggestion, _style_of(problem.suggestion, width))
    return text.append(f"\n  [{problem.code}]", "dim")


def _style_of(suggestion: str, width: int) -> str | Style:
    """A text to be pasted stays in one piece; a remedy in words that fills more than a line is wrapped."""
    is_text = suggestion.startswith(tuple("{[\"'")) or cell_len(suggestion) <= width
    return MENDED if is_text else "green"


def failure_text(error: ErrorInfo) -> Text:
    """Why a run failed, from its record: where, and what was said."""
    first, *rest = printable_lines(error.message)
    head = Text.assemble((f"{error.path}: " if error.path else "", "bold"), (first, "red"))
    return Text("\n").join([head, *map(Text, rest)])


def error_document(error: StrettoError) -> JsonObject:
    """The document that ``--json`` prints for an error."""
    body: JsonObject = {
        "code": error.code,
        "message": str(error),
        "fault": error.fault.value,
        "retryable": error.retryable,
        "problems": [],
    }
    if isinstance(error, SpecError):
        body["message"] = _count(error).plain
        body["problems"] = [_builtins(problem) for problem in error.problems]
    if isinstance(error, InputError | ContractError):
        body["violations"] = [_builtins(violation) for violation in error.violations]
    if isinstance(error, InputError) and error.suggestion:
        body["suggestion"] = error.suggestion
    if isinstance(error, NotJsonError):
        body["violations"] = [{"pointer": error.pointer, "message": str(error)}]
    return {"error": body}


def printable_lines(text: str) -> list[str]:
    """The lines of a text that came from anywhere, made safe for a terminal; at least one."""
    return [printable(line) for line in text.splitlines()] or [""]


def _builtins(record: Problem | Violation) -> Json:
    plain: Json = msgspec.to_builtins(record)
    return plain


def _count(error: SpecError) -> Text:
    files = {problem.file for problem in error.problems if problem.file}
    number = len(error.problems)
    what = "1 problem" if number == 1 else f"{number} problems"
    where = f" in {next(iter(files))}" if len(files) == 1 else f" in {len(files)} files" if files else ""
    return Text(f"{what}{where}; nothing was run", "bold")


def _excerpt(problem: Problem, width: int) -> Text:
    """The source line and the caret under its place; of a long line the part that fits around the place."""
    gutter = f"{problem.line:>5} | "
    start = max(0, problem.column - problem.excerpt_column)
    line, start = _window(printable(problem.excerpt), start, width - len(gutter))
    caret = "^" * max(1, min(problem.width, len(line) - start))
    under = f"{' ' * (len(gutter) - 2)}| "
    return Text.assemble((gutter, "dim"), line, "\n", (under, "dim"), _blank(line[:start]), (caret, "bold red"))


def _window(line: str, start: int, room: int) -> tuple[str, int]:
    """The part of a line that fits into so many columns, and where `start` is in it."""
    if cell_len(line) <= room:
        return line, start
    first = max(0, start - _MARGIN)
    part = _CUT + line[first + 1 :] if first else line
    if cell_len(part) > room:
        part = set_cell_size(part, room - 1) + _CUT
    return part, start - first


def _blank(text: str) -> str:
    return "".join("\t" if char == "\t" else " " * cell_len(char) for char in text)
