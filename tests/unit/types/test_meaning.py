"""Folding: what makes no difference between two texts."""

import pytest
from hypothesis import given, strategies as st

from stretto.types.meaning import folded


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Where  is my\tPARCEL ", "where is my parcel"),
        ("\uff37\uff28\uff25\uff32\uff25\u3000\uff49\uff53", "where is"),
        ("STRASSE", "straße"),
        ("ﬁnd", "FIND"),
        ("\uff11\uff12", "12"),
        ("Ελλάς", "ΕΛΛΆΣ"),
        ("", "  \n"),
    ],
)
def test_case_width_and_white_space_make_no_difference(text: str, same: str) -> None:
    assert folded(text) == folded(same)


@pytest.mark.parametrize(("one", "other"), [("查快递", "查包裹"), ("is", "i s"), ("resume", "résumé")])
def test_all_else_does(one: str, other: str) -> None:
    assert folded(one) != folded(other)


@given(st.text())
def test_upper_case_folds_to_what_lower_case_does(text: str) -> None:
    assert folded(folded(text)) == folded(text)
