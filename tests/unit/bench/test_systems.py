"""Each system: features of any documents, the same every time, and settings worth searching."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD

from dcot import DCoT, DCoTClassifier, DcotError, DCoTVectorizer
from dcot.bench.systems import SYSTEMS, Classifier, Encoder, SetFit, StaticEmbeddings
from dcot.bench.systems.autoencoders import SdaStack
from dcot.embedding import vectors

NAMES = list(SYSTEMS)


@pytest.fixture(scope="module")
def documents(task):
    return task.documents(task.train, np.concatenate([task.train, task.test]))


def dense(blocks):
    rows = np.arange(blocks[0].values.shape[0])
    parts = [block.rows(rows, np.float64) for block in blocks]
    return np.hstack([part.toarray() if sp.issparse(part) else part for part in parts])


@pytest.mark.parametrize("name", NAMES)
def test_features(documents, name):
    learned, wanted = documents
    system = SYSTEMS[name]
    settings = system.settings("small")
    some = wanted[np.array([3, 1, 120])]
    shapes = []
    tolerance = 5e-2 if name in ("pLSI", "NMF", "LDA") else 1e-4  # whose inference is iterative
    for setting, model in zip(settings, system.learn(learned, settings), strict=True):
        assert model.setting == setting
        features = dense(model.features(wanted))
        assert features.shape[0] == len(wanted)
        assert np.isfinite(features).all()
        assert features.std() > 0
        few = dense(model.features(some))
        assert few == pytest.approx(features[[3, 1, 120]], rel=1e-3, abs=tolerance)
        shapes.append(features.shape)
    assert len(shapes) == len(settings)


@pytest.mark.parametrize("name", NAMES)
def test_settings(name):
    for size in ("small", "full"):
        settings = SYSTEMS[name].settings(size)
        texts = [str(setting) for setting in settings]
        assert len(set(texts)) == len(texts) >= 1
    assert len(SYSTEMS[name].settings("full")) >= len(SYSTEMS[name].settings("small"))


def test_every_system_of_the_paper_is_there():
    asked = {"bag of words", "TF-IDF", "LSI", "PCA", "pLSI", "LDA", "SDA", "mSDA"}
    assert asked < set(NAMES)
    assert "dCoT (paper)" in NAMES


def test_sizes_of_lsi_share_one_decomposition(documents):
    learned, _ = documents
    settings = [{"input": "tfidf", "k": k, "rows": "as they are"} for k in (25, 10)]
    models = list(SYSTEMS["LSI"].learn(learned, settings))
    own = TruncatedSVD(25, random_state=0).fit(learned.tfidf).transform(learned.tfidf)
    assert dense(models[0].features(learned)) == pytest.approx(own, abs=1e-4)
    assert dense(models[1].features(learned)) == pytest.approx(own[:, :10], abs=1e-4)


def test_features_are_those_of_the_vectorizer(documents):
    learned, wanted = documents
    system = SYSTEMS["dCoT features"]
    setting = system.settings("small")[0]
    features = dense(next(iter(system.learn(learned, [setting]))).features(wanted))
    model = DCoTVectorizer(**setting).fit(learned.texts)
    assert features == pytest.approx(model.transform(wanted.texts), abs=1e-4)


def test_dcot_is_the_classifier_as_a_user_calls_it(task, documents):
    learned, wanted = documents
    labels = [label if row % 5 == 0 else None for row, label in enumerate(task.labels[task.train])]
    system = Classifier()
    found, _ = system.predict(system.learn(learned), learned, labels, wanted)
    model = DCoTClassifier(random_state=0).fit(learned.texts, labels)
    assert (found == model.predict(wanted.texts)).all()


def test_full_defaults_are_those_of_the_estimators():
    assert SYSTEMS["dCoT features"].settings("full")[0]["n_prototypes"] == DCoT().n_prototypes


def test_the_paper_is_the_estimators_paper(documents):
    learned, wanted = documents
    system = SYSTEMS["dCoT (paper)"]
    setting = system.settings("small")[0]
    features = dense(next(iter(system.learn(learned, [setting]))).features(wanted))
    model = DCoT.paper(setting["n_prototypes"], setting["noise"], setting["layers"])
    expected = model.fit(learned.counts).transform(wanted.counts).toarray()
    assert features == pytest.approx(expected, abs=1e-4)


def test_sda_really_removes_terms(documents):
    learned, _ = documents
    stack = SdaStack({"terms": 100, "units": 5, "epochs": 1, "noise": 0.7}, 1)
    stack.fit(learned.tfidf)
    clean = stack.input(learned.tfidf)
    rng = np.random.default_rng(0)
    corrupted = stack.corrupted(clean, rng)
    kept = np.count_nonzero(corrupted.data) / clean.nnz
    assert kept == pytest.approx(0.3, abs=0.05)
    assert (stack.corrupted(clean, rng).data != corrupted.data).any()  # fresh every time
    assert np.count_nonzero(clean.data) == clean.nnz  # the target is left alone


def test_sda_learns_to_rebuild(documents):
    learned, _ = documents
    losses = []
    for epochs in (1, 15):
        stack = SdaStack({"terms": 100, "units": 20, "epochs": epochs, "noise": 0.3}, 1)
        stack.fit(learned.tfidf)
        losses.append(stack.layers[0].loss_)
    assert losses[1] < losses[0]


def test_encoder_reads_a_folder(documents, tmp_path, monkeypatch):
    learned, wanted = documents

    class SentenceTransformer:
        def __init__(self, path, device):
            assert (path, device) == (str(tmp_path), "cpu")

        def encode(self, texts, normalize_embeddings):
            return np.array([[len(text), 1.0] for text in texts])

    library = types.SimpleNamespace(SentenceTransformer=SentenceTransformer)
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    system = Encoder(tmp_path)
    (model,) = system.learn(learned, system.settings("full"))
    assert model.features(wanted)[0].values.shape == (len(wanted), 2)


def test_models_of_one_name_are_distinguished(tmp_path):
    settings = []
    for place, content in (("a", b"one"), ("b", b"two"), ("c", b"one")):
        folder = tmp_path / place / "model"
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(content)
        settings.append(Encoder(folder).settings("full"))
    assert settings[0] == settings[2] != settings[1]


def test_setfit_is_trained_on_the_labelled_texts(task, documents, tmp_path, monkeypatch):
    learned, wanted = documents
    labels = [label if row % 5 == 0 else None for row, label in enumerate(task.labels[task.train])]
    trained = {}

    class SetFitModel:
        @classmethod
        def from_pretrained(cls, path, labels):
            trained.update(path=path, names=labels)
            return cls()

        def predict(self, texts):
            return [trained["names"][-1]] * len(texts)

    class Trainer:
        def __init__(self, model, options, train_dataset):
            trained.update(options=options, data=train_dataset)

        def train(self):
            trained["done"] = True

    setfit = types.SimpleNamespace(SetFitModel=SetFitModel, Trainer=Trainer, TrainingArguments=dict)
    Dataset = types.SimpleNamespace(from_dict=dict)
    monkeypatch.setitem(sys.modules, "setfit", setfit)
    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(Dataset=Dataset))
    system = SetFit(tmp_path)
    found, _ = system.predict(system.learn(learned), learned, labels, wanted)
    known = [(text, label) for text, label in zip(learned.texts, labels, strict=True) if label]
    assert trained["done"]
    assert trained["path"] == str(tmp_path)
    assert trained["names"] == sorted({label for _, label in known})
    assert trained["data"]["text"] == [text for text, _ in known]
    assert [trained["names"][i] for i in trained["data"]["label"]] == [label for _, label in known]
    assert list(found) == [trained["names"][-1]] * len(wanted)


def test_missing_encoders_say_what_to_do(documents, tmp_path, monkeypatch):
    with pytest.raises(DcotError, match="not a folder"):
        Encoder(tmp_path / "nothing")
    monkeypatch.setitem(sys.modules, "wordllama", None)
    vectors._wordllama.cache_clear()
    with pytest.raises(DcotError, match=r"dcot\[embedding\]"):
        next(iter(StaticEmbeddings().learn(documents[0], [{}])))
