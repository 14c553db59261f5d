"""dcot label: what it starts from, and what it refuses before a page is opened."""

from __future__ import annotations

import json

import pytest
from tests.unit.cli.running import run, write_corpora

from dcot.web.api import run_label
from dcot.web.labels import LabelStore
from dcot.web.server import listen

TEXT = ("news.csv", "--text", "body", "--no-open", "-o", "labels.csv")


@pytest.fixture
def here(tmp_path, monkeypatch):
    write_corpora(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def unserved(monkeypatch):
    """Pages are ready at once, and stopped at once; gives the sessions that were served."""
    served = []

    def serve(server, listening, ready):
        ready()

    monkeypatch.setattr("dcot.web.api.serve", serve)

    def noted(*arguments, ready, **options):
        def note(access, labelling):
            served.append(labelling)
            ready(access, labelling)

        run_label(*arguments, ready=note, **options)

    monkeypatch.setattr("dcot.web.api.run_label", noted)
    return served


def test_a_classifier_brings_its_classes(here, unserved):
    assert run("train", "news.csv", "--text", "body", "--label", "topic", "-o", "m").code == 0
    done = run("label", *TEXT, "--model", "m", "--classes", "sports", "--save", "new")
    assert done.code == 0, done.err
    assert unserved[0].classes == ("sports", "oil", "stocks")
    assert unserved[0].model_path.name == "new"


def test_a_vectorizer_brings_its_words_and_vectors_come_beside_it(here, unserved):
    assert run("fit", "news.txt", "-o", "m").code == 0
    (here / "vectors.txt").write_text("oil 1 0\nopec 0.9 0.1\nshares 0 1\n")
    done = run("label", *TEXT, "--model", "m", "--embedding", "vectors.txt")
    assert done.code == 0, done.err
    assert unserved[0].classes == ()
    assert unserved[0].embedding == "vectors.txt"


def test_what_cannot_be_started_from_is_refused_first(here, unserved):
    assert run("fit", "news.txt", "-o", "m").code == 0
    assert run("index", "m", "news.txt", "-o", "index").code == 0
    labelled = ("news.csv", "--text", "body", "--label", "topic")
    assert run("train", *labelled, "-o", "classifier").code == 0
    (here / "vectors.txt").write_text("oil 1 0\nshares 0 1\n")
    for options, words in (
        (("--model", "nowhere"), "nowhere"),
        (("--model", "index"), "is a SearchIndex"),
        (("--model", "classifier", "--embedding", "vectors.txt"), "leave embedding out"),
        (("--embedding", "missing.txt"), "missing.txt"),
        (("--save", "m"), "does not replace it"),
    ):
        done = run("label", *TEXT, *options)
        assert done.code != 0, options
        assert words in done.err
    assert not unserved
    assert not (here / "labels.csv").exists()


def test_a_port_in_use_is_told(here, unserved):
    with listen("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        done = run("label", *TEXT, "--port", port)
    assert done.code != 0
    assert port in done.err
    assert "choose another port" in done.err


def test_labels_of_the_corpus_are_taken_over_once(here, unserved):
    for _ in range(2):
        done = run("label", *TEXT, "--label", "topic", "--json")
        assert done.code == 0, done.err
        assert done.json["labelled"] == 16
    kept = json.loads((here / "labels.csv.session.json").read_text())
    assert sorted(kept["classes"]) == ["oil", "stocks"]


def test_imported_labels_that_are_not_utf8_are_told(here, unserved):
    (here / "mine.csv").write_bytes("id,label\n0,café\n".encode("latin-1"))
    done = run("label", *TEXT, "--import", "mine.csv")
    assert done.code == 1
    assert "mine.csv is not UTF-8" in done.err
    assert "save it as UTF-8" in done.err
    (here / "mine.csv").write_text("id,label,note,note\n0,café\n")
    done = run("label", *TEXT, "--import", "mine.csv")
    assert done.code == 1
    assert "mine.csv, row 2" in done.err


def test_an_import_at_the_next_start_keeps_later_labels(here, unserved):
    (here / "given.csv").write_text("id,label\n0,oil\n1,oil\n")
    assert run("label", *TEXT, "--import", "given.csv").code == 0
    first = unserved[0]
    assert first.labels == {0: "oil", 1: "oil"}
    store = LabelStore(first.store.path, first.documents)
    store.set({1: "shipping"}, "other")
    store.close()
    assert run("label", *TEXT, "--import", "given.csv").code == 0
    assert unserved[1].labels == {0: "oil", 1: "shipping"}


def test_what_is_refused_leaves_no_file(here, unserved):
    for options, words in (
        (("--import", "nowhere.csv"), "nowhere.csv"),
        (("--classes", "oil,\x1b"), "control characters"),
        (("--host", ""), "host is empty"),
    ):
        done = run("label", *TEXT, *options)
        assert (done.code, words in done.err) == (1, True), done.err
        assert not (here / "labels.csv").exists()


def test_the_corpus_is_not_the_file_of_labels(here, unserved):
    content = "id,label,text\na,oil,opec\nb,,nasdaq\n"
    (here / "labels.csv").write_text(content)
    done = run("label", "labels.csv", "--no-open")
    assert done.code == 1
    assert "is an input of this command" in done.err
    assert (here / "labels.csv").read_text() == content
