"""What may stand under `semantics` in a contract: closed sets of values with their meanings."""

import re
from typing import Any, Final

import msgspec

from stretto.spec.codes import SpecCode
from stretto.spec.contract_model import DomainSpec, DomainValue, MeaningRule, Synonyms, Translation
from stretto.spec.domain_checks import check_domains
from stretto.spec.nested import Entries, Items
from stretto.spec.nodes import ListNode, MapNode, Node, quote
from stretto.spec.pattern import PatternShape
from stretto.spec.records import Fields, Key, Record
from stretto.spec.report import Report
from stretto.spec.shapes import Choice, Number, Rule, Text
from stretto.spec.source import Located
from stretto.spec.texts import IDENTIFIER, MAX_NAME_CHARS, PROSE
from stretto.types.json import JsonObject
from stretto.types.meaning import MeaningMode

_IS_SAID = Rule(pattern=r"\S", message="says nothing", expected="a text that is not blank")

VALUE: Final = Text(expected="a value of the domain, as text", rules=(_IS_SAID,))
DOMAIN: Final = Text(
    expected="the name of a domain",
    rules=(
        _IS_SAID,
        Rule(
            pattern=rf"^[^/\\\x00-\x1f]{{1,{MAX_NAME_CHARS}}}$",
            message="cannot name a domain, nor the file of its aligner",
            expected=f"1 to {MAX_NAME_CHARS} characters, none of them / or \\",
        ),
    ),
)
PLACE: Final = Text(
    expected="a path like planner.intent",
    rules=(
        Rule(
            pattern=rf"^(?!steps\.){IDENTIFIER}(?:\.{IDENTIFIER})+$",
            message="is no field of a step, nor of the input or the output",
            expected="a step and a field of it: planner.intent; or input.intent, output.intent",
            code=SpecCode.SEMANTICS,
            mend=lambda text: re.sub(r"\[.*?\]", "", text.removeprefix("steps.")),
        ),
    ),
)
ALIGNER_FILE: Final = Text(expected="the path of an aligner's file")

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
    Items(item=PLACE, what="paths like planner.intent"),
    means="the fields that hold one of the values: of a step's request and output, of the input or the output",
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
SYNONYMS: Final = Key(
    "synonyms",
    Entries(
        key=VALUE,
        value=Items(item=Text(expected="a word or phrase"), what="words or phrases"),
        build=Synonyms,
        what="a value, and other words for it",
    ),
    means="other words for a value; case, width and white space make no difference",
    example="synonyms: {track_order: [where is my parcel, 查快递]}",
    also=("aliases",),
)
MATCH: Final = Key(
    "match",
    PatternShape(),
    means="a regular expression that is found somewhere in the text",
    example='match: "(where|track).*parcel"',
    required=True,
    also=("pattern", "regex"),
)
MEANT: Final = Key("value", VALUE, means="the value that is meant", example="value: track_order", required=True)


def _rule(fields: Fields) -> MeaningRule | None:
    match, value = fields.get(MATCH), fields.get(MEANT)
    return None if match is None or value is None else MeaningRule(match, value)


RULE: Final = Record(
    "rule",
    means="a pattern, and the value that a text means in which it is found",
    keys=(MATCH, MEANT),
    build=_rule,
)
RULES: Final = Key(
    "rules",
    Items(item=RULE, what="rules"),
    means="patterns for what no synonym says, asked in their order",
    example='rules: [{match: "(where|track).*parcel", value: track_order}]',
    also=("patterns",),
)
ALIGNER: Final = Key(
    "aligner",
    ALIGNER_FILE,
    means="the file of a learned aligner, asked where no rule says what is meant",
    example="aligner: intent.aligner",
    also=("model",),
)
THRESHOLD: Final = Key(
    "threshold",
    Number(minimum=0, maximum=1),
    means="confidence from which the aligner is believed, from 0 to 1; the default is its file's own",
    example="threshold: 0.9",
    also=("min_confidence",),
)
MODE: Final = Key(
    "mode",
    Choice(MeaningMode),
    means="what happens to a text that means no value: off, warn, enforce or quarantine",
    example="mode: enforce",
)


def _domain(fields: Fields) -> DomainSpec:
    if THRESHOLD in fields and ALIGNER not in fields:
        message = f"`{THRESHOLD.name}` has no effect without `{ALIGNER.name}`, whose confidence it is about"
        fields.problem(THRESHOLD, SpecCode.NO_EFFECT, message, expected=ALIGNER.example)
    return DomainSpec(
        name=Located("", fields.node.span),
        values=fields.get(VALUES) or (),
        at=fields.get(AT) or (),
        translations=fields.get(FROM) or (),
        synonyms=fields.get(SYNONYMS) or (),
        rules=fields.get(RULES) or (),
        aligner=fields.get(ALIGNER),
        threshold=fields.get(THRESHOLD),
        mode=fields.get(MODE),
    )


_KEYS: Final[tuple[Key[Any], ...]] = (VALUES, AT, FROM, SYNONYMS, RULES, ALIGNER, THRESHOLD, MODE)

DOMAIN_RECORD: Final = Record(
    "domain",
    means="a closed set of values with their meanings",
    keys=_KEYS,
    build=_domain,
    rules={"dependentRequired": {THRESHOLD.name: [ALIGNER.name]}},
)

_DOMAINS: Final = Entries(
    key=DOMAIN,
    value=DOMAIN_RECORD,
    build=lambda name, spec: msgspec.structs.replace(spec, name=name),
    what="the name of a domain, and its values",
    empty=SpecCode.CONTRACT_EMPTY,
)


class SemanticsShape:
    """Domains by name, which may translate each other's values; at least one of them holds somewhere."""

    def read(self, node: Node, name: str, report: Report) -> tuple[DomainSpec, ...] | None:
        domains = _DOMAINS.read(node, name, report)
        check_domains(domains or (), report)
        if domains and isinstance(node, MapNode) and not _may_hold(node):
            message = "no domain says where it holds, so nothing would be checked"
            problem = node.span.problem(
                SpecCode.CONTRACT_EMPTY, message, expected=f"`{AT.name}` in one domain or more", suggestion=AT.example
            )
            report.add(problem)
        return domains

    def schema(self, defs: JsonObject) -> JsonObject:
        return {**_DOMAINS.schema(defs), "not": {"additionalProperties": {"not": {"required": [AT.name]}}}}


def _may_hold(node: MapNode) -> bool:
    """Whether any domain has the key, or one that probably stands for it, or cannot be read."""
    read = [entry.node for entry in node.entries.values()]
    return any(
        not isinstance(each, MapNode) or not each.entries.keys().isdisjoint((AT.name, *AT.also)) for each in read
    )
