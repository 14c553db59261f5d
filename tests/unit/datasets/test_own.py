"""The user's own folders and tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dcot.datasets import load, load_folder, load_table
from dcot.errors import DatasetError, DcotError, InvalidParameterError

ROWS = {
    "title": ["a", "b", "c", "d"],
    "body": ["oil", "wheat", None, 'a "quoted", word'],
    "topic": ["007", "grain", None, "007"],
    "part": ["train", "test", "unlabelled", "train"],
}


def write(root: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def test_folders_are_labels(tmp_path: Path) -> None:
    root = write(
        tmp_path / "mine",
        {"sport/b.txt": b"goal", "sport/a.txt": b"\xef\xbb\xbfball", "c.txt": b"?", "x.md": b"no"},
    )
    write(root, {"news/uk/d.txt": "é".encode()})
    corpus = load_folder(root)
    assert corpus.name == "mine"
    assert corpus.train_texts == ["é", "ball", "goal"]
    assert corpus.train_labels.tolist() == ["news/uk", "sport", "sport"]
    assert corpus.unlabelled_texts == ["?"]


def test_rows_without_a_label_are_unlabelled_with_a_split_too(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("text,topic,part\na,x,train\nb,,train\nc,x,test\nd,,test\ne,y,train\n")
    corpus = load_table(path, text="text", label="topic", split="part")
    assert corpus.train.tolist() == [0, 4]
    assert corpus.test.tolist() == [2]
    assert corpus.unlabelled.tolist() == [1, 3]
    assert corpus.target_names == ("x", "y")
    everything = load_table(path, text="text", split="part")  # no labels at all: as it is said
    assert (everything.train.tolist(), everything.test.tolist()) == ([0, 1, 4], [2, 3])


def test_folders_are_the_split(tmp_path: Path) -> None:
    root = write(tmp_path, {"train/x/a.txt": b"1", "test/x/b.txt": b"2", "unlabelled/c.txt": b"3"})
    corpus = load_folder(root)
    assert (corpus.train_texts, corpus.test_texts) == (["1"], ["2"])
    assert corpus.labels.tolist() == ["x", "x", ""]
    assert corpus.unlabelled_texts == ["3"]


def test_share_is_steady_and_keeps_equal_texts_together(tmp_path: Path) -> None:
    files = {f"x/{i}.txt": f"text {i % 200}".encode() for i in range(400)}
    corpus = load_folder(write(tmp_path, files), test_share=0.25)
    assert 70 <= len(corpus.test) <= 130
    assert not set(corpus.train_texts) & set(corpus.test_texts)
    again = load_folder(tmp_path, test_share=0.25)
    assert corpus.test.tolist() == again.test.tolist()


def test_broken_bytes_in_a_folder(tmp_path: Path) -> None:
    write(tmp_path, {"x/a.txt": b"caf\xe9"})
    with pytest.raises(DatasetError, match=r"a\.txt is not utf-8 at byte 3.*errors='replace'"):
        load_folder(tmp_path)
    assert load_folder(tmp_path, errors="replace").texts == ["caf\ufffd"]
    assert load_folder(tmp_path, encoding="latin-1").texts == ["café"]


def test_no_folder_no_files(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="not a folder"):
        load_folder(tmp_path / "nothing")
    with pytest.raises(DatasetError, match=r"no files \*\.txt"):
        load_folder(tmp_path)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".CSV"])
def test_tables(tmp_path: Path, suffix: str) -> None:
    path, frame = tmp_path / f"mine{suffix}", pl.DataFrame(ROWS)
    {
        ".csv": frame.write_csv,
        ".tsv": lambda file: frame.write_csv(file, separator="\t"),
        ".parquet": frame.write_parquet,
    }.get(suffix.lower(), frame.write_ndjson)(path)
    corpus = load_table(path, text=["title", "body"], label="topic", split="part")
    assert corpus.name == "mine"
    assert corpus.texts == ["a\noil", "b\nwheat", "c\n", 'd\na "quoted", word']
    assert corpus.labels.tolist() == ["007", "grain", "", "007"]
    assert (len(corpus.train), len(corpus.test), len(corpus.unlabelled)) == (2, 1, 1)
    assert len(load_table(path, text="body", label="topic").unlabelled) == 1
    assert len(load_table(path, text="body").unlabelled) == 4


def test_quotation_marks_in_the_text(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text('text\tlabel\n"gold" rush\ta\n')
    with pytest.raises(DatasetError, match="quote=None"):
        load_table(path, text="text", label="label")
    assert load_table(path, text="text", label="label", quote=None).texts == ['"gold" rush']


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": "words"}, "no column 'words'.*'text'"),
        ({"text": "text", "label": "text", "split": "text"}, "values .'a b'.: expected train"),
        ({"text": "text", "split": "text", "test_share": 0.2}, "'text' gives the split.*no effect"),
        ({"text": "text", "test_share": 1.0}, r"test_share must be in \[0, 1\)"),
    ],
)
def test_wrong_options(tmp_path: Path, options: dict[str, object], message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("text\na b\n")
    with pytest.raises(InvalidParameterError, match=message):
        load_table(path, **options)  # type: ignore[arg-type]


def test_wrong_tables(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match=r"'\.xls': expected one of \.csv"):
        load_table(tmp_path / "t.xls", text="text")
    with pytest.raises(DatasetError, match="does not exist"):
        load_table(tmp_path / "t.csv", text="text")
    (tmp_path / "t.parquet").write_bytes(b"not parquet")
    with pytest.raises(DatasetError, match=r"cannot be read as \.parquet"):
        load_table(tmp_path / "t.parquet", text="text")


def test_a_file_beside_the_folders_of_a_split_is_unlabelled(tmp_path):
    for part in ("train", "test"):
        for topic in ("pos", "neg"):
            (tmp_path / part / topic).mkdir(parents=True)
            (tmp_path / part / topic / "1.txt").write_text(f"{part} {topic}")
    (tmp_path / "README.txt").write_text("about these files")
    corpus = load_folder(tmp_path)
    assert (len(corpus.train), len(corpus.test)) == (2, 2)
    assert corpus.target_names == ("neg", "pos")
    assert corpus.texts[corpus.unlabelled[0]] == "about these files"


def test_a_label_that_is_no_number_is_none(tmp_path):
    frame = pl.DataFrame({"text": ["a", "b", "c"], "label": [1.0, float("nan"), 2.0]})
    frame.write_parquet(tmp_path / "table.parquet")
    corpus = load_table(tmp_path / "table.parquet", text="text", label="label")
    assert corpus.target_names == ("1.0", "2.0")
    assert len(corpus.unlabelled) == 1
    (tmp_path / "table.jsonl").write_text('{"text": "a", "label": ["x", "y"]}\n')
    with pytest.raises(DatasetError, match="in a cell"):
        load_table(tmp_path / "table.jsonl", text="text", label="label")


@pytest.mark.parametrize(
    "options",
    [
        {"encoding": "utf8x"},
        {"errors": "shout"},
        {"pattern": "/x"},
        {"pattern": ""},
        {"pattern": 3},
        {"test_share": "a"},
        {"test_share": float("nan")},
    ],
    ids=str,
)
def test_options_of_folders_are_checked(tmp_path, options):
    (tmp_path / "a.txt").write_bytes(b"\xff")
    with pytest.raises(DcotError):
        load_folder(tmp_path, **options)


@pytest.mark.parametrize(
    "options",
    [{"quote": "ab"}, {"quote": 3}, {"quote": ","}, {"quote": "\n"}, {"text": []}, {"text": 3}],
    ids=str,
)
def test_options_of_tables_are_checked(tmp_path, options):
    (tmp_path / "a.csv").write_text("text\nab\n")
    with pytest.raises(DcotError):
        load_table(tmp_path / "a.csv", **{"text": "text", **options})


def test_what_the_errors_of_a_table_advise_is_possible(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes("text;label\nübel;a\ngut;b\n".encode("latin-1"))
    with pytest.raises(DatasetError, match="separator=';'"):
        load_table(path, text="text")
    with pytest.raises(DatasetError, match=r"encoding='cp1252'.*errors='replace'"):
        load_table(path, text="text", separator=";")
    read = {"text": "text", "label": "label", "separator": ";"}
    assert load_table(path, encoding="latin-1", **read).texts == ["übel", "gut"]
    assert load_table(path, errors="replace", **read).texts == ["\ufffdbel", "gut"]
    with pytest.raises(InvalidParameterError, match="errors must be"):
        load_table(path, errors="ignore", **read)


@pytest.mark.parametrize("value", [True, 5, [], {}, np.array([1, 2]), np.array("a"), [None], [1]])
@pytest.mark.parametrize("option", ["text", "label", "split", "separator", "encoding", "errors"])
def test_options_of_any_kind(tmp_path, option, value):
    (tmp_path / "a.csv").write_text("text,topic\ncrude oil,a\nwheat,b\n")
    with pytest.raises(DcotError, match=option):
        load_table(tmp_path / "a.csv", **{"text": "text", option: value})


@pytest.mark.parametrize("value", [True, 5.0, [], None, {}])
def test_a_name_or_folder_of_any_kind(value):
    with pytest.raises(DcotError, match="unknown corpus"):
        load(value)
    if value is not None:
        with pytest.raises(DcotError, match="path must be"):
            load("r8", data_dir=value)
