"""Numbers of a picture with an implied decimal point: JSON on one side, whole units of the last place on the other."""

from decimal import Decimal
from typing import Final, Protocol

from stretto.components.exec.misfit import MisfitError
from stretto.components.exec.picture import Picture, Sign
from stretto.components.exec.scalars import as_number, exact, plain, whole
from stretto.types.json import Json, JsonObject

MAX_INTEGER_DIGITS: Final = 18
"""More do not fit into the 64 bits of an integer."""

MAX_NUMBER_DIGITS: Final = 15
"""A double gives back that many decimal digits (IEEE 754 binary64; C's DBL_DIG)."""


class UnitsCodec(Protocol):
    """JSON to units and back; writing raises MisfitError."""

    @property
    def takes(self) -> JsonObject: ...

    @property
    def gives(self) -> JsonObject: ...

    def write(self, value: Json) -> int: ...

    def read(self, units: int) -> Json: ...


class WholeUnits:
    """Integers, for pictures without decimals."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        most = 10**picture.size - 1
        self.takes: JsonObject = {"type": "integer", "minimum": _least(most, picture), "maximum": most}
        self.gives = self.takes

    def write(self, value: Json) -> int:
        return fitting(whole(value), self._picture)

    def read(self, units: int) -> Json:
        return units


class DecimalUnits:
    """Exact decimals: text in JSON, with as many decimals as the picture. Numbers are written by their digits."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        places, part = max(1, picture.size - picture.decimals), picture.decimals
        sign = "" if picture.sign is Sign.NONE else "-?"
        behind = f"[0-9]{{{part}}}"
        self.gives: JsonObject = {
            "type": "string",
            "pattern": f"^{sign}[0-9]{{1,{places}}}" + (rf"\.{behind}$" if part else "$"),
        }
        some = rf"(\.[0-9]{{1,{part}}})?" if part else ""
        both: list[Json] = ["string", "number"]
        text: JsonObject = {"pattern": f"^{sign}[0-9]{{1,{places}}}{some}$"}
        self.takes: JsonObject = {"type": both, **text, **_bounds(picture)}

    def write(self, value: Json) -> int:
        return fitting(to_units(exact(value), self._picture), self._picture)

    def read(self, units: int) -> Json:
        return plain(from_units(units, self._picture))


class NumberUnits:
    """Numbers of JSON, for pictures of at most 15 digits: those it gives back exactly."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        self.takes: JsonObject = {"type": "number", **_bounds(picture)}
        self.gives = self.takes

    def write(self, value: Json) -> int:
        return fitting(to_units(exact(value, of_text=False), self._picture), self._picture)

    def read(self, units: int) -> Json:
        return as_number(from_units(units, self._picture))


def to_units(number: Decimal, picture: Picture) -> int:
    """A number in units of the picture's last place; raises MisfitError when it has more decimals."""
    whole_part, _, part = plain(number).partition(".")
    if part[picture.decimals :].strip("0"):
        raise MisfitError(f"at most {picture.decimals} decimals, as {picture} has")
    return int(whole_part + part[: picture.decimals].ljust(picture.decimals, "0"))


def from_units(units: int, picture: Picture) -> Decimal:
    """The number that so many units are, with the picture's decimals."""
    sign, digits = int(units < 0), tuple(map(int, str(abs(units))))
    return Decimal((sign, digits, -picture.decimals))


def fitting(units: int, picture: Picture) -> int:
    """The same units; raises MisfitError when the picture has no room for them."""
    if units < 0 and picture.sign is Sign.NONE:
        raise MisfitError(f"a number of 0 or more: {picture} has no sign")
    if abs(units) >= 10**picture.size:
        raise MisfitError(f"a number of at most {picture.size - picture.decimals} digits before the point: {picture}")
    return units


def _least(most: int, picture: Picture) -> int:
    return 0 if picture.sign is Sign.NONE else -most


def _bounds(picture: Picture) -> JsonObject:
    most = float(from_units(10**picture.size - 1, picture))
    return {"minimum": 0.0 if picture.sign is Sign.NONE else -most, "maximum": most}
