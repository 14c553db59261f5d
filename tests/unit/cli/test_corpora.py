"""Every kind of corpus gives the same documents; what is none gives a clear error."""

from __future__ import annotations

import contextlib
import csv
import gzip
import json
import os
import sys
import threading
from dataclasses import fields

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.cli.running import documents, run

import dcot
from dcot import datasets
from dcot.cli.corpus import Corpus
from dcot.cli.errors import UserError
from dcot.cli.options import Labels, Reading

ROWS = documents()


@contextlib.contextmanager
def filled(opener, data):
    """Somebody who writes to the other end of a pipe, once."""

    def write():
        with contextlib.suppress(BrokenPipeError), opener() as stream:
            stream.write(data)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    yield
    writer.join(timeout=10)
    assert not writer.is_alive()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes of POSIX")
@pytest.mark.parametrize("output", ["f.npy", "f.csv", "folder"])
@pytest.mark.parametrize(
    ("name", "corpus", "options"),
    [
        ("pipe.txt", "news.txt", []),
        ("pipe", "news.txt", []),  # without an ending it is read as standard input is
        ("pipe", "news.jsonl", ["--text", "body"]),
        ("pipe", "news.csv", ["--text", "body", "--format", "csv"]),
    ],
)
def test_a_named_pipe_is_read_once(shelf, output, name, corpus, options):
    os.mkfifo(shelf / name)
    assert not Corpus([name]).rereadable
    with filled(lambda: open(shelf / name, "wb"), (shelf / corpus).read_bytes()):
        done = run("transform", "model", name, *options, "-o", output, "--json")
    assert done.code == 0, done.err
    assert done.json["documents"] == len(ROWS)
    if output == "f.npy":
        expected = dcot.load("model").transform([text for _, _, text in ROWS])
        np.testing.assert_allclose(np.load(output), expected, atol=1e-6)


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="no names for open files")
def test_what_a_shell_substitutes_is_read_once(shelf):
    """As in ``dcot fit <(zcat news.gz)``."""
    end, other = os.pipe()
    with filled(lambda: open(other, "wb"), (shelf / "news.txt").read_bytes()):
        done = run("fit", f"/dev/fd/{end}", "--n-prototypes", 8, "-o", "m", "--json")
    os.close(end)
    assert done.code == 0, done.err
    assert done.json["documents"] == len(ROWS)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes of POSIX")
def test_parquet_through_a_pipe(shelf):
    os.mkfifo(shelf / "pipe.parquet")
    done = run("transform", "model", "pipe.parquet", "-o", "f.npy")
    assert done.code == 1
    assert "parquet cannot be read from pipe.parquet: name the file" in done.err


def test_what_can_be_read_again(shelf):
    (shelf / "link.txt").symlink_to("news.txt")
    assert Corpus(["news.txt", "link.txt", str(shelf), "r52"]).rereadable
    assert not Corpus(["news.txt", "-"]).rereadable


def read(*sources, **options):
    options = {"text": ["body"], "label": "topic", "identifier": "number", **options}
    reading, labels = (
        kind(**{one.name: options.pop(one.name) for one in fields(kind) if one.name in options})
        for kind in (Reading, Labels)
    )
    return Corpus([str(source) for source in sources], reading, labels, **options).whole()


def same(batch):
    assert batch.texts == [text for _, _, text in ROWS]
    assert batch.labels == [label or None for _, label, _ in ROWS]
    assert [int(one) for one in batch.ids] == [number for number, _, _ in ROWS]


@pytest.fixture
def table():
    return pl.DataFrame(ROWS, schema=["number", "topic", "body"], orient="row")


def test_tables_of_all_kinds(here, table):
    table.write_parquet("news.parquet")
    table.write_csv("news.tsv", separator="\t")
    with gzip.open("zipped.csv.gz", "wb") as file:
        file.write((here / "news.csv").read_bytes())
    names = ["csv", "jsonl", "jsonl.gz", "parquet", "tsv"]
    for name in names:
        same(read(f"news.{name}"))
    same(read("zipped.csv.gz"))


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)


@settings(max_examples=15, deadline=None)
@given(rows=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=8))
def test_any_text_survives_every_kind_of_table(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("any")
    records = [{"body": body, "key": key} for body, key in rows]
    pl.DataFrame(records).write_parquet(folder / "a.parquet")
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (folder / "a.jsonl").write_text(lines, encoding="utf-8")
    for ending, delimiter in (("csv", ","), ("tsv", "\t")):
        with open(folder / f"a.{ending}", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL)
            writer.writerows([("body", "key"), *rows])
    for ending in ("parquet", "jsonl", "csv", "tsv"):
        found = read(folder / f"a.{ending}", label=None, identifier="key")
        assert found.texts == [body for body, _ in rows]
        assert found.ids == [key for _, key in rows]


def test_a_name_that_does_not_say_what_it_is(here):
    (here / "news.data").write_bytes((here / "news.jsonl").read_bytes())
    same(read("news.data", format="jsonl"))
    with pytest.raises(ValueError, match=r"ends in '.data'"):
        read("news.data")


def test_missing_labels_of_all_kinds(here):
    labels = [None, "", "  ", "?", "1", 1, 1.0, float("nan"), True, ["a", "b"], []]
    lines = [json.dumps({"text": "x", "topic": label}) for label in labels] + ['{"text": "x"}']
    (here / "labels.jsonl").write_text("\n".join(lines))
    found = read("labels.jsonl", text=None, identifier=None, unlabelled_label=["?"]).labels
    assert found == [None] * 4 + ["1", "1", "1", None, "true", ["a", "b"], None, None]


@pytest.mark.parametrize(
    ("labels", "texts"),
    [([1, None, 2], ["1", None, "2"]), ([True, None, False], ["true", None, "false"])],
)
def test_labels_of_parquet_are_those_of_csv(here, labels, texts):
    frame = pl.DataFrame({"text": ["a", "b", "c"], "topic": labels})
    frame.write_parquet("labels.parquet")
    frame.write_csv("labels.csv")
    frame.write_ndjson("labels.jsonl")
    for name in ("labels.parquet", "labels.csv", "labels.jsonl"):
        assert read(name, text=None, identifier=None).labels == texts


def test_several_labels(here):
    (here / "many.csv").write_text("text,topic\na,oil;gas\nb,\nc,oil\n")
    found = read("many.csv", text=None, identifier=None, label_separator=";").labels
    assert found == [["oil", "gas"], None, ["oil"]]


def test_folders_give_labels_and_names(here):
    for label, name, text in [("oil", "a", "opec"), ("stocks", "b", "nasdaq"), ("", "c", "?")]:
        (here / "folder" / label).mkdir(parents=True, exist_ok=True)
        (here / "folder" / label / f"{name}.txt").write_text(text)
    found = read("folder", text=None, label=None, identifier=None)
    assert found.ids == ["c.txt", "oil/a.txt", "stocks/b.txt"]
    assert found.labels == [None, "oil", "stocks"]
    assert found.texts == ["?", "opec", "nasdaq"]


def test_several_files_are_one_corpus(here):
    found = Corpus(["news.txt", "queries.txt"]).whole()
    assert len(found) == len(ROWS) + 2
    assert found.ids == list(range(len(found)))


def test_batches_are_the_whole(here, monkeypatch):
    monkeypatch.setattr("dcot.cli.corpus._BATCH_DOCUMENTS", 5)
    pieces = list(Corpus(["news.csv"], Reading(["body"])).batches())
    assert [len(piece) for piece in pieces] == [5, 5, 5, 5, 4]
    assert [text for piece in pieces for text in piece.texts] == [text for _, _, text in ROWS]


def test_more_columns(here):
    found = read("news.csv", metadata=("topic", "number"), label=None)
    number, label, _ = ROWS[0]
    assert found.metadata[0] == {"topic": label, "number": str(number)}


@pytest.mark.parametrize(
    ("stdin", "options"),
    [
        ("opec\nnasdaq\n", []),
        ('{"body": "opec"}\n{"body": "nasdaq"}\n', ["--text", "body"]),
        ("a,body\n1,opec\n2,nasdaq\n", ["--text", "body", "--format", "csv"]),
        ("opec\r\nnasdaq", []),
        ("\ufeffopec\nnasdaq", []),
    ],
)
def test_standard_input(shelf, stdin, options):
    done = run("predict", "classifier", "-", "--json", *options, stdin=stdin)
    assert done.code == 0, done.err
    assert [row["prediction"] for row in done.rows] == ["oil", "stocks"]


def test_known_corpora_and_their_parts(monkeypatch):
    known = datasets.Corpus(
        name="r8",
        texts=list("abcdef"),
        labels=np.array(["x", "y", "x", "y", "z", ""]),
        train=np.array([0, 1]),
        test=np.array([2, 3]),
        unlabelled=np.array([4, 5]),
    )
    monkeypatch.setattr(datasets, "load", lambda name: known)
    assert Corpus(["r8"]).whole().texts == list("abcdef")
    assert Corpus(["r8:test"]).whole().ids == [2, 3]
    assert Corpus(["r8"], part="test").whole().labels == ["x", "y"]
    train = Corpus(["r8"], part="train").whole()
    assert (train.texts, train.labels) == (list("abef"), ["x", "y", None, None])
    with pytest.raises(UserError, match="r8:train"):
        Corpus(["r8:middle"]).whole()


def test_a_file_goes_before_a_known_corpus(here):
    (here / "everyday").mkdir()
    (here / "everyday" / "a.txt").write_text("mine")
    assert Corpus(["everyday"]).whole().texts == ["mine"]


def test_texts_of_json_have_no_fields(shelf):
    (shelf / "plain.jsonl").write_text('"opec oil"\n"wheat"\n')
    assert run("predict", "classifier", "plain.jsonl", "-o", "fine.csv").code == 0
    done = run("predict", "classifier", "plain.jsonl", "--keep", "topic", "-o", "out.csv")
    assert (done.code, done.out) == (1, "")
    assert "plain.jsonl, line 1 is a text without fields, so there is no 'topic'" in done.err
    assert not (shelf / "out.csv").exists()


@pytest.mark.parametrize("command", ["fit", "predict"])
@pytest.mark.parametrize(
    ("source", "content", "options", "words"),
    [
        ("nowhere.csv", None, [], ["nowhere.csv does not exist", "standard input"]),
        ("empty.txt", b"", [], ["empty.txt has no documents"]),
        ("empty.csv", b"", [], ["empty.csv is empty"]),
        ("header.csv", b"text,topic\n", [], ["header.csv has no documents"]),
        ("a.csv", b"x,y\n1,2\n", [], ["which of the columns 'x', 'y' is the text", "--text"]),
        ("a.csv", b"x,y\n1,2\n", ["--text", "z"], ["no column 'z'", "'x', 'y'"]),
        ("a.jsonl", b'{"x": "1"}\n', ["--text", "z"], ["z", "x"]),
        ("a.jsonl", b'{"text": 1}\n', [], ["a.jsonl, line 1", "expected a string"]),
        ("a.jsonl", b'{"text": "a"}\n{"te', [], ["a.jsonl, line 2", "not JSON"]),
        ("a.txt", b"fine\n\xff\n", [], ["a.txt, line 2", "--errors replace"]),
        ("a.parquet", b"PAR1 no", [], ["a.parquet"]),
        ("a.csv.gz", b"no gzip", [], ["a.csv.gz"]),
        ("a.xls", b"?", [], ["a.xls is a spreadsheet", "save it as CSV"]),
    ],
)
def test_what_is_no_corpus(shelf, command, source, content, options, words):
    if content is not None:
        (shelf / source).write_bytes(content)
    where = ["classifier"] if command == "predict" else []
    done = run(command, *where, source, *options, "-o", "out.csv" if where else "out")
    assert (done.code, done.out) == (1, "")
    assert len(done.err.splitlines()) <= 2, done.err
    for word in words:
        assert word in done.err
    assert not (shelf / "out").exists()
    assert not (shelf / "out.csv").exists()


def test_other_columns_that_are_missing(shelf):
    done = run("predict", "classifier", "news.csv", "--text", "body", "--id", "key")
    assert done.code == 1
    assert "no column 'key': there are 'number', 'topic', 'body'" in done.err
    done = run("train", "news.jsonl", "--text", "body", "--label", "class", "-o", "m")
    assert "no column 'class': there are 'number', 'topic', 'body'" in done.err
    done = run("predict", "classifier", "news.txt", "--id", "key")
    assert "without columns" in done.err


def test_a_terminal_is_no_corpus(shelf):
    done = run("predict", "classifier", "-", terminal=True)
    assert done.code == 1
    assert "standard input is a terminal" in done.err


def test_a_file_that_may_not_be_read(shelf, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.R_OK)
    done = run("predict", "classifier", "news.txt")
    assert (done.code, done.out) == (1, "")
    assert "news.txt cannot be read: you have no permission" in done.err


def test_model_and_corpus_the_wrong_way_round(shelf):
    done = run("predict", "news.txt", "classifier")
    assert done.code == 1
    assert "classifier is a model folder, but a corpus was expected" in done.err


def test_broken_bytes_can_be_replaced(here):
    (here / "a.txt").write_bytes(b"opec oil\noil \xff prices\n")
    assert run("fit", "a.txt", "--errors", "replace", "-o", "m").code == 0


@pytest.mark.skipif(sys.platform != "linux", reason="names of any bytes")
def test_names_of_folders_are_kept_as_they_are(here):
    for name in (b"U.S.", b"U.S", b"caf\xe9"):  # the last is no UTF-8
        folder = os.path.join(os.fsencode(here), b"folder", name)
        os.makedirs(folder)
        with open(os.path.join(folder, b"a.txt"), "w") as file:
            file.write("opec")
    found = read("folder", text=None, label=None, identifier=None)
    assert sorted(found.labels) == ["U.S", "U.S.", "caf\\udce9"]
    assert sorted(found.ids) == ["U.S./a.txt", "U.S/a.txt", "caf\\udce9/a.txt"]
    assert run("audit", "folder", "-o", "findings.csv").code == 0


@pytest.mark.parametrize("source", ["folder", "everyday"])
def test_a_corpus_without_columns_has_none_to_keep(shelf, source):
    (shelf / "folder" / "oil").mkdir(parents=True)
    (shelf / "folder" / "oil" / "a.txt").write_text("opec")
    for command in (
        ["predict", "classifier", source, "--keep", "day"],
        ["index", "model", source, "--metadata", "day", "-o", "new"],
    ):
        done = run(*command)
        assert done.code == 1
        assert "without columns, so there is no 'day'" in done.err


def test_lists_of_labels_may_have_gaps(here):
    labels = [["oil", None, "", " "], [None], [""], [], ["?", "gas"], [1, 2.0], "?"]
    lines = [json.dumps({"text": "a", "topic": label}) for label in labels]
    (here / "many.jsonl").write_text("\n".join(lines))
    found = read("many.jsonl", text=None, identifier=None, unlabelled_label=["?"]).labels
    assert found == [["oil"], None, None, None, ["gas"], ["1", "2"], None]


@pytest.mark.parametrize("label", [{"a": 1}, [["oil"]], [{"a": 1}]])
def test_labels_that_are_none(here, label):
    (here / "odd.jsonl").write_text(json.dumps({"text": "opec", "topic": label}))
    done = run("train", "odd.jsonl", "--label", "topic", "-o", "new")
    assert done.code == 1
    assert "neither text nor a number" in done.err


@pytest.mark.parametrize(
    "command",
    [
        ("predict", "classifier", "-", "-"),
        ("train", "-", "--unlabelled", "-", "-o", "new"),
        ("train", "-", "--label", "topic", "--test", "-", "-o", "new"),
        ("train", "news.csv", "--test", "-", "--unlabelled", "-", "-o", "new"),
    ],
)
def test_standard_input_is_read_once(shelf, command):
    done = run(*command, stdin="opec\n")
    assert done.code == 1
    assert "named twice" in done.err
    assert not (shelf / "new").exists()


@pytest.mark.parametrize("command", ["train", "refit", "evaluate", "suggest"])
def test_an_empty_separator_of_labels(shelf, command):
    models = () if command == "train" else ("classifier",)
    out = ("-o", "new") if command in ("train", "refit") else ()
    columns = ("--text", "body", "--label", "topic", "--label-separator", "")
    done = run(command, *models, "news.csv", *columns, *out)
    assert done.code == 1
    assert "--label-separator is empty" in done.err
