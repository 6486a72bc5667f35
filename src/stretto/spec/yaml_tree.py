"""Reads YAML 1.2 into a tree, from the parser's events: nothing is constructed, so nothing in a file can run."""

import re
from typing import Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    ScalarEvent,
)
from ruamel.yaml.reader import ReaderError

from stretto.spec.codes import SpecCode
from stretto.spec.nodes import Node
from stretto.spec.report import Report
from stretto.spec.scalars import plain_scalar, text_scalar
from stretto.spec.source import Source
from stretto.spec.tree import TreeBuilder
from stretto.spec.yaml_syntax import syntax_problem, tag_problem
from stretto.types.errors import Problem

CORE_VERSION: Final = (1, 2)
"""YAML 1.1 reads ``on`` and ``no`` as booleans; a file that asks for it would not mean what it says here."""

_LONG_TAG: Final = re.compile(r"(?:^|[\s\[{,])(!\S{1024})")
"""The parser takes quadratic time for a tag, and no tag is allowed anyway: a megabyte of ``!`` would take a minute."""

_ANCHOR: Final = re.compile(r"&\S+\s+")


def yaml_tree(source: Source, report: Report) -> Node | None:
    """The tree of a YAML text; None when there is nothing in it.

    Raises SpecError when the text is not YAML or breaks a bound; what is wrong but can be passed over is reported.
    """
    long_tag = _LONG_TAG.search(source.text)
    if long_tag is not None:
        report.fail(tag_problem(source, *long_tag.span(1)))
    builder = TreeBuilder(source, report)
    try:
        for event in YAML(typ="safe", pure=True).parse(source.text):
            _take(event, builder, source, report)
    except MarkedYAMLError as error:
        report.fail(syntax_problem(error, source))
    except ReaderError as error:
        report.fail(_character_problem(error, source))
    return builder.root


def _take(event: Event, builder: TreeBuilder, source: Source, report: Report) -> None:
    if isinstance(event, AliasEvent):
        builder.alias(event.anchor, event.start_mark.index, event.end_mark.index)
    elif isinstance(event, ScalarEvent | CollectionStartEvent):
        _take_node(event, builder, source, report)
    elif isinstance(event, CollectionEndEvent):
        builder.end(event.end_mark.index)
    elif isinstance(event, DocumentStartEvent):
        _check_document(event, builder, source, report)


def _take_node(event: ScalarEvent | CollectionStartEvent, builder: TreeBuilder, source: Source, report: Report) -> None:
    start, end = event.start_mark.index, event.end_mark.index
    if event.tag is not None:
        report.add(tag_problem(source, start, end))
    if isinstance(event, ScalarEvent):
        span = builder.span(_content_start(source.text, start, end), end)
        make = text_scalar if event.style or event.tag is not None else plain_scalar
        builder.scalar(make(event.value, span, report), event.anchor)
    else:
        builder.begin(start, is_map=isinstance(event, MappingStartEvent), anchor=event.anchor)


def _content_start(text: str, start: int, end: int) -> int:
    """Where a scalar itself begins, after its anchor."""
    anchor = _ANCHOR.match(text, start, end)
    return anchor.end() if anchor else start


def _check_document(event: DocumentStartEvent, builder: TreeBuilder, source: Source, report: Report) -> None:
    start, end = event.start_mark.index, event.end_mark.index
    if builder.root is not None:
        problem = source.problem(
            start,
            end,
            SpecCode.SEVERAL_DOCUMENTS,
            "a second YAML document begins here",
            expected="one document in a file",
            suggestion="a file for each workflow",
        )
        report.fail(problem)
    if event.tags or event.version not in (None, CORE_VERSION):
        report.add(
            source.problem(
                start,
                end,
                SpecCode.TAG,
                "this file begins with a YAML directive that is not followed here",
                expected="YAML 1.2 without %TAG",
                suggestion="remove the lines that begin with %",
            )
        )


def _character_problem(error: ReaderError, source: Source) -> Problem:
    at = int(error.position)
    return source.problem(
        at,
        at + 1,
        SpecCode.CONTROL_CHARACTER,
        f"the character U+{ord(source.text[at]):04X} is not allowed in a YAML file",
        expected="printable characters",
        suggestion=f'inside double quotes, write it as "\\u{ord(source.text[at]):04x}"',
    )
