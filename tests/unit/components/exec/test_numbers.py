"""Numbers of pictures: whatever fits comes back, whatever does not is refused, and no digit is made up."""

from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from stretto.components.exec.binary import from_binary, to_binary
from stretto.components.exec.misfit import MisfitError
from stretto.components.exec.packed import pack, unpack
from stretto.components.exec.picture import Picture, Sign, Usage
from stretto.components.exec.scalars import DecimalCodec, IntegerCodec, NumberCodec
from stretto.components.exec.units import DecimalUnits, NumberUnits, fitting, from_units, to_units
from stretto.components.exec.zoned import Digits, Overpunch

ENCODINGS = ("utf-8", "latin-1", "cp037", "cp500", "cp273")


@st.composite
def pictures(draw: st.DrawFn, most: int = 38) -> Picture:
    size = draw(st.integers(1, most))
    return Picture(symbol="9", size=size, decimals=draw(st.integers(0, size)), sign=draw(st.sampled_from(list(Sign))))


@st.composite
def held(draw: st.DrawFn) -> tuple[Picture, int]:
    """A picture and a number of units that it has room for."""
    picture = draw(pictures())
    most = 10**picture.size - 1
    return picture, draw(st.integers(0 if picture.sign is Sign.NONE else -most, most))


@given(held(), st.sampled_from(ENCODINGS), st.sampled_from(list(Overpunch)))
def test_a_zoned_number_comes_back(number: tuple[Picture, int], encoding: str, overpunch: Overpunch) -> None:
    picture, units = number
    data = Digits(encoding, overpunch).put(units, picture)
    assert len(data) == picture.width
    assert Digits(encoding, Overpunch.IBM).take(data, picture) == units  # whichever way it was written


@given(held())
def test_a_packed_number_comes_back(number: tuple[Picture, int]) -> None:
    sign = Sign.NONE if number[0].sign is Sign.NONE else Sign.TRAILING
    picture = Picture(symbol="9", size=number[0].size, sign=sign, usage=Usage.PACKED)
    data = pack(number[1], picture)
    assert len(data) == picture.width
    assert unpack(data, picture) == number[1]


@given(st.integers(1, 18), st.booleans(), st.sampled_from([Usage.BINARY, Usage.NATIVE]), st.data())
def test_a_binary_number_comes_back(size: int, has_sign: bool, usage: Usage, data: st.DataObject) -> None:
    picture = Picture(symbol="9", size=size, sign=Sign.TRAILING if has_sign else Sign.NONE, usage=usage)
    units = data.draw(st.integers(1 - 10**size if has_sign else 0, 10**size - 1))
    for width in {picture.width, 1 if size <= 2 else picture.width}:
        written = to_binary(units, picture, width)
        assert len(written) == width
        assert from_binary(written, picture) == units


@given(st.binary(min_size=1, max_size=6), st.sampled_from(["ascii", "cp037"]), pictures(6))
def test_bytes_are_a_zoned_number_or_refused(data: bytes, encoding: str, picture: Picture) -> None:
    data = (data * 7)[: picture.width]
    digits = Digits(encoding, Overpunch.IBM)
    try:
        units = digits.take(data, picture)
    except MisfitError:
        return
    assert digits.take(digits.put(units, picture), picture) == units


@given(st.binary(min_size=1, max_size=4))
def test_bytes_are_a_packed_number_or_refused(data: bytes) -> None:
    picture = Picture(symbol="9", size=len(data) * 2 - 1, sign=Sign.TRAILING, usage=Usage.PACKED)
    try:
        units = unpack(data, picture)
    except MisfitError:
        return
    assert unpack(pack(units, picture), picture) == units


@given(held())
def test_decimals_are_exact_whatever_their_length(number: tuple[Picture, int]) -> None:
    picture, units = number
    codec = DecimalUnits(picture)
    text = codec.read(units)
    assert isinstance(text, str)
    assert text == format(Decimal(text), "f")
    assert codec.write(text) == units


@given(pictures(15), st.data())
def test_numbers_of_15_digits_come_back_from_json(picture: Picture, data: st.DataObject) -> None:
    units = data.draw(st.integers(0, 10**picture.size - 1))
    codec = NumberUnits(picture)
    value = codec.read(units)
    assert isinstance(value, int | float)
    assert codec.write(float(value)) == units


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12))
def test_a_number_that_is_not_exact_is_refused_and_never_rounded(value: float) -> None:
    picture = Picture(symbol="9", size=15, decimals=2, sign=Sign.TRAILING)
    exact = Decimal(repr(value))
    try:
        units = fitting(to_units(exact, picture), picture)
    except MisfitError:
        assert exact != round(exact, 2)
        return
    assert from_units(units, picture) == exact


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**20), max_value=10**20))
def test_a_decimal_without_a_picture_comes_back_as_text(value: Decimal) -> None:
    codec = DecimalCodec()
    assert Decimal(str(codec.read(codec.write(format(value, "f"))))) == value


@given(st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**63), 2**63 - 1)))
def test_a_number_without_a_picture_comes_back(value: float) -> None:
    """A long float comes back as the integer of its digits, which reads as that float."""
    codec = NumberCodec()
    back = codec.read(codec.write(value))
    assert isinstance(back, int | float)
    assert (float(back) if isinstance(value, float) else back) == value


@pytest.mark.parametrize("text", ["", "-", "1.2.3", "1,5", "0x10", "1_000", "٣", "1e5", "--1", "+1-", "9" * 500])
def test_what_is_no_decimal_is_refused(text: str) -> None:
    with pytest.raises(MisfitError):
        DecimalCodec().read(text)


@pytest.mark.parametrize("text", ["9223372036854775808", "-9223372036854775809", "1.5", "x", "1e999"])
def test_what_is_no_integer_of_64_bits_is_refused(text: str) -> None:
    with pytest.raises(MisfitError):
        IntegerCodec().read(text)


@pytest.mark.parametrize("value", ["1", None, True, float("inf"), float("nan"), [1]])
def test_what_is_no_number_is_not_written(value: object) -> None:
    for codec in (NumberCodec(), IntegerCodec()):
        with pytest.raises(MisfitError):
            codec.write(value)  # type: ignore[arg-type]  # what the schema of a card refuses first
