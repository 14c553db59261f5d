"""What was saved comes back: the same class, parameters and features, to the last bit."""

from __future__ import annotations

import html
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from markdown_it import MarkdownIt
from sklearn.base import clone
from tests.unit.persistence.conftest import contents_of, same

import dcot
from dcot import DCoT, DCoTVectorizer
from dcot.persistence.contents import encode
from dcot.persistence.manifest import LARGEST

DCOT_SETTINGS = [
    {},
    {"output": "concat"},
    {"output": "last", "normalize": "center"},
    {"normalize": None},
    {"squash": "tanh", "n_layers": 3},
    {"squash": "tanh", "normalize": None, "n_layers": 1},
    {"n_components": 3, "random_state": 0},
    {"n_components": 3, "output": "concat", "random_state": 0},
    {"output": "lsi"},
    {"output": "all"},
    {"n_components": 3, "output": "lsi", "random_state": 0},
    {"solver": "cg", "noise": 0.5},
    {"solver": "primal", "shrinkage": [0.5, 0.1]},
    {"solver": "dual", "noise": np.array([0.3, 0.6])},
    {"prototypes": np.array([1, 3, 5])},
    {"memory_limit": "1GB", "ridge": np.float32(0.25), "n_layers": np.int64(2)},
]


@pytest.mark.parametrize("options", DCOT_SETTINGS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dcot(X, tmp_path, options, dtype):
    model = DCoT(**{"n_prototypes": 5, **options}).fit(X.astype(dtype))
    model.save(tmp_path / "model")
    again, mapped = (dcot.load(tmp_path / "model", mmap=mmap) for mmap in (False, True))
    assert type(again) is type(mapped) is DCoT
    for given in (X.astype(dtype), sp.csr_array(X.astype(dtype))):
        assert same(again.transform(given), model.transform(given))
        assert same(mapped.transform(given), model.transform(given))
        assert same(again.reconstruct(given, 1), model.reconstruct(given, 1))
    names = ["solver_", "n_iter_", "n_features_in_", "_n_features_out", "n_documents_"]
    assert all(getattr(again, name) == getattr(model, name) for name in names)
    np.testing.assert_array_equal(again.loss_, model.loss_)
    np.testing.assert_array_equal(again.prototypes_, model.prototypes_)
    assert list(again.get_feature_names_out()) == list(model.get_feature_names_out())
    _assert_same_parameters(again, model)
    assert same(clone(again).fit_transform(X), clone(model).fit_transform(X))


def _assert_same_parameters(again, model):
    read = DCoT.get_params if isinstance(model, DCoT) else DCoTVectorizer._short_params
    ours, theirs = read(again), read(model)
    for name, value in theirs.items():
        np.testing.assert_equal(ours[name], value, err_msg=name)
        if not isinstance(value, np.generic):
            assert type(ours[name]) is type(value), name


VECTORIZER_SETTINGS = [
    {},
    {"weighting": "bm25", "stop_words": "english"},
    {"weighting": "counts", "output": "concat", "squash": "tanh"},
    {"weighting": "log", "norm": "l1", "binary": True},
    {"analyzer": "char_wb", "ngram_range": (2, 3), "min_df": 2},
    {"analyzer": "char", "lowercase": False},
    {"strip_accents": "unicode", "ngram_range": (1, 2), "max_df": 0.5},
    {"n_components": 2, "random_state": 0, "max_features": 6},
    {"prototypes": ["oil", "corn"]},
    {"stop_words": frozenset(["the", "and"]), "token_pattern": "unicode", "min_word_length": 1},
    {"stop_words": ["the"], "token_pattern": r"(?u)\b[^\W\d_]+\b", "dtype": np.float64},
    {"vocabulary": ["oil", "wheat", "corn", "prices"], "use_idf": False},
    {"token_pattern": r"(?<=\w)\w+", "n_threads": 1},
]


@pytest.mark.parametrize("options", VECTORIZER_SETTINGS)
def test_vectorizer(texts, tmp_path, options):
    model = DCoTVectorizer(**{"n_prototypes": 4, **options}).fit(texts)
    model.save(tmp_path)
    again, mapped = (dcot.load(tmp_path, mmap=mmap) for mmap in (False, True))
    assert type(again) is type(mapped) is DCoTVectorizer
    more = [*texts, "unknown words", "oil öl OIL wheat"]
    assert same(mapped.transform(more), model.transform(more))
    assert same(again.transform(more), model.transform(more))
    assert same(again.weigh(more), model.weigh(more))
    assert again.vocabulary_ == model.vocabulary_
    assert list(again.get_feature_names_out()) == list(model.get_feature_names_out())
    _assert_same_parameters(again, model)
    assert same(clone(again).fit_transform(texts), clone(model).fit_transform(texts))


def test_a_vocabulary_in_any_form_becomes_a_list(texts, tmp_path):
    words = ["oil", "wheat", "corn"]
    forms = [dict(zip(words, range(3), strict=True)), set(words), tuple(words)]
    for number, form in enumerate(forms):
        model = DCoTVectorizer(vocabulary=form).fit(texts)
        model.save(tmp_path / str(number))
        again = dcot.load(tmp_path / str(number))
        assert again.counter.vocabulary == list(model.vocabulary_)
        assert same(again.transform(texts), model.transform(texts))


def test_names_of_columns_come_back(X, tmp_path):
    frame = pd.DataFrame(X, columns=[f"wörd{i}" for i in range(X.shape[1])])
    model = DCoT(4, prototypes=["wörd3", "wörd1"]).set_output(transform="pandas").fit(frame)
    model.save(tmp_path)
    again = dcot.load(tmp_path)
    pd.testing.assert_frame_equal(again.transform(frame), model.transform(frame))
    assert list(again.feature_names_in_) == list(frame.columns)
    with pytest.raises(dcot.DcotError, match="feature names"):
        again.transform(frame.rename(columns={"wörd1": "other"}))


def test_parts_keep_their_own_settings(texts, tmp_path):
    model = DCoTVectorizer(n_prototypes=4).fit(texts)
    expected = model.transform(texts)
    model.set_params(lowercase=False, weighting="bm25", output="last")  # for the next fit
    model.save(tmp_path)
    again = dcot.load(tmp_path)
    assert same(again.transform(texts), expected)
    assert again._short_params() == model._short_params()


def test_saving_twice_gives_identical_bytes(vectorizer, model, tmp_path):
    for saved in (vectorizer, model):
        first, second = tmp_path / f"{saved._saved_as}1", tmp_path / f"{saved._saved_as}2"
        saved.save(first)
        saved.save(second)
        before = contents_of(first)
        assert before == contents_of(second)
        saved.save(first)
        dcot.load(first).save(second)
        assert before == contents_of(first) == contents_of(second)


def test_a_new_model_leaves_nothing_of_the_old(vectorizer, model, tmp_path):
    vectorizer.save(tmp_path / "a")
    (tmp_path / "a" / "notes.txt").write_text("mine")
    model.save(tmp_path / "a")
    model.save(tmp_path / "b")
    left = contents_of(tmp_path / "a")
    assert left.pop("notes.txt") == b"mine"
    assert left == contents_of(tmp_path / "b")


def test_paths_of_any_kind(model, X, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in ("plain", "deeper/down", tmp_path / "päth", b"bytes"):
        model.save(path)
        assert same(dcot.load(path).transform(X), model.transform(X))
    (tmp_path / "link").symlink_to(tmp_path / "plain")
    model.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert same(dcot.load("link").transform(X), model.transform(X))


def test_mapped_models_do_not_change_their_files(model, X, tmp_path):
    model.save(tmp_path)
    before = contents_of(tmp_path)
    mapped = dcot.load(tmp_path, mmap=True)
    expected = mapped.transform(X)
    model.save(tmp_path, precision="int8")  # a new model over the mapped one
    assert same(mapped.transform(X), expected)
    model.save(tmp_path)
    mapped = dcot.load(tmp_path, mmap=True, verify=True)
    mapped.layers_[0].coef_[:] = 0
    assert contents_of(tmp_path) == before


def test_mapped_arrays_are_not_read(model, tmp_path):
    model.save(tmp_path)
    coef = dcot.load(tmp_path, mmap=True).layers_[0].coef_
    while isinstance(coef, np.ndarray):
        coef = coef.base
    assert type(coef.obj if isinstance(coef, memoryview) else coef).__name__ == "mmap"


def test_words_are_plain_text_on_the_card(tmp_path):
    """A label or a term cannot become a link, an image, HTML or another row of the table."""
    names = ["![x](http://example.org/y.png)", "[a](b)", "<b>", "a|b", "`c`", "*d*", "&lt;", "e_f_"]
    texts = [f"{name} {name} www.example.org" for name in names] * 2
    model = DCoTVectorizer(token_pattern=r"\S+", min_df=1, lowercase=False).fit(texts)
    model.save(tmp_path)
    row = next(line for line in (tmp_path / "README.md").read_text().splitlines() if "some" in line)
    page = MarkdownIt("commonmark").enable("table").render(f"| | |\n|---|---|\n{row}")
    for mark in ("<a", "<img", "<b>", "<code>", "<em>"):
        assert mark not in page
    assert page.count("<td>") == 2
    shown = html.unescape(re.sub("<[^>]*>", "", page))
    assert all(name in shown for name in names)
    assert "http:" not in row
    assert "www." not in row


def test_the_card_is_for_people(vectorizer, tmp_path):
    vectorizer.save(tmp_path, precision="int8")
    card = (tmp_path / "README.md").read_text()
    for words in ("DCoTVectorizer", "| documents learned from | 7 |", "0.9 / 0.8", "int8", "corn"):
        assert words in card
    (tmp_path / "README.md").unlink()
    dcot.load(tmp_path)


def test_words_cannot_break_the_card(tmp_path):
    model = DCoTVectorizer(analyzer="char").fit(["|a", "<b>|", "`\\"])
    model.save(tmp_path)
    rows = [
        line for line in (tmp_path / "README.md").read_text().splitlines() if line.startswith("|")
    ]
    assert all(line.replace("\\|", "").count("|") == 3 for line in rows)
    assert "<b" not in "".join(rows)


def test_weights_of_documents_are_counted(X, tmp_path):
    model = DCoT(4).fit(X, sample_weight=np.full(len(X), 2.0))
    model.save(tmp_path)
    assert dcot.load(tmp_path).n_documents_ == 2 * len(X)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"analyzer": str.split}, "analyzer is a function.*dcot_ alone"),
        ({"strip_accents": str.upper}, "strip_accents is a function"),
        ({"random_state": np.random.RandomState(0)}, "random_state is a RandomState.*set_params"),
        ({"memory_limit": float("inf")}, "memory_limit"),
    ],
)
def test_what_is_not_numbers_or_text_is_refused(texts, tmp_path, options, words):
    model = DCoTVectorizer(**options).fit(texts)
    with pytest.raises(dcot.DcotError, match=words):
        model.save(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_arrays_in_settings():
    assert encode("x", np.array([1, "a"], dtype=object)) == [1, "a"]
    with pytest.raises(dcot.DcotError, match="x is a ndarray"):
        encode("x", np.ones((2, 2)))


def test_words_that_a_folder_cannot_hold_are_refused(texts, tmp_path, monkeypatch):
    model = DCoT(2).fit(pd.DataFrame(np.eye(2), columns=pd.Index(["oil", "\ud800"], dtype=object)))
    with pytest.raises(dcot.DcotError, match="cannot be written as UTF-8"):
        model.save(tmp_path / "new")
    monkeypatch.setitem(LARGEST, "vocabulary", 5)
    with pytest.raises(dcot.DcotError, match="more than the 5 that a model folder may have"):
        DCoTVectorizer(vocabulary=["oil", "corn"]).fit(texts).save(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_function_that_chose_prototypes_is_replaced_by_its_choice(X, texts, tmp_path):
    def choose(moments, n):
        return [1, 4]

    model = DCoT(prototypes=choose).fit(X)
    model.save(tmp_path / "a")
    again = dcot.load(tmp_path / "a")
    assert again.prototypes == [1, 4]
    assert same(again.transform(X), model.transform(X))
    text_model = DCoTVectorizer(prototypes=choose).fit(texts)
    text_model.save(tmp_path / "b")
    assert dcot.load(tmp_path / "b").dcot.prototypes == [1, 4]
    going_on = DCoT(prototypes=choose).partial_fit(X)
    with pytest.raises(dcot.DcotError, match=r"prototypes is a function.*call it again"):
        going_on.save(tmp_path / "c", keep_moments=True)
    classifier = dcot.DCoTClassifier(vectorizer=DCoTVectorizer(prototypes=choose))
    classifier.fit(texts, [str(place % 2) for place in range(len(texts))])
    with pytest.raises(dcot.DcotError, match=r"prototypes is a function.*learning.*call it again"):
        classifier.save(tmp_path / "d")


def test_only_fitted_models_of_known_classes(X, tmp_path):
    class Mine(DCoT):
        pass

    with pytest.raises(dcot.DcotError, match="not fitted"):
        DCoT().save(tmp_path / "a")
    with pytest.raises(dcot.DcotError, match="not fitted"):
        DCoTVectorizer().save(tmp_path / "a")
    with pytest.raises(dcot.DcotError, match="Mine cannot be saved"):
        Mine().fit(X).save(tmp_path / "a")
    assert not (tmp_path / "a").exists()
