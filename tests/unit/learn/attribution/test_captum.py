"""Ours and Captum's, on the same network: two implementations of the same papers."""

import pytest
import torch
from torch import Tensor, nn

from stretto.learn.attribution import Row, gradient_times_input, integrated_gradients, occlusion

captum = pytest.importorskip("captum.attr", reason="`make test` installs captum")

ROW = {"x": torch.randn(1, 6, generator=torch.Generator().manual_seed(1))}
NOTHING = {"x": torch.randn(1, 6, generator=torch.Generator().manual_seed(2))}


@pytest.fixture
def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 8), nn.GELU(), nn.Linear(8, 1))


def score(net: nn.Module, row: Row) -> Tensor:
    scores: Tensor = net(row["x"])[:, 0]
    return scores


def test_integrated_gradients_are_the_same(net: nn.Module) -> None:
    ours = integrated_gradients(lambda row: score(net, row), ROW, NOTHING).values["x"]
    theirs = captum.IntegratedGradients(net).attribute(
        ROW["x"], NOTHING["x"], target=0, n_steps=64, method="gausslegendre"
    )
    assert torch.allclose(ours, theirs.float(), atol=1e-5)


def test_gradient_times_input_is_the_same(net: nn.Module) -> None:
    ours = gradient_times_input(lambda row: score(net, row), ROW, {"x": torch.zeros(1, 6)}).values["x"]
    theirs = captum.InputXGradient(net).attribute(ROW["x"].clone().requires_grad_(), target=0)
    assert torch.allclose(ours, theirs.detach(), atol=1e-6)


def test_occlusion_is_the_same(net: nn.Module) -> None:
    ours = occlusion(lambda row: score(net, row), ROW, NOTHING)
    theirs = captum.FeatureAblation(net).attribute(ROW["x"], NOTHING["x"], target=0)
    assert torch.allclose(ours, theirs[0], atol=1e-6)
