"""Self-training: the final ridge also learns from its predictions for unlabelled documents."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import dcot.classifier.fit as fitting
from dcot import DCoTClassifier, DCoTVectorizer, datasets
from dcot.classifier import self_training
from dcot.classifier.estimate import log_losses, probabilities
from dcot.classifier.ridge import KernelRidge, targets_of
from dcot.classifier.self_training import FACTORS, SHARPENING, self_train

N, UNLABELLED = 18, 25


@pytest.fixture
def problem():
    generator = np.random.default_rng(0)
    F = generator.normal(size=(N + UNLABELLED, 6))
    labels = np.arange(N) % 3
    F[:N, :3] += 2 * np.eye(3)[labels]
    targets = targets_of(labels)[1]
    weights = generator.uniform(0.5, 2, N)
    return F, targets, weights, KernelRidge.fit((F @ F.T)[:N, :N], targets, weights=weights)


def by_definition(F, targets, weights, ridge, temperature, factor, rows):
    """Both steps with scikit-learn, from these labelled documents only."""
    first = Ridge(alpha=ridge.alpha).fit(F[rows], targets[rows], weights[rows])
    chance = probabilities(first.predict(F[N:]), SHARPENING * temperature, True)
    both = np.concatenate([rows, np.arange(N, len(F))])
    share = weights.mean() * N / UNLABELLED
    own = np.concatenate([weights[rows], np.full(UNLABELLED, share)])
    second = Ridge(alpha=ridge.alpha * factor)
    return second.fit(F[both], np.vstack([targets[rows], 2 * chance - 1]), own)


@pytest.mark.parametrize("alone", [True, False])
def test_it_is_two_fits_and_its_held_out_decisions_are_fits_without_them(
    problem, monkeypatch, alone
):
    F, targets, weights, ridge = problem
    if not alone:
        monkeypatch.setattr(self_training, "MAX_LEFT_OUT_ALONE", 0)
        monkeypatch.setattr(self_training, "FOLDS", 4)
    monkeypatch.setattr(self_training, "calibrate", lambda *_: (4.0, True))
    ones, pool = np.ones(N), np.ones(UNLABELLED)
    found = self_train(F @ F.T, targets, weights, ridge, ones, pool, np.random.RandomState(0))
    folds = self_training._folds(N, np.random.RandomState(0))
    assert len(folds) == (N if alone else 4)
    expected = np.empty((len(FACTORS), N, 3))
    for place, factor in enumerate(FACTORS):
        for fold in folds:
            rest = np.setdiff1d(np.arange(N), fold)
            fit = by_definition(F, targets, weights, ridge, 4.0, factor, rest)
            expected[place, fold] = fit.predict(F[fold])
    losses = [log_losses(own, targets, ones).sum() for own in expected]
    best = int(np.argmin(losses))
    assert np.ptp(losses) > 1e-3
    np.testing.assert_allclose(found.held_out, expected[best], atol=1e-8)
    fit = by_definition(F, targets, weights, ridge, 4.0, FACTORS[best], np.arange(N))
    np.testing.assert_allclose(F @ F.T @ found.dual + found.intercept, fit.predict(F), atol=1e-8)
    assert found.alpha == pytest.approx(ridge.alpha * FACTORS[best])


def test_an_unlabelled_document_weighs_at_most_as_much_as_a_labelled_one(problem, monkeypatch):
    F, targets, weights, ridge = problem
    seen = []
    real = self_training._Systems

    def spy(kernel, weights, alphas, judged):
        seen.append(weights)
        return real(kernel, weights, alphas, judged)

    monkeypatch.setattr(self_training, "_Systems", spy)
    few, generator = F[: N + 2], np.random.RandomState(0)
    self_train(few @ few.T, targets, weights, ridge, np.ones(N), np.array([1.0, 3.0]), generator)
    np.testing.assert_allclose(seen[0][N:], weights.mean() * np.array([0.5, 1.5]))
    monkeypatch.setattr(self_training, "MAX_WEIGHT", 5)
    self_train(F @ F.T, targets, weights, ridge, np.ones(N), np.ones(UNLABELLED), generator)
    assert seen[2][N:].sum() == pytest.approx(5 * weights.mean())


# -- in the classifier --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def corpus():
    found = datasets.load("everyday")
    labels = np.full(len(found.texts), None, dtype=object)
    chosen = np.random.default_rng(0).choice(found.train, 100, replace=False)
    labels[chosen] = found.labels[chosen]
    return found, list(labels)


def test_it_gains_accuracy_and_the_estimate_knows(corpus):
    found, labels = corpus
    texts = [found.texts[row] for row in found.test]
    models = [
        DCoTClassifier(self_training=on, random_state=0).fit(found.texts, labels)
        for on in (False, True)
    ]
    plain, trained = (model.score(texts, found.labels[found.test]) for model in models)
    assert trained > plain + 0.02
    low, high = models[1].estimate_.dcot.accuracy_interval
    assert low < trained < high
    assert models[1].estimate_.n == 100
    # the candidates were judged by the same leave-one-out
    np.testing.assert_array_equal(
        models[0].cv_results_["mean_test_error"], models[1].cv_results_["mean_test_error"]
    )


def test_a_refit_learns_from_unlabelled_documents_too(corpus):
    found, labels = corpus
    model = DCoTClassifier(random_state=0).fit(found.texts, labels)
    before = model.decision_function(found.texts[:20])
    model.refit(found.texts, labels)
    np.testing.assert_allclose(model.decision_function(found.texts[:20]), before, atol=1e-4)
    known = [row for row, label in enumerate(labels) if label is not None]
    model.refit([found.texts[row] for row in known], [labels[row] for row in known])
    assert np.abs(model.decision_function(found.texts[:20]) - before).max() > 1e-2


@pytest.mark.parametrize(
    "options", [{"estimator": "svm"}, {"self_training": False}, {"estimator": "ridge"}]
)
def test_without_it_unlabelled_documents_only_shape_the_representation(
    corpus, options, monkeypatch
):
    found, labels = corpus
    if options == {"estimator": "ridge"}:  # more labels than candidates are evaluated on
        monkeypatch.setattr(fitting, "MAX_SELECTION_LABELS", 50)

    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(fitting, "self_train", refuse)
    DCoTClassifier(random_state=0, **options).fit(found.texts, labels)


def test_several_labels_and_no_unlabelled_documents_leave_it_out(corpus, monkeypatch):
    found, _ = corpus
    monkeypatch.setattr(fitting, "self_train", None)
    texts, labels = list(found.texts[::15]), list(found.labels[::15])
    DCoTClassifier(random_state=0).fit(texts, labels)
    sets = [[label] if row < 40 else None for row, label in enumerate(labels)]
    DCoTClassifier(random_state=0, class_weight=None).fit(texts, sets)


def test_at_most_so_many_documents_are_predicted(corpus, monkeypatch):
    found, labels = corpus
    monkeypatch.setattr(fitting, "MAX_SAMPLED_DOCUMENTS", 50)
    sizes = []
    real = fitting.self_train

    def spy(kernel, *rest):
        sizes.append(len(kernel))
        return real(kernel, *rest)

    monkeypatch.setattr(fitting, "self_train", spy)
    DCoTClassifier(random_state=0).fit(found.texts, labels)
    assert 100 < sizes[0] <= 150


def test_documents_of_weight_zero_are_not_learned_from(corpus):
    found, labels = corpus
    kept = np.arange(len(found.texts)) % 3 > 0
    weights = np.where(kept, 1.0, 0.0)
    vectorizer = DCoTVectorizer(min_df=1)
    whole = DCoTClassifier(vectorizer=vectorizer, random_state=0, selection="none")
    whole.fit(found.texts, labels, sample_weight=weights)
    known = [label for label, own in zip(labels, kept, strict=True) if own]
    X = whole.vectorizer_.weigh(found.texts)
    rest = DCoTClassifier(random_state=0, selection="none").fit(X[kept], known)
    np.testing.assert_allclose(
        whole.decision_function(found.texts[:50]), rest.decision_function(X[:50]), atol=1e-3
    )
