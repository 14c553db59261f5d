"""dcot audit: doubtful labels, copies, and documents that belong nowhere."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from tests.unit.cli.running import run
from tests.unit.web.conftest import texts_and_topics

from dcot.classifier.audit import (
    SIMILAR_WORDS,
    alone,
    exact_copies,
    near_copies,
    neighbours,
)


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    texts, topics = texts_and_topics(6)
    topics[2] = "grain"  # wrong
    texts += [texts[5], texts[9] + " again", "zzz", "quasar pulsar nebula telescope galaxy comet"]
    topics += [topics[5], topics[9], "", ""]
    monkeypatch.chdir(tmp_path)
    with open("news.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["body", "topic"])
        writer.writerows(zip(texts, topics, strict=True))
    return texts


def test_findings(corpus):
    done = run("audit", "news.csv", "--text", "body", "--label", "topic", "--json")
    assert done.code == 0, done.err
    found = {}
    for row in done.rows:
        found.setdefault(row["kind"], []).append(row)
    worst = found["label"][0]
    assert (worst["id"], worst["label"], worst["suggested"]) == (2, "grain", "oil")
    assert [(row["id"], row["of"]) for row in found["copy"]] == [(48, 5)]
    of = {row["id"]: row["of"] for row in found["near copy"]}
    assert of[49] % 8 == 9 % 8  # the same text on another day
    assert all(SIMILAR_WORDS <= row["score"] <= 1 for row in found["near copy"])
    shown = run("audit", "news.csv", "--text", "body", "--label", "topic")
    assert "Doubtful labels" in shown.out
    assert "Exact copies: 1" in shown.out
    assert "They contradict a model that is right for" in shown.out
    assert run("audit", "news.csv", "--text", "body", "--label", "topic", "-q").out == shown.out
    fewer = run("audit", "news.csv", "--text", "body", "--label", "topic", "-k", "1")
    assert len(fewer.out.splitlines()) < len(shown.out.splitlines())


def test_identifiers_are_shown_as_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f'{{"n": {20210000 + n}, "text": "oil prices rose"}}\n' for n in range(2)]
    (tmp_path / "a.jsonl").write_text("".join(rows))
    shown = run("audit", "a.jsonl", "--id", "n").out
    assert "20210001   20210000   oil" in shown


def test_labels_that_are_not_checked_are_noted(corpus, monkeypatch):
    command = ("audit", "news.csv", "--text", "body", "--label", "topic")
    assert run(*command).err == ""
    monkeypatch.setattr("dcot.classifier.learners.MAX_KERNEL_LABELS", 8)
    monkeypatch.setattr("dcot.classifier.fit.MAX_KERNEL_LABELS", 8)
    assert "Note: 1 of the 50 labels were checked" in run(*command).err
    with open("one.jsonl", "w", encoding="utf-8") as file:
        file.write('{"text": "crude oil", "label": "oil"}\n{"text": "opec", "label": "oil"}\n')
    assert (
        "not checked, because all of them are 'oil'"
        in run("audit", "one.jsonl", "--label", "label").err
    )
    with open("several.jsonl", "w", encoding="utf-8") as file:
        file.write('{"text": "crude oil", "label": ["oil", "gas"]}\n')
    done = run("audit", "several.jsonl", "--label", "label")
    assert "not checked, because documents have several" in done.err
    assert "No problems found in 1 document." in done.out


def test_an_array_alone_has_no_findings(corpus):
    done = run("audit", "news.csv", "--text", "body", "-o", "found.npy")
    assert done.code == 1
    assert "expected one of .parquet, .npz, .csv" in done.err


def test_texts_that_differ_in_a_rare_word_are_no_copies(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rare = [f"development files for lib{chr(97 + n)}{chr(97 + n % 7)}xyz" for n in range(20)]
    texts, _ = texts_and_topics(200)
    (tmp_path / "many.txt").write_text("\n".join(rare + texts[:1100]))
    done = run("audit", "many.txt", "--json")
    assert not [row for row in done.rows if row["kind"] == "near copy" and row["id"] < 20]


def test_findings_in_a_file_and_without_labels(corpus):
    done = run("audit", "news.csv", "--text", "body", "-o", "found.csv")
    assert done.code == 0, done.err
    with open("found.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(io.StringIO(file.read())))
    assert {row["kind"] for row in rows} <= {"copy", "near copy", "alone", "unknown"}
    assert f"Wrote {len(rows)} findings" in done.out


def test_nothing_but_punctuation(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd.txt").write_text("...\n!\n")
    done = run("audit", "odd.txt", "--json")
    assert [row["kind"] for row in done.rows] == ["unknown", "unknown"]


def test_neighbours_are_exact_in_blocks(monkeypatch):
    Z = np.random.RandomState(0).standard_normal((50, 8))
    monkeypatch.setattr("dcot.classifier.audit._BLOCK_CELLS", 7 * 50)
    near = neighbours(Z, 4)
    unit = Z / np.linalg.norm(Z, axis=1)[:, None]
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -2)
    np.testing.assert_array_equal(near.rows, np.argsort(-cosines, axis=1)[:, :4])
    np.testing.assert_allclose(near.cosines, -np.sort(-cosines, axis=1)[:, :4])
    assert neighbours(Z[:1]).rows.shape == (1, 0)


def test_a_document_like_no_others_is_alone():
    generator = np.random.RandomState(0)
    Z = generator.standard_normal((60, 30)) * 0.1
    Z[:, 0] += 1
    Z[17] = 0
    Z[17, 29] = 1
    known = np.ones(60, dtype=bool)
    assert alone(neighbours(Z), known).tolist() == [17]
    known[17] = False
    assert alone(neighbours(Z), known).tolist() == []


def test_copies_of_nothing():
    assert exact_copies(["", "", " "]) == []
    import scipy.sparse as sp

    near = neighbours(np.ones((3, 2)))
    assert near_copies(sp.csr_array((3, 4)), near) == []
