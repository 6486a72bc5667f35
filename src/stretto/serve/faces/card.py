"""What a workflow says of itself as a component: its contract, and what its steps may do."""

from collections.abc import Iterator
from typing import Final

from stretto.acp import messages as m
from stretto.acp.names import Verb
from stretto.plan.model import Block, CallOp, Plan, SubOp, block_in
from stretto.plan.sla.promise import NOTHING
from stretto.types.card import ANY_ACTION, ANY_OBJECT, Card
from stretto.types.enums import Durability, Effect

KIND: Final = "workflow"

_STRONGER: Final = (Effect.PURE, Effect.READ, Effect.WRITE)


def card_of(plan: Plan) -> Card:
    """The card; its digest is that of the manifest, so that any other version of anything inside is another."""
    effect = effect_of(plan)
    return Card(
        name=plan.name,
        version=plan.version,
        kind=KIND,
        digest=plan.manifest_digest,
        input=plan.input_schema,
        output=ANY_OBJECT if plan.output_check is None else plan.output_check.schema,
        effects={ANY_ACTION: effect},
        idempotent=effect is Effect.WRITE and plan.durability is Durability.STEP,
        confirms=True,
        capabilities=(Verb.EXECUTE.value,),
        description=plan.description or f"Workflow {plan.name} {plan.version}",
    )


def sla_of(plan: Plan) -> m.Sla:
    """What the contract promises of the whole."""
    promise = plan.promises.get("workflow", NOTHING)
    return m.Sla(
        max_latency_ms=_ms(promise.max_s), p95_latency_ms=_ms(promise.p95_s), min_success_rate=promise.min_success
    )


def effect_of(plan: Plan) -> Effect:
    """The most that any of its calls may do to the world."""
    told = [effect for call in _calls(plan) for effect in _effects(call)]
    return max(told, key=_STRONGER.index, default=Effect.PURE)


def _calls(plan: Plan) -> Iterator[CallOp]:
    yield from _calls_in(plan.body)
    yield from plan.nested.values()
    if plan.memory is not None:
        yield plan.memory
    if plan.business is not None:
        yield plan.business.op


def _calls_in(block: Block) -> Iterator[CallOp]:
    for op in block.ops:
        inner = block_in(op)
        if isinstance(op, CallOp):
            yield op
        elif isinstance(op, SubOp):
            yield from _calls(op.plan)
        elif inner is not None:
            yield from _calls_in(inner)


def _effects(call: CallOp) -> Iterator[Effect]:
    """Of a call whose action is read from its request, all that its component can do."""
    if not call.action_field:
        yield call.effect
        return
    card = call.component.card
    yield from card.effects.values()
    if ANY_ACTION not in card.effects:
        yield card.effect_of(ANY_ACTION)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000.0
