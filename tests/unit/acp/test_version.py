"""Any minor of a known major is spoken to; an unknown major is not."""

import pytest

from stretto.acp.version import CURRENT, is_spoken, is_version


@pytest.mark.parametrize("text", [CURRENT, "1.1", "1.999"])
def test_any_minor_of_a_known_major_is_spoken_to(text: str) -> None:
    assert is_spoken(text)


@pytest.mark.parametrize("text", ["0.9", "2.0", "10.0"])
def test_an_unknown_major_is_a_version_and_not_spoken(text: str) -> None:
    assert is_version(text)
    assert not is_spoken(text)


@pytest.mark.parametrize("text", ["", "1", "1.", "v1.0", "1.0.0", "1.0\n", "\u0661.0"])
def test_what_is_no_version_is_not_spoken(text: str) -> None:
    assert not is_version(text)
    assert not is_spoken(text)
