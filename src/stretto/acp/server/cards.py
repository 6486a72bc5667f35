"""What is said of a component to those who ask."""

from typing import Final, Protocol, runtime_checkable

from stretto.acp import messages as m
from stretto.acp.blob import CAPABILITY
from stretto.acp.names import STEP_VERBS, Verb
from stretto.acp.server.limits import Limits
from stretto.acp.tensor_fields import told_of
from stretto.types.protocols import Component, Confirms, Differentiates, Reflects

_MOST_USED_FIRST: Final = (Verb.EXECUTE, Verb.PLAN, Verb.OBSERVE)
"""A step asks by the first, where nobody says otherwise."""


@runtime_checkable
class Promises(Protocol):
    """A component that promises something of its answers."""

    @property
    def sla(self) -> m.Sla:
        """What."""
        ...


def verbs_of(component: Component) -> tuple[Verb, ...]:
    """What a component can be asked: the three by which a step asks, or those of them that its card's capabilities
    name; reflect and vjp where it has the method, and vjp not where its card tells that no gradient passes."""
    card = component.card
    named = tuple(verb for verb in STEP_VERBS if verb.value in card.capabilities)
    pulls = isinstance(component, Differentiates) and (card.tensors is None or card.tensors.carry)
    more = [verb for verb, offers in ((Verb.REFLECT, isinstance(component, Reflects)), (Verb.VJP, pulls)) if offers]
    return (*(named or _MOST_USED_FIRST), *more)


def wire_card(component: Component, limits: Limits) -> m.WireCard:
    """The card as it crosses the wire.

    Whatever is served can be asked what became of a write, since the server remembers; but what it does not remember
    another process may have done, so that only a component that can tell by itself `confirms`.
    """
    card = component.card
    return m.WireCard(
        name=card.name,
        version=card.version,
        kind=card.kind,
        digest=card.digest,
        input=dict(card.input),
        output=dict(card.output),
        effects={action: str(effect) for action, effect in card.effects.items()},
        action_field=card.action_field,
        idempotent=card.idempotent,
        confirms=card.confirms and isinstance(component, Confirms),
        verbs=tuple(verb.value for verb in verbs_of(component)),
        capabilities=(*(each for each in card.capabilities if each not in limits.withheld), CAPABILITY),
        description=card.description,
        sla=component.sla if isinstance(component, Promises) else m.Sla(),
        max_request_bytes=limits.max_request_bytes,
        tensors=told_of(card.tensors),
    )
