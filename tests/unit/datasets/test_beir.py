"""Folders in the layout of BEIR."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dcot.datasets import load_beir
from dcot.errors import DatasetError


@pytest.fixture
def folder(tmp_path):
    documents = [
        {"_id": "1", "title": "Oil", "text": "crude prices"},
        {"_id": 2, "text": "wheat harvest"},
    ]
    queries = [{"_id": "q1", "text": "oil"}, {"_id": "q2", "text": "x"}, {"_id": "q3", "text": "y"}]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)) + "\n\n")
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (tmp_path / "qrels").mkdir()
    judged = "query-id\tcorpus-id\tscore\nq1\t1\t2\nq1\t2\t0\nq2\t1\t0\nq9\t1\t1\n"
    (tmp_path / "qrels" / "test.tsv").write_text(judged)
    return tmp_path


def test_reading(folder):
    found = load_beir(folder)
    assert found.name == folder.name
    assert found.ids == ["1", "2"]
    assert found.texts == ["Oil crude prices", "wheat harvest"]
    assert (found.query_ids, found.queries) == (["q1"], ["oil"])  # the others tell nothing
    assert found.relevant == [{"1": 2.0}]


def test_what_is_wrong_is_named(folder):
    with pytest.raises(DatasetError, match="not a folder"):
        load_beir(folder / "none")
    with pytest.raises(DatasetError, match=r"train\.tsv is missing"):
        load_beir(folder, split="train")
    cases = [
        ("qrels/test.tsv", "q1 1 2", "line 1: expected query-id"),
        ("qrels/test.tsv", "q1\t1\tgood", "line 1: expected query-id"),
        ("qrels/test.tsv", "q1\t1\t0", "no query with a relevant document"),
        ("queries.jsonl", '{"_id": "q1"}', "line 1: expected an object"),
        ("queries.jsonl", '{"text": "oil"}', "_id has to be"),
        ("corpus.jsonl", '{"_id": "1", "text": "a"}\n' * 2, "_id twice"),
        ("corpus.jsonl", '{"_id": "1"', "line 1, is not JSON"),
    ]
    for name, content, message in cases:
        before = (folder / name).read_text()
        (folder / name).write_text(content)
        with pytest.raises(DatasetError, match=message):
            load_beir(folder)
        (folder / name).write_text(before)
    (folder / "corpus.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(DatasetError, match="not UTF-8"):
        load_beir(folder)


def test_cranfield():
    root = os.environ.get("DCOT_DATA")
    if not root or not (Path(root) / "cranfield").is_dir():
        pytest.skip("DCOT_DATA names no directory with cranfield")
    found = load_beir(Path(root) / "cranfield")
    assert (len(found.ids), len(found.queries)) == (1400, 225)
    assert sum(map(len, found.relevant)) == 1612
