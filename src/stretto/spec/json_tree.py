"""Reads JSON (RFC 8259) into a tree with places. YAML's parser would take most of it, but not tabs between the
tokens, and its errors speak of YAML."""

import json
import re
from typing import Final, NoReturn

from stretto.spec.codes import SpecCode
from stretto.spec.nodes import Node, ScalarNode, quote
from stretto.spec.report import Report
from stretto.spec.scalars import integer, real, report_not_finite, text_scalar
from stretto.spec.source import Source, Span
from stretto.spec.tree import MAX_NODES, TreeBuilder
from stretto.types.errors import Problem

_TOKEN: Final = re.compile(
    r"[ \t\r\n]*(?:"
    r"(?P<mark>[{}\[\]:,])"
    r'|(?P<text>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")'
    r"|(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)(?![\w.+-])"
    r"|(?P<word>true|false|null)(?!\w)"
    r"|(?P<not_finite>-?Infinity|NaN)(?!\w)"
    r"|(?P<end>\Z)"
    r")"
)
_WORDS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
_PYTHON_WORDS: Final = {"True": "true", "False": "false", "None": "null", "undefined": "null"}
_CLOSERS: Final = {"{": "}", "[": "]"}
_WORD: Final = re.compile(r"[\w.+-]+")
_TEXT_SO_FAR: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')


def json_tree(source: Source, report: Report, most: int = MAX_NODES) -> Node | None:
    """The tree of a JSON text of at most so many values; None when there is nothing in it.

    Raises SpecError when it is not JSON.
    """
    return _JsonReader(source, report, most).read()


class _JsonReader:
    """Walks the tokens with an explicit stack, so that depth costs no recursion.

    `_expects` says what may come: ``value``, ``first`` (a value or the end of a list), ``key``, ``first key`` (a key
    or the end of an object), ``colon``, ``next`` (a comma or the end) or ``end``.
    """

    def __init__(self, source: Source, report: Report, most: int) -> None:
        self._source = source
        self._report = report
        self._builder = TreeBuilder(source, report, most)
        self._open: list[tuple[str, int]] = []
        self._expects = "value"

    def read(self) -> Node | None:
        text, at = self._source.text, 0
        while True:
            token = _TOKEN.match(text, at)
            if token is None:
                self._fail(len(text) - len(text[at:].lstrip(" \t\r\n")))
            kind = str(token.lastgroup)
            if kind == "end":
                if self._open:
                    self._fail_unclosed()
                return self._builder.root
            self._take(kind, token[kind], token.start(kind))
            at = token.end()

    def _take(self, kind: str, text: str, at: int) -> None:
        if kind == "mark":
            self._take_mark(text, at)
            return
        is_key = self._expects in ("key", "first key")
        if self._expects not in ("value", "first") and not (is_key and kind == "text"):
            self._fail(at)
        span = self._builder.span(at, at + len(text))
        self._builder.scalar(_scalar(kind, text, span, self._report))
        self._expects = "colon" if is_key else self._after_value()

    def _take_mark(self, mark: str, at: int) -> None:
        expects = self._expects
        if mark in "{[" and expects in ("value", "first"):
            self._builder.begin(at, is_map=mark == "{")
            self._open.append((mark, at))
            self._expects = "first key" if mark == "{" else "first"
        elif self._closes(mark):
            self._open.pop()
            self._builder.end(at + 1)
            self._expects = self._after_value()
        elif mark == ":" and expects == "colon":
            self._expects = "value"
        elif mark == "," and expects == "next":
            self._expects = "key" if self._open[-1][0] == "{" else "value"
        else:
            self._fail(at)

    def _closes(self, mark: str) -> bool:
        ready = self._expects in ("next", "first", "first key")
        return ready and bool(self._open) and _CLOSERS[self._open[-1][0]] == mark

    def _after_value(self) -> str:
        return "next" if self._open else "end"

    def _fail_unclosed(self) -> NoReturn:
        opener, at = self._open[-1]
        message = f"the '{opener}' that opens here is never closed"
        problem = self._source.problem(at, at + 1, SpecCode.SYNTAX, message, expected=f"a closing '{_CLOSERS[opener]}'")
        self._report.fail(problem)

    def _fail(self, at: int) -> NoReturn:
        text = self._source.text
        if text[at : at + 1] == '"' and self._expects in ("value", "first", "key", "first key"):
            self._report.fail(_text_problem(self._source, at))
        found = _WORD.match(text, at)
        word = found[0] if found else text[at : at + 1]
        problem = self._source.problem(
            at,
            at + len(word),
            SpecCode.SYNTAX,
            f"{quote(word)} cannot stand here in JSON",
            expected=self._wanted(),
            suggestion=_remedy(word, self._expects, in_list=bool(self._open) and self._open[-1][0] == "["),
        )
        self._report.fail(problem)

    def _wanted(self) -> str:
        closer = f"'{_CLOSERS[self._open[-1][0]]}'" if self._open else ""
        return {
            "value": "a value",
            "first": f"a value or {closer}",
            "key": "a key in double quotes",
            "first key": f"a key in double quotes, or {closer}",
            "colon": "':' after the key",
            "next": f"',' or {closer}",
            "end": "nothing after the end of the value",
        }[self._expects]


def _scalar(kind: str, text: str, span: Span, report: Report) -> ScalarNode:
    if kind == "text":
        return text_scalar(json.loads(text), span, report)
    if kind == "word":
        return ScalarNode(span=span, value=_WORDS[text], text=text)
    if kind == "not_finite":
        report_not_finite(text, span, report)
        return ScalarNode(span=span, value=0.0, text=text)
    read = real if any(char in text for char in ".eE") else integer
    return ScalarNode(span=span, value=read(text, span, report), text=text)


def _text_problem(source: Source, start: int) -> Problem:
    """What is wrong inside a quoted text that is no token."""
    good = _TEXT_SO_FAR.match(source.text, start)
    at = good.end() if good else start
    char = source.text[at : at + 1]
    if char == "\\":
        message, expected = (
            f"{quote(source.text[at : at + 2])} is no escape in JSON",
            r"\n \t \" \\ \/ \b \f \r or \uXXXX",
        )
        return source.problem(at, at + 2, SpecCode.SYNTAX, message, expected=expected, suggestion=r"\\ for a backslash")
    if char and char not in "\r\n":
        message, suggestion = f"the control character U+{ord(char):04X} stands in a text", f"\\u{ord(char):04x}"
        return source.problem(at, at + 1, SpecCode.SYNTAX, message, expected="an escape", suggestion=suggestion)
    message = "the text that begins here is not closed on its line"
    return source.problem(
        start, at, SpecCode.SYNTAX, message, expected='a closing "', suggestion=r"\n for a line break"
    )


def _remedy(word: str, expects: str, *, in_list: bool) -> str:
    """What most likely went wrong, by the first character of what stands in the wrong place."""
    if word in ("/", "#"):
        return "JSON has no comments; name the file .yaml to keep them"
    if expects == "next":
        return "put a comma before it"
    if word in ("}", "]") and (expects == "key" or (expects == "value" and in_list)):
        return "remove the comma before it"
    if word == "'" or (expects in ("key", "first key") and word.isidentifier()):
        return "use double quotes"
    if word[0] in "0123456789.+-":
        return "write the number without a leading zero, '+' or '.'"
    return _PYTHON_WORDS.get(word, "")
