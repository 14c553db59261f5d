"""Self-training: the final ridge also learns from its predictions for unlabelled documents."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge

import dcot
import dcot.classifier.fit as fitting
from dcot import DCoTClassifier, DCoTVectorizer, datasets
from dcot.classifier import self_training
from dcot.classifier.calibration import probabilities
from dcot.classifier.ridge import KernelRidge, targets_of
from dcot.classifier.self_training import FACTOR, SHARPENING, self_train

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
    expected = np.empty((N, 3))
    for fold in folds:
        rest = np.setdiff1d(np.arange(N), fold)
        fit = by_definition(F, targets, weights, ridge, 4.0, FACTOR, rest)
        expected[fold] = fit.predict(F[fold])
    np.testing.assert_allclose(found.held_out, expected, atol=1e-8)
    fit = by_definition(F, targets, weights, ridge, 4.0, FACTOR, np.arange(N))
    np.testing.assert_allclose(F @ F.T @ found.dual + found.intercept, fit.predict(F), atol=1e-8)
    assert found.alpha == pytest.approx(ridge.alpha * FACTOR)


def test_an_unlabelled_document_weighs_at_most_as_much_as_a_labelled_one(problem, monkeypatch):
    F, targets, weights, ridge = problem
    seen = []
    real = self_training._System

    def spy(kernel, weights, alpha, judged):
        seen.append(weights)
        return real(kernel, weights, alpha, judged)

    monkeypatch.setattr(self_training, "_System", spy)
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


def test_at_most_this_many_documents_are_predicted(corpus, monkeypatch):
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


def test_fractional_weights_of_unlabelled_documents_count(corpus):
    found, labels = corpus
    vectorizer = FrozenEstimator(DCoTVectorizer().fit(found.texts))
    weights = np.random.default_rng(0).uniform(0.1, 2, len(found.texts))
    weights[[label is not None for label in labels]] = 1.0
    decisions = []
    for given in (None, weights):
        model = DCoTClassifier(vectorizer=vectorizer, random_state=0, selection="none")
        model.fit(found.texts, labels, sample_weight=given)
        decisions.append(model.decision_function(found.texts[:20]))
    assert np.abs(decisions[0] - decisions[1]).max() > 1e-3


def test_a_refit_without_documents_of_weight_zero_is_the_same(corpus):
    found, labels = corpus
    model = DCoTClassifier(random_state=0).fit(found.texts, labels)
    kept = np.arange(len(labels)) % 3 > 0
    model.refit(found.texts, labels, sample_weight=kept.astype(float))
    decisions = model.decision_function(found.texts[:50])
    texts = [text for text, own in zip(found.texts, kept, strict=True) if own]
    model.refit(texts, [label for label, own in zip(labels, kept, strict=True) if own])
    np.testing.assert_allclose(model.decision_function(found.texts[:50]), decisions, atol=1e-5)


def test_vectors_of_documents_of_weight_zero_change_nothing(corpus):
    found, labels = corpus
    kept = np.arange(len(labels)) % 3 > 0
    vectors = np.random.default_rng(0).normal(size=(len(labels), 8))
    decisions = []
    for given in (vectors, np.where(kept[:, None], vectors, 50.0)):
        model = DCoTClassifier(random_state=0, grid={"embedding": [1.0]}, selection="none")
        model.fit(found.texts, labels, sample_weight=kept.astype(float), vectors=given)
        decisions.append(model.decision_function(found.texts[1:20], vectors=vectors[1:20]))
    np.testing.assert_allclose(decisions[0], decisions[1], atol=1e-5)


def test_the_strength_is_that_of_the_second_classifier(corpus, monkeypatch):
    found, labels = corpus
    monkeypatch.setattr(fitting, "self_train", partial(self_train, factor=0.2))
    trained, plain = (
        DCoTClassifier(random_state=0, self_training=on).fit(found.texts, labels)
        for on in (True, False)
    )
    assert trained.strength_ == pytest.approx(0.2 * plain.strength_)


def test_seed_words_alone_use_the_same_factor(corpus):
    found, _ = corpus
    seeds = {"law": ["court", "judge"], "chess": ["pawn", "queen"]}
    trained, plain = (
        DCoTClassifier(random_state=0, self_training=on).fit(found.texts, None, seed_words=seeds)
        for on in (True, False)
    )
    assert trained.strength_ == pytest.approx(FACTOR * plain.strength_)


# -- where it could go wrong ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_labelled_documents_that_are_nearly_the_same(dtype):
    """A tiny strength is lost in the rounding of the kernel; and plain ridge is better here."""
    generator = np.random.default_rng(0)
    common = [f"c{j}" for j in range(60)]
    labelled = [" ".join(common) + f" t{i % 2}w{i // 2}" for i in range(20)]
    others = [
        " ".join(
            [f"t{i % 3}w{j}" for j in generator.integers(0, 20, 6)]
            + [f"c{j}" for j in generator.integers(0, 60, 6)]
        )
        for i in range(600)
    ]
    model = DCoTClassifier(vectorizer=DCoTVectorizer(dtype=dtype), random_state=0)
    model.fit(labelled + others, [i % 2 for i in range(20)] + [None] * 600)
    assert model.estimate_.dcot.accuracy > 0.8


@pytest.mark.parametrize(("lost", "worse"), [(0, False), (4, False), (9, True), (40, True)])
def test_plain_ridge_is_kept_if_it_is_clearly_better(lost, worse):
    """Each way loses some documents that the other one has right: 10 of 100, and some more."""
    targets = np.where(np.arange(100)[:, None] % 2 == np.arange(2), 1.0, -1.0)
    plain, trained = targets.copy(), targets.copy()
    plain[:10] *= -1
    trained[10 : 20 + lost] *= -1
    assert self_training._is_worse(trained, plain, targets, np.ones(100)) is worse


@pytest.mark.parametrize(("weight", "worse"), [(1.0, True), (1e-3, False), (5.0, True)])
def test_documents_count_by_their_weight_if_plain_ridge_is_kept(weight, worse):
    targets = np.where(np.arange(100)[:, None] % 2 == np.arange(2), 1.0, -1.0)
    trained = targets.copy()
    trained[:8] *= -1
    weights = np.r_[np.full(8, weight), np.ones(92)]
    assert self_training._is_worse(trained, targets, targets, weights) is worse


def test_the_same_fit_gives_the_same_probabilities(corpus):
    found, _ = corpus
    labels = [label if row % 3 == 0 else None for row, label in enumerate(found.labels)]
    one, other = (DCoTClassifier(selection="none").fit(found.texts, labels) for _ in range(2))
    np.testing.assert_array_equal(
        one.predict_proba(found.texts[:50]), other.predict_proba(found.texts[:50])
    )


def test_folders_from_before_it_are_loaded_without_it():
    folder = Path(__file__).parents[1] / "fixtures" / "format-2" / "DCoTClassifier"
    assert dcot.load(folder).self_training is False


def test_more_seed_words_than_an_inverse_can_take(corpus, monkeypatch):
    found, labels = corpus
    monkeypatch.setattr(fitting, "MAX_KERNEL_LABELS", 110)
    monkeypatch.setattr("dcot.classifier.learners.MAX_KERNEL_LABELS", 110)
    monkeypatch.setattr(fitting, "self_train", None)
    words = {"law": ["court", "judge", "jury", "police", "lawyer", "crime"]}
    words["chess"] = ["pawn", "queen", "king", "board", "game", "match"]
    DCoTClassifier(random_state=0).fit(found.texts, labels, seed_words=words)


@pytest.mark.parametrize("value", ["yes", None, 1])
def test_other_values_are_refused(value):
    with pytest.raises(dcot.InvalidParameterError, match="self_training must be True or False"):
        DCoTClassifier(self_training=value).fit(["oil", "corn"], ["o", "c"])
