"""What stands in the environment is told nowhere."""

import pytest

from stretto.components.http.secrets import Secrets
from stretto.types.errors import Code, ComponentError


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
    assert secrets.out_of_value({"alphabet": "abcdef"}) == {"alphabet": "abcdef"}


def test_a_secret_is_blotted_out_of_texts_names_and_numbers(secrets: Secrets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_TEST_DIGITS", "1234567890")
    secrets.read("HTTP_TEST_LONG")
    secrets.read("HTTP_TEST_DIGITS")
    told = secrets.out_of_value({"a long-secret-and-more": [1234567890, 12345678901, "x1234567890", True, None, 1.5]})
    assert told == {"a ***": ["***", 12345678901, "x***", True, None, 1.5]}


@pytest.mark.parametrize(
    "written",
    [
        's3cr3t/with+"chars=&',
        "s3cr3t%2Fwith%2B%22chars%3D%26",
        "s3cr3t%2fwith%2b%22chars%3d%26",
        "s3cr3t/with%2B%22chars%3D%26",
        r"s3cr3t/with+\"chars=&",
        r"s3cr3t\/with+\"chars=&",
        "s3cr3t/with+&quot;chars=&amp;",
        's3cr3t/with+"chars=&amp;',
    ],
)
def test_a_secret_is_known_however_it_is_spelled(
    secrets: Secrets, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    monkeypatch.setenv("HTTP_TEST_ODD", 's3cr3t/with+"chars=&')
    secrets.read("HTTP_TEST_ODD")
    assert secrets.out_of(f"<{written}>") == "<***>"
    assert secrets.out_of_bytes(f"<{written}>".encode()) == b"<***>"
    assert secrets.may_be_in(f"<{written}>".encode())


def test_what_is_no_text_is_refused(secrets: Secrets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_TEST_BYTES", "secret\udcff")
    with pytest.raises(ComponentError, match=r"\$HTTP_TEST_BYTES, which is no text in UTF-8") as caught:
        secrets.read("HTTP_TEST_BYTES")
    assert caught.value.sent is False


def test_what_was_not_used_is_not_known(secrets: Secrets) -> None:
    assert secrets.out_of("long-secret-and-more") == "long-secret-and-more"


def test_what_is_not_set_is_told_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_TEST_EMPTY", " ")
    with pytest.raises(ComponentError, match=r"component 'it' takes a value from \$HTTP_TEST_EMPTY"):
        Secrets("it").read("HTTP_TEST_EMPTY")


def test_an_error_keeps_its_facts_and_loses_its_secrets(secrets: Secrets) -> None:
    secrets.read("HTTP_TEST_LONG")
    error = ComponentError(
        "at http://h/?key=long-secret-and-more",
        Code.UNAVAILABLE,
        sent=False,
        retryable=False,
        retry_after_s=2.0,
        queue_ms=3.0,
    )
    told = secrets.out_of_error(error)
    assert str(told) == "at http://h/?key=***"
    facts = (told.rpc_code, told.sent, told.retryable, told.retry_after_s, told.queue_ms)
    assert facts == (Code.UNAVAILABLE, False, False, 2.0, 3.0)
    harmless = ComponentError("nothing of it", Code.UNAVAILABLE)
    assert secrets.out_of_error(harmless) is harmless
