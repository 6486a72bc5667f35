"""What a component pulled back, held to what gradients are: of its inputs' shapes, linear, and of its own answers."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np

from stretto.acp import messages as m, tensors as wire
from stretto.acp.difference import Arrays, Claim
from stretto.acp.kit.case import Exchange, Expect
from stretto.acp.kit.good import Subject, good_key, request_for
from stretto.acp.kit.judge import output_of
from stretto.acp.kit.pulls import SUMS, arrays_in, cotangents_of, drawn, there
from stretto.acp.kit.seen import Seen, Wire
from stretto.acp.names import Verb
from stretto.acp.projection import Verdict, judge
from stretto.acp.tensor_fields import tensors_of
from stretto.plan.check import Check
from stretto.types.card import ANY_OBJECT, Tensors
from stretto.types.json import JsonObject

POINTS: Final = 3
"""Inputs at which a gradient is held against answers: one direction may hide a lie."""

NEAR: Final = 1e-4
"""By which share of the largest a sum of two gradients may differ from that of the sum: float32 has 1e-7, and sums of
some hundred terms a hundredth of this."""

UNTOLD: Final = "its gradients are 0 there, or its answers too rough, so nobody can tell; give another: --input JSON"


def complaints_of(expect: Expect, seen: Seen, before: Sequence[Seen], subject: Subject) -> Iterator[str]:
    """What is wrong with gradients that came, in words."""
    told = tensors_of(subject.card.tensors)
    if told is None or not isinstance(seen.response, m.VjpResponse):
        return
    try:
        found = wire.read(seen.response.gradients, there(subject.input, told.inputs), whole=True)
    except ValueError as error:
        yield f"its gradients hold {error}"
        return
    if name := wire.not_finite(found):
        yield f"its gradient {name!r} is not all numbers"
    elif expect.combines:
        yield from _of_sum(found, before, told)


def _of_sum(found: Arrays, before: Sequence[Seen], told: Tensors) -> Iterator[str]:
    parts = [wire.read(each.response.gradients, told.inputs) for each in before if _is_pulled(each)]  # type: ignore[union-attr]  # held before
    for name, total in found.items():
        wanted = sum(factor * part[name].astype(np.float64) for factor, part in zip(SUMS, parts, strict=True))
        apart = float(np.max(np.abs(total - wanted)))
        largest = sum(abs(factor) * float(np.max(np.abs(part[name]))) for factor, part in zip(SUMS, parts, strict=True))
        if apart > NEAR * largest:
            one, other = SUMS
            yield (
                f"its gradient {name!r} for {one:g} times the first cotangents {other:+g} times the second differs by "
                f"{apart:.3g} from that of the two, which are up to {largest:.3g}; expected the same: it is linear"
            )


def _is_pulled(seen: Seen) -> bool:
    return isinstance(seen.response, m.VjpResponse)


async def held_to_answers(subject: Subject, over: Wire, exchange: Exchange) -> tuple[str, str]:
    """What is wrong with gradients beside the component's own answers, and why nobody can tell; two empty texts where
    all is well."""
    told = tensors_of(subject.card.tensors)
    assert told is not None
    verdicts = set()
    for point in range(POINTS):
        here = msgspec.structs.replace(subject, input=moved(subject, point))
        verdict, why = await _held(here, told, over, exchange, np.random.default_rng(point))
        if why:
            return why, ""
        verdicts.add(verdict)
    return "", "" if Verdict.AGREES in verdicts else UNTOLD


async def _held(
    subject: Subject, told: Tensors, over: Wire, exchange: Exchange, rng: np.random.Generator
) -> tuple[Verdict, str]:
    cotangents = cotangents_of(told, exchange.pull)

    async def ask(inputs: Arrays) -> Arrays | None:
        values: JsonObject = {**subject.input, **{name: each.tolist() for name, each in inputs.items()}}
        asked = request_for(msgspec.structs.replace(subject, input=values), subject.verb, Exchange(), good_key())
        response = (await over.send(subject.verb, asked, Exchange())).response
        found = arrays_in(output_of(response), told.outputs) if isinstance(response, m.CallResponse) else {}
        return found if found.keys() == cotangents.keys() else None

    inputs = arrays_in(subject.input, told.inputs)
    answer = await ask(inputs)
    request = request_for(subject, Verb.VJP, exchange, good_key())
    response = (await over.send(Verb.VJP, request, exchange)).response
    if answer is None or not isinstance(response, m.VjpResponse):
        return Verdict.UNCLEAR, ""
    gradients = wire.read(response.gradients, told.inputs)
    claim = Claim(inputs=inputs, answer=answer, cotangents=cotangents, gradients=gradients)
    verdict, probe = await judge(claim, ask, rng)
    if verdict is not Verdict.LIES or probe is None:
        is_told = any(np.any(each) for each in gradients.values())
        return verdict if is_told else Verdict.UNCLEAR, ""
    return verdict, (
        f"along a random direction its gradient says {probe.told.claimed:.6g}, and its own answers to inputs a little "
        f"ahead and behind say {probe.told.found:.6g}, which may differ by {probe.tolerance:.2g}"
    )


def moved(subject: Subject, point: int) -> JsonObject:
    """The input with other numbers in its tensors, where its schema takes them; the first point is the input's own."""
    told = tensors_of(subject.card.tensors)
    if told is None or (point == 0 and any(np.any(each) for each in arrays_in(subject.input, told.inputs).values())):
        return subject.input
    changed, check = dict(subject.input), Check(subject.card.input or ANY_OBJECT)
    for each in there(subject.input, told.inputs):
        numbers = drawn([each], 10 + point)[each.name].tolist()
        if check.is_valid({**changed, each.name: numbers}):
            changed[each.name] = numbers
    return changed


def arrays_told(subject: Subject) -> Arrays:
    """The tensors of the card that a component is asked with."""
    told = tensors_of(subject.card.tensors)
    return {} if told is None else arrays_in(subject.input, told.inputs)
