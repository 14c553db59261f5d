"""The method by its definition: slow, explicit, float64, with the constant feature built."""

from __future__ import annotations

import numpy as np


def explicit_layer(X, targets, noise, *, shrinkage=0.0, ridge=0.0, weights=None):
    """E[Q] and E[R] entry by entry, with the constant feature; returns (coef, intercept)."""
    X = np.asarray(X, dtype=np.float64)
    n, d = X.shape
    weights = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    augmented = np.hstack([X, np.ones((n, 1))])
    survive = np.append(np.full(d, 1 - noise), 1.0)
    S = (augmented * weights[:, None]).T @ augmented
    Q = np.empty((d + 1, d + 1))
    R = np.empty((len(targets), d + 1))
    for a in range(d + 1):
        for b in range(d + 1):
            Q[a, b] = S[a, b] * survive[a] * (survive[b] if a != b else 1.0)
        for row, target in enumerate(targets):
            R[row, a] = S[target, a] * survive[a]
    mean_square = np.trace(S[:d, :d]) / weights.sum()
    penalty = (1 - noise) * noise * shrinkage * mean_square + ridge
    Q[np.arange(d), np.arange(d)] += penalty
    W = np.linalg.solve(Q, R.T)
    return W[:d], W[d]


def sampled_layer(X, targets, noise, copies, rng):
    """Ordinary least squares on really corrupted copies; returns (coef, intercept)."""
    X = np.asarray(X, dtype=np.float64)
    corrupted = np.vstack([X * (rng.random(X.shape) >= noise) for _ in range(copies)])
    clean = np.vstack([X[:, targets]] * copies)
    design = np.hstack([corrupted, np.ones((len(corrupted), 1))])
    W = np.linalg.lstsq(design, clean, rcond=None)[0]
    return W[:-1], W[-1]


def sampled_loss(X, targets, noise, coef, intercept, copies, rng):
    """Equation (1) of the paper on really corrupted copies."""
    total = 0.0
    for _ in range(copies):
        corrupted = X * (rng.random(X.shape) >= noise)
        total += ((X[:, targets] - corrupted @ coef - intercept) ** 2).sum()
    return total / (2 * len(X) * copies)


def counts(rng, n, d, rate=0.6):
    """Documents with every term in at least one of them."""
    X = rng.poisson(rate, (n, d)).astype(np.float64)
    X[rng.integers(0, n, d), np.arange(d)] += 1
    return X
