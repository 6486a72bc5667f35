"""A card as it crossed the wire, made into the component's own: what a peer claims is held to what a card may say."""

from collections.abc import Mapping
from typing import Final

import jsonschema_rs
import msgspec

from stretto.acp.blob import CAPABILITY
from stretto.acp.messages import DescribeResponse, WireCard
from stretto.acp.names import STEP_VERBS, Verb
from stretto.acp.tensor_fields import tensors_of
from stretto.acp.version import is_spoken
from stretto.types.card import ANY_ACTION, ANY_OBJECT, Card, Tensors
from stretto.types.enums import Effect
from stretto.types.errors import UsageError
from stretto.types.ids import digest_of
from stretto.types.json import JsonObject

KIND: Final = "acp"

_UNTOLD: Final = Effect.WRITE
"""Of a component that does not say what it does."""


def chosen_card(told: DescribeResponse, component: str, who: str) -> WireCard:
    """The card of the component that is meant. Raises UsageError where it is not there, or not to be told apart."""
    if told.protocols and not any(map(is_spoken, told.protocols)):
        raise UsageError(f"{who} speaks the protocol in versions {', '.join(told.protocols)}; expected 1.x")
    names = [card.name for card in told.cards]
    if component:
        found = [card for card in told.cards if card.name == component]
        if len(found) == 1:
            return found[0]
        raise UsageError(f"{who} has no component '{component}'; it has {', '.join(names) or 'none'}")
    if len(told.cards) != 1:
        some = "none" if not names else f"{len(names)}: {', '.join(names)}; name one: #{names[0]} after the address"
        raise UsageError(f"{who} should have one component; it has {some}")
    return told.cards[0]


def verb_of(card: WireCard, declared: Verb | None, who: str) -> Verb:
    """By which verb a step asks. Raises UsageError for one that the component does not offer."""
    offered = [verb for verb in STEP_VERBS if verb in card.verbs]
    if declared is None and offered:
        return next(Verb(verb) for verb in card.verbs if verb in offered)
    if declared is not None and declared in offered:
        return declared
    asked = f"`{declared}`" if declared else "any verb of a step"
    raise UsageError(f"{who} does not offer {asked}; its card says {', '.join(card.verbs) or 'none'}")


def card_of(name: str, wire: WireCard, verb: Verb, who: str) -> Card:
    """The card under the name that the workflow uses. Raises UsageError for claims that no card can hold."""
    return Card(
        name=name,
        version=wire.version or "0.0.0",
        kind=KIND,
        digest=digest_of(msgspec.json.encode([verb, wire], order="deterministic")),
        input=_schema(wire.input, "input", who),
        output=_schema(wire.output, "output", who),
        effects=_effects(wire.effects, who),
        action_field=wire.action_field,
        idempotent=wire.idempotent,
        confirms=wire.confirms,
        capabilities=tuple(each for each in wire.capabilities if each not in _OF_THE_WIRE),
        description=wire.description,
        tensors=_tensors(wire, who),
    )


_OF_THE_WIRE: Final = ("call", CAPABILITY)
"""A component on another server calls others on its own side, none of this run's; and how it is sent large values is no
matter of the workflow."""


def _schema(schema: JsonObject, what: str, who: str) -> JsonObject:
    if not schema:
        return dict(ANY_OBJECT)
    try:
        jsonschema_rs.Draft202012Validator(schema, offline=True)
    except ValueError as error:  # a ValidationError among them; its own for one that is nested too deeply
        why = error.message if isinstance(error, jsonschema_rs.ValidationError) else str(error)
        raise UsageError(f"{who} says of its {what} what is no JSON Schema 2020-12: {why}") from error
    return schema


def _tensors(wire: WireCard, who: str) -> Tensors | None:
    try:
        return tensors_of(wire.tensors)
    except ValueError as error:
        raise UsageError(f"{who} says of its tensors what no card can hold: {error}") from error


def _effects(told: Mapping[str, str], who: str) -> dict[str, Effect]:
    try:
        effects = {action: Effect(effect) for action, effect in told.items()}
    except ValueError as error:
        raise UsageError(f"{who} says of its effects: {error}; expected {', '.join(Effect)}") from error
    return effects or {ANY_ACTION: _UNTOLD}
