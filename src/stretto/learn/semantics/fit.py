"""Fits an aligner's weights by passes of stochastic gradient descent, from nothing or from a parent's.

One logistic regression for each class against all others (scikit-learn's SGDClassifier, `partial_fit`): a correction
is one sample more, and moves the weights when it comes. Shape letters: B texts, N n-grams, C classes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
from scipy import sparse

from stretto.components.aligner.confidence import Floats, Ints
from stretto.components.aligner.grams import Grams
from stretto.components.aligner.model import Floats32, Hashes, Vocabulary
from stretto.types.errors import MissingExtraError

try:
    from sklearn.linear_model import SGDClassifier
except ImportError as error:
    raise MissingExtraError("training an aligner", "semantics") from error

Counts = Mapping[int, int]
"""A text's n-grams by hash, and how often each stands there."""

RIDGE: Final = 1e-5
"""Of the squared weights, for each sample; the best of 3e-6 to 1e-4 on folds of BANKING77's train split."""

FIRST_PASSES: Final = 10
"""Over the samples of a first training, whose steps shrink; more changed nothing on those folds."""

NEXT_PASSES: Final = 3
NEXT_STEP: Final = 0.3
"""Over all further samples. A text has length 1, so a pass moves the margin of a wholly wrong one by the step. On
BANKING77's train split this is the mildest that learns: 956 more texts lift 87.4 % to 88.4, at a step of 1 and eight
passes they take 0.4 away."""

STUBBORN_PASSES: Final = 8
STUBBORN_STEP: Final = 1.0
"""Over those that are not learnt then, and only as long as they are not: what a person has corrected must stick."""

_LEARNT_LEAD: Final = 1.0
"""Of the right class over all others."""

_SEED: Final = 0
"""Of the order in which samples are passed: the same samples always give the same weights."""


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """What a learner has come to, as an aligner keeps it."""

    weights_NC: Floats32
    intercepts_C: Floats32
    steps: int
    """Samples passed so far, each pass counted; the first training's step size falls with it."""


def vocabulary_of(grams: Grams, counts: Sequence[Counts]) -> Vocabulary:
    """Every n-gram of the texts, weighed by how rare it is: 1 + log((1 + texts) / (1 + texts that have it))."""
    every = np.concatenate([_hashes(each) for each in counts])
    hashes_N, having_N = np.unique(every, return_counts=True)
    idf_N = 1.0 + np.log((1 + len(counts)) / (1 + having_N))
    return Vocabulary(grams, hashes_N, idf_N.astype(np.float32), 1.0 + float(np.log(1 + len(counts))))


def grown(vocabulary: Vocabulary, counts: Sequence[Counts]) -> Vocabulary:
    """The vocabulary with the texts' n-grams too. A new one weighs what it did unseen: no text changes its length."""
    new = np.setdiff1d(np.concatenate([_hashes(each) for each in counts]), vocabulary.hashes_N)
    hashes = np.concatenate([vocabulary.hashes_N, new])
    idf = np.concatenate([vocabulary.idf_N, np.full(len(new), vocabulary.unseen_idf, np.float32)])
    order = np.argsort(hashes)
    return Vocabulary(vocabulary.grams, hashes[order], idf[order], vocabulary.unseen_idf)


def first_weights(
    vocabulary: Vocabulary, counts: Sequence[Counts], labels_B: Ints, classes: int, on_pass: Callable[[], None]
) -> Weights:
    """Weights from nothing, by step sizes that shrink (Bottou 2012, "Stochastic gradient descent tricks")."""
    learner = SGDClassifier(loss="log_loss", alpha=RIDGE, shuffle=False, random_state=_SEED)
    learner.classes_ = np.arange(classes)
    _pass(learner, _matrix(vocabulary, counts), labels_B, FIRST_PASSES, on_pass)
    return _weights(learner)


def corrected_weights(
    vocabulary: Vocabulary, start: Weights, counts: Sequence[Counts], labels_B: Ints, on_pass: Callable[[], None]
) -> Weights:
    """Weights moved by further samples; `start` has a row for each n-gram of the vocabulary."""
    learner = SGDClassifier(
        loss="log_loss", alpha=RIDGE, shuffle=False, random_state=_SEED, learning_rate="constant", eta0=NEXT_STEP
    )
    learner.coef_ = np.ascontiguousarray(start.weights_NC.T.astype(np.float64))
    learner.intercept_ = start.intercepts_C.astype(np.float64)
    learner.classes_ = np.arange(len(start.intercepts_C))
    learner.t_ = float(start.steps + 1)
    texts_BN = _matrix(vocabulary, counts)
    _pass(learner, texts_BN, labels_B, NEXT_PASSES, on_pass)
    learner.set_params(eta0=STUBBORN_STEP)
    for _ in range(STUBBORN_PASSES):
        unlearnt = np.flatnonzero(_leads(texts_BN @ learner.coef_.T + learner.intercept_, labels_B) < _LEARNT_LEAD)
        if len(unlearnt):
            _pass(learner, texts_BN[unlearnt], labels_B[unlearnt], 1, on_pass)
        else:
            on_pass()
    return _weights(learner)


def _pass(
    learner: Any,  # scikit-learn has no types
    texts_BN: sparse.csr_matrix,
    labels_B: Ints,
    passes: int,
    on_pass: Callable[[], None],
) -> None:
    for order in _orders(len(labels_B), passes):
        learner.partial_fit(texts_BN[order], labels_B[order], classes=learner.classes_)
        on_pass()


def _weights(learner: Any) -> Weights:  # as above
    return Weights(
        weights_NC=np.ascontiguousarray(learner.coef_.T.astype(np.float32)),
        intercepts_C=learner.intercept_.astype(np.float32),
        steps=int(learner.t_) - 1,
    )


def _leads(scores_BC: Floats, labels_B: Ints) -> Floats:
    rows_B, others_BC = np.arange(len(labels_B)), scores_BC.copy()
    others_BC[rows_B, labels_B] = -np.inf
    return np.asarray(scores_BC[rows_B, labels_B] - others_BC.max(axis=1), dtype=np.float64)


def _orders(texts: int, passes: int) -> Iterator[Ints]:
    draw = np.random.default_rng(_SEED)
    for _ in range(passes):
        yield draw.permutation(texts)


def _matrix(vocabulary: Vocabulary, counts: Sequence[Counts]) -> sparse.csr_matrix:
    """Shape B by N."""
    vectors = [vocabulary.weighed(each) for each in counts]
    starts = np.cumsum([0, *(len(rows) for rows, _ in vectors)])
    columns = np.concatenate([rows for rows, _ in vectors])
    values = np.concatenate([values for _, values in vectors])
    return sparse.csr_matrix((values, columns, starts), shape=(len(counts), len(vocabulary.hashes_N)))


def _hashes(counts: Counts) -> Hashes:
    return np.fromiter(counts, np.uint32, len(counts))
