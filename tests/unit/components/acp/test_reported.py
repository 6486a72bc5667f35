"""Choices and model calls that a component on another server reports are those of the step that asked it."""

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import stretto
from stretto import Run, RunStatus
from stretto.acp import messages as m
from stretto.acp.failure import AcpError, Failure
from stretto.acp.names import Verb
from stretto.acp.reported import reported_of
from stretto.components.acp.component import AcpComponent
from stretto.testing.request import request_for
from stretto.types.enums import Reason
from stretto.types.errors import Code, ComponentError
from stretto.types.learning import Action, ModelCall
from tests.unit.acp.reports import CHOICE, COMPLETION, is_same
from tests.unit.components.acp.standin import EXECUTOR, Answer, StandIn

Make = Callable[..., AcpComponent]

WORKFLOW = """
stretto: 1
name: shop
durability: {durability}
components:
  executor: {{ kind: acp, url: "{url}" }}
steps:
  - name: act
    component: executor
    input_mapping: {{ order: "input.order" }}
    resilience: {{ retry: {{ attempts: 2, base: 1ms, cap: 1ms }} }}
output: {{ status: "steps.act.status" }}
"""


def answer_with(*actions: Action, calls: tuple[ModelCall, ...] = ()) -> m.CallResponse:
    told = reported_of("executor", actions, calls)
    return m.CallResponse(
        output={"status": "done"}, actions=told.actions, model_calls=told.model_calls, blobs=told.blobs
    )


def reading(server: StandIn) -> None:
    """Let its component write nothing."""
    card = msgspec.structs.replace(EXECUTOR, effects={"*": "read"}, idempotent=False, confirms=False)
    server.told = m.DescribeResponse(protocols=("1.0",), cards=(card,))


async def ran(url: str, folder: Path, durability: str = "run") -> Run:
    (folder / "workflow.yaml").write_text(WORKFLOW.format(url=url, durability=durability))
    async with stretto.load(folder / "workflow.yaml", store=folder / "runs.db") as workflow:
        run = await workflow.run({"order": "W1"})
        return workflow.store.get(run.id)


async def test_what_was_reported_there_is_recorded_here(url: str, server: StandIn, tmp_path: Path) -> None:
    reading(server)
    server.answer = lambda _verb, _request: answer_with(CHOICE, calls=(COMPLETION, COMPLETION))
    [step] = (await ran(url, tmp_path)).steps
    assert step.actions == (CHOICE,)
    assert [is_same(call, COMPLETION) for call in step.model_calls] == [True, True]


async def test_an_answer_that_was_lost_and_given_again_is_recorded_once(
    url: str, server: StandIn, tmp_path: Path
) -> None:
    def lost_once(_verb: Verb, request: m.CallRequest) -> Answer:
        if request.envelope.attempt == 1:
            return AcpError(Failure(code=Code.UNAVAILABLE, message="the line broke"))
        return msgspec.structs.replace(answer_with(CHOICE), result=m.Result(replayed=True))

    server.answer = lost_once
    [step] = (await ran(url, tmp_path, "step")).steps
    assert step.actions == (CHOICE,)
    assert step.evidence["acp"] == {"replayed": True}


LIES: dict[str, tuple[Action, ...]] = {
    "log-probability 0.5; expected": (msgspec.structs.replace(CHOICE, logprob=0.5),),
    "log-probability nan": (msgspec.structs.replace(CHOICE, logprob=float("nan")),),
    "propensity inf": (msgspec.structs.replace(CHOICE, propensity=float("inf")),),
    "propensity 0.0; expected a probability": (msgspec.structs.replace(CHOICE, propensity=0.0),),
    "'z' chosen; expected one of its support": (msgspec.structs.replace(CHOICE, chosen="z"),),
    "2 values in available for 3 alternatives": (msgspec.structs.replace(CHOICE, available=(True, True)),),
    "'c' chosen, which was not available": (msgspec.structs.replace(CHOICE, chosen="c"),),
}


@pytest.mark.parametrize(("says", "actions"), LIES.items(), ids=LIES)
async def test_a_choice_that_cannot_have_been_made_is_no_answer(
    says: str, actions: tuple[Action, ...], server: StandIn, tmp_path: Path
) -> None:
    reading(server)
    server.answer = lambda _verb, _request: answer_with(*actions)
    run = await ran(server.grpc, tmp_path)  # JSON has no NaN to send
    assert (run.status, run.reason) == (RunStatus.FAILED, Reason.CONTRACT)
    assert run.error is not None
    assert run.error.message.startswith("component 'executor' reported the action 'tool' with")
    assert says in run.error.message
    assert run.steps[0].actions == ()
    assert len(server.asked) == 1


async def test_a_number_that_json_has_not_is_no_probability(server: StandIn, tmp_path: Path) -> None:
    reading(server)
    server.answer = lambda _verb, _request: (
        b'{"output": {"status": "done"}, "actions": [{"name": "tool", "chosen": "b", "support": ["a", "b"], '
        b'"logprob": "NaN", "propensity": 0.5}]}'
    )
    run = await ran(server.http, tmp_path)
    assert run.error is not None
    assert "log-probability nan" in run.error.message


async def test_arrays_of_different_tokens_are_no_answer(url: str, server: StandIn, tmp_path: Path) -> None:
    reading(server)
    assert COMPLETION.mask is not None
    apart = msgspec.structs.replace(COMPLETION, mask=COMPLETION.mask[:1])
    server.answer = lambda _verb, _request: answer_with(calls=(apart,))
    run = await ran(url, tmp_path)
    assert (run.status, run.reason) == (RunStatus.FAILED, Reason.CONTRACT)
    assert run.error is not None
    assert "2 in completion_ids, 2 in logprobs, 1 in mask" in run.error.message


async def test_a_write_whose_choice_is_a_lie_happened_all_the_same(url: str, server: StandIn, tmp_path: Path) -> None:
    lie = msgspec.structs.replace(CHOICE, logprob=0.5)
    server.answer = lambda _verb, _request: answer_with(lie)
    run = await ran(url, tmp_path, "step")
    assert (run.status, run.reason) == (RunStatus.FAILED, Reason.CONTRACT)
    with stretto.Store(tmp_path / "runs.db") as store:
        [effect] = store.effects(run.id)
    assert effect.receipt_value == {"status": "done"}
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            m.ModelCall(logprobs=m.Array(content=b"no file")),
            "`logprobs` of a model call is no array: it is no safetens",
        ),
        (
            m.ModelCall(mask=m.Array(digest="sha256:1")),
            "`mask` of a model call has the content 'sha256:1', which",
        ),
        (m.ModelCall(messages_json="{"), "`messagesJson` of a model call is no JSON"),
    ],
)
async def test_what_cannot_be_read_is_told(call: m.ModelCall, says: str, make: Make, server: StandIn) -> None:
    server.answer = lambda _verb, _request: m.CallResponse(output={"status": "done"}, model_calls=(call,))
    with pytest.raises(ComponentError, match="answered what cannot be read") as caught:
        await make()(request_for(order="W1"))
    assert re.search(says, str(caught.value))
    assert caught.value.rpc_code is Code.INTERNAL


async def test_more_than_is_taken_is_told(make: Make, server: StandIn) -> None:
    server.answer = lambda _verb, _request: answer_with(*[CHOICE] * 1_000)
    with pytest.raises(ComponentError, match="let it answer less, or raise max_response_bytes") as caught:
        await make(max_response_bytes=10_000)(request_for(order="W1"))
    assert caught.value.rpc_code is Code.DATA_LOSS


async def test_a_server_of_an_older_minor_version_reports_none(url: str, server: StandIn, tmp_path: Path) -> None:
    reading(server)
    assert (await ran(url, tmp_path)).steps[0].actions == ()


async def test_what_a_newer_minor_version_says_of_a_choice_is_passed_over(server: StandIn, tmp_path: Path) -> None:
    reading(server)
    server.answer = lambda _verb, _request: (
        b'{"output": {"status": "done"}, "surprise": 1, "actions": [{"name": "tool", "chosen": "b", '
        b'"support": ["a", "b"], "logprob": -0.5, "propensity": 0.5, "critic": {"value": 3}}]}'
    )
    [step] = (await ran(server.http, tmp_path)).steps
    assert (step.actions[0].chosen, step.actions[0].logprob) == ("b", -0.5)
