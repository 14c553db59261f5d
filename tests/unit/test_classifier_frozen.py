"""A classifier on a representation that has been learned: ``FrozenEstimator``."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import dcot
from dcot import DCoT, DCoTClassifier, DCoTVectorizer, datasets


@pytest.fixture(scope="module")
def corpus():
    return datasets.load("everyday")


@pytest.fixture(scope="module")
def labels(corpus):
    known = np.random.default_rng(0).choice(corpus.train, 60, replace=False)
    found = np.full(len(corpus.texts), None)
    found[known] = corpus.labels[known]
    return found


@pytest.fixture(scope="module")
def vectorizer(corpus):
    return DCoTVectorizer(n_prototypes=200).fit(corpus.texts)


def test_equals_a_fit_on_the_same_documents(corpus, labels, vectorizer):
    frozen = DCoTClassifier(vectorizer=FrozenEstimator(vectorizer)).fit(corpus.texts, labels)
    learned = DCoTClassifier(vectorizer=DCoTVectorizer(n_prototypes=200)).fit(corpus.texts, labels)
    new = corpus.test_texts
    assert np.array_equal(frozen.decision_function(new), learned.decision_function(new))
    assert frozen.summary() == learned.summary()


def test_equals_a_fit_on_the_same_matrix(corpus, labels, vectorizer):
    X = vectorizer.weigh(corpus.texts)
    frozen = DCoTClassifier(vectorizer=FrozenEstimator(DCoT(200).fit(X))).fit(X, labels)
    learned = DCoTClassifier(vectorizer=DCoTVectorizer(n_prototypes=200)).fit(X, labels)
    assert np.array_equal(frozen.decision_function(X), learned.decision_function(X))


def test_the_representation_is_not_learned_again(corpus, labels, vectorizer):
    before = vectorizer.transform(corpus.texts[:5])
    known = np.flatnonzero(labels != None)  # noqa: E711
    texts = [corpus.texts[row] for row in known]  # other documents than it was learned from
    model = DCoTClassifier(vectorizer=FrozenEstimator(vectorizer)).fit(texts, labels[known])
    assert model.dcot_.layers_[0].coef_ is vectorizer.layers_[0].coef_
    assert model.n_documents_ == len(corpus.texts)
    assert np.array_equal(vectorizer.transform(corpus.texts[:5]), before)
    assert model.score(corpus.test_texts, corpus.labels[corpus.test]) > 0.4


def test_survives_clone_and_saving(corpus, labels, vectorizer, tmp_path):
    model = clone(DCoTClassifier(vectorizer=FrozenEstimator(vectorizer)))
    model.fit(corpus.texts, labels).save(tmp_path / "model")
    loaded = dcot.load(tmp_path / "model")
    expected = model.predict(corpus.test_texts)
    assert np.array_equal(loaded.predict(corpus.test_texts), expected)
    assert isinstance(loaded.vectorizer, FrozenEstimator)
    assert np.array_equal(loaded.fit(corpus.texts, labels).predict(corpus.test_texts), expected)


def test_fewer_layers_than_the_default_has(corpus, labels):
    frozen = FrozenEstimator(DCoTVectorizer(n_prototypes=50, n_layers=1).fit(corpus.texts))
    model = DCoTClassifier(vectorizer=frozen).fit(corpus.texts, labels)
    assert {row["features"] for row in model.cv_results_["params"]} == {
        "LSI and layer 1",
        "layer 1",
    }


def test_suggests_before_any_label_without_learning(corpus, vectorizer, monkeypatch):
    def refuse(*args):
        raise AssertionError("a representation was learned")

    monkeypatch.setattr("dcot.classifier.model.fit_dcot", refuse)
    model = DCoTClassifier(vectorizer=FrozenEstimator(vectorizer), random_state=0)
    assert len(set(model.suggest(corpus.texts, 5))) == 5


@pytest.mark.parametrize(
    ("estimator", "parameters", "error", "message"),
    [
        (LogisticRegression(), {}, dcot.InvalidTypeError, "a frozen LogisticRegression"),
        (DCoTVectorizer(), {}, dcot.ModelNotFittedError, "DCoTVectorizer"),
        (DCoT(), {}, dcot.ModelNotFittedError, "DCoT"),
        (None, {"grid": {"noise": [0.5, 0.9]}}, dcot.InvalidParameterError, "'noise', but the ve"),
    ],
)
def test_what_cannot_be_used(corpus, labels, vectorizer, estimator, parameters, error, message):
    frozen = FrozenEstimator(vectorizer if estimator is None else estimator)
    with pytest.raises(error, match=message):
        DCoTClassifier(vectorizer=frozen, **parameters).fit(corpus.texts, labels)


def test_documents_that_do_not_fit(corpus, labels, vectorizer):
    X = vectorizer.weigh(corpus.texts)
    frozen = FrozenEstimator(DCoT(50).fit(X))
    with pytest.raises(dcot.InvalidInputError, match="was fitted on"):
        DCoTClassifier(vectorizer=frozen).fit(X[:, :-1], labels)
    with pytest.raises(dcot.InvalidTypeError, match="reads matrices"):
        DCoTClassifier(vectorizer=frozen).fit(corpus.texts, labels)
