"""What an answer holds, as the expressions of a declaration see it."""

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Mapping
from email.message import Message
from enum import StrEnum
from typing import Final

import msgspec

from stretto.components.encodings import known_encoding
from stretto.components.http.links import links_in
from stretto.components.http.secrets import Secrets
from stretto.components.http.soap import fault_in
from stretto.components.web.reply import Reply
from stretto.components.xml.fields import XmlField, read_what_is_there
from stretto.components.xml.parse import XmlError, parse_xml
from stretto.types.json import Json, JsonObject


class Format(StrEnum):
    """How the body of an answer is read."""

    JSON = "json"
    XML = "xml"
    TEXT = "text"


_UTF_8: Final = frozenset({"", "utf-8", "utf8", "us-ascii"})
"""What is read as it stands."""

_MARKS: Final = (BOM_UTF8, BOM_UTF16_LE, BOM_UTF16_BE)
"""Byte order marks, which outweigh what the protocol says of XML: RFC 7303, section 3."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One answer, read."""

    value: JsonObject
    """What `response` stands for: status, headers, links, body and fault. No secret is in it."""
    sent: JsonObject
    """The same as it was sent: the address of the next page may have to hold the key that the first one did."""
    trouble: str = ""
    """Why its body is not what was declared; empty when it is."""


def read_answer(reply: Reply, form: Format, fields: Mapping[str, XmlField], secrets: Secrets) -> Answer:
    """Read a reply, and blot secrets out of it. An empty body is null, whatever it should have been."""
    charset = _charset(reply)
    sent, trouble = _read(reply, form, fields, charset)
    head, body = {**sent, "body": None}, sent["body"]
    try:
        if form is not Format.JSON or charset not in _UTF_8 or secrets.may_be_in(reply.body):
            body = secrets.out_of_value(body)
    except RecursionError:
        body, trouble = None, "it nests too deep"
    told = secrets.out_of_value(head)
    assert isinstance(told, dict)
    return Answer(value={**told, "body": body}, sent=sent, trouble=trouble)


def _read(reply: Reply, form: Format, fields: Mapping[str, XmlField], charset: str) -> tuple[JsonObject, str]:
    """What `response` stands for, and why its body is not what was declared."""
    fault: JsonObject | None = None
    body: Json = None
    trouble, content = "", reply.body
    if content.strip():
        if form is Format.JSON:
            body, trouble = _json(content, charset)
        elif form is Format.XML:
            body, fault, trouble = _xml(content, charset, fields)
        else:
            body, trouble = _text(content, charset)
    elif fields:
        body, trouble = dict.fromkeys(fields), "it is empty"
    headers: JsonObject = {}
    for name, text in reply.headers.items():
        key = name.casefold()
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    links: JsonObject = {**links_in(reply.headers.get("Link", ""))}
    return {"status": reply.status, "headers": headers, "links": links, "body": body, "fault": fault}, trouble


def _json(content: bytes, charset: str) -> tuple[Json, str]:
    """JSON is UTF-8 (RFC 8259, section 8.1); some services still say otherwise, and mean it."""
    try:
        content = _in_utf8(content, charset).removeprefix(BOM_UTF8)
        return msgspec.json.decode(content), ""  # keeps the digits of a long integer, which the record refuses by name
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, LookupError) as error:
        return content.decode(errors="replace"), f"it is no JSON: {error}"


def _xml(content: bytes, charset: str, fields: Mapping[str, XmlField]) -> tuple[Json, JsonObject | None, str]:
    try:
        if content.startswith(_MARKS):
            charset = ""
        elif charset:  # libxml2 knows fewer, and by other names
            content, charset = _in_utf8(content, charset), "utf-8"
        root = parse_xml(content, charset=charset)
    except (XmlError, UnicodeDecodeError, LookupError) as error:
        return dict.fromkeys(fields), None, f"it is no XML that can be read: {error}"
    values, trouble = read_what_is_there(fields, root)
    return values, fault_in(root), trouble


def _text(content: bytes, charset: str) -> tuple[Json, str]:
    try:
        return _decoded(content, charset or "utf-8").removeprefix("\ufeff"), ""
    except (UnicodeDecodeError, LookupError) as error:
        return content.decode(errors="replace"), f"it is no text: {error}"


def _in_utf8(content: bytes, charset: str) -> bytes:
    """Raises UnicodeDecodeError for bytes that are none in the encoding, LookupError for one that is not read."""
    return content if charset in _UTF_8 else _decoded(content, charset).encode()


def _decoded(content: bytes, charset: str) -> str:
    """Raises LookupError for an encoding that is not known, or not read."""
    return content.decode(known_encoding(charset))


def _charset(reply: Reply) -> str:
    """What ``Content-Type`` says of the encoding; empty when nothing."""
    header = Message()
    header["Content-Type"] = reply.headers.get("Content-Type", "")
    return str(header.get_content_charset(""))
