"""The page: self-contained, complete, and honest about losses and failures."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from dcot.bench import paper
from dcot.bench.experiments import timing
from dcot.bench.jobs import Failure
from dcot.bench.profiles import PROFILES
from dcot.bench.report import Results, claims, write_docs, write_report
from dcot.bench.report.page import page
from dcot.bench.report.sections import sections
from dcot.bench.report.story import paragraphs
from dcot.bench.report.tables import by_budget, published_table, time_table
from dcot.bench.store import Cell
from dcot.bench.systems import OURS, PAPER, SYSTEMS

CORPUS = {
    "title": "reuters",
    "stands_for": "",
    "documents": {"train": 1000, "test": 300, "unlabelled": 0},
    "classes": 65,
    "unseen_classes": 7,
    "licence": "research",
    "citation": "somebody",
}


def cell(experiment, system, result, **key):
    key = {"experiment": experiment, "corpus": "reuters", "system": system, **key}
    return Cell(key, result, 1.0, {}, {}, "abc")


def few_labels(means, way="validation"):
    """Cells of three draws around given accuracies: system → budget → accuracy."""
    return [
        cell(
            "few-labels",
            system,
            {"accuracy": mean + shift, "macro_f1": mean / 2, "labelled": labels},
            way=way,
            labels=labels,
            draw=draw,
        )
        for system, by_labels in means.items()
        for labels, mean in by_labels.items()
        for draw, shift in enumerate((-0.01, 0.0, 0.01))
    ]


def results_of(cells, **others):
    return Results("full", cells, len(cells), corpora={"reuters": CORPUS}, **others)


LOSING = {
    "LSI": {50: 0.7, "all": 0.9},
    "TF-IDF": {50: 0.5, "all": 0.92},
    OURS: {50: 0.8, "all": 0.91},
}


def test_a_loss_is_said_in_words_and_in_the_table():
    results = results_of(few_labels(LOSING))
    text = " ".join(paragraphs(results)["few-labels"])
    assert "best with 50 labels (+10.0 points against LSI)" in text
    assert "does not beat the best rival with all labels (-1.0 points against TF-IDF)" in text
    table = by_budget(results, "few-labels", "reuters", "validation", "accuracy")
    assert table.head == ["labels", "50", "all"]
    assert table.rows[-1][1].startswith("+10.0 (LSI")
    assert table.rows[-1][2].startswith("-1.0 (TF-IDF")
    bold = {table.rows[row][0] for row, column in table.best if column == 2}
    assert bold == {"TF-IDF"}


def test_what_was_trained_on_other_text_is_compared_apart():
    means = {**LOSING, "pretrained encoder": {50: 0.85, "all": 0.86}}
    results = results_of(few_labels(means))
    text = " ".join(paragraphs(results)["few-labels"])
    assert "dCoT is best with 50 labels (+10.0 points against LSI)" in text
    assert "pretrained encoder, trained on other text, it makes -5.0 with 50, +5.0 with" in text
    table = by_budget(results, "few-labels", "reuters", "validation", "accuracy")
    assert [row[0] for row in table.rows[-2:]] == [
        "*dCoT against the best rival*",
        "*dCoT against the pretrained encoder*",
    ]
    assert table.rows[-2][1].startswith("+10.0 (LSI")
    assert table.rows[-1][1].startswith("-5.0 (pretrained encoder")
    bold = {table.rows[row][0] for row, column in table.best if column == 1}
    assert bold == {"pretrained encoder"}
    html = page(results, sections(results, []), {}, "title")
    assert "sentence-transformers model from a folder" in html


def test_classes_without_training_documents_are_mentioned():
    text = " ".join(paragraphs(results_of(few_labels(LOSING)))["few-labels"])
    assert "7 classes of reuters's test documents have no training document" in text


def test_a_missing_cell_is_shown_as_failed():
    cells = few_labels({"LSI": {50: 0.7}, OURS: {50: 0.8, 100: 0.9}})
    table = by_budget(results_of(cells), "few-labels", "reuters", "validation", "accuracy")
    assert table.rows[0] == ["LSI", "70.0 ± 0.8", "failed"]


def test_failures_are_on_the_page():
    results = results_of(few_labels(LOSING), failures=[Failure("time, LDA", 3, "out of memory")])
    html = page(results, sections(results, []), {}, "title")
    assert "Failed: time, LDA, 3 cells. out of memory" in html


def verdicts(results, text):
    return {v.system: v.verdict for v in claims.judge(results) if text in v.claim}


def test_verdicts_follow_the_figures():
    means = {
        "bag of words": {50: 0.4, 1000: 0.8},
        "TF-IDF": {50: 0.5, 1000: 0.9},
        PAPER: {50: 0.3, 1000: 0.7},
        OURS: {50: 0.6, 1000: 0.85},
    }
    results = results_of(few_labels(means))
    beats = verdicts(results, "dCoT beats bag of words")
    assert beats == {PAPER: claims.NOT, OURS: claims.PARTLY}
    few = verdicts(results, "especially with few labels")
    assert few == {PAPER: claims.NOT, OURS: claims.HOLDS}
    assert set(verdicts(results, "faster than LSI").values()) == {claims.MISSING}


def test_verdict_on_depth_and_noise():
    cells = [
        cell("noise", system, {"accuracy": value}, noise=noise, layers=layers, draw=0)
        for system, best in ((PAPER, 0.9), (OURS, 0.0))
        for noise in (0.0, 0.5, 0.9)
        for layers in (1, 2)
        for value in [0.5 + (0.1 if noise == best else 0) + 0.05 * (layers if best else -layers)]
    ]
    results = results_of(cells)
    assert verdicts(results, "More than one layer") == {PAPER: claims.HOLDS, OURS: claims.NOT}
    assert verdicts(results, "high level of noise") == {PAPER: claims.HOLDS, OURS: claims.NOT}
    assert claims.best_noises(results, PAPER) == [(1, 0.9), (2, 0.9)]
    assert "Best noise by layers: 0.9 with 1, 0.9 with 2." in paragraphs(results)["noise"][0]


def timed(system, seconds):
    found = {
        "seconds": seconds,
        "peak_mb": None,
        "ms_per_document": 0.5,
        "documents_per_second": 10.0,
    }
    return cell("time", system, found)


def test_verdicts_on_time_and_the_papers_own_minutes():
    results = results_of(
        [timed("LSI", 2.0), timed("SDA", 50.0), timed(PAPER, 4.0), timed(OURS, 1.0)]
    )
    assert verdicts(results, "faster than LSI") == {PAPER: claims.NOT, OURS: claims.HOLDS}
    assert verdicts(results, "faster than SDA") == {PAPER: claims.PARTLY, OURS: claims.PARTLY}
    assert set(verdicts(results, "three orders").values()) == {claims.NOT}
    table = time_table(results, "reuters")
    assert [row[-1] for row in table.rows] == ["51 min 0 s", "", "2 min 0 s", ""]
    assert timing.THEIRS["dmoz"]["LDA"] == 9 * 3600 + 60


def test_published_figures_are_marked_as_theirs():
    cells = [
        replace(
            cell("published", OURS, {"accuracy": 0.97}, way=way, labels="all", draw=0),
            key={
                "experiment": "published",
                "corpus": "r8",
                "system": OURS,
                "way": way,
                "labels": "all",
                "draw": 0,
            },
        )
        for way in ("validation", "leave-one-out")
    ]
    table = published_table(results_of(cells))
    rows = {row[0]: (number, row) for number, row in enumerate(table.rows)}
    number, row = rows["TextGCN"]
    assert row[1] == "97.07"
    assert row[-1].startswith("published")
    assert number in table.theirs
    assert rows[f"{OURS}, SVM"][0] not in table.theirs


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """All experiments without any data directory: the embedded corpus stands in."""
    out = tmp_path_factory.mktemp("bench")
    profile = replace(
        PROFILES["quick"],
        name="tiny",
        sample=(120, 60, 0),
        budgets=(30,),
        draws=1,
        noises=(0.0, 0.9),
        depths=(1, 2),
        noise_labels=50,
        noise_prototypes=(50, 50),
        learned={"dmoz": (60, 120)},
        unlabelled_labels=(30,),
        unlabelled_draws=1,
        published=(),
        systems=("TF-IDF", "LSI", PAPER, OURS),
    )
    only = ("noise", "few_labels", "unlabelled")
    with pytest.MonkeyPatch.context() as patch, threadpool_limits(1):
        patch.delenv("DCOT_DATA", raising=False)
        patch.setenv("DCOT_CACHE", str(out / "cache"))
        calls = []
        done = paper.run(profile, out, only=only, progress=lambda *call: calls.append(call))
        again = paper.run(profile, out, only=only)
    return out, done, again, calls


def test_without_data_the_embedded_corpus_stands_in_and_says_so(tiny):
    _, done, _, _ = tiny
    assert done.failures == []
    assert any("stands in" in note for note in done.results.notes)
    html = done.report.read_text()
    assert "docstrings, standing in for reuters" in html
    assert "say nothing about the paper" in html


def test_the_page_needs_nothing_but_itself(tiny):
    _, done, _, _ = tiny
    html = done.report.read_text()
    assert "<script" not in html
    assert not re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', html)
    assert html.count("<svg") >= 5
    assert html.count("<svg") == html.count("</svg>")


def test_no_cell_is_dropped(tiny):
    out, done, _, _ = tiny
    assert len(done.results.cells) == done.results.planned
    stored = json.loads((out / "results.json").read_text())
    rows = list(csv.DictReader(io.StringIO((out / "results.csv").read_text())))
    assert len(stored["cells"]) == len(rows) == done.results.planned
    names = {path.stem for path in (out / "figures").glob("*.png")}
    assert names == {path.stem for path in (out / "figures").glob("*.svg")}
    assert {"noise", "unlabelled", "few-labels-validation-accuracy"} <= names


def test_a_second_run_writes_the_same_page(tiny):
    _, done, again, calls = tiny
    assert [c.result for c in again.results.cells] == [c.result for c in done.results.cells]
    assert again.report.read_text() == done.report.read_text()
    shares = [share for _, share in calls]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_docs(tiny, tmp_path):
    _, done, _, _ = tiny
    write_docs(done.results, tmp_path)
    text = (tmp_path / "results.md").read_text()
    for name in re.findall(r"\(experiments/(.+?\.svg)\)", text):
        assert (tmp_path / name).exists()
    assert "| labels |" in text
    assert "commit" in text


def test_an_empty_run_has_a_page(tmp_path):
    report = write_report(Results("quick", [], 0), tmp_path)
    assert "0 of 0 cells" in report.read_text()


def test_unknown_experiments_and_profiles_are_named(tmp_path):
    with pytest.raises(ValueError, match="unknown experiments \\['nothing'\\]"):
        paper.run("quick", tmp_path, only=["nothing"])
    with pytest.raises(ValueError, match="profile must be one of"):
        paper.run("huge", tmp_path)


def test_every_system_is_described():
    assert all(system.about for system in SYSTEMS.values())
    assert np.unique([system.name for system in SYSTEMS.values()]).size == len(SYSTEMS)
