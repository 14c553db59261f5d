"""Exported models compute what dcot computes: by onnxruntime, and by NumPy alone."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from dcot import (
    DCoT,
    DCoTClassifier,
    DcotError,
    DCoTVectorizer,
    MissingExtraError,
    datasets,
    export,
)
from dcot.errors import InvalidTypeError, OutputError

CORPUS = datasets.load("everyday")
TEXTS = [*CORPUS.texts[::4], "Ça, c'est NAÏVE café!", ""]
NEW = [*CORPUS.texts[1:40:3], "", "unknownword", "Café naïve, oil oil oil"]
SETTINGS = {
    "default": {},
    "paper": {"squash": "tanh", "normalize": None, "output": "concat", "shrinkage": 0},
    "unit": {"normalize": "unit", "squash": "tanh", "output": "last", "n_layers": 3},
    "center": {"normalize": "center", "weighting": "bm25"},
    "squashed": {"normalize": "shared", "squash": "tanh", "weighting": "log", "norm": "l1"},
    "compressed": {"n_components": 7, "output": "concat", "random_state": 0},
    "LSI": {"output": "lsi"},
    "x and LSI": {"output": "all"},
    "LSI, not scaled": {"output": "lsi", "normalize": None},
    "double": {"dtype": "float64", "weighting": "counts", "norm": "l2", "n_layers": 1},
    "bm25 without k1": {
        "weighting": "bm25",
        "k1": np.float32(0),
        "use_idf": np.True_,
        "ngram_range": (1, 2),
        "min_df": 2,
    },
    "binary": {"binary": True, "use_idf": False, "stop_words": "english", "lowercase": False},
    "characters": {"analyzer": "char", "ngram_range": (2, 3), "min_df": 3, "weighting": "binary"},
    "padded": {"analyzer": "char_wb", "ngram_range": (1, 9), "min_df": 3, "strip_accents": "ascii"},
    "accents": {"strip_accents": "unicode", "min_word_length": 3, "sublinear_tf": False},
}


def run_onnx(model, documents, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    export.to_onnx(model, tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    kind = np.float64 if given.type == "tensor(double)" else np.float32
    dense = documents.toarray() if sp.issparse(documents) else documents
    (found,) = session.run(None, {given.name: np.asarray(dense, dtype=kind)})
    return found, session


def scorer_of(model, tmp_path):
    export.to_numpy(model, tmp_path / "scorer")
    from dcot.export.scorer import Scorer

    return Scorer(tmp_path / "scorer" / "weights.npz")


@pytest.mark.parametrize("name", SETTINGS)
def test_features_of_a_vectorizer(name, tmp_path):
    model = DCoTVectorizer(n_prototypes=50, **SETTINGS[name]).fit(TEXTS)
    expected = model.transform(NEW)
    expected = expected.toarray() if sp.issparse(expected) else expected
    found, session = run_onnx(model, model.counter_.transform(NEW), tmp_path)
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=1e-5)
    terms = json.loads(session.get_modelmeta().custom_metadata_map["terms"])
    assert terms == list(model.vocabulary_)
    np.testing.assert_allclose(
        scorer_of(model, tmp_path).transform(NEW), expected, atol=1e-5, rtol=1e-5
    )


def several(labels):
    return [[label, "warm"] if label in ("cooking", "weather") else [label] for label in labels]


@pytest.mark.parametrize("options", [{}, {"estimator": "logistic"}, {"embedding": True}])
@pytest.mark.parametrize("labels_of", [list, several], ids=["one", "several"])
@pytest.mark.filterwarnings("ignore:dCoT .* does not beat TF-IDF")
def test_probabilities_of_a_classifier(options, labels_of, tmp_path):
    rng = np.random.default_rng(0)
    if options.get("embedding"):
        words = DCoTVectorizer().fit(TEXTS).vocabulary_
        options = {"embedding": {word: rng.normal(size=8) for word in list(words)[::2]}}
    labels = labels_of(CORPUS.labels[::4])
    model = DCoTClassifier(random_state=0, **options).fit(TEXTS[:-2], labels)
    expected = model.predict_proba(NEW)
    counts = model.vectorizer_.counter_.transform(NEW)
    found, session = run_onnx(model, counts, tmp_path)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    classes = json.loads(session.get_modelmeta().custom_metadata_map["classes"])
    assert classes == model.classes_.tolist()
    scorer = scorer_of(model, tmp_path)
    np.testing.assert_allclose(scorer.predict_proba(NEW), expected, atol=1e-5)
    predicted = model.predict(NEW)
    assert scorer.predict(NEW) == (predicted.tolist() if labels_of is list else predicted)


@pytest.mark.filterwarnings("ignore:dCoT .* does not beat TF-IDF")
def test_a_scorer_gives_labels_in_the_form_of_fit(tmp_path):
    names = sorted(set(CORPUS.labels[::4].tolist()))
    rows = np.array([[name == label for name in names] for label in CORPUS.labels[::4]], dtype=int)
    model = DCoTClassifier(random_state=0).fit(TEXTS[:-2], rows)
    scorer = scorer_of(model, tmp_path)
    assert model.predict(NEW).any()
    np.testing.assert_array_equal(scorer.predict(NEW), model.predict(NEW), strict=True)
    assert scorer.predict([]).shape == (0, len(names))


def test_a_model_of_a_matrix(tmp_path):
    X = sp.random(40, 12, 0.3, format="csr", random_state=0)
    model = DCoT(6).fit(X)
    found, _ = run_onnx(model, X, tmp_path)
    np.testing.assert_allclose(found, model.transform(X), atol=1e-5)
    with pytest.raises(DcotError, match="reads a matrix"):
        export.to_numpy(model, tmp_path)


def test_the_scorer_needs_numpy_alone(tmp_path):
    model = DCoTClassifier(random_state=0).fit(TEXTS[:-2], CORPUS.labels[::4].tolist())
    export.to_numpy(model, tmp_path / "made")
    code = """
import sys

class Only:
    def find_spec(self, name, path=None, target=None):
        allowed = {"numpy", "scorer", *sys.stdlib_module_names}
        if name.split(".")[0] not in allowed:
            raise ImportError(f"{name} is not to be had")

sys.meta_path.insert(0, Only())
import json, scorer
assert scorer.__file__.endswith("made/scorer.py"), scorer.__file__
model = scorer.Scorer()
texts = json.loads(sys.stdin.read())
assert model.predict([{"oil": 2}]) == model.predict(["oil oil"])
print(json.dumps(model.predict_proba(texts).tolist()))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path / "made",
        env={"PYTHONPATH": ""},
        input=json.dumps(NEW),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(json.loads(done.stdout), model.predict_proba(NEW), atol=1e-5)


def test_what_cannot_be_exported(tmp_path, monkeypatch):
    with pytest.raises(DcotError, match="expected a DCoT"):
        export.to_onnx(object(), tmp_path / "a.onnx")
    with pytest.raises(DcotError, match="not fitted"):
        export.to_onnx(DCoTVectorizer(), tmp_path / "a.onnx")
    given = DCoTClassifier(random_state=0, grid={"embedding": [1.0]})
    vectors = np.random.default_rng(0).normal(size=(len(TEXTS) - 2, 4))
    given.fit(TEXTS[:-2], CORPUS.labels[::4], vectors=vectors)
    with pytest.raises(DcotError, match="vectors of documents"):
        export.to_onnx(given, tmp_path / "a.onnx")
    model = DCoTVectorizer(analyzer=str.split, n_prototypes=10).fit(TEXTS)
    scorer = scorer_of(model, tmp_path)
    with pytest.raises(ValueError, match="pass counts"):
        scorer.transform(["a text"])
    expected = model.transform(["oil oil"])
    np.testing.assert_allclose(scorer.transform([{"oil": 2}]), expected, atol=1e-5)
    monkeypatch.setattr(export, "_LARGEST", 10)
    with pytest.raises(DcotError, match="holds at most 2 GB"):
        export.to_onnx(model, tmp_path / "a.onnx")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"dcot\[onnx\]"):
        export.to_onnx(model, tmp_path / "a.onnx")
    assert not list(tmp_path.glob("*.onnx"))


@pytest.mark.parametrize(
    "labels",
    [
        [b"a", b"b"],
        np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"),
        [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)],
    ],
)
def test_labels_that_cannot_be_exported(labels, tmp_path):
    texts = ["crude oil prices", "wheat harvest", "opec oil output", "corn and wheat"] * 3
    model = DCoTClassifier(random_state=0).fit(texts, [labels[k % 2] for k in range(12)])
    for write in (export.to_numpy, export.to_onnx):
        with pytest.raises(InvalidTypeError, match="fit with labels that are strings"):
            write(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("labels", [[1, 2], [True, False], [1.0, 2.0], ["\ud800", "b"]])
def test_labels_stay_as_they_are(labels, tmp_path):
    texts = ["crude oil prices", "wheat harvest", "opec oil output", "corn and wheat"] * 3
    mixed = np.array([labels[k % 2] for k in range(12)], dtype=object)
    scorer = scorer_of(DCoTClassifier(random_state=0).fit(texts, mixed), tmp_path)
    assert scorer.classes == sorted(labels)
    assert [type(label) for label in scorer.classes] == [type(labels[0])] * 2


def test_one_text_is_not_a_list_of_letters(tmp_path):
    scorer = scorer_of(DCoTVectorizer(n_prototypes=50).fit(TEXTS), tmp_path)
    with pytest.raises(ValueError, match="put it in a list"):
        scorer.transform("one text")


def test_exports_replace_no_folder_and_no_file_of_others(tmp_path):
    model = DCoTVectorizer(n_prototypes=50).fit(TEXTS)
    (tmp_path / "thesis").mkdir()
    with pytest.raises(OutputError, match="it is a folder"):
        export.to_onnx(model, tmp_path / "thesis")
    (tmp_path / "news.csv").write_text("id")
    with pytest.raises(OutputError, match=r"news\.csv"):
        export.to_numpy(model, tmp_path / "news.csv")
    assert (tmp_path / "thesis").is_dir()
    assert (tmp_path / "news.csv").read_text() == "id"
