"""Field types in shorthand, ``string[1,512]`` or ``array[object][1,20]?``, to JSON Schema 2020-12.

type    = base "?"?                     a ? makes the field optional: it may be missing, or null
base    = "string" bounds?              characters
        | "int" bounds? | "float" bounds?
        | "bool" | "object" | "any" | "datetime"
        | "enum" "[" word ("," word)* "]"
        | "array" ("[" base "]" bounds?)?     items
bounds  = "[" number? "," number? "]"   both inclusive; one may be left out
"""

import re
from collections.abc import Callable
from typing import Final

from stretto.spec.suggest import nearest
from stretto.types.json import Json, JsonObject

MAX_ARRAY_DEPTH: Final = 8
"""Arrays inside arrays; the reader recurses for each."""

DATETIME_PATTERN: Final = r"^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$"
"""RFC 3339, section 5.6. Beside `format`, which validators may ignore."""

NUMBER: Final = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")
"""No more digits than a double can tell apart."""

BASES: Final = ("string", "int", "float", "bool", "array", "object", "any", "enum", "datetime")

PATTERN: Final = rf"^\s*({'|'.join(BASES)})\s*(\[.*\])*\s*\??\s*$"
"""As far as a regular expression can tell, for the published schema."""

_OTHER_NAMES: Final = {
    "str": "string",
    "text": "string",
    "integer": "int",
    "number": "float",
    "double": "float",
    "decimal": "float",
    "boolean": "bool",
    "list": "array[any]",
    "dict": "object",
    "map": "object",
    "mapping": "object",
    "json": "any",
    "date": "datetime",
    "timestamp": "datetime",
    "choice": "enum[a,b]",
    "literal": "enum[a,b]",
}


class ShorthandError(ValueError):
    """A text is no type; says where in the text, and what would be."""

    def __init__(self, message: str, offset: int, width: int, *, expected: str = "", suggestion: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.width = width
        self.expected = expected
        self.suggestion = suggestion


def read_type(text: str) -> tuple[JsonObject, bool]:
    """The schema of a type, and whether the field is optional. Raises ShorthandError."""
    body = text.rstrip()
    optional = body.endswith("?")
    reader = _Reader(body.removesuffix("?").rstrip())
    schema = reader.type(0)
    reader.finish()
    return (or_null(schema) if optional else schema), optional


def or_null(schema: JsonObject) -> JsonObject:
    """The same schema, null allowed."""
    kind = schema.get("type")
    if isinstance(kind, str) and "enum" not in schema:
        return {**schema, "type": [kind, "null"]}
    return {"anyOf": [schema, {"type": "null"}]} if schema else schema


class _Reader:
    """Recursive descent over one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def type(self, depth: int) -> JsonObject:
        """Read one `base`."""
        start = self._skip_space()
        name = self._word()
        if name not in BASES:
            raise self._unknown(name, start)
        if name == "array":
            return self._array(depth)
        if name == "enum":
            return {"type": "string", "enum": self._choices()}
        bounds = _BOUNDS.get(name)
        return {**_PLAIN[name], **(self._bounds(*bounds) if bounds else {})}

    def finish(self) -> None:
        """Nothing may follow."""
        start = self._skip_space()
        rest = self._text[start:]
        if rest:
            suggestion = "a ? only makes sense at the end of the whole type" if "?" in rest else ""
            message, expected = f"'{rest}' cannot follow here", "the end of the type"
            raise ShorthandError(message, start, len(rest), expected=expected, suggestion=suggestion)

    def _unknown(self, name: str, start: int) -> ShorthandError:
        shown = name or self._text[start : start + 1]
        message = f"'{shown}' is no type" if shown else "a type is missing"
        suggestion = _OTHER_NAMES.get(name.casefold()) or nearest(name, BASES) or ""
        return ShorthandError(message, start, len(shown), expected=f"one of {', '.join(BASES)}", suggestion=suggestion)

    def _array(self, depth: int) -> JsonObject:
        if not self._take("["):
            return {"type": "array"}
        start = self._at
        if depth == MAX_ARRAY_DEPTH:
            message = f"arrays are nested deeper than {MAX_ARRAY_DEPTH}"
            raise ShorthandError(message, start, 1, suggestion="plain JSON Schema, under `schema:`")
        if NUMBER.match(self._text, self._skip_space()):
            rest = self._text[start:]
            message = "the type of the items comes first, then how many"
            raise ShorthandError(message, start, len(rest), suggestion=f"array[any][{rest}")
        items = self.type(depth + 1)
        if self._take("?"):
            message = "an item cannot be optional, only a whole field can"
            raise ShorthandError(message, self._at - 1, 1, suggestion="remove the ?")
        self._expect("]")
        return {"type": "array", "items": items, **self._bounds("minItems", "maxItems", int)}

    def _choices(self) -> list[Json]:
        start = self._at
        if not self._take("["):
            raise ShorthandError("an enum needs its values", start, 1, expected="enum[a,b,c]")
        end = self._text.find("]", self._at)
        if end < 0:
            self._at = len(self._text)
            self._expect("]")
        words = [word.strip() for word in self._text[self._at : end].split(",")]
        if not all(words) or len(set(words)) < len(words):
            message = "the values of an enum are empty or stand twice"
            raise ShorthandError(message, self._at, max(1, end - self._at), expected="enum[a,b,c]")
        self._at = end + 1
        return [*words]

    def _bounds(self, low: str, high: str, number: Callable[[str], int | float]) -> JsonObject:
        if not self._take("["):
            return {}
        start = self._at
        least = self._number(number)
        if not self._take(","):
            suggestion = f"[0,{least}]" if least is not None and self._text[self._at : self._at + 1] == "]" else ""
            raise ShorthandError(
                "bounds are two numbers",
                start,
                1,
                expected="[least,most], either may be left out",
                suggestion=suggestion,
            )
        most = self._number(number)
        self._expect("]")
        self._check_bounds(least, most, start, sizes=number is int and low != "minimum")
        return {key: bound for key, bound in ((low, least), (high, most)) if bound is not None}

    def _check_bounds(self, least: float | None, most: float | None, start: int, *, sizes: bool) -> None:
        width = self._at - 1 - start
        if least is None and most is None:
            raise ShorthandError("these bounds bind nothing", start, width, expected="at least one number")
        if least is not None and most is not None and least > most:
            raise ShorthandError(
                f"no value lies between {least:g} and {most:g}",
                start,
                width,
                expected="the smaller number first",
                suggestion=f"[{most:g},{least:g}]",
            )
        if sizes and ((least is not None and least < 0) or (most is not None and most < 0)):
            raise ShorthandError("a length is never negative", start, width, expected="0 or more")

    def _number(self, number: Callable[[str], int | float]) -> int | float | None:
        start = self._skip_space()
        found = NUMBER.match(self._text, start)
        if not found:
            return None
        if number is int and found[1]:
            raise ShorthandError(f"'{found[0]}' is no whole number", start, len(found[0]), expected="whole numbers")
        self._at = found.end()
        return number(found[0])

    def _skip_space(self) -> int:
        while self._text[self._at : self._at + 1].isspace():
            self._at += 1
        return self._at

    def _word(self) -> str:
        found = _WORD.match(self._text, self._at)
        if not found:
            return ""
        self._at = found.end()
        return found[0]

    def _take(self, mark: str) -> bool:
        if self._text[self._skip_space() :].startswith(mark):
            self._at += 1
            return True
        return False

    def _expect(self, mark: str) -> None:
        start = self._skip_space()
        if not self._take(mark):
            found = self._text[start : start + 1]
            message = f"'{found}' stands where '{mark}' should" if found else f"a '{mark}' is missing"
            raise ShorthandError(message, start, 1, expected=f"'{mark}'")


_WORD: Final = re.compile(r"[^\W\d]\w*")
_PLAIN: Final[dict[str, JsonObject]] = {
    "string": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "object": {"type": "object"},
    "any": {},
    "datetime": {"type": "string", "format": "date-time", "pattern": DATETIME_PATTERN},
}
_BOUNDS: Final[dict[str, tuple[str, str, Callable[[str], int | float]]]] = {
    "string": ("minLength", "maxLength", int),
    "int": ("minimum", "maximum", int),
    "float": ("minimum", "maximum", float),
}
