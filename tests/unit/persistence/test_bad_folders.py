"""Folders that are missing, foreign, newer, cut off or made to do harm: each a clear error."""

from __future__ import annotations

import json
import os
import pickle
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save
from tests.unit.persistence.conftest import contents_of, forge, part, same

import dcot
from dcot import DcotError
from dcot.errors import ModelFolderError, ModelFormatError
from dcot.persistence.contents import decode
from dcot.persistence.files import plain_file, read_into
from dcot.persistence.manifest import FORMAT_VERSION, MANIFEST, _checksum

SOURCES = Path(dcot.__file__).parent


@pytest.fixture
def folder(vectorizer, tmp_path):
    vectorizer.save(tmp_path / "model")
    return tmp_path / "model"


def settings_of(folder):
    return json.loads(part(folder, "settings").read_bytes())


def arrays_of(folder):
    return load_file(part(folder, "arrays"))


def change_manifest(folder, change, sign=True):
    document = json.loads((folder / MANIFEST).read_bytes())
    document.pop("checksum")
    change(document)
    if sign:
        document["checksum"] = _checksum(document)
    (folder / MANIFEST).write_text(json.dumps(document))


# -- where there is no model --------------------------------------------------------------------


def test_nothing_there(tmp_path):
    with pytest.raises(ModelFolderError, match="no model folder at"):
        dcot.load(tmp_path / "none")
    with pytest.raises(ModelFormatError, match=r"no dcot\.json"):
        dcot.load(tmp_path)
    (tmp_path / "file").write_text("text")
    with pytest.raises(ModelFolderError, match="not a file"):
        dcot.load(tmp_path / "file")
    for path in (3, None):
        with pytest.raises(DcotError, match="path must be"):
            dcot.load(path)
    for path in ("", "a\0b", "a\ud800b"):
        with pytest.raises(DcotError, match="path must name"):
            dcot.load(path)


@pytest.mark.parametrize("text", ["", "no JSON", "[]", "{}", '{"format": "other"}', "\xff\xfe"])
def test_a_manifest_of_others(tmp_path, model, text):
    (tmp_path / MANIFEST).write_text(text, encoding="latin-1")
    with pytest.raises(ModelFormatError):
        dcot.load(tmp_path)
    with pytest.raises(ModelFolderError, match="is not overwritten"):
        model.save(tmp_path)
    assert (tmp_path / MANIFEST).read_text(encoding="latin-1") == text


def test_other_things_are_not_overwritten(tmp_path, model):
    (tmp_path / "thesis.tex").write_text("years of work")
    for path in (tmp_path, tmp_path / "thesis.tex", tmp_path / "thesis.tex" / "model"):
        with pytest.raises(ModelFolderError):
            model.save(path)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ModelFolderError, match="link to nowhere"):
        model.save(tmp_path / "link")
    assert (tmp_path / "thesis.tex").read_text() == "years of work"
    (tmp_path / "empty").mkdir()
    model.save(tmp_path / "empty")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder(tmp_path, model):
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(ModelFolderError, match="permissions"):
            model.save(tmp_path / "new")
    finally:
        tmp_path.chmod(0o755)


# -- other versions -----------------------------------------------------------------------------


def test_a_newer_format_says_to_upgrade(folder, model):
    def newer(document):
        document.update(format_version=FORMAT_VERSION + 1, dcot_version="9.9", files="elsewhere")

    change_manifest(folder, newer, sign=False)  # who knows how the future signs
    before = contents_of(folder)
    with pytest.raises(ModelFormatError, match=r"format 3, written by dcot 9\.9.*upgrade dcot"):
        dcot.load(folder)
    with pytest.raises(ModelFolderError, match="is not overwritten"):
        model.save(folder)
    assert contents_of(folder) == before


def test_an_older_format_says_to_learn_again(folder):
    change_manifest(folder, lambda document: document.update(format_version=1, dcot_version="0.0"))
    with pytest.raises(ModelFormatError, match=r"format 1, written by dcot 0\.0.*learn the model"):
        dcot.load(folder)


@pytest.mark.parametrize("version", [0, -1, True, 1.0, "1", None, [1]])
def test_a_version_that_never_was(folder, version):
    change_manifest(folder, lambda document: document.update(format_version=version))
    with pytest.raises(ModelFormatError, match="format"):
        dcot.load(folder)


@pytest.mark.parametrize("kind", ["os.system", "dcot.bench.demo", "DCoTClassifierOfTheFuture", ""])
def test_only_known_classes(folder, kind):
    change_manifest(folder, lambda document: document.update(kind=kind))
    with pytest.raises(ModelFormatError, match="does not know"):
        dcot.load(folder)


def test_one_kind_is_not_another(folder):
    change_manifest(folder, lambda document: document.update(kind="DCoT"))
    with pytest.raises(ModelFormatError):
        dcot.load(folder)


def test_a_parameter_of_the_future(folder):
    settings = settings_of(folder)
    settings["dcot"]["parameters"]["magic"] = 1
    forge(folder, settings=settings)
    with pytest.raises(ModelFormatError, match=r"no parameter magic.*upgrade"):
        dcot.load(folder)


def test_a_model_older_than_a_parameter(folder, vectorizer, texts):
    settings = settings_of(folder)
    for part_ in ("counter", "weighting", "dcot"):
        name = {"counter": "grow_vocabulary", "weighting": "k1", "dcot": "ridge"}[part_]
        del settings[part_]["parameters"][name]
    forge(folder, settings=settings)
    assert same(dcot.load(folder).transform(texts), vectorizer.transform(texts))


# -- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["arrays", "settings", "vocabulary"])
@pytest.mark.parametrize("mmap", [False, True])
def test_a_file_missing_cut_off_or_swapped(folder, role, mmap):
    path = part(folder, role)
    whole = path.read_bytes()
    for data in (b"", whole[:-1], whole[: len(whole) // 2], whole + b" "):
        path.write_bytes(data)
        with pytest.raises(ModelFormatError, match="bytes"):
            dcot.load(folder, mmap=mmap)
    path.write_bytes(whole[::-1])
    with pytest.raises(ModelFormatError):
        dcot.load(folder, mmap=mmap)
    path.unlink()
    with pytest.raises(ModelFormatError, match="is missing"):
        dcot.load(folder, mmap=mmap)
    path.mkdir()
    with pytest.raises(ModelFormatError, match="not a plain file"):
        dcot.load(folder, mmap=mmap)


@pytest.mark.skipif(os.name != "posix", reason="pipes with names are those of POSIX")
@pytest.mark.parametrize("name", ["arrays", "settings", "manifest"])
def test_links_and_pipes_are_not_followed(folder, tmp_path, name):
    path = folder / MANIFEST if name == "manifest" else part(folder, name)
    elsewhere = tmp_path / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    with pytest.raises(ModelFormatError, match="not a plain file"):
        dcot.load(folder)
    path.unlink()
    os.mkfifo(path)  # opening one for reading waits for a writer, for ever
    with pytest.raises(ModelFormatError, match="not a plain file"):
        dcot.load(folder)


@pytest.mark.parametrize("mmap", [False, True])
def test_links_are_not_followed_on_windows(folder, tmp_path, monkeypatch, mmap):
    """The system cannot be asked there not to follow them."""
    monkeypatch.delattr(os, "O_NOFOLLOW", raising=False)
    path = part(folder, "arrays")
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ModelFormatError, match="not a plain file"):
        dcot.load(folder, mmap=mmap)


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "/etc/passwd",
        "..\\x",
        "arrays-0000000000000000.safetensors",
        "README.md",
        "",
        None,
        ["x"],
        "arrays\0",
    ],
)
def test_names_that_lead_elsewhere(folder, name):
    change_manifest(folder, lambda document: document["files"]["arrays"].update(name=name))
    with pytest.raises(ModelFormatError, match="do not use this model"):
        dcot.load(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda files: files.pop("arrays"),
        lambda files: files.update(code={"name": "code.py", "size": 1, "sha256": "0" * 64}),
        lambda files: files["arrays"].update(size=-1),
        lambda files: files["arrays"].update(size=1e400),
        lambda files: files["arrays"].update(size=True),
        lambda files: files["arrays"].update(sha256="../../x"),
        lambda files: files["arrays"].update(sha256=None),
        lambda files: files["vocabulary"].update(size=2**40),
        lambda files: files.update(arrays="x"),
    ],
)
def test_a_manifest_that_cannot_be(folder, change):
    change_manifest(folder, lambda document: change(document["files"]))
    with pytest.raises(ModelFormatError):
        dcot.load(folder)


@pytest.mark.parametrize("key", ["dcot_version", "kind", "files"])
def test_a_manifest_without_a_part(folder, key):
    change_manifest(folder, lambda document: document.pop(key))
    with pytest.raises(ModelFormatError, match="lacks its version, kind or files"):
        dcot.load(folder)


def test_a_file_that_becomes_shorter_while_it_is_read(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    with plain_file(path) as (file, _), pytest.raises(ModelFormatError, match="3 bytes where 9"):
        read_into(file, 9, lambda piece: None)


def test_a_manifest_changed_by_hand(folder):
    change_manifest(folder, lambda document: document.update(kind="DCoT"), sign=False)
    with pytest.raises(ModelFormatError, match="checksum"):
        dcot.load(folder)


@pytest.mark.parametrize(
    "bomb",
    [
        b"[" * 200_000 + b"]" * 200_000,
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        b"1" * 100_000,
        b"NaN",
        b'"\xff\xfe"',
        b'{"a": 1,}',
        b"[" + b"[]," * 100_000 + b"[]]",
    ],
)
def test_json_made_to_do_harm(folder, bomb):
    (folder / MANIFEST).rename(folder / "kept")
    (folder / MANIFEST).write_bytes(bomb)
    with pytest.raises(ModelFormatError):
        dcot.load(folder)
    (folder / "kept").replace(folder / MANIFEST)
    whole = contents_of(folder)
    for role in ("settings", "vocabulary"):
        forge(folder, **{role: bomb})
        with pytest.raises(ModelFormatError):
            dcot.load(folder)
        for name, data in whole.items():
            (folder / name).write_bytes(data)


def test_arrays_in_the_settings_have_a_size_in_total(folder):
    """Each entry of a text array takes as much memory as the longest."""
    settings = settings_of(folder)
    wide = {"$array": ["a"] * 20, "dtype": "<U20000"}
    settings["counter"]["parameters"]["stop_words"] = [wide] * 1000
    forge(folder, settings=settings)
    with pytest.raises(ModelFormatError, match="arrays in the settings are too large"):
        dcot.load(folder)


@pytest.mark.parametrize("dtype", ["01", "object", "O", "V8", "<M8", "f4,f4", "(2,)f4", "U", ""])
def test_types_that_settings_do_not_have(folder, dtype):
    settings = settings_of(folder)
    for value in ({"$dtype": dtype}, {"$array": [1, 2], "dtype": dtype}):
        settings["counter"]["parameters"]["dtype"] = value
        forge(folder, settings=settings)
        with pytest.raises(ModelFormatError):
            dcot.load(folder)


def test_no_setting_is_a_function(folder):
    settings = settings_of(folder)
    settings["counter"]["parameters"]["analyzer"] = {"$dtype": "int8"}  # a type can be called
    forge(folder, settings=settings)
    with pytest.raises(ModelFormatError, match="'analyzer' cannot be"):
        dcot.load(folder)


@pytest.mark.parametrize(
    "text",
    [
        b"[" + b"[]," * 1000 + b"[]]",
        b'[\n "a",\n [], [],\n "b"\n]\n',
        b'[\n "a", [], "b"\n]\n',
        b'["a","b"]',
        b'[\n "a\n"\n]\n',
        b'{\n "a": 1\n}\n',
        b"",
    ],
)
def test_a_vocabulary_is_looked_at_before_it_is_parsed(folder, text, monkeypatch):
    """64 MB of empty lists would be gigabytes of Python objects."""
    from dcot.persistence import folder as reading

    parsed = []
    original = reading.from_json
    monkeypatch.setattr(
        reading, "from_json", lambda data, what: parsed.append(data) or original(data, what)
    )
    forge(folder, vocabulary=text)
    with pytest.raises(ModelFormatError, match="list of terms"):
        dcot.load(folder)
    assert text not in parsed


def test_a_file_larger_than_memory_is_not_read(folder, monkeypatch):
    from dcot.persistence import files
    from dcot.persistence import folder as reading

    monkeypatch.setattr(files, "ALWAYS_READ_BYTES", 0)
    monkeypatch.setattr(files, "free_memory", lambda: 1000)
    monkeypatch.setattr(reading, "read_into", lambda *_: pytest.fail("read all the same"))
    monkeypatch.setattr(reading, "_json", lambda *_: {})
    with pytest.raises(dcot.errors.OutOfMemoryError, match="mmap=True"):
        dcot.load(folder)


def test_weights_that_are_larger_than_memory_when_widened(tmp_path, monkeypatch):
    model = dcot.DCoT(100).fit(np.random.default_rng(0).poisson(1.0, (30, 200)))
    model.save(tmp_path / "small", precision="int8")
    size = sum(path.stat().st_size for path in (tmp_path / "small").glob("arrays*"))
    monkeypatch.setattr("dcot.persistence.files.ALWAYS_READ_BYTES", 0)
    monkeypatch.setattr("dcot.persistence.files.free_memory", lambda: size)
    with pytest.raises(dcot.errors.OutOfMemoryError, match="as float32"):
        dcot.load(tmp_path / "small")


@pytest.mark.parametrize("depth", [60, 900, 5_000])
def test_settings_nested_deeply_where_they_are_read(folder, depth):
    text = json.dumps(settings_of(folder))
    deep = '"verbose": ' + "[" * depth + "]" * depth
    forge(folder, settings=text.replace('"verbose": false', deep).encode())
    with pytest.raises(ModelFormatError):
        dcot.load(folder)


def test_a_manifest_too_large(folder):
    (folder / MANIFEST).write_bytes(b" " * (2 << 20))
    with pytest.raises(ModelFormatError, match="too many"):
        dcot.load(folder)


# -- arrays -------------------------------------------------------------------------------------


def header(entries, data=b"", pad=True):
    text = json.dumps(entries).encode() if not isinstance(entries, bytes) else entries
    if pad:
        text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


ONE = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 7,
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 100) + b"{}",
        header(b"[]"),
        header({"x": {**ONE, "shape": [2**40]}}, b"\0" * 4),
        header({"x": {**ONE, "shape": [2**32, 2**32], "data_offsets": [0, 0]}}),
        header({"x": {**ONE, "shape": [-1]}}, b"\0" * 4),
        header({"x": {**ONE, "shape": "1"}}, b"\0" * 4),
        header({"x": {**ONE, "data_offsets": [0, 2**62]}}, b"\0" * 4),
        header({"x": {**ONE, "data_offsets": [4, 0]}}, b"\0" * 4),
        header({"x": {**ONE, "data_offsets": [-4, 0]}}, b"\0" * 4),
        header({"x": {**ONE, "dtype": "O"}}, b"\0" * 4),
        header({"x": {**ONE, "dtype": "BF16", "shape": [2]}}, b"\0" * 4),
        header({"x": ONE, "y": ONE}, b"\0" * 4),
        header({"x": ONE}, b"\0" * 8),
        header({"x": None}, b"\0" * 4),
        header({"x": ONE}, b"\0" * 4, pad=False),
        header(b'{"x":' * 3000 + b"1" + b"}" * 3000),
        pickle.dumps(print),
    ],
)
@pytest.mark.parametrize("mmap", [False, True])
def test_arrays_that_cannot_be(folder, data, mmap):
    forge(folder, arrays=data)
    with pytest.raises(ModelFormatError):
        dcot.load(folder, mmap=mmap)


def test_arrays_that_nothing_asks_for(folder):
    arrays = arrays_of(folder)
    for name in ("more", "more.scale", "layer3.coef"):
        forge(folder, arrays={**arrays, name: np.zeros((2, 2), dtype=np.int8)})
        with pytest.raises(ModelFormatError, match=f"do not belong to the model.*{name}"):
            dcot.load(folder)


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["idf", "layer1.coef", "layer2.intercept", "loss"])
def test_numbers_that_are_not_finite(folder, name, value, mmap):
    arrays = arrays_of(folder)
    arrays[name].reshape(-1)[-1] = value
    forge(folder, arrays=arrays)
    with pytest.raises(ModelFormatError, match=f"'{name}' has NaN"):
        dcot.load(folder, mmap=mmap)


@pytest.mark.parametrize("name", ["squares", "document_frequency"])
def test_moments_below_zero(tmp_path, X, name):
    dcot.DCoT(5).partial_fit(X).save(tmp_path / "model", keep_moments=True)
    arrays = arrays_of(tmp_path / "model")
    arrays[f"moments.{name}"] = np.full(X.shape[1], -1e-9)
    forge(tmp_path / "model", arrays=arrays)
    with pytest.raises(ModelFormatError, match="negative"):
        dcot.load(tmp_path / "model")


@pytest.mark.parametrize(
    "columns",
    [
        [0, 2**63 - 1, -(2**63), 5],
        [2, 1, 3, 4],
        [0, 1, 1, 2],
        [-1, 0, 1, 2],
        [0, 1, 2, 10**6],
    ],
)
def test_prototypes_out_of_order(folder, columns):
    """The differences of the first are positive, because they overflow."""
    arrays = arrays_of(folder)
    arrays["prototypes"] = np.array(columns)
    forge(folder, arrays=arrays)
    with pytest.raises(ModelFormatError, match="prototypes are not increasing"):
        dcot.load(folder)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("layer1.coef", lambda a: a.T),
        ("layer1.coef", lambda a: a[:, :-1]),
        ("layer1.coef", lambda a: a.astype(np.int64)),
        ("layer1.coef", lambda a: a.astype(np.float64)),
        ("layer1.coef", lambda a: a.astype(np.float16)),
        ("layer1.coef", lambda a: a.astype(np.int8)),
        ("layer2.coef", lambda a: a[None]),
        ("layer2.intercept", lambda a: a[:-1]),
        ("layer2.mean", lambda a: a.reshape(1, -1)),
        ("loss", lambda a: a[:1]),
        ("prototypes", lambda a: a + 1000),
        ("prototypes", lambda a: a - 1000),
        ("prototypes", lambda a: a[::-1]),
        ("prototypes", lambda a: a * 0),
        ("prototypes", lambda a: a.astype(np.float64)),
        ("idf", lambda a: a[:-1]),
        ("idf", lambda a: None),
        ("prototypes", lambda a: None),
        ("layer2.mean", lambda a: None),
    ],
)
def test_arrays_that_do_not_fit_one_another(folder, name, change):
    arrays = arrays_of(folder)
    changed = change(arrays.pop(name))
    if changed is not None:
        arrays[name] = np.ascontiguousarray(changed)
    forge(folder, arrays=arrays)
    with pytest.raises(ModelFormatError):
        dcot.load(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda terms: terms[:-1],
        lambda terms: [*terms, "more"],
        lambda terms: [*terms[:-1], terms[0]],
        lambda terms: [*terms[:-1], 3],
        lambda terms: [*terms[:-1], "\ud800"],
        lambda terms: dict.fromkeys(terms, 0),
        lambda terms: None,
        lambda terms: [],
    ],
)
def test_a_vocabulary_that_does_not_fit(folder, change):
    terms = json.loads(part(folder, "vocabulary").read_bytes())
    changed = change(terms)
    forge(folder, vocabulary=None if changed is None else json.dumps(changed).encode())
    with pytest.raises(ModelFormatError):
        dcot.load(folder)


@pytest.mark.parametrize("entries", [[["x"] * 3], [{"x": 1}], "xxx"], ids=str)
def test_arrays_in_the_settings_are_flat(entries):
    """Their size in memory is checked by their length: a list inside would go uncounted."""
    with pytest.raises(ModelFormatError, match="not plain values"):
        decode({"$array": entries, "dtype": "<U99999"})


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("dcot", "n_terms"), 10**30),
        (("dcot", "n_terms"), "9"),
        (("dcot", "n_prototypes"), 0),
        (("dcot", "layers"), []),
        (("dcot", "layers"), [{}] * 200),
        (("dcot", "layers", 0), 1),
        (("dcot", "layers", 0, "squash"), "exec"),
        (("dcot", "output"), "all"),
        (("dcot", "n_components"), 3),
        (("dcot", "moments"), {"n": 1}),
        (("dcot", "parameters", "noise"), 2),
        (("dcot", "parameters", "noise"), {"$call": "os.system"}),
        (("dcot", "parameters", "noise"), {"$array": ["x"] * 10, "dtype": "<U10000000"}),
        (("dcot", "parameters", "noise"), {"$array": [1], "dtype": "O"}),
        (("dcot", "parameters", "noise"), {"$array": 1, "dtype": "<f8"}),
        (("dcot", "parameters"), None),
        (("counter", "parameters", "token_pattern"), "("),
        (("counter", "parameters", "ngram_range"), [2, 1]),
        (("counter", "parameters", "n_threads"), -3),
        (("counter", "parameters", "dtype"), "object"),
        (("counter", "n_documents"), None),
        (("weighting", "parameters", "scheme"), "x"),
        (("weighting", "parameters", "k1"), "x"),
        (("weighting", "mean_length"), "x"),
        (("container",), "os"),
        (("dcot",), []),
    ],
)
def test_settings_that_cannot_be(folder, place, value):
    settings = settings_of(folder)
    target = settings
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = value
    forge(folder, settings=settings)
    with pytest.raises(ModelFormatError):
        dcot.load(folder)


# -- never pickle -------------------------------------------------------------------------------

WATCHED = {"on": False}
OPENED: list[str] = []
RUNNING = ("pickle.", "marshal.", "subprocess.", "os.", "compile", "exec")


def _watch(event, arguments):
    if not WATCHED["on"]:
        return
    if event == "open" and not isinstance(arguments[0], int):  # else opened before, by name
        OPENED.append(str(arguments[0]))
    elif event.startswith(RUNNING):
        OPENED.append(event)


class Bomb:
    def __reduce__(self):
        return exec, ("raise SystemExit('unpickled')",)


def test_loading_opens_the_files_of_the_model_and_runs_nothing(folder):
    for name in ("model.pkl", "arrays.pkl", "settings.pickle", "code.py"):
        (folder / name).write_bytes(pickle.dumps(Bomb()))
    dcot.load(folder)  # imports what it needs
    sys.addaudithook(_watch)
    WATCHED["on"] = True
    try:
        dcot.load(folder)
    finally:
        WATCHED["on"] = False
    expected = {MANIFEST, *(part(folder, r).name for r in ("arrays", "settings", "vocabulary"))}
    assert {Path(name).name for name in OPENED} == expected


def test_arrays_are_plain_safetensors(folder, vectorizer, texts):
    arrays = arrays_of(folder)
    np.testing.assert_array_equal(arrays["layer1.coef"], vectorizer.layers_[0].coef_)
    forge(folder, arrays=save(arrays))  # written by the library, read by us
    assert same(dcot.load(folder).transform(texts), vectorizer.transform(texts))
