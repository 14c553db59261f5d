"""Every kind of file, plain and compressed; what is wrong in one is named with its line."""

import csv
import gzip
import json
from contextlib import suppress

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from dcot import DcotError
from dcot.errors import InvalidInputError, InvalidParameterError, MissingExtraError
from dcot.text import TermCounter, decoding, parquet, read_texts
from dcot.text.tables import ReadOptions, column_names, read_rows

TEXTS = ["tea for two", "naïve café, 中文", 'a "quoted", text\nof two lines', "", "😀 end"]


def as_csv(delimiter):
    lines = [["id", "text"], *([str(i), text] for i, text in enumerate(TEXTS))]
    out = []
    for line in lines:
        fields = ['"' + field.replace('"', '""') + '"' for field in line]
        out.append(delimiter.join(fields))
    return "\n".join(out) + "\n"


CONTENTS = {
    ".jsonl": "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(TEXTS)),
    ".ndjson": "\n\n".join(json.dumps(text) for text in TEXTS),
    ".csv": as_csv(","),
    ".tsv": as_csv("\t"),
}


def written(path, data):
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(data))
    elif path.suffix == ".zst":
        with pa.output_stream(str(path), compression="zstd") as stream:
            stream.write(data)
    else:
        path.write_bytes(data)
    return path


@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
@pytest.mark.parametrize("suffix", CONTENTS)
def test_tables(tmp_path, suffix, compression):
    path = written(tmp_path / f"texts{suffix}{compression}", CONTENTS[suffix].encode())
    texts = read_texts(path, batch_size=2)
    assert list(texts) == TEXTS
    assert list(texts) == TEXTS  # once more from the start
    assert [len(batch) for batch in texts.batches()] == [2, 2, 1]
    assert (TermCounter().fit_transform(texts) != TermCounter().fit_transform(TEXTS)).nnz == 0


@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
def test_lines_and_documents(tmp_path, compression):
    path = written(tmp_path / f"a.txt{compression}", b"\xef\xbb\xbfone\r\ntwo\n\nlast")
    assert list(read_texts(path)) == ["one", "two", "", "last"]
    assert list(read_texts(path, kind="document")) == ["one\r\ntwo\n\nlast"]


def test_parquet(tmp_path):
    frame = pl.DataFrame({"id": range(len(TEXTS)), "text": TEXTS})
    frame.write_parquet(tmp_path / "a.parquet", row_group_size=2)
    texts = read_texts(tmp_path / "a.parquet", batch_size=3)
    assert list(texts) == TEXTS
    assert max(len(batch) for batch in texts.batches()) <= 3


def test_parquet_without_batches_in_polars(tmp_path):
    pl.DataFrame({"text": TEXTS}).write_parquet(tmp_path / "a.parquet")
    frame = pl.scan_parquet(tmp_path / "a.parquet")

    class Older:
        slice = frame.slice

    assert [len(batch) for batch in parquet._batches(Older(), 2)] == [2, 2, 1]


def test_a_folder_is_its_txt_files_in_order(tmp_path):
    (tmp_path / "b").mkdir()
    written(tmp_path / "b" / "2.txt", b"two\nlines")
    written(tmp_path / "1.txt", b"one")
    written(tmp_path / "c.txt.gz", b"three")
    written(tmp_path / "notes.md", b"not this")
    texts = read_texts(tmp_path)
    assert list(texts) == ["one", "two\nlines", "three"]
    assert "3 files" in repr(texts)


def test_several_files_of_several_kinds(tmp_path):
    pl.DataFrame({"text": ["p"]}).write_parquet(tmp_path / "a.parquet")
    paths = [
        written(tmp_path / "a.txt", b"a\nb\n"),
        tmp_path / "a.parquet",
        str(written(tmp_path / "a.jsonl", b'{"text": "j"}')),
    ]
    assert list(read_texts(paths)) == ["a", "b", "p", "j"]


def test_fields_may_be_long_and_the_limit_stays(tmp_path):
    limit = csv.field_size_limit()
    path = written(tmp_path / "a.csv", b"text\n" + b"x " * 200_000)
    assert [len(text) for text in read_texts(path)] == [400_000]
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"fine\nb\xe9d\n", "line 2: byte 0xe9"),
        ("a.txt.gz", b"fine\nb\xe9d\n", "line 2: byte 0xe9"),
        ("a.csv", b"text\nfine\nb\xe9d\n", "line 3: byte 0xe9"),
        ("a.jsonl", b'{"text": "a"}\n{"text": "\xe9"}\n', "line 2: byte 0xe9"),
        ("a.jsonl", b'{"text": "a"}\n{"text": \n', "line 2: not JSON"),
        ("a.jsonl", b'{"text": null}\n', "line 1: the text is None of type NoneType"),
        ("a.jsonl", b'{"text": 3}\n', "line 1: the text is 3 of type int"),
        ("a.jsonl", b'"a"\n[1]\n', r"line 2: a list of 1 values.* jq -c '.\[\]'"),
        ("a.jsonl", b'[{"text": "a"},\n', r"line 1: not JSON .* jq -c '.\[\]'"),
        ("a.jsonl", b"id,text\n", "line 1: not JSON .*--format csv"),
        ("a.json", b'[{"text": "a"}]', "--format jsonl.*; if it is one list, make a line"),
        ("a.jsonl", b'{"text": "\\ud800"}\n', "line 1: .* surrogate"),
        ("a.jsonl", b'{"a": "x", "b": "y"}\n', "which of .*'a', 'b'"),
        ("a.csv", b"id,title\n1,x\n", "which of"),
        ("a.csv", b"id,text\n1,x\n2\n", "line 3: 1 fields, expected 2: add the missing"),
        ("a.csv", b"id\ttext\n1\tx\n", r"--separator 'tab'"),
        ("a.csv", b'text\n"never closed\n', "line 2: the file ends inside quotation marks"),
        ("a.csv", b"", "is empty"),
        ("a.csv", (",".join(f"c{n}" for n in range(99)) + "\n").encode(), "'c19', … is the text"),
        ("a.csv", b"\x1f\x8b\x08", "a.csv is compressed: .* zcat"),
        ("a.txt", b"PK\x03\x04\xff", "a.txt is a zip file or a spreadsheet"),
        ("a.xyz", b"", "say what it is"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, name, data, message):
    path = written(tmp_path / name, data)
    with pytest.raises(DcotError, match=message) as caught:
        list(read_texts(path))
    assert name in str(caught.value)


def test_undecodable_bytes_are_replaced_if_asked(tmp_path):
    path = written(tmp_path / "a.txt", b"b\xe9d")
    assert list(read_texts(path, errors="replace")) == ["b\ufffdd"]


def test_a_cut_gzip_file(tmp_path):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"some text\n" * 1000)[:-10])
    with pytest.raises(InvalidInputError, match="is the file complete"):
        list(read_texts(path))


def test_parquet_that_is_not_text(tmp_path):
    pl.DataFrame({"text": ["a", None], "n": [1, 2]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InvalidInputError, match="row 1: the text is missing"):
        list(read_texts(tmp_path / "a.parquet"))
    with pytest.raises(InvalidInputError, match="column 'n' is of type Int64"):
        list(read_texts(tmp_path / "a.parquet", column="n"))
    with pytest.raises(InvalidParameterError, match="no column 'body'"):
        list(read_texts(tmp_path / "a.parquet", column="body"))


@pytest.mark.parametrize(
    "settings", [{"errors": "ignore"}, {"kind": "xml"}, {"batch_size": 0}, {"batch_size": 2.5}]
)
def test_settings_are_checked(tmp_path, settings):
    with pytest.raises(InvalidParameterError, match=next(iter(settings))):
        read_texts(tmp_path, **settings)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(InvalidInputError, match="does not exist"):
        read_texts(tmp_path / "none.csv")
    with pytest.raises(InvalidInputError, match=r"no \.txt files"):
        read_texts(tmp_path)


def test_zstd_without_a_package(tmp_path, monkeypatch):
    def refuse(name):
        raise ImportError(name)

    monkeypatch.setattr(decoding, "import_module", refuse)
    path = written(tmp_path / "a.txt.zst", b"text")
    with pytest.raises(MissingExtraError, match="pip install backports"):
        list(read_texts(path))


def test_a_line_of_null_is_a_missing_text(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text('"tea"\nnull\n')
    options = ReadOptions(missing="")
    assert [text for (text,) in read_rows(path, "jsonl", options)] == ["tea", ""]
    with pytest.raises(InvalidInputError, match="line 2"):
        list(read_rows(path, "jsonl", ReadOptions()))


@pytest.mark.parametrize(
    ("name", "content", "options", "expected"),
    [
        ("a.csv", "'te,xt',b\n1,2\n", {"quote": "'"}, ["te,xt", "b"]),
        ("a.csv", '"text,b\n1,2\n', {"quote": None}, ['"text', "b"]),
        ("a.csv", f"{'x' * 200_000},b\n", {}, ["x" * 200_000, "b"]),
        ("a.jsonl", '{"text": 1}\n{broken\n' + "[" * 100_000 + '\n{"b": 1}\n', {}, ["text", "b"]),
    ],
    ids=["quote", "no quote", "long", "broken lines"],
)
def test_column_names(tmp_path, name, content, options, expected):
    path = tmp_path / name
    path.write_text(content)
    assert column_names(path, path.suffix[1:], ReadOptions(**options)) == expected


@pytest.mark.parametrize("first", ["sep=;\r\n", '"sep=;"\n', "\ufeffSEP=;\n"])
@pytest.mark.parametrize("separator", [None, ";"])
def test_a_line_that_tells_excel_the_separator(tmp_path, first, separator):
    path = tmp_path / "a.csv"
    path.write_text(first + "id;text\r\n1;opec, oil\r\n2;gas\r\n", newline="")
    assert list(read_texts(path, column="text", separator=separator)) == ["opec, oil", "gas"]
    assert column_names(path, "csv", ReadOptions(separator=separator)) == ["id", "text"]
    path.write_text("sep=;\n")
    with pytest.raises(InvalidInputError, match="is empty"):
        list(read_texts(path, column="text"))


def test_a_title_above_a_table(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("Exported today,,\n,,\nid,text,label\n1,opec,x\n")
    for column in (None, "text"):
        with pytest.raises(InvalidParameterError, match="delete the lines above it"):
            list(read_texts(path, column=column))


@pytest.mark.parametrize("separator", ["\t", "\\t", "tab"])
def test_tabs_can_be_written_out(tmp_path, separator):
    (tmp_path / "a.csv").write_text("id\ttext\n1\topec oil\n")
    found = read_texts(tmp_path / "a.csv", column="text", separator=separator)
    assert list(found) == ["opec oil"]


@pytest.mark.parametrize("path", ["", ["", "a.txt"]])
def test_an_empty_path_is_not_the_current_folder(path):
    with pytest.raises(InvalidParameterError, match="expected a path"):
        read_texts(path)


@pytest.mark.parametrize("encoding", ["hex", "rot13", "base64", "idna", "undefined", "a\0b"])
def test_an_encoding_that_is_not_of_texts_is_refused(tmp_path, encoding):
    (tmp_path / "a.txt").write_text("oil\n")
    with pytest.raises(InvalidParameterError, match="encoding must be"):
        read_texts(tmp_path / "a.txt", encoding=encoding)


def test_half_a_character_in_an_encoding_that_can_write_it(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"oil\nhalf \\ud800\n")
    with pytest.raises(InvalidInputError, match="is not UNICODE"):
        list(read_texts(tmp_path / "a.txt", encoding="unicode_escape"))


@pytest.mark.parametrize("value", ['"\\ud800"', '["a", "\\ud800"]', '{"\\ud800": 1}'])
def test_half_a_character_in_another_column(tmp_path, value):
    (tmp_path / "a.jsonl").write_text(f'{{"text": "oil", "label": {value}}}\n')
    with pytest.raises(InvalidInputError, match="line 1: the label has a lone surrogate"):
        list(read_rows(tmp_path / "a.jsonl", "jsonl", ReadOptions(), ["label"]))
    assert list(read_rows(tmp_path / "a.jsonl", "jsonl", ReadOptions())) == [("oil",)]


@pytest.mark.parametrize("separator", ["", ";;", '"', "\n", "\r"])
def test_a_separator_that_cannot_be_one_is_refused(tmp_path, separator):
    (tmp_path / "a.csv").write_text("text\noil\n")
    with pytest.raises(InvalidParameterError, match="separator must be"):
        read_texts(tmp_path / "a.csv", separator=separator)


@pytest.mark.parametrize("value", [True, 5, [], {}, np.array([1, 2]), np.array("a"), [None], [1]])
@pytest.mark.parametrize("option", ["column", "kind", "encoding", "errors", "separator"])
def test_options_of_any_kind(tmp_path, option, value):
    path = tmp_path / "a.csv"
    path.write_text("text\ncrude oil\n")
    with suppress(DcotError):  # any other error is a bug
        assert list(read_texts(path, **{"column": "text", option: value})) == ["crude oil"]
