"""Addresses that no client could connect to are refused, and tell no secret."""

import pytest

from stretto.components.web_address import split_address
from stretto.types.errors import UsageError


def test_an_address_comes_apart() -> None:
    assert split_address("https://rules.example:8443/v1", "`url`").port == 8443


@pytest.mark.parametrize("url", ["http://[::1", "http://host:99999", "http://host:port", "http://ho st/"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match=r"`url` is .*, which is no address"):
        split_address(url, "`url`")


@pytest.mark.parametrize("url", ["http://me:secret@host:99999/v1", "http://me:se cret@host/"])
def test_a_password_in_it_is_not_told(url: str) -> None:
    with pytest.raises(UsageError, match=r"`url` is 'http://\.\.\.@host") as refused:
        split_address(url, "`url`")
    assert "cret" not in str(refused.value)
