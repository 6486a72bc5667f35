"""What a component answered, held against what a case expects."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

import jsonschema_rs
import msgspec
import orjson

from stretto.acp import messages as m
from stretto.acp.kit.case import Expect, Form
from stretto.acp.kit.good import Subject
from stretto.acp.kit.seen import Seen
from stretto.acp.names import Verb
from stretto.acp.reported import actions_in, model_calls_in
from stretto.record.report import check_report
from stretto.types.card import CHOOSES
from stretto.types.enums import Outcome
from stretto.types.errors import ContractError
from stretto.types.json import JsonObject
from stretto.types.messages import Response

NO_ANSWER: Final = "expected an answer, got a failure"
"""How a complaint begins about a good request that was refused."""


def complaints(expect: Expect, seen: Seen, before: Sequence[Seen], subject: Subject, verb: Verb) -> Iterator[str]:
    """What is wrong with an answer, in words; nothing where all is well."""
    yield from seen.complaints
    if expect.text and expect.text not in seen.body.decode(errors="replace"):
        yield f"expected a body that holds {expect.text!r}"
    if expect.status and seen.status != expect.status:
        yield f"expected status {expect.status}"
    if expect.within_ms and seen.took_ms > expect.within_ms:
        yield f"it took {seen.took_ms:,.0f} ms; expected an end within {expect.within_ms:,.0f} ms"
    if seen.complaints:
        return
    if expect.ok is True:
        yield from _of_answer(expect, seen, before, subject, verb)
    elif (expect.ok is False or expect.codes) and not seen.hung_up:
        yield from _of_failure(expect, seen)


def output_of(response: m.CallResponse) -> JsonObject:
    """The output, in whichever of its two forms it came. Raises orjson.JSONDecodeError for text that is no JSON."""
    read: JsonObject = orjson.loads(response.output_json) if response.output_json else response.output
    return read


def _of_answer(expect: Expect, seen: Seen, before: Sequence[Seen], subject: Subject, verb: Verb) -> Iterator[str]:
    if seen.response is None:
        yield f"{NO_ANSWER}: {seen.got}"
        return
    if verb is Verb.DESCRIBE and isinstance(seen.response, m.DescribeResponse):
        yield from _of_cards(seen.response, subject, expect.cards)
    if not isinstance(seen.response, m.CallResponse):
        return
    result = seen.response.result
    yield from _of_result(result, seen.took_ms, subject.card)
    if expect.replayed is not None and result.replayed is not expect.replayed:
        yield f"`replayed` is {str(result.replayed).lower()}; expected {str(expect.replayed).lower()}"
    yield from _of_output(expect, seen.response, before, subject)
    yield from _of_reported(expect, seen.response)


def _of_result(result: m.Result, took_ms: float, card: m.WireCard) -> Iterator[str]:
    if result.outcome and result.outcome not in set(Outcome):
        yield f"its outcome is {result.outcome!r}; expected one of {', '.join(Outcome)}"
    for name, told in (("queueMs", result.queue_ms), ("serviceMs", result.service_ms)):
        if not 0 <= told <= took_ms + 1:
            yield f"`{name}` is {told}, and the whole took {took_ms:.1f} ms"
    spent = result.usage
    for name, number in (("inputTokens", spent.input_tokens), ("outputTokens", spent.output_tokens)):
        if not 0 <= number <= m.MAX_UINT32:
            yield f"`usage.{name}` is {number}; expected 0 to {m.MAX_UINT32}"
    if not (math.isfinite(spent.cost) and spent.cost >= 0):
        yield f"`usage.cost` is {spent.cost}; expected a number of 0 or more"
    who = result.component
    for name, text, expected in (("name", who.name, card.name), ("digest", who.digest, card.digest)):
        if text and text != expected:
            yield f"`component.{name}` of its result is {text!r}, and its card says {expected!r}"


def _of_output(expect: Expect, response: m.CallResponse, before: Sequence[Seen], subject: Subject) -> Iterator[str]:
    try:
        output = output_of(response)
    except orjson.JSONDecodeError as error:
        yield f"`outputJson` is no JSON: {error}"
        return
    schema = subject.card.output or {"type": "object"}
    try:
        jsonschema_rs.Draft202012Validator(schema, offline=True).validate(output)
    except jsonschema_rs.ValidationError as error:
        yield f"the output does not fit the card's own schema: {error.message}"
    if expect.output_as is not None and expect.output_as is not (Form.TEXT if response.output_json else Form.OBJECT):
        yield f"its output is not written as {expect.output_as}; expected the form in which it was asked"
    earlier = before[expect.same_output_as - 1].response if expect.same_output_as else None
    if not isinstance(earlier, m.CallResponse):
        return
    if output_of(earlier) != output:
        yield "its output is another than that of the same request before"
    if earlier.actions != response.actions:
        yield "its `actions` are others than those of the same request before"
    if expect.replayed:
        yield from _of_stored(response, earlier)


def _of_reported(expect: Expect, response: m.CallResponse) -> Iterator[str]:
    """What is wrong with the choices and model calls that an answer carries, whether or not they are asked for."""
    if expect.actions and not response.actions:
        yield f"it carries no `actions`; expected the choice that it made, or a card without the capability {CHOOSES}"
    try:
        told = Response(output={}, actions=actions_in(response), model_calls=model_calls_in(response))
        check_report(response.result.component.name or "it", told)
    except (ValueError, ContractError) as error:
        yield f"what it reports for learning may not stand: {error}"


def _of_stored(response: m.CallResponse, earlier: m.CallResponse) -> Iterator[str]:
    """What a stored answer says otherwise than when it was given."""
    for name, told, before in (
        ("outcome", response.result.outcome or Outcome.OK, earlier.result.outcome or Outcome.OK),
        ("evidence", response.result.evidence, earlier.result.evidence),
        ("executeAction", response.execute_action, earlier.execute_action),
        ("gradientHandle", response.gradient_handle, earlier.gradient_handle),
    ):
        if told != before:
            yield f"its `{name}` is another than when it was answered first: {told!s:.80}, which was {before!s:.80}"


def _of_cards(told: m.DescribeResponse, subject: Subject, cards: int) -> Iterator[str]:
    if not told.protocols:
        yield "`protocols` is empty; expected the versions that are spoken, such as 1.0"
    names = [card.name for card in told.cards]
    if cards and len(names) != cards:
        yield f"it has {len(names)} cards: {', '.join(names)}; expected {cards}, of what was asked for"
    if subject.card.name not in names:
        yield f"no card of '{subject.card.name}'; there are {', '.join(names) or 'none'}"
    for card in told.cards:
        for name, text in (("version", card.version), ("digest", card.digest)):
            if not text:
                yield f"the card of '{card.name}' has no {name}"
        if card.name == subject.card.name and card != subject.card:
            yield f"the card of '{card.name}' is another than a moment ago: {_differing(card, subject.card)}"
        for what, schema in (("input", card.input), ("output", card.output)):
            try:
                jsonschema_rs.Draft202012Validator(schema or {}, offline=True)
            except jsonschema_rs.ValidationError as error:
                yield f"the card's {what} is no JSON Schema 2020-12: {error.message}"


def _differing(card: m.WireCard, before: m.WireCard) -> str:
    names = [field.encode_name for field in msgspec.structs.fields(card)]
    values = zip(names, msgspec.structs.astuple(card), msgspec.structs.astuple(before), strict=True)
    return ", ".join(f"`{name}`" for name, told, earlier in values if told != earlier)


def _of_failure(expect: Expect, seen: Seen) -> Iterator[str]:
    failure = seen.failure
    if failure is None:
        got = "an answer" if seen.response else seen.got
        yield f"expected a refusal{_as_expected(expect)}, got {got}"
        return
    if expect.codes and failure.code not in expect.codes:
        yield f"its code is {failure.code}; expected {' or '.join(expect.codes)}"
    if expect.reason and failure.reason != expect.reason:
        yield f"its reason is {failure.reason!r}; expected {expect.reason}"
    for name in expect.metadata:
        if not failure.metadata.get(name):
            yield f"its metadata has no `{name}`"
    places = [each.pointer for each in failure.violations]
    if expect.violations and not places:
        yield "it has no `violations`: nobody learns where"
    if expect.pointer and not any(place.startswith(expect.pointer) for place in places):
        yield f"its violations name {places or 'no place'}; expected {expect.pointer}"


def _as_expected(expect: Expect) -> str:
    """By what a refusal would have been the right one: code, reason, facts."""
    facts = [f"metadata `{name}`" for name in expect.metadata]
    told = [" or ".join(expect.codes), expect.reason and f"reason {expect.reason}", *facts]
    found = ", ".join(each for each in (*told, "violations" if expect.violations or expect.pointer else "") if each)
    return f" ({found})" if found else ""
