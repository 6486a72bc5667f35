"""Whose web pages may ask: of a server that only this machine reaches, and that asks for no token, this machine's own.

A page may have its own name stand for this machine's address (DNS rebinding): the browser then takes the server for
the page's own, and lets it ask whatever it likes. What it asks says where the page is from (RFC 6454, section 7).
"""

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from stretto.acp.failure import AcpError, Failure
from stretto.components.web_address import is_here
from stretto.types.errors import Code

_ORIGIN: Final = b"origin"


def hold_to_own_pages(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Raise AcpError for a request of a page from elsewhere. What is no browser does not say that it has a page."""
    for name, value in headers:
        if name == _ORIGIN and not leads_here(value.decode("latin-1")):
            message = (
                f"the request is that of a web page from {value.decode('latin-1')[:100]!r}, and without a token only "
                "pages from this machine may ask; give the server one: --token-env"
            )
            raise AcpError(Failure(code=Code.PERMISSION_DENIED, message=message))


def leads_here(address: str) -> bool:
    """Whether the host of an address is this machine; what is no address leads nowhere."""
    try:
        return is_here(urlsplit(address).hostname or "")
    except ValueError:
        return False
