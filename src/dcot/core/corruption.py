"""The linear system of a layer, from the moments of its input and the noise.

With q = 1 − noise and the constant feature eliminated, the least-squares problem of the paper
becomes, in the limit of infinitely many corruptions::

    (q·C + t·B) W = C[:, P]        b = µ_P − q·Wᵀµ

where C is the centred scatter, t = 1 − q and B = Δ + Λ, with Δ the (uncentred) sums of squares
and Λ the shrinkage. (The paper prints E[R]_αβ = S_αβ q_α; the corrupted side is the
input β, so the factor is q_β. See ARCHITECTURE.md.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.core.moments import Moments

Array = NDArray[Any]


@dataclass(frozen=True)
class System:
    """``(keep · C + shift · diag(scale)) W = C[:, P]``.

    With shift 0 (no noise) the system may be singular. Its solution is then the limit, which has
    the least ``scale``-norm. Terms whose scale is zero do not occur and get weight zero.
    """

    keep: float
    shift: float
    scale: Array
    mean: Array
    squares: Array  # Δ

    @property
    def inverse_root(self) -> Array:
        """``scale`` to the power −½, zero where the scale is zero."""
        safe = np.where(self.scale > 0, self.scale, 1.0)
        return np.where(self.scale > 0, safe**-0.5, 0.0)

    def is_regular(self, dtype: Any) -> bool:
        """Whether the shift is more than rounding: scaled, the matrix has a diagonal of about 1."""
        return self.shift > float(np.finfo(dtype).eps)

    def biases(self, coef: Array, target_mean: Array) -> tuple[Array, Array]:
        """The bias b for the coefficients W, and the mean of the uncorrupted ``Wᵀx + b``."""
        products = self.mean.astype(coef.dtype) @ coef
        return target_mean - self.keep * products, target_mean + (1 - self.keep) * products

    def output_variation(self, gain: float, norms: Array) -> float:
        """tr WᵀCW, the centred sum of squares of the outputs Wᵀx over the corpus.

        ``norms`` are the sums of squares of the rows of W. It follows from the system itself:
        WᵀCW = (WᵀC[:, P] − shift · Wᵀ diag(scale) W) / keep.
        """
        return max(gain - self.shift * float(self.scale @ norms), 0.0) / self.keep

    def loss(self, n: float, variation: float, gain: float, norms: Array) -> float:
        """The expected reconstruction error, equation (1) of the paper with m → ∞.

        ``variation`` is tr C[P, P], ``gain`` is tr WᵀC[:, P].
        """
        penalty = self.shift * self.scale - (1 - self.keep) * self.squares
        twice = variation - self.keep * (gain + float(penalty @ norms))
        return float(np.maximum(twice, 0.0)) / (2 * n)  # not max, which may lose a NaN


@dataclass
class Solution:
    """The solution of one system.

    Attributes
    ----------
    coef : W, d × r, C-contiguous
    gain : tr WᵀC[:, P], for the loss
    n_iter : iterations; 1 for a direct solver
    converged : False if an iterative solver stopped short of its tolerance
    """

    coef: Array
    gain: float
    n_iter: int = 1
    converged: bool = True

    def unless_equal(self, moments: Moments) -> Solution:
        """This solution, or zeros if all documents are equal: then it is rounding."""
        return self if moments.differ else replace(self, coef=np.zeros_like(self.coef), gain=0.0)


def marginalise(
    moments: Moments,
    noise: float,
    *,
    shrinkage: float = 0.0,
    ridge: float = 0.0,
) -> System:
    """Return the system for infinitely many corruptions at this noise.

    Parameters
    ----------
    moments : of the input
    noise : probability that a term is removed, in [0, 1)
    shrinkage : Λ in units of the mean squared length of a document
    ridge : added to the diagonal of the paper's E[Q], except for the bias
    """
    scale = moments.squares + shrinkage * moments.squares.sum() / moments.n
    keep, shift = 1.0 - noise, noise
    if ridge > 0:
        # E[Q] is q times our matrix. Without noise, only the ridge makes it regular.
        if noise > 0:
            scale = scale + ridge / (keep * shift)
        else:
            scale, shift = np.ones_like(scale), ridge
    return System(keep, shift, scale, moments.mean, moments.squares)
