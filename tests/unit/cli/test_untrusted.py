"""Files, names and labels of others: nothing commands the terminal, nothing ends as a bug."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys

import polars as pl
import pytest
from tests.unit.cli.running import run

import dcot
from dcot.runtime.terminal import one_line, printable, printable_json

ESCAPES = "\x1b[31mred\x9b2J\x07\u202e"
POSIX = pytest.mark.skipif(os.name != "posix", reason="file names of POSIX")


def is_safe(text: str) -> bool:
    """Colours of our own stay: they are in no test, where there is no terminal."""
    return all(one in "\n\t" or printable(one) == one for one in text)


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0), 0x202E, 0x2066, 0x2028, 0xD800])
def test_what_a_terminal_would_obey_is_escaped(code):
    one = chr(code)
    if one not in "\n\t":
        assert printable(f"a{one}b") != f"a{one}b"
        assert one not in printable(one)
    assert one not in one_line(one) or one == " "
    if code < 0xD800:
        encoded = json.dumps(one, ensure_ascii=False)
        assert json.loads(printable_json(encoded)) == one
        assert is_safe(printable_json(encoded))


def test_what_people_write_stays():
    text = "naïve café, 中文, 😀 क्‍ष می‌خواهم a\u00a0b\ttab\nline"
    assert printable(text) == text


@pytest.fixture
def hostile(here):
    """A classifier, a vectorizer and an index whose labels, words and ids hold escapes."""
    texts = ["opec oil", "crude oil", "nasdaq stocks", "shares fell"] * 3
    labels = [f"oil{ESCAPES}", f"oil{ESCAPES}", "stocks", "stocks"] * 3
    rows = [
        {"text": f"{text} {ESCAPES} {n}", "topic": label, "key": f"{ESCAPES}{n}"}
        for n, (text, label) in enumerate(zip(texts, labels, strict=True))
    ]
    (here / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    labelled = ("a.jsonl", "--label", "topic")
    assert run("train", *labelled, "-o", "c").code == 0
    indexed = ("--id", "key", "--metadata", "topic")
    assert run("index", "new", "a.jsonl", *indexed, "-o", "i").code == 0
    return here


COMMANDS = [
    ("info", "c"),
    ("predict", "c", "a.jsonl", "--id", "key", "--keep", "topic", "--top", "2"),
    ("evaluate", "c", "a.jsonl", "--label", "topic"),
    ("explain", "c", f"opec {ESCAPES} oil"),
    ("explain", "c", "opec", "--target", f"oil{ESCAPES}"),
    ("explain", "c", "opec", "--target", ESCAPES),
    ("similar", "c", ESCAPES),
    ("similar", "c", "oil"),
    ("search", "i", f"oil {ESCAPES}"),
    ("search", "i", "oil", "--where", f"{ESCAPES}=1"),
    ("train", "a.jsonl", "--label", "topic", "-o", "other"),
    ("train", "a.jsonl", "--label", ESCAPES, "-o", "other"),
    ("info", ESCAPES),
    ("fit", ESCAPES, "-o", "m"),
    (ESCAPES,),
    ("fit", f"--{ESCAPES}"),
    ("fit", "a.jsonl", "--noise", ESCAPES, "-o", "m"),
]


@POSIX
@pytest.mark.parametrize("options", [(), ("--json",), ("--debug",)], ids=["text", "json", "debug"])
def test_nothing_commands_the_terminal(hostile, options):
    for command in COMMANDS:
        done = run(*command, *options)
        assert done.code in (0, 1, 2), (command, done.err)
        assert done.out or done.err, command
        assert is_safe(done.out), command
        assert is_safe(done.err), command


@POSIX
def test_nor_on_a_terminal_itself(hostile, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    for command in COMMANDS:
        done = run(*command, watched=True)
        for text in (done.out, done.err):
            assert "\x1b[31m" not in text
            assert not {"\x9b", "\x07", "\u202e"} & set(text), command


# -- damaged files -----------------------------------------------------------------------------


def damaged(content: bytes, seed: int) -> bytes:
    generator = random.Random(seed)
    data = bytearray(content)
    for _ in range(3):
        data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
    return bytes(data[: generator.randrange(len(data))]) if seed % 3 == 0 else bytes(data)


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.parquet"])
def test_damaged_files_are_errors_of_the_file(here, name):
    rows = [{"text": f"opec oil number {n} " * 5} for n in range(200)]
    if name.endswith("gz"):
        content = gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode())
    else:
        pl.DataFrame(rows).write_parquet("whole.parquet")
        content = (here / "whole.parquet").read_bytes()
    for seed in range(60):
        (here / name).write_bytes(damaged(content, seed))
        try:
            texts = list(dcot.text.read_texts(here / name))
        except dcot.DcotError as error:
            assert name in str(error)  # noqa: PT017
            assert len(str(error)) < 1000  # noqa: PT017
        else:
            assert all(isinstance(text, str) for text in texts)


def test_deep_and_large_values_are_short_errors(here):
    (here / "deep.jsonl").write_text("[" * 100_000 + "]" * 100_000)
    (here / "large.jsonl").write_text(json.dumps({"text": ["x" * 100] * 10_000}))
    for name, words in (("deep", "not JSON"), ("large", "of type list, expected a string")):
        done = run("fit", f"{name}.jsonl", "-o", "m")
        assert done.code == 1
        assert words in done.err
        assert len(done.err) < 1000


def test_an_endless_line_is_refused(here, monkeypatch):
    """A few kilobytes that would unpack to all of the memory."""
    monkeypatch.setattr("dcot.text.decoding.MAX_LINE_BYTES", 10_000)
    (here / "bomb.txt.gz").write_bytes(gzip.compress(b"\0" * 1_000_000))
    done = run("fit", "bomb.txt.gz", "-o", "m")
    assert done.code == 1
    assert "bomb.txt.gz, line 1 is longer than 10,000 bytes" in done.err


def test_formulas_are_written_as_they_are(here):
    """Documented: a label is data, and other programs must find it unchanged."""
    label = "=cmd|' /C calc'!A0"
    rows = [("opec oil", label), ("nasdaq", "stocks"), ("crude oil", label), ("shares", "stocks")]
    pl.DataFrame(rows, schema=["text", "topic"], orient="row").write_csv("a.csv")
    labelled = ("a.csv", "--text", "text", "--label", "topic")
    assert run("train", *labelled, "-o", "c").code == 0
    assert run("predict", "c", "a.csv", "--text", "text", "-o", "p.csv").code == 0
    assert pl.read_csv("p.csv")["prediction"].to_list()[0] == label


# -- files in other forms ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "advice"),
    [
        ("utf-16", "--encoding utf-16"),
        ("latin-1", "--encoding cp1252"),  # which has the same letters
        ("cp1252", "--encoding cp1252"),
    ],
)
def test_other_encodings(here, encoding, advice):
    (here / "a.csv").write_bytes("text,topic\nnaïve café,x\nopec,y\n".encode(encoding))
    done = run("fit", "a.csv", "--text", "text", "-o", "m")
    assert done.code == 1
    assert advice in done.err
    done = run("fit", "a.csv", "--text", "text", *advice.split(), "-o", "m")
    assert done.code == 0, done.err
    assert {"naïve", "café"} <= set(dcot.load("m").vocabulary_)
    done = run("fit", "a.csv", "--encoding", "klingon", "-o", "m")
    assert done.code == 1
    assert "'klingon'" in done.err


def test_windows_encodings_with_bytes_that_they_do_not_have(here):
    (here / "a.csv").write_bytes(b"text\n\x80 caf\xe9\n\x81\n")
    done = run("fit", "a.csv", "--encoding", "cp1252", "-o", "m")
    assert done.code == 1
    assert "--encoding latin-1" in done.err


def test_other_separators(here):
    (here / "a.csv").write_text("text;topic\nopec, oil;x\nnasdaq;y\n")
    for column in ([], ["--text", "text"]):
        done = run("fit", "a.csv", *column, "-o", "m")
        assert done.code == 1
        assert "--separator ';'" in done.err
    done = run("fit", "a.csv", "--text", "text", "--separator", ";", "-o", "m", "--json")
    assert done.json["terms"] == 3
    done = run("fit", "a.csv", "--text", "text", "--separator", ";;", "-o", "m")
    assert "one character" in done.err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"text,topic\nopec, oil,x\n", "line 2: 3 fields, expected 2"),
        (b"text,text\nopec,x\n", "2 columns named 'text'"),
        (b"text,topic\ropec,x\rnasdaq,y\r", "carriage returns"),
        (b'text,topic\n"opec,x\nnasdaq,y\n', "line 3: the file ends inside quotation marks"),
        (b'text,topic\n"the "opec" oil",x\n', "write marks inside of a text twice"),
        (b"\xef\xbb\xbf", "the first line is blank"),
        (b"\n\ntext,topic\nopec,x\n", "the first line is blank"),
        (b"id,headline\n1,x\n", "which of the columns 'id', 'headline' is the text"),
    ],
)
def test_tables_that_are_not_read_as_meant(here, content, words):
    (here / "a.csv").write_bytes(content)
    done = run("fit", "a.csv", "-o", "m")
    assert done.code == 1
    assert words in done.err
    assert "--text id" not in done.err


def test_a_name_that_is_empty_is_not_the_current_folder(here):
    (here / "notes.txt").write_text("not meant to be read")
    done = run("fit", "", "-o", "m")  # a variable of the shell that is not set
    assert done.code == 1
    assert "the name of the corpus is empty" in done.err
    assert not (here / "m").exists()


def test_folders_of_files_without_an_ending(here):
    for label, names in (("rec.autos", ["101", "102"]), ("sci.med", ["201", "202"])):
        (here / "news20" / label).mkdir(parents=True)
        for name in names:
            (here / "news20" / label / name).write_text(f"{label} {name}")
    (here / "news20" / ".DS_Store").write_bytes(b"\xff")
    (here / "news20" / "readme.md").write_text("not a document")
    done = run("train", "news20", "-o", "m", "--json")
    assert done.code == 0, done.err
    assert done.json["classes"] == ["rec.autos", "sci.med"]
    assert done.json["documents"] == 4
    (here / "mails").mkdir()
    (here / "mails" / "1.eml").write_text("opec oil")
    (here / "mails" / "2.eml").write_text("nasdaq")
    done = run("fit", "mails", "-o", "n")
    assert done.code == 1
    assert ".eml" in done.err
    assert "--format document" in done.err
    assert run("fit", "mails", "--format", "document", "-o", "n").code == 0


# -- outputs that are inputs -------------------------------------------------------------------


def test_no_command_replaces_its_input_or_another_kind(shelf):
    labelled = ("news.csv", "--text", "body", "--label", "topic")
    before = {name: dcot.load(name) for name in ("model", "classifier", "index")}
    for command in (
        ("index", "model", "news.txt", "-o", "model"),
        ("index", "model", "news.txt", "-o", "classifier"),
        ("fit", "news.txt", "-o", "index"),
        ("train", *labelled, "-o", "model"),
        ("refit", "classifier", *labelled, "-o", "model"),
        ("transform", "model", "news.txt", "-o", "model"),
        ("transform", "model", "news.csv", "--text", "body", "-o", "news.csv"),
        ("predict", "classifier", "news.csv", "--text", "body", "-o", "news.csv"),
        ("suggest", "classifier", *labelled, "-o", "news.csv"),
        ("fit", "news.txt", "-o", "news.txt"),
    ):
        done = run(*command)
        assert (done.code, done.out) == (1, ""), command
    for name, model in before.items():
        assert type(dcot.load(name)) is type(model)
    assert (shelf / "news.csv").read_text().startswith("number,topic,body")


def test_a_file_where_a_model_belongs(shelf):
    for command in (("info", "news.csv"), ("predict", "news.csv", "news.txt")):
        done = run(*command)
        assert done.code == 1
        assert "news.csv is a file, but a model folder was expected" in done.err


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
@pytest.mark.parametrize("command", [["explain", "model", "opec oil"], ["info", "model"]])
def test_a_table_into_a_reader_that_goes_away(shelf, command):
    """rich ends the process with 1 when the pipe is closed."""
    end, other = os.pipe()
    os.close(end)
    done = subprocess.run(
        [sys.executable, "-m", "dcot", *command], stdout=other, stderr=subprocess.PIPE, text=True
    )
    os.close(other)
    assert (done.returncode, done.stderr) == (141, "")
