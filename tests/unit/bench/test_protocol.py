"""Systems are compared fairly: these tests fail if they are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC

from dcot.bench.experiments import WORK, accuracy, plan
from dcot.bench.features import Block, Coordinates, products
from dcot.bench.jobs import Context, Runner
from dcot.bench.protocol import (
    CLASSIFIERS,
    SVM_MAX_ITER,
    SVM_TOL,
    Candidate,
    Choice,
    choose,
    document_weights,
    draws,
    fit_svm,
    ridge_predictions,
    score,
    svm_predictions,
)
from dcot.bench.store import Store
from dcot.bench.systems import NAMES
from dcot.classifier.ridge import KernelRidge


def cells(context, task, name, classifiers=tuple(CLASSIFIERS)):
    context = replace(context, given={"made": task})
    context.profile = replace(context.profile, few_labels={"made": (name,)}, svm_systems=(name,))
    return [
        (key, result)
        for job in accuracy.jobs(context, ["few-labels"])
        for key, result in accuracy.work(context, job, job.keys)
        if key["classifier"] in classifiers
    ]


def results(context, task, name, classifiers=tuple(CLASSIFIERS)):
    return [result for _, result in cells(context, task, name, classifiers)]


# -- draws --------------------------------------------------------------------------------------


def test_draws_are_the_same_for_everybody_and_differ_from_each_other():
    first, again = draws(500, 5), draws(500, 5)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert len({tuple(draw) for draw in first}) == 5
    assert all(np.array_equal(np.sort(draw), np.arange(500)) for draw in first)


def test_more_draws_leave_the_first_as_they_were():
    assert all(np.array_equal(a, b) for a, b in zip(draws(50, 2), draws(50, 5), strict=False))


# -- same seed, same numbers --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["LSI", "dCoT", "LDA"])
def test_same_seed_same_numbers(task, profile, tmp_path, name):
    runs = [results(Context(profile, tmp_path / side), task, name) for side in ("a", "b")]
    assert runs[0] == runs[1]


# -- no test label is used ----------------------------------------------------------------------


def with_wrong_test_labels(task):
    labels = task.labels.copy()
    labels[task.test] = np.random.default_rng(1).permutation(labels[task.test])
    return replace(task, labels=labels)


def choices(found):
    return [[result.get(name) for name in ("setting", "strength")] for result in found]


@pytest.mark.parametrize("name", ["bag of words", "LSI", "dCoT"])
def test_selection_does_not_see_test_labels(context, task, name):
    honest = results(context, task, name)
    blind = results(context, with_wrong_test_labels(task), name)
    assert choices(honest) == choices(blind)
    assert [r["accuracy"] for r in honest] != [r["accuracy"] for r in blind]


def all_cells(name, profile, task, folder):
    """Of the experiments on noise and on unlabelled documents, on one corpus under their names."""
    corpora = {"noise": "reuters", "unlabelled": "dmoz", "suggest": "dmoz"}
    profile = replace(
        profile,
        noises=(0.5,),
        depths=(1, 2),
        noise_labels=60,
        noise_prototypes=(40, 40),
        learned={"dmoz": (60, 140)},
        learned_budgets=(60,),
        suggested=("dmoz",),
        suggested_draws=1,
    )
    given = {corpora[name]: replace(task, name=corpora[name])}
    context = Context(profile, folder, given=given)
    return [
        result
        for job in plan(context, [name])
        for _, result in WORK[job.experiment](context, job, job.keys)
    ]


@pytest.mark.parametrize("name", ["noise", "unlabelled", "suggest"])
def test_the_other_experiments_do_not_see_them_either(profile, task, tmp_path, name, monkeypatch):
    monkeypatch.setattr("dcot.bench.experiments.suggestion.START", 20)
    monkeypatch.setattr("dcot.bench.experiments.suggestion.BUDGETS", (60,))
    honest = all_cells(name, profile, task, tmp_path / "a")
    blind = all_cells(name, profile, with_wrong_test_labels(task), tmp_path / "b")
    assert honest
    assert choices(honest) == choices(blind)
    assert [r["accuracy"] for r in honest] != [r["accuracy"] for r in blind]
    shuffled = []
    for seed in range(4):  # topics may agree with shuffled labels by chance
        labels = task.labels.copy()
        labels[task.train] = np.random.default_rng(seed).permutation(labels[task.train])
        found = all_cells(name, profile, replace(task, labels=labels), tmp_path / str(seed))
        shuffled += [result["accuracy"] for result in found]
    assert abs(np.mean(shuffled) - 0.25) < 0.15
    assert np.mean([result["accuracy"] for result in honest]) > 0.5


def test_that_test_would_catch_a_cheat(context, task, monkeypatch):
    """A way of choosing that looks at the test labels changes its choice with them."""
    seen = {}

    def cheat(candidates, labels, order, budgets, class_weight=None):
        chosen = {}
        test = np.arange(len(order), len(order) + len(seen["truth"]))
        for budget in budgets:
            found = []
            for candidate in candidates:
                (choice,) = choose([candidate], labels, order, [budget]).values()
                predicted = ridge_predictions(choice, labels, order[:budget], test).labels
                found.append((np.mean(predicted == seen["truth"]), choice))
            chosen[budget] = max(found, key=lambda pair: pair[0])[1]
        return chosen

    monkeypatch.setattr(accuracy, "choose", cheat)
    runs = []
    for each in (task, with_wrong_test_labels(task)):
        seen["truth"] = each.labels[each.test]
        found = [results(context, each, name, ("ridge",)) for name in ("LSI", "mSDA", "TF-IDF")]
        runs.append([choices(cells) for cells in found])
    assert runs[0] != runs[1]


@pytest.mark.parametrize("predict", [ridge_predictions, svm_predictions])
def test_no_label_beyond_the_budget_is_used(task, predict):
    order = draws(len(task.train), 1)[0]
    _, wanted = task.documents(task.train, np.concatenate([task.train, task.test]))
    candidates = [
        Candidate({"x": 1}, [Block.of(wanted.tfidf)]),
        Candidate({"x": 2}, [Block.of(wanted.counts)]),
    ]
    labels = task.labels[task.train]
    other = labels.copy()
    other[order[30:]] = "none"
    test = np.arange(len(task.train), len(task.train) + len(task.test))
    runs = []
    for each in (labels, other):
        choice = choose(candidates, each, order, [30, 60])[30]
        found = predict(choice, each, order[:30], test)
        runs.append((choice.candidate.setting, found.strength, found.labels.tolist()))
    assert runs[0] == runs[1]


def test_budgets_of_a_draw_share_their_work_and_nothing_else(task):
    order = draws(len(task.train), 1)[0]
    _, wanted = task.documents(task.train, task.train)
    candidates = [Candidate({"k": k}, [Block.of(wanted.tfidf[:, :k])]) for k in (5, 60)]
    labels = task.labels[task.train]
    together = choose(candidates, labels, order, [20, 40, 80])
    for budget, choice in together.items():
        alone = choose(candidates, labels, order, [budget])[budget]
        assert choice.candidate.setting == alone.candidate.setting
        assert choice.ridge.dual == pytest.approx(alone.ridge.dual)
        assert choice.compared == budget


def test_the_default_is_kept_unless_another_setting_is_better_by_a_standard_error():
    rng = np.random.default_rng(0)
    labels = np.array(list("ab"))[rng.integers(0, 2, 80)]
    signal = np.where(labels == "a", 1.0, -1.0)[:, None]
    noise = rng.normal(size=(80, 5))
    near = Candidate({"n": 2}, [Block.of(np.hstack([signal, noise + 1e-3]))])
    good = Candidate({"n": 1}, [Block.of(np.hstack([signal, noise]))])
    bad = Candidate({"n": 0}, [Block.of(noise)])
    order = np.arange(80)
    assert choose([good, near], labels, order, [80])[80].candidate is good
    assert choose([near, good], labels, order, [80])[80].candidate is near
    assert choose([bad, good], labels, order, [80])[80].candidate is good


def test_more_labels_than_are_compared_on(task, monkeypatch):
    """Settings are chosen on the first of a draw, the classifier learns from all."""
    monkeypatch.setattr("dcot.bench.protocol.MAX_COMPARED", 30)
    order = draws(len(task.train), 1)[0]
    _, wanted = task.documents(task.train, np.concatenate([task.train, task.test]))
    labels = task.labels[task.train]
    choice = choose([Candidate({}, [Block.of(wanted.tfidf)])], labels, order, [100])[100]
    assert choice.compared == 30
    test = np.arange(len(task.train), len(task.train) + len(task.test))
    found = ridge_predictions(choice, labels, order[:100], test)
    assert np.mean(found.labels == task.labels[task.test]) > 0.6


def test_class_weights_reach_the_classifiers():
    labels = np.array(["a"] * 6 + ["b"] * 2)
    assert document_weights(labels, None).tolist() == [1.0] * 8
    weights = document_weights(labels, "balanced")
    assert weights[:6].sum() == pytest.approx(weights[6:].sum())
    F = np.random.default_rng(0).normal(size=(8, 3))
    candidate = Candidate({}, [Block.of(F)])
    order = np.arange(8)
    plain = choose([candidate], labels, order, [8])[8].ridge
    weighted = choose([candidate], labels, order, [8], "balanced")[8].ridge
    assert weighted.weights == pytest.approx(weights)
    assert np.abs(plain.dual - weighted.dual).max() > 1e-6


# -- a control ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["TF-IDF", "LSI", "SDA", "dCoT (paper)", "dCoT"])
def test_shuffled_labels_give_chance(context, task, name):
    """Labels that say nothing must teach nothing, whatever is selected."""
    rng = np.random.default_rng(3)
    labels = task.labels.copy()
    labels[task.train] = rng.permutation(labels[task.train])
    found = results(context, replace(task, labels=labels), name)
    mean = np.mean([result["accuracy"] for result in found])
    assert abs(mean - 0.25) < 0.15  # four classes; three standard deviations of 70 documents


@pytest.mark.parametrize("name", NAMES)
def test_true_labels_teach(context, task, name):
    wanted = ("SVM",) if name == "dCoT features" else ("ridge",)
    found = results(context, task, name, wanted)
    assert found[-1]["accuracy"] > 0.6  # all labels


# -- scores -------------------------------------------------------------------------------------


def test_classes_that_nobody_could_learn_stay_in():
    truth = np.array(["a", "a", "b", "never seen"])
    found = score(truth, np.array(["a", "a", "b", "b"]))
    assert found["accuracy"] == 0.75
    assert found["macro_f1"] == pytest.approx((1 + 2 / 3 + 0) / 3)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1))
@settings(max_examples=50, deadline=None)
def test_macro_f1_is_over_the_classes_of_the_test_documents(pairs):
    truth, predicted = (np.array(side) for side in zip(*pairs, strict=True))
    each = [
        f1_score(truth == name, predicted == name, zero_division=0) for name in np.unique(truth)
    ]
    assert score(truth, predicted)["macro_f1"] == pytest.approx(np.mean(each))


# -- the SVM ------------------------------------------------------------------------------------


def test_coordinates_give_the_svm_of_the_features_themselves():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(90, 200))
    labels = np.array(list("abc"))[rng.integers(0, 3, 90)]
    F[:, :3] += 3 * (labels[:, None] == np.array(list("abc")))
    rows, rest = np.arange(40), np.arange(40, 90)
    blocks = [Block.of(F[:, :120].astype(np.float32)), Block.of(sp.csr_array(F[:, 120:]))]
    coordinates = Coordinates(blocks, rows)
    assert coordinates.factor is not None
    scale = np.sqrt(len(rows) / np.sum(F[rows] ** 2))
    model = LinearSVC(C=3.0, tol=SVM_TOL, max_iter=SVM_MAX_ITER, dual=True, random_state=0)
    direct = model.fit(F[rows] * scale, labels[rows]).predict(F[rest] * scale)
    ones = np.ones(len(rows))
    found = fit_svm(coordinates.labelled, labels[rows], 3.0, ones, coordinates.of(rest))
    assert np.mean(found == direct) >= 0.98


def test_coordinates_survive_copies_and_empty_documents():
    F = np.zeros((6, 20))
    F[:4, 0] = 1.0
    coordinates = Coordinates([Block.of(F)], np.arange(6))
    labels = np.array(list("aaaabb"))
    found = fit_svm(coordinates.labelled, labels, 1.0, np.ones(6), coordinates.of(np.arange(6)))
    assert found.tolist() == list("aaaabb")


def test_one_class_is_predicted_where_only_one_was_seen():
    labels = np.array(["a", "a", "a"])
    blocks = [Block.of(np.eye(3))]
    ridge = KernelRidge.fit(np.eye(2), np.ones((2, 1)))
    choice = Choice(Candidate({}, blocks), ridge, 2)
    found = svm_predictions(choice, labels, np.arange(2), np.arange(3))
    assert found.labels.tolist() == ["a", "a", "a"]


def test_unit_rows_are_those_of_scaled_features():
    F = np.random.default_rng(0).normal(size=(6, 4))
    F[2] = 0
    lengths = np.linalg.norm(F, axis=1, keepdims=True)
    unit = np.divide(F, lengths, out=np.zeros_like(F), where=lengths > 0)
    rows, columns = np.array([0, 2, 3]), np.array([1, 5])
    for values in (F, sp.csr_array(F)):
        found = products([Block.of(values, "unit"), Block.of(values)], rows, columns)
        expected = unit[rows] @ unit[columns].T + F[rows] @ F[columns].T
        assert found == pytest.approx(expected)


# -- nothing is left out ------------------------------------------------------------------------


def test_every_system_has_every_cell(context, tmp_path):
    jobs = list(accuracy.jobs(context, ["few-labels"]))
    store = Store(tmp_path / "cells")
    assert Runner(context, store, WORK).run(jobs) == []
    expected = (3 + 3) * (1 + 1)  # systems with a ridge, systems with an SVM; a budget, all labels
    assert len(list(store.cells())) == sum(len(job.keys) for job in jobs) == expected


def test_a_cell_of_two_experiments_is_one_cell(context, profile, task):
    context.profile = replace(
        profile,
        published=("made",),
        published_systems=("TF-IDF", "dCoT"),
        learned={"made": (60,)},
        learned_systems=("LSI", "dCoT"),
        learned_budgets=(20,),
        learned_draws=1,
    )
    experiments = ["few-labels", "published", "unlabelled"]
    keys = [key for job in accuracy.jobs(context, experiments) for key in job.keys]
    assert len({str(sorted(key.items())) for key in keys}) == len(keys)
    few = [key for job in accuracy.jobs(context, ["few-labels"]) for key in job.keys]
    assert all(key in keys for key in few)
    assert len(keys) == len(few) + 2  # LSI and dCoT, learned from 60 documents


def test_labelled_documents_are_among_those_learned_from(task):
    for draw, order in enumerate(draws(len(task.train), 3)):
        rows = accuracy.learned_rows(task, 60, draw)
        assert set(task.train[order[:60]]) == set(rows)
    everything = accuracy.learned_rows(task, len(task.train) + 10, None)
    assert everything[: len(task.train)].tolist() == task.train.tolist()
    assert set(everything[len(task.train) :]) < set(task.unlabelled)
