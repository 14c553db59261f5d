"""TermWeighting against scikit-learn, against its formulas, and in scikit-learn's checks."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from dcot.errors import InvalidInputError, InvalidParameterError
from dcot.text import TermWeighting

COUNTS = np.array([[3, 0, 1, 0], [0, 2, 1, 0], [0, 0, 0, 0], [1, 1, 1, 5]])
SCHEMES = ["counts", "binary", "log", "tfidf", "bm25"]


@parametrize_with_checks(
    [TermWeighting(scheme) for scheme in SCHEMES]
    + [TermWeighting("tfidf", sublinear_tf=True, norm="l1", smooth_idf=False)]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_the_floor_is_the_idf_of_a_term_in_every_document():
    counts = np.array([[1, 1, 0], [1, 0, 2], [1, 1, 0]])
    usual = TermWeighting().fit(counts)
    low = TermWeighting(idf_floor=0.25).fit(counts)
    assert low.idf_[0] == pytest.approx(0.25)
    assert low.idf_ == pytest.approx(usual.idf_ - 0.75)
    for wrong in (-1, np.inf, np.nan, "1", None):
        with pytest.raises(InvalidParameterError, match="idf_floor"):
            TermWeighting(idf_floor=wrong).fit(counts)


@pytest.mark.parametrize("norm", ["l1", "l2", None])
@pytest.mark.parametrize("use_idf", [True, False])
@pytest.mark.parametrize("smooth_idf", [True, False])
@pytest.mark.parametrize("sublinear_tf", [True, False])
@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_tfidf_is_scikit_learns(norm, use_idf, smooth_idf, sublinear_tf, dtype):
    options = {
        "norm": norm, "use_idf": use_idf, "smooth_idf": smooth_idf, "sublinear_tf": sublinear_tf,
    }  # fmt: skip
    X = sparse.csr_matrix(COUNTS.astype(dtype))
    theirs = TfidfTransformer(**options).fit(X)
    ours = TermWeighting("tfidf", **options).fit(X)
    found, expected = ours.transform(X), theirs.transform(X)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.toarray(), expected.toarray(), rtol=1e-6)
    if use_idf:
        np.testing.assert_allclose(ours.idf_, theirs.idf_, rtol=1e-6)


def test_simple_schemes():
    fitted = {scheme: TermWeighting(scheme).fit_transform(COUNTS) for scheme in SCHEMES}
    assert np.array_equal(fitted["counts"].toarray(), COUNTS)
    assert np.array_equal(fitted["binary"].toarray(), COUNTS > 0)
    logs = np.where(COUNTS > 0, 1 + np.log(np.maximum(COUNTS, 1)), 0)
    np.testing.assert_allclose(fitted["log"].toarray(), logs)


def bm25(tf, df, length, mean, n, k1, b):
    idf = np.log(1 + (n - df + 0.5) / (df + 0.5))
    return idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean))


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0, 0), (2.0, 1.0)])
def test_bm25_is_its_formula(k1, b):
    found = TermWeighting("bm25", k1=k1, b=b).fit_transform(COUNTS).toarray()
    lengths, documents = COUNTS.sum(1), (COUNTS > 0).sum(0)
    for i, j in zip(*np.nonzero(COUNTS), strict=True):
        of = bm25(COUNTS[i, j], documents[j], lengths[i], lengths.mean(), 4, k1, b)
        assert found[i, j] == pytest.approx(of)
    assert not found[COUNTS == 0].any()


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(deadline=None, max_examples=30)
@given(counts=arrays(np.int64, (5, 4), elements=st.integers(0, 10_000)))
def test_weights_are_finite_not_negative_and_where_the_counts_are(scheme, counts):
    found = TermWeighting(scheme).fit_transform(counts).toarray()
    assert np.isfinite(found).all()
    assert np.array_equal(found > 0, counts > 0)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_corpus_of_empty_documents(scheme):
    assert TermWeighting(scheme).fit_transform(np.zeros((3, 2))).nnz == 0


def test_idf_stays_as_first_fitted():
    weighting = TermWeighting().partial_fit(COUNTS)
    before = weighting.idf_.copy()
    wider = np.hstack([COUNTS, np.ones((4, 2), dtype=int)])
    weighting.partial_fit(COUNTS[:1]).partial_fit(sparse.csr_matrix(wider))
    assert np.array_equal(weighting.idf_[:4], before)
    assert weighting.idf_[4:] == pytest.approx(np.log(5) + 1)
    assert weighting.n_features_in_ == 6
    assert weighting.transform(wider).shape == (4, 6)
    for wrong, message in ((COUNTS, "never removed"), (-np.ones((1, 9)), "Negative")):
        with pytest.raises(InvalidInputError, match=message):
            weighting.partial_fit(wrong)
        assert weighting.transform(wider).shape == (4, 6)  # as before


def test_names_of_added_columns():
    frame = pd.DataFrame(COUNTS, columns=list("abcd"))
    weighting = TermWeighting().partial_fit(frame).partial_fit(frame.assign(e=1))
    assert list(weighting.get_feature_names_out()) == list("abcde")
    weighting.partial_fit(frame.assign(e=1).to_numpy())
    assert not hasattr(weighting, "feature_names_in_")


def test_a_term_without_documents_is_not_infinitely_rare():
    X = np.array([[1, 0], [1, 0]])
    weighting = TermWeighting(smooth_idf=False).fit(X)
    assert np.isfinite(weighting.transform([[1, 1]]).toarray()).all()


def test_input_stays_as_it_is():
    X = sparse.csr_matrix(COUNTS.astype(float))
    X.data[0] = 0.0  # a stored zero
    copy = X.copy()
    found = TermWeighting("log").fit_transform(X)
    assert np.array_equal(X.data, copy.data)
    assert found.nnz == X.nnz - 1


@pytest.mark.parametrize(
    "settings", [{"scheme": "idf"}, {"norm": "max"}, {"k1": -1}, {"k1": np.nan}, {"b": 1.1}]
)
def test_settings_are_checked(settings):
    with pytest.raises(InvalidParameterError, match=next(iter(settings))):
        TermWeighting(**settings).fit(COUNTS)


def test_negative_numbers_are_no_counts():
    with pytest.raises(InvalidInputError, match="neither centred nor standardised"):
        TermWeighting().fit([[1, -1]])


def test_not_fitted():
    with pytest.raises(NotFittedError):
        TermWeighting().transform(COUNTS)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize(("dtype", "factor"), [("float32", 1e25), ("float64", 1e250)])
@pytest.mark.parametrize("power", [-1, 1])
def test_very_large_and_very_small_counts_have_the_directions_of_others(norm, dtype, factor, power):
    counts = np.array([[1, 2, 0], [0, 3, 4], [0, 0, 0]], dtype=dtype)
    options = {"sublinear_tf": False, "norm": norm}
    expected = TermWeighting(**options).fit_transform(counts).toarray()
    scaled = counts * np.array([[factor**power], [1], [1]]).astype(dtype)
    got = TermWeighting(**options).fit_transform(sparse.csr_matrix(scaled)).toarray()
    np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_documents_whose_weights_are_zero_or_negative(norm):
    everywhere = sparse.csr_matrix([[2.0, 0], [1, 0], [1, 1]])  # the first term says nothing
    for smooth_idf in (True, False):
        weighting = TermWeighting(norm=norm, idf_floor=0, smooth_idf=smooth_idf)
        found = weighting.fit_transform(everywhere).toarray()
        np.testing.assert_allclose(found, [[0, 0], [0, 0], [0, 1]], atol=1e-12)
    fractions = sparse.csr_matrix([[0.1, 0.2, 0], [0.1, 3, 0], [0, 0, 1]])
    options = {"norm": norm, "sublinear_tf": True}
    np.testing.assert_allclose(
        TermWeighting(**options).fit_transform(fractions).toarray(),
        TfidfTransformer(**options).fit_transform(fractions).toarray(),
    )


def test_weights_that_overflow_are_refused():
    counts = np.array([[1.7e308, 0], [1, 1], [0, 1]])
    with pytest.raises(InvalidInputError, match="the weights overflow"):
        TermWeighting(sublinear_tf=False).fit_transform(counts)
