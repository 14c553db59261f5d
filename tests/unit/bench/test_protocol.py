"""Systems are judged honestly: these tests fail if they are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC

from dcot.bench.experiments import EXPERIMENTS
from dcot.bench.experiments.few_labels import jobs_of, keys_of, work_of
from dcot.bench.jobs import Context, run_jobs
from dcot.bench.machines import MAX_ITER, TOL, Span
from dcot.bench.protocol import (
    WAYS,
    Candidate,
    Judgement,
    LeaveOneOut,
    Validation,
    draws,
    score,
    search,
)
from dcot.bench.store import Store
from dcot.bench.systems import SYSTEMS


def cells(context, task, name, ways=tuple(WAYS)):
    system = SYSTEMS[name]
    keys = keys_of(context, task, system, "few-labels", ways)
    return [result for _, result in work_of(context, task, system)(keys)]


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
    runs = [cells(Context(profile, tmp_path / side), task, name) for side in ("a", "b")]
    assert runs[0] == runs[1]


# -- no test label is used ----------------------------------------------------------------------


def with_wrong_test_labels(task):
    labels = task.labels.copy()
    labels[task.test] = np.random.default_rng(1).permutation(labels[task.test])
    return replace(task, labels=labels)


def choices(results):
    names = ("setting", "strength", "score_on_training_labels")
    return [[result[name] for name in names] for result in results]


@pytest.mark.parametrize("name", ["bag of words", "dCoT"])
def test_selection_does_not_see_test_labels(context, task, name):
    honest = cells(context, task, name)
    blind = cells(context, with_wrong_test_labels(task), name)
    assert choices(honest) == choices(blind)
    assert [r["accuracy"] for r in honest] != [r["accuracy"] for r in blind]


def all_cells(name, profile, task, folder):
    """Of the experiments on noise and on unlabelled documents, on one corpus under their names."""
    corpora = {"noise": "reuters", "unlabelled": "dmoz"}
    profile = replace(
        profile,
        noises=(0.5,),
        depths=(1, 2),
        noise_labels=60,
        noise_prototypes=(40, 40),
        learned={"dmoz": (60, 140)},
        unlabelled_labels=(60,),
    )
    context = Context(profile, folder, _tasks={corpora[name]: replace(task, name=corpora[name])})
    jobs = list(EXPERIMENTS[name](context))
    return [result for job in jobs for _, result in job.work(job.keys)]


@pytest.mark.parametrize("name", ["noise", "unlabelled"])
def test_the_other_experiments_do_not_see_them_either(profile, task, tmp_path, name):
    honest = all_cells(name, profile, task, tmp_path / "a")
    blind = all_cells(name, profile, with_wrong_test_labels(task), tmp_path / "b")

    def chosen(results):
        return [(result.get("setting"), result.get("strength")) for result in results]

    assert chosen(honest) == chosen(blind)
    assert [r["accuracy"] for r in honest] != [r["accuracy"] for r in blind]
    labels = task.labels.copy()
    labels[task.train] = np.random.default_rng(3).permutation(labels[task.train])
    shuffled = all_cells(name, profile, replace(task, labels=labels), tmp_path / "c")
    assert abs(np.mean([result["accuracy"] for result in shuffled]) - 0.25) < 0.15
    assert np.mean([result["accuracy"] for result in honest]) > 0.5


def test_that_test_would_catch_a_cheat(context, task, monkeypatch):
    """A way of choosing that peeks at the test labels changes its choice with them."""
    peeked = {}

    class Cheat(Validation):
        def judge(self, candidates, labels, order, budget, n_test):
            truth, rows = peeked["truth"], np.arange(len(order), len(order) + n_test)
            learned = order[:budget]

            def accuracy(candidate):
                span = Span(candidate.blocks, learned)
                found = span.predict(labels[learned], 10.0, span.coordinates(rows))
                return float(np.mean(found == truth)), found

            best = max(candidates, key=lambda candidate: accuracy(candidate)[0])
            return Judgement(accuracy(best)[1], best.setting, 10.0, accuracy(best)[0])

    monkeypatch.setitem(WAYS, "validation", Cheat)
    runs = []
    for each in (task, with_wrong_test_labels(task)):
        peeked["truth"] = each.labels[each.test]
        runs.append(choices(cells(context, each, "LSI", ("validation",))))
    assert runs[0] != runs[1]


def test_validation_labels_choose_and_are_not_learned_from(task):
    """With few labels, what the machine learns from are the labelled documents alone."""
    n = len(task.train)
    order = draws(n, 1)[0]
    _, wanted = task.documents(task.train, np.concatenate([task.train, task.test]))
    candidates = [Candidate({}, [wanted.tfidf])]
    labels = task.labels[task.train]
    found = Validation(strengths=(1.0,)).judge(candidates, labels, order, 20, len(task.test))
    other = labels.copy()
    other[order[20:]] = "none"  # labels outside the budget
    same = Validation(strengths=(1.0,)).judge(candidates, other, order, 20, len(task.test))
    assert np.array_equal(found.predicted, same.predicted)


def test_leave_one_out_uses_no_label_beyond_the_budget(task):
    order = draws(len(task.train), 1)[0]
    _, wanted = task.documents(task.train, np.concatenate([task.train, task.test]))
    candidates = [Candidate({"x": 1}, [wanted.tfidf]), Candidate({"x": 2}, [wanted.counts])]
    labels = task.labels[task.train]
    other = labels.copy()
    other[order[30:]] = "none"
    runs = [
        LeaveOneOut().judge(candidates, each, order, 30, len(task.test)) for each in (labels, other)
    ]
    assert np.array_equal(runs[0].predicted, runs[1].predicted)
    assert (runs[0].setting, runs[0].strength) == (runs[1].setting, runs[1].strength)


# -- a control ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["TF-IDF", "LSI", "SDA", "dCoT (paper)", "dCoT"])
def test_shuffled_labels_give_chance(context, task, name):
    """Labels that say nothing must teach nothing, whatever is selected."""
    rng = np.random.default_rng(3)
    labels = task.labels.copy()
    labels[task.train] = rng.permutation(labels[task.train])
    found = cells(context, replace(task, labels=labels), name)
    mean = np.mean([result["accuracy"] for result in found])
    assert abs(mean - 0.25) < 0.15  # four classes; three standard deviations of 70 documents
    assert max(result["score_on_training_labels"] for result in found) < 0.75


@pytest.mark.parametrize("name", list(SYSTEMS))
def test_true_labels_teach(context, task, name):
    found = cells(context, task, name, ("leave-one-out",))
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


# -- machines and search ------------------------------------------------------------------------


def test_span_gives_the_machine_of_the_features_themselves():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(90, 200))
    labels = np.array(list("abc"))[rng.integers(0, 3, 90)]
    F[:, :3] += 3 * (labels[:, None] == np.array(list("abc")))
    rows, rest = np.arange(40), np.arange(40, 90)
    span = Span([F[:, :120].astype(np.float32), sp.csr_array(F[:, 120:])], rows)
    assert span.factor is not None
    scale = np.sqrt(len(rows) / np.sum(F[rows] ** 2))
    model = LinearSVC(C=3.0, tol=TOL, max_iter=MAX_ITER, dual=True, random_state=0)
    direct = model.fit(F[rows] * scale, labels[rows]).predict(F[rest] * scale)
    found = span.predict(labels[rows], 3.0, span.coordinates(rest))
    assert np.mean(found == direct) >= 0.98


def test_span_survives_copies_and_empty_documents():
    F = np.zeros((6, 20))
    F[:4, 0] = 1.0
    span = Span([F], np.arange(6))
    found = span.predict(np.array(list("aaaabb")), 1.0, span.coordinates(np.arange(6)))
    assert found.tolist() == list("aaaabb")


def test_one_class_is_predicted_where_only_one_was_seen():
    span = Span([np.eye(3)], np.arange(2))
    found = span.predict(np.array(["a", "a"]), 1.0, span.coordinates(np.arange(3)))
    assert found.tolist() == ["a", "a", "a"]


def test_search_finds_the_best_and_prefers_the_first_of_equals():
    table = {(0, 1.0): 0.5, (0, 9.0): 0.6, (1, 9.0): 0.7, (2, 9.0): 0.7, (1, 1.0): 0.8}
    found = search(3, (1.0, 9.0), lambda candidate, c: table[candidate, c])
    assert (found.candidate, found.strength, found.score) == (1, 1.0, 0.8)
    found = search(3, (1.0, 9.0), lambda candidate, c: 0.5)
    assert (found.candidate, found.strength) == (0, 1.0)


# -- nothing is left out ------------------------------------------------------------------------


def test_every_system_has_every_cell(context, task, tmp_path):
    jobs = list(jobs_of(context, task, "few-labels", tuple(WAYS)))
    store = Store(tmp_path / "cells")
    assert run_jobs(jobs, store) == []
    expected = 3 * 2 * (1 + 1)  # systems, ways, a budget and all labels
    assert len(list(store.cells())) == sum(len(job.keys) for job in jobs) == expected
