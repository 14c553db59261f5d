"""DCoTClassifier: labels in every form, selection on labels alone, explanations that add up."""

from __future__ import annotations

import pickle
from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import LeaveOneOut, PredefinedSplit, cross_val_predict, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import parametrize_with_checks

import dcot
from dcot import DCoT, DCoTClassifier, DcotError, DCoTVectorizer
from dcot.classifier import fit as classifier_fit
from dcot.classifier import learners
from dcot.classifier import ridge as ridge_module
from dcot.classifier.calibration import calibrate, probabilities
from dcot.classifier.estimate import estimate
from dcot.classifier.labels import read_labels, with_class_weights
from dcot.classifier.ridge import KernelRidge, signs
from dcot.classifier.selection import (
    GRID,
    INPUT_FROM_LABELS,
    Candidate,
    base_options,
    best_of,
    candidates_for,
    features_of,
    fits_of,
    for_labels,
    layers_and_output,
    select,
    selected,
    without_lsi,
)
from dcot.classifier.suggestion import candidates, most_informative, uncertainty
from dcot.stream import Repeatable
from dcot.text import TextSource, read_texts

SMALL = {"n_prototypes": (30, 10), "noise": (0.8, 0.5), "shrinkage": (1.0, 0.1)}


@pytest.fixture(scope="module")
def corpus():
    """Topics whose words never meet in labelled documents, and many documents without labels."""
    rng = np.random.default_rng(0)
    n, d, topics = 300, 60, 3
    y = np.arange(n) % topics
    rates = np.full((topics, d), 0.03)
    for topic in range(topics):
        rates[topic, topic * 20 : (topic + 1) * 20] = 0.25
    X = sp.csr_array(rng.poisson(rates[y]).astype(np.float64))
    return X, y


@pytest.fixture(scope="module")
def fitted(corpus):
    X, y = corpus
    partly = [label if row < 24 else None for row, label in enumerate(y)]
    return DCoTClassifier(grid=SMALL, random_state=0).fit(X[:200], partly[:200])


def test_learns_from_few_labels(corpus, fitted):
    X, y = corpus
    assert fitted.n_labelled_ == 24
    assert fitted.n_documents_ == 200
    assert fitted.score(X[200:], y[200:]) > 0.8
    assert fitted.decision_function(X[:5]).shape == (5, 3)


def test_minus_one_none_and_unlabelled_mean_the_same(corpus, fitted):
    X, y = corpus
    expected = fitted.decision_function(X[200:])
    marked = np.where(np.arange(200) < 24, y[:200], -1)
    again = DCoTClassifier(grid=SMALL, random_state=0).fit(X[:200], marked)
    np.testing.assert_allclose(again.decision_function(X[200:]), expected, atol=1e-10)
    apart = DCoTClassifier(grid=SMALL, random_state=0)
    apart.fit(X[:24], y[:24], unlabelled=X[24:200])
    np.testing.assert_allclose(apart.decision_function(X[200:]), expected, atol=1e-10)
    other = DCoTClassifier(grid=SMALL, random_state=0, unlabelled_label=99)
    other.fit(X[:200], np.where(np.arange(200) < 24, y[:200] - 1, 99))
    assert list(other.classes_) == [-1, 0, 1]


def test_selection_equals_the_long_way_round(corpus):
    """DCoT fitted on all documents for each setting, then scikit-learn's own leave-one-out."""
    X, y = corpus
    labelled = np.arange(24)
    partly = np.where(np.arange(200) < 24, y[:200], -1)
    model = DCoTClassifier(grid=SMALL).fit(X[:200], partly)
    targets = np.where(y[labelled][:, None] == np.arange(3), 1.0, -1.0)
    results = model.cv_results_
    for index in range(0, len(results["params"]), 3):
        setting = Candidate(**results["params"][index])
        features = DCoT(**setting.parameters(), tol=1e-12).fit(X[:200]).transform(X[labelled])
        F = features.toarray() if sp.issparse(features) else features
        centred = F - F.mean(0)
        unit = np.linalg.eigvalsh(centred @ centred.T).clip(0).mean()
        ridge = Ridge(alpha=unit * results["param_strength"][index])
        held_out = cross_val_predict(ridge, F, targets, cv=LeaveOneOut())
        error = np.mean((held_out - targets) ** 2)
        assert results["mean_test_error"][index] == pytest.approx(error, rel=1e-3)
        accuracy = np.mean(held_out.argmax(1) == y[labelled])
        assert results["mean_test_score"][index] == pytest.approx(accuracy, abs=0.05)


def test_final_classifier_is_ridge_on_dcot_features(corpus):
    X, y = corpus
    partly = np.where(np.arange(200) < 24, y[:200], -1)
    fitted = DCoTClassifier(grid=SMALL, random_state=0, self_training=False).fit(X[:200], partly)
    features = DCoT(**Candidate(**fitted.best_params_).parameters()).fit(X[:200])
    F, new = features.transform(X[:24]), features.transform(X[200:])
    centred = F - F.mean(0)
    unit = np.linalg.eigvalsh(np.asarray(centred @ centred.T)).clip(0).mean()
    targets = np.where(y[:24][:, None] == np.arange(3), 1.0, -1.0)
    ridge = Ridge(alpha=unit * fitted.strength_).fit(F, targets)
    np.testing.assert_allclose(fitted.decision_function(X[200:]), ridge.predict(new), atol=5e-3)


def test_unlabelled_documents_have_no_say_in_the_choice(corpus):
    """The representation sees all documents, the choice and the estimate only labelled ones.

    Leave-one-out of every candidate is computed again from the labelled rows and labels alone.
    """
    X, y = corpus
    partly = np.where(np.arange(300) < 24, y, -1)
    model = DCoTClassifier(grid=SMALL, random_state=0).fit(X, partly)
    held_out = model.cv_results_["mean_test_score"]
    targets = np.where(y[:24][:, None] == np.arange(3), 1.0, -1.0)
    for place, params in enumerate(model.cv_results_["params"]):
        features = DCoT(**Candidate(**params).parameters()).fit(X).transform(X[:24])
        F = features.toarray() if sp.issparse(features) else features
        ridge = KernelRidge.fit(F @ F.T, targets)
        assert (ridge.held_out.argmax(1) == y[:24]).mean() == pytest.approx(held_out[place])


def test_labels_that_are_left_out_change_nothing(corpus):
    """Of documents that count zero times, neither rows nor labels matter."""
    X, y = corpus
    weights = (np.arange(120) < 60).astype(float)
    wrong = np.where(weights > 0, y[:120], (y[:120] + 1) % 3)
    options = {"grid": SMALL, "random_state": 0}
    right = DCoTClassifier(**options).fit(X[:120], y[:120], sample_weight=weights)
    other = DCoTClassifier(**options).fit(X[:120], wrong, sample_weight=weights)
    np.testing.assert_array_equal(right.decision_function(X), other.decision_function(X))
    assert right.estimate_ == other.estimate_
    everything = DCoTClassifier(**options).fit(X[:120], wrong)
    assert np.abs(everything.decision_function(X) - right.decision_function(X)).max() > 0.1


def test_shuffled_labels_are_near_chance(corpus):
    X, y = corpus
    wrong = np.random.default_rng(0).permutation(y[:150])
    model = DCoTClassifier(grid=SMALL, random_state=0).fit(X[:150], wrong)
    assert model.estimate_.dcot.accuracy < 0.5


def test_estimate_is_near_the_truth(corpus):
    X, y = corpus
    model = DCoTClassifier(grid=SMALL, random_state=0).fit(X[:100], y[:100], unlabelled=X[100:200])
    truth = model.score(X[200:], y[200:])
    low, high = model.estimate_.dcot.accuracy_interval
    assert low - 0.05 <= truth <= high + 0.05
    assert model.estimate_.majority.accuracy == 0.34 < 0.5 < model.estimate_.tfidf.accuracy


@pytest.mark.parametrize(("counts", "share"), [((10, 10), 0.5), ((15, 5), 0.75), ((7, 6, 7), 0.35)])
def test_the_majority_baseline_is_the_share_of_the_largest_class(corpus, counts, share):
    X, _ = corpus
    y = np.repeat(np.arange(len(counts)), counts)
    model = DCoTClassifier(grid=SMALL, selection="none", random_state=0).fit(X[:20], y)
    assert model.estimate_.majority.accuracy == share
    assert f"{100 * share:.1f} % are of the majority class" in model.summary()


def test_the_majority_baseline_of_several_labels_is_the_most_frequent_set(corpus):
    X, _ = corpus
    several = [(("a",), ("b",), ("a", "c"))[k % 3] for k in range(20)] + [("a", "c")] * 4
    model = DCoTClassifier(random_state=0).fit(X[:24], several)
    assert model.estimate_.majority.accuracy == 10 / 24


def test_one_label_per_class_is_too_few_for_an_estimate(corpus):
    """Leave-one-out is always wrong then, for every classifier."""
    X, y = corpus
    first = [np.flatnonzero(y == label)[0] for label in np.unique(y)]
    report = DCoTClassifier(random_state=0).fit(X[first], y[first]).report()
    assert "cannot be estimated yet" in report
    assert "Expect" not in report
    assert "TF-IDF" not in report


def test_the_estimate_leads_with_its_interval(fitted):
    low, high = fitted.estimate_.dcot.accuracy_interval
    words = f"Expect between {100 * low:.0f} and {100 * high:.0f} %"
    assert fitted.estimate_.sentence().startswith(words)
    assert words in fitted.summary()


def test_an_interval_contains_its_own_macro_f1():
    """Many rare classes are drawn seldom, and each is wrong when its only document is left out."""
    codes = np.concatenate([np.repeat(np.arange(3), 40), np.arange(3, 80)])
    targets = signs(codes, 80)
    decisions = np.where(codes[:, None] < 3, targets, -targets)
    score = estimate(decisions, decisions, targets, np.ones(len(codes)), True, 0).dcot
    low, high = score.macro_f1_interval
    assert low <= score.macro_f1 <= high


def test_the_default_is_kept_unless_clearly_beaten():
    weights = np.ones(50)
    rng = np.random.default_rng(0)
    same = rng.random((3, 50))
    assert best_of(np.vstack([same[0], same[0] + 0.01, same[0] + 0.5]), weights) == 0
    noisy = np.vstack([same[0], same[0] + rng.normal(0, 1, 50) - 0.01])
    assert best_of(noisy, weights) == 0
    assert best_of(np.vstack([same[0], same[0] - 0.1]), weights) == 1


def test_lsi_is_left_out_on_less_evidence():
    """One standard error is enough; all other candidates are then compared with the result."""
    weights, default = np.ones(50), np.random.default_rng(0).random(50)
    wobble = np.tile([0.5, -0.5], 25)  # a standard error of 0.071
    without = default + wobble - 0.15
    assert selected(np.vstack([default, without]), weights, None) == 0
    assert selected(np.vstack([default, without]), weights, 1) == 1
    assert selected(np.vstack([default, default + wobble - 0.05]), weights, 1) == 0
    assert selected(np.vstack([default, without, without - 0.1]), weights, 1) == 2
    # clearly better than the default, but not than the candidate without LSI
    other = default - 0.17
    assert selected(np.vstack([default, without, other]), weights, None) == 2
    assert selected(np.vstack([default, without, other]), weights, 1) == 1


def test_candidates_without_lsi():
    found = candidates_for(DCoT())
    assert found[0].features == "LSI and both layers"
    assert found[without_lsi(found)].features == "both layers"
    assert without_lsi(found[:1]) is None
    assert without_lsi(candidates_for(DCoT(output="last"))) is None


def test_lsi_is_learned_for_a_frozen_vectorizer():
    """The same features as without freezing: the directions are learned from the documents."""
    options = {"selection": "none", "random_state": 0}
    whole = DCoTClassifier(**options).fit(TEXTS, ["a", "b", "b", "c", "c", "c"])
    vectorizer = FrozenEstimator(DCoTVectorizer().fit(TEXTS))
    frozen = DCoTClassifier(vectorizer=vectorizer, **options)
    frozen.fit(TEXTS, ["a", "b", "b", "c", "c", "c"])
    np.testing.assert_allclose(frozen.transform(TEXTS), whole.transform(TEXTS), atol=1e-6)
    assert frozen.get_feature_names_out()[0] == "lsi0"
    used = frozen.dcot_._fitted().representation.directions
    again = DCoTClassifier(vectorizer=FrozenEstimator(frozen.vectorizer_), **options)
    again.fit(TEXTS[:3], ["a", "b", "b"])
    np.testing.assert_array_equal(again.dcot_._fitted().representation.directions, used)


def test_candidates_change_one_setting_at_a_time():
    assert len(candidates_for(DCoT())) == 3  # one fit serves all of them
    grid = {"noise": (0.9, 0.8, 0.95), "shrinkage": (1.0, 0.3, 3.0), "n_prototypes": (3000, 1000)}
    found = candidates_for(DCoT(), grid)
    centre = found[0]
    assert len(found) == len(set(found)) == (1 + 2 + 2 + 1) * 3
    for candidate in found:
        names = ("noise", "shrinkage", "n_prototypes")
        changed = [name for name in names if getattr(candidate, name) != getattr(centre, name)]
        assert len(changed) <= 1


def test_x_is_a_candidate_only_with_many_labels():
    found = candidates_for(DCoT())
    names = [candidate.features for candidate in for_labels(found, INPUT_FROM_LABELS - 1)]
    assert names == ["LSI and both layers", "both layers"]
    assert for_labels(found, INPUT_FROM_LABELS) == found
    kept = for_labels(candidates_for(DCoT(output="concat")), 10)
    assert kept[0].features == "x and both layers"


def test_the_features_that_are_asked_for_are_tried_with_any_number_of_labels():
    texts = [f"oil {n} barrels" for n in "abcdef"] + [f"wheat {n} harvest" for n in "abcdef"]
    labels = ["oil"] * 6 + ["grain"] * 6
    few = DCoTClassifier().fit(texts, labels)
    asked = DCoTClassifier(grid={"features": ("both layers", "x and both layers")})
    tried = [row["features"] for row in asked.fit(texts, labels).cv_results_["params"]]
    assert tried == ["both layers", "x and both layers"]
    tried = [row["features"] for row in few.cv_results_["params"]]
    assert tried == ["LSI and both layers", "both layers"]


def test_the_selected_representation_is_kept_whatever_the_order_of_the_errors(monkeypatch):
    X = sp.csr_array(np.random.default_rng(0).poisson(0.7, (60, 12)).astype(np.float32))
    found = candidates_for(DCoT(5), {"noise": [0.9, 0.8, 0.7]})
    wave = np.tile([1.0, -1.0], 20)
    # without LSI is better; then another noise clearly; then one that is best, but not clearly
    errors = {
        (0.9, "LSI and both layers"): 10 + 0 * wave,
        (0.9, "both layers"): 9 + 0.1 * wave,
        (0.8, "both layers"): 8 + 0.1 * wave,
        (0.7, "both layers"): 7.9 + 8 * wave,
    }

    def fitted(kernel, targets, weights, judged):
        candidate = next(tried)
        own = errors.get((candidate.noise, candidate.features), 20 + wave)
        return KernelRidge(*[np.zeros((40, 1))] * 2, 1.0, 1.0, np.zeros((40, 1)), own, np.ones(40))

    fits = list(fits_of(X, None, found, base_options(DCoT(5))))
    tried = iter([candidate for group, _ in fits for candidate in group])
    monkeypatch.setattr(KernelRidge, "fit", fitted)
    chosen = select(iter(fits), X[:40], np.ones((40, 1)), np.ones(40))
    assert (chosen.best.noise, chosen.best.features) == (0.9, "both layers")
    assert chosen.fitted.representation.layers[0] is fits[0][1].layers[0]


def test_the_first_candidate_is_a_dcot_with_its_defaults():
    defaults = {**DCoT().get_params(), "output": "lsi"}
    chosen = candidates_for(DCoT())[0].parameters()
    assert {name: defaults[name] for name in chosen} == chosen
    assert candidates_for(DCoT())[0].features == GRID["features"][0]


@pytest.mark.parametrize(
    "options",
    [
        {"noise": 0.7},
        {"noise": (0.6, 0.5), "shrinkage": 2.0},
        {"n_prototypes": 500},
        {"n_layers": 1},
        {"n_layers": 1, "output": "concat"},
        {"n_layers": 3},
        {"n_layers": 3, "output": "last"},
        {"n_layers": 3, "output": "concat", "noise": (0.9, 0.8, 0.7)},
        {"prototypes": [3, 1, 2]},
    ],
)
def test_the_settings_of_a_dcot_are_the_first_candidate(options):
    dcot = DCoT(**options)
    found = candidates_for(dcot)
    output = "lsi" if dcot.output == "layers" else dcot.output
    expected = replace(dcot._fit_options(), output=output)
    assert found[0].options(base_options(dcot)) == expected
    assert len(set(found)) == len(found)
    assert max(candidate.n_prototypes for candidate in found) == dcot.n_prototypes
    for candidate in found:
        made = DCoT(**{**dcot.get_params(), **candidate.parameters(dcot)})._fit_options()
        assert candidate.options(base_options(dcot)) == made


@pytest.mark.parametrize("n_layers", [1, 2, 3, 12])
@pytest.mark.parametrize("output", ["layers", "last", "concat", "lsi", "all"])
def test_names_of_features(n_layers, output):
    found = layers_and_output(features_of(n_layers, output))
    assert found == (n_layers, "layers" if (n_layers, output) == (1, "last") else output)


@pytest.mark.parametrize(
    "options",
    [
        {"squash": "tanh", "n_prototypes": 20},
        {"normalize": "shared", "n_prototypes": 20},
        {"normalize": None, "ridge": 0.1, "n_prototypes": 20},
        {"normalize": "center", "output": "concat", "n_prototypes": 20},
        {"n_layers": 3, "noise": (0.8, 0.7, 0.5), "n_prototypes": 20, "solver": "dual"},
        {"prototypes": "frequent", "n_prototypes": 10, "dtype": "float32"},
    ],
)
def test_every_setting_of_the_vectorizer_is_used(corpus, options):
    """The default of the classifier is the DCoT that it was given, feature by feature."""
    X, y = corpus
    model = DCoTClassifier(vectorizer=DCoTVectorizer(**options), selection="none")
    model.fit(X[:60], y[:60], unlabelled=X[60:200])
    expected = DCoT(**{"output": "lsi", **options}).fit(X[:200])
    found = model.transform(X[200:])
    assert found.dtype == expected.transform(X[200:]).dtype
    np.testing.assert_allclose(dense(found), dense(expected.transform(X[200:])), atol=1e-6)
    names = expected.get_feature_names_out().tolist()
    assert model.get_feature_names_out().tolist() == names
    decisions = dense(found) @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X[200:]), decisions, atol=1e-4)


def dense(features):
    return features.toarray() if sp.issparse(features) else features


def test_n_components_is_refused(corpus):
    X, y = corpus
    with pytest.raises(DcotError, match="n_components must be None"):
        DCoTClassifier(vectorizer=DCoTVectorizer(n_components=5)).fit(X[:20], y[:20])
    with pytest.raises(DcotError, match="vectorizer must be a DCoTVectorizer"):
        DCoTClassifier(vectorizer=DCoT()).fit(X[:20], y[:20])


def test_cv_results_and_words(fitted):
    results = fitted.cv_results_
    n = len(results["params"])
    assert n == (1 + 1 + 1 + 1) * 2  # two choices of features: x is not tried with few labels
    for name in ("mean_test_score", "mean_test_error", "rank_test_error", "param_noise"):
        assert len(results[name]) == n
    assert sorted(results["rank_test_error"]) == list(range(1, n + 1))
    assert "from 200 documents, and 3 classes from 24 labelled documents" in fitted.summary()
    assert "TF-IDF" in fitted.report()


def test_selection_none_uses_the_defaults(corpus):
    X, y = corpus
    model = DCoTClassifier(selection="none", grid=SMALL).fit(X[:100], y[:100])
    assert len(model.cv_results_["params"]) == 1
    first = {name: values[0] for name, values in SMALL.items()}
    assert model.best_params_ == {**first, "features": "LSI and both layers", "embedding": 0.0}
    assert model.best_index_ == 0


def test_reproducible(corpus):
    X, y = corpus
    options = {"grid": SMALL, "random_state": 3}
    first = DCoTClassifier(**options).fit(X[:60], y[:60])
    second = DCoTClassifier(**options).fit(X[:60], y[:60])
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))
    assert first.estimate_ == second.estimate_


def test_probabilities_are_calibrated(corpus):
    X, y = corpus
    model = DCoTClassifier(grid=SMALL, random_state=0).fit(X[:150], y[:150])
    assert model.calibrated_
    p = model.predict_proba(X[150:])
    np.testing.assert_allclose(p.sum(1), 1)
    confidence, hits = p.max(1), p.argmax(1) == y[150:]
    assert abs(confidence.mean() - hits.mean()) < 0.1
    few = DCoTClassifier(grid=SMALL).fit(X[:6], y[:6], unlabelled=X[6:])
    assert not few.calibrated_
    assert "Too few labels to calibrate" in _report(few)


def _report(model):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.report()


def test_report_warns_where_tfidf_is_not_beaten(fitted):
    model = copy(fitted)
    assert not model.estimate_.beaten
    worse = replace(model.estimate_.dcot, accuracy=model.estimate_.tfidf.accuracy)
    model.estimate_ = replace(model.estimate_, dcot=worse)
    with pytest.warns(UserWarning, match="does not beat TF-IDF"):
        assert "or the words themselves" in model.report()
    assert "the words themselves" not in model.estimate_.warning("x and LSI and both layers")
    best = replace(model.estimate_.dcot, accuracy=1.0)
    always = replace(model.estimate_, dcot=best, tfidf=best).warning("LSI and both layers")
    assert always.endswith("for which both are always right")


@pytest.mark.parametrize("estimator", ["svm", "logistic", RidgeClassifier(alpha=0.5)])
def test_other_learners_in_the_span_are_exact(corpus, estimator):
    """The span has the same inner products, so the learner finds the same solution."""
    X, y = corpus
    model = DCoTClassifier(grid=SMALL, estimator=estimator, selection="none", random_state=0)
    model.fit(X[:60], y[:60], unlabelled=X[60:200])
    assert model.score(X[200:], y[200:]) > 0.75
    # the same learner, iterated until rounding decides
    converged = clone(model.estimator_).set_params(tol=1e-10, max_iter=100_000)
    exact = clone(model).set_params(estimator=converged)
    exact.fit(X[:60], y[:60], unlabelled=X[60:200])
    plain = clone(converged).fit(exact.transform(X[:60]), y[:60])
    expected = plain.decision_function(exact.transform(X[200:]))
    np.testing.assert_allclose(exact.decision_function(X[200:]), expected, atol=1e-5)
    np.testing.assert_allclose(model.decision_function(X[200:]), expected, atol=1e-2)


@pytest.mark.parametrize("estimator", ["svm", "logistic", RidgeClassifier(alpha=100.0)])
def test_estimate_and_calibration_are_those_of_the_learner(corpus, estimator):
    """Against scikit-learn's cross-validation of the learner on the features."""
    X, y = corpus
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(150) < 0.3, rng.integers(0, 3, 150), y[:150])
    options = {"grid": SMALL, "selection": "none", "random_state": 0}
    ridge = DCoTClassifier(**options).fit(X[:150], noisy)
    model = DCoTClassifier(**options, estimator=estimator).fit(X[:150], noisy)
    assert model.estimate_.dcot != ridge.estimate_.dcot
    assert model.estimate_.tfidf == ridge.estimate_.tfidf
    assert model.temperature_ != ridge.temperature_
    plain = clone(model.estimator_).fit(model.transform(X[:150]), noisy)
    fold = check_random_state(0).permutation(np.arange(150) % 5)
    held_out = cross_val_predict(plain, model.transform(X[:150]), noisy, cv=PredefinedSplit(fold))
    assert model.estimate_.dcot.accuracy == pytest.approx((held_out == noisy).mean(), abs=0.021)
    confidence = model.predict_proba(X[150:]).max(1).mean()
    assert abs(confidence - (model.predict(X[150:]) == y[150:]).mean()) < 0.35


def test_other_learners_weigh_documents_with_several_labels(corpus):
    X, y = corpus
    sets = [["a", "b"] if label == 0 else ["b"] if label == 1 else ["c"] for label in y]
    weights = np.ones(60)
    weights[y[:60] == 0] = 20.0
    converged = LogisticRegression(tol=1e-10, max_iter=100_000)
    options = {"grid": SMALL, "selection": "none", "estimator": converged}
    even = DCoTClassifier(**options).fit(X[:60], sets[:60], unlabelled=X[60:])
    # the same documents twenty times over, which are one document of weight 20
    heavy = DCoTClassifier(**options)
    heavy.fit(X[:60], sets[:60], unlabelled=X[60:], sample_weight=weights)
    assert (
        heavy.decision_function(X[60:])[:, 0].mean() > even.decision_function(X[60:])[:, 0].mean()
    )
    member = np.array(["a" in one for one in sets[:60]])
    F, new = heavy.transform(X[:60]), heavy.transform(X[60:])
    plain = clone(converged).fit(F, member, sample_weight=weights)
    found = heavy.decision_function(X[60:])[:, 0]
    np.testing.assert_allclose(found, plain.decision_function(new), atol=1e-5)


@pytest.mark.parametrize("dtype", [int, bool])
def test_columns_of_indicators_name_the_classes(corpus, dtype):
    X, y = corpus
    table = pd.DataFrame({"low": y < 2, "even": y % 2 == 0}).astype(dtype)
    named = DCoTClassifier(random_state=0).fit(X, table)
    numbered = DCoTClassifier(random_state=0).fit(X, table.to_numpy())
    assert named.classes_.tolist() == ["low", "even"]
    assert np.array_equal(named.predict(X), numbered.predict(X))
    assert named.score(X, table) == numbered.score(X, table)


def test_multilabel_as_indicator_and_as_sets(corpus):
    X, y = corpus
    Y = np.zeros((300, 3), dtype=int)
    Y[np.arange(300), y] = 1
    Y[np.arange(300), (y + 1) % 3] = (np.arange(300) % 2) * 1
    marked = np.where((np.arange(300) < 90)[:, None], Y, -1)
    model = DCoTClassifier(grid=SMALL, selection="none").fit(X, marked)
    predicted = model.predict(X[90:])
    assert predicted.shape == (210, 3)
    assert (predicted == Y[90:]).mean() > 0.6
    assert model.predict_proba(X).max() <= 1
    names = np.array(["a", "b", "c"])
    sets = [list(names[row > 0]) if i < 90 else None for i, row in enumerate(Y)]
    by_sets = DCoTClassifier(grid=SMALL, selection="none").fit(X, sets)
    assert by_sets.predict(X[90:])[0] == tuple(names[predicted[0] > 0])
    assert 0 <= by_sets.score(X[:90], sets[:90]) <= 1


def test_weights_are_copies(corpus):
    """A document of weight 3 is that document three times: for the representation, too."""
    X, y = corpus
    weights = np.random.default_rng(0).integers(1, 4, 60)
    options = {"grid": SMALL, "selection": "none"}
    weighted = DCoTClassifier(**options).fit(X[:60], y[:60], sample_weight=weights)
    rows = np.repeat(np.arange(60), weights)
    copies = DCoTClassifier(**options).fit(X[rows], y[rows])
    expected = copies.decision_function(X[200:])
    np.testing.assert_allclose(weighted.decision_function(X[200:]), expected, atol=1e-6)
    plain = DCoTClassifier(**options).fit(X[:60], y[:60])
    assert np.abs(plain.decision_function(X[200:]) - expected).max() > 0.01


def test_class_weights_are_for_the_classifier_alone(corpus):
    X, y = corpus
    kept = np.flatnonzero((y < 2) & ((y == 0) | (np.arange(300) % 9 == 1)))[:60]
    options = {"grid": SMALL, "selection": "none"}
    plain = DCoTClassifier(**options).fit(X[kept], y[kept])
    balanced = DCoTClassifier(**options, class_weight="balanced").fit(X[kept], y[kept])
    np.testing.assert_array_equal(balanced.transform(X), plain.transform(X))
    assert (y[kept] == 1).sum() < 20
    assert balanced.decision_function(X).mean() > plain.decision_function(X).mean() + 0.05
    by_hand = {0: 1.0, 1: (y[kept] == 0).sum() / (y[kept] == 1).sum()}
    mapped = DCoTClassifier(**options, class_weight=by_hand).fit(X[kept], y[kept])
    found = mapped.decision_function(X)
    np.testing.assert_allclose(found, balanced.decision_function(X), atol=1e-8)
    with pytest.raises(DcotError, match="one label per document"):
        DCoTClassifier(**options, class_weight="balanced").fit(X[:4], [["a"], ["b"], ["a"], []])


TEXTS = [
    "crude oil prices rise",
    "opec cuts crude output",
    "petroleum and crude exports",
    "wheat harvest is poor",
    "corn and wheat exports",
    "maize and corn crops",
]


@pytest.mark.parametrize("on", [False, True])
@pytest.mark.parametrize(
    "features",
    ["both layers", "layer 2", "x and both layers", "LSI and both layers", "x and LSI and layer 1"],
)
@pytest.mark.parametrize("normalize", ["unit", "shared", "center", None])
def test_explanations_add_up(features, normalize, on):
    grid = {"features": (features,), "noise": (0.5,), "shrinkage": (0.1,)}
    vectorizer = DCoTVectorizer(normalize=normalize)
    model = DCoTClassifier(vectorizer=vectorizer, grid=grid, selection="none", self_training=on)
    model.fit(TEXTS, ["oil", None, "fuel", "grain", None, None])
    for text in ["petroleum exports", "opec maize", ""]:
        decisions = dict(zip(model.classes_, model.decision_function([text])[0], strict=True))
        for name, decision in decisions.items():
            found = model.explain(text, name)
            assert found.decision == pytest.approx(decision, abs=1e-5)
            assert_adds_up(found, features, len(model.prototypes_), on)
        found = model.explain(text, "oil", against="grain")
        expected = decisions["oil"] - decisions["grain"]
        assert found.decision == pytest.approx(expected, abs=1e-5)
        assert_adds_up(found, features, len(model.prototypes_), on)


def assert_adds_up(found, features, n_prototypes, self_training):
    assert found.baseline + sum(word.share for word in found) == pytest.approx(found.decision)
    for word in found:
        assert len(word.through) == min(10, n_prototypes)
        sizes = [abs(value) for _, value in word.through]
        assert sizes == sorted(sizes, reverse=True)
        # what is not shown is smaller than the least that is
        hidden = word.share - word.direct - sum(value for _, value in word.through)
        assert abs(hidden) <= sizes[-1] * (n_prototypes - len(sizes)) + 1e-6
        # with self-training, words of unlabelled documents have weights too; LSI joins all words
        if "LSI" not in features and not (features.startswith("x") and self_training):
            assert (word.direct != 0) == (features.startswith("x") and word.labelled)


def test_an_explanation_says_how_sure_and_against_what():
    model = DCoTClassifier(selection="none")
    model.fit(TEXTS, ["oil", "oil", "fuel", "grain", "grain", "grain"])
    found = model.explain("wheat and corn")
    p = model.predict_proba(["wheat and corn"])[0]
    first, second = np.argsort(-p)[:2]
    assert (found.target, found.against) == (model.classes_[first], model.classes_[second])
    assert found.probability == pytest.approx(p[first])
    assert found.runner_up == (model.classes_[second], pytest.approx(p[second]))
    assert found.decision > 0
    words = f"grain: probability {p[first]:.2f}, next {model.classes_[second]} {p[second]:.2f}"
    assert words in str(found)
    assert "rather than" in found._repr_html_()
    with pytest.raises(DcotError, match="against must be one of the classes"):
        model.explain("wheat", "oil", against="gold")
    with pytest.raises(DcotError, match="target and against are the same class, 'oil'"):
        model.explain("wheat", model.classes_[2], against="oil")
    found = model.explain("opec", against=model.predict(["opec"])[0])  # why not another class?
    assert found.target != found.against
    assert found.decision < 0


def test_explanation_names_words_without_labels():
    model = DCoTClassifier(grid={"noise": (0.5,), "shrinkage": (0.1,)}, selection="none")
    model.fit(TEXTS, ["oil", None, None, "grain", None, None])
    found = model.explain("petroleum", "oil")
    assert found.words[0].word == "petroleum"
    assert not found.words[0].labelled
    assert found.words[0].share > 0
    assert "in no labelled document" in str(found)
    assert found.to_frame().shape == (1, 7)


def test_an_explanation_names_the_words_it_skips():
    model = DCoTClassifier(selection="none").fit(TEXTS, ["oil", "oil", "oil", *["grain"] * 3])
    found = model.explain("Wheat zzz and xylophone, zzz", "oil")
    assert found.unknown == ("zzz", "xylophone")
    assert "unknown words, skipped: zzz, xylophone" in str(found)
    assert "zzz, xylophone" in found._repr_html_()
    frame = found.to_frame()
    assert frame.filter(~frame["known"])["word"].to_list() == ["zzz", "xylophone"]
    assert frame["share"].sum() + found.baseline == pytest.approx(found.decision)
    assert model.explain(iter(["wheat zzz"])).unknown == ("zzz",)
    known = model.explain("wheat", "oil")
    assert known.unknown == ()
    assert "skipped" not in str(known) + known._repr_html_()


@pytest.mark.parametrize("sparse", [False, True])
def test_documents_without_words_are_no_copies(corpus, sparse):
    """New documents without words are predicted as these are, so each of them is evaluated."""
    X, y = corpus
    X = np.vstack([X[:60].toarray(), np.zeros((40, X.shape[1]))])
    y = np.concatenate([y[:60], y[:1].repeat(40)])
    model = DCoTClassifier(random_state=0).fit(sp.csr_array(X) if sparse else X, y)
    estimate = model.estimate_
    assert estimate.n == 100
    assert estimate.dcot.accuracy == pytest.approx(0.4 + 0.6 * model.score(X[:60], y[:60]), abs=0.1)
    low, high = estimate.dcot.accuracy_interval
    assert high - low < 0.25


def test_copies_of_a_document_do_not_vouch_for_each_other():
    rng = np.random.default_rng(0)
    X = rng.random((20, 8))
    y = rng.integers(0, 2, 20)
    grid = {"n_prototypes": (8,)}
    once = DCoTClassifier(grid=grid, random_state=0).fit(X, y)
    thrice = DCoTClassifier(grid=grid, random_state=0).fit(np.tile(X, (3, 1)), np.tile(y, 3))
    assert thrice.n_labelled_ == 60
    assert thrice.estimate_.n == once.estimate_.n == 20


SOURCES = {
    "tuple": tuple,
    "numpy": np.array,
    "numpy objects": lambda texts: np.array(texts, dtype=object),
    "generator": iter,
    "pandas": pd.Series,
    "pandas strings": lambda texts: pd.Series(texts, dtype="string"),
    "pandas arrow": lambda texts: pd.Series(texts, dtype="string[pyarrow]"),
    "pandas arrow type": lambda texts: pd.Series(texts, dtype=pd.ArrowDtype(pa.string())),
    "polars": pl.Series,
    "arrow": pa.array,
    "arrow chunks": lambda texts: pa.chunked_array([texts[:2], texts[2:]]),
    "source": lambda texts: Repeatable(lambda: [texts[:2], texts[2:]]),
    "function": lambda texts: lambda: iter([texts[:2], texts[2:]]),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_texts_from_any_source(kind):
    labels = ["oil", "oil", None, "grain", None, "grain"]
    model = DCoTClassifier(selection="none").fit(TEXTS[:4], labels[:4], unlabelled=TEXTS[4:])
    expected = model.decision_function(TEXTS)
    read = SOURCES[kind]
    model = DCoTClassifier(selection="none")
    model.fit(read(TEXTS[:4]), labels[:4], unlabelled=read(TEXTS[4:]))
    np.testing.assert_array_equal(model.decision_function(read(TEXTS)), expected)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(TEXTS), expected)


def test_texts_from_files(tmp_path):
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    labels = ["oil", "oil", None, "grain", None, "grain"]
    expected = DCoTClassifier(selection="none").fit(TEXTS, labels).decision_function(TEXTS)
    for read in (read_texts, TextSource):
        model = DCoTClassifier(selection="none").fit(read(tmp_path / "texts.txt"), labels)
        found = model.decision_function(read(tmp_path / "texts.txt"))
        np.testing.assert_array_equal(found, expected)


LABEL_COLUMNS = {
    "pandas": pd.Series,
    "pandas strings": lambda y: pd.Series(y, dtype="string"),
    "pandas arrow": lambda y: pd.Series(y, dtype=pd.ArrowDtype(pa.string())),
    "pandas categories": lambda y: pd.Series(y, dtype="category"),
    "polars": pl.Series,
    "arrow": pa.array,
    "arrow chunks": lambda y: pa.chunked_array([y[:2], y[2:]]),
    "empty text": lambda y: ["" if label is None else label for label in y],
    "NaN": lambda y: [np.nan if label is None else label for label in y],
}


@pytest.mark.parametrize("kind", LABEL_COLUMNS)
def test_labels_in_columns_with_missing_values(kind):
    labels = ["oil", "oil", None, "grain", None, "grain"]
    expected = DCoTClassifier(selection="none").fit(TEXTS, labels)
    given = LABEL_COLUMNS[kind](labels)
    model = DCoTClassifier(selection="none").fit(TEXTS, given)
    assert model.classes_.tolist() == ["grain", "oil"]
    assert model.n_labelled_ == 4
    np.testing.assert_array_equal(model.decision_function(TEXTS), expected.decision_function(TEXTS))
    assert model.score(TEXTS, given) == 1.0


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]", "boolean"])
def test_whole_numbers_with_missing_values_stay_whole(dtype):
    labels = pd.Series([1, 1, None, 0, None, 0], dtype=dtype)
    model = DCoTClassifier(selection="none").fit(TEXTS, labels)
    assert [type(name) for name in model.classes_.tolist()] == [
        bool if dtype == "boolean" else int
    ] * 2
    assert model.classes_.dtype.kind in "ib"
    assert set(model.predict(TEXTS).tolist()) <= {0, 1}


@pytest.mark.parametrize("dtype_backend", ["numpy_nullable", "pyarrow"])
def test_a_table_read_by_pandas(tmp_path, dtype_backend):
    labels = ["oil", "oil", "", "grain", "", "grain"]
    lines = [f"{text},{label}" for text, label in zip(TEXTS, labels, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["text,topic", *lines]))
    table = pd.read_csv(tmp_path / "t.csv", dtype_backend=dtype_backend)
    model = DCoTClassifier(selection="none").fit(table["text"], table["topic"])
    assert model.classes_.tolist() == ["grain", "oil"]
    assert model.n_labelled_ == 4


@pytest.mark.parametrize(
    "documents",
    [[None, *TEXTS[1:]], [text.encode() for text in TEXTS], pd.Series([*TEXTS[:5], None])],
)
def test_documents_that_are_not_texts_are_named(documents):
    with pytest.raises(DcotError, match=r"document \d is .*expected a string"):
        DCoTClassifier().fit(documents, ["a", "b"] * 3)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([None] * 6, "no document has a label"),
        ([-1] * 6, "no document has a label"),
        (["oil"] * 6, "one class"),
        (["oil", "grain"], "6 documents, 2 labels"),
        (["oil", 3, None, None, None, None], "mixed types"),
        ([["oil"], "grain", None, None, None, None], "lists of labels and"),
        (np.full((6, 2), 7), "indicator matrix"),
        (np.full((6, 2), 0.5), "the same probabilities"),
        (None, "y is missing"),
        ([0.5, 1.5, 2, 3, 4, 5], "continuous"),
        ([[], [], [], [], [], []], "empty list of labels"),
        (["a", "", "", "", "", "a"], "all 2 labelled documents are 'a'"),
        ("oil", "single str"),
        (3, "y is a int"),
        ([["a"], [1], None, None, None, None], "mixed types"),
    ],
)
def test_bad_labels(y, words):
    with pytest.raises(DcotError, match=words):
        DCoTClassifier().fit(TEXTS, y)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"selection": "best"}, "selection must be"),
        ({"grid": {"depth": [1]}}, "grid has"),
        ({"grid": {"noise": []}}, "grid\\['noise'\\]"),
        ({"grid": {"noise": 0.5}}, "grid\\['noise'\\] must be a list"),
        ({"grid": {"noise": [1.0]}}, "noise must be in"),
        ({"grid": {"noise": [-0.1]}}, "noise must be in"),
        ({"grid": {"noise": ["much"]}}, "noise must be in"),
        ({"grid": {"shrinkage": [-1]}}, "shrinkage must be"),
        ({"grid": {"n_prototypes": [0]}}, "n_prototypes must be"),
        ({"grid": {"n_prototypes": [2.5]}}, "n_prototypes must be"),
        ({"grid": {"features": ["x and layer 2"]}}, "grid\\['features'\\]"),
        ({"grid": {"features": ["x"]}}, "grid\\['features'\\]"),
        ({"estimator": "forest"}, "estimator must be"),
        ({"estimator": KNeighborsClassifier(1)}, "must be linear"),
        ({"estimator": 3}, "estimator must be"),
    ],
)
def test_bad_settings(options, words):
    with pytest.raises(DcotError, match=words):
        DCoTClassifier(**options).fit(TEXTS, ["a", "b", "a", "b", "a", "b"])


def test_a_class_with_one_example_and_unseen_labels_at_scoring():
    model = DCoTClassifier(selection="none").fit(TEXTS, ["a", "b", "b", "c", "c", "c"])
    assert list(model.classes_) == ["a", "b", "c"]
    assert model.score(TEXTS, ["zzz"] * 6) == 0.0


def test_wrong_use():
    model = DCoTClassifier(selection="none").fit(TEXTS, ["a", "b", "b", "c", "c", "c"])
    with pytest.raises(DcotError, match="single string"):
        model.predict("oil")
    with pytest.raises(DcotError, match="fitted on texts"):
        model.predict(np.ones((2, 3)))
    with pytest.raises(DcotError, match=r"target must be one of the classes \['a', 'b', 'c'\]"):
        model.explain("oil", "zzz")
    with pytest.raises(DcotError, match="sample_weight must"):
        DCoTClassifier().fit(TEXTS, ["a", "b"] * 3, sample_weight=[1])
    with pytest.raises(DcotError, match="sample_weight must"):
        DCoTClassifier().fit(TEXTS, ["a", "b"] * 3, sample_weight="abc")


def test_the_weight_of_no_class_is_named():
    model = DCoTClassifier(class_weight={"a": 2, "bb": 3})
    with pytest.raises(DcotError, match=r"class_weight has \['bb'\], and the classes are"):
        model.fit(TEXTS, ["a", "b"] * 3)


@pytest.mark.parametrize("class_weight", [None, {"a": 1e-5, "b": 1e5}])
def test_weights_that_are_far_apart_are_said(class_weight):
    model, y = DCoTClassifier(class_weight=class_weight), ["a", "b"] * 3
    weights = np.ones(6) if class_weight else [1e10, 1, 1, 1, 1, 0]
    expected = "from 1e-05 to 1e\\+05" if class_weight else "from 1 to 1e\\+10"
    with pytest.warns(UserWarning, match=expected) as found:
        model.fit(TEXTS, y, sample_weight=weights)
    assert found[0].filename == __file__
    with pytest.warns(UserWarning, match=expected) as found:
        model.refit(TEXTS, y, sample_weight=weights)
    assert found[0].filename == __file__
    with pytest.raises(DcotError, match="single str"):
        DCoTClassifier().fit(TEXTS, ["a", "b"] * 3, unlabelled="zinc lead")


@pytest.mark.parametrize(
    "use",
    [
        lambda model: model.predict(TEXTS),
        lambda model: model.transform(TEXTS),
        lambda model: model.refit(TEXTS, ["a", "b"] * 3),
        lambda model: model.label_issues(),
        lambda model: model.explain("oil"),
        lambda model: model.score(TEXTS, ["a", "b"] * 3),
        lambda model: model.report(),
        lambda model: model.has_known_terms(TEXTS),
    ],
)
def test_not_fitted(use):
    with pytest.raises(DcotError, match="DCoTClassifier instance is not fitted yet"):
        use(DCoTClassifier())


def test_scores_of_labelled_documents_only():
    model = DCoTClassifier(selection="none").fit(TEXTS, ["a", "b", "b", "c", "c", "c"])
    predicted = model.predict(TEXTS).tolist()
    assert model.score(TEXTS, [predicted[0], None, -1, "", np.nan, "zzz"]) == 0.5
    weights = [1, 9, 9, 9, 9, 3]
    assert model.score(TEXTS, [predicted[0], None, -1, "", np.nan, "zzz"], weights) == 0.25
    with pytest.raises(DcotError, match="no document has a label"):
        model.score(TEXTS, [None] * 6)
    with pytest.raises(DcotError, match="6 documents, but 2 labels"):
        model.score(TEXTS, ["a", "b"])


def test_scores_with_several_labels():
    Y = np.array([[1, 0], [1, 1], [0, 1], [1, 0], [0, 1], [0, 0]])
    model = DCoTClassifier(selection="none").fit(TEXTS, Y)
    predicted = model.predict(TEXTS)
    assert model.score(TEXTS, predicted) == 1.0
    assert model.score(TEXTS[:2], np.vstack([predicted[:1], [[-1, -1]]])) == 1.0
    for bad in ([[1, 0]], np.ones((6, 3)), [1, 0, 1, 0, 1, 0]):
        with pytest.raises(DcotError, match=r"labels to score|expected"):
            model.score(TEXTS, bad)
    sets = [["x"], ["x", "y"], None, ["y"], [], ["x"]]
    by_sets = DCoTClassifier(selection="none").fit(TEXTS, sets)
    found = by_sets.predict(TEXTS)
    assert all(type(name) is str for names in found for name in names)
    assert by_sets.score(TEXTS, [list(names) for names in found]) == 1.0
    assert by_sets.score(TEXTS[:2], [found[0], None]) == 1.0


def test_no_documents_give_no_predictions():
    model = DCoTClassifier(selection="none").fit(TEXTS, ["a", "b", "b", "c", "c", "c"])
    assert model.predict([]).shape == (0,)
    assert model.predict_proba([]).shape == (0, 3)
    assert model.transform([]).shape == (0, model.coef_.shape[1])
    matrix = DCoTClassifier(selection="none").fit(np.eye(6), [0, 1] * 3)
    with pytest.raises(DcotError, match="0 sample"):
        matrix.predict(np.empty((0, 6)))


def test_documents_without_a_known_term_can_be_told(monkeypatch):
    model = DCoTClassifier(selection="none").fit(TEXTS, ["a", "b", "b", "c", "c", "c"])
    new = ["crude wheat", "xylophone", "", "maize"]
    assert model.has_known_terms(new).tolist() == [True, False, False, True]
    plain = model.predict(new)
    assert set(plain) <= set("abc")
    for mark in (None, "?"):
        found = model.predict(new, unknown=mark).tolist()
        assert found == [plain[0], mark, mark, plain[3]]
    assert model.predict(new[:1], unknown=None).dtype == plain.dtype
    # however sure the model is of an empty document, nothing in it speaks for a class
    monkeypatch.setattr(DCoTClassifier, "_answer_from", lambda self, accuracy: 0.0)
    found = model.predict(new, abstain=0.01).tolist()
    assert found == [plain[0], None, None, plain[3]]
    assert model.predict(new, abstain=0.01, unknown="?").tolist() == [plain[0], "?", "?", plain[3]]
    assert "no word of the document is known" in str(model.explain("xylophone"))


def test_documents_without_a_known_term_among_several_labels():
    new = ["crude wheat", "xylophone"]
    sets = DCoTClassifier(selection="none").fit(TEXTS, [["a"], ["b"], ["a", "b"]] * 2)
    plain = sets.predict(new)
    assert sets.predict(new, unknown="?") == [plain[0], ("?",)]
    assert sets.predict(new, unknown=None) == [plain[0], ()]
    matrix = DCoTClassifier(selection="none").fit(TEXTS, [[1, 1], [1, 0], [1, 1]] * 2)
    assert matrix.predict(new)[1].any()
    assert not matrix.predict(new, unknown=None)[1].any()
    with pytest.raises(DcotError, match="there is no column for it"):
        matrix.predict(new, unknown="?")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimator": "forest"}, "estimator must be 'ridge'"),
        ({"estimator": RidgeClassifier}, r"give an instance, as in RidgeClassifier\(\)"),
        ({"estimator": Ridge()}, "Ridge is a regressor"),
        ({"random_state": "x"}, "random_state must be an integer"),
        ({"random_state": np.random.default_rng(0)}, "random_state must be an integer"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"vectorizer": DCoTVectorizer(random_state=-1)}, "random_state must be an integer"),
    ],
)
def test_wrong_parameters_are_noticed_before_texts_are_read(parameters, message):
    def texts():
        raise AssertionError("the texts were read")
        yield

    model = DCoTClassifier(**parameters)
    with pytest.raises(DcotError, match=message):
        model.fit(texts(), ["a", "b"])
    with pytest.raises(DcotError, match=message):
        model.suggest(texts())


@pytest.mark.parametrize(
    ("estimator", "y", "message"),
    [
        ("svm", [[0.9, 0.1], [0.2, 0.8], [1.0, 0.0]] * 2, "soft labels are learned by"),
        (LinearDiscriminantAnalysis(), ["a", "a", "b", "b", "b", "b"], "takes no sample_weight"),
    ],
)
def test_labels_that_an_estimator_cannot_use_are_noticed_before_the_fit(
    estimator, y, message, monkeypatch
):
    monkeypatch.setattr(classifier_fit, "fits_of", None)
    with pytest.raises(DcotError, match=message):
        DCoTClassifier(estimator=estimator).fit(TEXTS, y)


@pytest.mark.parametrize(
    "bad",
    [
        {"y": ["a"] * 6},
        {"y": ["a", "b"]},
        {"y": ["a", "b"] * 3, "sample_weight": [1.0]},
        {"y": ["a", "b"] * 3, "unlabelled": ["zinc", None]},
    ],
)
@pytest.mark.parametrize("learn", ["fit", "refit"])
def test_a_failed_fit_leaves_the_classifier_as_it_was(bad, learn):
    model = DCoTClassifier(selection="none", random_state=0)
    with pytest.raises(DcotError):
        model.fit(np.eye(6), **bad)
    assert not model.__sklearn_is_fitted__()
    model.fit(TEXTS, ["x", "y", "y", None, "x", "x"])
    before = pickle.dumps(model)
    others = [text + " gold zinc" for text in TEXTS]
    if learn == "refit" and "unlabelled" in bad:
        return
    with pytest.raises(DcotError):
        getattr(model, learn)(others, **bad)
    assert pickle.dumps(model) == before
    model.set_params(estimator="forest")
    with pytest.raises(DcotError, match="estimator must be"):
        model.fit(others, ["a", "b"] * 3)
    assert pickle.dumps(model.set_params(estimator="ridge")) == before


def test_a_second_fit_leaves_nothing_of_the_first():
    frame = pd.DataFrame(np.eye(6), columns=list("abcdef"))
    model = DCoTClassifier(selection="none", random_state=0)
    model.fit(TEXTS, [["x"], ["y"], ["x", "y"], None, ["x"], []])
    model.fit(frame, [0, 1] * 3)
    assert model.vectorizer_ is None
    assert model.feature_names_in_.tolist() == list("abcdef")
    model.fit(TEXTS, ["x", "y", "y", None, "x", "x"])
    once = DCoTClassifier(selection="none", random_state=0)
    once.fit(TEXTS, ["x", "y", "y", None, "x", "x"])
    assert not hasattr(model, "feature_names_in_")
    assert vars(model).keys() == vars(once).keys()
    np.testing.assert_array_equal(model.decision_function(TEXTS), once.decision_function(TEXTS))


def test_its_representation_can_be_used_alone():
    """For features, for what words mean, and for a search index, without another fit."""
    model = DCoTClassifier(selection="none").fit(TEXTS, ["a", "b", "b", "c", "c", "c"])
    np.testing.assert_array_equal(model.vectorizer_.transform(TEXTS), model.transform(TEXTS))
    expected = DCoTVectorizer(output="lsi").fit(TEXTS)
    np.testing.assert_allclose(model.transform(TEXTS), expected.transform(TEXTS), atol=1e-6)
    names = expected.get_feature_names_out().tolist()
    assert model.get_feature_names_out().tolist() == names
    index = dcot.SearchIndex(model.vectorizer_)
    index.add(TEXTS)
    assert index.search("wheat harvest", k=1)[0].id == 3
    again = clone(model.vectorizer_).fit(TEXTS)
    np.testing.assert_allclose(again.transform(TEXTS), model.transform(TEXTS), atol=1e-6)


EXCUSED = {
    "check_classifiers_classes": "-1 marks documents without a label; see unlabelled_label",
}


@pytest.mark.parametrize("exclusive", [True, False])
def test_rounding_does_not_move_the_temperature(exclusive):
    """It is a zero of the slope: the loss is flat there, and says little about the place."""
    rng = np.random.default_rng(0)
    targets = np.where(np.arange(3) == rng.integers(3, size=(60, 1)), 1.0, -1.0)
    decisions = targets + rng.normal(0, 1.5, targets.shape)
    found, _ = calibrate(decisions, targets, np.ones(60), exclusive)
    for _ in range(5):
        shaken = decisions * (1 + 1e-15 * rng.normal(size=decisions.shape))
        again, _ = calibrate(shaken, targets, np.ones(60), exclusive)
        assert again == pytest.approx(found, rel=1e-10)

    def loss(temperature):
        shares = probabilities(decisions, temperature, exclusive)
        right = shares if exclusive else np.where(targets > 0, shares, 1 - shares)
        return -np.log(right[targets > 0] if exclusive else right).mean()

    assert loss(found) < min(loss(0.99 * found), loss(1.01 * found))
    without_errors, _ = calibrate(targets, targets, np.ones(60), exclusive)
    sure = probabilities(targets, without_errors, exclusive)
    assert sure[targets > 0] == pytest.approx(61 / 62)  # not certain: there are only 60
    assert calibrate(-targets, targets, np.ones(60), exclusive)[0] == pytest.approx(0.05)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [DCoTClassifier(grid={"n_prototypes": (20,), "noise": (0.9,), "shrinkage": (1.0,)})],
    expected_failed_checks=lambda estimator: EXCUSED,
)
def test_estimator_checks(estimator, check):
    check(estimator)


def test_suggestions_before_any_label_are_spread_out(corpus):
    X, y = corpus
    model = DCoTClassifier(random_state=0)
    twice = sp.vstack([X, X], format="csr")
    chosen = model.suggest(twice, 12)
    assert len(set((chosen % X.shape[0]).tolist())) == 12  # no copies
    assert len(set(np.asarray(y)[chosen % X.shape[0]].tolist())) == len(set(y))
    np.testing.assert_array_equal(model.suggest(twice, 5), chosen[:5])
    assert not hasattr(model, "classes_")  # nothing is kept
    assert not hasattr(model, "n_features_in_")
    texts = ["crude oil", "...", "crude oil price", "wheat harvest", "wheat and corn", "?"]
    found = DCoTClassifier().suggest(texts, 6).tolist()
    assert sorted(found) == list(range(6))
    assert sorted(found[-2:]) == [1, 5]  # without words
    with pytest.raises(DcotError, match="k must be a whole number"):
        DCoTClassifier().suggest(texts, 7)


def test_documents_without_known_words_are_suggested_last():
    rng = np.random.default_rng(3)
    words = {"oil": ["crude", "opec", "oil", "barrel"], "grain": ["wheat", "corn", "rice", "silo"]}
    texts, labels = [], []
    for topic, known in words.items():
        for _ in range(16):
            texts.append(" ".join(rng.choice(known, 2)))
            labels.append(topic)
    model = DCoTClassifier(random_state=0).fit(texts, labels)
    pool = ["", *texts[::2], "???"]
    found = model.suggest(pool, len(pool)).tolist()
    assert found[-2:] == [0, len(pool) - 1]
    assert model.suggest(["", "?"], 2).tolist() == [0, 1]


def test_wrong_labels_are_found_worst_first(corpus):
    X, y = corpus
    rows, wrong = 60, [3, 17, 40]
    names = sorted(set(y))
    given = np.array(y[:rows], dtype=object)
    for row in wrong:
        given[row] = names[(names.index(given[row]) + 1) % len(names)]
    model = DCoTClassifier(selection="none", random_state=0).fit(X[:rows], given)
    frame = model.label_issues()
    assert set(wrong) <= set(frame["document"].to_list()[: len(wrong) + 3])
    gap = (frame["suggested_probability"] - frame["label_probability"]).to_numpy()
    assert (np.diff(gap) <= 1e-12).all()
    assert (gap >= 0).all()
    for row, label, suggested in frame.select("document", "label", "suggested").iter_rows():
        assert label == given[row]
        assert suggested != label
    # each one is the decision of a model that was fitted without the document, on the same layers
    worst = frame["document"][0]
    others = [row for row in range(rows) if row != worst]
    without = model.refit(X[others], given[others]).predict(X[[worst]])[0]
    assert without == frame["suggested"][0]


@pytest.mark.parametrize(
    ("classes", "shown"),
    [
        ((-5, 2**63 + 2), {"-5", str(2**63 + 2)}),
        (("half \ud800", "whole"), {"half \\ud800", "whole"}),
        ((-5, 7), {-5, 7}),
    ],
)
def test_label_issues_with_classes_that_polars_does_not_know(corpus, classes, shown):
    X, y = corpus
    given = [classes[int(one == y[0])] for one in y]
    wrong = [classes[0] if place % 5 == 0 else one for place, one in enumerate(given)]
    frame = DCoTClassifier(selection="none").fit(X, np.array(wrong, dtype=object)).label_issues()
    assert len(frame) > 0
    assert {*frame["label"], *frame["suggested"]} <= shown


def test_a_source_of_unlabelled_documents_is_not_split_by_scikit_learn():
    """docs/classifier.md says so; an array of the same length as the documents would be."""
    seen = []

    class Watched(DCoTClassifier):
        def fit(self, documents, y=None, *, unlabelled=None):
            super().fit(documents, y, unlabelled=unlabelled)
            seen.append(self.vectorizer_.counter_.n_documents_)
            return self

    texts = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat"]
    others = ["opec crude", "corn harvest", "oil output", "wheat"]
    for unlabelled in (others, Repeatable(lambda: [others])):
        cross_val_score(
            Watched(), texts, ["o", "o", "g", "g"], params={"unlabelled": unlabelled}, cv=2
        )
    assert seen == [4, 4, 6, 6]


def test_a_class_whose_name_has_a_line_break():
    texts = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat"]
    model = DCoTClassifier().fit(texts, ["oil\nand gas", "oil\nand gas", "grain", "grain"])
    for found in (model.explain("opec"), model.explain("corn", against="oil\nand gas")):
        assert "oil and gas" in found._repr_html_()
        assert len(found.title.split("\n")) == 2


def test_rows_of_label_issues_are_those_that_were_given(corpus):
    X, y = corpus
    given = np.array(y[:40], dtype=object)
    wrong = [2, 10, 20, 30]
    given[wrong] = (y[wrong] + 1) % 3
    weights = np.ones(40)
    weights[:5] = 0  # left out
    model = DCoTClassifier(selection="none", random_state=0)
    frame = model.fit(X[:40], given, sample_weight=weights).label_issues()
    assert {10, 20, 30} & set(frame["document"])
    for row, label in frame.select("document", "label").iter_rows():
        assert row >= 5
        assert label == given[row]


def test_label_issues_need_single_labels_and_the_documents(corpus, tmp_path):
    X, y = corpus
    model = DCoTClassifier(selection="none").fit(X[:20], [[name] for name in y[:20]])
    with pytest.raises(DcotError, match="one label per document"):
        model.label_issues()
    DCoTClassifier(selection="none").fit(X[:20], y[:20]).save(tmp_path / "model")
    with pytest.raises(DcotError, match="call refit"):
        dcot.load(tmp_path / "model").label_issues()


def test_suggestions_are_uncertain_and_different(corpus, fitted):
    X, _ = corpus
    twice = sp.vstack([X[200:], X[200:]], format="csr")  # every document comes with a copy
    chosen = fitted.suggest(twice, 12)
    assert len(set(chosen.tolist())) == 12
    assert len({position % 100 for position in chosen}) == 12  # a copy would teach nothing
    decisions = np.sort(fitted.decision_function(twice), axis=1)
    margins = decisions[:, -1] - decisions[:, -2]
    assert margins[chosen].mean() < margins.mean()
    np.testing.assert_array_equal(fitted.suggest(twice, 12), chosen)
    np.testing.assert_array_equal(fitted.suggest(twice, 5), chosen[:5])


def test_suggestions_against_conditioning_the_long_way():
    """Each choice, from scratch: covariance given all that is labelled or chosen so far."""
    rng = np.random.default_rng(1)
    pool, labelled = rng.normal(size=(40, 8)), rng.normal(size=(6, 8))
    doubt, alpha = rng.random(40), 0.7
    known, expected = list(labelled), []
    for _ in range(5):
        S = np.array(known)
        gain = np.linalg.solve(S @ S.T + alpha * np.eye(len(S)), S @ pool.T)
        C = pool @ pool.T - (pool @ S.T) @ gain
        worth = [doubt[i] * (doubt @ C[i] ** 2) / (C[i, i] + alpha) for i in range(40)]
        worth = [-1 if i in expected else value for i, value in enumerate(worth)]
        expected.append(int(np.argmax(worth)))
        known.append(pool[expected[-1]])
    assert most_informative([pool], [labelled], doubt, alpha, 5).tolist() == expected


def test_many_documents_are_sampled_for_suggestions():
    doubt = np.linspace(0, 1, 5000)
    pool = candidates(doubt, np.random.RandomState(0))
    assert len(pool) == 2000
    assert len(np.unique(pool)) == 2000
    assert set(range(4000, 5000)) <= set(pool.tolist())
    assert len(candidates(doubt, np.random.RandomState(0), at_least=1800)) >= 1800


@pytest.mark.parametrize("k", [0, -1, 101, 2.5, "3"])
def test_a_bad_number_of_suggestions(corpus, fitted, k):
    with pytest.raises(DcotError, match="k must be"):
        fitted.suggest(corpus[0][200:], k)


def test_suggestions_need_the_labelled_documents(corpus, fitted, tmp_path):
    X, y = corpus
    fitted.save(tmp_path / "model")
    again = dcot.load(tmp_path / "model")
    with pytest.raises(DcotError, match="refit"):
        again.suggest(X[200:], 3)
    assert len(again.refit(X[:24], y[:24]).suggest(X[200:], 3)) == 3


def test_suggestions_with_several_labels_a_document():
    """In doubt is a document any of whose labels is near to neither yes nor no."""
    decisions = np.array([[0.9, -0.9], [0.9, 0.01], [-0.8, -0.7]])
    doubt = uncertainty(decisions, False)
    assert doubt.argmax() == 1
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.poisson(0.5, (60, 20)).astype(np.float64))
    y = [["a"] if row % 3 == 0 else ["a", "b"] if row % 3 == 1 else [] for row in range(30)]
    model = DCoTClassifier(grid=SMALL, random_state=0).fit(X[:30], y)
    assert len(set(model.suggest(X[30:], 6).tolist())) == 6


def test_square_roots_of_class_sizes_are_the_default_weights():
    labels = read_labels(["a"] * 16 + ["b"] * 4, 20, -1)
    weights = with_class_weights(labels, np.ones(20), "sqrt")
    np.testing.assert_allclose(weights[-1] / weights[0], 2.0)
    assert weights.sum() == pytest.approx(20)
    several = read_labels([["a", "b"], ["a"], ["b"]], 3, -1)
    np.testing.assert_array_equal(with_class_weights(several, np.ones(3), "sqrt"), np.ones(3))
    assert DCoTClassifier().class_weight == "sqrt"


def test_many_labels_are_learned_by_features(monkeypatch):
    """More labels than an n × n matrix is made for: nearly the same decisions by another way."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.4 + 1.5 * (np.arange(300)[:, None] % 3 == np.arange(30) % 3))
    y = np.array(["a", "b", "c"])[np.arange(300) % 3]
    options = {"vectorizer": DCoTVectorizer(n_prototypes=10), "selection": "none"}
    usual = DCoTClassifier(**options, random_state=0).fit(X, y)
    monkeypatch.setattr(learners, "MAX_KERNEL_LABELS", 50)
    monkeypatch.setattr(learners, "ridge_by_features", fixed := Spy(learners.ridge_by_features))
    many = DCoTClassifier(**options, random_state=0).fit(X, y)
    assert fixed.calls == 2  # of dCoT, and of TF-IDF for the estimate
    assert many.score(X, y) == pytest.approx(usual.score(X, y), abs=0.02)


@pytest.mark.parametrize("memory", [1e9, 1.0])
def test_many_classes_are_learned_from_inner_products(monkeypatch, memory):
    """With fewer documents than features that is less work; every document is left out once."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.2 + 1.5 * (np.arange(120)[:, None] % 3 == np.arange(90) % 3))
    y = np.array(["a", "b", "c"])[np.arange(120) % 3]
    options = {"vectorizer": DCoTVectorizer(n_prototypes=80), "selection": "none"}
    monkeypatch.setattr(classifier_fit, "MAX_SELECTION_LABELS", 40)
    usual = DCoTClassifier(**options, random_state=0).fit(X, y)
    monkeypatch.setattr(learners, "MAX_KERNEL_LABELS", 50)
    monkeypatch.setattr(ridge_module, "MAX_TARGETS", 2)
    monkeypatch.setattr(ridge_module, "allowance", lambda limit: memory)
    monkeypatch.setattr(learners, "ridge_by_features", fixed := Spy(learners.ridge_by_features))
    many = DCoTClassifier(**options, random_state=0).fit(X, y)
    if memory < 1e9:
        assert fixed.calls == 2
        assert many.estimate_.n == 12
    else:
        assert fixed.calls == 0
        assert many.estimate_ == usual.estimate_
        np.testing.assert_array_equal(many.decision_function(X), usual.decision_function(X))


@pytest.mark.parametrize("features", ["both layers", "x and both layers"])
@pytest.mark.parametrize("estimator", ["svm", "logistic", LogisticRegression(C=3, max_iter=1000)])
@pytest.mark.parametrize("several", [False, True])
def test_other_learners_use_the_features_of_many_labels(monkeypatch, estimator, features, several):
    """An n × n matrix of many labels would take all memory."""
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(rng.poisson(0.2 + (np.arange(90)[:, None] % 3 == np.arange(30) % 3)))
    y = np.array(["a", "b", "c"])[np.arange(90) % 3]
    y = [[one, "a"] if one == "b" else [one] for one in y] if several else y
    vectorizer = DCoTVectorizer(n_prototypes=10, dtype="float64")
    options = {"vectorizer": vectorizer, "estimator": estimator, "random_state": 0}
    model = DCoTClassifier(**options, grid={"features": [features]})
    usual = clone(model).fit(X, y)
    monkeypatch.setattr(learners, "MAX_KERNEL_LABELS", 50)
    monkeypatch.setattr(learners, "products", None)
    many = clone(model).fit(X, y)
    assert many.strength_ == usual.strength_
    np.testing.assert_allclose(
        many.decision_function(X), usual.decision_function(X), rtol=0.02, atol=0.02
    )


@pytest.mark.parametrize("by_features", [False, True])
def test_many_labels_are_estimated_with_many_labels(monkeypatch, by_features):
    """Candidates are judged on a few labels; the estimate is that of the classifier of all."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.4 + 0.4 * (np.arange(200)[:, None] % 3 == np.arange(30) % 3))
    y = np.array(["a", "b", "c"])[np.arange(200) % 3]
    monkeypatch.setattr(classifier_fit, "MAX_SELECTION_LABELS", 40)
    monkeypatch.setattr(learners, "MAX_KERNEL_LABELS", 50 if by_features else 4000)
    monkeypatch.setattr(ridge_module, "CHOICE_TOL", 1e-6)
    vectorizer = DCoTVectorizer(n_prototypes=10, dtype="float64")
    options = {"vectorizer": vectorizer, "class_weight": None, "random_state": 0}
    model = DCoTClassifier(**options, selection="none").fit(X, y)
    held, fitted = model._learned.held_out, model._learned
    assert sorted(held.rows) == sorted(set(held.rows))
    assert len(held.rows) == (20 if by_features else 200) == model.estimate_.n
    own = model.cv_results_["param_strength"][model.best_index_]
    ridge = Ridge(alpha=fitted.alpha * model.strength_ / own)
    F, targets = model.transform(X), np.where(y[:, None] == model.classes_, 1.0, -1.0)
    if by_features:
        rest = np.setdiff1d(np.arange(200), held.rows)
        expected = ridge.fit(F[rest], targets[rest]).predict(F[held.rows])
    else:
        expected = cross_val_predict(ridge, F, targets, cv=LeaveOneOut())
    np.testing.assert_allclose(held.decisions, expected, atol=1e-4)
    right = (expected.argmax(1) == targets[held.rows].argmax(1)).mean()
    assert model.estimate_.dcot.accuracy == pytest.approx(right)
    # TF-IDF (here: counts of unit length) is judged on the same documents, with as many labels
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    rival = cross_val_predict(RidgeClassifier(alpha=1.0), unit, y, cv=10)
    assert model.estimate_.tfidf.accuracy == pytest.approx((rival == y).mean(), abs=0.12)


class Spy:
    """A function that counts its calls."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *arguments):
        self.calls += 1
        return self.function(*arguments)


@pytest.mark.parametrize("wrong", ["balancd", np.array([], dtype=int), np.ones(2), 1.0])
def test_class_weights_that_do_not_exist_are_refused_with_those_that_do(wrong):
    with pytest.raises(dcot.InvalidParameterError, match="'sqrt', 'balanced', a mapping"):
        DCoTClassifier(class_weight=wrong).fit(["oil", "corn"], ["o", "c"])


def test_a_class_of_minus_one_is_named_as_the_reason():
    with pytest.raises(dcot.InvalidInputError, match="set unlabelled_label"):
        DCoTClassifier().fit(["oil", "corn", "rice"], [1, -1, 1])
