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
from dcot.bench.report import paper_claims as claims
from dcot.bench.report.figures import figures, svg
from dcot.bench.report.paragraphs import Section, sections
from dcot.bench.report.results import Results, verdict
from dcot.bench.report.tables import TABLES, Table, by_budget, time_table
from dcot.bench.report.writing import markdown, page, write_docs, write_report
from dcot.bench.store import Cell
from dcot.bench.systems import FEATURES, OURS, PAPER, SYSTEMS
from dcot.plots import label_curves
from dcot.plots._figure import new_figure

CORPUS = {
    "stands_for": "",
    "learned": 1000,
    "documents": {"train": 1000, "test": 300, "unlabelled": 0},
    "classes": 65,
    "unseen_classes": 7,
    "description": "newswire",
    "licence": "research",
    "citation": "somebody",
}


def cell(experiment, system, result, **key):
    key = {"experiment": experiment, "corpus": "reuters", "system": system, **key}
    return Cell(key, result, 1.0, {}, {}, "abc")


def few_labels(means, classifier="ridge"):
    """Cells of three draws around given accuracies: system → budget → accuracy.

    Draws differ by much, systems within a draw by little more or less than their means.
    """
    return [
        cell(
            "accuracy",
            system,
            {
                "accuracy": mean + shift * (1 + number / 50),
                "macro_f1": mean / 2,
                "labelled": labels,
            },
            classifier=classifier,
            learned=1000,
            labels=labels,
            draw=draw,
        )
        for number, (system, by_labels) in enumerate(means.items())
        for labels, mean in by_labels.items()
        for draw, shift in enumerate((-0.01, 0.0, 0.01))
    ]


def results_of(cells, **others):
    experiments = ("words", "noise", "few-labels", "time", "published", "suggest")
    corpora = {"reuters": CORPUS, "r8": {**CORPUS, "unseen_classes": 0}}
    return Results("full", experiments, cells, len(cells), corpora=corpora, **others)


def paragraphs(results):
    return {section.name: section.paragraphs for section in sections(results, {})}


LOSING = {
    "LSI": {50: 0.7, 100: 0.8, "all": 0.9},
    "TF-IDF": {50: 0.5, 100: 0.7, "all": 0.92},
    OURS: {50: 0.8, 100: 0.8001, "all": 0.91},
}


def test_a_loss_is_said_in_words_and_in_the_table():
    results = results_of(few_labels(LOSING))
    text = " ".join(paragraphs(results)["few-labels"])
    assert "dCoT is significantly better than the best rival with 50 (+10.0 against LSI" in text
    level = "not significantly different from the best rival with 100 (+0.0 against LSI, p 0.71)"
    assert level in text
    worse = "significantly worse than the best rival with all (-1.0 against TF-IDF, p < 0.01)"
    assert worse in text
    table = by_budget(results, "reuters", "ridge", "accuracy")
    assert table.head == ["labels", "50", "100", "all"]
    assert table.rows[-1][1].startswith("+10.0 (LSI")
    assert table.rows[-1][3].startswith("-1.0 (TF-IDF")
    bold = {table.rows[row][0] for row, column in table.best if column == 3}
    assert bold == {"TF-IDF"}


def test_what_was_trained_on_other_text_is_compared_separately():
    means = {**LOSING, "pretrained encoder": {50: 0.85, 100: 0.8, "all": 0.86}}
    results = results_of(few_labels(means))
    text = " ".join(paragraphs(results)["few-labels"])
    assert "significantly better than the best rival with 50 (+10.0 against LSI, p < 0.01)" in text
    assert "the pretrained encoder, trained on other text, is -5.0 to +5.0 points" in text
    table = by_budget(results, "reuters", "ridge", "accuracy")
    assert [row[0] for row in table.rows[-2:]] == [
        "*dCoT against the best rival*",
        "*dCoT against the pretrained encoder*",
    ]
    assert table.rows[-2][1].startswith("+10.0 (LSI")
    assert table.rows[-1][1] == "-5.0 (p < 0.01)"
    bold = {table.rows[row][0] for row, column in table.best if column == 1}
    assert bold == {"pretrained encoder"}
    html = page(results, sections(results, {}), {}, "title")
    assert "sentence-transformers model from a folder" in html


def test_classes_without_training_documents_are_mentioned():
    text = " ".join(paragraphs(results_of(few_labels(LOSING)))["few-labels"])
    assert "7 classes of the test documents of reuters have no training document" in text


def test_a_missing_cell_is_shown_as_failed():
    cells = few_labels({"LSI": {50: 0.7}, OURS: {50: 0.8, 100: 0.9}})
    table = by_budget(results_of(cells), "reuters", "ridge", "accuracy")
    assert table.rows[0] == ["LSI", "70.0 ± 1.0", "failed"]


def test_a_level_result_names_who_is_level():
    text = paragraphs(results_of(few_labels({"LSI": {50: 0.8}, OURS: {50: 0.8001}})))["few-labels"]
    assert "dCoT is not significantly different from the best rival" in text[0]


def test_a_missing_draw_is_said_and_the_others_are_paired():
    cells = few_labels({"LSI": {50: 0.7}, OURS: {50: 0.8}})
    missing = {("LSI", 0), (OURS, 2)}
    cells = [c for c in cells if (c.key["system"], c.key["draw"]) not in missing]
    table = by_budget(results_of(cells), "reuters", "ridge", "accuracy")
    assert [row[1] for row in table.rows] == [
        "70.5 ± 0.7 (2 of 3 draws)",
        "79.5 ± 0.7 (2 of 3 draws)",
        "+10.0",  # the one draw that both have; +9.0 is between different draws
    ]


def test_failures_are_on_the_page():
    results = results_of(few_labels(LOSING), failures=[Failure("time, LDA", 3, "out of memory")])
    html = page(results, sections(results, {}), {}, "title")
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


def noise_cells(accuracy):
    """Of three draws; ``accuracy`` of system, noise, layers and draw."""
    return [
        cell("noise", system, {"accuracy": value}, noise=noise, layers=layers, draw=draw)
        for system in (PAPER, OURS)
        for noise in (0.0, 0.5, 0.9)
        for layers in (1, 2)
        for draw in range(3)
        for value in [accuracy(system, noise, layers, draw)]
    ]


def test_verdict_on_depth_and_noise():
    def accuracy(system, noise, layers, draw):
        best = {PAPER: 0.9, OURS: 0.0}[system]
        deeper = 0.05 * (layers if best else -layers)
        return 0.5 + (0.1 if noise == best else 0) + deeper + 0.001 * draw * (1 + noise)

    results = results_of(noise_cells(accuracy))
    assert verdicts(results, "More than one layer") == {PAPER: claims.HOLDS, OURS: claims.NOT}
    assert verdicts(results, "high level of noise") == {PAPER: claims.HOLDS, OURS: claims.NOT}


def test_noise_levels_without_a_significant_difference_share_the_verdict():
    rng = np.random.default_rng(0)
    results = results_of(noise_cells(lambda *_: 0.5 + rng.normal(0, 0.01)))
    found = next(v for v in claims.judge(results) if "high level of noise" in v.claim)
    assert found.verdict == claims.PARTLY
    assert "not significantly better than noise 0 to 0.9" in found.evidence


def words_cell(before, after):
    ranks = {
        "reagan → president": {"layer 1": 2, "layer 2": 40},
        claims.TOPIC: {"layer 1": before, "layer 2": after},
    }
    found = {"ranks": ranks, "n_prototypes": 100, "empty_among_most_frequent": 0.5}
    return cell("words", OURS, {**found, "unknown_words": [], "columns": {}})


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [(50, 3, claims.HOLDS), (50, 40, claims.PARTLY), (3, 40, claims.NOT), (None, None, claims.NOT)],
)
def test_topics_have_to_come_by_recursion(before, after, verdict):
    results = results_of([words_cell(before, after)])
    assert verdicts(results, "Applying it again")[OURS] == verdict
    assert verdicts(results, "reconstructed from specific ones")[OURS] == claims.HOLDS
    assert verdicts(results, "The empty document")[OURS] == claims.PARTLY


def test_a_corpus_that_stands_in_says_nothing_about_the_claims():
    cells = few_labels({"LSI": {50: 0.7}, OURS: {50: 0.8}})
    assert verdicts(results_of(cells), "dCoT beats")[OURS] == claims.HOLDS
    cells = [replace(c, key={**c.key, "stands_for": "reuters"}) for c in cells]
    assert {v.verdict for v in claims.judge(results_of(cells))} == {claims.MISSING}


def test_what_made_the_cells_is_said_by_the_cells():
    made = [
        replace(c, hardware={"processor": name, "cores": 2}, versions={"dcot": version})
        for name, version in (("Abacus", "1.0"), ("Pascaline", "2.0"))
        for c in [timed("LSI", 2.0)]
    ]
    html = page(results_of(made), sections(results_of(made), {}), {}, "title")
    assert "dcot 1.0 and 2.0 at commit abc; Abacus, 2 cores; Pascaline, 2 cores." in html
    assert "measured on different hardware" in html


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
        [timed("LSI", 2.0), timed("SDA", 50.0), timed(PAPER, 4.0), timed(FEATURES, 1.0)]
    )
    assert verdicts(results, "faster than LSI") == {PAPER: claims.NOT, OURS: claims.HOLDS}
    assert verdicts(results, "faster than SDA") == {PAPER: claims.PARTLY, OURS: claims.PARTLY}
    assert set(verdicts(results, "three orders").values()) == {claims.NOT}
    table = time_table(results, "reuters")
    assert [row[-1] for row in table.rows] == ["51 min 0 s", "", "2 min 0 s", ""]
    assert timing.PAPER_SECONDS["dmoz"]["LDA"] == 9 * 3600 + 60


def on_r8(system, classifier, right):
    """A cell with all labels; ``right`` of 64 documents are right."""
    bits = np.packbits(np.arange(64) < right).tobytes().hex()
    found = {"accuracy": right / 64, "macro_f1": 0.5, "hits": bits, "labelled": 1000}
    made = cell(
        "accuracy", system, found, classifier=classifier, labels="all", draw=0, learned=1000
    )
    return replace(made, key={**made.key, "corpus": "r8"})


def test_published_figures_are_marked_as_theirs():
    cells = [on_r8(OURS, "ridge", 62), on_r8("TF-IDF", "SVM", 60)]
    (table,) = TABLES["published"](results_of(cells))
    rows = {row[0]: (number, row) for number, row in enumerate(table.rows)}
    number, row = rows["TextGCN"]
    assert row[1] == "97.07"
    assert row[-1].startswith("published")
    assert number in table.theirs
    assert rows[OURS][0] not in table.theirs
    assert rows["TF-IDF + SVM"][1][1] == "93.75"


def test_the_verdict_comes_first_and_counts_rivals_with_an_svm():
    won = results_of([on_r8(OURS, "ridge", 62), on_r8("TF-IDF", "ridge", 40)])
    assert "documents in 1 and significantly worse in 0; in 0 the" in verdict(won)[0]
    assert "Worse:" not in verdict(won)[0]
    lost = results_of([on_r8(OURS, "ridge", 40), on_r8("TF-IDF", "SVM", 62)])
    text = verdict(lost)[0]
    assert text.startswith("Accuracy: of 1 comparisons, dCoT is significantly better than the best")
    assert "documents in 0 and significantly worse in 1; in 0 the" in text
    assert "Worse: r8 with all labels (-34.4 against TF-IDF + SVM" in text
    html = page(lost, sections(lost, {}), {}, "title")
    assert html.index("significantly worse in 1") < html.index("<h2")


def test_the_page_follows_the_readers_colours():
    html = page(results_of([]), [], {}, "title")
    assert "prefers-color-scheme: dark" in html
    assert "unknown" not in html


def test_an_installed_package_has_a_version_instead_of_a_commit():
    made = replace(timed("LSI", 2.0), commit="", versions={"dcot": "1.0"})
    html = page(results_of([made]), [], {}, "title")
    assert "dcot 1.0 as an installed package" in html


def test_suggested_labels_are_compared_with_random_ones_of_the_same_draws():
    random = few_labels({OURS: {100: 0.5, 200: 0.6}})
    chosen = [
        cell("suggest", OURS, {"accuracy": 0.6 + shift}, labels=labels, draw=draw)
        for labels in (100, 200)
        for draw, shift in enumerate((-0.011, 0.001))
    ]
    (table,) = TABLES["suggest"](results_of([*random, *chosen]))
    assert table.rows[0][2].startswith("+10.0")
    assert table.rows[0][4].startswith("+0.0")


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
        learned_budgets=(30,),
        learned_draws=1,
        published=(),
        few_labels={"reuters": ("TF-IDF", "LSI", PAPER, OURS)},
        svm_systems=("TF-IDF",),
    )
    only = ("noise", "few_labels", "unlabelled")
    with pytest.MonkeyPatch.context() as patch, threadpool_limits(1):
        patch.delenv("DCOT_DATA", raising=False)
        patch.setenv("DCOT_CACHE", str(out / "cache"))
        calls = []
        done = paper.run(
            profile, out, only=only, progress=lambda *call: calls.append(call), workers=1
        )
        again = paper.run(profile, out, only=only, workers=1)
    return out, done, again, calls


def test_without_data_the_embedded_corpus_stands_in_and_says_so(tiny):
    _, done, _, _ = tiny
    assert done.failures == []
    assert any("stands in" in note for note in done.results.notes)
    html = done.report.read_text()
    assert "everyday, standing in for reuters" in html
    assert "say nothing about the paper" in html


def test_the_page_needs_nothing_but_itself(tiny):
    _, done, _, _ = tiny
    html = done.report.read_text()
    assert "<script" not in html
    assert not re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', html)
    assert html.count("<svg") >= 4
    assert html.count("<svg") == html.count("</svg>")


def test_pretrained_systems_have_their_own_figure():
    budgets = {50: 0.6, 100: 0.7}
    names = ("TF-IDF", "LSI", "LSI, self-trained", "pretrained encoder", OURS)
    cells = few_labels(dict.fromkeys(names, budgets))
    drawn = {}
    for _, name, _, figure in figures(results_of(cells)):
        drawn[name] = {text.get_text() for ax in figure.axes for text in ax.texts}
    assert drawn["few-labels-ridge-accuracy"] == {"TF-IDF", "LSI, self-trained", OURS}
    assert drawn["few-labels-ridge-accuracy-pretrained"] == {"pretrained encoder", OURS}
    cells = few_labels(dict.fromkeys(("LSI", OURS), budgets))
    made = {name: figure for _, name, _, figure in figures(results_of(cells))}
    assert set(made) == {"few-labels-ridge-accuracy", "few-labels-ridge-macro-f1"}


def test_panels_beside_one_another_are_views_of_the_drawing():
    figure = new_figure(8, 3)
    for ax in figure.subplots(1, 2):
        label_curves({"LSI": {10: [0.5], 20: [0.6]}}, ax=ax, label="accuracy")
    text = svg(figure)
    views = re.findall(r'<view id="(.+?)" viewBox="(.+?)"/>', text)
    assert [name for name, _ in views] == ["panel-1", "panel-2"]
    boxes = [[float(value) for value in box.split()] for _, box in views]
    (left, top, width, height), (right, *_) = boxes
    assert 0 <= left < left + width <= right < 8 * 72
    assert 0 <= top < top + height <= 3 * 72
    assert "<view" not in svg(label_curves({"LSI": {10: [0.5], 20: [0.6]}}))
    shared = new_figure(8, 3)
    shared.subplots(1, 2, sharey=True)  # the second has no numbers at its axis
    assert "<view" not in svg(shared)


def test_a_page_of_many_tables_and_figures_folds_them():
    tables = [Table(f"Accuracy of {c}", ["labels"], [["1"]], corpus=c) for c in ("a", "a", "b", "")]
    names = [f"figure-{n}" for n in range(6)]
    part = Section("x", "X", "What.", ["One.", "Two."], names, tables)
    text = markdown(results_of([]), [part], dict.fromkeys(names, "Caption"))
    shown = re.sub(r"<details.+?</details>", "", text, flags=re.S)
    assert shown.count("![Caption]") == 2
    assert text.count("![Caption]") == 6
    assert re.findall(r"<summary>(.+?)</summary>", text)[1:] == [
        "4 more figures",
        "Tables of a",
        "Tables of b",
    ]
    assert text.count("**Accuracy of") == 4
    assert shown.count("**Accuracy of") == 1
    assert "- One.\n- Two.\n" in shown


def test_a_single_difference_is_no_range():
    cells = few_labels({PAPER: {50: 0.7}, "LSI": {50: 0.6}, OURS: {50: 0.8}})
    said = " ".join(paragraphs(results_of(cells))["few-labels"])
    assert "The difference to the paper's method is +10.0 points." in said


def test_no_cell_is_dropped(tiny):
    out, done, _, _ = tiny
    assert len(done.results.cells) == done.results.planned
    stored = json.loads((out / "results.json").read_text())
    rows = list(csv.DictReader(io.StringIO((out / "results.csv").read_text())))
    assert len(stored["cells"]) == len(rows) == done.results.planned
    names = {path.stem for path in (out / "figures").glob("*.png")}
    assert names == {path.stem for path in (out / "figures").glob("*.svg")}
    assert {"noise", "unlabelled", "few-labels-ridge-accuracy"} <= names


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
    for name in re.findall(r"\]\((.+?\.svg)\)", text):
        assert (tmp_path / name).exists()
    assert "| labels |" in text
    assert "commit" in text or "as an installed package" in text  # without git
    data = json.loads((tmp_path / "figures.json").read_text())
    cells = [c for c in done.results.cells if c.key["experiment"] == "accuracy"]
    assert len(data["figures"]) == 2 * len(cells)  # one draw each, two metrics
    for figure in data["figures"]:
        assert f"{figure['mean']:.1f}" in text or figure["metric"] == "macro_f1"


def test_an_empty_run_has_a_page(tmp_path):
    report = write_report(Results("quick", (), [], 0), tmp_path)
    assert "0 of 0 cells" in report.read_text()


def test_unknown_experiments_and_profiles_are_named(tmp_path):
    with pytest.raises(ValueError, match="unknown experiments \\['nothing'\\]"):
        paper.run("quick", tmp_path, only=["nothing"])
    with pytest.raises(ValueError, match="profile must be one of"):
        paper.run("huge", tmp_path)


def test_every_system_is_described():
    assert all(system.about for system in SYSTEMS.values())
    assert np.unique([system.name for system in SYSTEMS.values()]).size == len(SYSTEMS)
