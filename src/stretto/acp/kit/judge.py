"""What a component answered, held against what a case expects."""

from collections.abc import Iterator, Sequence
from typing import Final

import jsonschema_rs
import orjson

from stretto.acp import messages as m
from stretto.acp.kit.case import Expect
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
        yield from _of_cards(seen.response, subject)
    if not isinstance(seen.response, m.CallResponse):
        return
    result = seen.response.result
    if result.outcome and result.outcome not in set(Outcome):
        yield f"its outcome is {result.outcome!r}; expected one of {', '.join(Outcome)}"
    for name, told in (("queueMs", result.queue_ms), ("serviceMs", result.service_ms)):
        if not 0 <= told <= seen.took_ms + 1:
            yield f"`{name}` is {told}, and the whole took {seen.took_ms:.1f} ms"
    if expect.replayed is not None and result.replayed is not expect.replayed:
        yield f"`replayed` is {str(result.replayed).lower()}; expected {str(expect.replayed).lower()}"
    yield from _of_output(expect, seen.response, before, subject)
    yield from _of_reported(expect, seen.response)


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
    if expect.same_output_as:
        earlier = before[expect.same_output_as - 1].response
        if isinstance(earlier, m.CallResponse) and output_of(earlier) != output:
            yield "its output is another than that of the same request before"
        if isinstance(earlier, m.CallResponse) and earlier.actions != response.actions:
            yield "its `actions` are others than those of the same request before"


def _of_reported(expect: Expect, response: m.CallResponse) -> Iterator[str]:
    """What is wrong with the choices and model calls that an answer carries, whether or not they are asked for."""
    if expect.actions and not response.actions:
        yield f"it carries no `actions`; expected the choice that it made, or a card without the capability {CHOOSES}"
    try:
        told = Response(output={}, actions=actions_in(response), model_calls=model_calls_in(response))
        check_report(response.result.component.name or "it", told)
    except (ValueError, ContractError) as error:
        yield f"what it reports for learning may not stand: {error}"


def _of_cards(told: m.DescribeResponse, subject: Subject) -> Iterator[str]:
    if not told.protocols:
        yield "`protocols` is empty; expected the versions that are spoken, such as 1.0"
    names = [card.name for card in told.cards]
    if subject.card.name not in names:
        yield f"no card of '{subject.card.name}'; there are {', '.join(names) or 'none'}"
    for card in told.cards:
        if not card.version:
            yield f"the card of '{card.name}' has no version"
        for what, schema in (("input", card.input), ("output", card.output)):
            try:
                jsonschema_rs.Draft202012Validator(schema or {}, offline=True)
            except jsonschema_rs.ValidationError as error:
                yield f"the card's {what} is no JSON Schema 2020-12: {error.message}"


def _of_failure(expect: Expect, seen: Seen) -> Iterator[str]:
    failure = seen.failure
    if failure is None:
        yield (
            f"expected a refusal, got an answer: {seen.got}" if seen.response else f"expected a refusal, got {seen.got}"
        )
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
