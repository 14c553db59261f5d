"""Matrix-free conjugate gradients, for corpora with many documents and many terms.

This is the Lanczos form. Each right-hand side builds its own Krylov basis of ``G`` (or of ``YᵀY``,
whichever is smaller), and one sweep over the sparse matrix serves many right-hand sides. The basis
does not depend on the shift ``t/q``, so it serves every noise level; the iterates are those of
conjugate gradients at each of them.

``solve`` keeps the basis, for several noise levels. ``iterate`` keeps only two vectors of it and
the current solution, for expensive operators: a large matrix, or passes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.core.centred import Centred, column_blocks, times
from dcot.core.corruption import Solution, System
from dcot.runtime.progress import quiet
from dcot.runtime.resources import n_threads, run_tasks, run_threads

Array = NDArray[Any]

# Right-hand sides solved together. Most memory goes to a basis of a few dozen such blocks.
WIDTH = 128
EXPECTED_ITERATIONS = 9
LOOK_AHEAD = 3
# The largest eigenvalues decide how many iterations are needed. With many right-hand sides and one
# system, this many eigenvectors are first found, by this many products, and removed.
DEFLATED, DEFLATION_STEPS = 32, 4
DEFLATION_WORTH = 1024  # right-hand sides
# Rounding may keep the residual above the tolerance. ``iterate`` stops after this many steps
# without a better one, because a step may be a pass over a large corpus.
PATIENCE = 5


def solve(
    centred: Centred,
    targets: Array,
    systems: Sequence[System],
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    progress: Callable[[float], None] = quiet,
) -> Iterator[Solution]:
    """Solve all systems in one Krylov space per right-hand side, to the relative residual tol."""
    space = _Space(centred, systems[0])
    shifts = np.array([system.shift / system.keep for system in systems])
    shape = (centred.shape[1], len(targets))
    coefs = [np.empty(shape, dtype=centred.dtype) for _ in systems]
    deflation = None
    if len(systems) == 1 and min(len(targets), *centred.shape) >= DEFLATION_WORTH:
        deflation = _Deflation.of(space, targets, float(shifts[0]))
    blocks = list(column_blocks(len(targets), WIDTH))
    found: list[tuple[list[float], int, bool]] = [([], 0, True)] * len(blocks)
    caller = threading.get_ident()  # the only thread that reports progress
    done: list[int] = []

    def solve_blocks(numbers: Iterator[int]) -> None:
        buffers = _Buffers(space, min(WIDTH, len(targets)))
        for number in numbers:
            block = blocks[number]
            right = space.right(targets[block])
            start, rest = (None, right) if deflation is None else deflation.start(right, block)
            buffers.basis.clear(right.shape[1])
            sizes = np.sqrt(_dots(right, right))
            lanczos = _Lanczos(buffers.operator, rest, shifts, buffers.basis, sizes)
            lanczos.run(tol, max_iter)
            gains = []
            for index, (system, coef) in enumerate(zip(systems, coefs, strict=True)):
                solution = lanczos.solution(index)
                if start is not None:
                    solution += start
                solution /= solution.dtype.type(system.keep)
                gains.append(space.back(solution, right, system, coef, block))
            found[number] = gains, lanczos.n_iter, lanczos.converged
            done.append(number)
            if threading.get_ident() == caller and len(done) < len(blocks):
                progress(len(done) / len(blocks))

    size = np.dtype(centred.dtype).itemsize
    threads = n_workers(*centred.shape, len(targets), size)
    if threads > 1:
        run_tasks(solve_blocks, range(len(blocks)), threads)
    else:
        solve_blocks(iter(range(len(blocks))))
    progress(1.0)
    gains = np.sum([gain for gain, _, _ in found], axis=0)  # in the order of the blocks
    n_iter = max(steps for _, steps, _ in found)
    converged = all(reached for _, _, reached in found)
    for coef, gain in zip(coefs, gains, strict=True):
        yield Solution(coef, float(gain), n_iter, converged)


def n_workers(n: int, d: int, r: int, itemsize: int) -> int:
    """Return how many blocks of right-hand sides are solved at a time.

    Threads with a block each hardly wait for each other, but each needs buffers. If these take
    more memory than the result, all threads work on one block.
    """
    threads = min(n_threads(), -(-r // WIDTH))
    small = threads * buffer_bytes(n, d, r, itemsize) <= d * r * itemsize
    return threads if small else 1


def buffer_bytes(n: int, d: int, r: int, itemsize: int) -> float:
    """Memory for one block: a basis, the right-hand side, its image and the solution."""
    small, large = sorted((n, d))
    return min(r, WIDTH) * itemsize * float((EXPECTED_ITERATIONS + 3) * small + large)


def count_iterations(
    centred: Centred, targets: Array, systems: Sequence[System], *, tol: float, max_iter: int
) -> int:
    """Estimate the number of iterations from the first few on a few right-hand sides."""
    few = targets[:: max(1, len(targets) // 8)][:8]
    space = _Space(centred, systems[0])
    buffers = _Buffers(space, len(few))
    shifts = np.array([system.shift / system.keep for system in systems])
    lanczos = _Lanczos(buffers.operator, space.right(few), shifts, buffers.basis)
    lanczos.run(tol, min(max_iter, LOOK_AHEAD))
    if lanczos.converged or len(lanczos.residuals) < 2:
        return lanczos.n_iter
    before, last = lanczos.residuals[-2:]
    rate = min(max(last / before, 0.01), 0.97)
    return lanczos.n_iter + int(np.ceil(np.log(tol / last) / np.log(rate)))


@dataclass
class Iterated:
    """A solution, its number of iterations, and whether it converged."""

    solution: Array
    n_iter: int
    converged: bool


def iterate(
    operator: Callable[[Array], Array],
    right: Array,
    shift: float,
    *,
    tol: float,
    max_iter: int,
    progress: Callable[[float], None] = quiet,
) -> Iterated:
    """Solve ``(operator + shift) x = right`` for every column, to the relative residual tol."""
    running = _Running(right)
    lanczos = _Lanczos(operator, right, np.array([shift]), running)
    lanczos.run(tol, max_iter, progress, PATIENCE)
    return Iterated(running.solution, lanczos.n_iter, lanczos.converged)


def iterate_shifts(
    operator: Callable[[Array], Array], right: Array, shifts: Array, *, tol: float, max_iter: int
) -> tuple[list[Array], bool]:
    """Solve ``(operator + shift) x = right`` for several shifts, in one Krylov space.

    The second result is whether all of them reached the tolerance.
    """
    basis = _Stored(right.shape[0], right.shape[1], right.dtype)
    lanczos = _Lanczos(operator, right, shifts, basis)
    lanczos.run(tol, max_iter)
    return [lanczos.solution(index) for index in range(len(shifts))], lanczos.converged


class _Space:
    """The vectors of the iteration: over documents or over terms, whichever are fewer."""

    def __init__(self, centred: Centred, system: System) -> None:
        self.centred = centred
        _ = centred.transpose  # computed once, for the scaled copies too
        self.Y = centred.scaled(system.inverse_root)
        self.by_documents = centred.shape[0] <= centred.shape[1]
        self.twice = self.Y.scaled(system.inverse_root) if self.by_documents else self.Y
        self.root = system.inverse_root.astype(centred.dtype)

    def right(self, targets: Array) -> Array:
        columns = self.centred.columns(targets)
        return columns if self.by_documents else self.Y.transpose_times(columns)

    def back(
        self, solution: Array, right: Array, system: System, coef: Array, block: slice
    ) -> float:
        """Write columns of W, and return their part of tr WᵀC[:, P]."""
        if not self.by_documents:
            coef[:, block] = solution * self.root[:, None]
            return float(_dots(solution, right).sum())
        self.twice.transpose_times(solution, coef, block.start)
        # Not with BLAS: its threads would keep spinning and block ours.
        squares, cross = _dots(right, right).sum(), _dots(solution, right).sum()
        return float(squares - system.shift * cross) / system.keep


class _Buffers:
    """Memory of one thread for the operator and the basis of a block.

    It is used again for each block, because new memory pages cost as much as the arithmetic on
    them.
    """

    def __init__(self, space: _Space, width: int) -> None:
        self.space = space
        small, large = sorted(space.centred.shape)
        dtype = space.centred.dtype
        self.between = np.empty((large, width), dtype=dtype)
        self.image = np.empty((small, width), dtype=dtype)
        self.basis = _Stored(small, width, dtype)

    def operator(self, vectors: Array) -> Array:
        """``Y Yᵀ vectors`` or ``Yᵀ Y vectors``; the result is overwritten by the next call."""
        width, Y = vectors.shape[1], self.space.Y
        between, image = _front(self.between, width), _front(self.image, width)
        if self.space.by_documents:
            return Y.times(Y.transpose_times(vectors, between), image)
        return Y.transpose_times(Y.times(vectors, between), image)


@dataclass(frozen=True)
class _Deflation:
    """An initial guess from the span of a few eigenvectors, which leaves an easier system.

    Attributes
    ----------
    vectors : orthonormal, close to the eigenvectors of the largest eigenvalues
    images : the operator plus the shift, times ``vectors``
    weights : of ``vectors`` in the initial guess, one column per right-hand side
    """

    vectors: Any
    images: Any
    weights: Array

    @classmethod
    def of(cls, space: _Space, targets: Array, shift: float) -> _Deflation:
        buffers = _Buffers(space, DEFLATED)
        length, dtype = buffers.image.shape[0], buffers.image.dtype
        vectors = np.random.default_rng(0).standard_normal((length, DEFLATED)).astype(dtype)
        for _ in range(DEFLATION_STEPS):
            vectors = np.ascontiguousarray(np.linalg.qr(buffers.operator(vectors))[0])
        images = buffers.operator(vectors) + dtype.type(shift) * vectors
        inverse = _inverse_of((vectors.T @ images).astype(np.float64), dtype).astype(dtype)
        over_documents = vectors if space.by_documents else space.Y.times(vectors)
        products = space.centred.transpose_times(over_documents)[targets].T
        # Sparse, to be multiplied by our kernels: after a product by BLAS, its threads would keep
        # spinning and block ours.
        return cls(sp.csr_array(vectors), sp.csr_array(images), inverse @ products)

    def start(self, right: Array, block: slice) -> tuple[Array, Array]:
        """Return the initial guess and the remaining right-hand sides."""
        weights = np.ascontiguousarray(self.weights[:, block])
        return times(self.vectors, weights), right - times(self.images, weights)


def _inverse_of(products: Array, dtype: Any) -> Array:
    """The inverse of a symmetric matrix, without directions in which it is only rounding.

    With fewer independent documents than vectors and hardly any noise there are such directions,
    and their inverse would be the largest.
    """
    values, modes = np.linalg.eigh(products)
    kept = values > DEFLATED * np.finfo(dtype).eps * values[-1]
    if kept.all():
        return np.linalg.inv(products)
    return np.asarray((modes[:, kept] / values[kept]) @ modes[:, kept].T)


def _front(buffer: Array, width: int) -> Array:
    """Return the first part of a buffer as a contiguous array with fewer columns."""
    if buffer.shape[1] == width:
        return buffer
    return buffer.ravel()[: len(buffer) * width].reshape(len(buffer), width)


class _Running:
    """The last two vectors of the basis, and the current solution for one shift.

    With the basis V and the tridiagonal matrix L D Lᵀ, the solution is P D⁻¹ L⁻¹ b for the
    directions P = V L⁻ᵀ, and each direction follows from the one before.
    """

    def __init__(self, right: Array) -> None:
        self.solution, self.direction = np.zeros_like(right), np.zeros_like(right)
        self.slots = [np.empty_like(right), np.empty_like(right)]
        self.count = 0

    def append(self, vectors: Array, factor: Array) -> Array:
        """The next vector: ``vectors`` with its columns multiplied by ``factor``."""
        slot = self.slots[self.count % 2]
        _scale(vectors, factor, slot)
        self.count += 1
        return slot

    def extend(self, ratio: Array, weight: Array) -> None:
        """Update the solution with the last vector: its entry of L, and of D⁻¹ L⁻¹ b."""
        current = self.slots[(self.count - 1) % 2]
        _scale(self.direction, -ratio[0], self.direction)
        self.direction += current
        _combine(self.direction[None], weight, self.solution)


class _Stored:
    """A growing basis, allocated a few vectors at a time."""

    PIECE = 4  # vectors per allocation; noise of 0.9 needs two or three

    def __init__(self, length: int, width: int, dtype: Any) -> None:
        self.length, self.width, self.dtype = length, width, dtype
        self.pieces: list[Array] = []
        self.clear(width)

    def clear(self, width: int) -> None:
        """Remove the vectors but keep the memory."""
        self.count, self.used = 0, width

    def _piece(self, number: int) -> Array:
        if number == len(self.pieces):
            shape = (self.PIECE, self.length, self.width)
            self.pieces.append(np.empty(shape, dtype=self.dtype))
        piece = self.pieces[number]
        if self.used == self.width:
            return piece
        flat = piece.ravel()[: self.PIECE * self.length * self.used]
        return flat.reshape(self.PIECE, self.length, self.used)

    def append(self, vectors: Array, factor: Array) -> Array:
        """The next vector: ``vectors`` with its columns multiplied by ``factor``."""
        slot: Array = self._piece(self.count // self.PIECE)[self.count % self.PIECE]
        _scale(vectors, factor, slot)
        self.count += 1
        return slot

    def extend(self, ratio: Array, weight: Array) -> None:
        """Do nothing: the vectors are combined at the end."""

    def combine(self, factors: Array) -> Array:
        """``Σ_k factors[k] · basis[k]``, factors by column."""
        out = np.zeros((self.length, self.used), dtype=self.dtype)
        for number, start in enumerate(range(0, len(factors), self.PIECE)):
            _combine(self._piece(number), factors[start : start + self.PIECE], out)
        return out


class _Lanczos:
    """Conjugate gradients for ``(operator + shift) x = right``, all shifts in one basis."""

    def __init__(
        self,
        operator: Callable[[Array], Array],
        right: Array,
        shifts: Array,
        basis: _Running | _Stored,
        sizes: Array | None = None,
    ) -> None:
        self.operator, self.right, self.basis = operator, right, basis
        self.sizes = sizes  # residuals are relative to these; by default the lengths of ``right``
        self.shifts = shifts[:, None]
        # The tridiagonal matrix plus each shift as L D Lᵀ, one row per step: the entries of D and
        # of L below the diagonal, and L⁻¹ times the right-hand side. Each is shifts × columns.
        self.pivots: list[Array] = []
        self.ratios: list[Array] = []
        self.forward: list[Array] = []
        self.residuals: list[float] = []  # the largest relative residual after each step
        self.n_iter = 0
        self.converged = False

    def run(
        self,
        tol: float,
        max_iter: int,
        progress: Callable[[float], None] = quiet,
        patience: int | None = None,
    ) -> None:
        """Extend the basis until every column has converged at every shift.

        With ``patience``, stop after this many steps without a clearly smaller residual.
        """
        norms = np.sqrt(_dots(self.right, self.right))
        current = self.basis.append(self.right, _inverse(norms))
        previous = np.zeros_like(current)
        relative = _inverse(norms if self.sizes is None else self.sizes)
        beta, size = np.zeros(len(norms)), np.zeros(len(norms))
        while True:
            image = self.operator(current)
            alpha = _dots(current, image)
            size = np.maximum(size, np.abs(alpha) + beta)
            # Smaller values are rounding errors: the basis of that column is complete.
            tiny = np.finfo(image.dtype).eps * size
            self._extend(alpha, beta, norms, tiny)
            self.basis.extend(self.ratios[-1], self.forward[-1] / self.pivots[-1])
            beta = np.sqrt(_update(image, current, previous, alpha, beta))
            beta = np.where(beta <= tiny, 0.0, beta)
            residual = beta * np.abs(self.forward[-1] / self.pivots[-1])
            self.residuals.append(float((residual * relative).max()))
            self.converged = self.residuals[-1] <= tol
            progress(_fraction(self.residuals, tol))
            if self.converged or self.n_iter >= max_iter or self._stuck(patience):
                return
            previous, current = current, self.basis.append(image, _inverse(beta))

    def _stuck(self, patience: int | None) -> bool:
        if patience is None or self.n_iter <= patience:
            return False
        return min(self.residuals[-patience:]) >= 0.9 * min(self.residuals[:-patience])

    def _extend(self, alpha: Array, beta: Array, norms: Array, tiny: Array) -> None:
        if self.n_iter:
            ratio = beta / self.pivots[-1]
            forward = -ratio * self.forward[-1]
        else:
            ratio = np.zeros((len(self.shifts), len(norms)))
            forward = np.tile(norms, (len(self.shifts), 1))
        pivot = alpha + self.shifts - beta * ratio
        self.pivots.append(np.where(np.abs(pivot) <= tiny, np.inf, pivot))
        self.ratios.append(ratio)
        self.forward.append(forward)
        self.n_iter += 1

    def solution(self, index: int) -> Array:
        """Return the solution at one shift: back substitution, then a combination of the basis."""
        assert isinstance(self.basis, _Stored)
        weights = [self.forward[-1][index] / self.pivots[-1][index]]
        for k in reversed(range(self.n_iter - 1)):
            weight = self.forward[k][index] / self.pivots[k][index]
            weights.append(weight - self.ratios[k + 1][index] * weights[-1])
        return self.basis.combine(np.array(weights[::-1]))


def _inverse(values: Array) -> Array:
    safe = np.where(values > 0, values, 1.0)
    return np.where(values > 0, 1.0 / safe, 0.0)


def _fraction(residuals: Sequence[float], tol: float) -> float:
    """Progress of the residual from 1 to the tolerance, on a log scale."""
    last = residuals[-1]
    if last <= tol:
        return 1.0
    return float(min(0.99, max(0.0, np.log(last) / np.log(tol)))) if tol < 1 else 0.0


def _scale(vectors: Array, factor: Array, out: Array) -> None:
    from dcot.core.kernels import scale_columns

    run_threads(scale_columns, vectors, factor.astype(out.dtype), out, work=out.size)


def _combine(basis: Array, factors: Array, out: Array) -> None:
    """``out += Σ_k factors[k] · basis[k]``, factors by column."""
    from dcot.core.kernels import add_combination

    factors = factors.astype(out.dtype)
    run_threads(add_combination, basis, factors, out, work=out.size * len(factors))


def _sums(vectors: Array) -> Array:
    from dcot.core.kernels import ROWS

    return np.empty((-(-len(vectors) // ROWS), vectors.shape[1]), dtype=vectors.dtype)


def _dots(left: Array, right: Array) -> Array:
    from dcot.core.kernels import column_dots

    sums = _sums(left)
    run_threads(column_dots, left, right, sums, work=left.size)
    return np.asarray(sums.sum(axis=0, dtype=np.float64))


def _update(image: Array, current: Array, previous: Array, alpha: Array, beta: Array) -> Array:
    from dcot.core.kernels import lanczos_update

    sums = _sums(image)
    a, b = alpha.astype(image.dtype), beta.astype(image.dtype)
    run_threads(lanczos_update, image, current, previous, a, b, sums, work=2 * image.size)
    return np.asarray(sums.sum(axis=0, dtype=np.float64))
