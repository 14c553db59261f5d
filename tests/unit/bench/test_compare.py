"""The comparison on somebody's own documents."""

from __future__ import annotations

import csv
import sys

import pytest

from dcot import DcotError
from dcot.bench import compare
from dcot.bench.report.tables import TABLES
from dcot.bench.systems import SYSTEMS
from dcot.cli import main


def write_table(corpus, path, text):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([text, "queue"])
        writer.writerows(zip(corpus.texts, corpus.labels, strict=True))
    return path


@pytest.fixture
def table(corpus, tmp_path):
    return write_table(corpus, tmp_path / "mail.csv", "body")


@pytest.mark.parametrize("more", [[], ["--svm"]])
def test_a_table(table, tmp_path, capsys, more):
    arguments = [str(table), "--text", "body", "--label", "queue", "--budgets", "20", *more]
    arguments += ["--draws", "1", "--system", "TF-IDF", "--system", "dCoT", "--workers", "1"]
    arguments += ["--docs", str(tmp_path / "docs")]
    assert main(["bench", "compare", *arguments, "-o", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "\ndCoT against the best rival" in printed  # no marks of Markdown
    html = (tmp_path / "out" / "report.html").read_text()
    assert "Few labels on mail" in html
    assert "Claims" not in html  # the paper's, which this is not about
    assert ("linear SVM, C chosen" in printed) is bool(more)
    written = (tmp_path / "docs" / "compare-mail.md").read_text()
    assert written.startswith("**Accuracy (%), mail; ridge")
    assert "dcot" in written.splitlines()[-1]  # which version, of which commit


def test_a_loaded_corpus_and_what_is_learned_from_it(corpus, tmp_path):
    options = {"draws": 1, "systems": ("dCoT",), "workers": 1}
    done = compare.run(corpus, budgets=(20, "all"), out=tmp_path / "both", **options)
    assert {c.key["labels"] for c in done.results.cells} == {20, "all"}
    assert all(0.3 < c.result["accuracy"] <= 1 for c in done.results.cells)


@pytest.mark.parametrize(
    ("budgets", "expected"), [((20,), {20}), ((20, 10_000), {20}), ((10_000,), {"all"})]
)
def test_all_labels_are_used_only_if_asked(corpus, tmp_path, budgets, expected, caplog):
    """Or if there is nothing else to compare. Budgets that are too large are named."""
    caplog.set_level("INFO", "dcot")
    done = compare.run(
        corpus, budgets=budgets, draws=1, systems=("TF-IDF",), out=tmp_path, workers=1
    )
    assert {cell.key["labels"] for cell in done.results.cells} == expected
    assert ("to train on: 10000 labels" in caplog.text) is (10_000 in budgets)
    tables = [table.text() for table in TABLES["few-labels"](done.results)]
    assert [str(*expected) in text for text in tables] == [True, True]


def test_setfit_needs_an_encoder(table, tmp_path):
    with pytest.raises(DcotError, match="setfit needs an encoder to fine-tune"):
        compare.run(table, text="body", label="queue", out=tmp_path, setfit=True)


def test_columns_have_to_be_named(table, tmp_path):
    with pytest.raises(DcotError, match=r"label=\.\.\. .* text=\.\.\."):
        compare.run(table, out=tmp_path, workers=1)
    with pytest.raises(DcotError, match="has no column 'text': there are 'body', 'queue'"):
        compare.run(table, label="queue", out=tmp_path, workers=1)


def test_a_wrong_label_column_is_noticed(table, tmp_path):
    with pytest.raises(DcotError, match="is this the right label column"):
        compare.run(table, text="queue", label="body", out=tmp_path, workers=1)


def test_one_class_is_not_enough(tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("t,l\n" + "some words here,a\nother words there,a\n" * 20)
    with pytest.raises(DcotError, match="needs at least two classes"):
        compare.run(path, text="t", label="l", out=tmp_path / "out", workers=1)


@pytest.mark.parametrize("budget", [0, -5, 20.5])
def test_budgets_are_numbers_of_documents(table, tmp_path, budget, capsys):
    with pytest.raises(DcotError, match=f"budgets must be whole numbers from 1, got {budget}"):
        compare.run(
            table, text="body", label="queue", budgets=(20, budget), out=tmp_path, workers=1
        )
    arguments = [str(table), "--text", "body", "--label", "queue", f"--budgets=20,{budget}"]
    assert main(["bench", "compare", *arguments, "-o", str(tmp_path)]) != 0
    assert "budgets" in capsys.readouterr().err
    with pytest.raises(DcotError, match="draws must be"):
        compare.run(table, text="body", label="queue", draws=0, out=tmp_path, workers=1)


def test_one_system_alone_is_not_said_to_be_best_or_not(corpus, tmp_path):
    done = compare.run(corpus, budgets=(20,), draws=1, systems=("dCoT",), out=tmp_path, workers=1)
    before = done.report.read_text().partition("About")[0]
    assert " best rival" not in before
    assert "No rival" not in before


def test_missing_matplotlib_is_said_before_the_work(corpus, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(DcotError, match=r"dcot\[bench\]"):
        compare.run(corpus, out=tmp_path, workers=1)
    assert not list(tmp_path.iterdir())


def test_the_text_is_in_the_column_text(corpus, tmp_path):
    path = write_table(corpus, tmp_path / "mail.csv", "text")
    options = {
        "budgets": (20,),
        "draws": 1,
        "systems": ("TF-IDF",),
        "out": tmp_path / "out",
        "workers": 1,
    }
    assert len(compare.run(path, label="queue", **options).results.cells) == 1


def test_an_error_of_a_rivals_library_leaves_the_others(corpus, tmp_path, monkeypatch):
    def broken(*_):
        raise OSError("no config.json")

    monkeypatch.setattr(type(SYSTEMS["LSI"]), "learn", broken)
    done = compare.run(
        corpus, budgets=(20,), draws=1, systems=("LSI", "TF-IDF"), out=tmp_path, workers=1
    )
    assert [failure.reason for failure in done.failures] == ["OSError: no config.json"]
    assert {cell.key["system"] for cell in done.results.cells} == {"TF-IDF"}


def test_unknown_systems(corpus, tmp_path):
    with pytest.raises(DcotError, match="unknown systems"):
        compare.run(corpus, systems=("BERT",), out=tmp_path, workers=1)


def test_the_command_line_explains_errors(tmp_path, capsys):
    missing = ["missing.csv", "--text", "a", "--label", "b", "-o", str(tmp_path)]
    assert main(["bench", "compare", *missing]) == 1
    assert "does not exist" in capsys.readouterr().err
