"""Shapes of options that only programs have."""

from typing import Final

from stretto.components.exec.declared_field import Scalar, Values
from stretto.components.exec.picture import Picture, PictureError, read_picture
from stretto.components.exec.settings import MAX_EXIT_CODE, MEANINGS
from stretto.components.option_shapes import ANY_TEXT
from stretto.spec.nested import Entries
from stretto.spec.nodes import ListNode, MapNode, Node, ScalarNode
from stretto.spec.report import Report
from stretto.spec.shapes import Rule, Text, wrong_type, wrong_value
from stretto.spec.suggest import nearest
from stretto.types.json import Json, JsonObject


class PictureShape:
    """A picture clause."""

    def read(self, node: Node, name: str, report: Report) -> Picture | None:
        if isinstance(node, ScalarNode) and isinstance(node.value, int) and set(node.text) == {"9"}:
            clause = node.text  # 999 is a number to YAML alone
        else:
            text = ANY_TEXT.read(node, name, report)
            if text is None:
                return None
            clause = text.value
        try:
            return read_picture(clause)
        except PictureError as error:
            report.add(wrong_value(node, name, f"{error.expected}; this one {error}"))
            return None

    def schema(self, _defs: JsonObject) -> JsonObject:
        return {"anyOf": [{"type": "string", "pattern": "[AXSV9axsv]"}, {"type": "integer"}]}


class CharShape:
    """One character, white space too."""

    def read(self, node: Node, name: str, report: Report) -> str | None:
        value = node.value if isinstance(node, ScalarNode) else None
        if isinstance(value, str) and len(value) == 1:
            return value
        hint = f'{name}: "{node.text}"' if isinstance(node, ScalarNode) and len(node.text) == 1 else ""
        report.add(wrong_type(node, name, "one character, in quotes", hint))
        return None

    def schema(self, _defs: JsonObject) -> JsonObject:
        return {"type": "string", "minLength": 1, "maxLength": 1}


class ScalarShape:
    """Text, a number, true or false."""

    def read(self, node: Node, name: str, report: Report) -> Scalar:
        if isinstance(node, ScalarNode) and node.value is not None:
            return node.value
        report.add(wrong_type(node, name, "text, a number, true or false"))
        return None

    def schema(self, _defs: JsonObject) -> JsonObject:
        return {"type": ["string", "number", "boolean"]}


_SCALAR: Final = ScalarShape()


class ValuesShape:
    """A list of values, or codes and the values that they stand for."""

    _codes: Final[Entries[Scalar, tuple[str, Scalar]]] = Entries(
        key=ANY_TEXT, value=_SCALAR, build=lambda key, value: (key.value, value), what="codes and their values"
    )

    def read(self, node: Node, name: str, report: Report) -> Values | None:
        if isinstance(node, MapNode):
            codes = self._codes.read(node, name, report)
            return None if codes is None else dict(codes)
        if not isinstance(node, ListNode) or not node.items:
            report.add(wrong_type(node, name, "a list of values, or a mapping of codes to values"))
            return None
        return tuple(_SCALAR.read(item, f"{name}[{at}]", report) for at, item in enumerate(node.items))

    def schema(self, defs: JsonObject) -> JsonObject:
        return {"anyOf": [{"type": "array", "items": _SCALAR.schema(defs), "minItems": 1}, self._codes.schema(defs)]}


class MeaningShape:
    """What an exit code means."""

    def read(self, node: Node, name: str, report: Report) -> str | None:
        text = ANY_TEXT.read(node, name, report)
        if text is None:
            return None
        word = text.value.casefold()
        if word not in MEANINGS:
            near = nearest(word, MEANINGS) or ""
            report.add(wrong_value(node, name, f"one of {', '.join(MEANINGS)}", f'"{name}": {near}' if near else ""))
            return None
        return word

    def schema(self, _defs: JsonObject) -> JsonObject:
        words: list[Json] = [*MEANINGS]
        return {"enum": words}


EXIT_CODES: Final = Entries(
    key=Text(
        expected="an exit code",
        rules=(
            Rule(
                pattern=r"^[1-9][0-9]{0,2}$",
                message="is no exit code of a failure",
                expected=f"a number from 1 to {MAX_EXIT_CODE}, in quotes; 0 always answers",
            ),
        ),
    ),
    value=MeaningShape(),
    build=lambda key, meaning: (int(key.value), meaning),
    what='exit codes and what they mean: "3": unavailable',
)
