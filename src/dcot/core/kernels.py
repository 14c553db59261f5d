"""Compiled inner loops over sparse rows, where SciPy uses one thread or needs a copy.

Parallel kernels take ``first`` and ``step`` as their last arguments and work on the blocks of
``ROWS`` rows first, first + step, … Each of ``step`` threads makes one call, and long rows (or the
long end of a triangle) are spread evenly. Kernels release the GIL and write only to their own rows;
``dcot.runtime.resources.run_threads`` starts them. They are compiled on first use and cached on
disk, so later processes start without compiling.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.runtime.compiling import compiled

Array = NDArray[Any]

ROWS = 64
FREQUENT_DOCUMENTS = 64  # a term in more documents of a batch is summed in a separate buffer first


_compiled = compiled(fastmath={"contract", "reassoc", "nsz"}, boundscheck=False)


@_compiled
def _add_terms(indices: Array, data: Array, k: int, end: int, dense: Array, row: Array) -> None:
    """``row += Σ data[k] · dense[indices[k]]`` over the terms k to end of one document."""
    width = len(row)
    # Four terms at a time, so that the output row is loaded and stored a quarter as often.
    while k + 4 <= end:
        v0, v1, v2, v3 = data[k], data[k + 1], data[k + 2], data[k + 3]
        d0, d1 = dense[indices[k]], dense[indices[k + 1]]
        d2, d3 = dense[indices[k + 2]], dense[indices[k + 3]]
        for c in range(width):
            row[c] += v0 * d0[c] + v1 * d1[c] + v2 * d2[c] + v3 * d3[c]
        k += 4
    while k < end:
        v0, d0 = data[k], dense[indices[k]]
        for c in range(width):
            row[c] += v0 * d0[c]
        k += 1


@_compiled
def sparse_times_dense(
    indptr: Array,
    indices: Array,
    data: Array,
    dense: Array,
    rows: Array,
    columns: Array,
    out: Array,
    offset: int,
    first: int,
    step: int,
) -> None:
    """``out[i, offset:offset + width] = Σ_j X[i, j] · dense[j] + rows_i · columns``.

    The arrays are C-contiguous; ``width`` is the number of columns of ``dense``.
    """
    n, width = out.shape[0], dense.shape[1]
    for block in range(first, -(-n // ROWS), step):
        for i in range(block * ROWS, min(n, (block + 1) * ROWS)):
            row, factor = out[i][offset : offset + width], rows[i]
            for c in range(width):
                row[c] = factor * columns[c]
            _add_terms(indices, data, indptr[i], indptr[i + 1], dense, row)


@_compiled
def gram_lower(
    indptr: Array,
    indices: Array,
    data: Array,
    t_indptr: Array,
    t_indices: Array,
    t_data: Array,
    out: Array,
    first: int,
    step: int,
) -> None:
    """Add the lower triangle of ``X Xᵀ`` to a dense array.

    ``t_*`` is the transpose of the same matrix, with sorted indices.
    """
    n = len(out)
    for block in range(first, -(-n // ROWS), step):
        for i in range(block * ROWS, min(n, (block + 1) * ROWS)):
            row = out[i]
            for k in range(indptr[i], indptr[i + 1]):
                j, value = indices[k], data[k]
                for t in range(t_indptr[j], t_indptr[j + 1]):
                    other = t_indices[t]
                    if other > i:
                        break
                    row[other] += value * t_data[t]


@_compiled
def centre_lower(
    gram: Array, along: Array, across: Array, constant: float, first: int, step: int
) -> None:
    """``gram[i, k] −= along_i · across_k + across_i · along_k − constant · along_i · along_k``.

    Only the lower triangle is changed. This turns ``M Mᵀ`` into
    ``(M − along ⊗ v)(M − along ⊗ v)ᵀ`` where ``across = M v`` and ``constant = v · v``.
    """
    n = len(gram)
    for block in range(first, -(-n // ROWS), step):
        for i in range(block * ROWS, min(n, (block + 1) * ROWS)):
            row = gram[i]
            a, b = along[i], across[i] - constant * along[i]
            for k in range(i + 1):
                row[k] -= a * across[k] + b * along[k]


@_compiled
def mirror_lower(matrix: Array, first: int, step: int) -> None:
    """Copy the lower triangle to the upper one, in square tiles."""
    n = len(matrix)
    for block in range(first, -(-n // ROWS), step):
        for tile in range(block + 1):
            for i in range(block * ROWS, min(n, (block + 1) * ROWS)):
                for k in range(tile * ROWS, min(i, (tile + 1) * ROWS)):
                    matrix[k, i] = matrix[i, k]


@_compiled
def triangle_products(matrix: Array, weights: Array, out: Array, first: int, step: int) -> None:
    """``out[i] = Σ_k<i matrix[i, k] · matrix[k, i] · (weights_i + weights_k)``, in square tiles."""
    n = len(matrix)
    for block in range(first, -(-n // ROWS), step):
        rows = range(block * ROWS, min(n, (block + 1) * ROWS))
        for i in rows:
            out[i] = 0
        for tile in range(block + 1):
            for i in rows:
                total = 0.0
                for k in range(tile * ROWS, min(i, (tile + 1) * ROWS)):
                    both = np.float64(matrix[i, k]) * matrix[k, i]
                    total += both * (weights[i] + weights[k])
                out[i] += total


@_compiled
def weighted_sums(matrix: Array, weights: Array, out: Array, first: int, step: int) -> None:
    """``out[block, c] = Σ weights_i · matrix[i, c]`` over the rows of each block.

    Here and below, sums over fixed blocks do not depend on the number of threads.
    """
    n, width = matrix.shape
    for block in range(first, -(-n // ROWS), step):
        total = out[block]
        total[:] = 0
        for i in range(block * ROWS, min(n, (block + 1) * ROWS)):
            row, weight = matrix[i], weights[i]
            for c in range(width):
                total[c] += weight * row[c]


@_compiled
def column_dots(left: Array, right: Array, out: Array, first: int, step: int) -> None:
    """``out[block, c] = Σ left[i, c] · right[i, c]`` over the rows of each block."""
    n, width = left.shape
    for block in range(first, -(-n // ROWS), step):
        total = out[block]
        total[:] = 0
        for i in range(block * ROWS, min(n, (block + 1) * ROWS)):
            a, b = left[i], right[i]
            for c in range(width):
                total[c] += a[c] * b[c]


@_compiled
def lanczos_update(
    new: Array,
    current: Array,
    previous: Array,
    alpha: Array,
    beta: Array,
    out: Array,
    first: int,
    step: int,
) -> None:
    """``new −= alpha · current + beta · previous`` by column; ``out`` gets sums of its squares."""
    n, width = new.shape
    for block in range(first, -(-n // ROWS), step):
        total = out[block]
        total[:] = 0
        for i in range(block * ROWS, min(n, (block + 1) * ROWS)):
            row, a, b = new[i], current[i], previous[i]
            for c in range(width):
                value = row[c] - alpha[c] * a[c] - beta[c] * b[c]
                row[c] = value
                total[c] += value * value


@_compiled
def scale_columns(matrix: Array, factor: Array, out: Array, first: int, step: int) -> None:
    """``out[i, c] = factor_c · matrix[i, c]``."""
    n, width = matrix.shape
    for block in range(first, -(-n // ROWS), step):
        for i in range(block * ROWS, min(n, (block + 1) * ROWS)):
            target, row = out[i], matrix[i]
            for c in range(width):
                target[c] = factor[c] * row[c]


@_compiled
def add_combination(basis: Array, factors: Array, out: Array, first: int, step: int) -> None:
    """``out[i, c] += Σ_k factors[k, c] · basis[k, i, c]``."""
    n, width = out.shape
    for block in range(first, -(-n // ROWS), step):
        for i in range(block * ROWS, min(n, (block + 1) * ROWS)):
            row = out[i]
            for k in range(len(factors)):
                vectors, factor = basis[k, i], factors[k]
                for c in range(width):
                    row[c] += factor[c] * vectors[c]


@_compiled
def add_scatter(
    t_indptr: Array,
    t_indices: Array,
    t_data: Array,
    indptr: Array,
    indices: Array,
    data: Array,
    start: int,
    out: Array,
    first: int,
    step: int,
) -> None:
    """Add rows ``start …`` of the lower triangle of ``XᵀX`` to ``out``; ``t_*`` is Xᵀ.

    A frequent term is summed in a separate buffer first. Its total over a large corpus is so much
    larger than the value of one document that adding these one by one would lose digits.
    """
    n, width = out.shape
    aside = np.zeros(width, dtype=out.dtype)
    for block in range(first, -(-n // ROWS), step):
        for i in range(block * ROWS, min(n, (block + 1) * ROWS)):
            term = start + i
            begin, end = t_indptr[term], t_indptr[term + 1]
            many = end - begin > FREQUENT_DOCUMENTS
            row = aside if many else out[i]
            for k in range(begin, end):
                document, value = t_indices[k], t_data[k]
                for t in range(indptr[document], indptr[document + 1]):
                    other = indices[t]
                    if other > term:
                        break
                    row[other] += value * data[t]
            if many:
                target = out[i]
                for c in range(term + 1):
                    target[c] += row[c]
                    row[c] = 0


@_compiled
def centre_and_scale(
    panel: Array, start: int, mean: Array, n: float, root: Array, first: int, step: int
) -> None:
    """Subtract ``n·µ_i·µ_c`` from entry (i, c) of the lower triangle, times ``root_i · root_c``.

    The first row of ``panel`` is row ``start`` of the matrix.
    """
    rows = len(panel)
    for block in range(first, -(-rows // ROWS), step):
        for i in range(block * ROWS, min(rows, (block + 1) * ROWS)):
            row, term = panel[i], start + i
            a, b = n * mean[term], root[term]
            for c in range(term + 1):
                row[c] = (row[c] - a * mean[c]) * (b * root[c])


@_compiled
def add_sparse_times_dense(
    indptr: Array, indices: Array, data: Array, dense: Array, out: Array, first: int, step: int
) -> None:
    """``out[i] += Σ_j X[i, j] · dense[j]``; rows of X without values cost nothing."""
    n = len(out)
    for block in range(first, -(-n // ROWS), step):
        for i in range(block * ROWS, min(n, (block + 1) * ROWS)):
            _add_terms(indices, data, indptr[i], indptr[i + 1], dense, out[i])


@_compiled
def count_entries(dense: Array) -> Array:
    """Number of nonzero entries in each row."""
    counts = np.zeros(len(dense), dtype=np.int64)
    for i in range(len(dense)):
        n = 0
        for c in range(dense.shape[1]):
            n += dense[i, c] != 0
        counts[i] = n
    return counts


@_compiled
def take_entries(dense: Array, columns: Array, values: Array) -> None:
    """Move the nonzero entries to ``columns`` and ``values``, row by row, and set them to zero."""
    n = 0
    for i in range(len(dense)):
        for c in range(dense.shape[1]):
            if dense[i, c] != 0:
                columns[n] = c
                values[n] = dense[i, c]
                dense[i, c] = 0
                n += 1


@_compiled
def sparse_scatter(
    t_indptr: Array,
    t_indices: Array,
    t_data: Array,
    indptr: Array,
    indices: Array,
    data: Array,
    start: int,
    stop: int,
    pointers: Array,
    columns: Array,
    values: Array,
) -> int:
    """Write rows ``start:stop`` of the lower triangle of ``XᵀX`` to CSR arrays.

    Returns the number of values; ``t_*`` is Xᵀ.
    """
    total = np.zeros(stop, dtype=values.dtype)
    seen = np.zeros(stop, dtype=np.bool_)
    n = 0
    for i in range(stop - start):
        term, first = start + i, n
        for k in range(t_indptr[term], t_indptr[term + 1]):
            document, value = t_indices[k], t_data[k]
            for t in range(indptr[document], indptr[document + 1]):
                other = indices[t]
                if other > term:
                    break
                if not seen[other]:
                    seen[other] = True
                    columns[n] = other
                    n += 1
                total[other] += value * data[t]
        columns[first:n].sort()
        for k in range(first, n):
            column = columns[k]
            values[k] = total[column]
            total[column] = 0
            seen[column] = False
        pointers[i + 1] = n
    return n
