"""What a request carries: JSON, the fields of a form, XML or a SOAP envelope."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec
import orjson

from stretto.components.http.pairs import Pairs, as_form, fill_pairs
from stretto.components.http.scope import Frame
from stretto.components.http.secrets import Secrets
from stretto.components.http.soap import SoapBody
from stretto.components.http.templates import Fill
from stretto.components.http.values import UnfitError
from stretto.components.http.xml_body import XmlTemplate

Encode: TypeAlias = Callable[[Frame, Secrets], bytes]


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """A body, compiled, and the headers that tell what it is."""

    encode: Encode
    headers: Mapping[str, str]
    is_xml: bool = False
    """Whether an answer in XML is expected."""


def json_body(fill: Fill) -> Body:
    """JSON (RFC 8259)."""

    def encode(frame: Frame, secrets: Secrets) -> bytes:
        try:
            return orjson.dumps(fill(frame, secrets))
        except TypeError as error:  # half of a surrogate pair, an integer beyond 64 bits
            raise UnfitError(f"`json` cannot be written: {error}") from error

    return Body(encode=encode, headers={"Content-Type": "application/json"})


def form_body(pairs: Pairs) -> Body:
    """The fields of an HTML form."""
    return Body(
        encode=lambda frame, secrets: as_form(fill_pairs(pairs, "form", frame, secrets)),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )


def xml_body(template: XmlTemplate) -> Body:
    """A document (RFC 7303)."""
    return Body(encode=template.fill, headers={"Content-Type": "application/xml; charset=utf-8"}, is_xml=True)


def soap_body(soap: SoapBody) -> Body:
    """An envelope, with what its version says of it in headers."""
    return Body(encode=soap.fill, headers={"Content-Type": soap.content_type, **soap.headers}, is_xml=True)
