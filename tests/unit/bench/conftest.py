"""A small corpus with known topics, and a run that takes seconds."""

from __future__ import annotations

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from dcot.bench.jobs import Context
from dcot.bench.profiles import PROFILES
from dcot.bench.tasks import task_of
from dcot.datasets import Corpus

mpl.use("agg")

TOPICS = ("crude", "grain", "money", "ship")


def make_corpus(n=210, seed=0, unlabelled=30):
    """Documents of some words each: of their topic, of any topic, and of all topics."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, len(TOPICS), n)
    letters = np.array(list("abcdefghijklmnop"))

    def word(stem, number):
        return stem + "".join(letters[[number // 16, number % 16]])

    texts = []
    for topic in labels:
        topics = np.where(rng.random(8) < 0.6, topic, rng.integers(0, len(TOPICS), 8))
        own = [word(TOPICS[t], i) for t, i in zip(topics, rng.zipf(1.6, 8) % 30, strict=True)]
        common = [word("common", i) for i in rng.zipf(1.3, 8) % 60]
        texts.append(" ".join(own + common))
    order = np.arange(n)
    return Corpus(
        name="made",
        texts=texts,
        labels=np.array(TOPICS)[labels],
        train=order[: n - 70 - unlabelled],
        test=order[n - 70 - unlabelled : n - unlabelled],
        unlabelled=order[n - unlabelled :],
    )


@pytest.fixture(autouse=True)
def one_thread():
    """Matrices are tiny here: threads would only wait for each other."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def made():
    """The maker of corpora itself."""
    return make_corpus


@pytest.fixture(scope="session")
def corpus():
    return make_corpus()


@pytest.fixture(scope="session")
def task(corpus):
    return task_of(corpus)


@pytest.fixture
def profile():
    return replace(
        PROFILES["quick"],
        name="tiny",
        sample=None,
        few_labels={"made": ("TF-IDF", "LSI", "dCoT features", "dCoT")},
        budgets=(20,),
        draws=1,
        svm_systems=("TF-IDF", "LSI", "dCoT features"),
    )


@pytest.fixture
def context(profile, task, tmp_path):
    return Context(profile, tmp_path / "features", given={task.name: task})
