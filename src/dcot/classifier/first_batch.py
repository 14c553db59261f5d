"""Which documents to label first, before there is any label.

The same criterion as for later ones (``suggestion``): a document is worth what its label would say
about the others. Without labels nothing is known of any document, and every one is as uncertain
as the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.classifier.suggestion import most_informative
from dcot.core.centred import Matrix

Array = NDArray[Any]

# How much of a document's own variance counts as noise. Much less, and outliers are worth most.
NOISE_SHARE = 0.3


def first_batch(pool: Sequence[Matrix], k: int) -> Array:
    """Positions of k rows of ``pool`` that are spread out over all of them, the best first.

    Parameters
    ----------
    pool : features of the candidates, in parts side by side
    k : how many
    """
    n = pool[0].shape[0]
    squares = sum(
        np.asarray(part.multiply(part).sum())
        if hasattr(part, "multiply")
        else np.einsum("ij,ij->", part, part)
        for part in pool
    )
    alpha = NOISE_SHARE * float(squares) / n or 1.0
    nothing = [np.zeros((1, part.shape[1]), dtype=part.dtype) for part in pool]  # teaches nothing
    return most_informative(pool, nothing, np.ones(n), alpha, k)
