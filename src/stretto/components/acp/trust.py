"""Whose certificates are believed in place of the system's."""

import ssl
from pathlib import Path

from stretto.types.errors import UsageError
from stretto.types.os_error import reason_of


def trusting(ca: Path | None) -> ssl.SSLContext | None:
    """What TLS is spoken with; None for the system's own. Raises UsageError for a file that holds no certificates."""
    if ca is None:
        return None
    try:
        return ssl.create_default_context(cafile=ca)
    except ssl.SSLError as error:
        raise UsageError(f"the file of certificates {ca.name} holds none in PEM: {error}") from error
    except OSError as error:
        raise UsageError(f"the file of certificates {ca.name} cannot be read: {reason_of(error)}") from error
