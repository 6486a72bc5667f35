"""Shapes of options that several kinds of component take in a workflow file."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from stretto.spec.nested import Entries, Items
from stretto.spec.nodes import MapNode, Node, ScalarNode
from stretto.spec.records import Key
from stretto.spec.report import Report
from stretto.spec.shapes import Choice, Text, wrong_value
from stretto.spec.source import Located
from stretto.spec.texts import PROSE, VERSION
from stretto.types.card import ANY_ACTION
from stretto.types.enums import Effect
from stretto.types.json import JsonObject
from stretto.types.protocols import Component

Make: TypeAlias = Callable[[str, Path], Component]
"""Makes the component of a name; paths in its options are relative to the folder.

Raises UsageError for options that cannot work together.
"""

ANY_TEXT: Final = Text(expected="text")

ACTION: Final = Text(expected="the name of an action, or * for all others")

VERSION_KEY: Final = Key("version", VERSION, means="the component's version", example='version: "1.2.0"')

DESCRIPTION_KEY: Final = Key("description", PROSE, means="what it does", example="description: orders and returns")

_EFFECT: Final = Choice(Effect)

TEXT_BY_NAME: Final = Entries(
    key=ANY_TEXT, value=ANY_TEXT, build=lambda key, value: (key.value, value.value), what="names and their texts"
)

TEXTS: Final = Items(item=ANY_TEXT, what="texts")


class EffectsShape:
    """One effect for everything, or one by action."""

    _by_action: Final = Entries(
        key=ACTION, value=_EFFECT, build=lambda key, value: (key.value, value), what="actions and their effects"
    )

    def read(self, node: Node, name: str, report: Report) -> dict[str, Effect] | None:
        if isinstance(node, MapNode):
            by_action = self._by_action.read(node, name, report)
            return None if by_action is None else dict(by_action)
        effect = _EFFECT.read(node, name, report)
        return None if effect is None else {ANY_ACTION: effect}

    def schema(self, defs: JsonObject) -> JsonObject:
        return {"anyOf": [_EFFECT.schema(defs), self._by_action.schema(defs)]}


class CommandShape:
    """A program, alone or with its arguments as a list: no shell reads it."""

    def read(self, node: Node, name: str, report: Report) -> tuple[str, ...] | None:
        if not isinstance(node, ScalarNode):
            words = TEXTS.read(node, name, report)
            return None if words is None else tuple(word.value for word in words)
        program = ANY_TEXT.read(node, name, report)
        if program is None:
            return None
        words_in_it = _words(program.value)
        if len(words_in_it) > 1:
            expected = "a program, or a list of it and its arguments: no shell reads the line"
            report.add(wrong_value(node, name, expected, f"{name}: [{', '.join(map(_quoted, words_in_it))}]"))
            return None
        return (program.value,)

    def schema(self, defs: JsonObject) -> JsonObject:
        return {"anyOf": [ANY_TEXT.schema(defs), TEXTS.schema(defs)]}


class FunctionName(msgspec.Struct, frozen=True):
    """Where a function or class is: ``module:name``, kept with its place in the file."""

    located: Located[str]

    @property
    def module(self) -> str:
        return self.located.value.partition(":")[0]

    @property
    def attribute(self) -> str:
        return self.located.value.partition(":")[2]


class FunctionShape:
    """``module:name``."""

    def read(self, node: Node, name: str, report: Report) -> FunctionName | None:
        text = ANY_TEXT.read(node, name, report)
        if text is None:
            return None
        module, colon, attribute = text.value.partition(":")
        if not (colon and attribute.isidentifier() and all(part.isidentifier() for part in module.split("."))):
            near = ":".join(text.value.rsplit(".", 1)) if "." in text.value and not colon else ""
            expected = "module:name, as in shop.rewards:api_success"
            report.add(wrong_value(node, name, expected, f"{name}: {near}" if near else ""))
            return None
        return FunctionName(text)

    def schema(self, _defs: JsonObject) -> JsonObject:
        return {"type": "string", "pattern": r"^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*$"}


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # an open quote
        return line.split()


def _quoted(word: str) -> str:
    return word if word.replace("-", "").replace("_", "").isalnum() and not word.isdigit() else f'"{word}"'
