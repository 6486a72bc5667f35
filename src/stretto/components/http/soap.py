"""SOAP 1.1 and 1.2: the envelope around a body, and the fault inside one."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec

from stretto.components.http.scope import Frame, Scope
from stretto.components.http.secrets import Secrets
from stretto.components.http.xml_body import XmlTemplate, compile_xml
from stretto.components.xml.parse import Element
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.types.errors import Code
from stretto.types.json import JsonObject


class SoapVersion(StrEnum):
    """Which of the two."""

    V1_1 = "1.1"
    V1_2 = "1.2"


NAMESPACES: Final[Mapping[SoapVersion, str]] = {
    SoapVersion.V1_1: "http://schemas.xmlsoap.org/soap/envelope/",
    SoapVersion.V1_2: "http://www.w3.org/2003/05/soap-envelope",
}

FAULT_CODES: Final[Mapping[str, Code]] = {
    "Client": Code.INVALID_ARGUMENT,
    "Sender": Code.INVALID_ARGUMENT,
    "Server": Code.INTERNAL,
    "Receiver": Code.INTERNAL,
    "MustUnderstand": Code.FAILED_PRECONDITION,
    "VersionMismatch": Code.FAILED_PRECONDITION,
    "DataEncodingUnknown": Code.FAILED_PRECONDITION,
}
"""Whose mistake a fault is: SOAP 1.1, section 4.4.1, and SOAP 1.2 part 1, section 5.4.6."""


class SoapBody(msgspec.Struct, frozen=True, kw_only=True):
    """An envelope, compiled."""

    version: SoapVersion
    action: str
    header: XmlTemplate | None
    body: XmlTemplate

    def fill(self, frame: Frame, secrets: Secrets) -> bytes:
        """The envelope. Raises UnfitError for a value that XML cannot hold."""
        parts = [b'<?xml version="1.0" encoding="utf-8"?>\n<soap:Envelope xmlns:soap="', self._namespace, b'">']
        if self.header is not None:
            parts += [b"<soap:Header>", _inner(self.header.fill(frame, secrets)), b"</soap:Header>"]
        parts += [b"<soap:Body>", _inner(self.body.fill(frame, secrets)), b"</soap:Body></soap:Envelope>"]
        return b"".join(parts)

    @property
    def content_type(self) -> str:
        """RFC 3902 for 1.2; text/xml for 1.1 (SOAP 1.1, section 6)."""
        if self.version is SoapVersion.V1_1:
            return "text/xml; charset=utf-8"
        return "application/soap+xml; charset=utf-8" + (f'; action="{self.action}"' if self.action else "")

    @property
    def headers(self) -> Mapping[str, str]:
        """``SOAPAction`` must be there in 1.1, also empty (section 6.1.1)."""
        return {"SOAPAction": f'"{self.action}"'} if self.version is SoapVersion.V1_1 else {}

    @property
    def _namespace(self) -> bytes:
        return NAMESPACES[self.version].encode()


def compile_soap(
    body: Located[str], header: Located[str] | None, action: str, version: SoapVersion, scope: Scope, report: Report
) -> SoapBody | None:
    """Compile an envelope; None after reporting what is wrong with it."""
    compiled = compile_xml(body, scope, report)
    above = None if header is None else compile_xml(header, scope, report)
    if compiled is None or (header is not None and above is None):
        return None
    return SoapBody(version=version, action=action, header=above, body=compiled)


def fault_in(root: Element) -> JsonObject | None:
    """The fault of an envelope: its code without prefix, the subcode, reason and detail as text; None without one."""
    for version, uri in NAMESPACES.items():
        fault = root.find(f"{{{uri}}}Body/{{{uri}}}Fault")
        if fault is not None:
            return _fault_1_1(fault) if version is SoapVersion.V1_1 else _fault_1_2(fault, uri)
    return None


def _fault_1_1(fault: Element) -> JsonObject:
    """A dotted code says more the further right: ``Client.Authentication`` (SOAP 1.1, section 4.4.1)."""
    code, _, subcode = _local(_said(fault, "faultcode") or "").partition(".")
    return {
        "code": code,
        "subcode": subcode or None,
        "reason": _said(fault, "faultstring") or "",
        "detail": _said(fault, "detail"),
    }


def _fault_1_2(fault: Element, uri: str) -> JsonObject:
    subcode = _said(fault, f"{{{uri}}}Code/{{{uri}}}Subcode/{{{uri}}}Value")
    return {
        "code": _local(_said(fault, f"{{{uri}}}Code/{{{uri}}}Value") or ""),
        "subcode": None if subcode is None else _local(subcode),
        "reason": _said(fault, f"{{{uri}}}Reason/{{{uri}}}Text") or "",
        "detail": _said(fault, f"{{{uri}}}Detail"),
    }


def _said(element: Element, path: str) -> str | None:
    found = element.find(path)
    return None if found is None else " ".join("".join(found.itertext()).split())


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _inner(document: bytes) -> bytes:
    """A document without its declaration, which stands on its first line."""
    return document.partition(b"\n")[2]
