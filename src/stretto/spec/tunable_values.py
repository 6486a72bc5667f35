"""The value of a setting, as it is typed and as the file would hold it."""

from typing import Any, Final

import orjson

from stretto.spec.nodes import Entry, ListNode, Node, ScalarNode, to_json
from stretto.spec.read import read_mapping
from stretto.spec.records import Key
from stretto.spec.report import Report
from stretto.spec.source import Source
from stretto.spec.texts import EXPRESSION
from stretto.types.errors import SpecError
from stretto.types.setting import SettingValue

SOURCE: Final = "setting"
"""Stands in messages where a file's name does: what is wrong was typed, and stands in no file."""


def setting_node(name: str, value: SettingValue, key: Key[Any]) -> Entry:
    """A value as the file would hold it. Raises SpecError where it is no value of a file."""
    return _entry(name, _written(value, key))


def plain_value(name: str, value: SettingValue, key: Key[Any]) -> SettingValue:
    """A value as it is kept: what was typed as text and reads as a number is one."""
    node = setting_node(name, value, key).node
    return node.value if isinstance(node, ScalarNode) else value


def value_of(node: Node | None) -> SettingValue:
    """What a file says, as somebody would type it; None where it says nothing."""
    if isinstance(node, ScalarNode):
        return node.value
    return f"[{', '.join(str(to_json(item)) for item in node.items)}]" if isinstance(node, ListNode) else None


def _written(value: SettingValue, key: Key[Any]) -> str:
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return _quoted(text) if key.shape is EXPRESSION else text


def _quoted(expression: str) -> str:
    """An expression in quotes, which it needs wherever YAML reads more into it: ``!output.ok``, ``a ? b : c``.

    One that was typed in quotes, as in a file, has them already.
    """
    if expression[:1] in ("'", '"'):
        try:
            node = _entry("quoted", expression).node
        except SpecError:  # CEL that begins with a quote
            node = None
        if isinstance(node, ScalarNode) and isinstance(node.value, str):
            return expression
    return orjson.dumps(expression).decode()


def _entry(name: str, text: str) -> Entry:
    report = Report()
    top = read_mapping(Source(SOURCE, f"{name}: {text}"), SOURCE, report)
    report.raise_if_any()
    return next(iter(top.entries.values()))
