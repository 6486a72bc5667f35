"""The address of a request: a template, each of whose placeholders stays within its own part of the path."""

import re
from typing import Final
from urllib.parse import quote, unquote

import msgspec

from stretto.components.http.placeholders import MARK, Placeholder, compile_placeholder
from stretto.components.http.scope import Frame, Scope
from stretto.components.http.secrets import Secrets
from stretto.components.http.values import UnfitError, check_one_line
from stretto.components.web_address import is_host, split_address
from stretto.spec.codes import SpecCode
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.types.errors import UsageError

_ORIGIN: Final = re.compile(r"(https?)://([^/?#]*)", re.IGNORECASE)
_LITERAL: Final = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9A-Fa-f]{2})*")
"""RFC 3986, sections 3.3 and 3.4: what a path and a query may hold as it stands."""

_SEPARATORS: Final = re.compile(r"[/\\]")
"""What parts a path for a server; some read a backslash, and either of them percent-encoded, in the same way."""

Piece = str | Placeholder


class AddressTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """Scheme and host are literal; the path is filled part by part."""

    origin: str
    """``https://orders.example:8443``."""
    parts: tuple[tuple[Piece, ...], ...]
    """What stands between the slashes of the path."""
    query: str
    """As written, without its ``?``."""

    def fill(self, frame: Frame, secrets: Secrets) -> str:
        """The address. Raises UnfitError for a value that would lead somewhere else."""
        path = "/".join(_filled(part, frame, secrets) for part in self.parts)
        return f"{self.origin}{path}{f'?{self.query}' if self.query else ''}"

    @property
    def placeholders(self) -> tuple[Placeholder, ...]:
        """All of them, in order."""
        return tuple(piece for part in self.parts for piece in part if isinstance(piece, Placeholder))


def compile_address(text: Located[str], scope: Scope, report: Report) -> AddressTemplate | None:
    """Compile an address; None after reporting what is wrong with it."""
    origin = _origin(text, report)
    if origin is None:
        return None
    rest = text.value[len(origin) :]
    path, _, query = rest.partition("?")
    if not _check_literals(text, path, query, len(origin), report):
        return None
    parts = []
    at = len(origin)
    for part in path.split("/"):
        parts.append(_part(text, part, at, scope, report))
        at += len(part) + 1
    if any(part is None for part in parts):
        return None
    known = tuple(part for part in parts if part is not None)
    return AddressTemplate(origin=origin, parts=known if path else ((), ()), query=query)


def _origin(text: Located[str], report: Report) -> str | None:
    """Scheme, host and port, which no request can choose; None after reporting that they cannot be asked."""
    found = _ORIGIN.match(text.value)
    if found is None or not found[2]:
        report.add(text.span.problem(SpecCode.VALUE, f"`url` is '{text.value}'", expected=_EXPECTED))
        return None
    if "@" in found[2]:
        message = "`url` holds a user or password, which belongs into the environment"
        suggestion = "auth: { basic: { user: { env: SERVICE_USER }, password: { env: SERVICE_PASSWORD } } }"
        report.add(text.span.problem(SpecCode.VALUE, message, expected="`auth`", suggestion=suggestion))
        return None
    trouble = _trouble_with(found[0], found[2])
    if trouble is not None:
        place = text.part(found.start(2), len(found[2]))
        report.add(place.problem(SpecCode.VALUE, trouble[0], expected=trouble[1]))
        return None
    return found[0]


def _trouble_with(origin: str, host: str) -> tuple[str, str] | None:
    """What is wrong with a host, and what was expected."""
    if "{" in origin:
        return f"the host in `url` is '{host}', and a request must not choose whom it is sent to", _EXPECTED
    if not host.isascii():
        return f"the host in `url` is '{host}', which is no ASCII", "its name in punycode: xn--..."
    try:
        name = split_address(origin, "`url`").hostname
    except UsageError as error:
        return str(error), _EXPECTED
    if not name or not is_host(name):
        return f"the host in `url` is '{host}', which clients do not agree on", "a name, or an address"
    return None


def _check_literals(text: Located[str], path: str, query: str, at: int, report: Report) -> bool:
    if "{" in query:
        placeholder = MARK.search(query)
        name = placeholder[1] if placeholder and placeholder[1] else "name"
        message = "a placeholder stands in the query of `url`, where it could bring parameters of its own"
        place = text.part(at + len(path) + 1, len(query))
        suggestion = f'query: {{ {name}: "input.{name}" }}'
        report.add(place.problem(SpecCode.VALUE, message, expected="`query`, which encodes", suggestion=suggestion))
        return False
    for literal, start in ((MARK.sub(lambda found: "x" * len(found[0]), path), at), (query, at + len(path) + 1)):
        end = _literal_end(literal)
        if end < len(literal):
            odd = text.value[start + end]
            message = f"`url` holds {odd!r}, which no address may hold as it stands"
            report.add(text.part(start + end).problem(SpecCode.VALUE, message, expected=f"{quote(odd)}, or without it"))
            return False
    return True


def _literal_end(literal: str) -> int:
    found = _LITERAL.match(literal)
    return found.end() if found else 0


def _part(text: Located[str], part: str, at: int, scope: Scope, report: Report) -> tuple[Piece, ...] | None:
    """What stands between two slashes."""
    pieces: list[Piece] = []
    end = 0
    for mark in MARK.finditer(part):
        placeholder = compile_placeholder(text, mark[1], at + mark.start(), scope, report)
        if placeholder is None or not _is_given(text, mark, at, placeholder, report):
            return None
        pieces += [part[end : mark.start()], placeholder]
        end = mark.end()
    return tuple(piece for piece in (*pieces, part[end:]) if piece)


def _is_given(text: Located[str], mark: re.Match[str], at: int, placeholder: Placeholder, report: Report) -> bool:
    """A path has a place for each value, also for one that is missing: what then stood there would be another thing."""
    if placeholder.type is None or not placeholder.type.nullable:
        return True
    message = f"`{placeholder.text}` may be missing, and the path of `url` has a place for it"
    place = text.part(at + mark.start(), len(mark[0]))
    report.add(place.problem(SpecCode.VALUE, message, expected="a field that is always there: its type without a ?"))
    return False


def _filled(part: tuple[Piece, ...], frame: Frame, secrets: Secrets) -> str:
    """One part of the path, its values percent-encoded (RFC 3986, section 2.1)."""
    text = ""
    for piece in part:
        text += piece if isinstance(piece, str) else quote(_value(piece, frame, secrets), safe="")
    if any(isinstance(piece, Placeholder) for piece in part):
        steps = {step for decoded in (unquote(text), unquote(unquote(text))) for step in _SEPARATORS.split(decoded)}
        if steps & {".", ".."}:
            raise UnfitError(f"'{unquote(text)}' would lead to another path")
    return text


def _value(placeholder: Placeholder, frame: Frame, secrets: Secrets) -> str:
    value = placeholder.fill(frame, secrets)
    if not value:
        raise UnfitError(f"`{placeholder.text}` is empty, and the address would be another one without it")
    return check_one_line(value, f"`{placeholder.text}`")


_EXPECTED: Final = "an address such as https://orders.example/orders/{order_id}, its scheme and host as they are"
