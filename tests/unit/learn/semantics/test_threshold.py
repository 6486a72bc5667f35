"""Calibration and threshold: hand-worked arrays, and what must hold whatever the scores."""

import numpy as np
from hypothesis import given, strategies as st

from stretto.components.aligner.confidence import best_values, confidence, evidence
from stretto.components.aligner.meta import EVIDENCE
from stretto.learn.semantics.threshold import LEAST_SURE, calibrate, choose_threshold


def test_evidence_of_a_hand_worked_text() -> None:
    letters, words = np.array([[1.0, 0.0, -1.0]]), np.array([[2.0, 0.5, 0.0]])
    found = evidence(letters, words, np.array([-1.0, -1.0, -1.0]))[0]
    scores = np.array([2.0, -0.5, -2.0])
    shares = [np.log(np.exp(s * scores[0]) / np.exp(s * scores).sum()) for s in (1.0, 2.0)]
    assert np.allclose(found, [*shares, 2.0, 2.5, 4.0, 1.0, 1.0, 2.0, 1.5])


def test_none_of_them_is_never_the_best_value_and_may_lead() -> None:
    scores = np.array([[0.0, -1.0, 3.0]])
    assert best_values(scores).tolist() == [0]
    assert evidence(scores, np.zeros((1, 3)), np.zeros(3))[0, 3] == -3.0


def test_confidence_is_a_logistic_function() -> None:
    found = confidence(np.zeros((1, EVIDENCE)), (0.0,) * EVIDENCE + (np.log(3.0),))
    assert np.allclose(found, [0.75])


def test_the_threshold_takes_in_as_much_as_the_error_allows() -> None:
    sure, right = np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, True, True, False])
    assert choose_threshold(sure, right) == 0.7
    assert choose_threshold(sure, right, most_wrong=0.5) == 0.6


def test_ties_stand_together() -> None:
    sure, right = np.array([0.9, 0.8, 0.8, 0.7]), np.array([True, True, False, True])
    assert choose_threshold(sure, right) == 0.9


def test_nothing_is_aligned_where_the_surest_is_wrong() -> None:
    assert choose_threshold(np.array([0.9, 0.8]), np.array([False, True])) == 1.0


def test_an_answer_is_never_likelier_wrong_than_right() -> None:
    assert choose_threshold(np.array([0.9, 0.2]), np.array([True, True])) == LEAST_SURE


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60), st.floats(0, 0.5))
def test_no_more_are_wrong_above_the_threshold_than_asked(pairs: list[tuple[float, bool]], most: float) -> None:
    sure, right = np.array([s for s, _ in pairs]), np.array([r for _, r in pairs])
    threshold = choose_threshold(sure, right, most)
    aligned = (sure >= threshold) & (sure < 1.0)
    sure_floor = np.floor(sure * 1e4) / 1e4 >= threshold
    if aligned.any() and (aligned == (sure_floor & (sure < 1.0))).all() and threshold < 1.0:
        assert (~right[sure >= threshold]).mean() <= most + 1e-9 or threshold == LEAST_SURE


def test_a_hundred_times_right_still_leaves_a_doubt() -> None:
    evidence_BE = np.random.default_rng(0).normal(size=(100, EVIDENCE))
    sure = confidence(evidence_BE, calibrate(evidence_BE, np.ones(100, bool)))
    assert 0.9 < sure.mean() < 1.0
