"""A symmetric matrix stored as its lower triangle, with a Cholesky factorisation in place.

The rows are stored in panels, which are ordinary arrays, so all work is BLAS on large blocks. This
is as fast as with the full matrix, takes half the memory, and does not have the limit of 2³¹
elements of LAPACK's packed formats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.runtime.progress import quiet
from dcot.runtime.resources import run_threads
from dcot.stream.sums import add_to, panels_of

Array = NDArray[Any]


class PackedScatter:
    """The lower triangle of a scatter matrix: ``panels[k]`` has the rows ``bounds[k]``.

    The upper half of the square at the end of a panel is not valid until ``prepare``.
    """

    def __init__(self, panels: Sequence[Array]) -> None:
        self.panels = list(panels)
        stops = [panel.shape[1] for panel in self.panels]
        self.bounds = list(zip([0, *stops[:-1]], stops, strict=True))

    @classmethod
    def of_parts(
        cls, totals: Sequence[Any], bounds: Sequence[tuple[int, int]], dtype: Any
    ) -> PackedScatter:
        """Build from the totals of panel sums: arrays, or lists of parts, which are emptied."""
        shapes = [(stop - start, stop) for start, stop in bounds]
        return cls([_dense(*each, dtype) for each in zip(totals, shapes, strict=True)])

    @property
    def d(self) -> int:
        return int(self.panels[-1].shape[1])

    @property
    def dtype(self) -> Any:
        return self.panels[0].dtype

    def prepare(self, mean: Array, n: float, root: Array) -> None:
        """Centre and scale to ``B^-½ C B^-½``, in place."""
        from dcot.core.kernels import centre_and_scale

        for (start, stop), panel in zip(self.bounds, self.panels, strict=True):
            arguments = (panel, start, mean, float(n), root)
            run_threads(centre_and_scale, *arguments, work=panel.size)
            square = panel[:, start:stop]
            square[:] = np.tril(square) + np.tril(square, -1).T

    def columns(self, chosen: Array) -> Array:
        """Return columns of the full matrix, d × chosen."""
        out = np.empty((self.d, len(chosen)), dtype=self.dtype)
        for (start, stop), panel in zip(self.bounds, self.panels, strict=True):
            before = np.flatnonzero(chosen < start)
            out[start:stop, before] = panel[:, chosen[before]]
            here = np.flatnonzero((chosen >= start) & (chosen < stop))
            out[:stop, here] = panel[chosen[here] - start].T
        return out

    def times(self, dense: Array) -> Array:
        """Return the full matrix times a dense one."""
        out = np.zeros_like(dense)
        for (start, stop), panel in zip(self.bounds, self.panels, strict=True):
            out[start:stop] += panel @ dense[:stop]
            if start:
                out[:start] += panel[:, :start].T @ dense[start:stop]
        return out

    def full(self) -> Array:
        """Return the matrix as one d × d array; only the lower triangle is valid."""
        out = np.zeros((self.d, self.d), dtype=self.dtype)
        for (start, stop), panel in zip(self.bounds, self.panels, strict=True):
            out[start:stop, :stop] = panel
        return out

    # -- Cholesky: L Lᵀ = this + shift · I ------------------------------------------------------

    def factorise(self, shift: float, progress: Callable[[float], None] = quiet) -> None:
        """Replace the matrix plus ``shift`` on its diagonal by its factor L.

        A matrix that is singular up to rounding raises a ``LinAlgError``.
        """
        for k, (start, stop) in enumerate(self.bounds):
            panel = self.panels[k]
            np.einsum("ii->i", panel[:, start:stop])[:] += self.dtype.type(shift)
            for j in range(k):
                low, high = self.bounds[j]
                part = panel[:, low:high]
                if low:
                    part -= panel[:, :low] @ self.panels[j][:, :low].T
                part[:] = _triangular(self.panels[j][:, low:high], part.T).T
            square = panel[:, start:stop]
            if start:
                square -= panel[:, :start] @ panel[:, :start].T
            square[:] = scipy.linalg.cholesky(square, lower=True, check_finite=False)
            progress((stop / self.d) ** 3)

    def solve(self, right: Array) -> Array:
        """Solve with the factor; the C-contiguous ``right`` is overwritten."""
        for (start, stop), panel in zip(self.bounds, self.panels, strict=True):
            if start:
                right[start:stop] -= panel[:, :start] @ right[:start]
            right[start:stop] = _triangular(panel[:, start:stop], right[start:stop])
        for (start, stop), panel in zip(self.bounds[::-1], self.panels[::-1], strict=True):
            square = panel[:, start:stop]
            right[start:stop] = _triangular(square, right[start:stop], transposed=True)
            if start:
                right[:start] -= panel[:, :start].T @ right[start:stop]
        return right


def _triangular(lower: Array, right: Array, transposed: bool = False) -> Array:
    solved: Array = scipy.linalg.solve_triangular(
        lower, right, lower=True, trans=1 if transposed else 0, check_finite=False
    )
    return solved


def _dense(total: Any, shape: tuple[int, int], dtype: Any) -> Array:
    if isinstance(total, np.ndarray):
        return total
    if not total:
        return np.zeros(shape, dtype=dtype)
    largest = total.pop(0)
    out: Any = largest.toarray() if sp.issparse(largest) else np.require(largest, None, ["C", "W"])
    del largest
    while total:
        add_to(out, total.pop())
    return np.ascontiguousarray(out)


class SparseScatter:
    """A sparse scatter matrix, for a corpus whose terms rarely occur together."""

    def __init__(self, totals: Sequence[Any], d: int) -> None:
        panels = []
        for (start, stop), total in zip(panels_of(d), totals, strict=True):
            parts = [sp.csr_array(part) for part in total]
            panel = sum(parts[1:], start=parts[0]) if parts else sp.csr_array((stop - start, stop))
            panel.resize((stop - start, d))
            panels.append(panel)
            total.clear()
        lower = sp.csr_array(sp.vstack(panels, format="csr"))
        panels.clear()
        self.matrix = sp.csr_array(lower + sp.tril(lower, -1).T)
        self.mean = self.root = np.zeros(d)
        self.n = 0.0

    @property
    def dtype(self) -> Any:
        return self.matrix.dtype

    def prepare(self, mean: Array, n: float, root: Array) -> None:
        """Scale in place; the centring is stored separately, because it is not sparse."""
        factor = root.astype(self.dtype)
        rows = np.repeat(factor, np.diff(self.matrix.indptr))
        self.matrix.data *= rows
        self.matrix.data *= factor[self.matrix.indices]
        self.mean, self.n = (mean * root).astype(self.dtype), float(n)

    def columns(self, chosen: Array) -> Array:
        dense = self.matrix[chosen].toarray().T
        dense -= self.dtype.type(self.n) * np.multiply.outer(self.mean, self.mean[chosen])
        return np.ascontiguousarray(dense)

    def times(self, dense: Array) -> Array:
        from dcot.core.centred import times

        shift = -self.dtype.type(self.n) * (self.mean @ dense)
        return times(self.matrix, dense, self.mean, shift)
