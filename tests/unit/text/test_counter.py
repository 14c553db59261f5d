"""The contract of TermCounter: what scikit-learn's own checks cannot say about text."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.validation import check_is_fitted

from dcot import DcotError
from dcot.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    OutOfMemoryError,
)
from dcot.text import TermCounter, TermWeighting, counting

TEXTS = ["Tea for two", "two and TWO is tea", "", "coffee"]
ANY_TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), max_size=8)


def same(left, right):
    assert left.shape == right.shape
    assert left.dtype == right.dtype
    for name in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(left, name), getattr(right, name)), name


def test_sorted_columns_and_canonical_rows():
    X = TermCounter().fit_transform(TEXTS)
    assert isinstance(X, sparse.csr_matrix)
    assert X.dtype == np.int64
    assert X.indices.dtype == np.int32
    assert X.has_sorted_indices
    checked = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape)
    assert checked.has_canonical_format
    assert X[2].nnz == 0


def test_fit_then_transform_is_fit_transform():
    same(TermCounter().fit(TEXTS).transform(TEXTS), TermCounter().fit_transform(TEXTS))


def test_names_vocabulary_and_terms_agree():
    counter = TermCounter().fit(TEXTS)
    names = counter.get_feature_names_out()
    assert names.dtype == object
    assert names.tolist() == sorted(names)
    assert counter.vocabulary_ == {name: i for i, name in enumerate(names)}
    assert counter.n_terms_ == len(names) == counter.transform(["x"]).shape[1]
    assert [row.tolist() for row in counter.inverse_transform(counter.transform(TEXTS))][:3] == [
        ["for", "tea", "two"],
        ["and", "is", "tea", "two"],
        [],
    ]
    with pytest.raises(InvalidInputError, match="expected 6"):
        counter.inverse_transform(np.ones((1, 2)))


def test_unknown_terms_are_passed_over():
    X = TermCounter().fit(TEXTS).transform(["nothing known", "tea"])
    assert X.sum() == 1
    assert TermCounter().fit(TEXTS).transform([]).shape == (0, 6)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
def test_threads_change_nothing(monkeypatch, n_threads, analyzer):
    monkeypatch.setattr(counting, "_SLICE_BYTES", dict.fromkeys(("word", "char", "char_wb"), 200))
    random = np.random.default_rng(0)
    words = np.array([f"w{i}é" for i in range(300)])
    texts = [" ".join(random.choice(words, size=random.integers(0, 30))) for _ in range(200)]
    expected = CountVectorizer(analyzer=analyzer, ngram_range=(1, 2))
    counter = TermCounter(analyzer=analyzer, ngram_range=(1, 2), n_threads=n_threads)
    theirs = expected.fit_transform(texts)
    theirs.sort_indices()
    same(counter.fit_transform(texts), theirs)
    same(counter.transform(texts), theirs)
    same(TermCounter(**counter.get_params()).fit(texts).transform(texts), theirs)


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.uint8])
def test_dropping_terms_closes_the_gaps_between_slices(monkeypatch, dtype):
    monkeypatch.setattr(counting, "_SLICE_BYTES", {"word": 50})
    texts = [f"common only{i} shared{i % 7}" for i in range(100)]
    counter = TermCounter(min_df=2, max_df=0.9, dtype=dtype)
    theirs = CountVectorizer(min_df=2, max_df=0.9, dtype=dtype).fit_transform(texts)
    theirs.sort_indices()
    same(counter.fit_transform(iter(texts)), theirs)
    same(counter.transform(iter(texts)), theirs)


def test_clone_and_pickle():
    counter = TermCounter(ngram_range=(1, 2), stop_words=["is"], binary=True).fit(TEXTS)
    assert not hasattr(clone(counter), "_terms")
    assert clone(counter).get_params() == counter.get_params()
    assert counter.vocabulary_
    counter.transform(TEXTS)
    again = pickle.loads(pickle.dumps(counter))
    same(again.transform(TEXTS), counter.transform(TEXTS))
    assert again.vocabulary_ == counter.vocabulary_


def test_fitted_state_is_lean():
    texts = [f"alpha beta {i:06d} gamma" for i in range(20_000)]
    counter = TermCounter(min_df=2).fit(texts)
    counter.transform(texts)
    assert counter.n_terms_ == 3
    assert len(pickle.dumps(counter)) < 5_000


def test_not_fitted():
    counter = TermCounter()
    for method in (counter.transform, counter.inverse_transform):
        with pytest.raises(NotFittedError, match="call fit first"):
            method(TEXTS)
    with pytest.raises(NotFittedError, match="call fit first"):
        counter.get_feature_names_out()
    with pytest.raises(NotFittedError):
        check_is_fitted(counter)
    for name in ("vocabulary_", "n_terms_"):
        assert not hasattr(counter, name)


def test_fixed_vocabulary_needs_no_fit():
    counter = TermCounter(vocabulary=["two", "tea"])
    assert counter.transform(TEXTS).toarray().tolist() == [[1, 1], [2, 1], [0, 0], [0, 0]]
    assert counter.get_feature_names_out().tolist() == ["two", "tea"]
    same(counter.fit_transform(TEXTS), counter.transform(TEXTS))
    assert counter.fit(TEXTS).n_documents_ == 4
    mapped = TermCounter(vocabulary={"tea": 1, "two": 0})
    same(mapped.transform(TEXTS), counter.transform(TEXTS))
    assert TermCounter(vocabulary={"two", "tea"}).fit([]).vocabulary_ == {"tea": 0, "two": 1}


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        ([], "empty"),
        (["a", "a"], "twice"),
        ({"a": 0, "b": 0}, "same column"),
        ({"a": 0, "b": 2}, "none for column 1"),
        ("tea", "must be a list"),
        (3, "must be a list"),
        ([3], "must hold strings"),
    ],
)
def test_bad_vocabularies(vocabulary, message):
    with pytest.raises(DcotError, match=message):
        TermCounter(vocabulary=vocabulary, lowercase=False).fit(TEXTS)


def test_partial_fit_adds_columns_at_the_end():
    counter = TermCounter().partial_fit(["two teas"])
    before = counter.transform(["two teas"])
    counter.partial_fit(["a cup of tea", "two cups"]).partial_fit([])
    assert counter.get_feature_names_out().tolist() == ["teas", "two", "cup", "cups", "of", "tea"]
    assert counter.n_documents_ == 3
    after = counter.transform(["two teas"])
    assert np.array_equal(after[:, :2].toarray(), before.toarray())
    assert after[:, 2:].nnz == 0


@settings(deadline=None, max_examples=40)
@given(ANY_TEXTS, ANY_TEXTS)
def test_partial_fit_in_pieces_is_one_fit_but_for_the_order_of_columns(first, second):
    try:
        whole = TermCounter(min_word_length=1).fit(first + second)
        pieces = TermCounter(min_word_length=1).partial_fit(first)
    except InvalidInputError:
        return  # no terms
    pieces.partial_fit(second)
    assert sorted(pieces.vocabulary_) == sorted(whole.vocabulary_)
    order = [pieces.vocabulary_[name] for name in whole.get_feature_names_out()]
    X = pieces.transform(first + second)[:, order]
    assert (whole.transform(first + second) != X).nnz == 0


def test_partial_fit_with_what_does_not_grow():
    fixed = TermCounter(vocabulary=["tea"]).partial_fit(TEXTS).partial_fit(["milk"])
    assert fixed.vocabulary_ == {"tea": 0}
    assert fixed.n_documents_ == 5
    frozen = TermCounter(min_df=2, grow_vocabulary=False).partial_fit(TEXTS).partial_fit(["milk"])
    assert frozen.vocabulary_ == {"tea": 0, "two": 1}
    assert frozen.n_documents_ == 5


@pytest.mark.parametrize(
    "limit", [{"min_df": 2}, {"max_df": 0.5}, {"max_df": 1}, {"max_features": 3}]
)
def test_limits_and_growth_do_not_go_together(limit):
    with pytest.raises(InvalidParameterError, match="grow_vocabulary=False"):
        TermCounter(**limit).partial_fit(TEXTS)


def test_refit_forgets():
    counter = TermCounter().fit(TEXTS)
    assert "coffee" in counter.vocabulary_
    assert counter.fit(["milk"]).vocabulary_ == {"milk": 0}


@pytest.mark.parametrize(
    ("parameters", "texts", "message"),
    [
        ({}, [], "no documents"),
        ({}, ["", " "], "no terms in 2 documents: token_pattern"),
        ({"stop_words": "english"}, ["the", "of it"], "stop_words dropped all 3 words"),
        ({"min_df": 5}, TEXTS, "none of the 6 terms in 4 documents .* min_df=5 dropped 6 and"),
        ({"max_df": 0.3}, ["tea", "tea"], "max_df=0.3 dropped 1"),
        ({"min_df": 2, "max_df": 2}, ["tea", "milk", "cup"], "min_df=2 dropped 3 and"),
        ({"min_df": 3, "max_df": 2}, TEXTS, "no term can be in at least 3 and at most 2"),
    ],
)
def test_an_empty_vocabulary_says_why(parameters, texts, message):
    counter = TermCounter(**parameters)
    with pytest.raises(ValueError, match=message):
        counter.fit(texts)
    assert not hasattr(counter, "vocabulary_")


@pytest.mark.parametrize(
    "parameters",
    [
        {"analyzer": "sentence"}, {"strip_accents": "latin"}, {"ngram_range": (2, 1)},
        {"ngram_range": (0, 1)}, {"ngram_range": 2}, {"ngram_range": (1.0, 2.0)}, {"min_df": 0},
        {"min_df": 1.5}, {"max_df": -0.1}, {"max_df": True}, {"min_df": "2"}, {"max_features": 0},
        {"stop_words": "german"}, {"stop_words": 3}, {"stop_words": [3]}, {"n_threads": 0},
        {"stop_words": iter(["is"])}, {"dtype": np.float16}, {"dtype": "longdouble"},
        {"min_word_length": "2"}, {"max_features": 2.0},
    ],
)  # fmt: skip
def test_bad_settings_are_named(parameters):
    with pytest.raises(DcotError, match=next(iter(parameters))):
        TermCounter(**parameters).fit(TEXTS)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"analyzer": "char", "stop_words": "english"}, "stop_words has no effect"),
        ({"analyzer": "char", "token_pattern": r"\w+"}, "token_pattern has no effect"),
        ({"analyzer": str.split, "ngram_range": (1, 2)}, "ngram_range has no effect"),
        ({"vocabulary": ["Tea"]}, "upper-case"),
        ({"stop_words": ["don't"]}, r"\['don'\]"),
    ],
)
def test_settings_without_effect_are_warned_about(parameters, message):
    with pytest.warns(UserWarning, match=message):
        TermCounter(**parameters).fit(TEXTS)


def test_english_stop_words_need_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TermCounter(stop_words="english", min_word_length=1).fit(TEXTS)


JAPANESE = ["画像を変換するプログラムです。", "文書を検索するプログラムです。"] * 8
THAI = ["โปรแกรมแปลงรูปภาพ", "โปรแกรมค้นหาเอกสาร แผนที่"] * 5


@pytest.mark.parametrize("texts", [JAPANESE, THAI])
@pytest.mark.parametrize("words", [1, 2])
def test_phrases_without_spaces_are_warned_about(texts, words):
    counter = TermCounter(ngram_range=(1, words))
    with pytest.warns(UserWarning, match=r"whole phrases.*analyzer='char'") as caught:
        counter.fit(texts)
    assert any(repr(term[:20]) in str(caught[0].message) for term in counter.vocabulary_)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("texts", "parameters"),
    [
        (JAPANESE, {"analyzer": "char", "ngram_range": (2, 2)}),  # what the warning advises
        (JAPANESE[:3], {}),  # too few to say
        (["画像 を 変換 する プログラム です"] * 50, {"ngram_range": (1, 3)}),  # split into words
        (["프로그램을 검색하십시오 ㅋㅋㅋㅋㅋㅋㅋㅋ"] * 50, {}),  # Korean has spaces
        (["プログラムです"] * 20 + ["tea for two or more people and no less than that"] * 50, {}),
    ],
)
def test_words_are_not_taken_for_phrases(texts, parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TermCounter(**parameters).fit(texts)


def test_a_function_as_analyzer():
    counter = TermCounter(analyzer=lambda text: text.split("-"))
    assert counter.fit(["a-B-a", "", "ü"]).vocabulary_ == {"": 0, "B": 1, "a": 2, "ü": 3}
    assert counter.transform(["a-B-a"]).toarray().tolist() == [[0, 1, 2, 0]]
    with pytest.raises(InvalidTypeError, match=r"convert its terms with str\(\)"):
        TermCounter(analyzer=lambda text: [len(text)]).fit(TEXTS)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
def test_counts_that_a_small_type_cannot_hold(dtype):
    most = np.iinfo(dtype).max
    texts = ["tea " * (most + 1), "tea and coffee"]
    with pytest.raises(DcotError, match=f"{most + 1:,} times"):
        TermCounter(dtype=dtype).fit_transform(texts)
    assert TermCounter(dtype=dtype, binary=True).fit_transform(texts).max() == 1
    assert TermCounter(dtype=dtype).fit_transform([texts[0][4:]]).max() == most


@pytest.mark.parametrize("dtype", ["01", ",", "object", "float16"])
def test_other_dtypes(dtype):
    with pytest.raises(InvalidTypeError, match="dtype must be a type of whole numbers"):
        TermCounter(dtype=dtype).fit(TEXTS)


def test_dtype_and_binary():
    X = TermCounter(dtype=np.float32, binary=True).fit_transform(TEXTS)
    assert X.dtype == np.float32
    assert set(X.data) == {1.0}


def test_a_very_long_document():
    text = "alpha beta gamma delta " * 450_000  # 10 MB
    counter = TermCounter(ngram_range=(1, 2))
    X = counter.fit_transform([text, "alpha"])
    assert X[0, counter.vocabulary_["alpha"]] == 450_000
    assert X[0, counter.vocabulary_["delta alpha"]] == 449_999
    assert TermCounter().fit([("x" * 10_000_000) + " y z", "zz"]).n_terms_ == 2


def test_very_many_documents_of_one_word():
    X = TermCounter().fit_transform([f"word{i % 1000}" for i in range(200_000)])
    assert X.shape == (200_000, 1000)
    assert np.array_equal(np.diff(X.indptr), np.ones(200_000))


def test_in_a_pipeline_and_a_grid_search():
    pipeline = make_pipeline(TermCounter(), TermWeighting(), RidgeClassifier())
    texts, labels = ["good film", "bad film", "good one", "bad one"] * 5, [1, 0, 1, 0] * 5
    search = GridSearchCV(pipeline, {"termcounter__ngram_range": [(1, 1), (1, 2)]}, cv=2)
    assert search.fit(texts, labels).score(texts, labels) == 1.0
    assert "good" in search.best_estimator_[:-1].get_feature_names_out()


CHECKS = [
    "check_estimator_cloneable", "check_estimator_repr", "check_estimator_tags_renamed",
    "check_valid_tag_types", "check_no_attributes_set_in_init", "check_get_params_invariance",
    "check_parameters_default_constructible", "check_set_params", "check_mixin_order",
]  # fmt: skip


@pytest.mark.parametrize("name", CHECKS)
def test_checks_of_scikit_learn_that_need_no_matrix(name):
    """Given an estimator that takes text, its own generator of checks stops after one."""
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"this version of scikit-learn has no {name}")
    check("TermCounter", TermCounter())


def test_fit_changes_no_parameter_and_no_input():
    texts = pl.Series(TEXTS)
    counter = TermCounter(stop_words=["is"], vocabulary=["tea", "is"])
    before = dict(counter.get_params())
    counter.fit(texts)
    counter.transform(texts)
    assert counter.get_params() == before
    assert texts.to_list() == TEXTS


def test_importing_dcot_imports_no_text():
    code = "import sys, dcot; assert not {'dcot.text', 'numba', 'polars'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_vocabulary_may_be_an_iterator():
    counts = TermCounter(vocabulary=iter(["tea", "two"])).fit_transform(["two teas, tea", "tea"])
    assert counts.toarray().tolist() == [[1, 1], [1, 0]]


@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
@pytest.mark.parametrize("high", [1001, 2**31, 2**62, 2**64])
def test_ngrams_have_a_largest_length(analyzer, high):
    with pytest.raises(InvalidParameterError, match="second <= 1000"):
        TermCounter(analyzer=analyzer, ngram_range=(1, high)).fit(TEXTS)


@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
@pytest.mark.parametrize("ngram_range", [(1, 1000), (3, 1000), (1000, 1000), (4, 5)])
def test_ngrams_longer_than_the_documents(analyzer, ngram_range):
    texts = ["tea for two", "", "é", "two 中文 teas for a tall man", "x" * 40]
    parameters = {"analyzer": analyzer, "ngram_range": ngram_range}
    theirs = CountVectorizer(**parameters)
    try:
        expected = theirs.fit_transform(texts)
    except ValueError:
        with pytest.raises(DcotError, match="no terms"):
            TermCounter(**parameters).fit(texts)
        return
    expected.sort_indices()
    same(TermCounter(**parameters).fit_transform(texts), expected)


@pytest.mark.parametrize(
    "parameters", [{"min_word_length": 1001}, {"n_threads": 2**40}, {"max_features": 2**70}]
)
def test_settings_have_largest_values(parameters):
    with pytest.raises(InvalidParameterError, match=next(iter(parameters))):
        TermCounter(**parameters).fit(TEXTS)


def test_terms_that_do_not_fit_in_memory(monkeypatch):
    def no_memory(*arguments):
        raise MemoryError

    monkeypatch.setattr("dcot.text.kernels_bytes.character_ngrams", no_memory)
    with pytest.raises(OutOfMemoryError, match="use shorter n-grams"):
        TermCounter(analyzer="char", ngram_range=(1, 1000)).fit(TEXTS)


@pytest.mark.parametrize("interrupted", [True, False])
def test_an_interrupt_of_a_kernel_is_an_interrupt(interrupted):
    def kernel(_):  # numba hides what a signal raises while it makes arrays of the results
        cause = SystemError("inner")
        cause.__cause__ = KeyboardInterrupt() if interrupted else None
        raise SystemError("returned a result with an exception set") from cause

    with pytest.raises(KeyboardInterrupt if interrupted else SystemError):
        list(counting.in_threads(kernel, [1], n_threads=1))
