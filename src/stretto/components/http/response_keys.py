"""Keys of a declaration that say what is made of an answer."""

from collections.abc import Mapping
from typing import Final

import msgspec

from stretto.components.http.paging import DEFAULT_MAX_PAGES
from stretto.components.http.reading import Format
from stretto.components.http.request_keys import TemplateShape
from stretto.components.http.xpath_keys import XPATH_FIELDS, XPathSpec
from stretto.components.xml.namespaces import NAMESPACES_BY_PREFIX
from stretto.spec.codes import SpecCode
from stretto.spec.nested import Items
from stretto.spec.nodes import ListNode, Node
from stretto.spec.records import Fields, Key, Record
from stretto.spec.report import Report
from stretto.spec.shapes import Choice, Flag, Text, Whole
from stretto.spec.source import Located, Span
from stretto.spec.texts import EXPRESSION
from stretto.types.errors import Code
from stretto.types.json import JsonObject


class ResponseSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How an answer is read, as it was written."""

    form: Format | None = None
    namespaces: Mapping[str, str] = msgspec.field(default_factory=dict)
    xpath: tuple[tuple[str, XPathSpec], ...] = ()
    map: Node | None = None
    statuses: frozenset[int] = frozenset()


class ErrorSpec(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is an error, as it was written."""

    span: Span
    statuses: frozenset[int] = frozenset()
    when: Located[str] | None = None
    code: Code
    message: Located[str] | None = None
    retryable: bool | None = None


class PagingSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How pages follow each other, as it was written."""

    items: Located[str]
    next: Located[str]
    query: str
    max_pages: int


_STATUS: Final = Whole(minimum=100, maximum=599)


class StatusesShape:
    """One status, or several."""

    _several: Final = Items(item=_STATUS, what="statuses")

    def read(self, node: Node, name: str, report: Report) -> frozenset[int] | None:
        if isinstance(node, ListNode):
            several = self._several.read(node, name, report)
            return None if several is None else frozenset(several)
        status = _STATUS.read(node, name, report)
        return None if status is None else frozenset((status,))

    def schema(self, defs: JsonObject) -> JsonObject:
        return {"anyOf": [_STATUS.schema(defs), self._several.schema(defs)]}


FORMAT: Final = Key(
    "format",
    Choice(Format),
    means="how the body is read: `json`, `xml` or `text`; as the request's body is written when absent",
    example="format: text",
)
NAMESPACES: Final = Key(
    "namespaces",
    NAMESPACES_BY_PREFIX,
    means="prefixes of XPath expressions",
    example='namespaces: { b: "urn:bank" }',
)
XPATH: Final = Key(
    "xpath",
    XPATH_FIELDS,
    means="of an answer in XML: what `response.body` holds, by XPath",
    example='xpath: { balance: { path: "//b:balance", type: float } }',
)
MAP: Final[Key[Node]] = Key(
    "map",
    TemplateShape(),
    means="builds the output out of `response` and `input`; the body's own fields when absent",
    example='map: { state: "response.body.order.state" }',
    also=("output", "mapping"),
)
STATUSES: Final = Key(
    "statuses",
    StatusesShape(),
    means="statuses that are answers; 200 to 299 when absent",
    example="statuses: [200, 404]",
    also=("status", "ok", "success"),
)


def _response(fields: Fields) -> ResponseSpec:
    form, namespaces, xpath = fields.get(FORMAT), fields.get(NAMESPACES), fields.get(XPATH)
    made, statuses = fields.get(MAP), fields.get(STATUSES)
    if XPATH in fields and form not in (None, Format.XML):
        fields.problem(FORMAT, SpecCode.CONFLICT, f"`xpath` reads XML, and `format` is {form}", expected="format: xml")
    if NAMESPACES in fields and XPATH not in fields:
        fields.problem(
            NAMESPACES, SpecCode.NO_EFFECT, "`namespaces` is for `xpath`, which is not there", expected="`xpath`"
        )
    return ResponseSpec(
        form=form,
        namespaces=dict(namespaces or ()),
        xpath=xpath or (),
        map=made,
        statuses=statuses or frozenset(),
    )


RESPONSE: Final = Key(
    "response",
    Record(
        "response",
        means="How an answer is read.",
        keys=(FORMAT, NAMESPACES, XPATH, MAP, STATUSES),
        build=_response,
        is_thing=False,
        may_be_empty=False,
    ),
    means="how the answer is read",
    example='response: { map: { state: "response.body.order.state" } }',
)

ERROR_STATUS: Final = Key("status", StatusesShape(), means="statuses that are this error", example="status: [409, 422]")
WHEN: Final = Key(
    "when",
    EXPRESSION,
    means="condition over `response` and `input`",
    example='when: "response.body.ok == false"',
    also=("if", "condition"),
)
CODE: Final = Key(
    "code",
    Choice(Code),
    means="what it means, as a google.rpc code",
    example="code: failed_precondition",
    required=True,
)
MESSAGE: Final = Key(
    "message",
    EXPRESSION,
    means="the service's words; looked for in the body when absent",
    example='message: "response.body.reason"',
)
RETRYABLE: Final = Key(
    "retryable",
    Flag(),
    means="whether the same request may succeed later; as the code says when absent",
    example="retryable: true",
)


def _error(fields: Fields) -> ErrorSpec | None:
    statuses, when, code = fields.get(ERROR_STATUS), fields.get(WHEN), fields.get(CODE)
    message, retryable = fields.get(MESSAGE), fields.get(RETRYABLE)
    if ERROR_STATUS not in fields and WHEN not in fields:
        text = "this would make an error of every answer"
        fields.report.add(fields.node.span.problem(SpecCode.MISSING_KEY, text, expected="`status` or `when`"))
        return None
    if code is None or (ERROR_STATUS in fields and statuses is None) or (WHEN in fields and when is None):
        return None
    return ErrorSpec(
        span=fields.node.span,
        statuses=statuses or frozenset(),
        when=when,
        code=code,
        message=message,
        retryable=retryable,
    )


ERROR: Final = Record(
    "error",
    means="An answer that is an error.",
    keys=(ERROR_STATUS, WHEN, CODE, MESSAGE, RETRYABLE),
    build=_error,
    may_be_empty=False,
)
ERRORS: Final = Key(
    "errors",
    Items(item=ERROR, what="errors"),
    means="answers that are errors, by status or by a condition; the first that fits counts",
    example='errors: [{ when: "response.body.ok == false", code: failed_precondition }]',
)

ITEMS: Final = Key(
    "items", EXPRESSION, means="the list that a page holds", example='items: "response.body.orders"', required=True
)
NEXT: Final = Key(
    "next",
    EXPRESSION,
    means="what leads to the next page, null after the last: an address of the same host, or what `query` takes",
    example='next: "response.body.next"',
    required=True,
)
PAGE_QUERY: Final = Key(
    "query",
    Text(expected="the name of a parameter"),
    means="parameter of the query that takes it: a cursor, or a number",
    example="query: cursor",
    also=("param", "parameter"),
)
MAX_PAGES: Final = Key(
    "max_pages",
    Whole(minimum=1, maximum=10_000),
    means=f"most pages; {DEFAULT_MAX_PAGES} when absent. More is an error, never a part of the list",
    example="max_pages: 20",
)


def _paging(fields: Fields) -> PagingSpec | None:
    items, following, query = fields.get(ITEMS), fields.get(NEXT), fields.get(PAGE_QUERY)
    most = fields.get(MAX_PAGES)
    if items is None or following is None:
        return None
    return PagingSpec(
        items=items,
        next=following,
        query="" if query is None else query.value,
        max_pages=DEFAULT_MAX_PAGES if most is None else most,
    )


PAGING: Final = Key(
    "paging",
    Record(
        "paging",
        means="How pages follow each other.",
        keys=(ITEMS, NEXT, PAGE_QUERY, MAX_PAGES),
        build=_paging,
        is_thing=False,
        may_be_empty=False,
    ),
    means="for answers that come in pages: how they follow each other; `items` then holds what all of them gave",
    example='paging: { items: "response.body.orders", next: "response.body.next" }',
)
