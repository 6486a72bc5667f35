"""How much of a control is taken off, and what is told of it."""

import pytest
import torch
from torch import Tensor

from stretto.learn.estimators import chosen_logprob, control_by_trying, score
from stretto.learn.surrogates.calibration import Calibration
from stretto.learn.surrogates.control import LEAST_ROWS, Coefficient, control_by_logits, score_by_logits
from stretto.learn.surrogates.window import Window


def drawn(rows: int, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, choices among three, and a figure for each alternative."""
    source = torch.Generator().manual_seed(seed)
    logits, figures = (torch.randn(rows, 3, generator=source, dtype=torch.float64) for _ in range(2))
    return logits, torch.multinomial(logits.softmax(1), 1, generator=source)[:, 0], figures


def test_gradients_by_the_logits_are_those_that_autograd_finds() -> None:
    logits_NA, chosen_N, foretold_NA = drawn(50)
    reward_N = foretold_NA[:, 0]
    logits_NA.requires_grad_()
    log_p_NA = logits_NA.log_softmax(1)
    for objective_N, found_NA in (
        (score(chosen_logprob(log_p_NA, chosen_N), reward_N), score_by_logits(log_p_NA, chosen_N, reward_N)),
        (control_by_trying(log_p_NA, chosen_N, foretold_NA), control_by_logits(log_p_NA, chosen_N, foretold_NA)),
    ):
        (exact_NA,) = torch.autograd.grad(objective_N.sum(), logits_NA, retain_graph=True)
        assert torch.allclose(found_NA, exact_NA)


def test_too_few_rows_speak_for_nothing() -> None:
    coefficient = Coefficient(3)
    plain_NA = torch.randn(LEAST_ROWS, 3, dtype=torch.float64)
    coefficient.note(plain_NA[1:], plain_NA[1:])
    assert (coefficient.value, coefficient.variance_ratio) == (0.0, None)
    coefficient.note(plain_NA[:1], plain_NA[:1])
    assert coefficient.value == pytest.approx(1.0)


def test_what_it_does_is_judged_by_rows_that_it_was_not_fitted_on() -> None:
    coefficient = Coefficient(3)
    plain_NA = torch.randn(64, 3, dtype=torch.float64)
    coefficient.note(plain_NA, 2 * plain_NA)
    assert coefficient.variance_ratio is None
    coefficient.note(plain_NA, -2 * plain_NA)  # with 0.5 taken off, this one doubles what is there
    assert coefficient.variance_ratio == pytest.approx(4.0)


def test_the_evidence_of_recorded_runs_gives_way_to_the_first_batch() -> None:
    coefficient = Coefficient(3)
    plain_NA = torch.randn(500, 3, dtype=torch.float64)
    coefficient.note(plain_NA, plain_NA, of_runs=True)
    assert coefficient.value == pytest.approx(1.0)
    coefficient.note(plain_NA[:64], -plain_NA[:64])
    assert coefficient.value == pytest.approx(-1.0)
    coefficient.note(plain_NA[:64], plain_NA[:64])
    assert -1.0 < coefficient.value < 1.0


def test_calibration_tells_what_was_foretold_and_how_much_too_much() -> None:
    calibration, told_N = Calibration(), torch.randn(200, dtype=torch.float64)
    assert (calibration.r_squared, calibration.bias) == (None, None)
    calibration.note(told_N + 0.5, told_N)
    assert calibration.bias == pytest.approx(0.5)
    assert calibration.r_squared == pytest.approx(1.0 - 0.25 / float(told_N.var(correction=0)))


def test_a_window_drops_the_oldest_rows_and_holds_fewer_of_wide_ones() -> None:
    window = Window(2, most=3)
    window.add(torch.arange(8).view(4, 2))
    assert window.rows.tolist() == [[2, 3], [4, 5], [6, 7]]
    assert Window(4096).most == 1024
