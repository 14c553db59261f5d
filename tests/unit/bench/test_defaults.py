"""The study behind the defaults: on training documents only, and shown as differences."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from dcot import DcotError
from dcot.bench import defaults
from dcot.cli import main


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(defaults, "BUDGETS", (20, 40))
    monkeypatch.setattr(defaults, "MANY_LABELS", (30, 60))
    monkeypatch.setattr(defaults, "DRAWS", 2)
    options = {"default": {"n_prototypes": 40}, "few prototypes": {"n_prototypes": 5}}
    monkeypatch.setattr(defaults, "SETTINGS", options)
    monkeypatch.setattr(defaults, "WORDS", {"min_df=1": {}, "min_df=3": {"min_df": 3}})
    few = {name: defaults.FREQUENT[name] for name in ("idf_floor=1", "idf²")}
    monkeypatch.setattr(defaults, "FREQUENT", few)


def test_test_documents_are_not_touched(corpus, small):
    labels = corpus.labels.copy()
    labels[corpus.test] = "never seen"
    texts = list(corpus.texts)
    for row in corpus.test:
        texts[row] = "other words"
    held = defaults.Held.of(corpus, "made")
    blind = defaults.Held.of(replace(corpus, labels=labels, texts=texts), "made")
    assert held.texts == blind.texts
    assert (held.labels == blind.labels).all()
    assert len(held.texts) == len(corpus.train)
    out = {int(row) for order in held.draws for row in order}
    assert len(out) < len(held.texts)  # some are held out in every draw


@pytest.mark.parametrize("study", ["settings", "words", "frequent", "selection", "self-training"])
def test_held_out_documents_are_not_learned_from(corpus, small, monkeypatch, study):
    """The representation is used on new documents, so the study has to measure it on such."""
    texts, sizes = [], []
    fit_texts, fit_matrix = defaults.DCoTVectorizer.fit, defaults.DCoT.fit

    def fit(model, X, *args, **options):
        texts.append(list(X))
        return fit_texts(model, X, *args, **options)

    def fit_rows(model, X, *args, **options):
        sizes.append(X.shape[0])
        return fit_matrix(model, X, *args, **options)

    monkeypatch.setattr(defaults.DCoTVectorizer, "fit", fit)
    monkeypatch.setattr(defaults.DCoT, "fit", fit_rows)
    held = defaults.Held.of(corpus, "made")
    for _ in defaults.STUDIES[study](held):
        pass
    assert texts[0] == held.learned
    assert all(each == texts[0] for each in texts)
    assert set(sizes) == {len(held.learned)}
    assert set(held.draws[0]) == set(range(held.n_out, len(held.texts)))


@pytest.mark.parametrize("study", [name for name in defaults.STUDIES if name != "reliability"])
def test_tables_show_differences_to_the_first_row(corpus, small, monkeypatch, tmp_path, study):
    if study == "embedding":
        pytest.importorskip("wordllama", reason="wordllama is not installed: dcot[embedding]")
    monkeypatch.setattr(defaults, "load_corpus", lambda *_, **__: corpus)
    tables = defaults.run([study], ["made"], docs=tmp_path)
    assert len(tables) == 2  # accuracy and macro-F1
    for table in tables:
        assert table.head[:3] == ["change", "made", "mean"]
        assert table.rows[0][1:3] == ["", ""]
        for row in table.rows[1:]:
            points = [float(value) for value in row[1].split(" / ")]
            assert len(points) == 2
            assert float(row[2]) == pytest.approx(np.mean(points), abs=0.06)
    written = (tmp_path / f"defaults-{study}.md").read_text()
    assert [written.count(f"change in {metric}") for metric in defaults.METRICS] == [1, 1]
    if study == "words":
        sizes = [float(row[3].removesuffix(" MB")) for row in tables[0].rows]
        assert sizes[1] <= sizes[0]


def test_an_encoder_is_studied_like_other_vectors(corpus, small, monkeypatch, tmp_path):
    pytest.importorskip("wordllama", reason="wordllama is not installed: dcot[embedding]")
    monkeypatch.setattr(defaults, "load_corpus", lambda *_, **__: corpus)
    rng = np.random.default_rng(0)
    monkeypatch.setattr(defaults.Encoder, "encode", lambda _, texts: rng.random((len(texts), 9)))
    table, _ = defaults.run(["embedding"], ["made"], encoder=tmp_path)
    scores = {row[0]: row[2] for row in table.rows}
    assert float(scores["the encoder alone"]) < 0  # it says nothing about the texts
    weights = [name for name in scores if name.startswith("dCoT and the encoder, weight ")]
    assert len(weights) == len(defaults.EMBEDDING_WEIGHTS)  # with the chosen one, without 0


def test_reliability_is_shown_as_it_is(corpus, small, monkeypatch):
    monkeypatch.setattr(defaults, "load_corpus", lambda *_, **__: corpus)
    (table,) = defaults.run(["reliability"], ["made"])
    values = {
        row[0]: [float(value.replace("–", "nan")) for value in row[1].split(" / ")]
        for row in table.rows
    }
    assert len(values) == 5
    for name, found in values.items():
        assert len(found) == 2
        high = 100 if name.endswith("%") else 50
        assert all(0 <= value <= high or value != value for value in found)
    assert min(values["right class in the set, coverage=0.9, %"]) > 60


def test_a_damped_term_does_not_count(corpus, small, monkeypatch):
    """Without the terms that tell its classes apart, a corpus cannot be classified."""
    held = defaults.Held.of(corpus, "made")
    monkeypatch.setattr(
        defaults,
        "FREQUENT",
        {
            "idf": defaults.FREQUENT["idf_floor=1"],
            "one term": lambda share, idf: np.eye(len(idf))[0],
        },
    )
    scores = [outcome.scores["accuracy"] for _, outcome in defaults.STUDIES["frequent"](held)]
    assert (scores[1] < scores[0]).all()


def test_unknown_studies():
    with pytest.raises(DcotError, match="unknown studies"):
        defaults.run(["everything"])


def test_a_corpus_that_is_too_small(corpus, small):
    held = defaults.Held.of(corpus, "made")
    with pytest.raises(DcotError, match=r"made has .* documents to label, .* needs 100000"):
        held.scores([], budgets=[100_000])


def test_the_command_names_every_study(capsys):
    assert main(["bench", "defaults", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert all(re.search(rf"\b{name}\b", shown) for name in defaults.STUDIES)
