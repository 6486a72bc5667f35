"""What may stand in one entry of `faults`, and which keys a fault has a use for."""

from typing import Any, Final

from stretto.spec.chaos_model import FaultKind, FaultSpec, When
from stretto.spec.codes import SpecCode
from stretto.spec.records import Fields, Key, Record
from stretto.spec.shapes import Choice, Duration, Number, Text, Whole
from stretto.types.errors import Code
from stretto.types.json import JsonObject

NAME: Final = Text(expected="a name")

FAULT: Final = Key(
    "fault",
    Choice(FaultKind),
    means="what goes wrong",
    example="fault: latency",
    required=True,
    also=("kind", "type", "inject"),
)
RATE: Final = Key(
    "rate",
    Number(minimum=0, maximum=1),
    means="how many of the calls there it strikes, from 0 to 1; of `loss`, how many of the runs",
    example="rate: 0.1",
    required=True,
    also=("probability", "share", "percent"),
)
COMPONENT: Final = Key(
    "component",
    NAME,
    means="calls of this component, whichever step makes them",
    example="component: shop",
    also=("at",),
)
STEP: Final = Key("step", NAME, means="calls of this step, or of the step at this path", example="step: talk/executor")
ACTION: Final = Key(
    "action", NAME, means="only calls of this action, such as a tool", example="action: cancel_order", also=("tool",)
)
WHEN: Final = Key(
    "when",
    Choice(When),
    means="before the component does its work, or after: then it happened, and the answer is lost",
    example="when: after",
)
DELAY: Final = Key(
    "delay", Duration(), means="how long", example="delay: 250ms", also=("latency", "duration", "amount")
)
CODE: Final = Key(
    "code", Choice(Code), means="the error's google.rpc code", example="code: unavailable", also=("error", "status")
)
RETRY_AFTER: Final = Key(
    "retry_after", Duration(), means="when it may be asked again, as it says", example="retry_after: 50ms"
)
FIELD: Final = Key(
    "field", NAME, means="which field of the answer; without it, any that will do", example="field: intent"
)
AFTER_CALLS: Final = Key(
    "after_calls", Whole(minimum=0), means="calls in a run that still reach it", example="after_calls: 2"
)
FOR: Final = Key("for", Duration(), means="how long it is away; without it, until the run ends", example="for: 2s")
AHEAD: Final = Key("ahead", Duration(), means="its clock shows a later time", example="ahead: 5s")
BEHIND: Final = Key("behind", Duration(), means="its clock shows an earlier time", example="behind: 5s")

USES: Final[dict[FaultKind, tuple[tuple[Key[Any], ...], tuple[Key[Any], ...]]]] = {
    FaultKind.LATENCY: ((DELAY,), (WHEN,)),
    FaultKind.JITTER: ((DELAY,), (WHEN,)),
    FaultKind.ERROR: ((CODE,), (WHEN, RETRY_AFTER)),
    FaultKind.HANG: ((), (WHEN,)),
    FaultKind.RESET: ((), (WHEN,)),
    FaultKind.SLOW_BODY: ((DELAY,), ()),
    FaultKind.TRUNCATED_BODY: ((), ()),
    FaultKind.GARBAGE: ((), ()),
    FaultKind.WRONG_TYPE: ((), (FIELD,)),
    FaultKind.MISSING_FIELD: ((), (FIELD,)),
    FaultKind.WRONG_VALUE: ((), (FIELD,)),
    FaultKind.DUPLICATE: ((), ()),
    FaultKind.LOSS: ((), (AFTER_CALLS, FOR)),
    FaultKind.CLOCK_SKEW: ((), (AHEAD, BEHIND)),
    FaultKind.FULL_QUEUE: ((), (RETRY_AFTER,)),
}
"""The keys that a fault needs, and those that it may have; all others change nothing about it."""

_OWN: Final = (WHEN, DELAY, CODE, RETRY_AFTER, FIELD, AFTER_CALLS, FOR, AHEAD, BEHIND)
"""Keys that only some faults have a use for."""


def _fault(fields: Fields) -> FaultSpec | None:
    kind, rate = fields.get(FAULT), fields.get(RATE)
    _check_place(fields)
    if kind is not None:
        _check_uses(kind, fields)
    if kind is None or rate is None:
        return None
    return FaultSpec(
        span=fields.node.span,
        fault=kind,
        rate=rate,
        component=fields.get(COMPONENT),
        step=fields.get(STEP),
        action=fields.get(ACTION),
        when=fields.get(WHEN),
        delay=fields.get(DELAY),
        code=fields.get(CODE),
        retry_after=fields.get(RETRY_AFTER),
        field=fields.get(FIELD),
        after_calls=fields.get(AFTER_CALLS) or 0,
        lasts=fields.get(FOR),
        ahead=fields.get(AHEAD),
        behind=fields.get(BEHIND),
    )


def _check_place(fields: Fields) -> None:
    if COMPONENT in fields and STEP in fields:
        message = "a fault strikes at one place, and `component` gives it already"
        fields.problem(STEP, SpecCode.CONFLICT, message, expected="`component` or `step`, not both")
    elif COMPONENT not in fields and STEP not in fields and not {COMPONENT.name, STEP.name} & fields.meant:
        message, expected = "this fault has no place", "`component` or `step`"
        fields.report.add(
            fields.node.span.problem(
                SpecCode.MISSING_KEY, message, expected=expected, suggestion=f"{COMPONENT.example}, or {STEP.example}"
            )
        )


def _check_uses(kind: FaultKind, fields: Fields) -> None:
    needed, possible = USES[kind]
    for key in needed:
        if key not in fields and key.name not in fields.meant:
            message, expected = f"`{kind}` has no `{key.name}`", f"`{key.name}`: {key.means}"
            fields.problem(FAULT, SpecCode.MISSING_KEY, message, expected=expected, suggestion=key.example)
    useful = ", ".join(f"`{key.name}`" for key in (*needed, *possible)) or "no such key"
    for key in _OWN:
        if key in fields and key not in (*needed, *possible):
            message = f"`{key.name}` changes nothing about `{kind}`"
            fields.problem(key, SpecCode.NO_EFFECT, message, expected=f"{useful} with `{kind}`", suggestion="remove it")
    if kind is FaultKind.CLOCK_SKEW and (AHEAD in fields) is (BEHIND in fields):
        message = "a clock is either ahead or behind"
        fields.problem(
            FAULT, SpecCode.CONFLICT, message, expected="one of `ahead` and `behind`", suggestion="ahead: 5s"
        )


def _uses_schema() -> JsonObject:
    """The same as JSON Schema."""
    rules: list[Any] = [{"oneOf": [{"required": [COMPONENT.name]}, {"required": [STEP.name]}]}]
    for kind, (needed, possible) in USES.items():
        useless = [key.name for key in _OWN if key not in (*needed, *possible)]
        then: JsonObject = {"properties": dict.fromkeys(useless, False)}
        if needed:
            then["required"] = [key.name for key in needed]
        if kind is FaultKind.CLOCK_SKEW:
            then["oneOf"] = [{"required": [AHEAD.name]}, {"required": [BEHIND.name]}]
        rules.append({"if": {"properties": {FAULT.name: {"const": kind.value}}}, "then": then})
    return {"allOf": rules}


FAULT_RECORD: Final = Record(
    "fault",
    means="one kind of fault at one place",
    keys=(FAULT, RATE, COMPONENT, STEP, ACTION, *_OWN),
    build=_fault,
    rules=_uses_schema(),
)
