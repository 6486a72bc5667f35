"""Which codec a declared field has, whatever message it stands in. Raises UsageError for what cannot work together."""

from collections.abc import Mapping, Sequence
from typing import Final

from stretto.components.exec.dates import COMPACT, ISO, DateCodec, is_layout
from stretto.components.exec.declared_field import Field, FieldType
from stretto.components.exec.misfit import MisfitError
from stretto.components.exec.picture import Picture
from stretto.components.exec.scalars import (
    BooleanCodec,
    Coded,
    DecimalCodec,
    IntegerCodec,
    NumberCodec,
    OneOf,
    ScalarCodec,
    TextCodec,
    same,
)
from stretto.components.exec.units import (
    MAX_INTEGER_DIGITS,
    MAX_NUMBER_DIGITS,
    DecimalUnits,
    NumberUnits,
    UnitsCodec,
    WholeUnits,
)
from stretto.types.errors import UsageError
from stretto.types.json import Json, JsonObject

OF_TEXT = (FieldType.STRING, FieldType.DATE, FieldType.BOOLEAN)
"""Types that stand in a picture of digits as those digits themselves."""


def type_of(field: Field) -> FieldType:
    """A field's type: as declared, else as its picture has it, else text."""
    if field.type is not None:
        return field.type
    if field.date:
        return FieldType.DATE
    picture = field.picture
    if picture is None or not picture.is_numeric or isinstance(field.values, Mapping):
        return FieldType.STRING
    is_integer = not picture.decimals and picture.size <= MAX_INTEGER_DIGITS
    return FieldType.INTEGER if is_integer else FieldType.DECIMAL


def is_number_of_picture(field: Field) -> bool:
    """Whether a field is a number in the places of a picture, not text that happens to be digits."""
    is_numeric = field.picture is not None and field.picture.is_numeric
    return is_numeric and type_of(field) not in OF_TEXT and not isinstance(field.values, Mapping)


def text_codec(field: Field, most: int | None) -> ScalarCodec:
    """For a field that is text in its message; `most` is how long its text may be."""
    if isinstance(field.values, Mapping):
        return Coded(_checked_codes(field, field.values, most))
    codec = _plain_codec(field, most)
    return OneOf(codec, _checked_values(field, codec)) if field.values else codec


def units_codec(field: Field, picture: Picture) -> UnitsCodec:
    """For a number in the places of a picture."""
    kind = type_of(field)
    if kind is FieldType.INTEGER:
        if picture.decimals or picture.size > MAX_INTEGER_DIGITS:
            what = "decimals" if picture.decimals else f"{picture.size} digits, more than 64 bits hold"
            raise wrong_field(field, f"is `type: integer` and its picture {picture} has {what}; try type: decimal")
        return _within(field, WholeUnits(picture))
    if kind is FieldType.NUMBER:
        if picture.size > MAX_NUMBER_DIGITS:
            raise wrong_field(
                field,
                f"is `type: number` and its picture {picture} has {picture.size} digits, of which a number of JSON "
                f"keeps {MAX_NUMBER_DIGITS}; try type: decimal",
            )
        return _within(field, NumberUnits(picture))
    return _within(field, DecimalUnits(picture))


def _plain_codec(field: Field, most: int | None) -> ScalarCodec:
    match type_of(field):
        case FieldType.STRING:
            return TextCodec(most)
        case FieldType.INTEGER:
            return IntegerCodec(most)
        case FieldType.DECIMAL:
            return DecimalCodec(most)
        case FieldType.NUMBER:
            return NumberCodec(most)
        case FieldType.BOOLEAN:
            if most is not None and most < len("false"):
                raise wrong_field(
                    field, f"is boolean in {most} places; give its codes: values: {{ Y: true, N: false }}"
                )
            return BooleanCodec()
        case FieldType.DATE:
            return DateCodec(_layout(field, most))


def _layout(field: Field, most: int | None) -> str:
    layout = field.date or (COMPACT if most == len(COMPACT) else ISO)
    if not is_layout(layout):
        raise wrong_field(field, f"has the date layout '{layout}'; expected YYYY or YY, with MM and DD or with DDD")
    if most is not None and len(layout) > most:
        raise wrong_field(field, f"has room for {most} characters, and a date as {layout} takes {len(layout)}")
    return layout


class _ListedUnits:
    """Some of the numbers of a picture."""

    def __init__(self, codec: UnitsCodec, values: Mapping[int, Json]) -> None:
        self._values = values
        self._codec = codec
        self.takes: JsonObject = {"enum": [*values.values()]}
        self.gives = self.takes

    def write(self, value: Json) -> int:
        units = self._codec.write(value)
        self.read(units)
        return units

    def read(self, units: int) -> Json:
        if units not in self._values:
            raise MisfitError(f"one of {', '.join(map(str, self._values.values()))}")
        return self._values[units]


def _within(field: Field, codec: UnitsCodec) -> UnitsCodec:
    if not field.values:
        return codec
    assert not isinstance(field.values, Mapping)  # a mapping's codes are text
    try:
        return _ListedUnits(codec, {codec.write(value): codec.read(codec.write(value)) for value in field.values})
    except MisfitError as error:
        raise wrong_field(field, f"has `values` that do not fit it; expected {error}") from error


def _checked_values(field: Field, codec: ScalarCodec) -> tuple[Json, ...]:
    values = tuple(field.values)
    for value in values:
        try:
            if not same(codec.read(codec.write(value)), value):
                raise MisfitError("what is read as it is written")
        except MisfitError as error:
            raise wrong_field(field, f"has {value!r} in its `values`; expected {error}") from error
    return values


_OF_CODES: Final[Mapping[FieldType, tuple[type, ...]]] = {
    FieldType.STRING: (str,),
    FieldType.BOOLEAN: (bool,),
    FieldType.INTEGER: (int,),
    FieldType.NUMBER: (int, float),
}
"""What codes may stand for, where the field's type is said beside them."""


def _checked_codes(field: Field, codes: Mapping[str, Json], most: int | None) -> Mapping[str, Json]:
    kinds = (str, bool, int, float) if field.type is None else _OF_CODES.get(field.type, ())
    for code, meant in codes.items():
        if not isinstance(meant, kinds) or (isinstance(meant, bool) and bool not in kinds):
            raise wrong_field(field, f"is `type: {field.type}`, and its code '{code}' stands for {meant!r}")
        if most is not None and len(code) > most:
            raise wrong_field(field, f"has the code '{code}' in its `values`; expected at most {most} characters")
    return codes


def check_writable(fields: Sequence[Field]) -> None:
    """Raise UsageError for a field of a request of which nothing says what is written for some value."""
    for field in fields:
        check_writable(field.fields)
        meant: list[Json] = []
        for value in field.values.values() if isinstance(field.values, Mapping) else ():
            if any(same(value, other) for other in meant):
                raise wrong_field(field, f"has {value!r} for two codes of its `values`, so nothing says which to write")
            meant.append(value)


def wrong_field(field: Field, what: str) -> UsageError:
    """The refusal of a field that cannot work."""
    name = f"field '{field.name}'" if field.name else "a constant" if field.constant is not None else "a filler"
    return UsageError(f"{name} {what}")
