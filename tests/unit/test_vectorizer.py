"""DCoTVectorizer: its parts in a row, and nothing else."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import estimator_checks

import dcot
from dcot import DCoT, DCoTClassifier, DcotError, DCoTVectorizer
from dcot.stream import Repeatable
from dcot.text import TermCounter, TermWeighting

TEXTS = [
    "Crude oil prices rose as OPEC cut output",
    "OPEC ministers agreed on oil output",
    "The wheat harvest was poor, corn was worse",
    "Wheat and corn prices fell",
    "Oil fell, wheat rose",
    "corn corn corn",
    "",
]

PARTS = {"counter": TermCounter, "weighting": TermWeighting, "dcot": DCoT}
# the defaults of the vectorizer that are not those of its parts
USUAL = {"sublinear_tf": True, "idf_floor": 0.1}


def test_equals_its_parts():
    weights = TfidfVectorizer(sublinear_tf=True).fit_transform(TEXTS)
    expected = DCoT(5).fit_transform(weights)
    model = DCoTVectorizer(n_prototypes=5, dtype="float64", idf_floor=1.0)  # scikit-learn's
    np.testing.assert_allclose(model.fit_transform(TEXTS), expected, atol=1e-12)
    np.testing.assert_allclose(model.transform(TEXTS), expected, atol=1e-12)
    small = DCoTVectorizer(n_prototypes=5, idf_floor=1.0).fit_transform(TEXTS)
    assert small.dtype == np.float32
    np.testing.assert_allclose(small, expected, atol=1e-4)


def test_every_parameter_of_its_parts_is_reachable():
    ours = DCoTVectorizer().get_params()
    for part, cls in PARTS.items():
        for name in cls._get_param_names():
            assert f"{part}__{name}" in ours
            if name not in ("scheme", "dtype"):  # the short spelling
                value = object()
                found = DCoTVectorizer(**{name: value}).get_params()
                assert found[f"{part}__{name}"] is value


def test_default_parts():
    ours = DCoTVectorizer().get_params()
    assert ours["dcot"] is ours["counter"] is ours["weighting"] is None
    for part, cls in PARTS.items():
        theirs = {f"{part}__{name}": value for name, value in cls().get_params().items()}
        different = {name for name, value in theirs.items() if ours[name] != value}
        own = {
            "counter": {"counter__min_df"},
            "weighting": {"weighting__sublinear_tf", "weighting__idf_floor"},
        }
        assert different == own.get(part, set())


def composed(counter, weighting, dcot):
    """The features of three parts that know nothing of each other."""
    counts = TermCounter(dtype=np.float32, **counter).fit_transform(TEXTS)
    return DCoT(**dcot).fit_transform(TermWeighting(**weighting).fit_transform(counts))


@pytest.mark.parametrize(
    ("counter", "weighting", "dcot"),
    [
        ({"stop_words": "english"}, {"scheme": "bm25", "k1": 2.0}, {"n_prototypes": 4}),
        ({"min_df": 2}, {"scheme": "counts"}, {"output": "concat", "squash": "tanh"}),
        ({"analyzer": "char_wb", "ngram_range": (2, 3)}, {"norm": None, "use_idf": False}, {}),
        ({"lowercase": False}, {}, {"n_components": 2, "random_state": 0, "noise": 0.5}),
        ({}, {"sublinear_tf": False}, {"n_layers": 1, "shrinkage": 0.1, "solver": "dual"}),
    ],
)
def test_settings_reach_their_part(counter, weighting, dcot):
    expected = dense(composed(counter, {**USUAL, **weighting}, dcot))
    default = dense(DCoTVectorizer().fit_transform(TEXTS))
    assert expected.shape != default.shape or np.abs(expected - default).max() > 1e-3
    flat = {"weighting" if name == "scheme" else name: v for name, v in weighting.items()}
    nested = {f"counter__{name}": value for name, value in counter.items()}
    nested |= {f"weighting__{name}": value for name, value in weighting.items()}
    nested |= {f"dcot__{name}": value for name, value in dcot.items()}
    for model in (
        DCoTVectorizer(**counter, **flat, **dcot),
        DCoTVectorizer().set_params(**nested),
        DCoTVectorizer(
            counter=TermCounter(**counter),
            weighting=TermWeighting(**{**USUAL, **weighting}),
            dcot=DCoT(**dcot),
        ),
    ):
        np.testing.assert_array_equal(dense(clone(model).fit_transform(TEXTS)), expected)
        np.testing.assert_array_equal(dense(model.fit(TEXTS).transform(TEXTS)), expected)


def dense(features):
    return features.toarray() if sp.issparse(features) else features


def test_given_parts_stay_as_they_are():
    dcot, counter = DCoT(4), TermCounter()
    model = DCoTVectorizer(dcot=dcot, counter=counter, noise=0.3)
    model.set_params(counter__min_df=2).fit(TEXTS)
    assert (dcot.noise, counter.min_df) == (DCoT().noise, 1)
    assert (model.dcot_.noise, model.counter_.min_df) == (0.3, 2)
    assert not hasattr(dcot, "layers_")
    assert not hasattr(counter, "vocabulary_")


@pytest.mark.parametrize("dtype", [None, "float32", "float64", np.float64])
def test_counts_have_the_precision_of_the_computation(dtype):
    expected = np.float64 if dtype in ("float64", np.float64) else np.float32
    for model in (
        DCoTVectorizer(dtype=dtype),
        DCoTVectorizer(counter=TermCounter(), dcot=DCoT(dtype=dtype)),
    ):
        assert model.fit(TEXTS).weigh(TEXTS).dtype == expected
        assert model.transform(TEXTS).dtype == expected


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"noize": 0.5}, "no parameter 'noize'"),
        ({"scheme": "bm25"}, "no parameter 'scheme'"),
        ({"dcot__noize": 0.5}, "DCoT has no parameter 'noize'"),
        ({"counter__noise": 0.5}, "TermCounter has no parameter 'noise'"),
    ],
)
def test_parameters_that_are_none(options, words):
    with pytest.raises(DcotError, match=words):
        DCoTVectorizer(**options)
    with pytest.raises(DcotError, match=words):
        DCoTVectorizer().set_params(**options)


@pytest.mark.parametrize("part", list(PARTS))
def test_parts_of_another_kind(part):
    with pytest.raises(DcotError, match=f"{part} must be a"):
        DCoTVectorizer(**{part: RidgeClassifier()}).fit(TEXTS)


@pytest.mark.parametrize("part", PARTS)
def test_parameters_of_parts_of_another_kind(part):
    with pytest.raises(DcotError, match=f"{part} must be a"):
        DCoTVectorizer(**{part: 5}, min_df=2, norm=None, noise=0.5)
    model = DCoTVectorizer(**{part: PARTS[part]})  # the class, not an instance
    assert model.get_params()[part] is PARTS[part]
    with pytest.raises(DcotError, match=f"{part} must be a"):
        model.partial_fit(TEXTS)


def test_parameters_are_set_all_or_none():
    model = DCoTVectorizer(noise=0.5)
    with pytest.raises(DcotError, match="no parameter 'depth'"):
        model.set_params(dcot=DCoT(noise=0.9), min_df=2, depth=3)
    assert model.get_params()["dcot__noise"] == 0.5
    assert model.counter is None


@pytest.mark.parametrize("name", ["stop_words", "vocabulary"])
def test_a_generator_cannot_be_a_parameter(name):
    with pytest.raises(DcotError, match=r"cannot be copied.*give a list"):
        DCoTVectorizer(**{name: (word for word in ("oil", "wheat"))}).fit(TEXTS)


def test_a_grid_search_reaches_the_parts():
    labels = ["oil", "oil", "grain", "grain", "oil", "grain", "grain"]
    pipe = Pipeline([("text", DCoTVectorizer()), ("ridge", RidgeClassifier())])
    grid = {"text__dcot__noise": [0.3, 0.9], "text__n_layers": [1], "text__weighting": ["log"]}
    search = GridSearchCV(pipe, grid, cv=2).fit(TEXTS, labels)
    fitted = search.best_estimator_["text"]
    assert fitted.dcot_.noise in (0.3, 0.9)
    assert (fitted.dcot_.n_layers, fitted.weighting_.scheme) == (1, "log")


def test_prototypes_may_be_words():
    model = DCoTVectorizer(prototypes=["oil", "corn"], n_layers=1).fit(TEXTS)
    assert list(model.get_feature_names_out()) == ["dcot1_corn", "dcot1_oil"]
    with pytest.raises(DcotError, match="'gold'"):
        DCoTVectorizer(prototypes=["gold"]).fit(TEXTS)


def test_any_source_of_texts():
    expected = DCoTVectorizer().fit_transform(TEXTS)
    for source in (tuple(TEXTS), (text for text in TEXTS), np.array(TEXTS), pl.Series(TEXTS)):
        np.testing.assert_array_equal(DCoTVectorizer().fit_transform(source), expected)


def test_features_of_a_source():
    """fit_transform reads a source again for its features; no source is held."""
    expected = DCoTVectorizer(n_prototypes=4, dtype="float64").fit(TEXTS).transform(TEXTS)
    for source in (lambda: iter([TEXTS[:3], TEXTS[3:]]), Repeatable(lambda: [TEXTS])):
        found = DCoTVectorizer(n_prototypes=4, dtype="float64").fit_transform(source)
        np.testing.assert_allclose(found, expected, atol=1e-8)


def test_no_texts_have_no_features():
    model = DCoTVectorizer(n_prototypes=4).fit(TEXTS)
    assert model.transform([]).shape == (0, 8)
    assert model.weigh([]).shape == (0, len(model.vocabulary_))


def test_unknown_and_empty_texts_give_the_bias():
    model = DCoTVectorizer().fit(TEXTS)
    features = model.transform(["", "xylophone quark"])
    assert np.isfinite(features).all()
    np.testing.assert_array_equal(features[0], features[1])


def test_words_mean_what_they_should():
    model = DCoTVectorizer(noise=0.5, shrinkage=0.1, n_layers=1).fit(TEXTS)
    names = [name.removeprefix("dcot1_") for name in model.get_feature_names_out()]
    opec, wheat = (
        dict(zip(names, model.reconstruct([word], subtract_bias=True)[0], strict=True))
        for word in ("opec", "wheat")
    )
    assert opec["oil"] > 0 > opec["corn"]
    assert wheat["harvest"] > 0 > wheat["output"]
    assert opec["output"] > opec["harvest"]


def test_in_a_pipeline():
    labels = ["oil", "oil", "grain", "grain", "oil", "grain", "grain"]
    pipe = make_pipeline(DCoTVectorizer(), RidgeClassifier()).fit(TEXTS, labels)
    assert pipe.predict(["opec oil"])[0] == "oil"
    pipe.set_params(dcotvectorizer__noise=0.5).fit(TEXTS, labels)


def test_clone_and_pickle():
    model = DCoTVectorizer(n_prototypes=4, stop_words="english").fit(TEXTS)
    ours, theirs = clone(model).get_params(), model.get_params()
    for part in PARTS:
        ours.pop(part), theirs.pop(part)
    assert ours == theirs
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(TEXTS), model.transform(TEXTS))


@pytest.mark.parametrize("weighting", ["counts", "binary", "log"])
def test_partial_fit_with_a_growing_vocabulary_equals_fit(weighting):
    # the three most frequent words, without a tie at the cut: ties go by column
    options = {"weighting": weighting, "norm": "l2", "dtype": "float64", "n_prototypes": 3}
    whole = DCoTVectorizer(**options).fit(TEXTS)
    pieces = DCoTVectorizer(**options)
    for part in (TEXTS[:2], TEXTS[2:3], TEXTS[3:]):
        pieces.partial_fit(part)
    assert set(pieces.vocabulary_) == set(whole.vocabulary_)
    assert_same_features(pieces, whole)
    everything = DCoTVectorizer(**{**options, "n_prototypes": 100})
    many = clone(everything).fit(TEXTS)
    for part in (TEXTS[:2], TEXTS[2:3], TEXTS[3:]):
        everything.partial_fit(part)
    assert_same_features(everything, many)


def assert_same_features(got, expected):
    """The same names, in any order, and the same values under each."""
    names, others = expected.get_feature_names_out(), list(got.get_feature_names_out())
    assert sorted(names) == sorted(others)
    found = got.transform(TEXTS)[:, [others.index(name) for name in names]]
    np.testing.assert_allclose(found, expected.transform(TEXTS), atol=1e-8)


def test_partial_fit_with_a_fixed_vocabulary():
    words = ["oil", "wheat", "corn", "prices"]
    options = {"vocabulary": words, "weighting": "counts", "dtype": "float64"}
    whole = DCoTVectorizer(**options).fit(TEXTS)
    pieces = DCoTVectorizer(**options).partial_fit(TEXTS[:3]).partial_fit(iter(TEXTS[3:]))
    np.testing.assert_allclose(pieces.transform(TEXTS), whole.transform(TEXTS), atol=1e-8)


def test_partial_fit_keeps_the_first_idf():
    model = DCoTVectorizer().partial_fit(TEXTS[:2])
    before = model.weighting_.idf_.copy()
    model.partial_fit(TEXTS[2:])
    after = model.weighting_.idf_
    np.testing.assert_array_equal(after[: len(before)], before)
    assert len(after) > len(before)
    assert np.isfinite(model.transform(TEXTS)).all()


@pytest.mark.parametrize("used", [True, False])
def test_partial_fit_changes_no_copy(used):
    words = ["oil", "wheat", "corn", "prices"]  # no new columns, which would copy the moments
    model = DCoTVectorizer(vocabulary=words).partial_fit(TEXTS[:3])
    if used:
        model.transform(TEXTS)
    other, part = copy.copy(model), model.dcot_
    other.partial_fit(TEXTS[3:])
    assert (model.dcot_.n_documents_, other.dcot_.n_documents_) == (3, 7)
    fitted = part._fitted()
    scatter = fitted.moments.scatter.copy()
    model.partial_fit(TEXTS[3:5])
    assert model.dcot_.n_documents_ == part.n_documents_ == 5
    assert other.dcot_.n_documents_ == 7
    np.testing.assert_array_equal(fitted.moments.scatter, scatter)


@pytest.mark.parametrize(
    "changed",
    [
        {"analyzer": "char"},
        {"analyzer": lambda text: text.split()},
        {"lowercase": False},
        {"stop_words": ["oil"]},
        {"vocabulary": ["oil"]},
        {"max_features": 3},
        {"weighting": "counts"},
        {"norm": None},
    ],
)
def test_partial_fit_refuses_other_terms_or_weights_than_before(changed):
    model = DCoTVectorizer(analyzer=lambda text: text.split("x")).partial_fit(TEXTS[:3])
    before = model.transform(TEXTS)
    (name,) = changed
    with pytest.raises(
        dcot.errors.InvalidParameterError, match=f"{name.replace('weighting', 'scheme')} was"
    ):
        model.set_params(**changed).partial_fit(TEXTS[3:])
    np.testing.assert_array_equal(model.transform(TEXTS), before)


class _Words:
    def __call__(self, text):
        return text.split()


@pytest.mark.parametrize(
    "options",
    [
        {"analyzer": _Words()},
        {"stop_words": np.array(["a", "the"])},
        {"stop_words": {"a", "the"}},
        {"vocabulary": ["wheat", "oil"]},
        {"vocabulary": {"wheat": 0, "oil": 1}, "weighting": "bm25"},
        {"vocabulary": np.array(["wheat", "oil"]), "ngram_range": (1, 2)},
    ],
)
def test_partial_fit_goes_on_with_the_same_parameters(options, tmp_path):
    model = DCoTVectorizer(**options).partial_fit(TEXTS[:3])
    models = [model]
    if not callable(options.get("analyzer")):
        model.save(tmp_path / "model", keep_moments=True)
        models.append(dcot.load(tmp_path / "model"))
    for one in models:
        one.set_params(noise=0.5, n_threads=1).partial_fit(TEXTS[3:])
    np.testing.assert_array_equal(models[0].transform(TEXTS), models[-1].transform(TEXTS))


def test_the_vocabulary_can_stop_growing():
    model = DCoTVectorizer().partial_fit(TEXTS[:2])
    known = list(model.vocabulary_)
    model.set_params(grow_vocabulary=False).partial_fit(TEXTS[2:])
    assert list(model.vocabulary_) == known


def test_partial_fit_of_texts_does_not_copy_moments():
    model = DCoTVectorizer(vocabulary=["oil", "wheat", "corn"]).partial_fit(TEXTS[:3])
    scatter = model.dcot_._moments.scatter
    model.partial_fit(TEXTS[3:])
    assert np.shares_memory(model.dcot_._moments.scatter, scatter)


def test_partial_fit_after_fit_starts_again_and_says_so(tmp_path):
    model = DCoTVectorizer().fit(TEXTS)
    with pytest.warns(UserWarning, match="partial_fit starts a new model"):
        model.partial_fit(TEXTS[:2])
    assert "wheat" not in model.vocabulary_
    model.save(tmp_path / "model")  # without its moments
    loaded = dcot.load(tmp_path / "model")
    with pytest.warns(UserWarning, match="partial_fit starts a new model"):
        loaded.partial_fit(TEXTS[2:4])
    assert "opec" not in loaded.vocabulary_


@pytest.mark.parametrize("learn", ["fit", "fit_transform", "partial_fit"])
@pytest.mark.parametrize("bad", [{"sample_weight": [1.0]}, {"sample_weight": [-1.0] * 7}])
def test_a_failed_fit_leaves_the_model_as_it_was(learn, bad):
    model = DCoTVectorizer(n_prototypes=3)
    with pytest.raises(DcotError):
        getattr(model, learn)(TEXTS, **bad)
    with pytest.raises(DcotError, match="not fitted"):
        model.transform(TEXTS)
    model.partial_fit(TEXTS[:3])
    names, before = list(model.vocabulary_), model.transform(TEXTS)
    with pytest.raises(DcotError):
        getattr(model, learn)([text + " gold" for text in TEXTS], **bad)
    assert list(model.vocabulary_) == names
    np.testing.assert_array_equal(model.transform(TEXTS), before)
    model.partial_fit(TEXTS[3:])
    straight = DCoTVectorizer(n_prototypes=3).partial_fit(TEXTS[:3]).partial_fit(TEXTS[3:])
    np.testing.assert_array_equal(model.transform(TEXTS), straight.transform(TEXTS))


def test_a_second_fit_leaves_nothing_of_the_first():
    model = DCoTVectorizer(n_prototypes=3).fit(lambda: iter([TEXTS[:3], TEXTS[3:]]))
    in_memory = {"documents", "gram", "dense"}
    assert model.dcot_.plan_.storage not in in_memory
    model.fit(TEXTS[2:])
    assert model.dcot_.plan_.storage in in_memory
    once = DCoTVectorizer(n_prototypes=3).fit(TEXTS[2:])
    np.testing.assert_array_equal(model.transform(TEXTS), once.transform(TEXTS))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: DCoTVectorizer().fit("one text"), "single str"),
        (lambda: DCoTVectorizer().fit(["a b", None]), "document 1 is None"),
        (lambda: DCoTVectorizer().fit(["", "?"]), "no terms in 2 documents"),
        (lambda: DCoTVectorizer(noise=1.0).fit(TEXTS), "noise must be"),
        (lambda: DCoTVectorizer().transform(TEXTS), "not fitted"),
        (lambda: DCoTVectorizer(dtype="int8").fit(TEXTS), "dtype must be"),
        (lambda: DCoTVectorizer(dtype={"x": [1]}).fit(TEXTS), "dtype must be"),
        (lambda: DCoTVectorizer(counter=TermCounter(dtype="x")).fit(TEXTS), "dtype must be"),
        (lambda: DCoTVectorizer(weighting="x").fit(TEXTS), "scheme must be"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(DcotError, match=words):
        call()


def test_partial_fit_that_cannot_be_exact_is_not_offered():
    assert not hasattr(DCoTVectorizer(squash="tanh"), "partial_fit")
    assert hasattr(DCoTVectorizer(), "partial_fit")


@pytest.mark.parametrize(
    "name",
    [
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_valid_tag_types",
        "check_no_attributes_set_in_init",
        "check_get_params_invariance",
        "check_parameters_default_constructible",
        "check_set_params",
        "check_mixin_order",
    ],
)
def test_scikit_learns_checks_of_parameters(name):
    """Those that need no matrix; the others would feed numbers to an estimator of texts."""
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"this scikit-learn has no {name}")
    check("DCoTVectorizer", DCoTVectorizer())


def test_a_column_transformer_names_the_column():
    frame = pd.DataFrame({"title": TEXTS, "year": range(len(TEXTS))})
    columns = ColumnTransformer([("text", DCoTVectorizer(n_prototypes=4), "title")])
    assert columns.fit_transform(frame).shape == (len(TEXTS), 8)
    columns = ColumnTransformer([("text", DCoTVectorizer(n_prototypes=4), ["title"])])
    with pytest.raises(DcotError, match=r"in a ColumnTransformer, 'title' and not \['title'\]"):
        columns.fit_transform(frame)


@pytest.mark.parametrize("bad", [[1, 2], [b"bytes"], [float("nan")], "text", np.ones((2, 2))])
def test_transform_refuses_what_is_not_text(bad):
    model = DCoTVectorizer().fit(TEXTS)
    with pytest.raises(DcotError):
        model.transform(bad)


def test_terms_seen_once_are_left_out_of_many_documents():
    texts = [f"common word{i}" for i in range(1000)]
    assert list(DCoTVectorizer(n_prototypes=1).fit(texts).vocabulary_) == ["common"]
    assert len(DCoTVectorizer(n_prototypes=1).fit(texts[:999]).vocabulary_) == 1000
    assert len(DCoTVectorizer(n_prototypes=1, min_df=1).fit(texts).vocabulary_) == 1001
    streamed = DCoTVectorizer(n_prototypes=1).fit(lambda: iter([texts[:500], texts[500:]]))
    assert list(streamed.vocabulary_) == ["common"]
    grown = DCoTVectorizer(n_prototypes=1).partial_fit(texts)
    assert len(grown.vocabulary_) == 1001


@pytest.mark.parametrize("options", [{"n_components": 2}, {"output": "concat"}, {"dtype": float}])
def test_encode_gives_unit_rows_of_the_features(options):
    model = DCoTVectorizer(random_state=0, **options).fit(TEXTS)
    features = dense(model.transform(TEXTS))
    found = model.encode(pd.Series(TEXTS), batch_size=32, show_progress_bar=False, device="cpu")
    assert isinstance(found, np.ndarray)
    assert (found.dtype, found.shape) == (np.float32, features.shape)
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    np.testing.assert_allclose(found, features / lengths, atol=1e-6)
    with sklearn.config_context(transform_output="pandas"):
        np.testing.assert_array_equal(model.encode(TEXTS), found)
    np.testing.assert_array_equal(model.encode(TEXTS[0]), model.encode(TEXTS[:1])[0])
    assert model.encode([]).shape == (0, features.shape[1])


def test_encode_refuses_options_that_ask_for_something_else():
    model = DCoTVectorizer().fit(TEXTS)
    with pytest.raises(DcotError, match="convert_to_tensor cannot be True: leave it out"):
        model.encode(TEXTS, convert_to_tensor=True)
    for option in ({"prompt": "query: "}, {"prompt_name": "query"}):
        with pytest.raises(DcotError, match=f"no prompts, so {next(iter(option))} cannot be"):
            model.encode(TEXTS, **option)


@pytest.mark.parametrize(
    "options",
    [
        {"show_progress_bar": False},  # KeyBERT, BERTopic
        {"convert_to_numpy": True, "normalize_embeddings": False},  # Chroma
        {"pool": None, "batch_size": 32},  # txtai
        {
            "prompt_name": None, "prompt": None, "batch_size": 32, "show_progress_bar": None,
            "output_value": "sentence_embedding", "precision": "float32", "convert_to_numpy": True,
            "convert_to_tensor": False, "device": None, "normalize_embeddings": False,
            "truncate_dim": None, "pool": None, "chunk_size": None,
        },  # the defaults of sentence-transformers
    ],
)  # fmt: skip
def test_encode_takes_what_other_libraries_send(options):
    model = DCoTVectorizer().fit(TEXTS)
    np.testing.assert_array_equal(model.encode(TEXTS, **options), model.encode(TEXTS))


def test_langchain_gets_a_fitted_vectorizer():
    from dcot.integrations import langchain_embeddings

    for wrong in ("model", DCoT(), DCoTVectorizer()):
        with pytest.raises(DcotError, match=r"expected a DCoTVectorizer|not fitted"):
            langchain_embeddings(wrong)


@pytest.mark.parametrize("container", ["default", "pandas"])
def test_documents_by_name(container):
    vectorizer = DCoTVectorizer(n_prototypes=3).set_output(transform=container)
    classifier = DCoTClassifier().set_output(transform=container)
    labels = ["oil", "oil", "wheat", "wheat", None, None, None]
    for model, name, more in (
        (vectorizer, "raw_documents", {}),
        (classifier, "documents", {"y": labels}),
    ):
        found = model.fit_transform(**{name: TEXTS}, **more)
        np.testing.assert_array_equal(found, model.transform(**{name: TEXTS}))
        np.testing.assert_array_equal(found, model.transform(TEXTS))
        np.testing.assert_array_equal(found, model.transform(X=TEXTS))  # as scikit-learn calls it
