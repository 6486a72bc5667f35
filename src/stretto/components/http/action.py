"""One thing that a service can be asked, compiled: the request, and how its answer is read."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from stretto.components.http.address import AddressTemplate
from stretto.components.http.bodies import Body
from stretto.components.http.error_rules import ErrorRule
from stretto.components.http.paging import Paging
from stretto.components.http.pairs import Pairs
from stretto.components.http.reading import Format
from stretto.components.http.templates import Fill
from stretto.components.xml.fields import XmlField
from stretto.plan.expr import Expression
from stretto.types.enums import Effect
from stretto.types.json import JsonObject


class Method(StrEnum):
    """RFC 9110, section 9, and RFC 5789."""

    GET = "GET"
    HEAD = "HEAD"
    POST = "POST"
    PUT = "PUT"
    PATCH = "PATCH"
    DELETE = "DELETE"


READING = frozenset({Method.GET, Method.HEAD})
"""Methods that are safe (RFC 9110, section 9.2.1): they read, and a redirection may be followed."""

ACCEPTED: Mapping[Format, str] = {
    Format.JSON: "application/json",
    Format.XML: "text/xml, application/xml, application/soap+xml",
    Format.TEXT: "text/plain, */*",
}
"""``Accept``, by the form that the answer is read in."""


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent and what is made of the answer."""

    method: Method
    address: AddressTemplate
    query: Pairs
    headers: Pairs
    body: Body | None
    effect: Effect
    input: JsonObject
    output: JsonObject
    form: Format
    fields: Mapping[str, XmlField]
    """Of an answer in XML."""
    answers: frozenset[int]
    """Statuses that are answers; empty for all of 200 to 299."""
    map: Fill | None
    """Builds the output; None takes the fields of the body, or the whole answer."""
    takes_fields: bool
    """Whether, without that, the output is fields of the body."""
    errors: tuple[ErrorRule, ...]
    paging: Paging | None
    confirm: "Confirm | None" = None
    """How to find out whether it happened; None where nobody can tell."""

    @property
    def follows(self) -> bool:
        """Whether redirections are followed: of what only reads, and has no use for the redirection itself."""
        return self.method in READING and not any(300 <= status < 400 for status in self.answers)

    def is_answer(self, status: int) -> bool:
        """Whether a status is no failure."""
        return status in self.answers if self.answers else 200 <= status < 300


class Confirm(msgspec.Struct, frozen=True):
    """A read that tells whether a write in doubt happened."""

    action: Action
    happened: Expression
    """True when it did, and the answer is then the write's; false when it surely did not; null when it cannot tell."""
