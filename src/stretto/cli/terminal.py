"""The two streams: results on stdout, progress, notes and errors on stderr."""

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Final, NoReturn

import orjson
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult, RichCast
from rich.segment import Segment
from rich.text import Text

from stretto.cli.pasted import whole_lines
from stretto.spec.source import printable
from stretto.types.json import Json

PIPED_WIDTH: Final = 160
"""Columns of a table that no terminal shows: wide enough that nothing is cut for programs that read it."""

_STDOUT: Final = 1
_STDERR: Final = 2
"""File descriptors, as child processes inherit them."""

_UNSAFE_IN_JSON: Final = re.compile(r"[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What JSON leaves as it is and a terminal would obey, or would turn the reading order."""

_LONE_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
"""What Python makes of each byte of a path or an argument that is not UTF-8; JSON has no such text."""

_SIZES: Final = ("COLUMNS", "LINES")
_SIZE: Final = re.compile(r"0*[1-9][0-9]{0,3}")
"""Environment variables that give the size of a terminal, and what they may say; with anything else, as with 0, it is
unknown."""


class _Stream(Console):
    """A console that hands a broken pipe to the boundary; rich would end the process itself."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def results() -> Console:
    """Where a verb's result goes, for people."""
    return _stream(stderr=False)


def notes() -> Console:
    """Where everything else goes."""
    return _stream(stderr=True)


def note(text: str | Text) -> None:
    """Say one thing beside the result; on a terminal wrapped at words and not inside commands, one line elsewhere."""
    console = notes()
    shown = text.copy() if isinstance(text, Text) else Text(text)
    shown.plain = printable(shown.plain)
    if console.is_terminal:
        shown = whole_lines(shown, console.width)
    console.print(shown, soft_wrap=True)


def show(what: RenderableType) -> None:
    """Print a part of the result."""
    results().print(Trimmed(what), soft_wrap=True)


class Trimmed:
    """What it holds, without the spaces that tables leave at the ends of lines, and without what would steer a
    terminal: records come from anywhere."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        # soft_wrap let what is to be copied run over the margin; all else is laid out within it
        options = options.update(no_wrap=False, overflow="fold")
        for line in Segment.split_lines(console.render(self._inner, options)):
            while line and not line[-1].text.rstrip():
                line.pop()
            if line:
                last = line.pop()
                line.append(Segment(last.text.rstrip(), last.style))
            yield from (Segment(printable(text), style, control) for text, style, control in line)
            yield Segment.line()


def print_json(value: Json) -> None:
    """Print one JSON document as the result: indented on a terminal, on one line for programs."""
    print_json_bytes(json_bytes(value))


def json_bytes(value: Json) -> bytes:
    """The value as JSON; what is not UTF-8 in its texts, as a path may be, is shown as U+FFFD."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return _LONE_SURROGATE.sub("\ufffd", text).encode()


def print_json_bytes(document: bytes) -> None:
    """Print a document that is encoded already."""
    if not sys.stdout.isatty():
        sys.stdout.write(document.decode() + "\n")
        return
    text = orjson.dumps(orjson.loads(document), option=orjson.OPT_INDENT_2).decode()
    results().print_json(_UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text), indent=2)


@contextmanager
def stdout_for_results_only() -> Iterator[None]:
    """Send to stderr what components write to stdout meanwhile, and the programs that they start."""
    sys.stdout.flush()
    kept = os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)
    try:
        with redirect_stdout(sys.stderr), redirect_stderr(sys.stderr):  # both come back, whatever is put in their place
            yield
    finally:
        os.dup2(kept, _STDOUT)
        os.close(kept)


@contextmanager
def working(what: RichCast) -> Iterator[None]:
    """Show on a terminal what goes on, asked anew several times a second, and nothing elsewhere."""
    console = notes()
    if not console.is_terminal:
        yield
        return
    with console.status(what, spinner="line"):
        yield


def is_unicode(console: Console) -> bool:
    """Whether the stream can show more than ASCII."""
    return console.encoding.lower().startswith("utf")


def _stream(*, stderr: bool) -> Console:
    environment = {name: value for name, value in os.environ.items() if name not in _SIZES or _SIZE.fullmatch(value)}
    console = _Stream(stderr=stderr, highlight=False, markup=False, emoji=False, _environ=environment)
    if not console.is_terminal and "COLUMNS" not in environment:
        console.width = PIPED_WIDTH
    return console
