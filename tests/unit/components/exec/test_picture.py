"""Picture clauses, as copybooks have them."""

import pytest

from stretto.components.exec.picture import Picture, PictureError, Sign, Usage, read_picture


@pytest.mark.parametrize(
    ("clause", "expected", "width"),
    [
        ("X(20)", Picture(symbol="X", size=20), 20),
        ("x", Picture(symbol="X", size=1), 1),
        ("XX", Picture(symbol="X", size=2), 2),
        ("X(3)XX", Picture(symbol="X", size=5), 5),
        ("AAA", Picture(symbol="A", size=3), 3),
        ("PIC A(3).", Picture(symbol="A", size=3), 3),
        ("9(3)", Picture(symbol="9", size=3), 3),
        ("999", Picture(symbol="9", size=3), 3),
        ("9(7)V99", Picture(symbol="9", size=9, decimals=2), 9),
        ("V9(4)", Picture(symbol="9", size=4, decimals=4), 4),
        ("99V9(2)9", Picture(symbol="9", size=5, decimals=3), 5),
        ("S9(4)", Picture(symbol="9", size=4, sign=Sign.TRAILING), 4),
        ("PICTURE IS S9(4) USAGE IS DISPLAY", Picture(symbol="9", size=4, sign=Sign.TRAILING), 4),
        ("S9(4) SIGN IS LEADING", Picture(symbol="9", size=4, sign=Sign.LEADING), 4),
        ("S9(4) SIGN TRAILING SEPARATE CHARACTER", Picture(symbol="9", size=4, sign=Sign.TRAILING_SEPARATE), 5),
        ("s9(4)v9 sign leading separate", Picture(symbol="9", size=5, decimals=1, sign=Sign.LEADING_SEPARATE), 6),
        ("S9(7)V99 COMP-3", Picture(symbol="9", size=9, decimals=2, sign=Sign.TRAILING, usage=Usage.PACKED), 5),
        ("9(4) USAGE PACKED-DECIMAL", Picture(symbol="9", size=4, usage=Usage.PACKED), 3),
        ("S9(4) COMP", Picture(symbol="9", size=4, sign=Sign.TRAILING, usage=Usage.BINARY), 2),
        ("9(9) USAGE IS BINARY", Picture(symbol="9", size=9, usage=Usage.BINARY), 4),
        ("S9(16)V99 COMP-4", Picture(symbol="9", size=18, decimals=2, sign=Sign.TRAILING, usage=Usage.BINARY), 8),
        ("S9(5) COMP-5", Picture(symbol="9", size=5, sign=Sign.TRAILING, usage=Usage.NATIVE), 4),
        ("S9(38)", Picture(symbol="9", size=38, sign=Sign.TRAILING), 38),
    ],
)
def test_a_clause_is_read(clause: str, expected: Picture, width: int) -> None:
    picture = read_picture(clause)
    assert picture == expected
    assert picture.width == width
    assert read_picture(str(picture)) == picture


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("", "is empty"),
        ("PIC", "is empty"),
        ("9(0)", "has 0 places"),
        ("9(39)", "has 39 places"),
        ("X(9999999)", "has 9999999 places"),
        ("9(3", "is no picture that is read here"),
        ("S", "is no picture that is read here"),
        ("9X", "is no picture that is read here"),
        ("AX", "is no picture that is read here"),
        ("9(3)P", "is no picture that is read here"),
        ("9V9V9", "is no picture that is read here"),
        ("ZZ9", "is edited"),
        ("$$,$$9.99CR", "is edited"),
        ("9(3) SIGN LEADING", "places a sign and has none"),
        ("S9(3) SEPARATE", "says SEPARATE and not where"),
        ("S9(3) SIGN LEADING COMP-3", "places the sign of a packed or binary number"),
        ("X(3) COMP-3", "gives letters a sign or a usage of numbers"),
        ("S9(4) COMP-1", "is stored as COMP-1, which is not read"),
        ("S9(4) COMP-X", "is stored as COMP-X, which is not read"),
        ("S9(19) COMP", "has 19 places"),
        ("S9(4) SIGN LEADING COMP", "places the sign of a packed or binary number"),
        ("X(4) COMP", "gives letters a sign or a usage of numbers"),
        ("9(3) OCCURS", "holds 'OCCURS'"),
    ],
)
def test_what_is_no_clause_is_told(clause: str, message: str) -> None:
    with pytest.raises(PictureError) as caught:
        read_picture(clause)
    assert message in str(caught.value)
    assert caught.value.expected
