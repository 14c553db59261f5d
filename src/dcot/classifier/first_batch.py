"""Which documents to label first, before there is any label.

The same criterion as for later ones (``suggestion``): a document is worth what its label would say
about the others. Without labels nothing is known of any document, and every one is as uncertain
as the next.
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

# How much of a document's own variance counts as noise. Much less, and outliers are worth most.
NOISE_SHARE = 0.3


def first_rows(X: Matrix, fitted: FittedDCoT, k: int, generator: Any) -> Array:
    """Rows of k documents to label first; of many, a random sample is considered.

    Documents without a known term come last: their labels say nothing about others.
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
    """Positions of k rows of ``pool`` that are spread out over all of them, the best first.

    Parameters
    ----------
    pool : features of the candidates, in parts side by side
    k : how many
    """
    n = pool[0].shape[0]
    squares = sum(float((part * part).sum()) for part in pool)
    alpha = NOISE_SHARE * squares / n or 1.0
    nothing = [np.zeros((1, part.shape[1]), dtype=part.dtype) for part in pool]  # teaches nothing
    return most_informative(pool, nothing, np.ones(n), alpha, k)
