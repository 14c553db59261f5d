"""Mutants that survived and were read: a line, or a line and a change of it, and why.

The reasons are arguments, not proofs. One for a whole line excuses any change of it, so read the
line again when it changes.
"""

from __future__ import annotations

THREADS = "it decides how many threads are used"
LAPACK = "any number but zero is true for LAPACK, and what it may overwrite is not used again"
BLOCKS = "it decides how many documents are in a block"
COPY = "a copy more gives the same"
UNUSED = "the value is replaced where it would be used"
ROUNDING = "it tells rounding errors from values, which are many digits apart"
LOST = "it is reached only if the noise is lost in rounding"
BOTH = "both ways give the same result, and differ in time"
CENTRED = "the other factor is centred, so that what is added is zero"

# fmt: off
EQUIVALENT = {
    # corruption
    "safe = np.where(self.scale > 0, self.scale, 1.0)": UNUSED,
    # direct
    "matrix = scatter if index == len(systems) - 1 else scatter.copy()": COPY,
    "matrix = gram if index == len(systems) - 1 else gram.copy()": COPY,
    "factor, info = potrf(scaled.T, lower=0, overwrite_a=1, clean=0)": LAPACK,
    "factor, info = potrf(matrix.T, lower=0, overwrite_a=1, clean=0)": LAPACK,
    "solution, _ = potrs(factor, right, lower=0, overwrite_b=1)": LAPACK,
    "inverse = np.asarray(potri(factor, lower=0, overwrite_c=1)[0]).T  # of A / q": LAPACK,
    "run_threads(mirror_lower, matrix, work=matrix.size / 2)": THREADS,
    "run_threads(triangle_products, matrix, weights, sums, work=matrix.size / 2)": THREADS,
    "right = np.where(rows < chosen, scaled[:, chosen], scaled[chosen].T)":
        "the diagonal is written in the next line",
    "full *= scaled.dtype.type(system.keep)": LOST,
    'np.einsum("ii->i", full)[:] += scaled.dtype.type(system.shift)': LOST,
    "cutoff = max(values[-1], 0.0) * len(values) * np.finfo(matrix.dtype).eps": ROUNDING,
    "kept = values > cutoff": ROUNDING,
    # cg
    "run_threads(lanczos_update, image, current, previous, a, b, sums, work=2 * image.size)":
        THREADS,
    "run_threads(add_combination, basis, factors, out, work=out.size * len(factors))": THREADS,
    "if threads > 1:": BOTH,
    "few = targets[:: max(1, len(targets) // 8)][:8]":
        "an estimate from other right-hand sides, or one more of them, is as good",
    "vectors = np.random.default_rng(0).standard_normal((length, DEFLATED)).astype(dtype) (0 → 1)":
        "other random vectors to start from are as good",
    "self.count = 0 (0 → 1)": "there are two slots",
    "self.count += 1 (self.count += 1 → self.count -= 1)": "there are two slots",
    "found: list[tuple[list[float], int, bool]] = [([], 0, True)] * len(blocks)": UNUSED,
    "kept = values > DEFLATED * np.finfo(dtype).eps * values[-1]": ROUNDING,
    "beta = np.where(beta <= tiny, 0.0, beta)": ROUNDING,
    "self.by_documents = centred.shape[0] <= centred.shape[1]": BOTH,
    "if len(systems) == 1 and min(len(targets), *centred.shape) >= DEFLATION_WORTH:": BOTH,
    "size = np.maximum(size, np.abs(alpha) + beta)": ROUNDING,
    "current = self.slots[(self.count - 1) % 2]": "there are two slots",
    "safe = np.where(values > 0, values, 1.0)": UNUSED,
    # ridge
    "inverse = scipy.linalg.lapack.dtrtri(factor, lower=1, overwrite_c=1)[0]": LAPACK,
    "values = np.where(values > max(values[-1] * 1e-12, centring.rounding), values, 0.0)":
        ROUNDING,
    "return self._gather((targets - centre).astype(self.means.dtype)), centre": CENTRED,
    "return self._gather(_times(self.parts, coef) - self.means @ coef)": CENTRED,
    "return np.ascontiguousarray(found - np.multiply.outer(self.means, values.sum(axis=0)))":
        CENTRED,
    "dual = dual - self.share[:, None] * dual.sum(axis=0)": CENTRED,
    "while 0 <= best + step < len(FACTORS) and (found := error(FACTORS[best + step])) < least: "
    "((found := error(FACTORS[best + step])) < least → (found := error(FACTORS[best + step])) "
    "<= least)":
        "of two strengths with the same error, either is as good",
    "blocks = list(row_blocks(n, self.kernel.itemsize * n, CACHED_BYTES))": BLOCKS,
    "for rows in row_blocks(len(root), root.itemsize * float(stops[-1])):": BLOCKS,
    "return fewer and work < _work_of_iterating(parts, n_targets) and memory < allowance(None) "
    "(work < _work_of_iterating(parts, n_targets) → work <= _work_of_iterating(parts, n_targets))":
        BOTH,
    "less = 4 * width**3 / 3 < _work_of_iterating(parts, n_targets) "
    "(4 * width ** 3 / 3 < _work_of_iterating(parts, n_targets) → "
    "4 * width ** 3 / 3 <= _work_of_iterating(parts, n_targets))":
        BOTH,
    "vector = np.random.default_rng(0).standard_normal(len(lower)).astype(lower.dtype) (0 → 1)":
        "another random vector to start from is as good",
    "kept = values > max(values[-1] * 1e-12, size)": ROUNDING,
    "if not alpha > least: (alpha > least → alpha >= least)": ROUNDING,
    "rotated, spread, weights = vectors.T @ (targets - centre), vectors**2, np.ones(n) "
    "(targets - centre → targets + centre)":
        CENTRED,
    "if n <= width:": BOTH,
    "length = 0.0 (0.0 → 1.0)": UNUSED,
    "stacklevel=2, (2 → 3)": "it decides which line a warning names",
    "if solution is None or decisions is None: (solution is None or decisions is None → "
    "solution is None and decisions is None)":
        "there are no decisions only if there is no solution for any strength",
    "chosen = alphas[best : best + 1] (1 → 2)":
        "one more strength is solved for, and the solution of the first is used",
    # representation
    "row_bytes = (self.layers[0].coef_.shape[1] if fold else self.width) * dtype.itemsize": BLOCKS,
    "return row_blocks(n, self.width * self.layers[0].coef_.dtype.itemsize)": BLOCKS,
    "fold = self._foldable and n >= columns (n >= columns → n > columns)": BOTH,
    "index = np.int32 if n * width < 2**31 else np.int64": "indices of either size are the same",
    "safe = np.where(squares > 0, squares, 1.0)": UNUSED,
    "return scale_rows(X, (_inverse_norms(squares) * weight).astype(X.dtype)) "
    "(_inverse_norms(squares) * weight → _inverse_norms(squares) / weight)":
        "x is the only sparse part, and its weight is one",
    "if X.shape[0] >= X.shape[1]:": BOTH,
    "span = _iterated(X, transpose, times(X, basis), N_ITERATIONS - 1)":
        "one iteration more or less changes little",
    "units /= np.where(lengths > 0, lengths, 1.0) (1.0 → 2.0)": "what is divided is zero",
    "units /= np.where(lengths > 0, lengths, 1.0) (0 → 1)":
        "columns of any length have the same span, and shorter ones are rarely lost in rounding",
    "kept = values > values.max(initial=0.0) * 1e-10 (0.0 → 1.0)":
        "columns of length one have an eigenvalue of at least one",
    "width, below, factor = int(self.layers[-1].coef_.shape[1]), None, 1.0 (1.0 → 2.0)": UNUSED,
    "return np.ascontiguousarray(directions * np.sign(largest)) "
    "(directions * np.sign(largest) → directions / np.sign(largest))":
        "a sign is its own inverse",
    'options = {"n_iter": 3, "power_iteration_normalizer": "QR", "flip_sign": False}':
        "more iterations change digits that are rounding errors here",
}
# fmt: on


def why(line: str, change: str) -> str | None:
    """Why no test can notice the change, if it was read."""
    return EQUIVALENT.get(line) or EQUIVALENT.get(f"{line} ({change})")
