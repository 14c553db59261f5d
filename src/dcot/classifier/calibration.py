"""Convert decisions to probabilities, by a temperature that is fitted to held-out decisions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, log_expit, log_softmax, softmax

Array = NDArray[Any]

# Typical for least squares on ±1 targets; used if there are too few labels to estimate it.
DEFAULT_TEMPERATURE = 3.0
MIN_CALIBRATION_LABELS = 20


def probabilities(decisions: Array, temperature: float, exclusive: bool) -> Array:
    """Probabilities that sum to one if classes are exclusive, else one for each class."""
    scaled = temperature * decisions
    return np.asarray(softmax(scaled, axis=1) if exclusive else expit(2 * scaled))


def calibrate(
    held_out: Array, targets: Array, weights: Array, exclusive: bool
) -> tuple[float, bool]:
    """The temperature of maximum likelihood, and whether there were enough labels for it."""
    if len(targets) < MIN_CALIBRATION_LABELS:
        return DEFAULT_TEMPERATURE, False
    share = weights / weights.sum()
    of_label = ((targets + 1) / 2 * held_out).sum(axis=1)

    def slope(log_temperature: float) -> float:
        """Derivative of the loss by the temperature, in which the loss is convex."""
        scaled = np.exp(log_temperature) * held_out
        if exclusive:
            return float(share @ ((softmax(scaled, axis=1) * held_out).sum(axis=1) - of_label))
        right = targets * held_out
        return -float(share @ (right * expit(-2 * scaled * targets)).mean(axis=1))

    # find a zero of the derivative: near the minimum the loss is flat, and rounding would decide
    low, high = np.log(0.05), np.log(200.0)
    if slope(low) >= 0:
        return float(np.exp(low)), True
    if slope(high) <= 0:
        return float(np.exp(high)), True
    return float(np.exp(brentq(slope, low, high, xtol=1e-12))), True


def log_losses(held_out: Array, targets: Array, weights: Array, exclusive: bool) -> Array:
    """Negative log-likelihood of each document's labels, at the temperature of ``calibrate``."""
    temperature, _ = calibrate(held_out, targets, weights, exclusive)
    if exclusive:
        scores = log_softmax(temperature * held_out, axis=1)
        return -np.asarray(((targets + 1) / 2 * scores).sum(axis=1))
    return -np.asarray(log_expit(2 * temperature * held_out * targets).mean(axis=1))
