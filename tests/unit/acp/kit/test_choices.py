"""The kit holds components to what they report for learning, whether they claim to choose or not."""

import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest

import stretto
from stretto.acp import json_form, messages as m
from stretto.acp.kit.case import Expect, Group, load_cases
from stretto.acp.kit.good import subjects_of
from stretto.acp.kit.http_wire import HttpWire
from stretto.acp.kit.judge import complaints
from stretto.acp.kit.kit import Verdict, claimed_by, judged
from stretto.acp.kit.seen import Seen
from stretto.acp.names import Verb
from stretto.acp.reported import reported_of
from stretto.types.learning import Action, ModelCall
from stretto.types.protocols import Component
from tests.unit.acp.reports import CHOICE, COMPLETION
from tests.unit.serve.acp_living import made, served

CHOOSING = m.WireCard(name="planner", version="1", effects={"*": "pure"}, verbs=("plan",), capabilities=("actions",))


def answered(*actions: Action, calls: tuple[ModelCall, ...] = ()) -> Seen:
    told = reported_of("planner", actions, calls)
    response = m.CallResponse(actions=told.actions, model_calls=told.model_calls, blobs=told.blobs)
    crossed = json_form.decode(json_form.encode(response), m.CallResponse)
    return Seen(sent="s", got="g", took_ms=5.0, status=200, response=crossed)


def said(seen: Seen, *before: Seen, expect: Expect | None = None) -> list[str]:
    [subject] = subjects_of(CHOOSING, None)
    return list(complaints(expect or Expect(ok=True), seen, before, subject, Verb.PLAN))


def test_the_card_decides_whether_choices_are_asked_for() -> None:
    assert Group.ACTIONS in claimed_by(CHOOSING)
    assert Group.ACTIONS not in claimed_by(msgspec.structs.replace(CHOOSING, capabilities=("blobs",)))


def test_what_can_have_been_chosen_and_sampled_passes() -> None:
    assert said(answered(CHOICE, calls=(COMPLETION, COMPLETION))) == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"logprob": 0.5}, "log-probability 0.5; expected the logarithm of a probability"),
        ({"propensity": 0.0}, "propensity 0.0; expected a probability: above 0, at most 1"),
        ({"chosen": "z"}, "'z' chosen; expected one of its support"),
        ({"available": (True,)}, "1 values in available for 3 alternatives"),
        ({"available": (True, False, True)}, "'b' chosen, which was not available"),
    ],
)
def test_a_choice_that_cannot_have_been_made_is_told(change: dict[str, object], complaint: str) -> None:
    [told] = said(answered(msgspec.structs.replace(CHOICE, **change)))
    assert told.startswith("what it reports for learning may not stand: component 'it' reported the action 'tool' with")
    assert complaint in told


def test_arrays_of_different_tokens_and_those_that_are_none_are_told() -> None:
    assert COMPLETION.mask is not None
    [apart] = said(answered(calls=(msgspec.structs.replace(COMPLETION, mask=COMPLETION.mask[:1]),)))
    assert "2 in completion_ids, 2 in logprobs, 1 in mask" in apart
    broken = m.CallResponse(model_calls=(m.ModelCall(mask=m.Array(content=b"x")),))
    [told] = said(msgspec.structs.replace(answered(), response=broken))
    assert "`mask` of a model call is no array" in told


def test_a_claim_without_a_choice_and_another_choice_for_the_same_request_are_told() -> None:
    [told] = said(answered(), expect=Expect(ok=True, actions=True))
    assert told.startswith("it carries no `actions`; expected the choice that it made, or a card without")
    other = answered(msgspec.structs.replace(CHOICE, chosen="a"))
    assert said(other, answered(CHOICE), expect=Expect(ok=True, same_output_as=1)) == [
        "its `actions` are others than those of the same request before"
    ]


@stretto.component("planner", "1.0.0", effects="pure", trainable=True)
def silent(words: str) -> dict[str, str]:
    """Claims to choose, and tells of no choice."""
    return {"do": words}


@stretto.component("planner", "1.0.0", effects="pure", trainable=True)
def restless(words: str, context: stretto.Context) -> dict[str, str]:
    """Draws anew each time."""
    chosen = random.Random().choice(words + "ab")
    context.action(
        Action(
            name="do",
            chosen=chosen,
            support=tuple(sorted({*words, "a", "b"})),
            logprob=-1.0,
            propensity=0.4,
            policy="p",
        )
    )
    return {"do": f"{random.random()}"}


@asynccontextmanager
async def held(component: Component) -> AsyncIterator[Callable[[], AsyncIterator[Verdict]]]:
    async with served([component]) as (desk, url):
        [card] = [each.wire for each in desk.served]
        wire = HttpWire(url, {})
        cases = [case for case in load_cases() if case.group is Group.ACTIONS]
        yield lambda: judged(cases, subjects_of(card, None), wire, claimed_by(card), may_write=False)
        await wire.close()


@pytest.mark.parametrize(
    ("component", "failed"),
    [
        (stretto.SoftmaxPolicy("planner", ["refund", "look", "ask"]), set()),
        (made(silent)[0], {case.name for case in load_cases() if case.group is Group.ACTIONS}),
        (made(restless)[0], {"the same place of the same run draws the same", "a seed of 64 bits is whole"}),
    ],
    ids=["a policy", "one that is silent", "one that draws anew"],
)
async def test_a_component_that_claims_to_choose_is_held_to_it(component: Component, failed: set[str]) -> None:
    async with held(component) as verdicts:
        found = [each async for each in verdicts()]
    assert len(found) == 4
    assert {each.case.name for each in found if not each.passed} == failed
