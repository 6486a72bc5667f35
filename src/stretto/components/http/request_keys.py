"""Keys of a declaration that say what is sent."""

from typing import Any, Final

import msgspec

from stretto.components.http.action import Method
from stretto.components.http.soap import SoapVersion
from stretto.components.option_shapes import ANY_TEXT
from stretto.spec.nodes import MapNode, Node, ScalarNode
from stretto.spec.records import Fields, Key, Record
from stretto.spec.report import Report
from stretto.spec.shapes import Choice, Rule, Text, wrong_type, wrong_value
from stretto.spec.source import Located
from stretto.types.json import JsonObject


class TemplateShape:
    """Any value, compiled once the input is known."""

    def read(self, node: Node, _name: str, _report: Report) -> Node:
        return node

    def schema(self, _defs: JsonObject) -> JsonObject:
        return {"description": "texts are expressions, {value: ...} constants, {env: NAME} secrets"}


class PairsShape:
    """Names and templates of their values, compiled once the input is known."""

    def read(self, node: Node, name: str, report: Report) -> MapNode | None:
        if isinstance(node, MapNode) and node.entries:
            return node
        report.add(wrong_type(node, name, "a mapping of names to expressions, {value: ...} or {env: NAME}"))
        return None

    def schema(self, defs: JsonObject) -> JsonObject:
        return {"type": "object", "minProperties": 1, "additionalProperties": TemplateShape().schema(defs)}


class SoapSpec(msgspec.Struct, frozen=True, kw_only=True):
    """An envelope as it was written."""

    body: Located[str]
    header: Located[str] | None
    action: str
    version: SoapVersion


class VersionShape:
    """1.1 or 1.2, in quotes or without."""

    def read(self, node: Node, name: str, report: Report) -> SoapVersion | None:
        text = node.text if isinstance(node, ScalarNode) else ""
        if text in list(SoapVersion):
            return SoapVersion(text)
        report.add(wrong_value(node, name, f"one of {', '.join(SoapVersion)}"))
        return None

    def schema(self, _defs: JsonObject) -> JsonObject:
        return {"enum": [*SoapVersion, *(float(version) for version in SoapVersion)]}


_XML_TEXT: Final = Text(expected="XML with placeholders, as in <order>{order_id}</order>")

SOAP_BODY: Final = Key(
    "body",
    _XML_TEXT,
    means="what stands in the envelope's body",
    example='body: "<b:getBalance xmlns:b=\\"urn:bank\\"><b:account>{account}</b:account></b:getBalance>"',
    required=True,
)
SOAP_HEADER: Final = Key(
    "header",
    _XML_TEXT,
    means="what stands in its header",
    example='header: "<b:key xmlns:b=\\"urn:bank\\">{env:BANK_KEY}</b:key>"',
)
SOAP_ACTION: Final = Key(
    "action",
    Text(
        expected="an address or a name",
        rules=(Rule(pattern=r"^[!#-~ ]+$", message="no header can carry in quotes", expected="ASCII without quotes"),),
    ),
    means="what `SOAPAction` says; nothing when absent",
    example="action: urn:bank#getBalance",
    also=("soap_action", "soapaction"),
)
SOAP_VERSION: Final = Key("version", VersionShape(), means="1.1, also when absent, or 1.2", example='version: "1.2"')


def _soap(fields: Fields) -> SoapSpec | None:
    body, header, action = fields.get(SOAP_BODY), fields.get(SOAP_HEADER), fields.get(SOAP_ACTION)
    version = fields.get(SOAP_VERSION)
    if body is None:
        return None
    return SoapSpec(
        body=body,
        header=header,
        action="" if action is None else action.value,
        version=version or SoapVersion.V1_1,
    )


URL: Final = Key(
    "url",
    ANY_TEXT,
    means="where it is sent; each placeholder of its path is a field of the input, percent-encoded",
    example="url: https://orders.example/orders/{order_id}",
    also=("endpoint", "address", "base_url", "uri"),
)
METHOD: Final = Key(
    "method", Choice(Method), means="GET when absent, POST with a body", example="method: PUT", also=("verb",)
)
QUERY: Final = Key(
    "query",
    PairsShape(),
    means="parameters of the query: null leaves one out, a list repeats it",
    example='query: { detail: "input.detail", lang: { value: en } }',
    also=("params", "parameters"),
)
HEADERS: Final = Key(
    "headers",
    PairsShape(),
    means="headers: null leaves one out",
    example='headers: { X-Tenant: "input.tenant", X-Key: { env: ORDERS_KEY } }',
)
JSON: Final = Key(
    "json",
    TemplateShape(),
    means="the body, as JSON",
    example='json: { amount: "input.amount", currency: { value: EUR } }',
    also=("body", "data", "payload"),
)
FORM: Final = Key(
    "form", PairsShape(), means="the body, as fields of a form", example='form: { order: "input.order_id" }'
)
XML: Final = Key(
    "xml",
    _XML_TEXT,
    means="the body, as XML whose placeholders are read from the input",
    example='xml: "<order id=\\"{order_id}\\">{note}</order>"',
)
SOAP: Final = Key(
    "soap",
    Record(
        "soap",
        means="A SOAP envelope.",
        keys=(SOAP_BODY, SOAP_HEADER, SOAP_ACTION, SOAP_VERSION),
        build=_soap,
        is_thing=False,
        may_be_empty=False,
    ),
    means="the body, as a SOAP envelope",
    example='soap: { action: urn:bank#getBalance, body: "<getBalance xmlns=\\"urn:bank\\">{account}</getBalance>" }',
)
BODIES: Final[tuple[Key[Any], ...]] = (JSON, FORM, XML, SOAP)
