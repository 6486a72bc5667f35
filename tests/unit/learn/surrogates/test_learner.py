"""A network that learns as rows come, and goes on from its state to the last bit."""

import torch
from torch import Tensor

from stretto.learn.surrogates.learner import LEAST_ROWS, Learner
from stretto.learn.surrogates.network import Fitter, Network


def rows(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Features far from 0, and a curve of them."""
    source = torch.Generator().manual_seed(seed)
    features_NF = 50 + 10 * torch.randn(count, 3, generator=source, dtype=torch.float64)
    return features_NF, 1000 + torch.sin(features_NF[:, :1] / 10) * features_NF[:, 1:2]


def test_it_foretells_what_it_learnt_whatever_the_units() -> None:
    learner = Learner(3, 1)
    for seed in range(40):
        features_NF, told_N1 = rows(100, seed)
        learner.add(features_NF, told_N1, torch.ones_like(told_N1))
        learner.learn()
    features_NF, told_N1 = rows(200, 99)
    apart_N1 = learner.answer(features_NF) - told_N1
    assert float((apart_N1**2).mean()) < 0.1 * float(told_N1.var())
    assert (learner.rows, learner.updates, learner.behind) == (4000, 40, 0)


def test_it_waits_for_rows_that_have_a_spread() -> None:
    learner = Learner(3, 1)
    features_NF, told_N1 = rows(LEAST_ROWS - 1, 0)
    learner.add(features_NF, told_N1, torch.ones_like(told_N1))
    learner.learn()
    assert (learner.rows, learner.updates, learner.behind) == (0, 0, LEAST_ROWS - 1)
    assert not learner.answer(features_NF).any()


def test_a_row_that_is_no_number_teaches_nothing() -> None:
    learner = Learner(3, 1)
    features_NF, told_N1 = rows(64, 0)
    told_N1[3], features_NF[5, 1] = torch.inf, torch.nan
    learner.add(features_NF, told_N1, torch.ones_like(told_N1))
    learner.learn()
    assert learner.rows == 62
    assert learner.answer(rows(8, 1)[0]).isfinite().all()


def test_only_the_outputs_that_were_told_are_learnt() -> None:
    learner = Learner(1, 2)
    features_NF = torch.randn(64, 1, dtype=torch.float64)
    told_NK = torch.tensor([[5.0, 0.0]], dtype=torch.float64).expand(64, 2)
    learner.add(features_NF, told_NK, torch.tensor([[1.0, 0.0]], dtype=torch.float64).expand(64, 2))
    learner.learn(passes=100)
    assert torch.allclose(learner.answer(features_NF), torch.tensor(5.0, dtype=torch.float64), atol=0.1)


def test_an_optimiser_goes_on_from_its_state_to_the_last_bit() -> None:
    features_NF, told_N1 = rows(600, 1)
    is_told_N1 = torch.ones_like(told_N1)
    whole, part = Fitter(Network(3, 1)), Fitter(Network(3, 1))
    whole.fit(features_NF, told_N1, is_told_N1, 20)
    part.fit(features_NF, told_N1, is_told_N1, 12)
    resumed = Fitter(Network(3, 1))
    resumed.network.load_state_dict(part.network.state_dict())
    resumed.restore(part.state(), part.steps)
    resumed.fit(features_NF, told_N1, is_told_N1, 8)
    for one, other in zip(whole.network.parameters(), resumed.network.parameters(), strict=True):
        assert torch.equal(one, other)
