"""By what a server proves who it is."""

import ssl
from pathlib import Path

import msgspec

from stretto.types.errors import UsageError


class Tls(msgspec.Struct, frozen=True, kw_only=True):
    """A certificate, and whose callers are believed."""

    cert: Path
    """Certificate chain, PEM."""
    key: Path
    client_ca: Path | None = None
    """Clients must show a certificate of this authority; None asks for none."""


def read_tls(cert: Path, key: Path, client_ca: Path | None) -> Tls:
    """What the files hold. Raises UsageError for files that make no certificate."""
    for each in filter(None, (cert, key, client_ca)):
        if not each.is_file():  # said by nobody: OpenSSL does not tell which of them it is
            raise UsageError(f"the certificate in {cert} with the key in {key} cannot be used: there is no file {each}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(cert, key)
        if client_ca is not None:
            context.load_verify_locations(client_ca)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"the certificate in {cert} with the key in {key} cannot be used: {error}") from error
    return Tls(cert=cert, key=key, client_ca=client_ca)
