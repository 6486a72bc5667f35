"""Compiles one thing that a service can be asked: every expression, every placeholder, every schema."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from stretto.components.http.action import READING, Action, Confirm, Method
from stretto.components.http.action_keys import ActionSpec
from stretto.components.http.address import compile_address
from stretto.components.http.bodies import Body, form_body, json_body, soap_body, xml_body
from stretto.components.http.error_rules import ErrorRule
from stretto.components.http.paging import Paging
from stretto.components.http.pairs import Pairs, compile_pairs
from stretto.components.http.reading import Format
from stretto.components.http.response_keys import ErrorSpec, PagingSpec
from stretto.components.http.schemas import WHOLE_ANSWER, implied_input, of_built, of_fields
from stretto.components.http.scope import Scope, of_answer, of_gathered, of_pages, of_request
from stretto.components.http.soap import compile_soap
from stretto.components.http.templates import Template, compile_template
from stretto.components.http.xml_body import compile_xml
from stretto.components.http.xpath_keys import compile_fields
from stretto.components.xml.fields import XmlField, schema_of
from stretto.components.xml.parse import check_installed
from stretto.plan.expr import Expression, compile_located
from stretto.plan.valuetype import BOOL, DYN, STRING, Kind, from_schema
from stretto.plan.valuetype.model import with_article
from stretto.spec.codes import SpecCode
from stretto.spec.nodes import MapNode
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.types.enums import Effect
from stretto.types.json import JsonObject

_NO_PAIRS: Final[Pairs] = {}


def compile_action(
    spec: ActionSpec, headers: MapNode | None, errors: Sequence[ErrorSpec], report: Report
) -> Action | None:
    """Compile one; the headers of all are sent under its own, and the errors of all come after its own.

    None after reporting what is wrong. Raises MissingExtraError for XML without the package that reads it.
    """
    form = _form(spec)
    if form is Format.XML or spec.xml or spec.soap:
        check_installed("XML in a component of kind http")
    _check(spec, form, report)
    request = of_request(DYN if spec.input is None else from_schema(spec.input))
    fields = compile_fields(spec.response.xpath, spec.response.namespaces, _declared(spec), report)
    answer = _answer_scope(spec, fields)
    address = compile_address(spec.url, request, report)
    effect = spec.effect or (Effect.READ if spec.method in READING else Effect.WRITE)
    query = _pairs(spec.query, "query", request, report)
    own, shared = _pairs(spec.headers, "headers", request, report), _pairs(headers, "headers", request, report)
    body = _body(spec, request, report)
    rules = _rules([*spec.errors, *errors], answer, report)
    paging = _paging(spec.paging, answer, effect, spec, report)
    confirm = _confirm(spec, effect, headers, report)
    made = _map(spec, of_gathered(answer) if spec.paging else answer, report)
    if report or address is None:
        return None
    return Action(
        method=spec.method,
        address=address,
        query=query,
        headers={**shared, **own},
        body=body,
        effect=effect,
        input=spec.input or implied_input(mark.field for mark in address.placeholders if mark.field),
        output=_output(spec, fields, made),
        form=form,
        fields=fields,
        answers=spec.response.statuses,
        map=None if made is None else made[0],
        takes_fields=spec.output is not None or bool(fields),
        errors=rules,
        paging=paging,
        confirm=confirm,
    )


def _form(spec: ActionSpec) -> Format:
    """How the answer is read, where it does not say: as the request is written."""
    if spec.response.form is not None:
        return spec.response.form
    return Format.XML if spec.response.xpath or spec.xml or spec.soap else Format.JSON


def _check(spec: ActionSpec, form: Format, report: Report) -> None:
    bodies = spec.bodies
    if len(bodies) > 1:
        message = f"a request has one body, and this one has {' and '.join(f'`{body}`' for body in bodies)}"
        report.add(spec.problem(bodies[1], SpecCode.CONFLICT, message, expected="one of them"))
    if bodies and spec.method in READING:
        message = f"a {spec.method} has no body, and this one has `{bodies[0]}`"
        expected = "another method with `effects: read`, or `query`"
        report.add(spec.problem(bodies[0], SpecCode.CONFLICT, message, expected=expected))
    if form is Format.XML and not spec.response.xpath and spec.response.map is None and spec.method is not Method.HEAD:
        message = "the answer is XML, and nothing says what is read of it"
        suggestion = 'response: { xpath: { balance: { path: "//b:balance", type: float } } }'
        key = next(iter(bodies), "response")
        missing = spec.problem(key, SpecCode.MISSING_KEY, message, expected="`response.xpath`", suggestion=suggestion)
        report.add(missing)


def _declared(spec: ActionSpec) -> JsonObject | None:
    """The schema that gives types to what XPath finds: the output's, where no `map` stands between them."""
    return spec.output if spec.response.map is None else None


def _answer_scope(spec: ActionSpec, fields: dict[str, XmlField]) -> Scope:
    body = from_schema(schema_of(fields)) if fields else DYN
    return of_answer(DYN if spec.input is None else from_schema(spec.input), body)


def _pairs(node: MapNode | None, key: str, scope: Scope, report: Report) -> Pairs:
    return _NO_PAIRS if node is None else compile_pairs(node, key, scope, report) or _NO_PAIRS


def _body(spec: ActionSpec, scope: Scope, report: Report) -> Body | None:
    if spec.json is not None:
        template = compile_template(spec.json, scope, report)
        return None if template is None else json_body(template[0])
    if spec.form is not None:
        return form_body(_pairs(spec.form, "form", scope, report))
    if spec.xml is not None:
        document = compile_xml(spec.xml, scope, report)
        return None if document is None else xml_body(document)
    if spec.soap is not None:
        soap = spec.soap
        envelope = compile_soap(soap.body, soap.header, soap.action, soap.version, scope, report)
        return None if envelope is None else soap_body(envelope)
    return None


def _rules(specs: Sequence[ErrorSpec], scope: Scope, report: Report) -> tuple[ErrorRule, ...]:
    return tuple(
        ErrorRule(
            statuses=spec.statuses,
            when=None if spec.when is None else compile_located(spec.when, scope, report, expect=BOOL),
            code=spec.code,
            message=None if spec.message is None else compile_located(spec.message, scope, report, expect=STRING),
            retryable=spec.retryable,
        )
        for spec in specs
    )


def _paging(paging: PagingSpec | None, scope: Scope, effect: Effect, spec: ActionSpec, report: Report) -> Paging | None:
    if paging is None:
        return None
    if effect is Effect.WRITE:
        message = "what writes is sent once, and pages are asked for one after the other"
        expected = "`effects: read`, or no `paging`"
        report.add(spec.problem("paging", SpecCode.CONFLICT, message, expected=expected))
    items = _list(paging.items, scope, report)
    onward = compile_located(paging.next, of_pages(scope), report)
    if items is None or onward is None:
        return None
    return Paging(items=items, next=onward, query=paging.query, max_pages=paging.max_pages)


def _confirm(spec: ActionSpec, effect: Effect, headers: MapNode | None, report: Report) -> Confirm | None:
    """Its errors are its own: what is an error of the write may be the very answer here."""
    given = spec.confirm
    if given is None:
        return None
    if effect is not Effect.WRITE:
        message = "what only reads is never in doubt"
        report.add(spec.problem("confirm", SpecCode.NO_EFFECT, message, expected="a write, or no `confirm`"))
    asking = replace(given.action, input=spec.input, output=given.action.output or spec.output, effect=Effect.READ)
    action = compile_action(asking, headers, (), report)
    if action is None:
        return None
    happened = compile_located(given.happened, _answer_scope(asking, dict(action.fields)), report, expect=BOOL)
    return None if happened is None else Confirm(action, happened)


def _list(text: Located[str], scope: Scope, report: Report) -> Expression | None:
    compiled = compile_located(text, scope, report)
    if compiled is not None and compiled.type.kind not in (Kind.ARRAY, Kind.DYN):
        message = f"`items` is {with_article(compiled.type)}"
        report.add(text.span.problem(SpecCode.VALUE, message, expected="the list that a page holds"))
    return compiled


def _map(spec: ActionSpec, scope: Scope, report: Report) -> Template | None:
    """How the output is built, and its type; None where the body's own fields are."""
    node = spec.response.map
    if node is None:
        _check_items(spec, report)
        return None
    compiled = compile_template(node, scope, report, secrets=False)
    if compiled is None:
        return None
    kind = compiled[1]
    if kind.kind not in (Kind.OBJECT, Kind.DYN):
        message = f"`map` is {with_article(kind)}, and an output is an object"
        report.add(
            node.span.problem(SpecCode.VALUE, message, expected='fields, as in { state: "response.body.state" }')
        )
    return compiled


def _check_items(spec: ActionSpec, report: Report) -> None:
    """Pages without `map` give `items`, so that is what `output` must name."""
    named = spec.output.get("properties") if spec.output is not None else None
    if spec.paging is not None and isinstance(named, dict) and named.keys() != {"items"}:
        message = "the pages give `items`, and `output` names other fields"
        suggestion = "response: { map: { ...: items } }"
        expected = "`response.map`"
        report.add(spec.problem("output", SpecCode.CONFLICT, message, expected=expected, suggestion=suggestion))


def _output(spec: ActionSpec, fields: dict[str, XmlField], made: Template | None) -> JsonObject:
    """What the component gives: as declared, or as far as the rest of the declaration tells."""
    if spec.output is not None:
        return spec.output
    if made is not None:
        is_built = isinstance(spec.response.map, MapNode) and made[1].fields
        return of_built(made[1]) if is_built else {"type": "object"}
    if spec.paging is not None:
        return {**of_fields(("items",)), "properties": {"items": {"type": "array"}}}
    return schema_of(fields) if fields else WHOLE_ANSWER
