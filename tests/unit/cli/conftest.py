"""A folder with small corpora, and models that are made once."""

from __future__ import annotations

import shutil

import pytest
from tests.unit.cli.running import run, write_corpora


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with corpora, as the working directory."""
    write_corpora(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """A vectorizer, a classifier and an index, made by the command."""
    folder = tmp_path_factory.mktemp("models")
    write_corpora(folder)
    source = folder / "news.csv"
    small, common = ("--n-prototypes", 8), ("--prototypes", "document_frequency")
    done = [run("fit", source, "--text", "body", *small, *common, "-o", folder / "model")]
    labelled = ("--text", "body", "--label", "topic")
    done += [run("train", source, *labelled, *small, "-o", folder / "classifier")]
    indexed = ("--text", "body", "--id", "number", "--metadata", "topic")
    done += [run("index", folder / "model", source, *indexed, "-o", folder / "index")]
    assert not any(one.code for one in done), [one.err for one in done]
    return folder


@pytest.fixture
def shelf(here, models):
    """The working directory with copies of the models."""
    for name in ("model", "classifier", "index"):
        if (models / name).exists():
            shutil.copytree(models / name, here / name)
    return here
