"""One helper to hold fits against each other: in memory, in batches, on a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np


def assert_same_model(got: Any, expected: Any, tol: float = 1e-9) -> None:
    """The same model, attribute by attribute, to ``tol`` relative to the largest value."""
    for part in ("counter_", "weighting_"):
        if hasattr(expected, part):
            _same_text_parts(got, expected)
            break
    a, b = getattr(got, "dcot_", got), getattr(expected, "dcot_", expected)
    assert a.n_features_in_ == b.n_features_in_
    assert a.n_documents_ == b.n_documents_
    assert a.prototypes_.tolist() == b.prototypes_.tolist()
    assert len(a.layers_) == len(b.layers_)
    for mine, other in zip(a.layers_, b.layers_, strict=True):
        assert mine.coef_.dtype == other.coef_.dtype
        assert mine.squash == other.squash
        assert mine.converged_ == other.converged_
        _close(mine.coef_, other.coef_, tol)
        _close(mine.intercept_, other.intercept_, tol)
        _close(mine.loss_, other.loss_, tol)
        assert (mine.mean_ is None) == (other.mean_ is None)
        if mine.mean_ is not None:
            _close(mine.mean_, other.mean_, tol)
    assert (a.components_ is None) == (b.components_ is None)
    if a.components_ is not None:
        _close(np.abs(a.components_), np.abs(b.components_), 1e3 * tol)
    assert got.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()


def _same_text_parts(got: Any, expected: Any) -> None:
    names = expected.counter_.get_feature_names_out().tolist()
    assert got.counter_.get_feature_names_out().tolist() == names
    assert got.counter_.n_documents_ == expected.counter_.n_documents_
    assert got.weighting_.n_documents_ == expected.weighting_.n_documents_
    np.testing.assert_allclose(got.weighting_.idf_, expected.weighting_.idf_, rtol=1e-12)
    np.testing.assert_allclose(got.weighting_.mean_length_, expected.weighting_.mean_length_, 1e-6)


def _close(got: Any, expected: Any, tol: float) -> None:
    scale = max(float(np.abs(expected).max()), 1e-3)
    assert float(np.abs(np.asarray(got) - np.asarray(expected)).max()) <= tol * scale
