"""scikit-learn's own checks, none of them excused, and its tools around a DCoT."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.reference import counts

from dcot import DCoT

CHECKED = [
    DCoT(),
    DCoT(dtype="float64", n_prototypes=3),
    DCoT(n_components=3),
    DCoT(output="concat"),
    DCoT(output="lsi"),
    DCoT(output="last", normalize="center", squash="tanh", n_layers=3),
    DCoT(solver="cg", tol=1e-12),
    DCoT(solver="dual"),
    DCoT.paper(),
]


@parametrize_with_checks(CHECKED)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = counts(rng, 60, 15)
    X[np.arange(60), y] += 3
    return sp.csr_matrix(X), y


def test_grid_search_over_a_pipeline(data):
    X, y = data
    pipe = make_pipeline(Normalizer(), DCoT(n_prototypes=10), RidgeClassifier())
    grid = {"dcot__noise": [0.3, 0.9], "dcot__n_layers": [1, 2]}
    search = GridSearchCV(pipe, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.8


def test_feature_union_names(data):
    X, _ = data
    union = FeatureUnion([("a", DCoT(4)), ("b", DCoT(4, output="last"))]).fit(X)
    assert len(union.get_feature_names_out()) == union.transform(X).shape[1] == 12


def test_clone_keeps_every_parameter():
    model = DCoT.paper(7, noise=0.3, n_layers=4, solver="dual")
    assert clone(model).get_params() == model.get_params()


def test_set_output(data):
    X, _ = data
    frame = pd.DataFrame(X.toarray(), columns=[f"t{i}" for i in range(15)])
    model = DCoT(prototypes=["t3", "t1"], n_layers=1).fit(frame)
    names = ["dcot1_t1", "dcot1_t3"]
    pandas = model.set_output(transform="pandas").transform(frame)
    assert list(pandas.columns) == names
    polars = model.set_output(transform="polars").transform(frame)
    assert isinstance(polars, pl.DataFrame)
    assert polars.columns == names


def test_joblib_workers_do_not_oversubscribe(data):
    from dcot.runtime.resources import n_threads

    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        threads = joblib.Parallel(n_jobs=2)(joblib.delayed(n_threads)() for _ in range(2))
    assert threads == [1, 1]
    X, _ = data
    fits = joblib.Parallel(n_jobs=2, prefer="threads")(
        joblib.delayed(DCoT(5, solver="cg").fit_transform)(X) for _ in range(4)
    )
    for fit in fits:
        np.testing.assert_array_equal(fit, fits[0])
