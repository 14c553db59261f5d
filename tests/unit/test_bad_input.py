"""Bad input gets a clear error of dcot's own, and of the usual type."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from dcot import DCoT, DcotError

X = np.array([[1.0, 2, 0], [0, 1, 1], [2, 0, 1]])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"noise": 1.0}, "noise must be in .* nothing to learn from"),
        ({"noise": -0.1}, "noise must be in"),
        ({"noise": "high"}, "noise must be a number"),
        ({"noise": []}, "noise must be a number"),
        ({"noise": (0.5, 1.5)}, "got 1.5"),
        ({"n_layers": 0}, "n_layers must be an integer from 1 to 100"),
        ({"n_layers": 1000}, "n_layers must be an integer from 1 to 100"),
        ({"n_layers": 1.5}, "n_layers"),
        ({"n_prototypes": 0}, "n_prototypes must be a positive integer"),
        ({"n_prototypes": True}, "n_prototypes"),
        ({"n_components": 0}, "n_components"),
        ({"shrinkage": -1}, "shrinkage must be a number, zero or more"),
        ({"shrinkage": float("nan")}, "shrinkage"),
        ({"squash": "relu"}, "squash must be one of 'identity', 'tanh', got 'relu'"),
        ({"output": "all"}, "output must be one of"),
        ({"normalize": "l3"}, "normalize must be one of"),
        ({"solver": "lu"}, "solver must be one of 'auto', 'primal', 'dual', 'cg'"),
        ({"tol": 0}, "tol must be a number, positive"),
        ({"dtype": "float16"}, "dtype must be 'float32', 'float64' or None"),
        ({"dtype": "no such"}, "dtype must be"),
        ({"memory_limit": "lots"}, "memory_limit must be"),
        ({"prototypes": "rare"}, "prototypes must be 'frequent'"),
        ({"prototypes": [0, 3]}, "column 3, but there are 3 terms"),
        ({"prototypes": [-1]}, "column -1"),
        ({"prototypes": []}, "at least one term"),
        ({"prototypes": ["oil"]}, "columns have no names"),
        ({"prototypes": [0.5]}, "column indices or feature names"),
    ],
)
def test_parameters(options, words):
    with pytest.raises(DcotError, match=words) as caught:
        DCoT(**options).fit(X)
    assert isinstance(caught.value, ValueError | TypeError)


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.array([[1.0, np.nan]]), "NaN"),
        (sp.csr_array(np.array([[1.0, np.inf]])), "infinity"),
        (np.empty((0, 3)), "0 sample"),
        (np.empty((3, 0)), "0 feature"),
        (np.zeros((4, 3)), "all 4 documents are empty"),
        (sp.csr_array((4, 3)), "all 4 documents are empty"),
        (np.ones(3), "2D"),
        (np.array([[1 + 2j]]), "Complex"),
        ([["a", "b"]], "string|numeric"),
    ],
)
def test_documents(matrix, words):
    with pytest.raises(DcotError, match=words) as caught:
        DCoT().fit(matrix)
    assert isinstance(caught.value, ValueError)


def test_too_large_for_float32():
    with pytest.raises(DcotError, match="too large for float32"):
        DCoT(dtype="float32").fit(X * 1e300)
    with pytest.raises(DcotError, match="too large for float32"):
        DCoT(dtype="float32").fit(sp.csr_array(X * 1e300))


def test_wrong_number_of_columns_at_transform():
    with pytest.raises(DcotError, match="has 2 features, but DCoT is expecting 3"):
        DCoT().fit(X).transform(X[:, :2])


@pytest.mark.parametrize("call", ["transform", "reconstruct"])
def test_not_fitted(call):
    with pytest.raises(DcotError, match="not fitted") as caught:
        getattr(DCoT(), call)(X)
    assert isinstance(caught.value, NotFittedError)


@pytest.mark.parametrize("layer", [0, 3, -1, 1.0, "one"])
def test_no_such_layer(layer):
    with pytest.raises(DcotError, match="layer must be an integer from 1 to 2"):
        DCoT().fit(X).reconstruct(X, layer=layer)


@pytest.mark.parametrize("weights", [[1, 2], [1, -1, 1], [0, 0, 0], [1, 1, np.nan]])
def test_weights(weights):
    with pytest.raises(DcotError, match="sample_weight must"):
        DCoT().fit(X, sample_weight=weights)


@pytest.mark.parametrize("solver", ["auto", "primal", "dual", "cg"])
def test_too_large_for_memory_is_said_before_allocating(solver):
    large = sp.random_array((3000, 2000), density=0.001, format="csr", random_state=0)
    with pytest.raises(DcotError, match=r"needs about .* are allowed: .*") as caught:
        DCoT(solver=solver, memory_limit="1 MB").fit(large)
    assert isinstance(caught.value, MemoryError)


def test_memory_error_names_the_way_out():
    large = sp.random_array((3000, 3000), density=0.001, format="csr", random_state=0)
    with pytest.raises(MemoryError, match="solver='cg' fits"):
        DCoT(20, solver="primal", memory_limit="20 MB").fit(large)
    with pytest.raises(MemoryError, match="partial_fit keeps 3000 × 3000 moments"):
        DCoT(20, memory_limit="20 MB").partial_fit(large)


def test_depth_and_features_too_large_for_memory(monkeypatch):
    wide = sp.random_array((50, 3000), density=0.01, format="csr", random_state=0)
    with pytest.raises(MemoryError, match="a layer from 3000 to 3000 prototypes"):
        DCoT(memory_limit="50 MB").fit(wide)
    model = DCoT(10).fit(wide)
    monkeypatch.setattr("dcot.estimator.allowance", lambda limit: 1000.0)
    with pytest.raises(DcotError, match="transform in batches, or set n_components"):
        model.transform(wide)


def test_partial_fit_that_cannot_be_exact_is_not_offered():
    for options in ({"squash": "tanh"}, {"n_components": 2}):
        model = DCoT(**options)
        assert not hasattr(model, "partial_fit")
        with pytest.raises(AttributeError) as caught:
            _ = model.partial_fit
        assert "use fit" in str(caught.value.__cause__)


def test_partial_fit_refuses_other_columns_and_empty_corpora():
    model = DCoT().partial_fit(X)
    with pytest.raises(DcotError, match="has 2 features"):
        model.partial_fit(X[:, :2])
    model = DCoT().partial_fit(np.zeros((2, 3)))
    with pytest.raises(DcotError, match="documents are empty"):
        model.transform(X)
    assert np.isfinite(model.partial_fit(X).transform(X)).all()


def test_empty_noise_path():
    with pytest.raises(DcotError, match="at least one noise level"):
        DCoT().noise_path(X, [])


def test_negative_values_are_fine():
    rng = np.random.default_rng(0)
    features = DCoT(squash="tanh").fit_transform(rng.normal(size=(30, 6)))
    assert np.isfinite(features).all()
