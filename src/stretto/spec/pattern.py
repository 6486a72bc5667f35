"""Regular expressions in a file: of those only that are searched for in time linear in the text.

They are the validator's, which hands them to an engine without backtracking (Rust's `regex`): a pattern that such an
engine cannot search for is refused, so no text that comes at run time can make one slow.
"""

import re
from typing import Final, Protocol

from stretto.spec.codes import SpecCode
from stretto.spec.nodes import Node, quote
from stretto.spec.report import Report
from stretto.spec.shapes import Text
from stretto.spec.source import Located
from stretto.types.json import JsonObject
from stretto.types.meaning import folded

MAX_COMPILED_BYTES: Final = 1 << 20
"""Of one pattern: ``x{1000}{1000}`` takes more, and nobody means it."""

_BACKTRACKS: Final = re.compile(r"\(\?<?[=!]|\(\?>|\\[1-9]|\\k<")
"""What looks around, refers back, or is atomic."""

PATTERN: Final = Text(expected="a regular expression, in quotes")


class Search(Protocol):
    """Whether a pattern is found in a text."""

    def __call__(self, text: str, /) -> bool: ...


def compiled_pattern(pattern: str) -> Search | None:
    """The search for a pattern in folded texts, without regard to case; None when it cannot be read, or is too large.

    ``\\d`` and ``\\w`` are ASCII's alone (ECMA 262), ``.`` is any character.
    """
    import jsonschema_rs

    options = jsonschema_rs.RegexOptions(size_limit=MAX_COMPILED_BYTES)
    schema = {"type": "string", "pattern": f"(?i)(?:{pattern})"}
    try:
        jsonschema_rs.Draft202012Validator({"type": "string", "pattern": pattern}, pattern_options=options)
        search: Search = jsonschema_rs.Draft202012Validator(schema, pattern_options=options).is_valid
    except jsonschema_rs.ValidationError:
        return None
    return search


class PatternShape:
    """A regular expression that is found in some texts and not in all."""

    def read(self, node: Node, name: str, report: Report) -> Located[str] | None:
        text = PATTERN.read(node, name, report)
        return None if text is None or not _check(text, report) else text

    def schema(self, defs: JsonObject) -> JsonObject:
        return {**PATTERN.schema(defs), "format": "regex"}


def _check(text: Located[str], report: Report) -> bool:
    search = compiled_pattern(text.value)
    if search is None:
        what = "cannot be read as a regular expression"
        expected = "a regular expression (ECMA 262)"
        if _BACKTRACKS.search(text.value):
            what = "looks around or refers back, so that some text could keep it busy without end"
            expected = "a pattern without (?=, (?!, (?<=, (?<!, (?>, \\1: alternatives, or two rules"
        return _refuse(text, what, expected, report)
    if search(""):
        return _refuse(text, "is found in every text, or in none", "a pattern that some texts hold", report)
    strange = next((char for char in text.value if folded(char) not in (char, char.lower(), "")), None)
    if strange is not None:
        shown = folded(strange)
        what = f"is never found: texts are compared without regard to case and width, and then hold no {quote(strange)}"
        meant = re.escape(shown) if len(strange) == len(shown) == 1 else shown
        return _refuse(text, what, f"{quote(meant)} in its place", report)
    return True


def _refuse(text: Located[str], what: str, expected: str, report: Report) -> bool:
    message = f"the pattern {quote(text.value)} {what}"
    report.add(text.span.problem(SpecCode.PATTERN, message, expected=expected))
    return False
