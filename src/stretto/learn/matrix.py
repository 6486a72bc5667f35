"""Features of many decisions as one sparse matrix.

Shape letters: B decisions, F features, C features that occur.
"""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from stretto.components.policy_features import Features
from stretto.learn.objective import Ints


def feature_matrix(rows: Sequence[Features], buckets: int) -> sparse.csr_array:
    """One row for each decision, B by F."""
    ends = np.cumsum([0, *(len(indices) for indices, _ in rows)], dtype=np.int32)
    indices = np.array([index for indices, _ in rows for index in indices], np.int32)
    values = np.array([value for _, values in rows for value in values], np.float64)
    return sparse.csr_array((values, indices, ends), shape=(len(rows), buckets))


def compact(features_BF: sparse.csr_array) -> tuple[Ints, sparse.csr_array]:
    """The columns that occur, rising, and the matrix of them alone: a few thousand of tens of thousands."""
    columns_C, indices = np.unique(features_BF.indices, return_inverse=True)
    arrays = (features_BF.data, indices.astype(np.int32), features_BF.indptr)
    return columns_C.astype(np.int64), sparse.csr_array(arrays, shape=(features_BF.shape[0], len(columns_C)))
