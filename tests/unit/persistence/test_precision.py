"""Weights in 16 and 8 bits: smaller by what was promised, and close to what they were."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.unit.persistence.conftest import part

import dcot
from dcot import DCoT
from dcot.persistence.contents import pack, widened

# half a step of the last digit kept, relative to the largest weight of the column
ERRORS = {"float16": 2.0**-11, "int8": 0.5 / 127}


@pytest.fixture(scope="module")
def wide():
    X = np.random.default_rng(1).poisson(0.2, (60, 500)).astype(np.float64)
    return X, DCoT(150).fit(X.astype(np.float32))


@pytest.mark.parametrize(("precision", "times"), [("float16", 2), ("int8", 4)])
def test_size_and_closeness(wide, tmp_path, precision, times):
    X, model = wide
    model.save(tmp_path / "whole")
    model.save(tmp_path / "small", precision=precision)
    sizes = [part(tmp_path / name, "arrays").stat().st_size for name in ("whole", "small")]
    assert sizes[0] / sizes[1] == pytest.approx(times, rel=0.1)
    small = dcot.load(tmp_path / "small")
    for layer, exact in zip(small.layers_, model.layers_, strict=True):
        assert layer.coef_.dtype == np.float32
        bound = np.abs(exact.coef_).max(axis=0) * ERRORS[precision] * 1.001
        assert (np.abs(layer.coef_ - exact.coef_) <= bound).all()
    found, expected = small.transform(X), model.transform(X)
    assert found.dtype == np.float32
    lengths = np.linalg.norm(found, axis=1) * np.linalg.norm(expected, axis=1)
    cosine = (found * expected).sum(axis=1) / lengths
    assert cosine.min() > (0.999999 if precision == "float16" else 0.999)


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_a_float64_model_is_float32_after_that(wide, tmp_path, precision):
    X, _ = wide
    model = DCoT(20, squash="tanh", n_components=5, random_state=0).fit(X)
    model.save(tmp_path, precision=precision)
    small = dcot.load(tmp_path, mmap=True)
    assert small.transform(X).dtype == np.float32
    assert np.abs(small.transform(X) - model.transform(X)).max() < 0.05


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_saving_the_small_model_again_loses_nothing_more(wide, tmp_path, precision):
    X, model = wide
    model.save(tmp_path, precision=precision)
    once = dcot.load(tmp_path)
    once.save(tmp_path, precision=precision)
    np.testing.assert_allclose(dcot.load(tmp_path).transform(X), once.transform(X), atol=1e-5)


@given(
    hnp.arrays(
        np.float32,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
        elements=st.floats(-(2.0**100), 2.0**100, width=32),
    )
)
@settings(max_examples=100, deadline=None)
def test_no_column_is_off_by_more_than_its_last_digit(W):
    for precision, error in ERRORS.items():
        packed = pack({"W": W}, precision)
        assert packed["W"].dtype == precision
        assert set(packed) == {"W", "W.scale"}
        found = widened("W", packed["W"], packed["W.scale"])
        bound = np.abs(W).max(axis=0) * error * 1.001 + 1e-37
        assert (np.abs(found.astype(np.float64) - W) <= bound).all()


@pytest.mark.parametrize("precision", ["int4", np.array(["int8", "int8"]), 8])
def test_bad_precision(model, tmp_path, precision):
    with pytest.raises(dcot.DcotError, match="precision must be"):
        model.save(tmp_path / "new", precision=precision)
    with pytest.raises(dcot.DcotError, match="finite"):
        pack({"W": np.array([[np.inf]])}, "int8")
    assert not (tmp_path / "new").exists()
