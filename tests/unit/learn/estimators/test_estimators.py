"""Each function by itself: hand-worked figures, what is never chosen, and what is refused."""

import pytest
import torch
from torch import Tensor, tensor
from torch.autograd import grad

from stretto.learn.estimators import (
    best_coefficient,
    chosen_logprob,
    control_by_relaxing,
    control_by_trying,
    expected,
    gumbel_given,
    gumbel_noise,
    gumbel_softmax,
    leave_one_out,
    rao_blackwell,
    relaxed,
    score,
    straight_through,
)
from stretto.types.errors import UsageError

THIRDS = torch.full((2, 3), 1 / 3, dtype=torch.float64)

NEVER = tensor([[0.25, 0.75, 0.0]], dtype=torch.float64).log()
"""Log-probabilities of which the last is -inf."""


def uniform(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_score_weighs_the_log_probability_by_what_is_above_the_baseline() -> None:
    logprob = tensor([-1.0, -2.0], requires_grad=True)
    reward, baseline = tensor([3.0, 1.0], requires_grad=True), tensor([1.0, 1.5], requires_grad=True)
    objective = score(logprob, reward, baseline)
    assert objective.tolist() == [-2.0, 1.0]
    by_logprob, by_reward, by_baseline = grad(objective.sum(), (logprob, reward, baseline), allow_unused=True)
    assert by_logprob.tolist() == [2.0, -0.5]
    assert by_reward is by_baseline is None


def test_leave_one_out_is_the_mean_of_the_others() -> None:
    assert leave_one_out(tensor([[1.0, 2.0, 6.0]])).tolist() == [[4.0, 3.5, 1.5]]


def test_expected_counts_the_gradient_of_the_rewards_too() -> None:
    probs = tensor([[0.25, 0.75]], requires_grad=True)
    reward = tensor([[4.0, 8.0]], requires_grad=True)
    objective = expected(probs, reward)
    assert objective.tolist() == [7.0]
    by_probs, by_reward = grad(objective.sum(), (probs, reward))
    assert by_probs.tolist() == [[4.0, 8.0]]
    assert by_reward.tolist() == [[0.25, 0.75]]


def test_expected_leaves_out_what_cannot_be_chosen_whatever_its_reward() -> None:
    assert expected(NEVER.exp(), tensor([[4.0, 8.0, torch.nan]], dtype=torch.float64)).tolist() == [7.0]


@pytest.mark.parametrize("chosen", [0, 2])
def test_straight_through_is_one_hot_to_the_bit_and_has_the_gradient_of_the_probabilities(chosen: int) -> None:
    probs = THIRDS[:1].clone().requires_grad_()
    hard = straight_through(probs, tensor([chosen]))
    assert hard.tolist() == [[float(each == chosen) for each in range(3)]]
    (by_probs,) = grad((hard * tensor([[1.0, 2.0, 3.0]])).sum(), probs)
    assert by_probs.tolist() == [[1.0, 2.0, 3.0]]


def test_given_what_was_chosen_the_noise_chooses_it_again() -> None:
    logprobs = torch.randn(1_000, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64).log_softmax(1)
    chosen = torch.multinomial(logprobs.exp(), 1, generator=torch.Generator().manual_seed(2))[:, 0]
    assert gumbel_given(logprobs, chosen, uniform(1_000, 5)).argmax(1).tolist() == chosen.tolist()


def test_noise_drawn_after_the_choice_is_distributed_as_noise_that_chose() -> None:
    logprobs = tensor([[0.6, 0.3, 0.1]], dtype=torch.float64).log().expand(200_000, 3)
    before = logprobs + gumbel_noise(uniform(200_000, 3, seed=1))
    after = gumbel_given(logprobs, before.argmax(1), uniform(200_000, 3, seed=2))
    levels = tensor([0.01, 0.1, 0.5, 0.9, 0.99], dtype=torch.float64)
    assert torch.allclose(before.quantile(levels, 0), after.quantile(levels, 0), atol=0.05)


def test_what_is_never_chosen_stays_so_and_has_no_gradient() -> None:
    logprobs = NEVER.expand(64, 3).clone().requires_grad_()
    choice = relaxed(logprobs, uniform(64, 3, seed=1), uniform(64, 3, seed=2), 0.5)
    assert 2 not in choice.chosen_B.tolist()
    assert choice.before_BA[:, 2].tolist() == choice.after_BA[:, 2].tolist() == [0.0] * 64
    averaged = rao_blackwell(logprobs, choice.chosen_B, uniform(4, 64, 3), 0.5)
    assert averaged[:, 2].tolist() == [0.0] * 64
    soft = gumbel_softmax(logprobs, gumbel_noise(uniform(64, 3)), 0.5)
    weights = tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    control = control_by_relaxing(choice, lambda each: (each * weights).sum(1))
    (by_logprobs,) = grad((control + ((averaged + soft) * weights).sum(1)).sum(), logprobs)
    assert by_logprobs[:, 2].tolist() == [0.0] * 64
    assert bool(by_logprobs.isfinite().all())


def test_a_control_by_trying_takes_nothing_off_the_mean() -> None:
    logprobs = NEVER.clone().requires_grad_()
    foretold = tensor([[4.0, -8.0, torch.nan]], dtype=torch.float64)
    total = sum(
        float(probability) * grad(control_by_trying(logprobs, tensor([chosen]), foretold).sum(), logprobs)[0][:, :2]
        for chosen, probability in enumerate(NEVER[0, :2].exp())
    )
    assert isinstance(total, Tensor)
    assert torch.allclose(total, torch.zeros(1, 2, dtype=torch.float64))


def test_a_draw_of_nothing_has_finite_noise() -> None:
    assert bool(gumbel_noise(torch.zeros(1, 2)).isfinite().all())
    assert bool(gumbel_noise(torch.full((1, 2), 1.0 - 2**-24)).isfinite().all())


def test_a_soft_choice_adds_up_to_one() -> None:
    soft = gumbel_softmax(THIRDS.log(), gumbel_noise(uniform(2, 3)), 0.5, hard=False)
    assert torch.allclose(soft.sum(1), torch.ones(2, dtype=torch.float64))


def test_the_best_coefficient_is_that_of_a_regression() -> None:
    control = tensor([[1.0, 0.0], [-1.0, 2.0], [0.0, -2.0]])
    assert best_coefficient(3 * control + 5, control) == pytest.approx(3.0)
    assert best_coefficient(control, torch.ones(3, 2)) == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: score(torch.zeros(2), torch.zeros(3)), r"score was given reward_B of shape \[3\] where \[2\]"),
        (lambda: expected(THIRDS, torch.zeros(2, 4)), r"expected was given reward_BA of shape \[2, 4\] where \[2, 3\]"),
        (lambda: expected(torch.zeros(3), torch.zeros(3)), r"probs_BA of shape \[3\] and type torch.float32; expected"),
        (
            lambda: straight_through(THIRDS.long(), tensor([0, 1])),
            "type torch.int64; expected floats of two dimensions",
        ),
        (lambda: straight_through(THIRDS, tensor([0])), r"chosen_B of shape \[1\] where \[2\]"),
        (lambda: chosen_logprob(THIRDS, tensor([0])), r"chosen_B of shape \[1\] where \[2\]"),
        (lambda: leave_one_out(torch.zeros(4, 1)), "draw at least 2"),
        (lambda: gumbel_given(THIRDS, tensor([0, 1]), uniform(2, 4)), r"uniform_BA of shape \[2, 4\] where \[2, 3\]"),
        (lambda: gumbel_softmax(THIRDS, uniform(2, 3), 0.0), "temperature 0.0; expected a number above 0"),
        (lambda: gumbel_softmax(THIRDS, uniform(2, 3), float("nan")), "temperature nan"),
        (lambda: rao_blackwell(THIRDS, tensor([0, 1]), uniform(2, 3), 0.5), r"uniform_KBA of shape \[2, 3\]; expected"),
        (lambda: rao_blackwell(THIRDS, tensor([0, 1]), uniform(0, 2, 3), 0.5), "of at least one draw"),
        (lambda: relaxed(THIRDS, uniform(2, 3), uniform(1, 3), 0.5), r"again_BA of shape \[1, 3\] where \[2, 3\]"),
        (lambda: control_by_trying(THIRDS, tensor([0, 1]), uniform(3, 2)), r"foretold_BA of shape \[3, 2\]"),
        (lambda: best_coefficient(THIRDS, uniform(3, 2)), r"control_NP of shape \[3, 2\] where \[2, 3\]"),
    ],
)
def test_what_does_not_fit_is_refused_and_both_are_named(call: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()  # type: ignore[operator]  # each is a lambda
