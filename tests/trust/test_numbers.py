"""Fits against exact fractions: right to the digits of their precision, or an error, or a warning.

Also: the same input gives the same bytes, other thread counts nearly the same numbers, and what is
too large is refused before its memory is taken.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import dcot
from dcot import DCoT, DCoTClassifier, DCoTVectorizer, OutOfMemoryError

COUNT = int(os.environ.get("DCOT_NUMBERS", "120"))
ALLOWED = {"float64": 1e-6, "float32": 2e-2}
N_TERMS = 5
KINDS = ["counts", "twins", "nearly twins", "one document"]
KINDS += ["terms of all sizes", "documents of all sizes"]


def exact_outputs(X, noise, shrinkage, weights):
    """Rebuilt values of all terms by the definition, in exact arithmetic, as floats."""
    rows = [[Fraction(float(x)) for x in row] for row in X]
    share = [Fraction(float(w)) for w in weights]
    q, total, d = 1 - Fraction(noise), sum(share), len(rows[0])
    mean = [sum(w * row[j] for w, row in zip(share, rows, strict=True)) / total for j in range(d)]
    centred = [[row[j] - mean[j] for j in range(d)] for row in rows]
    scatter = [
        [sum(w * r[a] * r[b] for w, r in zip(share, centred, strict=True)) for b in range(d)]
        for a in range(d)
    ]
    squares = [sum(w * row[j] ** 2 for w, row in zip(share, rows, strict=True)) for j in range(d)]
    penalty = Fraction(shrinkage) * sum(squares) / total
    left = [
        [q * scatter[a][b] + (a == b) * (1 - q) * (squares[a] + penalty) for b in range(d)]
        for a in range(d)
    ]
    W = _solve(left, scatter)
    bias = [mean[p] - q * sum(W[a][p] * mean[a] for a in range(d)) for p in range(d)]
    return np.array(
        [[float(bias[p] + sum(r[a] * W[a][p] for a in range(d))) for p in range(d)] for r in rows]
    )


def _solve(left, right):
    """Gauss, with fractions; a term that never occurs has weight zero."""
    d = len(left)
    table = [list(left[a]) + list(right[a]) for a in range(d)]
    for a in range(d):
        if table[a][a] == 0:
            table[a][a] = Fraction(1)
        table[a] = [value / table[a][a] for value in table[a]]
        for b in range(d):
            if b != a and table[b][a]:
                factor = table[b][a]
                table[b] = [x - factor * y for x, y in zip(table[b], table[a], strict=True)]
    return [row[d:] for row in table]


def case(number):
    """Documents, weights and settings."""
    rng = np.random.default_rng(number)
    X = rng.poisson(0.8, (int(rng.integers(3, 12)), N_TERMS)).astype(float)
    X[rng.integers(len(X)), :] += 1
    what = KINDS[number % len(KINDS)]
    if what == "twins":
        X[:, 1] = X[:, 0]
    elif what == "nearly twins":
        X[:, 1] = X[:, 0] * (1 + 1e-9 * rng.normal(size=len(X)))
    elif what == "one document":
        X[:] = X[0]
    elif what == "terms of all sizes":
        X *= 10.0 ** rng.integers(-6, 7, N_TERMS)
    elif what == "documents of all sizes":
        X *= 10.0 ** rng.integers(-3, 4, (len(X), 1))
    X *= 10.0 ** rng.choice([-100, -30, -8, 0, 0, 0, 8, 19, 100])
    weights = 10.0 ** rng.choice([-300, -20, 0, 0, 6]) * rng.choice([1.0, 2.0, 1e6], len(X))
    settings = {
        "noise": float(rng.choice([0.5, 0.75, 0.9375])),
        "shrinkage": float(rng.choice([0.0, 1.0])),
        "dtype": str(rng.choice(["float32", "float64"])),
        "solver": str(rng.choice(["primal", "dual", "cg"])),
    }
    return what, X, weights, settings


def trial(number):
    """right, refused, warned, or what is wrong."""
    what, X, weights, settings = case(number)
    # of cg: a residual, in which documents count by their weights, from one to a million here
    tol = {"float64": 1e-12, "float32": 1e-6}[settings["dtype"]]
    model = DCoT(N_TERMS, n_layers=1, tol=tol, output="layers", **settings)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = model.fit(X, sample_weight=weights).reconstruct(X)
        except dcot.DcotError:
            return "refused"
    used = X.astype(settings["dtype"]).astype(float)
    expected = exact_outputs(used, settings["noise"], settings["shrinkage"], weights)
    size = np.abs(used).max(axis=0) + np.abs(expected).max(axis=0)
    error = float((np.abs(found - expected) / np.where(size > 0, size, 1)).max())
    if error <= ALLOWED[settings["dtype"]]:
        return "right"
    return "warned" if said else f"case {number} ({what}, {settings}): off by {error:.1e}"


def test_fits_against_exact_fractions(tally):
    found = [trial(number) for number in range(COUNT)]
    wrong = [one for one in found if one.startswith("case")]
    for kind in ("right", "refused", "warned"):
        tally(f"exact fractions: {kind}", found.count(kind))
    tally("exact fractions: wrong without a warning", COUNT, len(wrong))
    assert wrong == []
    assert found.count("right") > COUNT / 2


PROGRAM = """
import sys, numpy as np, scipy.sparse as sp
from dcot import DCoT
X = sp.random(600, 300, 0.05, format="csr", random_state=0, data_rvs=lambda n: np.ones(n))
np.save(sys.argv[1], DCoT(100, n_components=20, random_state=0).fit_transform(X))
"""


def test_same_bytes_on_one_thread_count_and_nearly_the_same_on_others(tmp_path):
    found = {}
    for name, threads in (("a", "1"), ("b", "1"), ("c", "2")):
        limits = {f"{one}_NUM_THREADS": threads for one in ("OPENBLAS", "OMP", "MKL", "NUMBA")}
        command = [sys.executable, "-c", PROGRAM, str(tmp_path / name)]
        subprocess.run(command, env={**os.environ, **limits}, check=True)
        found[name] = np.load(tmp_path / f"{name}.npy")
    assert found["a"].tobytes() == found["b"].tobytes()
    np.testing.assert_allclose(found["a"], found["c"], atol=1e-5)


def test_one_document_a_million_times():
    """As a weight, and really there."""
    X = sp.csr_matrix(np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0], [1.0, 0.0, 0.0]]))
    rows = np.repeat([0, 1, 2], [10**6, 1, 1])
    many = DCoT(3).fit(X[rows]).transform(X)
    weighted = DCoT(3).fit(X, sample_weight=[1e6, 1, 1]).transform(X)
    np.testing.assert_allclose(many, weighted, atol=1e-4)


def _wide(n, d=40_000, per_row=4):
    columns = np.random.default_rng(0).integers(0, d, n * per_row)
    starts = np.arange(0, n * per_row + 1, per_row)
    return sp.csr_matrix((np.ones(n * per_row), columns, starts), shape=(n, d))


@pytest.mark.parametrize(
    "work",
    [
        lambda: DCoT(3000, memory_limit="50MB").fit(_wide(20_000)),
        lambda: DCoT(solver="primal", memory_limit="50MB").fit(_wide(99)),
        lambda: DCoT(memory_limit="50MB").partial_fit(_wide(99)),
    ],
)
def test_too_large_is_refused_before_it_is_tried(work):
    with pytest.raises(OutOfMemoryError, match="allowed"):
        work()


@pytest.mark.parametrize("n_classes", [2, 300])
def test_numbers_of_classes(n_classes):
    texts = [f"w{n % n_classes} w{(7 * n) % 50} common" for n in range(4 * n_classes)]
    labels = [f"c{n % n_classes}" for n in range(len(texts))]
    model = DCoTClassifier(vectorizer=DCoTVectorizer(min_df=1), selection="none").fit(texts, labels)
    assert len(model.classes_) == n_classes
    assert model.score(texts, labels) > 0.9


def test_a_document_of_very_many_terms():
    texts = [" ".join(f"t{n}" for n in range(100_000)), "t1 t2", "t2 t3", "t1 t3"]
    features = DCoTVectorizer(n_prototypes=10, min_df=1).fit_transform(texts)
    assert np.isfinite(features).all()
