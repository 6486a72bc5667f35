"""Named texts of a request: its query, its headers, the fields of a form."""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlencode

from stretto.components.http.scope import Frame, Scope
from stretto.components.http.secrets import Secrets
from stretto.components.http.templates import Fill, compile_fields
from stretto.components.http.values import as_text, check_one_line
from stretto.plan.valuetype import Kind
from stretto.plan.valuetype.model import with_article
from stretto.spec.codes import SpecCode
from stretto.spec.nodes import MapNode
from stretto.spec.report import Report

Pairs = Mapping[str, Fill]

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
"""What a header may be called: RFC 9110, section 5.6.2."""

OWN_HEADERS: Final[Mapping[str, str]] = {
    "authorization": "`auth`",
    "proxy-authorization": "`auth`",
    "host": "`url`",
    "content-length": "nothing: it follows from the body",
    "transfer-encoding": "nothing: it follows from the body",
    "connection": "nothing: connections are kept alive",
    "keep-alive": "nothing: connections are kept alive",
    "upgrade": "nothing: what is spoken is HTTP/1.1",
    "te": "nothing: answers have no trailers here",
    "trailer": "nothing: a request has none",
    "expect": "nothing: a body goes out with its head",
    "content-encoding": "nothing: a body is sent as it stands",
    "cookie": "nothing: no session outlives a call",
}
"""Headers that other options give, or that would break the message (RFC 9112, section 6)."""


def compile_pairs(node: MapNode, key: str, scope: Scope, report: Report) -> Pairs | None:
    """Compile names and their values: scalars, or lists of them where a name may stand several times."""
    if key == "headers" and not _check_names(node, report):
        return None
    fields = compile_fields(node, scope, report)
    if fields is None:
        return None
    for name, (_, kind) in fields.items():
        if kind.kind is Kind.OBJECT or (key == "headers" and kind.kind is Kind.ARRAY):
            message = f"'{name}' of `{key}` is {with_article(kind)}, and text is sent"
            place = node.entries[name].node.span
            report.add(place.problem(SpecCode.VALUE, message, expected="text, a number, true or false"))
            return None
    return {name: fill for name, (fill, _) in fields.items()}


def fill_pairs(pairs: Pairs, what: str, frame: Frame, secrets: Secrets) -> list[tuple[str, str]]:
    """Names and texts in order: null leaves one out, a list repeats it. Raises UnfitError for what is no text."""
    filled: list[tuple[str, str]] = []
    for name, fill in pairs.items():
        value = fill(frame, secrets)
        given = [each for each in (value if isinstance(value, list) else [value]) if each is not None]
        filled += [(name, as_text(each, f"'{name}' of `{what}`")) for each in given]
    return filled


def as_query(filled: list[tuple[str, str]]) -> str:
    """A query string, percent-encoded so that no value brings a parameter of its own."""
    return urlencode(filled, quote_via=quote, safe="")


def as_form(filled: list[tuple[str, str]]) -> bytes:
    """A form's body: ``application/x-www-form-urlencoded`` (WHATWG URL, section 5)."""
    return urlencode(filled).encode()


def as_headers(filled: list[tuple[str, str]]) -> dict[str, str]:
    """Headers. Raises UnfitError for a value that would end its line and begin another."""
    return {name: check_one_line(value, f"'{name}' of `headers`") for name, value in filled}


def is_header_name(name: str) -> bool:
    """Whether a header may be called so."""
    return _TOKEN.fullmatch(name) is not None


def _check_names(node: MapNode, report: Report) -> bool:
    for name, entry in node.entries.items():
        if not is_header_name(name):
            message, expected = f"'{name}' is no name of a header", "letters, digits and '-'"
        elif name.casefold() in OWN_HEADERS:
            message, expected = f"the header '{name}' is not set here", OWN_HEADERS[name.casefold()]
        else:
            continue
        report.add(entry.key.problem(SpecCode.VALUE, message, expected=expected))
        return False
    return True
