"""What may stand under `semantics` in a contract: closed sets of values with their meanings."""

from collections.abc import Mapping
from typing import Final

import msgspec

from stretto.spec.codes import SpecCode
from stretto.spec.contract_model import DomainSpec, DomainValue, Translation
from stretto.spec.nested import Entries, Items
from stretto.spec.nodes import ListNode, Node, quote
from stretto.spec.records import Key, Record
from stretto.spec.report import Report
from stretto.spec.shapes import Text
from stretto.spec.source import Located
from stretto.spec.suggest import nearest
from stretto.spec.texts import CONTEXT_PATH, PROSE
from stretto.types.json import JsonObject

VALUE: Final = Text(expected="a value of the domain, as text")
DOMAIN: Final = Text(expected="the name of a domain")

_LIST: Final = Items(item=VALUE, what="values")
_MAP: Final[Entries[Located[str], DomainValue]] = Entries(
    key=VALUE,
    value=PROSE,
    build=lambda value, means: DomainValue(value, means.value),
    what="a value, and what it means",
)


class ValuesShape:
    """A plain list of values, or a mapping of values to their meanings."""

    def read(self, node: Node, name: str, report: Report) -> tuple[DomainValue, ...] | None:
        if not isinstance(node, ListNode):
            return _MAP.read(node, name, report)
        listed = _LIST.read(node, name, report) or ()
        first: dict[str, Located[str]] = {}
        for value in listed:
            if first.setdefault(value.value, value) is not value:
                message = f"the value {quote(value.value)} already stands at line {first[value.value].mark.line}"
                report.add(value.span.problem(SpecCode.SEMANTICS, message, expected="each value once"))
        return tuple(DomainValue(value) for value in listed)

    def schema(self, defs: JsonObject) -> JsonObject:
        return {"anyOf": [{**_LIST.schema(defs), "uniqueItems": True}, _MAP.schema(defs)]}


VALUES: Final = Key(
    "values",
    ValuesShape(),
    means="the values, each with its meaning, or a plain list",
    example='values: {track_order: "where is a parcel now"}',
    required=True,
    also=("enum", "options"),
)
AT: Final = Key(
    "at",
    Items(item=CONTEXT_PATH, what="paths like planner.intent"),
    means="the step outputs that must hold one of the values",
    example="at: [planner.intent]",
    also=("where", "paths", "fields"),
)
FROM: Final = Key(
    "from",
    Entries(
        key=DOMAIN,
        value=Entries(
            key=VALUE,
            value=VALUE,
            build=lambda there, here: (there, here),
            what="a value of the other domain, and the one it is here",
        ),
        build=Translation,
        what="the name of another domain, and how its values are said here",
    ),
    means="how the values of other domains are said in this one",
    example="from: {intent: {track_order: ORDER_STATUS_QUERY}}",
)

DOMAIN_RECORD: Final = Record(
    "domain",
    means="a closed set of values with their meanings",
    keys=(VALUES, AT, FROM),
    build=lambda fields: DomainSpec(
        name=Located("", fields.node.span),
        values=fields.get(VALUES) or (),
        at=fields.get(AT) or (),
        translations=fields.get(FROM) or (),
    ),
)

_DOMAINS: Final = Entries(
    key=DOMAIN,
    value=DOMAIN_RECORD,
    build=lambda name, spec: msgspec.structs.replace(spec, name=name),
    what="the name of a domain, and its values",
    empty=SpecCode.CONTRACT_EMPTY,
)


class SemanticsShape:
    """Domains by name, which may translate each other's values."""

    def read(self, node: Node, name: str, report: Report) -> tuple[DomainSpec, ...] | None:
        domains = _DOMAINS.read(node, name, report)
        known = {domain.name.value: domain for domain in domains or ()}
        for domain in known.values():
            for translation in domain.translations:
                _check_translation(translation, domain, known, report)
        return domains

    def schema(self, defs: JsonObject) -> JsonObject:
        return _DOMAINS.schema(defs)


def _check_translation(
    translation: Translation, to: DomainSpec, known: Mapping[str, DomainSpec], report: Report
) -> None:
    source = known.get(translation.domain.value)
    if source is None:
        _refuse(translation.domain, f"there is no domain {quote(translation.domain.value)}", list(known), report)
        return
    for there, here in translation.values:
        _check_value(there, source, report)
        _check_value(here, to, report)


def _check_value(value: Located[str], domain: DomainSpec, report: Report) -> None:
    words = list(dict.fromkeys(member.value.value for member in domain.values))
    if value.value not in words:
        _refuse(value, f"{quote(value.value)} is no value of the domain {quote(domain.name.value)}", words, report)


def _refuse(name: Located[str], message: str, known: list[str], report: Report) -> None:
    near = nearest(name.value, known) or ""
    report.add(name.span.problem(SpecCode.SEMANTICS, message, expected=f"one of {', '.join(known)}", suggestion=near))
