"""Corpora as the experiments see them."""

from __future__ import annotations

import numpy as np
import pytest

from dcot import DcotError
from dcot.bench import store, tasks
from dcot.bench.tasks import load_task, task_of
from dcot.datasets import Corpus


def test_idf_and_vocabulary_come_from_what_is_learned_from(task):
    half = task.train[:50]
    learned, wanted = task.documents(half, task.test)
    seen = np.asarray((learned.counts > 0).sum(axis=0)).ravel()
    assert seen.min() >= task.min_df == 2
    assert learned.counts.shape[1] == wanted.tfidf.shape[1] == len(task.known_terms(half))
    again, _ = task.documents(half, task.train[50:])  # other documents beside them: no difference
    assert (again.tfidf != learned.tfidf).nnz == 0
    lengths = np.sqrt(np.asarray(learned.tfidf.multiply(learned.tfidf).sum(axis=1)).ravel())
    assert lengths == pytest.approx(1, abs=1e-5)


def test_test_documents_do_not_shape_the_vocabulary(corpus):
    texts = list(corpus.texts)
    for row in corpus.test:
        texts[row] += " onlyintest onlyintest"
    other = Corpus("other", corpus.labels, corpus.train, corpus.test, texts=texts)
    assert "onlyintest" not in set(task_of(other).terms)


def test_a_sample_is_always_the_same(task):
    one, two = task.sample(60, 30, 10), task.sample(60, 30, 10)
    assert np.array_equal(one.train, two.train)
    assert (len(one.train), len(one.test), len(one.unlabelled)) == (60, 30, 10)
    assert one.sampled
    assert not task.sample(10_000, 10_000).sampled


def test_fingerprints_distinguish_corpora(task, made):
    assert task.fingerprint == task_of(made()).fingerprint
    assert task.fingerprint != task_of(made(seed=1)).fingerprint
    assert task.fingerprint != task.sample(60, 30).fingerprint


def test_a_missing_corpus_is_an_error_or_a_stand_in(tmp_path, monkeypatch, task):
    monkeypatch.delenv("DCOT_DATA", raising=False)
    monkeypatch.setenv("DCOT_CACHE", str(tmp_path))
    monkeypatch.setattr(tasks, "_stand_in", lambda: task)
    with pytest.raises(DcotError, match=r"Reuters21578\.mat was not found"):
        load_task("reuters")
    found = load_task("reuters", stand_in=True)
    assert found.name == "everyday, standing in for reuters"
    assert found.stands_for == "reuters"


def test_classes_without_training_documents_are_counted(task):
    labels = task.labels.copy()
    labels[task.test[:3]] = "never seen"
    assert tasks.replace(task, labels=labels).unseen_classes == 1
    assert task.unseen_classes == 0


def test_the_environment_has_no_names_or_paths():
    assert store.versions()["dcot"]
    assert int(store.hardware()["cores"]) >= 1
    assert "/" not in store.commit()
