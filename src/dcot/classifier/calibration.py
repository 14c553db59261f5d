"""From decision values to probabilities, by one temperature learned from held-out decisions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, log_softmax, softmax

Array = NDArray[Any]

# Where labels are too few to learn from: what least squares on ±1 targets typically needs.
USUAL = 3.0
FEWEST = 20


def probabilities(decisions: Array, temperature: float, exclusive: bool) -> Array:
    """One class a document (they sum to one), or each class by itself."""
    scaled = temperature * decisions
    return np.asarray(softmax(scaled, axis=1) if exclusive else expit(2 * scaled))


def learn_temperature(
    held_out: Array, targets: Array, weights: Array, exclusive: bool
) -> tuple[float, bool]:
    """The temperature of greatest likelihood, and whether there were labels enough to learn it."""
    if weights.sum() < FEWEST:
        return USUAL, False
    share = weights / weights.sum()
    codes = targets.argmax(axis=1)
    rows = np.arange(len(targets))

    def loss(log_temperature: float) -> float:
        scaled = np.exp(log_temperature) * held_out
        if exclusive:
            return -float(share @ log_softmax(scaled, axis=1)[rows, codes])
        return -float(share @ log_expit(2 * scaled * targets).mean(axis=1))

    found = minimize_scalar(loss, bounds=(np.log(0.05), np.log(200.0)), method="bounded")
    return float(np.exp(found.x)), True
