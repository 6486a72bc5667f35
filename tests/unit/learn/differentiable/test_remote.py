"""A component elsewhere takes part in `.backward()`: its gradients are those of the same module at home."""

import asyncio
import gc

import pytest
import torch

from stretto.acp.failure import AcpError, Failure
from stretto.acp.names import Verb
from stretto.learn import Perturbation
from stretto.learn.differentiable.answered import Answered
from stretto.learn.differentiable.columns import Rows, Tensors
from stretto.learn.differentiable.merging import select
from stretto.learn.differentiable.underway import Underway
from stretto.types.errors import Code, UsageError
from stretto.types.json import Json
from tests.unit.learn.differentiable.elsewhere import Elsewhere
from tests.unit.learn.differentiable.there_and_back import REQUESTS, ROUND, Load, of_first


def test_gradients_are_those_of_the_module_at_home(load: Load, there: Elsewhere) -> None:
    home, away = load(home=True), load()
    assert [*away.components] == ["first", "last"]
    for module in (home, away):
        outcome = module(REQUESTS)
        gradients = outcome.backward()
        assert not gradients.skipped
    for name in ("first", "last"):
        for one, other in zip(getattr(home, name).parameters(), getattr(away, name).parameters(), strict=True):
            torch.testing.assert_close(one.grad, other.grad)
    assert there.times(Verb.VJP) == 3


def test_gradients_go_round_a_loop_in_the_runs_that_go_on(load: Load, there: Elsewhere) -> None:
    home, away = load(home=True, steps=ROUND), load(steps=ROUND, check_remote=0)
    for module in (home, away):
        assert not module(REQUESTS).backward().skipped
    for one, other in zip(of_first(home), of_first(away), strict=True):
        torch.testing.assert_close(one.grad, other.grad)
    assert there.times(Verb.VJP) == 5


def test_what_it_answered_is_recorded_and_what_was_pulled_back_is_not(load: Load, there: Elsewhere) -> None:
    home, away = load(home=True), load()
    outcomes = home(REQUESTS, seeds=[1, 2, 3]), away(REQUESTS, seeds=[1, 2, 3])
    outcomes[1].backward()
    for one, other in zip(outcomes[0].runs, outcomes[1].runs, strict=True):
        assert [each.path for each in other.steps] == ["first", "middle", "last"]
        assert one.steps[1].output_value == other.steps[1].output_value
    torch.testing.assert_close(outcomes[0].rewards, outcomes[1].rewards)


def test_modules_around_it_learn(load: Load, there: Elsewhere) -> None:
    module = load(check_remote=0)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.03)
    found = []
    for _ in range(25):
        optimizer.zero_grad()
        outcome = module(REQUESTS)
        outcome.backward()
        optimizer.step()
        found.append(outcome.rewards.mean().item())
    assert found[-1] > 0.6 * found[0]
    assert found[-1] > found[10] > found[0]


@pytest.mark.parametrize("goes_back", [True, False])
def test_what_a_pass_held_goes_with_it(load: Load, goes_back: bool) -> None:
    module = load(steps=ROUND)
    outcome = module(REQUESTS)
    if goes_back:
        outcome.backward()
    assert _passes() == 1
    del outcome
    gc.collect()
    assert _passes() == 0


def _passes() -> int:
    return sum(type(each) is Underway for each in gc.get_objects())  # a proxy would be asked what it is


def test_rows_are_pulled_back_side_by_side(load: Load, there: Elsewhere) -> None:
    waiting: list[asyncio.Event] = []

    async def until_all_are_there(verb: Verb) -> None:
        if verb is Verb.VJP:
            waiting.append(asyncio.Event())
            if len(waiting) == len(REQUESTS):
                for each in waiting:
                    each.set()
            await waiting[-1].wait()

    there.before = until_all_are_there
    outcome = load(check_remote=0)(REQUESTS)
    assert outcome.backward().norms["first"] > 0


def test_a_row_that_a_fallback_answered_carries_no_gradient(load: Load, there: Elsewhere) -> None:
    refused = Failure(code=Code.NOT_FOUND, message="not that one")
    there.change = lambda verb, request, answer: (
        AcpError(refused) if verb is Verb.EXECUTE and request.envelope.seed == "2" else answer
    )
    module = load(
        more="resilience: { fallback: { output: { state: [[0, 0, 0], [0, 0, 0]], score: 1.0 } } }", check_remote=0
    )
    outcome = module(REQUESTS, seeds=[1, 2, 3])
    told = outcome.outputs["score"]
    assert isinstance(told, torch.Tensor)
    assert told[1] == 1.0
    outcome.backward()
    assert there.times(Verb.VJP) == 2
    alone = load(check_remote=0)
    alone(REQUESTS[::2], seeds=[1, 3]).backward()
    for one, other in zip(of_first(module), of_first(alone), strict=True):
        assert one.grad is not None
        assert other.grad is not None
        torch.testing.assert_close(one.grad * 3, other.grad * 2)  # each the mean over its batch


def test_a_run_that_failed_there_has_no_part_in_the_loss(load: Load, there: Elsewhere) -> None:
    refused = Failure(code=Code.NOT_FOUND, message="not that one")
    there.change = lambda verb, request, answer: (
        AcpError(refused) if verb is Verb.EXECUTE and request.envelope.seed == "2" else answer
    )
    outcome = load(check_remote=0)(REQUESTS, seeds=[1, 2, 3])
    assert outcome.known.tolist() == [True, False, True]
    assert not outcome.backward().skipped
    assert there.times(Verb.VJP) == 2


def test_nothing_is_asked_where_no_gradient_goes_on(load: Load, there: Elsewhere) -> None:
    module = load(train=["last"])
    assert module(REQUESTS).backward().norms["last"] > 0
    assert there.times(Verb.VJP) == 0


def test_what_learns_elsewhere_is_frozen_from_here(load: Load) -> None:
    with pytest.raises(UsageError, match="component 'middle' is frozen from here: its weights are where it is served"):
        load(train=["middle"])
    with pytest.raises(UsageError, match="check_remote is -1; expected a whole number of rows"):
        load(check_remote=-1)


def test_one_that_pulls_gradients_back_is_not_perturbed(load: Load) -> None:
    with pytest.raises(UsageError, match="'middle' of kind torch, nor a step outside that calls it and returns"):
        load(perturb={"middle": Perturbation(share=0.5, random=True)})


def test_what_is_chosen_from_keeps_the_graph_beside_what_has_none() -> None:
    value = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    told: list[Json] = [{"y": 1.0, "z": "a"}, {"y": 2.0, "z": "b"}, {"y": 3.0, "z": "c"}]
    away = Answered(told, {"y": Tensors(value)})
    merged = select(torch.tensor([True, False, True]), away, Rows([{"y": 7.0}] * 3))
    assert merged.json == [told[0], {"y": 7.0}, told[2]]
    found = merged.below("y")
    assert isinstance(found, Tensors)
    found.value.sum().backward()  # type: ignore[no-untyped-call]  # torch's own
    assert value.grad is not None
    assert value.grad.tolist() == [1.0, 0.0, 1.0]
