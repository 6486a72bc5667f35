"""Where a run's calls go, and what goes with them."""

import pytest

from stretto.components.openai.address import Address, address_of, as_base_url
from stretto.testing.request import request_for
from stretto.types.errors import Code, ComponentError, UsageError
from stretto.types.messages import RunInfo
from tests.unit.components.openai.standin import bringing

OWN = "http://own:8000/v1"


def run(**baggage: str) -> RunInfo:
    return bringing(request_for(), **baggage).call.run


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWN_KEY", " own-key\n")


def address(*, key_variable: str = "OWN_KEY", **baggage: str) -> Address:
    return address_of("llm", OWN, key_variable, {"X-Team": "a"}, run(**baggage))


def test_without_baggage_a_call_goes_to_the_component_s_server_with_its_key() -> None:
    found = address()
    assert (found.url, found.key, found.headers) == (f"{OWN}/chat/completions", "own-key", {"X-Team": "a"})


def test_a_run_s_own_server_gets_its_own_key() -> None:
    found = address(openai_base_url="https://gateway/s/1/v1/", openai_api_key="run-key")
    assert (found.url, found.key) == ("https://gateway/s/1/v1/chat/completions", "run-key")


def test_a_run_s_own_server_never_gets_the_component_s_key_or_headers() -> None:
    found = address(openai_base_url="https://gateway/v1")
    assert (found.key, found.headers) == ("", {})


def test_a_run_may_bring_a_key_for_the_component_s_server() -> None:
    found = address(openai_api_key="run-key")
    assert (found.base_url, found.key, found.headers) == (OWN, "run-key", {"X-Team": "a"})


def test_a_key_that_is_not_set_is_told_before_anything_is_sent() -> None:
    with pytest.raises(ComponentError, match=r"takes its key from \$NO_SUCH_KEY, which is not set") as caught:
        address(key_variable="NO_SUCH_KEY")
    assert (caught.value.rpc_code, caught.value.sent) == (Code.UNAUTHENTICATED, False)


@pytest.mark.parametrize("key", ["a\nb", "schlüssel", "a\x00"])
def test_a_key_that_no_header_may_hold_is_refused_without_being_quoted(key: str) -> None:
    with pytest.raises(ComponentError) as caught:
        address(openai_api_key=key)
    assert caught.value.sent is False
    assert key not in str(caught.value)


def test_baggage_that_is_no_address_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(ComponentError, match="baggage `openai_base_url` is 'gateway'") as caught:
        address(openai_base_url="gateway")
    assert (caught.value.rpc_code, caught.value.sent) == (Code.INVALID_ARGUMENT, False)


def test_the_key_is_blotted_out_of_what_a_server_says() -> None:
    assert Address(base_url=OWN, key="sk-1").without_key("bad key sk-1.") == "bad key ***."
    assert Address(base_url=OWN).without_key("bad key") == "bad key"


def test_messages_tell_the_server_and_not_the_path() -> None:
    assert Address(base_url="http://[::1]:80/sessions/secret/v1").origin == "http://[::1]:80"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "expected an address such as"),
        ("localhost:8000/v1", "expected an address such as"),
        ("ftp://x/v1", "expected an address such as"),
        ("http:///v1", "expected an address such as"),
        ("http://x:port/v1", "which is no address"),
        ("http://[::1/v1", "which is no address"),
        ("http://x:70000/v1", "which is no address: Port out of range"),
        ("http://x y/v1", "a space in its host"),
        ("http://user:secret@x/v1", "holds a user or password"),
        ("http://x/v1?key=1", "without"),
        ("http://x/v1#a", "without"),
        ("http://x/v1/chat/completions", "leave `/chat/completions` out: http://x/v1"),
    ],
)
def test_an_address_that_cannot_work_is_told(url: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        as_base_url(url, "it")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://x/v1", "http://x/v1/", " https://x:1/a/b "])
def test_an_address_loses_the_slash_at_its_end(url: str) -> None:
    assert as_base_url(url, "it") == url.strip().rstrip("/")
