"""A good request for a component, from its card, and what a case makes of it."""

import uuid
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from stretto.acp import messages as m
from stretto.acp.kit.case import Exchange
from stretto.acp.kit.inputs import another_than, asked_with
from stretto.acp.kit.pulls import pulled_with
from stretto.acp.names import STEP_VERBS, Verb
from stretto.acp.version import CURRENT
from stretto.plan.sample import sample_of
from stretto.types.card import ANY_ACTION, ANY_OBJECT
from stretto.types.enums import Effect
from stretto.types.errors import UsageError
from stretto.types.json import JsonObject


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A component that is held to the protocol, and what it is asked."""

    card: m.WireCard
    verb: Verb
    """By which a step asks."""
    input: JsonObject
    another: JsonObject | None = None
    """What it might be asked too; None where no other input is found that fits its schema."""
    action: str = ""
    effect: Effect = Effect.WRITE


def subjects_of(card: m.WireCard, given: JsonObject | None) -> tuple[Subject, ...]:
    """The component of a card, asked what was given; else once for each effect that its actions have, by a sample of
    its schema, what writes nothing first.

    Raises UsageError where no step can ask it, or no sample is found.
    """
    verb = next((Verb(each) for each in card.verbs if each in STEP_VERBS), None)
    if verb is None:
        offered = ", ".join(card.verbs) or "none"
        raise UsageError(f"component '{card.name}' offers no verb of a step; its card says {offered}")
    if given is not None:
        named = given.get(card.action_field) if card.action_field else ""
        return (_subject(card, verb, given, named if isinstance(named, str) else ""),)
    found = {each.effect: each for each in reversed(list(_sampled(card, verb)))}
    if not found:
        raise UsageError(f"no input for component '{card.name}' follows from its schema; give one: --input JSON")
    return tuple(found[effect] for effect in Effect if effect in found)


def _sampled(card: m.WireCard, verb: Verb) -> Iterator[Subject]:
    """A sample for each action that the card names; for the only one where it names none."""
    actions = [action for action in card.effects if action != ANY_ACTION] if card.action_field else []
    for action in actions or [""]:
        start: JsonObject = {card.action_field: action} if action else {}
        sample = sample_of(card.input or ANY_OBJECT, start)
        if sample is not None and all(sample.get(name) == value for name, value in start.items()):
            yield _subject(card, verb, sample, action)


def _subject(card: m.WireCard, verb: Verb, given: JsonObject, action: str) -> Subject:
    effect = card.effects.get(action) or card.effects.get(ANY_ACTION) or Effect.WRITE
    another = another_than(given, card)
    return Subject(card=card, verb=verb, input=given, another=another, action=action, effect=Effect(effect))


def good_key() -> str:
    """An effect key that was never used."""
    return f"{uuid.uuid4()}/kit"


def request_for(subject: Subject, verb: Verb, exchange: Exchange, key: str) -> JsonObject:
    """The request of an exchange in its JSON form: a good one, changed as the case says (RFC 7396)."""
    run, _, path = key.partition("/")
    envelope: JsonObject = {
        "protocol": CURRENT,
        "runId": run,
        "stepPath": path,
        "attempt": 1,
        "component": {"name": subject.card.name},
        "remainingMs": 10_000,
        "effectKey": key,
        "effect": subject.effect.value,
        "labels": {"purpose": "conformance"},
        **({"action": subject.action} if subject.action else {}),
    }
    good: JsonObject = {"envelope": envelope}
    if verb in STEP_VERBS:
        good |= asked_with(subject.input, subject.another or {}, exchange)
    elif verb is Verb.VJP:
        good |= pulled_with(subject.card, subject.input, exchange.pull)
    elif verb is Verb.REFLECT:
        good |= {"reward": 0.5, "credit": 0.25}
    elif verb is Verb.DESCRIBE:
        good = {"protocol": CURRENT, **({"component": subject.card.name} if exchange.by_name else {})}
    return cast("JsonObject", merged(good, exchange.request))


def merged(value: Any, patch: Any) -> Any:  # JSON
    """A JSON Merge Patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    kept = dict(value) if isinstance(value, dict) else {}
    for name, each in patch.items():
        if each is None:
            kept.pop(name, None)
        else:
            kept[name] = merged(kept.get(name), each)
    return kept
