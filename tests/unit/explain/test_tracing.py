"""Shares of words: they add up, and are what a naive computation gives."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import counts

from dcot import DCoT
from dcot.explain.tracing import Trace

RNG = np.random.default_rng(0)
X = counts(RNG, 30, 12)


def naive_values(layers, row):
    """Loops over W and b: what every layer gives for a document, less what it gives for none."""
    found = []
    z, empty = np.asarray(row, dtype=np.float64), np.zeros(len(row))
    for layer in layers:
        outputs = []
        for inputs in (z, empty):
            out = np.zeros(layer.coef_.shape[1])
            for p in range(len(out)):
                out[p] = layer.intercept_[p]
                for j in range(len(inputs)):
                    out[p] += inputs[j] * layer.coef_[j, p]
                if layer.squash == "tanh":
                    out[p] = np.tanh(out[p])
            outputs.append(out)
        z, empty = outputs
        found.append(z - empty)
    return found


def naive_shares(layers, row):
    """Word by word through every layer; a squashing is the line from the empty document."""
    own = {j: row[j] * layers[0].coef_[j].astype(float) for j in np.flatnonzero(row)}
    at, found = layers[0].intercept_.astype(float), []
    for number, layer in enumerate(layers):
        if number:
            own = {j: part @ layer.coef_ for j, part in own.items()}
            at = below @ layer.coef_ + layer.intercept_  # noqa: F821
        step = sum(own.values())
        if layer.squash == "tanh":
            slope = (np.tanh(at + step) - np.tanh(at)) / step
            own = {j: part * slope for j, part in own.items()}
        below = np.tanh(at) if layer.squash == "tanh" else at  # noqa: F841
        found.append(np.array([own[j] for j in sorted(own)]))
    return found


@pytest.mark.parametrize("squash", ["identity", "tanh"])
def test_values_and_shares_are_the_naive_ones(squash):
    model = DCoT(6, n_layers=3, squash=squash, noise=0.5).fit(X)
    row = X[3]
    trace = Trace.of(sp.csr_array(row[None, :]), model.layers_)
    values, shares = naive_values(model.layers_, row), naive_shares(model.layers_, row)
    for depth in (1, 2, 3):
        np.testing.assert_allclose(trace.added[depth - 1], values[depth - 1], atol=1e-12)
        found = trace.shares(depth, np.eye(6))
        np.testing.assert_allclose(found, shares[depth - 1], atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    squash=st.sampled_from(["identity", "tanh"]),
    n_layers=st.integers(1, 4),
    output=st.sampled_from(["layers", "concat", "last"]),
    dtype=st.sampled_from(["float32", "float64"]),
    noise=st.floats(0.0, 0.95),
    scale=st.sampled_from([1e-6, 1.0, 50.0]),
    place=st.integers(0, 29),
)
def test_shares_add_up(squash, n_layers, output, dtype, noise, scale, place):
    model = DCoT(7, n_layers=n_layers, squash=squash, output=output, dtype=dtype, noise=noise).fit(
        X
    )
    row = X[[place]] * scale
    meaning = model.explain(row, k=7)
    for part in meaning.layers:
        top = np.abs(part.values).max()
        np.testing.assert_allclose(
            part.shares.sum(axis=0), part.values, rtol=1e-9, atol=1e-9 * top + 1e-15
        )
        assert part.word_shares.sum() == pytest.approx(1, abs=1e-9)
        rebuilt = model.reconstruct(row, layer=part.layer, subtract_bias=True)[0]
        close = 1e-10 if dtype == "float64" else 1e-4
        order = [int(name[1:]) for name in part.prototypes]
        inverse = np.searchsorted(model.prototypes_, order)
        np.testing.assert_allclose(part.values, rebuilt[inverse], atol=close * max(top, 1))


def test_squashing_that_saturates_is_shared_out_too():
    model = DCoT(5, n_layers=2, squash="tanh", noise=0.1, shrinkage=0.0).fit(X)
    for part in model.explain(X[[0]] * 1e4, k=5).layers:
        assert np.isfinite(part.shares).all()
        np.testing.assert_allclose(part.shares.sum(axis=0), part.values, atol=1e-9)
