"""What may stand under `sla` and `reward` in a contract."""

from datetime import timedelta
from typing import Any, Final

import msgspec

from stretto.spec.codes import SpecCode
from stretto.spec.contract_model import BreachSpec, RewardSpec, SlaSpec
from stretto.spec.durations import LONGEST, render
from stretto.spec.nested import Entries
from stretto.spec.nodes import Node
from stretto.spec.records import Fields, Key, Record
from stretto.spec.report import Report
from stretto.spec.shapes import Duration, Flag, Number, Text
from stretto.spec.source import Located
from stretto.spec.texts import CONTEXT_PATH, FIELD
from stretto.types.json import JsonObject

SKIP: Final = Key("skip", Flag(), means="the step is skipped", example="skip: true")
USE: Final = Key("use", CONTEXT_PATH, means="the path whose value stands in", example="use: planner.default_reply")

ON_BREACH: Final = Record(
    "breach",
    means="what happens when the promise is broken",
    keys=(SKIP, USE),
    is_thing=False,
    build=lambda fields: BreachSpec(skip=fields.get(SKIP) or False, use=fields.get(USE)),
    may_be_empty=False,
)

RATE: Final = Number(minimum=0, maximum=1)
MILLISECONDS: Final = Number(minimum=0.001, maximum=LONGEST / timedelta(milliseconds=1))
"""From a microsecond to a year, as durations with a unit."""

P95: Final = Key(
    "p95_latency",
    Duration(),
    means="time within which 95 of 100 calls end",
    example="p95_latency: 1200ms",
    also=("p95", "latency"),
)
P95_MS: Final = Key("p95_latency_ms", MILLISECONDS, means="the same in milliseconds", example="p95_latency_ms: 1200")
MAX: Final = Key(
    "max_latency",
    Duration(),
    means="time within which every call ends",
    example="max_latency: 800ms",
    also=("timeout",),
)
MAX_MS: Final = Key("max_latency_ms", MILLISECONDS, means="the same in milliseconds", example="max_latency_ms: 800")
MIN_SUCCESS: Final = Key(
    "min_success_rate",
    RATE,
    means="share of calls that succeed, from 0 to 1",
    example="min_success_rate: 0.99",
    also=("success_rate", "availability"),
)
MAX_FALLBACK: Final = Key(
    "max_fallback_rate",
    RATE,
    means="share of calls that a fallback may answer, from 0 to 1",
    example="max_fallback_rate: 0.02",
    also=("fallback_rate",),
)
BREACH: Final = Key("on_breach", ON_BREACH, means=ON_BREACH.means, example="on_breach: {skip: true}")

_LIMITS: Final[tuple[Key[Any], ...]] = (P95, P95_MS, MAX, MAX_MS, MIN_SUCCESS, MAX_FALLBACK)


def _sla(fields: Fields) -> SlaSpec:
    if not any(key in fields for key in _LIMITS):
        message = "this SLA promises nothing, so nothing would be checked"
        problem = fields.node.span.problem(
            SpecCode.CONTRACT_EMPTY, message, expected=f"one of {', '.join(key.name for key in _LIMITS)}"
        )
        fields.report.add(problem)
    p95, longest = _latency(fields, P95, P95_MS), _latency(fields, MAX, MAX_MS)
    if p95 is not None and longest is not None and p95 > longest:
        key = P95 if P95 in fields else P95_MS
        message = f"`{key.name}` is {render(p95)}, longer than every call may take, which is {render(longest)}"
        fields.problem(key, SpecCode.CONFLICT, message, expected="a percentile no longer than `max_latency`")
    return SlaSpec(
        target=Located("", fields.node.span),
        p95_latency=p95,
        max_latency=longest,
        min_success_rate=fields.get(MIN_SUCCESS),
        max_fallback_rate=fields.get(MAX_FALLBACK),
        on_breach=fields.get(BREACH),
    )


def _latency(fields: Fields, with_unit: Key[timedelta], in_ms: Key[float]) -> timedelta | None:
    if with_unit in fields and in_ms in fields:
        message = f"`{in_ms.name}` and `{with_unit.name}` say the same thing twice"
        fields.problem(in_ms, SpecCode.CONFLICT, message, expected="one of the two")
    milliseconds = fields.get(in_ms)
    return fields.get(with_unit) if milliseconds is None else timedelta(milliseconds=milliseconds)


SLA: Final = Record(
    "sla",
    means="what is promised of the workflow or of one step",
    keys=(*_LIMITS, BREACH),
    build=_sla,
    rules={
        "anyOf": [{"required": [key.name]} for key in _LIMITS],
        "not": {"anyOf": [{"required": [P95.name, P95_MS.name]}, {"required": [MAX.name, MAX_MS.name]}]},
    },
)

SLAS: Final = Entries(
    key=Text(expected="workflow, or the name of a step"),
    value=SLA,
    build=lambda target, spec: msgspec.structs.replace(spec, target=target),
    what="workflow, or the name of a step, and what is promised of it",
    empty=SpecCode.CONTRACT_EMPTY,
)

_WEIGHTS: Final = Entries(
    key=FIELD,
    value=Number(),
    build=RewardSpec,
    what="the name of a term, and its weight",
    empty=SpecCode.CONTRACT_EMPTY,
)


class RewardShape:
    """Weights of the reward's terms, not all of them zero."""

    def read(self, node: Node, name: str, report: Report) -> tuple[RewardSpec, ...] | None:
        terms = _WEIGHTS.read(node, name, report)
        if terms and not any(term.weight for term in terms):
            message = "every weight is 0, so every run would earn the same reward"
            problem = node.span.problem(SpecCode.REWARD, message, expected="at least one weight other than 0")
            report.add(problem)
        return terms

    def schema(self, defs: JsonObject) -> JsonObject:
        return {**_WEIGHTS.schema(defs), "not": {"additionalProperties": {"const": 0}}}
