"""Everything that dcot.text raises on purpose is a DcotError, and unfitted use says so."""

from __future__ import annotations

import contextlib
import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import dcot
from dcot import DcotError
from dcot.text import TermCounter, TermWeighting, TextSource, read_texts

TEXTS = ["Tea for two", "two and TWO is tea", "", "coffee"]
COUNTS = np.array([[1, 0, 2], [0, 1, 1], [3, 0, 0]])
ODD_VALUES = [
    None, -1, 0, 2**62, 1.5, float("nan"), float("inf"), "", "x", b"x", [], ["a", 3], {"a": "b"},
    {"a": 0, "b": 7}, (1, 2**62), (0, 0), ("a", "b"), (1,), {3}, object(), np.array([1, 2]), len,
    str, ["\ud800"], lambda text: None, lambda text: 3, lambda text: ["a", None], "(?P<a>",
]  # fmt: skip


def raises_only_our_errors(work):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(DcotError):
            work()


def without_address(value):
    """A name that is the same in every process."""
    return re.sub(r" at 0x\w+", "", str(value))


@pytest.mark.parametrize("value", ODD_VALUES, ids=without_address)
@pytest.mark.parametrize("name", sorted(TermCounter().get_params()))
def test_odd_settings_of_a_counter(name, value):
    counter = TermCounter(**{name: value})
    raises_only_our_errors(lambda: counter.fit_transform(TEXTS))
    raises_only_our_errors(lambda: counter.transform(TEXTS))
    raises_only_our_errors(lambda: counter.partial_fit(TEXTS))
    raises_only_our_errors(lambda: counter.analyze("Tea for two"))


@pytest.mark.parametrize("value", ODD_VALUES, ids=without_address)
@pytest.mark.parametrize("name", sorted(TermWeighting().get_params()))
@pytest.mark.parametrize("scheme", ["tfidf", "bm25"])
def test_odd_settings_of_a_weighting(scheme, name, value):
    weighting = TermWeighting(**{"scheme": scheme, name: value})
    raises_only_our_errors(lambda: weighting.fit_transform(COUNTS))


@pytest.mark.parametrize("documents", ODD_VALUES, ids=without_address)
def test_odd_documents(documents):
    for method in ("fit", "fit_transform", "partial_fit"):
        raises_only_our_errors(lambda m=method: getattr(TermCounter(), m)(documents))
        raises_only_our_errors(lambda m=method: getattr(TermWeighting(), m)(documents))
    counter, weighting = TermCounter().fit(TEXTS), TermWeighting().fit(COUNTS)
    for use in (
        counter.transform, counter.inverse_transform, counter.analyze, weighting.transform,
        weighting.partial_fit,
    ):  # fmt: skip
        raises_only_our_errors(lambda u=use: u(documents))


@pytest.mark.parametrize("path", ["nowhere.txt", "nowhere.xyz", 3, None, [], [3], "bad\0name"])
def test_odd_paths(path):
    raises_only_our_errors(lambda: list(read_texts(path)))
    raises_only_our_errors(lambda: list(TextSource(path).batches()))


@pytest.mark.parametrize(
    "use",
    [
        lambda: TermCounter().transform(TEXTS),
        lambda: TermCounter().get_feature_names_out(),
        lambda: TermCounter().inverse_transform(COUNTS),
        lambda: TermCounter().vocabulary_,
        lambda: TermCounter().n_terms_,
        lambda: TermWeighting().transform(COUNTS),
    ],
)
def test_unfitted_use_says_so_in_the_same_words(use):
    with pytest.raises(dcot.errors.ModelNotFittedError, match="not fitted yet: call fit") as caught:
        use()
    assert isinstance(caught.value, NotFittedError)
    assert isinstance(caught.value, DcotError)


def test_attributes_of_an_unfitted_counter_are_absent():
    assert not hasattr(TermCounter(), "vocabulary_")
    assert not hasattr(TermCounter(), "n_terms_")


@pytest.mark.parametrize(
    "change",
    [
        ("indices", lambda array: array + 3),
        ("indices", lambda array: array - 1),
        ("indices", lambda array: np.full_like(array, 10**8)),
        ("indptr", lambda array: array[::-1].copy()),
        ("indptr", lambda array: np.array([0, 10**7, 3, 5], dtype=array.dtype)),
        ("indptr", lambda array: np.array([0, 2**63 - 1, -(2**63), 5])),
        ("indptr", lambda array: np.array([0, 2, 1, 5], dtype=np.uint64)),
    ],
)
def test_a_damaged_matrix_is_refused(change):
    name, damage = change
    X = sparse.csr_matrix(COUNTS.astype(float))
    setattr(X, name, damage(getattr(X, name)))
    weighting = TermWeighting().fit(COUNTS)
    for use in (TermWeighting().fit, weighting.transform, weighting.partial_fit):
        with pytest.raises(DcotError, match="not a valid sparse matrix"):
            use(X)


@pytest.mark.parametrize("kind", [np.int16, np.uint8, np.uint64, np.int64])
def test_indices_of_any_integers(kind):
    X = sparse.csr_matrix(COUNTS.astype(float))
    X.indices, X.indptr = X.indices.astype(kind), X.indptr.astype(kind)
    found = TermWeighting("bm25").fit_transform(X)
    expected = TermWeighting("bm25").fit_transform(COUNTS)
    np.testing.assert_array_equal(found.toarray(), expected.toarray())
