"""What of a pass is made when it is read first is what it would have been at once."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from stretto.components.torch.component import TorchComponent
from stretto.learn import as_module
from stretto.learn.differentiable.module import DifferentiableWorkflow
from tests.unit.learn.differentiable.chained import HEAD, STEPS
from tests.unit.learn.differentiable.made import loaded, rows

OUTPUT = '{p: steps.choose.way_probabilities, first: "steps.two.state[0]"}'


class Kept(nn.Module):
    """Returns its one parameter, the same for all rows."""

    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.full(shape, 2.0, dtype=torch.float64))

    def forward(self, **fields: Tensor) -> Tensor:
        (given,) = fields.values()
        return self.value.expand(len(given), *self.value.shape)


class After(nn.Module):
    """Does something with what another module returns."""

    def __init__(self, inner: nn.Module, after: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.inner, self.after = inner, after

    def forward(self, **fields: Any) -> Any:
        returned = self.inner(**fields)
        self.after(returned)
        return returned


class Hides(nn.Module):
    """Does not know the reward of the first row."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, score: Tensor) -> Any:
        return self.inner(score=score).index_fill(0, torch.tensor([0] if len(score) == 3 else []).long(), torch.nan)


class Remembers(nn.Module):
    """Puts a new buffer in the old one's place with each call."""

    mean: Tensor

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner
        self.register_buffer("mean", torch.zeros(2, dtype=torch.float64))

    def forward(self, x: Tensor) -> Any:
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        return self.inner(x=x)


def made(folder: Path, **puts: Callable[[nn.Module], nn.Module]) -> DifferentiableWorkflow:
    workflow = loaded(folder, STEPS, head=HEAD, output=OUTPUT)
    for name, put in puts.items():
        component = workflow.component(name)
        assert isinstance(component, TorchComponent)
        workflow = workflow.with_component(component.with_module(put(component.module)))
    return as_module(workflow)


@pytest.mark.parametrize("reader", [torch.no_grad, torch.inference_mode])
def test_who_reads_first_does_not_take_the_graph(
    tmp_path: Path, reader: Callable[[], AbstractContextManager[Any]]
) -> None:
    outcome = made(tmp_path)(rows(3))
    with reader():
        read = [outcome.loss, outcome.rewards, *outcome.outputs.values()]
    assert all(isinstance(each, Tensor) and each.requires_grad and not each.is_inference() for each in read)
    assert outcome.backward().norms["second"] > 0


def test_which_rewards_are_known_is_fit_for_a_loss_whoever_read_it_first(tmp_path: Path) -> None:
    outcome = made(tmp_path)(rows(3))
    with torch.inference_mode():
        assert outcome.known.all()
    outcome.rewards[outcome.known].sum().backward()


@pytest.mark.parametrize("reader", [torch.no_grad, torch.inference_mode])
def test_nor_that_of_rewards_of_which_some_are_unknown(
    tmp_path: Path, reader: Callable[[], AbstractContextManager[Any]]
) -> None:
    hidden = made(tmp_path, worth=Hides)
    outcome = hidden(rows(3))
    with reader():
        rewards = outcome.rewards
    assert rewards.isnan().tolist() == [True, False, False]
    assert rewards.requires_grad


def test_what_a_step_of_the_optimiser_changes_was_read_before(tmp_path: Path) -> None:
    module = made(tmp_path, worth=lambda _: Kept(), chooser=lambda _: Kept(3))
    outcome = module(rows(3))
    outcome.backward()
    with torch.no_grad():
        for each in module.parameters():
            each.copy_(torch.arange(each.numel()).reshape(each.shape))
    assert outcome.loss.item() == -2.0
    assert outcome.rewards.tolist() == [2.0] * 3
    p = outcome.outputs["p"]
    assert isinstance(p, Tensor)
    assert p.flatten().tolist() == pytest.approx([1 / 3] * 9)


def test_a_pass_without_gradients_has_none_of_a_parameter_that_is_the_reward(tmp_path: Path) -> None:
    module = made(tmp_path, worth=lambda _: Kept())
    with torch.no_grad():
        outcome = module(rows(3))
    assert not outcome.has_gradient
    assert not outcome.loss.requires_grad


def test_a_hook_that_writes_to_its_gradient_changes_no_other_pass(tmp_path: Path) -> None:
    def halve(reward: Tensor) -> None:
        reward.register_hook(lambda grad: grad.mul_(0.5))  # type: ignore[no-untyped-call]  # torch's own

    plain = made(tmp_path)(rows(3)).backward().norms["second"]
    module = made(tmp_path, worth=lambda inner: After(inner, halve))
    for _ in range(3):
        module.zero_grad()
        assert module(rows(3)).backward().norms["second"] == pytest.approx(plain / 2)
    assert made(tmp_path)(rows(3)).backward().norms["second"] == plain


def test_a_hook_on_the_loss_is_called_as_the_gradient_goes_back(tmp_path: Path) -> None:
    module = made(tmp_path)
    plain = module(rows(3)).backward().norms["second"]
    module.zero_grad()
    outcome = module(rows(3))
    outcome.loss.register_hook(lambda grad: grad * 3)
    assert outcome.backward().norms["second"] == pytest.approx(3 * plain)


def test_a_buffer_that_a_pass_put_in_anothers_place_is_no_later_change(tmp_path: Path) -> None:
    module = made(tmp_path, first=Remembers)
    for _ in range(2):
        outcome = module(rows(3))
        assert [run.status.value for run in outcome.runs] == ["ok"] * 3
