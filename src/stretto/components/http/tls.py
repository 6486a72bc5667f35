"""Whom a service is believed to be, and what this side shows of itself: certificates in files."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from stretto.spec.codes import SpecCode
from stretto.spec.source import Located
from stretto.spec.workflow import no_file
from stretto.types.errors import SpecError

if TYPE_CHECKING:  # it takes 10 ms to import, and most services need none of their own
    from ssl import SSLContext


class TlsFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Files as they are written: relative to the workflow file."""

    ca: Located[str] | None = None
    client_cert: Located[str] | None = None
    client_key: Located[str] | None = None
    """None where the certificate's file holds it too."""

    def context(self, folder: Path) -> "SSLContext | None":
        """What connections are made with; None for the system's own. Raises SpecError for files that are not there,
        or hold something else."""
        for file, what in (
            (self.ca, "file of certificates"),
            (self.client_cert, "certificate"),
            (self.client_key, "key"),
        ):
            if file is not None and not (folder / file.value).is_file():
                raise SpecError([no_file(file, folder, what)])
        if self.ca is None and self.client_cert is None:
            return None
        context = _trusting(self.ca, folder)
        if self.client_cert is not None:
            _show(context, self.client_cert, self.client_key, folder)
        return context


def _trusting(ca: Located[str] | None, folder: Path) -> "SSLContext":
    """A context that believes these certificates, or those that the system does."""
    import ssl

    try:
        return ssl.create_default_context(cafile=None if ca is None else folder / ca.value)
    except (ssl.SSLError, OSError) as error:
        assert ca is not None
        raise _refused(ca, "holds no certificates in PEM", str(error)) from error


def _show(context: "SSLContext", cert: Located[str], key: Located[str] | None, folder: Path) -> None:
    import ssl

    def no_password() -> str:  # else OpenSSL asks for it at the terminal
        raise _refused(key or cert, "holds a key that is encrypted", "nobody is asked for its password")

    try:
        context.load_cert_chain(folder / cert.value, None if key is None else folder / key.value, no_password)
    except (ssl.SSLError, OSError) as error:
        raise _refused(cert, "does not go with its key, or is no certificate in PEM", str(error)) from error


def _refused(file: Located[str], what: str, why: str) -> SpecError:
    message = f"'{file.value}' {what}: {why}"
    return SpecError([file.span.problem(SpecCode.VALUE, message, expected="certificates and keys in PEM, unencrypted")])
