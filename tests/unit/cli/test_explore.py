"""dcot explore: what it reads, and the page in one file."""

from __future__ import annotations

import json
import re

import pytest
from tests.unit.cli.running import run, write_corpora


@pytest.fixture
def here(tmp_path, monkeypatch):
    write_corpora(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def data_in(path):
    page = path.read_text()
    assert page.count("<script") == 2  # the data and the program
    assert not re.search(r"""(src|href)=["']?(https?:|//)""", page)
    return json.loads(re.search(r'id="dcot-data">(.*?)</script>', page, re.DOTALL)[1])


def test_export_of_a_corpus_has_its_columns_and_classes(here):
    options = ("--text", "body", "--label", "topic", "--export", "page.html")
    done = run("explore", "news.csv", *options, "--json")
    assert done.code == 0, done.err
    assert done.json["bytes"] == (here / "page.html").stat().st_size
    data = data_in(here / "page.html")
    assert data["about"]["classes"] == ["oil", "stocks"]
    assert len(data["documents"]) == 24
    assert [column["name"] for column in data["map"]["columns"]][:2] == ["predicted", "label"]
    assert data["model"]["confusion"]["classes"] == ["oil", "stocks"]


def test_export_of_a_model_and_of_an_index(here):
    assert run("fit", "news.txt", "-o", "model").code == 0
    assert run("explore", "model", "--export", "a.html").code == 0
    assert data_in(here / "a.html")["documents"] == []
    assert run("index", "model", "news.csv", "--text", "body", "-o", "index").code == 0
    assert run("explore", "index", "--export", "b.html").code == 0
    assert len(data_in(here / "b.html")["documents"]) == 24
    refused = run("explore", "index", "news.txt", "--export", "c.html")
    assert refused.code != 0
    assert "documents of its own" in refused.err


@pytest.mark.parametrize("name", ["page.txt", "missing/page.html"])
def test_a_page_that_cannot_be_written_is_refused_first(here, name):
    done = run("explore", "news.txt", "--export", name)
    assert done.code != 0
    assert name.split("/")[0] in done.err
