"""Single values: JSON on one side, the text of a field on the other, and nothing lost between them."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final, Protocol

from stretto.components.exec.misfit import MisfitError
from stretto.types.arguments import INT64_MAX, INT64_MIN
from stretto.types.json import Json, JsonObject

MAX_NUMBER_CHARS: Final = 400
"""Of a number's text: the longest double takes 325; more is not converted, since that takes quadratic time."""

_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)-?", re.ASCII)
_EXPONENT: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)


class ScalarCodec(Protocol):
    """Text of a field to a value of JSON, and back. Both raise MisfitError."""

    @property
    def takes(self) -> JsonObject:
        """Schema of what may be written."""
        ...

    @property
    def gives(self) -> JsonObject:
        """Schema of what is read."""
        ...

    def write(self, value: Json) -> str: ...

    def read(self, text: str) -> Json: ...


class TextCodec:
    """Text, of at most so many characters."""

    def __init__(self, most: int | None = None) -> None:
        self.takes: JsonObject = {"type": "string"} if most is None else {"type": "string", "maxLength": most}
        self.gives = self.takes
        self._most = most

    def write(self, value: Json) -> str:
        if not isinstance(value, str):
            raise MisfitError("text")
        return self._held(value)

    def read(self, text: str) -> Json:
        return self._held(text)

    def _held(self, text: str) -> str:
        if self._most is not None and len(text) > self._most:
            raise MisfitError(f"at most {self._most} characters")
        return text


class IntegerCodec:
    """Whole numbers of 64 bits; of `width` characters at most where that is given."""

    def __init__(self, width: int | None = None) -> None:
        self._width = width
        least, most = (INT64_MIN, INT64_MAX) if width is None else (1 - 10 ** (width - 1), 10**width - 1)
        self._least, self._most = max(least, INT64_MIN), min(most, INT64_MAX)
        self.takes: JsonObject = {"type": "integer"}
        if width is not None:
            self.takes |= {"minimum": self._least, "maximum": self._most}
        self.gives = self.takes

    def write(self, value: Json) -> str:
        return str(self._held(whole(value)))

    def read(self, text: str) -> Json:
        number = decimal_of(text.strip(" "))
        if number is None or number != number.to_integral_value():
            raise MisfitError("a whole number")
        return self._held(int(number))

    def _held(self, number: int) -> int:
        if not self._least <= number <= self._most:
            raise MisfitError(f"a whole number from {self._least} to {self._most}")
        return number


class DecimalCodec:
    """Decimal fractions, exact: text in JSON. Where they are written, numbers are taken by their shortest digits."""

    _pattern: Final = r"^-?[0-9]+(\.[0-9]+)?$"

    def __init__(self, width: int | None = None) -> None:
        self._width = width
        both: list[Json] = ["string", "number"]
        most: JsonObject = {} if width is None else {"maxLength": width}
        self.gives: JsonObject = {"type": "string", "pattern": self._pattern}
        self.takes: JsonObject = {"type": both, "pattern": self._pattern, **most}

    def write(self, value: Json) -> str:
        text = plain(exact(value))
        if self._width is not None and len(text) > self._width:
            raise MisfitError(f"a number of at most {self._width} characters")
        return text

    def read(self, text: str) -> Json:
        number = decimal_of(text.strip(" "))
        if number is None:
            raise MisfitError("a decimal number such as -12.50")
        return plain(number)


class NumberCodec:
    """Numbers as JSON has them, binary fractions: only such as give back every digit that was read."""

    def __init__(self, width: int | None = None) -> None:
        self._width = width
        self.takes: JsonObject = {"type": "number"}
        self.gives = self.takes

    def write(self, value: Json) -> str:
        text = plain(exact(value, of_text=False))
        if self._width is not None and len(text) > self._width:
            raise MisfitError(f"a number of at most {self._width} characters")
        return text

    def read(self, text: str) -> Json:
        number = decimal_of(text.strip(" "), with_exponent=True)
        if number is None:
            raise MisfitError("a number")
        return as_number(number)


class BooleanCodec:
    """``true`` and ``false``."""

    takes: Final[JsonObject] = {"type": "boolean"}
    gives: Final = takes

    def write(self, value: Json) -> str:
        if not isinstance(value, bool):
            raise MisfitError("true or false")
        return "true" if value else "false"

    def read(self, text: str) -> Json:
        if text not in ("true", "false"):
            raise MisfitError("true or false")
        return text == "true"


class OneOf:
    """Some of the values of another codec."""

    def __init__(self, codec: ScalarCodec, values: tuple[Json, ...]) -> None:
        self._codec = codec
        self._values = values
        self.takes: JsonObject = {"enum": [*values]}
        self.gives = self.takes

    def write(self, value: Json) -> str:
        return self._codec.write(self._held(value))

    def read(self, text: str) -> Json:
        return self._held(self._codec.read(text))

    def _held(self, value: Json) -> Json:
        if not any(same(value, other) for other in self._values):
            raise MisfitError(f"one of {listed(self._values)}")
        return value


class Coded:
    """Codes that stand for values."""

    def __init__(self, codes: Mapping[str, Json]) -> None:
        self._codes = codes
        meant = [*codes.values()]
        once = [value for at, value in enumerate(meant) if not any(same(value, other) for other in meant[:at])]
        self.takes: JsonObject = {"enum": [*once]}
        self.gives = self.takes

    def write(self, value: Json) -> str:
        for code, meant in self._codes.items():
            if same(value, meant):
                return code
        raise MisfitError(f"one of {listed(tuple(self._codes.values()))}")

    def read(self, text: str) -> Json:
        if text not in self._codes:
            raise MisfitError(f"one of the codes {listed(tuple(self._codes))}")
        return self._codes[text]


def whole(value: Json) -> int:
    """A whole number, also where JSON has it as 2.0; raises MisfitError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise MisfitError("a whole number")
    return int(value)


def exact(value: Json, *, of_text: bool = True) -> Decimal:
    """A number as the decimal that its shortest digits are; raises MisfitError for what is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or (isinstance(value, str) and not of_text):
        raise MisfitError("a number")
    text = value if isinstance(value, str) else repr(value)
    number = decimal_of(text, with_exponent=not isinstance(value, str))
    if number is None:
        raise MisfitError("a decimal number such as -12.50")
    return number


def decimal_of(text: str, *, with_exponent: bool = False) -> Decimal | None:
    """The decimal of a text, also with its minus behind it as COBOL edits it; None when it is none."""
    if len(text) > MAX_NUMBER_CHARS or not (_EXPONENT if with_exponent else _NUMBER).fullmatch(text):
        return None
    if text.endswith("-"):
        return None if text[0] in "+-" else Decimal(text[:-1]).copy_negate()  # `-` would round to 28 digits
    return Decimal(text)


def plain(number: Decimal) -> str:
    """A decimal without an exponent, a plus, or a minus before 0."""
    return format(number.copy_abs() if number == 0 else number, "f")


def as_number(number: Decimal) -> int | float:
    """A decimal as a number of JSON; raises MisfitError when that would not give back its digits."""
    if number == number.to_integral_value() and INT64_MIN <= number <= INT64_MAX:
        return int(number) if number.as_tuple().exponent == 0 else float(number)
    if Decimal(repr(float(number))) != number:
        raise MisfitError("a number that JSON gives back to the last digit, about 15 of them; or declare type: decimal")
    return float(number)


def same(one: Json, other: Json) -> bool:
    """Whether two values are one in JSON, where true is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def listed(values: tuple[Json, ...]) -> str:
    """Some values, for a message."""
    shown = ", ".join(f"'{value}'" if isinstance(value, str) else str(value) for value in values[:8])
    return f"{shown}, ..." if len(values) > 8 else shown
