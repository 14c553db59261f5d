"""A linear ridge classifier in the span of its labelled documents, with its strength chosen by
closed-form leave-one-out: milliseconds for a thousand labels, and no label is held back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# Strengths to choose from, in units of the mean of the centred kernel's diagonal.
STRENGTHS = np.logspace(-3, 2, 16)


@dataclass(frozen=True)
class KernelRidge:
    """One-against-rest least squares on ±1 targets, by inner products alone.

    Attributes
    ----------
    classes : the labels, sorted
    dual : documents × classes; decisions are ``kernel @ dual + intercept``
    intercept : by class
    strength : the chosen one, in units of the mean of the centred kernel's diagonal
    error : mean squared leave-one-out error at that strength
    """

    classes: Array
    dual: Array
    intercept: Array
    strength: float
    error: float

    @classmethod
    def fit(cls, kernel: Array, labels: Array, strengths: Array = STRENGTHS) -> KernelRidge:
        """Learn from the inner products of the labelled documents with one another."""
        classes, codes = np.unique(labels, return_inverse=True)
        Y = np.where(codes[:, None] == np.arange(len(classes)), 1.0, -1.0)
        means, total = kernel.mean(axis=0, dtype=np.float64), float(kernel.mean())
        centred = kernel.astype(np.float64) - means - means[:, None] + total
        values, vectors = np.linalg.eigh(centred)
        values = np.where(values > values[-1] * 1e-12, values, 0.0)
        centre = Y.mean(axis=0)
        rotated = vectors.T @ (Y - centre)
        unit = float(values.mean()) or 1.0  # zero: the documents are all alike
        errors = [_leave_one_out(values, vectors, rotated, s * unit) for s in strengths]
        best = int(np.argmin(errors))
        dual = vectors @ (rotated / (values + strengths[best] * unit)[:, None])
        # decisions for the raw kernel: k_c = k − mean_k − means + total, and dual sums to zero
        dual -= dual.mean(axis=0)
        intercept = centre - means @ dual
        return cls(classes, dual, intercept, float(strengths[best]), errors[best])

    def decision(self, kernel: Array) -> Array:
        """Decision values; ``kernel`` has a row per document and a column per labelled one."""
        return np.asarray(kernel @ self.dual + self.intercept)

    def predict(self, kernel: Array) -> Array:
        return np.asarray(self.classes[self.decision(kernel).argmax(axis=1)])


def _leave_one_out(values: Array, vectors: Array, rotated: Array, strength: float) -> float:
    """Mean squared error of predicting each document by a model that never saw it."""
    shrunk = strength / (values + strength)
    residual = vectors @ (shrunk[:, None] * rotated)
    # 1 − leverage; the intercept costs every document 1/n of itself
    slack = (vectors**2) @ shrunk - 1 / len(values)
    return float(np.mean((residual / np.maximum(slack, 1e-12)[:, None]) ** 2))
