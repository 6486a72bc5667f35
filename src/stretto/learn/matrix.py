"""What many decisions saw, as sparse matrices; and the scores that weights give them.

Shape letters: B decisions, A alternatives, D = B·A of them in all (decision by decision), F features, C features that
occur, K columns of weights: one for each alternative, and one more for facts about alternatives.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from stretto.components.policy import SoftmaxPolicy
from stretto.components.policy_features import Features
from stretto.learn.objective import Floats, Ints
from stretto.types.json import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Features of decisions, and of the alternatives that each was made among.

    With weights W the score of alternative a in decision b is features_b · W_a + about_ba · W_K: the columns of the
    alternatives are learnt for each anew, the last is shared by all.
    """

    features_BF: sparse.csr_array
    about_DF: sparse.csr_array | None = None
    """None for a policy that reads no facts about alternatives."""

    @property
    def columns(self) -> Ints:
        """Features that occur, rising."""
        parts = (self.features_BF,) if self.about_DF is None else (self.features_BF, self.about_DF)
        return np.unique(np.concatenate([part.indices for part in parts])).astype(np.int64)

    def compact(self) -> tuple[Ints, "Seen"]:
        """The features that occur, and the matrices of them alone: a few thousand of tens of thousands."""
        columns_C = self.columns
        about_DC = None if self.about_DF is None else _only(self.about_DF, columns_C)
        return columns_C, Seen(features_BF=_only(self.features_BF, columns_C), about_DF=about_DC)

    def part(self, batch: Ints) -> "Seen":
        """Some of the decisions, in this order."""
        if self.about_DF is None:
            return Seen(features_BF=self.features_BF[batch])
        alternatives = self.about_DF.shape[0] // self.features_BF.shape[0]
        rows_D = (batch[:, None] * alternatives + np.arange(alternatives)).ravel()
        return Seen(features_BF=self.features_BF[batch], about_DF=self.about_DF[rows_D])

    def scores(self, weights_FK: Floats) -> Floats:
        """B by A: what the weights alone give, before prior and temperature."""
        scores_BK: Floats = self.features_BF @ weights_FK
        if self.about_DF is None:
            return scores_BK
        shared_D: Floats = self.about_DF @ weights_FK[:, -1]
        own_BA = scores_BK[:, :-1]
        summed_BA: Floats = own_BA + shared_D.reshape(own_BA.shape)  # of no decisions too
        return summed_BA

    def gradient(self, grad_BA: Floats) -> Floats:
        """F by K: of the weights, given that of the scores; the adjoint of `scores`."""
        grad_FA: Floats = self.features_BF.T @ grad_BA
        if self.about_DF is None:
            return grad_FA
        return np.column_stack((grad_FA, self.about_DF.T @ grad_BA.ravel()))


def seen(policy: SoftmaxPolicy, inputs: Iterable[JsonObject]) -> Seen:
    """What a policy sees of its requests' inputs."""
    asked = list(inputs)
    buckets, scale = policy.spec.features.buckets, policy.spec.features.about_scale
    features_BF = _matrix([policy.features(data) for data in asked], buckets)
    if not scale:
        return Seen(features_BF=features_BF)
    known = [facts for data in asked for facts in policy.about(data)]
    return Seen(
        features_BF=features_BF,
        about_DF=_matrix([(list(facts), [scale] * len(facts)) for facts in known], buckets),
    )


def _matrix(rows: list[Features], buckets: int) -> sparse.csr_array:
    ends = np.cumsum([0, *(len(indices) for indices, _ in rows)], dtype=np.int32)
    indices = np.array([index for indices, _ in rows for index in indices], np.int32)
    values = np.array([value for _, values in rows for value in values], np.float64)
    return sparse.csr_array((values, indices, ends), shape=(len(rows), buckets))


def _only(matrix: sparse.csr_array, columns_C: Ints) -> sparse.csr_array:
    indices = np.searchsorted(columns_C, matrix.indices).astype(np.int32)
    return sparse.csr_array((matrix.data, indices, matrix.indptr), shape=(matrix.shape[0], len(columns_C)))
