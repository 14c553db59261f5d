"""What the experiments plan and measure, on a small corpus."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from dcot import DcotError
from dcot.bench import measure as measuring
from dcot.bench import paper
from dcot.bench.experiments import EXPERIMENTS, published, timing, unlabelled
from dcot.bench.jobs import Context, corpus_key, run_jobs
from dcot.bench.profiles import PROFILES
from dcot.bench.protocol import WAYS, draws, hits, mcnemar
from dcot.bench.report import Results
from dcot.bench.report.tables import published_table
from dcot.bench.store import Store
from dcot.bench.systems import OURS, PAPER, SYSTEMS, StaticEmbeddings
from dcot.errors import DatasetError, DatasetMissingError


def plan_of(name, tasks, tmp_path):
    """The full profile's keys, without computing anything."""
    context = Context(PROFILES["full"], tmp_path, _tasks=tasks)
    return [key for job in EXPERIMENTS[name](context) for key in job.keys]


def test_the_full_profile_has_every_cell(task, tmp_path):
    names = ("reuters", "dmoz", "r8", "r52", "20newsgroups", "reuters-text")
    tasks = {  # not one corpus under six names, which would be planned once
        name: replace(task, name=name, train=task.train[number:])
        for number, name in enumerate(names)
    }
    noise = plan_of("noise", tasks, tmp_path)
    assert len(noise) == 2 * 11 * 6 * 5  # variants, noise levels, layers, draws
    assert {key["noise"] for key in noise} >= {0.0, 0.5, 0.9, 0.95}
    few = plan_of("few-labels", tasks, tmp_path)
    assert {key["system"] for key in few} == set(SYSTEMS)
    assert {key["way"] for key in few} == set(WAYS)
    assert {key["corpus"] for key in few} == {"reuters", "dmoz"}
    words = plan_of("words", tasks, tmp_path)
    assert {key["system"] for key in words} == {PAPER, OURS}
    assert {"reagan", "bush", "nasdaq", "reproduction", "opec", "yen"} <= set(words[0]["words"])
    more = plan_of("unlabelled", tasks, tmp_path)
    assert {key["system"] for key in more} == {"LSI", "LDA", PAPER, OURS}
    assert {key["corpus"] for key in more} == {"dmoz", "20newsgroups"}
    tables = plan_of("published", tasks, tmp_path)
    assert {key["corpus"] for key in tables} == {"r8", "r52", "20newsgroups"}
    assert {key["system"] for key in tables} == set(SYSTEMS) - {"pLSI", "LDA", "SDA"}
    assert {key["labels"] for key in tables} == {"all"}
    times = plan_of("time", tasks, tmp_path)
    assert {key["corpus"] for key in times} == {"reuters", "dmoz"}
    assert {key["system"] for key in times} == set(SYSTEMS)


def test_the_full_profile_is_the_papers():
    full = PROFILES["full"]
    assert full.sample is None
    assert (full.draws, full.noise_draws, full.noise_labels) == (5, 5, 1000)
    assert min(full.budgets) == 50
    assert full.depths == (1, 2, 3, 4, 5, 6)
    assert full.unlabelled_labels == (100, 1000)
    assert max(full.learned["dmoz"]) == 7184 + 26_520


def test_published(context, task, tmp_path):
    context._tasks["r8"] = replace(task, name="r8")
    context.profile = replace(context.profile, published_systems=("TF-IDF",))
    context.extra = {StaticEmbeddings.name: StaticEmbeddings()}  # takes part in figure 4 only
    jobs = list(published.jobs(context))
    store = Store(tmp_path / "cells")
    assert run_jobs(jobs, store) == []
    table = published_table(Results.collect(store, jobs, context, []))
    assert [row[0] for row in table.rows if row[-1] == "measured here"] == ["TF-IDF, ridge"]


def test_unlabelled_documents_come_after_training_documents(task):
    order = unlabelled.pool(task)
    assert set(order[: len(task.train)]) == set(task.train)
    assert set(order[len(task.train) :]) == set(task.unlabelled)


def test_documents_are_added_in_the_order_of_no_draw(task):
    """Or those labelled in that draw would be those learned from, in that draw alone."""
    order = unlabelled.pool(task)[: len(task.train)]
    for draw in draws(len(task.train), 5):
        assert np.mean(order == task.train[draw]) < 0.2


def test_a_corpus_is_another_one_if_its_texts_are(task):
    louder = replace(task, texts=[text.upper() + "!" for text in task.texts])
    assert corpus_key(task) == corpus_key(louder)
    for system, same in ((SYSTEMS["LSI"], True), (StaticEmbeddings(), False)):
        assert (corpus_key(task, system) == corpus_key(louder, system)) is same


def test_a_missing_corpus_is_a_note_not_a_crash(profile, tmp_path, monkeypatch):
    def missing(*_, **__):
        raise DatasetMissingError("no network")

    monkeypatch.setattr("dcot.bench.jobs.load_task", missing)
    context = Context(profile, tmp_path)
    assert list(published.jobs(context)) == []
    assert context.notes == ["r8 is left out: no network"]


def test_a_damaged_corpus_is_an_error_and_nothing_stands_in(profile, tmp_path, monkeypatch):
    monkeypatch.setenv("DCOT_DATA", str(tmp_path))
    (tmp_path / "dmoz.tsv").write_text("what is this")
    with pytest.raises(DatasetError, match=r"dmoz\.tsv"):
        Context(profile, tmp_path).task("dmoz", stand_in=True)
    with pytest.raises(DatasetError, match="is not a directory"):
        paper.run(profile, tmp_path, data=tmp_path / "nowhere")


def test_time_is_measured_in_a_process_of_its_own(context, task, tmp_path, monkeypatch):
    asked = []

    def measure(request):
        asked.append(request)
        return {"seconds": 1.0}

    monkeypatch.setattr(timing, "measure", measure)
    context._tasks["reuters"] = replace(task, name="reuters")
    assert run_jobs(list(timing.jobs(context)), Store(tmp_path / "cells")) == []
    assert [request["system"] for request in asked] == list(context.profile.systems)


@pytest.mark.parametrize("name", ["TF-IDF", "dCoT"])
def test_what_is_measured(task, monkeypatch, name):
    monkeypatch.setattr("dcot.bench.tasks.load_task", lambda *_, **__: task)
    request = {"corpus": "made", "system": name, "size": "small", "sample": (100, 50, 0)}
    found = measuring._measured(request)
    assert found["documents"] == 100
    assert found["seconds"] > 0
    assert found["ms_per_document"] > 0
    assert found["setting"] == SYSTEMS[name].settings("small")[0]


def test_a_measurement_of_its_own(monkeypatch):
    monkeypatch.delenv("DCOT_DATA", raising=False)
    request = {"corpus": "everyday", "system": "TF-IDF", "size": "small", "sample": (60, 20, 0)}
    found = measuring.measure(request)
    assert found["documents"] == 60
    assert found["seconds"] > 0
    if sys.platform == "linux":
        assert found["peak_mb"] >= 0


def test_peak_memory_is_that_of_the_work():
    peak, result = measuring.peak_memory(lambda: float(np.ones(8_000_000).sum()))
    assert result == 8e6
    assert peak is None or 50e6 < peak < 200e6


def test_a_failed_measurement_says_why():
    with pytest.raises(DcotError, match="measuring nothing failed: KeyError"):
        measuring.measure({"corpus": "nowhere", "system": "nothing", "size": "small"})


def test_mcnemar():
    truth = np.arange(20)
    good, bad = truth.copy(), truth.copy()
    bad[:8] = -1
    assert mcnemar(hits(truth, good), hits(truth, good)) == 1.0
    assert mcnemar(hits(truth, good), hits(truth, bad)) == pytest.approx(2 * 0.5**8)
    assert mcnemar(hits(truth, bad), hits(truth, good)) == pytest.approx(2 * 0.5**8)
    assert hits(np.array([1, 2]), np.array([1, 0])) == "80"
