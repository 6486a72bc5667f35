"""A component elsewhere that lies is named, and one that dies costs an update and no more."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
import safetensors.numpy
import torch

from stretto.acp import messages as m, tensors
from stretto.acp.failure import AcpError, Failure
from stretto.acp.names import Verb
from stretto.acp.projection import Verdict
from stretto.learn.differentiable.module import DifferentiableWorkflow
from stretto.types.errors import Code, ContractError
from tests.unit.learn.differentiable.elsewhere import Elsewhere
from tests.unit.learn.differentiable.there_and_back import REQUESTS, Load, of_first

NAMED = "component 'middle' at step 'middle'"


def gradients(change: Callable[[Any], dict[str, Any]]) -> Callable[[Any], m.VjpResponse]:
    """What becomes of an answer whose gradient is changed."""

    def lie(answer: m.VjpResponse) -> m.VjpResponse:
        told = safetensors.numpy.load(answer.gradients)["state"]
        return msgspec.structs.replace(answer, gradients=tensors.written(change(told)))

    return lie


def untouched(module: DifferentiableWorkflow) -> bool:
    return all(each.grad is None or not each.grad.any() for each in module.parameters())


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        (gradients(lambda told: {"state": told.T}), r"'state' of shape \[3, 2\]; expected \[2, 3\]"),
        (gradients(lambda told: {"state": told.astype(np.float64)}), "'state' of float64; expected F32"),
        (gradients(lambda told: {"stat": told}), "a tensor 'stat'; expected 'state'"),
        (gradients(lambda _: {}), "no tensor 'state' among none"),
        (lambda answer: msgspec.structs.replace(answer, gradients=b"\x08"), "1 bytes that are no safetensors"),
    ],
)
def test_what_can_be_no_gradient_raises(load: Load, there: Elsewhere, lie: Any, said: str) -> None:
    there.lie(Verb.VJP, lie)
    module = load(more="resilience: { retry: { attempts: 3 } }")
    outcome = module(REQUESTS)
    with pytest.raises(ContractError, match=f"no gradient came of {NAMED}: .*{said}"):
        outcome.backward()
    assert untouched(module)
    assert there.times(Verb.VJP) == 3  # once a row: to ask again would not help


@pytest.mark.parametrize(
    "change",
    [lambda told: -told, lambda told: 2 * told, lambda told: 0 * told, lambda told: np.roll(told, 1)],
    ids=["the sign turned", "doubled", "nothing", "in another order"],
)
def test_a_gradient_of_something_else_raises(load: Load, there: Elsewhere, change: Any) -> None:
    there.lie(Verb.VJP, gradients(lambda told: {"state": change(told).astype(told.dtype)}))
    module = load(check_remote=1)
    passes = (module(REQUESTS) for _ in range(10))  # a direction may hide a lie; not thirty
    with pytest.raises(ContractError, match=f"{NAMED} pulls back what is no gradient of its answers: along a random"):
        [each.backward() for each in passes]
    assert untouched(module)


def test_an_honest_gradient_is_checked_on_the_first_row_and_one_in_so_many(load: Load, there: Elsewhere) -> None:
    module = load(check_remote=4)
    for _ in range(3):
        assert not module(REQUESTS).backward().skipped
    checking = module.remote_checks["middle"]
    assert (checking.rows, checking.came_to.total()) == (9, 3)
    assert checking.came_to[Verdict.LIES] == 0
    assert there.times(Verb.EXECUTE) >= 9 + 2 * 3


def test_what_is_not_pure_is_not_asked_for_the_sake_of_a_check(load: Load, there: Elsewhere) -> None:
    def reads(answer: m.DescribeResponse) -> m.DescribeResponse:
        (card,) = answer.cards
        return msgspec.structs.replace(answer, cards=(msgspec.structs.replace(card, effects={"*": "read"}),))

    there.lie(Verb.DESCRIBE, reads)
    module = load(check_remote=1)
    module(REQUESTS).backward()
    assert there.times(Verb.EXECUTE) == len(REQUESTS)
    assert not module.remote_checks["middle"].came_to


def test_a_gradient_that_is_no_number_costs_the_update(load: Load, there: Elsewhere) -> None:
    there.lie(Verb.VJP, gradients(lambda told: {"state": told * np.float32(np.nan)}))
    module = load()
    told = module(REQUESTS).backward()
    assert f"no gradient came of {NAMED}: " in told.skipped
    assert "'state' that is not all numbers" in told.skipped
    assert told.skipped.endswith("All gradients were dropped")
    assert (module.skipped_updates, untouched(module)) == (1, True)
    there.lie(Verb.VJP, lambda answer: answer)
    assert module(REQUESTS).backward().norms["first"] > 0
    assert module.skipped_updates == 1


def test_a_server_that_dies_before_the_loss_goes_back_costs_the_update(load: Load, there: Elsewhere) -> None:
    module = load()
    outcome = module(REQUESTS)
    there.stop()
    assert f"no gradient came of {NAMED}: the server of component 'middle' at 127.0.0.1" in outcome.backward().skipped
    assert (module.skipped_updates, untouched(module)) == (1, True)


def test_one_that_does_not_answer_in_time_costs_the_update(load: Load, there: Elsewhere) -> None:
    async def never(verb: Verb) -> None:
        if verb is Verb.VJP:
            await asyncio.sleep(3600)

    there.before = never
    module = load(more="resilience: { timeout: 300ms }")
    assert "did not answer" in module(REQUESTS).backward().skipped
    assert untouched(module)


def test_what_fails_once_is_asked_again_as_the_step_says(load: Load, there: Elsewhere) -> None:
    failures = [AcpError(Failure(code=Code.UNAVAILABLE, message="busy"))] * 2
    there.lie(Verb.VJP, lambda answer: failures.pop() if failures else answer)
    home, away = load(home=True), load(more="resilience: { retry: { attempts: 3, base: 1ms } }", check_remote=0)
    for module in (home, away):
        assert not module(REQUESTS).backward().skipped
    assert there.times(Verb.VJP) == 5
    for one, other in zip(of_first(home), of_first(away), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def test_a_gradient_of_another_component_than_answered_costs_the_update(load: Load, there: Elsewhere) -> None:
    other = m.ComponentRef(name="middle", version="0.0.0", digest="another")
    there.lie(
        Verb.VJP,
        lambda answer: msgspec.structs.replace(answer, result=msgspec.structs.replace(answer.result, component=other)),
    )
    module = load()
    told = module(REQUESTS).backward().skipped
    assert "pulled a gradient back as middle 0.0.0, digest another, and the forward call was answered under" in told
    assert untouched(module)


def test_an_answer_that_is_no_tensor_of_the_card_raises(load: Load, there: Elsewhere) -> None:
    def says(answer: m.DescribeResponse) -> m.DescribeResponse:
        (card,) = answer.cards
        told = m.Tensors(inputs=card.tensors.inputs, outputs=(m.Tensor(name="score", shape=(2,)),))
        return msgspec.structs.replace(answer, cards=(msgspec.structs.replace(card, tensors=told),))

    there.lie(Verb.DESCRIBE, says)
    with pytest.raises(ContractError, match=rf"{NAMED} answered 'score' that is no tensor of \[2\] of F32, as its"):
        load()(REQUESTS)


def test_an_input_of_another_shape_than_the_card_tells_raises(load: Load, there: Elsewhere) -> None:
    def says(answer: m.DescribeResponse) -> m.DescribeResponse:
        (card,) = answer.cards
        told = m.Tensors(inputs=(m.Tensor(name="state", shape=(6,)),), outputs=card.tensors.outputs)
        return msgspec.structs.replace(answer, cards=(msgspec.structs.replace(card, tensors=told),))

    there.lie(Verb.DESCRIBE, says)
    with pytest.raises(ContractError, match=r"takes Shape\(6\), rows of \[6\], and is given rows of \[2, 3\]"):
        load()(REQUESTS)
