"""A call that fails changes nothing of a counter or a weighting."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dcot.errors import DcotError
from dcot.text import TermCounter, TermWeighting


def state(model):
    return {name: np.array(value).tolist() for name, value in vars(model).items()}


@pytest.mark.parametrize("method", ["fit", "fit_transform", "partial_fit"])
@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("texts", [["x", None], "one text", [1, 2]])
def test_a_counter_that_fails_keeps_its_terms(method, fixed, texts):
    counter = TermCounter(vocabulary=["old"] if fixed else None).fit(["old"] * 3)
    if fixed:
        counter.set_params(vocabulary=["x", "y"])
    with pytest.raises(DcotError):
        getattr(counter, method)(texts)
    assert counter.get_feature_names_out().tolist() == ["old"]
    assert counter.vocabulary_ == {"old": 0}
    assert counter.n_documents_ == 3


@pytest.mark.parametrize("method", ["fit", "fit_transform", "partial_fit"])
@pytest.mark.parametrize("X", [[[1, -1]], [[np.nan, 1]], [["a", "b"]], np.ones((0, 2))])
def test_a_weighting_that_fails_keeps_what_it_learned(method, X):
    weighting = TermWeighting().fit(pd.DataFrame([[1, 0, 2]], columns=["a", "b", "c"]))
    before = state(weighting)
    with pytest.raises(DcotError):
        getattr(weighting, method)(X)
    assert state(weighting) == before


def test_weights_that_overflow_change_nothing():
    weighting = TermWeighting().fit([[1, 0, 2]])
    before = state(weighting)
    with pytest.raises(DcotError, match="overflow"), np.errstate(over="ignore"):
        weighting.fit_transform(np.array([[1.7e308, 1.0], [0.0, 1.0], [0.0, 1.0]]))
    assert state(weighting) == before
