"""Labels on the disk: never behind, one row per document, whatever happens meanwhile."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcot.errors import InvalidInputError, InvalidParameterError, OutputError
from dcot.text.tables import ReadOptions, stream_rows
from dcot.web import formats, labels
from dcot.web.documents import Documents
from dcot.web.formats import Entry
from dcot.web.labels import ConflictError, LabelStore

TEXTS = [
    "plain",
    'a "quote", a comma',
    "two\nlines",
    "",
    "=1+2",
    "שלום 👋",
    "<b>bold</b>",
    "x\r\ny",
    "a\rb",
]


@pytest.fixture
def documents():
    return Documents.of(TEXTS)


@pytest.fixture(params=["labels.csv", "labels.jsonl"])
def path(request, tmp_path):
    return tmp_path / request.param


def names(store):
    return {row: label.name for row, label in store.labels.items()}


def test_labels_are_there_again(documents, path):
    store = LabelStore(path, documents)
    given = {row: f"class {row}" for row in range(len(TEXTS))}
    for row, name in given.items():
        store.set({row: name}, "random")
    store.close()
    again = LabelStore(path, documents)
    assert names(again) == given
    assert {label.how for label in again.labels.values()} == {"random"}


def test_a_file_has_one_row_per_document(documents, path):
    store = LabelStore(path, documents)
    store.set({0: "a", 1: "b"})
    store.set({0: "c"})
    store.set({1: None})
    store.set({2: ""})
    store.close()
    entries = formats.read(path.read_text(), "file")
    assert [(entry.id, entry.label) for entry in entries] == [("0", "c"), ("2", "")]


def test_labels_are_written_to_the_disk_before_set_returns(documents, path, monkeypatch):
    synced = []
    real = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda handle: (synced.append(os.fstat(handle).st_size), real(handle))
    )
    store = LabelStore(path, documents)
    synced.clear()
    store.set({0: "a"})
    assert synced == [path.stat().st_size]


def test_a_spreadsheet_does_not_run_a_text(documents, tmp_path):
    store = LabelStore(tmp_path / "labels.csv", documents)
    store.set({4: "=cmd()", 0: "-1"})
    rows = list(csv.DictReader(io.StringIO((tmp_path / "labels.csv").read_text())))
    assert [row["label"] for row in rows] == ["'=cmd()", "-1"]
    assert rows[0]["text"] == "'=1+2"
    store.close()
    assert names(LabelStore(tmp_path / "labels.csv", documents)) == {4: "=cmd()", 0: "-1"}


@given(st.lists(st.text(st.sampled_from("'=+-@1.ax"), max_size=5), min_size=1, max_size=5))
def test_a_file_of_labels_is_read_as_it_was_meant(names):
    entries = [Entry(str(k), name, "random", "", name or None) for k, name in enumerate(names)]
    data = formats.written(entries, "csv")
    assert formats.read(data, "file") == entries
    stream = io.BytesIO(data.encode())
    rows = stream_rows(stream, Path("labels.csv"), "csv", ReadOptions(), ["label"])
    assert list(rows) == [(name, name) for name in names]


def test_quotes_in_files_of_others_are_theirs(documents, tmp_path):
    own = "id,label\n0,'=x\n1,''a\n2,'-1\n"
    assert [entry.label for entry in formats.read(own, "file")] == ["'=x", "''a", "'-1"]
    (tmp_path / "labels.csv").write_text(own)
    for _ in range(2):  # written with guards, and read again
        store = LabelStore(tmp_path / "labels.csv", documents)
        assert names(store) == {0: "'=x", 1: "''a", 2: "'-1"}
        store.close()
    table = io.BytesIO(b"text,label\n'@home,'=x\n")
    rows = stream_rows(table, Path("table.csv"), "csv", ReadOptions(), ["label"])
    assert list(rows) == [("'@home", "'=x")]


@pytest.mark.parametrize("cut", range(2, 40, 3))
def test_a_row_that_was_cut_off_is_left_out(documents, path, cut):
    store = LabelStore(path, documents)
    store.set({0: "a"})
    whole = path.read_bytes()
    store.set({2: "b"})
    store.close()
    added = len(path.read_bytes()) - len(whole)
    with path.open("r+b") as file:
        file.truncate(len(whole) + min(cut, added - 1))
    again = LabelStore(path, documents)
    assert names(again) == {0: "a"}
    again.set({2: "c"})
    again.close()
    assert names(LabelStore(path, documents)) == {0: "a", 2: "c"}


def test_an_editor_that_ends_without_a_line_break_loses_nothing(documents, path):
    store = LabelStore(path, documents)
    store.set({0: "a", 2: "b"})
    path.write_bytes(path.read_bytes()[:-1])
    store.set({4: "c"})
    assert names(store) == {0: "a", 2: "b", 4: "c"}


def test_a_text_that_was_cut_off_is_not_taken_for_another_document(path):
    documents = Documents.of(["oil", "oil price"])
    store = LabelStore(path, documents)
    store.set({1: "a"})
    store.close()
    data = path.read_bytes()
    path.write_bytes(data[: data.rindex(b"oil price") + 3])
    assert names(LabelStore(path, documents)) == {}


@pytest.mark.parametrize(
    ("new", "message"), [(b"\xff", "not UTF-8"), (b"b" * 300, "at most 200"), (b"b\x07", "control")]
)
def test_a_file_that_cannot_be_read_is_left_alone(documents, path, new, message):
    store = LabelStore(path, documents)
    store.set({0: "label-a"})
    good = path.read_bytes()
    path.write_bytes(bad := good.replace(b"label-a", new))
    with pytest.raises(OutputError, match=message):
        store.set({1: "c"})
    assert (names(store), path.read_bytes()) == ({0: "label-a"}, bad)
    path.write_bytes(good)
    store.set({1: "c"})
    assert names(store) == {0: "label-a", 1: "c"}


def test_edited_meanwhile(documents, path):
    store = LabelStore(path, documents)
    store.set({0: "a", 1: "b", 2: "c"})
    entries = [entry for entry in formats.read(path.read_text(), "") if entry.id != "1"]
    entries[0] = Entry("0", "z", "", "", TEXTS[0])
    entries.append(Entry("5", "new", "", "", TEXTS[5]))
    path.write_text(formats.written(entries, store.kind))
    reload = store.set({3: "d"})
    assert (reload.added, reload.changed, reload.removed) == (1, 1, 1)
    assert names(store) == {0: "z", 2: "c", 5: "new", 3: "d"}


def test_saved_by_a_spreadsheet(documents, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_bytes(
        '\ufefflabel;id;text\r\na;0;plain\r\n"b, c";1;"a ""quote"", a comma"\r\n'.encode()
    )
    store = LabelStore(path, documents)
    assert names(store) == {0: "a", 1: "b, c"}
    assert path.read_text().startswith("id,label,how,time,text\n")


def test_deleted_meanwhile(documents, path):
    store = LabelStore(path, documents)
    store.set({0: "a"})
    path.unlink()
    assert store.set({1: "b"}).removed == 1
    assert names(store) == {1: "b"}


def test_the_text_decides_when_the_corpus_has_changed(documents, path):
    store = LabelStore(path, documents)
    store.set({0: "a", 1: "b", 2: "c"})
    store.close()
    changed = Documents.of(["new", *TEXTS[1:]])
    again = LabelStore(path, Documents.of(TEXTS[1:]))
    assert names(again) == {0: "b", 1: "c"}
    assert [entry.label for entry in again.foreign] == ["a"]
    again.set({0: "d"})
    again.close()
    assert "plain" in path.read_text()  # the label of a document that is not there is kept
    assert names(LabelStore(path, changed)) == {1: "d", 2: "c"}


@pytest.mark.parametrize("end", ["\n", ""])
def test_labels_without_texts_outlive_a_smaller_corpus(path, end):
    texts, ids = ["oil", "corn", "gold"], ["x", "y", "z"]
    lines = {
        ".csv": ["id,label", "x,a", "y,b", "z,c"],
        ".jsonl": [json.dumps({"id": id, "label": name}) for id, name in ("xa", "yb", "zc")],
    }
    path.write_text("\n".join(lines[path.suffix]) + end)
    for _ in range(2):
        smaller = LabelStore(path, Documents.of(texts[:1], ids[:1]))
        assert names(smaller) == {0: "a"}
        assert [(entry.id, entry.text) for entry in smaller.foreign] == [("y", None), ("z", None)]
        smaller.close()
    assert names(LabelStore(path, Documents.of(texts, ids))) == {0: "a", 1: "b", 2: "c"}


def test_a_row_that_was_cut_off_before_its_text_has_a_whole_label(documents, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("id,label,how,time,text\n0,a,,2026-01-01T00:00:00+00:00,")
    assert names(LabelStore(path, documents)) == {0: "a"}


def test_another_label_than_expected(documents, path):
    store = LabelStore(path, documents)
    store.set({0: "a"}, expected={0: None})
    with pytest.raises(ConflictError) as conflict:
        store.set({0: "b", 1: "b"}, expected={0: None, 1: None})
    assert conflict.value.current.name == "a"
    assert names(store) == {0: "a"}
    before = path.read_bytes()
    store.set({0: "a"}, expected={0: None})  # sent again, because the answer was lost
    assert path.read_bytes() == before
    store.set({0: "b"}, expected={0: "a"})


def fill_the_disk(monkeypatch):
    """Ten bytes can still be written at a time, and then no more."""
    real = os.write

    def full(handle, data):
        if len(data) > 10:
            return real(handle, data[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)


@pytest.mark.parametrize("changes", [{1: "b"}, {0: "b"}])
def test_a_full_disk_changes_nothing(documents, path, monkeypatch, changes):
    store = LabelStore(path, documents)
    store.set({0: "a"})
    before = path.read_bytes()
    fill_the_disk(monkeypatch)
    with pytest.raises(OutputError, match="free some space"):
        store.set(changes)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert names(store) == {0: "a"}
    store.set(changes)
    assert names(store)[next(iter(changes))] == "b"
    assert [found.name for found in path.parent.iterdir()] == [path.name]


def test_an_edited_file_that_could_not_be_rewritten_is_not_appended_to(
    documents, path, monkeypatch
):
    store = LabelStore(path, documents)
    store.set({0: "a", 2: "second"})
    edited = path.read_text().replace("second", "third").rstrip("\n")  # in another form than ours
    path.write_text(edited)
    fill_the_disk(monkeypatch)
    with pytest.raises(OutputError, match="free some space"):
        store.set({4: "d"})
    monkeypatch.undo()
    assert (names(store), path.read_text()) == ({0: "a", 2: "second"}, edited)
    assert store.set({5: "e"}).changed == 1  # what was edited is told once it is taken over
    assert names(store) == {0: "a", 2: "third", 5: "e"}
    store.close()
    assert names(LabelStore(path, documents)) == {0: "a", 2: "third", 5: "e"}


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="open files are listed by Linux")
def test_no_open_file_is_replaced_on_windows(documents, path, monkeypatch):
    """Windows refuses to rename a file that is open, or to replace it."""
    replace = os.replace

    def of_windows(source, target):
        fds = "/proc/self/fd"
        opened = {os.path.realpath(f"{fds}/{number}") for number in os.listdir(fds)}
        if {os.path.realpath(source), os.path.realpath(target)} & opened:
            raise PermissionError(errno.EACCES, "in use by another process")
        replace(source, target)

    monkeypatch.setattr(labels, "_OPEN_FILES_CAN_BE_REPLACED", False)
    monkeypatch.setattr(os, "replace", of_windows)
    store = LabelStore(path, documents)
    store.set({0: "a", 1: "b"})
    store.set({0: "c"})
    store.set({2: "d"})  # the file can still be appended to
    store.close()
    assert names(LabelStore(path, documents)) == {0: "c", 1: "b", 2: "d"}


@pytest.mark.skipif(sys.platform == "win32", reason="no locks there")
def test_a_second_server_is_refused(documents, path):
    store = LabelStore(path, documents)
    program = (
        "import sys; from pathlib import Path; from dcot.web.labels import LabelStore\n"
        "from dcot.web.documents import Documents\n"
        "LabelStore(Path(sys.argv[1]), Documents.of(['x']))"
    )
    for change in ({0: "a"}, {0: "b"}):  # the lock stays when the file is replaced
        store.set(change)
        done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True)
        assert b"open in another `dcot label`" in done.stderr
    store.close()
    assert not subprocess.run([sys.executable, "-c", program, str(path)]).returncode


def test_rename_and_merge(documents, path):
    store = LabelStore(path, documents)
    store.set({0: "a", 1: "b", 2: "a"})
    assert store.rename("a", "b") == 2
    assert names(store) == {0: "b", 1: "b", 2: "b"}
    store.close()
    assert set(names(LabelStore(path, documents)).values()) == {"b"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n", "expected 'label'"),
        ("id,label,comment\n0,a,mine\n", "would be lost"),
        ('id,label\n0,"a\nb\n', None),
        ("id,label\n0,a,b\n", "3 fields"),
        ("id,label\n0,\x00\n", "control characters"),
    ],
)
def test_files_that_are_not_ours_are_left_alone(documents, tmp_path, content, message):
    path = tmp_path / "labels.csv"
    path.write_text(content)
    if message is None:
        LabelStore(path, documents).close()
        return
    with pytest.raises(InvalidInputError, match=message):
        LabelStore(path, documents)
    assert path.read_text() == content


def test_other_endings_and_bytes_are_refused(documents, tmp_path):
    with pytest.raises(InvalidParameterError, match=r"csv or \.jsonl"):
        LabelStore(tmp_path / "labels.xlsx", documents)
    (tmp_path / "labels.csv").write_bytes(b"id,label\n0,\xff\n")
    with pytest.raises(InvalidInputError, match="UTF-8"):
        LabelStore(tmp_path / "labels.csv", documents)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(OutputError, match="not a file"):
        LabelStore(tmp_path / "folder.csv", documents)


# -- formats ----------------------------------------------------------------------------------

plain = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)
entries = st.lists(
    st.builds(
        Entry,
        plain.map(lambda text: "i" + text),
        plain.map(str.strip),
        plain,
        plain,
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40),
    ),
    max_size=6,
)


@given(entries, st.sampled_from(["csv", "jsonl"]))
@settings(max_examples=60, deadline=None)
def test_what_is_written_is_read_again(given_entries, kind):
    text = formats.written(given_entries, kind)
    found = formats.read_label_file(text, "file", kind)
    if kind == "csv":  # which has no way to write None
        given_entries = [replace(entry, text=entry.text or None) for entry in given_entries]
    assert found == given_entries


@given(entries, st.sampled_from(["label-studio", "prodigy"]))
@settings(max_examples=40, deadline=None)
def test_other_formats_keep_identifier_label_and_text(given_entries, kind):
    found = formats.read(formats.written(given_entries, kind), "file")
    kept = [(entry.id, entry.label, entry.text or None) for entry in found]
    assert kept == [(entry.id, entry.label, entry.text or None) for entry in given_entries]


def test_label_studio_and_prodigy_as_they_export():
    studio = [
        {
            "id": 7,
            "data": {"body": "Crude oil rose", "source": "x"},
            "annotations": [
                {
                    "id": 1,
                    "was_cancelled": False,
                    "result": [
                        {
                            "value": {"choices": ["oil"]},
                            "from_name": "topic",
                            "to_name": "body",
                            "type": "choices",
                        }
                    ],
                }
            ],
        },
        {"id": 8, "data": {"body": "not annotated"}, "annotations": []},
    ]
    found = formats.read(json.dumps(studio), "studio.json")
    assert [(entry.label, entry.text) for entry in found] == [("oil", "Crude oil rose")]
    lines = [
        {"text": "a", "label": "oil", "answer": "accept", "_input_hash": 1},
        {"text": "b", "label": "oil", "answer": "reject"},
        {"text": "c", "options": [{"id": "x"}], "accept": ["grain"], "answer": "accept"},
        {"text": "d", "accept": [], "answer": "ignore"},
    ]
    found = formats.read("\n".join(map(json.dumps, lines)), "prodigy.jsonl")
    assert [(entry.text, entry.label) for entry in found] == [
        ("a", "oil"),
        ("c", "grain"),
        ("d", ""),
    ]


def test_several_classes_of_one_document_are_refused():
    several = studio_task([{"value": {"choices": ["x", "y"]}}], text="a")
    line = json.dumps({"text": "c", "accept": ["a", "b"], "answer": "accept"})
    for content in (several, line):
        with pytest.raises(InvalidInputError, match="2 classes were chosen"):
            formats.read(content, "file")


def test_a_cancelled_annotation_does_not_hide_another():
    cancelled = {"was_cancelled": True, "result": []}
    tasks = [
        {"data": {"text": "a"}, "annotations": [cancelled, {"result": CHOICE}]},
        {"data": {"text": "b"}, "annotations": [cancelled, {"result": []}]},
    ]
    found = formats.read(json.dumps(tasks), "file")
    assert [(entry.text, entry.label) for entry in found] == [("a", "oil"), ("b", "")]


@pytest.mark.parametrize("content", ["[1]", '[{"data": 3}]', "[", '{"label": "a"}', "{", "{}\n[]"])
def test_what_is_no_file_of_labels_says_so(content):
    with pytest.raises(InvalidInputError):
        formats.read(content, "file")


def studio_task(result, **data):
    return json.dumps([{"data": data, "annotations": [{"result": result}]}])


CHOICE = [{"value": {"choices": ["oil"]}}]


@pytest.mark.parametrize("result", [[{"value": None}], [{"value": []}], [None], {"value": 1}, 3])
def test_a_task_without_a_choice_has_no_label(result):
    assert formats.read(studio_task(result, text="a"), "file") == []


@pytest.mark.parametrize("text", [["a", "b"], {"turn": "a"}, 3, None, ""])
def test_a_text_that_is_no_text_is_not_taken_for_one(text):
    lines = (
        studio_task(CHOICE, text=text, id="7"),
        json.dumps({"text": text, "label": "oil", "answer": "accept", "meta": {"id": 7}}),
    )
    for content in lines:
        (found,) = formats.read(content, "file")
        assert (found.id, found.label, found.text) == ("7", "oil", None)
    for content in (
        studio_task(CHOICE, text=text),
        json.dumps({"text": text, "label": "oil", "answer": "accept"}),
    ):
        with pytest.raises(InvalidInputError, match="neither an 'id' nor a 'text'"):
            formats.read(content, "file")


@pytest.mark.parametrize(
    "content",
    [
        studio_task([{"value": {"choices": [["oil"]]}}], text="a"),
        '{"text": "a", "label": ["oil", "gold"]}',
        '{"text": "a", "label": {"oil": 1}, "answer": "accept"}',
        '{"text": "a", "accept": [["oil"]], "answer": "accept"}',
    ],
)
def test_a_label_that_is_a_list_is_not_the_name_of_a_class(content):
    with pytest.raises(InvalidInputError, match=r"file, (task 0|line 1): the label is a"):
        formats.read(content, "file")


def test_a_document_that_is_in_the_file_twice_has_the_last_label(documents, path):
    store = LabelStore(path, documents)
    store.set({0: "oil", 4: "grain"})
    store.close()
    lines = path.read_text().splitlines(keepends=True)
    again = lines[-2].replace("oil", "gold")
    path.write_text("".join([*lines, again]))
    store = LabelStore(path, documents)
    assert names(store) == {0: "gold", 4: "grain"}
    store.close()
    assert len(path.read_text().splitlines()) == len(lines)


def test_a_file_that_is_replaced_while_a_label_is_written_gets_the_label(
    documents, path, monkeypatch
):
    store = LabelStore(path, documents)
    store.set({0: "a"})
    other = path.with_name(f"other{path.suffix}")
    others = LabelStore(other, documents)
    others.set({0: "a", 1: "b"})
    others.close()
    append = labels._LockedFile.append

    def late(self, data):
        if other.exists():  # an editor saves its version just now
            other.replace(path)
        append(self, data)

    monkeypatch.setattr(labels._LockedFile, "append", late)
    store.set({2: "c"})
    assert {row: label.name for row, label in store.labels.items()} == {0: "a", 1: "b", 2: "c"}
    store.close()
    again = LabelStore(path, documents)
    assert {row: label.name for row, label in again.labels.items()} == {0: "a", 1: "b", 2: "c"}
    again.close()


def test_a_row_that_is_added_while_a_label_is_written_is_read(documents, path, monkeypatch):
    store = LabelStore(path, documents)
    store.set({0: "a"})
    append = labels._LockedFile.append
    other = formats.row_of(Entry("1", "b", "", "", TEXTS[1]), store.kind)

    def late(self, data):
        monkeypatch.undo()
        with path.open("a", newline="", encoding="utf-8") as file:
            file.write(other)
        append(self, data)

    monkeypatch.setattr(labels._LockedFile, "append", late)
    store.set({2: "c"})
    store.set({5: "d"})
    found = {row: label.name for row, label in store.labels.items()}
    assert found == {0: "a", 1: "b", 2: "c", 5: "d"}
    store.close()


@pytest.mark.skipif(sys.platform == "win32", reason="links and modes of POSIX")
def test_a_link_stays_one_and_a_private_file_private(documents, path, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    kept = tmp_path / "elsewhere" / path.name
    kept.touch()
    kept.chmod(0o600)
    path.symlink_to(kept)
    store = LabelStore(path, documents)
    store.set({0: "a"})
    store.set({0: "b"})  # rewrites the file
    store.close()
    assert path.is_symlink()
    assert "b" in kept.read_text(encoding="utf-8")
    assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["+", "-", "-1", "+2.5"])
def test_a_class_that_is_a_sign_is_written_as_it_is(documents, tmp_path, name):
    store = LabelStore(tmp_path / "labels.csv", documents)
    store.set({0: name})
    store.close()
    assert f"0,{name}," in (tmp_path / "labels.csv").read_text()


def test_half_a_character_in_a_file_of_labels(documents, tmp_path):
    lines = '{"id": "0", "label": "a", "how": "\\ud800"}\n{"id": "1", "label": "a"}\n'
    (tmp_path / "labels.jsonl").write_text(lines)
    with pytest.raises(InvalidInputError, match="line 1"):
        LabelStore(tmp_path / "labels.jsonl", documents)
    assert (tmp_path / "labels.jsonl").read_text() == lines
