"""Where a run's calls go: the component's server, or the gateway that the run names."""

import os
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

import msgspec

from stretto.components.web_address import split_address
from stretto.types.errors import Code, ComponentError, UsageError
from stretto.types.messages import RunInfo

BASE_URL: Final = "openai_base_url"
"""Baggage of a run: the server that its calls go to in place of the component's own."""

API_KEY: Final = "openai_api_key"
"""Baggage of a run: the key that its calls carry. Baggage is never recorded."""

COMPLETIONS: Final = "/chat/completions"


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """One server and how a call introduces itself there."""

    base_url: str
    key: str = ""
    """Empty when none is sent."""
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def url(self) -> str:
        """What is posted to."""
        return self.base_url + COMPLETIONS

    @property
    def origin(self) -> str:
        """Scheme, host and port: what messages may tell, since the path of a gateway may name a session."""
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc}"

    def without_key(self, text: str) -> str:
        """The text with the key blotted out: some servers quote it when they refuse it."""
        return text.replace(self.key, "***") if self.key else text


def address_of(name: str, base_url: str, key_variable: str, headers: Mapping[str, str], run: RunInfo) -> Address:
    """Where a call of the model `name` goes.

    A run that names a server gets neither the component's key nor its headers there: they are not that server's to
    see. Raises ComponentError, with `sent` false, for baggage that is no address and for a key that is not set.
    """
    elsewhere = run.baggage.get(BASE_URL, "")
    if elsewhere:
        try:
            base_url = as_base_url(elsewhere, f"baggage `{BASE_URL}`")
        except UsageError as error:
            raise ComponentError(f"model '{name}': {error}", Code.INVALID_ARGUMENT, sent=False) from error
        headers = {}
    key = run.baggage.get(API_KEY, "")
    if not key and key_variable and not elsewhere:
        key = _from_environment(name, key_variable)
    if not key.isprintable() or not key.isascii():
        text = f"the key of model '{name}' holds a character that no header may hold; was it copied with a line break?"
        raise ComponentError(text, Code.UNAUTHENTICATED, sent=False)
    return Address(base_url=base_url, key=key, headers=headers)


def as_base_url(text: str, what: str) -> str:
    """The address without a slash at its end. Raises UsageError for what is none, or holds what is kept elsewhere."""
    url = text.strip().rstrip("/")
    parts = split_address(url, what)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{what} is '{text}'; expected an address such as http://127.0.0.1:8000/v1")
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"{what} holds a user or password; keep the key in the environment and name it: api_key_env")
    if parts.query or parts.fragment:
        raise UsageError(f"{what} is '{text}'; expected an address without ? and #")
    if parts.path.endswith(COMPLETIONS):
        raise UsageError(f"{what} is '{text}'; leave `{COMPLETIONS}` out: {url.removesuffix(COMPLETIONS)}")
    return url


def _from_environment(name: str, variable: str) -> str:
    key = os.environ.get(variable, "").strip()
    if not key:
        text = f"model '{name}' takes its key from ${variable}, which is not set; set it, or give the run a key"
        raise ComponentError(text, Code.UNAUTHENTICATED, sent=False)
    return key
