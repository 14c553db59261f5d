"""Select documents to label next: uncertain, and informative about other uncertain ones.

The ridge classifier is also a Gaussian process, so the effect of a label is known beforehand:
labelling document i reduces the variance of document j by C_ij² / (C_ii + α), where C is the
covariance given the labels so far. The value of a document is the sum of these reductions over a
sample of documents, weighted by their uncertainty, times its own uncertainty. C is updated after
each selected document, so that the next one is different. Before there are labels (``first_rows``),
all documents are equally uncertain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from dcot.classifier.fit import FittedClassifier
from dcot.core.centred import Matrix
from dcot.core.fit import FittedDCoT
from dcot.core.representation import products
from dcot.embedding.vectors import Documents
from dcot.errors import InvalidInputError

Array = NDArray[Any]

# Number of candidates: each suggestion needs n² memory and time.
POOL_DOCUMENTS = 2000
# Share of a document's variance that counts as noise. If it is much smaller, outliers win.
NOISE_SHARE = 0.3


def suggest_rows(documents: Documents, fitted: FittedClassifier, k: int, generator: Any) -> Array:
    """Rows of k documents to label next, the most informative first.

    Documents without known terms come last, because their labels say nothing about others.
    """
    if fitted.labelled_rows is None:
        raise InvalidInputError(
            "a loaded classifier does not hold its labelled documents, and what is worth "
            "labelling depends on them: call refit(documents, y) with them first"
        )
    known = np.flatnonzero(documents.known)
    taken = min(k, len(known))
    rest = np.setdiff1d(np.arange(len(documents)), known)[: k - taken]
    if not taken:
        return rest
    doubt = uncertainty(fitted.decisions(documents[known]), fitted.exclusive)
    pool = candidates(doubt, generator, at_least=taken)
    new, labelled = fitted.features(documents[known[pool]]), fitted.features(fitted.labelled_rows)
    chosen = most_informative(new, labelled, doubt[pool], fitted.alpha, taken)
    return np.concatenate([known[pool[chosen]], rest])


def first_rows(X: Matrix, fitted: FittedDCoT, k: int, generator: Any) -> Array:
    """Rows of k documents to label first; in a large corpus, from a random sample.

    Documents without known terms come last, because their labels say nothing about others.
    """
    known = np.flatnonzero(Documents(X).known)
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


def uncertainty(decisions: Array, exclusive: bool) -> Array:
    """Uncertainty of decisions, from 0 to 1, large if the best two classes are close.

    The scale is the median margin of the documents, so that neither the number of classes nor the
    regularisation of the classifier matters.

    >>> uncertainty(np.array([[1.0, 1.0], [1.0, -1.0], [1.0, -1.0]]), True).round(2).tolist()
    [1.0, 0.37, 0.37]
    """
    if exclusive:
        two = np.partition(decisions, -2, axis=1)[:, -2:]
        margin = two[:, 1] - two[:, 0]
    else:
        margin = np.abs(decisions).min(axis=1)
    scale = float(np.median(margin))
    return np.asarray(np.exp(-margin / scale)) if scale > 0 else np.ones(len(margin))


def candidates(doubt: Array, generator: Any, at_least: int = 1) -> Array:
    """Positions of about ``POOL_DOCUMENTS`` documents: half most uncertain, half random."""
    n, half = len(doubt), max(POOL_DOCUMENTS // 2, at_least)
    if n <= 2 * half:
        return np.arange(n)
    order = np.argsort(-doubt, kind="stable")
    first, rest = order[:half], order[half:]
    return np.sort(np.concatenate([first, generator.choice(rest, half, replace=False)]))


def most_informative(
    pool: Sequence[Matrix], labelled: Sequence[Matrix], doubt: Array, alpha: float, k: int
) -> Array:
    """Positions of k rows of ``pool``, the most informative first.

    Parameters
    ----------
    pool, labelled : features of the candidates and of the labelled documents, in blocks of columns
    doubt : ``uncertainty`` of the candidates
    alpha : regularisation of the ridge
    """
    prior = products(pool, pool).astype(np.float64)
    covariance = _conditioned(prior, pool, labelled, alpha)
    lengths = np.sqrt(np.maximum(prior.diagonal(), 0.0))
    chosen: list[int] = []
    free = np.ones(len(prior), dtype=bool)
    new = free.copy()  # copies of selected documents come last
    for _ in range(k):
        variance = np.maximum(covariance.diagonal(), 0.0)
        worth = doubt * (doubt @ covariance**2) / (variance + alpha)
        best = int(np.where(free, worth * new, -np.inf).argmax())
        chosen.append(best)
        free[best] = False
        new &= prior[best] < (1 - 1e-6) * lengths * lengths[best]
        learned = covariance[best] / np.sqrt(variance[best] + alpha)
        covariance -= np.outer(learned, learned)
    return np.array(chosen, dtype=np.intp)


def _conditioned(
    prior: Array, pool: Sequence[Matrix], labelled: Sequence[Matrix], alpha: float
) -> Array:
    """Covariance of the candidates given the labels so far."""
    if not labelled[0].shape[0]:  # nothing to solve, which LAPACK may refuse
        return prior
    cross = products(labelled, pool).astype(np.float64)
    known = products(labelled, labelled).astype(np.float64)
    np.einsum("ii->i", known)[:] += alpha
    factor = scipy.linalg.cholesky(known, lower=True, check_finite=False)
    seen = scipy.linalg.solve_triangular(factor, cross, lower=True, check_finite=False)
    return np.asarray(prior - seen.T @ seen)
