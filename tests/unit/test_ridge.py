"""The ridge classifier against scikit-learn's, the long way round."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from dcot.ridge import STRENGTHS, KernelRidge


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    codes = np.arange(24) % 3
    F = rng.normal(size=(24, 40)) + 2.0 * rng.normal(size=(3, 40))[codes]
    labels = np.array(["a", "b", "c"])[codes]
    return F + 5.0, labels


def long_way_round(F, labels, strength):
    """Leave one document out, fit scikit-learn's ridge, predict it; all documents in turn."""
    centred = F - F.mean(0)
    alpha = strength * np.mean(np.linalg.eigvalsh(centred @ centred.T).clip(0))
    Y = np.where(labels[:, None] == np.unique(labels), 1.0, -1.0)
    errors = []
    for out in range(len(F)):
        rest = np.arange(len(F)) != out
        model = Ridge(alpha=alpha).fit(F[rest], Y[rest])
        errors.append((model.predict(F[[out]])[0] - Y[out]) ** 2)
    return np.mean(errors), Ridge(alpha=alpha).fit(F, Y)


@pytest.mark.parametrize("strength", [0.01, 1.0])
def test_leave_one_out_and_decisions_equal_the_long_way_round(data, strength):
    F, labels = data
    model = KernelRidge.fit(F @ F.T, labels, np.array([strength]))
    error, ridge = long_way_round(F, labels, strength)
    assert model.error == pytest.approx(error, rel=1e-8)
    new = np.random.default_rng(1).normal(size=(7, 40)) + 5
    np.testing.assert_allclose(model.decision(new @ F.T), ridge.predict(new), atol=1e-8)


def test_the_least_error_chooses_the_strength(data):
    F, labels = data
    model = KernelRidge.fit(F @ F.T, labels)
    errors = [KernelRidge.fit(F @ F.T, labels, np.array([s])).error for s in STRENGTHS]
    assert model.error == min(errors)
    assert model.strength == STRENGTHS[int(np.argmin(errors))]
    assert (model.predict(F @ F.T) == labels).mean() > 0.9


def test_one_document_a_class_and_identical_documents_stay_finite():
    for F in (np.eye(3), np.ones((3, 4))):
        model = KernelRidge.fit(F @ F.T, np.array([0, 1, 2]))
        assert np.isfinite(model.decision(F @ F.T)).all()
