"""Says in plain words what the YAML parser stumbled over, and how to mend it.

The parser's own sentences speak of tokens and block ends. Each function here knows one family of them; the
families are those met when people write CEL conditions and nested steps by hand.
"""

import re
from collections.abc import Callable
from typing import Final

from ruamel.yaml.error import MarkedYAMLError

from stretto.spec.codes import SpecCode
from stretto.spec.source import Source
from stretto.types.errors import Problem

_KEY_AND_VALUE: Final = re.compile(r"\s*(?:- +)*(?P<key>[^\s:#'\"][^:#]*|\"[^\"]*\"|'[^']*'):\s+(?P<value>.*\S)\s*")
_FLOW_OPENERS: Final = {"mapping": "{", "sequence": "["}


def syntax_problem(error: MarkedYAMLError, source: Source) -> Problem:
    """The problem that stands for a parser's error."""
    what = str(error.problem or error.context or "")
    for phrases, explain in _FAMILIES:
        problem = explain(error, source, what) if any(phrase in what for phrase in phrases) else None
        if problem is not None:
            return problem
    return _problem(source, _at(error), f"this is not YAML: {what}", "YAML 1.2", "")


def in_quotes(text: str) -> str:
    """The text as a quoted YAML scalar, in the quotes that need the least escaping."""
    if '"' in text or "\\" in text:
        return "'" + text.replace("'", "''") + "'"
    return f'"{text}"'


def tag_problem(source: Source, start: int, end: int) -> Problem:
    """The problem of a tag at `start`: nearly always an expression that begins with ``!``."""
    line, column = _line_at(source, start)
    found = _KEY_AND_VALUE.fullmatch(line)
    suggestion = "remove the tag"
    is_expression = found is not None and found["value"].startswith("!") and not found["value"].startswith("!!")
    if found and is_expression and found.start("value") <= column:
        start += found.start("value") - column
        end = start + len(found["value"])
        suggestion = f"if it is an expression: {_quoted_line(line)}"
    return source.problem(
        start,
        end,
        SpecCode.TAG,
        "a value without quotes that begins with '!' is a YAML tag, and tags are not allowed",
        expected="a plain value, or text in quotes",
        suggestion=suggestion,
    )


def _at(error: MarkedYAMLError) -> int:
    mark = error.problem_mark or error.context_mark
    return int(mark.index) if mark else 0


def _opened_at(error: MarkedYAMLError) -> int:
    return int(error.context_mark.index) if error.context_mark else _at(error)


def _problem(source: Source, at: int, message: str, expected: str, suggestion: str, *, width: int = 1) -> Problem:
    at = min(at, len(source.text.rstrip()))
    return source.problem(at, at + width, SpecCode.SYNTAX, message, expected=expected, suggestion=suggestion)


def _line_at(source: Source, at: int) -> tuple[str, int]:
    """The line that a character stands in, and its 0-based column there."""
    mark = source.mark(at)
    return source.line(mark.line), mark.column - 1


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _quoted_line(line: str) -> str:
    """The line's ``key: value`` with its value quoted, or nothing when it has no such shape."""
    found = _KEY_AND_VALUE.fullmatch(line)
    return f"{found['key']}: {in_quotes(found['value'])}" if found else ""


def _tab(error: MarkedYAMLError, source: Source, _what: str) -> Problem:
    at = _at(error)
    line, _ = _line_at(source, at)
    indent = _indent(line)
    return source.problem(
        at,
        at + max(1, indent),
        SpecCode.TAB,
        "this line is indented with a tab",
        expected="spaces: YAML does not allow tabs for indentation",
        suggestion="two spaces for each level; most editors can convert the whole file",
    )


def _cannot_begin(error: MarkedYAMLError, source: Source, _what: str) -> Problem:
    at = _at(error) if error.problem_mark and not error.context_mark else _opened_at(error)
    line, column = _line_at(source, at)
    return _problem(
        source,
        at,
        f"text without quotes cannot begin with {line[column : column + 1]!r}",
        "text in quotes",
        _quoted_line(line),
    )


def _open_quote(error: MarkedYAMLError, source: Source, _what: str) -> Problem:
    at = _opened_at(error)
    quote = source.text[at : at + 1]
    return _problem(source, at, f"the quote {quote} that opens here is never closed", f"a closing {quote}", "")


def _open_bracket(error: MarkedYAMLError, source: Source, _what: str) -> Problem | None:
    found = re.search(r"flow (mapping|sequence)", str(error.context))
    if not found:
        return None
    opener = _FLOW_OPENERS[found[1]]
    closer = "}" if opener == "{" else "]"
    opened, at = _opened_at(error), _at(error)
    if source.mark(at).line > source.mark(opened).line or at >= len(source.text.rstrip()):
        return _problem(source, opened, f"the '{opener}' that opens here is never closed", f"a closing '{closer}'", "")
    line, column = _line_at(source, at)
    return _problem(
        source,
        at,
        f"{line[column : column + 1]!r} cannot stand here",
        f"',' or '{closer}'",
        "put text that holds : , { } [ ] in quotes",
    )


def _second_colon(error: MarkedYAMLError, source: Source, _what: str) -> Problem:
    at = _at(error)
    line, column = _line_at(source, at)
    if ": " in line[:column]:
        message = "a second ': ' stands on this line, and the value has no quotes"
        return _problem(source, at, message, "text that holds ': ' in quotes", _quoted_line(line))
    above = source.text[: at - column].rstrip()
    line_above, _ = _line_at(source, len(above))
    if _indent(line_above) == _indent(line):
        start = len(above) - len(line_above.strip())
        return _problem(source, start, "this line has no ':' after its key", "key: value", "", width=len(line_above))
    message = "this line is indented deeper than the one above it, which has a value already"
    start = at - len(line[:column].lstrip())
    return _problem(source, start, message, "the indentation of the keys beside it", "", width=at - start)


def _stray(error: MarkedYAMLError, source: Source, what: str) -> Problem:
    at = _at(error)
    line, column = _line_at(source, at)
    before = line[:column].rstrip()
    if line[column : column + 1] in ("}", "]"):
        return _problem(source, at, f"the '{line[column]}' closes nothing", "each bracket closed once", "")
    if before[-1:] in ("'", '"'):
        message = "text goes on after the closing quote"
        return _problem(
            source, at, message, "the whole value in one pair of quotes", _quoted_line(line), width=len(line) - column
        )
    if before and not before.endswith(("-", ":")):
        return _problem(
            source, at, f"{line[column:].split()[0]!r} cannot stand here", "one value for each key", _quoted_line(line)
        )
    message = "this line is indented like none of the lines above that are still open"
    if "<scalar>" in what:
        message = "this line has no 'key:' and continues nothing"
    return _problem(
        source,
        at,
        message,
        "the same number of spaces for keys, and for items, of one level",
        "",
        width=len(line) - column,
    )


def _escape(error: MarkedYAMLError, source: Source, _what: str) -> Problem:
    at = _at(error)
    char = source.text[at : at + 1]
    suggestion = f"single quotes, where a backslash is itself, or \\\\{char}"
    return _problem(
        source,
        at - 1,
        f"'\\{char}' is no escape in double quotes",
        '\\n \\t \\" \\\\ \\uXXXX and the like',
        suggestion,
        width=2,
    )


def _no_value(error: MarkedYAMLError, source: Source, _what: str) -> Problem:
    at = _at(error)
    if at >= len(source.text.rstrip()):
        return _problem(source, at, "the file ends in the middle of a value", "a value, and every bracket closed", "")
    char = source.text[at]
    return _problem(
        source,
        at,
        f"a value is missing before '{char}'",
        "a value",
        f"if '{char}' is part of a text, put the text in quotes",
    )


def _inline_item(error: MarkedYAMLError, source: Source, _what: str) -> Problem:
    message = "a list item cannot begin on the line of its key"
    return _problem(source, _at(error), message, "'- ' on a line of its own, below the key", "or [a, b] on one line")


def _no_colon(error: MarkedYAMLError, source: Source, _what: str) -> Problem:
    at = _opened_at(error)
    line, column = _line_at(source, at)
    return _problem(source, at, "this line has no ':' after its key", "key: value", "", width=len(line) - column)


_FAMILIES: Final[tuple[tuple[tuple[str, ...], Callable[[MarkedYAMLError, Source, str], Problem | None]], ...]] = (
    (("found character '\\t'",), _tab),
    (("cannot start any token", "expected alphabetic or numeric", "indentation indicators"), _cannot_begin),
    (("unexpected end of stream", "unexpected document separator"), _open_quote),
    (("expected ',' or",), _open_bracket),
    (("mapping values are not allowed",), _second_colon),
    (("expected <block end>",), _stray),
    (("unknown escape", "expected escape sequence"), _escape),
    (("expected the node content",), _no_value),
    (("sequence entries are not allowed",), _inline_item),
    (("could not find expected ':'",), _no_colon),
)
"""Parts of the parser's sentences, and what explains them; the first that fits and finds its way is taken."""
