"""DCoTClassifier: labels in every form, honest selection, explanations that add up."""

from __future__ import annotations

import pickle
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import dcot
from dcot import DCoT, DCoTClassifier, DcotError
from dcot.classifier.selection import GRID, Setting, best_of, read_grid, star
from dcot.classifier.suggestion import candidates, most_informative, uncertainty

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
        setting = Setting(**results["params"][index])
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


def test_final_classifier_is_ridge_on_dcot_features(corpus, fitted):
    X, y = corpus
    features = DCoT(**fitted.setting_.parameters(), tol=1e-3).fit(X[:200])
    F, new = features.transform(X[:24]), features.transform(X[200:])
    centred = F - F.mean(0)
    unit = np.linalg.eigvalsh(np.asarray(centred @ centred.T)).clip(0).mean()
    targets = np.where(y[:24][:, None] == np.arange(3), 1.0, -1.0)
    ridge = Ridge(alpha=unit * fitted.strength_).fit(F, targets)
    np.testing.assert_allclose(fitted.decision_function(X[200:]), ridge.predict(new), atol=5e-3)


def test_selection_never_sees_other_labels(corpus):
    """Labels outside the labelled documents cannot matter: they are not there to be seen.

    What could leak is the order or number of documents; shuffling the labels of the documents that
    are judged later changes nothing in the model.
    """
    X, y = corpus
    rng = np.random.default_rng(1)
    partly = np.where(np.arange(300) < 24, y, -1)
    first = DCoTClassifier(grid=SMALL, random_state=0).fit(X, partly)
    shuffled = y.copy()
    shuffled[24:] = rng.permutation(shuffled[24:])
    second = DCoTClassifier(grid=SMALL, random_state=0).fit(
        X, np.where(np.arange(300) < 24, shuffled, -1)
    )
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))
    assert first.estimate_ == second.estimate_


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
    assert model.estimate_.majority.accuracy < 0.5 < model.estimate_.tfidf.accuracy


def test_the_default_is_kept_unless_clearly_beaten():
    weights = np.ones(50)
    rng = np.random.default_rng(0)
    same = rng.random((3, 50))
    assert best_of(np.vstack([same[0], same[0] + 0.01, same[0] + 0.5]), weights) == 0
    noisy = np.vstack([same[0], same[0] + rng.normal(0, 1, 50) - 0.01])
    assert best_of(noisy, weights) == 0
    assert best_of(np.vstack([same[0], same[0] - 0.1]), weights) == 1


def test_the_star_changes_one_thing_at_a_time():
    settings = star(read_grid(None))
    centre = settings[0]
    assert len(settings) == len(set(settings)) == (1 + 2 + 2 + 1) * 4
    for setting in settings:
        changed = [
            n
            for n in ("noise", "shrinkage", "n_prototypes")
            if getattr(setting, n) != (getattr(centre, n))
        ]
        assert len(changed) <= 1
    assert centre.parameters()["noise"][0] == GRID["noise"][0]


def test_cv_results_and_words(fitted):
    results = fitted.cv_results_
    n = len(results["params"])
    assert n == (1 + 1 + 1 + 1) * 4
    for name in ("mean_test_score", "mean_test_error", "rank_test_error", "param_noise"):
        assert len(results[name]) == n
    assert sorted(results["rank_test_error"]) == list(range(1, n + 1))
    assert "200 documents, 24 of them labelled" in fitted.summary()
    assert "TF-IDF" in fitted.report()


def test_selection_none_uses_the_defaults(corpus):
    X, y = corpus
    model = DCoTClassifier(selection="none", grid=SMALL).fit(X[:100], y[:100])
    assert len(model.cv_results_["params"]) == 1
    assert model.setting_ == star(read_grid(SMALL))[0]


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
        assert "Warning" in model.report()


@pytest.mark.parametrize("estimator", ["svm", "logistic", RidgeClassifier(alpha=0.5)])
def test_other_learners_in_the_span_are_exact(corpus, estimator):
    X, y = corpus
    model = DCoTClassifier(grid=SMALL, estimator=estimator, selection="none", random_state=0)
    model.fit(X[:60], y[:60], unlabelled=X[60:200])
    assert model.score(X[200:], y[200:]) > 0.75
    if estimator not in ("svm", "logistic"):
        representation = DCoT(**model.setting_.parameters(), tol=1e-3).fit(X[:200])
        plain = RidgeClassifier(alpha=0.5).fit(representation.transform(X[:60]), y[:60])
        expected = plain.decision_function(representation.transform(X[200:]))
        # the span has the same inner products, so the same solution
        np.testing.assert_allclose(model.decision_function(X[200:]), expected, atol=1e-2)


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


def test_weights(corpus):
    X, y = corpus
    weights = np.random.default_rng(0).integers(1, 4, 60)
    options = {"grid": SMALL, "selection": "none"}
    weighted = DCoTClassifier(**options).fit(X[:60], y[:60], sample_weight=weights)
    assert weighted.score(X[200:], y[200:]) > 0.7
    balanced = DCoTClassifier(**options, class_weight="balanced").fit(X[:60], y[:60])
    assert balanced.score(X[200:], y[200:]) > 0.7


TEXTS = [
    "crude oil prices rise",
    "opec cuts crude output",
    "petroleum and crude exports",
    "wheat harvest is poor",
    "corn and wheat exports",
    "maize and corn crops",
]


@pytest.mark.parametrize("features", ["both layers", "layer 1", "layer 2", "x and both layers"])
def test_explanations_add_up(features):
    grid = {"features": (features,), "noise": (0.5,), "shrinkage": (0.1,)}
    model = DCoTClassifier(grid=grid, selection="none")
    model.fit(TEXTS, ["oil", None, None, "grain", None, None])
    for text in ["petroleum exports", "opec maize", ""]:
        for name, decision in zip(model.classes_, model._decisions([text])[0], strict=True):
            found = model.explain(text, name)
            assert found.decision == pytest.approx(decision, abs=1e-5)
            total = found.baseline + sum(word.share for word in found)
            assert total == pytest.approx(decision, abs=1e-5)
            for word in found:
                all_through = word.share - word.direct
                assert len(word.through) <= 10
                assert np.isfinite(all_through)


def test_explanation_names_words_without_labels():
    model = DCoTClassifier(grid={"noise": (0.5,), "shrinkage": (0.1,)}, selection="none")
    model.fit(TEXTS, ["oil", None, None, "grain", None, None])
    found = model.explain("petroleum", "oil")
    assert found.words[0].word == "petroleum"
    assert not found.words[0].labelled
    assert found.words[0].share > 0
    assert "in no labelled document" in str(found)
    assert found.to_frame().shape == (1, 5)


def test_copies_of_a_document_do_not_vouch_for_each_other():
    rng = np.random.default_rng(0)
    X = rng.random((20, 8))
    y = rng.integers(0, 2, 20)
    grid = {"n_prototypes": (8,)}
    once = DCoTClassifier(grid=grid, random_state=0).fit(X, y)
    thrice = DCoTClassifier(grid=grid, random_state=0).fit(np.tile(X, (3, 1)), np.tile(y, 3))
    assert thrice.n_labelled_ == 60
    assert thrice.estimate_.n == once.estimate_.n == 20


def test_texts_from_any_source():
    labels = ["oil", "oil", None, "grain", None, "grain"]
    expected = DCoTClassifier(selection="none").fit(TEXTS, labels).decision_function(TEXTS)
    for source in (tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, dtype=object)):
        model = DCoTClassifier(selection="none").fit(source, labels)
        np.testing.assert_array_equal(model.decision_function(source), expected)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(TEXTS), expected)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([None] * 6, "no document has a label"),
        ([-1] * 6, "no document has a label"),
        (["oil"] * 6, "one class"),
        (["oil", "grain"], "6 documents, 2 labels"),
        (["oil", 3, None, None, None, None], "mixed types"),
        ([["oil"], "grain", None, None, None, None], "lists of labels and"),
        (np.full((6, 2), 0.5), "indicator matrix"),
        (None, "y is missing"),
        ([0.5, 1.5, 2, 3, 4, 5], "continuous"),
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
    with pytest.raises(DcotError, match="target must be"):
        model.explain("oil", "zzz")
    with pytest.raises(DcotError, match="not fitted"):
        DCoTClassifier().predict(TEXTS)
    with pytest.raises(DcotError, match="sample_weight must"):
        DCoTClassifier().fit(TEXTS, ["a", "b"] * 3, sample_weight=[1])


EXCUSED = {
    "check_classifiers_classes": "-1 marks documents without a label; see unlabelled_label",
}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [DCoTClassifier(grid={"n_prototypes": (20,), "noise": (0.9,), "shrinkage": (1.0,)})],
    expected_failed_checks=lambda estimator: EXCUSED,
)
def test_estimator_checks(estimator, check):
    check(estimator)


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
