"""Select documents to label first, before there are any labels.

The criterion is that of ``suggestion``: how much the label of a document would say about the
others. Without labels, all documents are equally uncertain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.classifier.suggestion import POOL_DOCUMENTS, most_informative
from dcot.core.centred import Matrix
from dcot.core.fit import FittedDCoT

Array = NDArray[Any]

# Share of a document's variance that counts as noise. If it is much smaller, outliers win.
NOISE_SHARE = 0.3


def first_rows(X: Matrix, fitted: FittedDCoT, k: int, generator: Any) -> Array:
    """Rows of k documents to label first; in a large corpus, from a random sample.

    Documents without known terms come last, because their labels say nothing about others.
    """
    known = np.flatnonzero(np.diff(X.indptr) if sp.issparse(X) else X.any(axis=1))
    pool = known
    if len(known) > max(POOL_DOCUMENTS, k):
        pool = np.sort(generator.choice(known, max(POOL_DOCUMENTS, k), replace=False))
    taken = min(k, len(pool))
    chosen = pool[first_batch(fitted.representation.parts(X[pool]), taken)] if taken else pool
    rest = np.setdiff1d(np.arange(X.shape[0]), known)[: k - taken]
    return np.concatenate([chosen, rest])


def first_batch(pool: Sequence[Matrix], k: int) -> Array:
    """Positions of k rows of ``pool`` that are spread over all of them, the best first.

    Parameters
    ----------
    pool : features of the candidates, in blocks of columns
    k : number of rows
    """
    n = pool[0].shape[0]
    squares = sum(float((part * part).sum()) for part in pool)
    alpha = NOISE_SHARE * squares / n or 1.0
    nothing = [np.zeros((1, part.shape[1]), dtype=part.dtype) for part in pool]  # no labels yet
    return most_informative(pool, nothing, np.ones(n), alpha, k)
