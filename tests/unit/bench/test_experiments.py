"""What the experiments plan and measure, on a small corpus."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from dcot import DcotError
from dcot.bench import paper
from dcot.bench.experiments import EXPERIMENTS, WORK, accuracy, plan, retrieval, timing
from dcot.bench.features import Block
from dcot.bench.jobs import Context, Job, Runner, corpus_key, predicted
from dcot.bench.profiles import FAST, PROFILES
from dcot.bench.protocol import (
    CLASSIFIERS,
    RIDGE,
    SVM,
    Prediction,
    default_class_weight,
    hits,
    mcnemar,
)
from dcot.bench.report.results import Results
from dcot.bench.report.tables import TABLES
from dcot.bench.store import Store
from dcot.bench.systems import (
    NAMES,
    OURS,
    PAPER,
    SELF_TRAINED,
    SYSTEMS,
    WITH,
    Classifier,
    Learned,
    StaticEmbeddings,
    name_with,
)
from dcot.bench.systems.factors import Tfidf
from dcot.classifier import DCoTClassifier
from dcot.datasets import JudgedCollection
from dcot.errors import DatasetError, DatasetMissingError


@pytest.fixture
def full(task, tmp_path):
    """The full profile on one corpus under several names."""
    names = ("reuters", "dmoz", "r8", "r52", "20newsgroups", "reuters-text")
    given = {  # not the same corpus, which would be planned once
        name: replace(task, name=name, train=task.train[number:])
        for number, name in enumerate(names)
    }
    profile = replace(PROFILES["full"], collections=())
    return Context(profile, tmp_path, given=given)


def keys_of(context, *experiments):
    return [key for job in plan(context, experiments) for key in job.keys]


def test_the_full_profile_has_every_cell(full):
    noise = keys_of(full, "noise")
    assert len(noise) == 2 * 11 * 6 * 5  # methods, noise levels, layers, draws
    assert {key["noise"] for key in noise} >= {0.0, 0.5, 0.9, 0.95}
    few = keys_of(full, "few-labels")
    assert {key["classifier"] for key in few} == set(CLASSIFIERS)
    assert {key["corpus"] for key in few} == set(full.profile.few_labels)
    for corpus in ("reuters", "dmoz"):
        assert {key["system"] for key in few if key["corpus"] == corpus} == set(NAMES)
    assert {key["system"] for key in few if key["corpus"] == "r52"} == {*FAST, *SELF_TRAINED}
    words = keys_of(full, "words")
    assert {key["system"] for key in words} == {PAPER, OURS}
    assert {"reagan", "bush", "nasdaq", "reproduction", "opec", "yen"} <= set(words[0]["words"])
    more = keys_of(full, "unlabelled")
    assert {key["system"] for key in more} == {"LSI", OURS}
    assert {key["corpus"] for key in more} == {"dmoz", "20newsgroups"}
    tables = keys_of(full, "published")
    assert {key["corpus"] for key in tables} == {"r8", "r52", "20newsgroups"}
    assert {key["labels"] for key in tables} == {"all"}
    times = keys_of(full, "time")
    assert {key["corpus"] for key in times} == {"reuters", "dmoz"}
    assert {key["system"] for key in times} == set(SYSTEMS) - set(SELF_TRAINED)


class Knowing(StaticEmbeddings):
    """A pretrained system that knows the class of every text."""

    def __init__(self, task):
        self.known = dict(zip(task.texts, task.labels, strict=True))

    def learn(self, documents, settings):
        def features(documents):
            classes = np.unique(list(self.known.values()))
            labels = np.array([self.known[text] for text in documents.texts])
            return [Block.of((labels[:, None] == classes).astype(np.float32), "unit")]

        yield Learned(settings[0], features)


def test_vectors_beside_dcot(context, task):
    system = Knowing(task)
    name = name_with(system.name)
    assert name in WITH
    context = replace(context, extra={system.name: system, name: Classifier(system)})
    jobs = {job.options["system"]: job for job in plan(context, ["few-labels"])}
    accuracy = {}
    for each in (OURS, system.name, name):
        found = WORK["accuracy"](context, jobs[each], jobs[each].keys)
        accuracy[each] = [r["accuracy"] for key, r in found if key["classifier"] == RIDGE]
    assert len(accuracy[name]) == len(jobs[name].keys) == len(accuracy[OURS])  # no SVM
    assert np.mean(accuracy[OURS]) < np.mean(accuracy[name]) == 1.0
    assert len(list(context.cache.iterdir())) == 1  # encoded once for both
    assert not {key["system"] for key in keys_of(context, "time")} & {OURS, name}


def test_pretrained_systems_have_an_svm_where_others_have_one(context, task):
    system = Knowing(task)
    for tried, expected in (((), {RIDGE}), (("TF-IDF",), {RIDGE, SVM})):
        profile = replace(context.profile, svm_systems=tried)
        each = replace(context, profile=profile, extra={system.name: system})
        keys = [key for key in keys_of(each, "few-labels") if key["system"] == system.name]
        assert {key["classifier"] for key in keys} == expected


def test_the_full_profile_is_the_papers():
    full = PROFILES["full"]
    assert full.sample is None
    assert (full.draws, full.noise_draws, full.noise_labels) == (5, 5, 1000)
    assert min(full.budgets) == 50
    assert full.depths == (1, 2, 3, 4, 5, 6)
    assert max(full.learned["dmoz"]) == 7184 + 26_520


def test_every_rival_has_the_class_weights_of_dcot(full):
    weight = DCoTClassifier().class_weight
    assert {repr(key["class_weight"]) for key in keys_of(full, "few-labels")} == {repr(weight)}
    assert default_class_weight() == weight


def test_the_plan_predicts_time():
    jobs = [Job("noise", "a", [], {}, seconds) for seconds in (60, 60, 120)]
    assert predicted(jobs, 2) == 120
    assert predicted([*jobs, Job("time", "b", [], {}, 30, alone=True)], 2) == 150
    assert predicted(jobs, 8) == 120  # the longest one


def test_a_dry_run_computes_nothing(context, profile, tmp_path, monkeypatch, corpus):
    monkeypatch.setattr(paper, "context_of", lambda *_, **__: context)
    text = paper.dry_run(profile, tmp_path / "out", only=["few-labels"]).text()
    assert text.startswith("About ")
    assert "accuracy, made" in text
    assert not (tmp_path / "out").exists()


def test_published(context, task, tmp_path):
    context.given["r8"] = replace(task, name="r8")
    context.profile = replace(
        context.profile, published=("r8",), published_systems=("TF-IDF",), svm_systems=()
    )
    jobs = plan(context, ["published"])
    store = Store(tmp_path / "cells")
    assert Runner(context, store, WORK).run(jobs) == []
    (table,) = TABLES["published"](Results.collect(store, jobs, context, [], ["published"]))
    assert [row[0] for row in table.rows if row[-1] == "measured here"] == ["TF-IDF"]


def test_a_corpus_is_another_one_if_its_texts_are(task):
    louder = replace(task, texts=[text.upper() + "!" for text in task.texts])
    assert corpus_key(task) == corpus_key(louder)
    assert corpus_key(task, True) != corpus_key(louder, True)


def test_a_missing_corpus_is_a_note_not_a_crash(profile, tmp_path, monkeypatch):
    def missing(*_, **__):
        raise DatasetMissingError("no network")

    monkeypatch.setattr("dcot.bench.jobs.load_task", missing)
    context = Context(profile, tmp_path)
    assert plan(context, ["published"]) == []
    assert context.notes == ["r8 is skipped: no network"]


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
    context.given["reuters"] = replace(task, name="reuters")
    context.profile = replace(context.profile, few_labels={"reuters": ("TF-IDF", "LSI", OURS)})
    jobs = plan(context, ["time"])
    assert all(job.alone for job in jobs)
    assert Runner(context, Store(tmp_path / "cells"), WORK).run(jobs) == []
    assert [request["system"] for request in asked] == ["TF-IDF", "LSI"]


@pytest.mark.parametrize("name", ["TF-IDF", "dCoT features"])
def test_what_is_measured(task, monkeypatch, name):
    monkeypatch.setattr(timing, "load_task", lambda *_, **__: task)
    request = {"corpus": "made", "system": name, "size": "small", "sample": (100, 50, 0)}
    found = timing._measured(request)
    assert found["documents"] == 100
    assert found["seconds"] > 0
    assert found["ms_per_document"] > 0
    assert found["setting"] == SYSTEMS[name].settings("small")[0]


def test_a_measurement_of_its_own(monkeypatch):
    monkeypatch.delenv("DCOT_DATA", raising=False)
    request = {"corpus": "everyday", "system": "TF-IDF", "size": "small", "sample": (60, 20, 0)}
    found = timing.measure(request)
    assert found["documents"] == 60
    assert found["seconds"] > 0
    if sys.platform == "linux":
        assert found["peak_mb"] >= 0


def test_peak_memory_is_that_of_the_work():
    code = (
        "import numpy as np; from dcot.bench.experiments.timing import peak_memory;"
        "print(*peak_memory(lambda: float(np.ones(8_000_000).sum())))"
    )
    # a process of its own, as in `measure`: here, others may free memory at the same time
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    peak, result = done.stdout.split()
    assert float(result) == 8e6
    assert peak == "None" or 50e6 < float(peak) < 200e6


def test_a_failed_measurement_says_why():
    with pytest.raises(DcotError, match="measuring nothing failed: KeyError"):
        timing.measure({"corpus": "nowhere", "system": "nothing", "size": "small"})


def test_mcnemar():
    truth = np.arange(20)
    good, bad = truth.copy(), truth.copy()
    bad[:8] = -1
    assert mcnemar(hits(truth, good), hits(truth, good)) == 1.0
    assert mcnemar(hits(truth, good), hits(truth, bad)) == pytest.approx(2 * 0.5**8)
    assert mcnemar(hits(truth, bad), hits(truth, good)) == pytest.approx(2 * 0.5**8)
    assert hits(np.array([1, 2]), np.array([1, 0])) == "80"


# -- retrieval ----------------------------------------------------------------------------------


def small_collection(n=60, seed=0):
    """Documents of one topic each; a query has two words of one document."""
    rng = np.random.default_rng(seed)
    texts = [
        " ".join(f"{topic}{word}" for word in rng.integers(0, 12, 9))
        for topic in np.array(["oil", "wheat", "yen"])[rng.integers(0, 3, n)]
    ]
    ids = [str(number) for number in range(n)]
    asked = list(range(0, n, 3))
    queries = [" ".join(texts[row].split()[:2]) for row in asked]
    relevant = [{str(row): 1.0} for row in asked]
    return JudgedCollection("made", ids, texts, [str(row) for row in asked], queries, relevant)


def test_retrieval(context, tmp_path, monkeypatch):
    monkeypatch.setattr(retrieval, "collection_of", lambda *_: small_collection())
    context.profile = replace(context.profile, collections=("made",))
    jobs = plan(context, ["retrieval"])
    store = Store(tmp_path / "cells")
    assert Runner(context, store, WORK).run(jobs) == []
    found = {cell.key["system"]: cell.result for cell in store.cells()}
    assert set(found) == set(retrieval.SYSTEMS)
    for result in found.values():
        assert result["ndcg"] == pytest.approx(np.mean(result["ndcg_by_query"]), abs=1e-4)
        assert 0.2 < result["ndcg"] <= 1
    assert found["BM25"]["ndcg"] > 0.5


def test_the_first_setting_is_kept_unless_the_other_half_prefers_another():
    rng = np.random.default_rng(0)
    first = np.stack([rng.random(200), rng.random(200)])
    level = first + rng.normal(0, 0.1, first.shape)
    better = first + 0.2
    assert np.array_equal(retrieval._chosen([first, level])[0], first[0]) or (
        abs(retrieval._chosen([first, level])[0].mean() - first[0].mean()) < 0.02
    )
    assert np.array_equal(retrieval._chosen([first, better])[0], better[0])


def test_made_collections_need_their_corpus(context, monkeypatch, tmp_path):
    monkeypatch.setenv("DCOT_DATA", str(tmp_path))
    monkeypatch.setenv("DCOT_CACHE", str(tmp_path))
    with pytest.raises(DatasetMissingError, match="no folder cranfield"):
        retrieval.collection_of(context, "cranfield")
    assert set(EXPERIMENTS) >= {"retrieval", "suggest", "few-labels", "unlabelled", "published"}


@pytest.mark.parametrize("size", [60, 110, 140])
def test_self_trained_rivals_learn_from_the_documents_of_dcot(context, task, monkeypatch, size):
    """Of 110 training documents and 30 without labels."""
    seen = []

    def predictions(choice, labels, labelled, test, weight, pool):
        seen.append((choice.candidate.blocks[0].values, labelled, pool))
        return Prediction(labels[np.zeros(len(test), dtype=int)], 1.0)

    monkeypatch.setattr(accuracy, "ridge_predictions", predictions)
    monkeypatch.setattr(Tfidf, "settings", lambda self, size: [{"tf": "sublinear", "rows": "unit"}])
    options = {"corpus": "made", "system": "TF-IDF, self-trained", "learned": size, "part": 0}
    key = {"classifier": RIDGE, "labels": 20, "draw": 0, "class_weight": None}
    list(accuracy.work(context, Job("accuracy", "", [key], options), [key]))
    [(values, labelled, pool)] = seen
    rows = accuracy.learned_rows(task, size, 0)
    expected = task.documents(rows, np.setdiff1d(rows, task.train[labelled]))[1].tfidf
    cosines = normalize(sp.csr_array(values)[pool]) @ normalize(expected).T
    assert cosines.shape == (size - 20, size - 20)
    assert cosines.toarray().max(axis=1) == pytest.approx(1)
    assert cosines.toarray().max(axis=0) == pytest.approx(1)
