"""What stands in the environment is told nowhere."""

import pytest

from stretto.components.http.secrets import Secrets
from stretto.types.errors import ComponentError


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> Secrets:
    monkeypatch.setenv("HTTP_TEST_LONG", "long-secret-and-more")
    monkeypatch.setenv("HTTP_TEST_PART", "secret-and")
    monkeypatch.setenv("HTTP_TEST_SHORT", "abc")
    return Secrets("it")


def test_a_longer_secret_goes_before_its_part(secrets: Secrets) -> None:
    secrets.read("HTTP_TEST_PART")
    secrets.read("HTTP_TEST_LONG")
    assert secrets.out_of("x long-secret-and-more y secret-and z") == "x *** y *** z"


def test_a_short_secret_is_blotted_out_of_messages_and_left_in_data(secrets: Secrets) -> None:
    secrets.read("HTTP_TEST_SHORT")
    assert secrets.out_of("abc") == "***"
    assert secrets.out_of_answer(b'{"alphabet": "abcdef"}') == b'{"alphabet": "abcdef"}'


def test_what_was_not_used_is_not_known(secrets: Secrets) -> None:
    assert secrets.out_of("long-secret-and-more") == "long-secret-and-more"


def test_what_is_not_set_is_told_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_TEST_EMPTY", " ")
    with pytest.raises(ComponentError, match=r"component 'it' takes a value from \$HTTP_TEST_EMPTY"):
        Secrets("it").read("HTTP_TEST_EMPTY")
