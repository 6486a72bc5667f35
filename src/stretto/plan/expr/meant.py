"""What a text that cannot be read as CEL was meant to be: a template of another language, or plain words."""

import re
from typing import Final

from stretto.plan.expr.parse import parse
from stretto.plan.expr.problem import ExprCode, ExprProblems, refuse

_TEMPLATE: Final = re.compile(r"[$#]?\{\{?\s*([A-Za-z_][^{}]*?)\s*\}\}?")
"""An expression in braces, as Jinja, GitHub Actions, Ruby and Python's f-strings write it."""

_WORDS: Final = re.compile(r"(?:[\w\s'\u2019]|(?<=\w)[,;:!?…-]|(?<=[\w.])\.(?=[\s.]|$)|(?<=\s)[\u2013\u2014](?=\s))+")
"""Letters and what stands between words; a point only at the end of a word, so that no path is taken for prose."""


def told_as_meant(source: str, found: ExprProblems) -> ExprProblems:
    """The problems of a text that is no CEL, as the remedy for what was meant where that can be told."""
    return _template(source) or _words(source, found) or found


def _template(source: str) -> ExprProblems | None:
    """Braces around an expression, alone or in the midst of text; None when there are none."""
    parts = _TEMPLATE.split(source)
    if len(parts) == 1 or not all(map(_is_expression, parts[1::2])):
        return None
    quoted = [_quoted(part) for part in parts[::2] if part.strip()]
    if not all(quoted):
        return None
    suggestion = parts[1]
    if quoted:
        pieces = [part if at % 2 else _quoted(part) for at, part in enumerate(parts) if at % 2 or part]
        suggestion = " + ".join(pieces)
    found = next(_TEMPLATE.finditer(source))
    message = f"`{found[0]}` is a template of another language"
    expected = "an expression without braces; text goes into quotes, and + joins the two"
    return refuse(ExprCode.SYNTAX, message, 0, len(source), expected=expected, suggestion=suggestion)


def _words(source: str, found: ExprProblems) -> ExprProblems | None:
    """The same problem with the text in quotes; None when the text is more than words, or another remedy is known."""
    first = found.problems[0]
    text = source.strip()
    if first.suggestion or not _WORDS.fullmatch(text) or not any(map(str.isalpha, text)) or not _quoted(text):
        return None
    start, end = first.offset, first.offset + first.width
    suggestion = f"{_quoted(text)} if the text is meant"
    return refuse(first.code, first.message, start, end, expected=first.expected, suggestion=suggestion)


def _is_expression(text: str) -> bool:
    try:
        parse(text)
    except ExprProblems:
        return False
    return True


def _quoted(text: str) -> str:
    """The text as a CEL literal; empty when it holds both kinds of quotes, or needs escapes."""
    if "\\" in text or "\n" in text:
        return ""
    return next((f"{mark}{text}{mark}" for mark in ("'", '"') if mark not in text), "")
