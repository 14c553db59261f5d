"""Features to files: the same as transform, in order, and taken up after a crash."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from tests.unit.streaming.corpus import matrix, texts

import dcot
from dcot import DCoT, DcotError, DCoTVectorizer
from dcot.errors import InvalidInputError, InvalidParameterError, InvalidTypeError, OutputError
from dcot.stream import Blocks, writing


@pytest.fixture
def X():
    return matrix()


@pytest.fixture
def model(X):
    return DCoT(20, n_layers=2).fit(X)


@pytest.fixture
def small_steps(monkeypatch):
    """Several slices a batch, and a note after each batch."""
    monkeypatch.setattr(writing, "_SLICE_BYTES", 40 * 8 * 30)
    monkeypatch.setattr(writing, "_SYNC_BYTES", 1)


def read(path):
    if path.suffix == ".npy":
        return np.load(path, mmap_mode="r")
    frame = pl.concat([pl.read_parquet(part) for part in sorted(path.glob("part-*.parquet"))])
    assert frame["document"].to_list() == list(range(len(frame)))
    return frame["features"].to_numpy()


def assert_close(got, expected):
    """Equal to rounding: other blocks of documents may give other last digits."""
    tolerance = 16 * np.finfo(expected.dtype).eps
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("name", ["z.npy", "z.parquet"])
def test_the_same_as_transform(model, X, tmp_path, name, small_steps):
    expected = model.transform(X)
    for source in (X, [X[:100], X[:0], X[100:]], lambda: iter([X[:7], X[7:]])):
        assert model.transform_to(source, tmp_path / name, overwrite=True) == X.shape[0]
        got = read(tmp_path / name)
        assert got.dtype == expected.dtype
        assert_close(got, expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == [name]


@pytest.mark.parametrize("name", ["z.npy", "z.parquet"])
@pytest.mark.parametrize("kind", [sp.coo_matrix, sp.coo_array, sp.csc_array, sp.bsr_array])
def test_batches_of_every_sparse_format(model, X, tmp_path, name, kind, small_steps):
    model.transform_to([kind(X[:70]), kind(X[70:])], tmp_path / name)
    assert_close(read(tmp_path / name), model.transform(X))


def test_indices_are_checked_before_a_batch_is_cut(model, X, tmp_path, small_steps):
    bad = X.tocoo()
    bad.coords[1][5] = 10**6
    with pytest.raises(InvalidInputError, match="columns go from"):
        model.transform_to(lambda: iter([bad]), tmp_path / "z.npy")


@pytest.mark.parametrize("name", ["z.npy", "z.parquet"])
def test_an_error_in_the_first_batch_leaves_nothing(model, X, tmp_path, name, small_steps):
    bad = X.toarray()
    bad[200, 3] = np.nan
    with pytest.raises(InvalidInputError, match="NaN"):
        model.transform_to([bad], tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_everything_is_on_the_disk_before_the_output_is_named(model, X, tmp_path, monkeypatch):
    synced, real = set(), os.fsync

    def noted(handle):
        synced.add(os.fstat(handle).st_ino)
        real(handle)

    monkeypatch.setattr(os, "fsync", noted)
    model.transform_to(X, tmp_path / "z")
    written = {path.name: path.stat().st_ino for path in (tmp_path / "z").iterdir()}
    assert "features.json" in written
    assert set(written.values()) <= synced


def test_names_of_the_features(model, X, tmp_path):
    model.transform_to(X, tmp_path / "z")
    facts = json.loads((tmp_path / "z" / "features.json").read_text())
    assert facts["features"] == model.get_feature_names_out().tolist()
    assert facts["documents"] == 400


def test_texts(tmp_path):
    documents = texts()
    model = DCoTVectorizer(n_prototypes=20).fit(documents).set_output(transform="pandas")
    for given in (documents, lambda: iter(documents), iter(documents)):
        model.transform_to(given, tmp_path / "z.npy", overwrite=True)
        expected = model.transform(documents).to_numpy()
        assert_close(np.load(tmp_path / "z.npy"), expected)


def broken(X, after):
    for number, start in enumerate(range(0, 400, 50)):
        if number == after:
            raise RuntimeError("the power went")
        yield X[start : start + 50]


@pytest.mark.parametrize("name", ["z.npy", "z.parquet"])
@pytest.mark.parametrize("after", [0, 1, 5])
def test_it_goes_on_after_a_crash(model, X, tmp_path, name, after, small_steps):
    with pytest.raises(RuntimeError, match="power"):
        model.transform_to(lambda: broken(X, after), tmp_path / name)
    assert not (tmp_path / name).exists()
    calls = []
    features = DCoT._features

    def counted(self, documents):
        calls.append(documents.shape[0])
        return features(self, documents)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DCoT, "_features", counted)
        model.transform_to(lambda: broken(X, 99), tmp_path / name)
    assert sum(calls) == 400 - 50 * after
    whole = tmp_path / f"whole.{name}"
    model.transform_to(lambda: broken(X, 99), whole)
    np.testing.assert_array_equal(read(tmp_path / name), read(whole))  # to the last bit
    assert_close(read(whole), model.transform(X))


def test_another_model_or_source_is_not_taken_up(model, X, tmp_path, small_steps):
    path = tmp_path / "z.npy"
    with pytest.raises(RuntimeError):
        model.transform_to(lambda: broken(X, 3), path)
    other = DCoT(20, noise=0.5).fit(X)
    with pytest.raises(InvalidParameterError, match="begun with another model"):
        other.transform_to(lambda: broken(X, 99), path)
    with pytest.raises(InvalidInputError, match=r"150 documents, and now they have 210"):
        model.transform_to(lambda: iter([X[:70]] * 5), path)
    other.transform_to(X, path, overwrite=True)
    assert_close(np.load(path), other.transform(X))


def batches(X):
    return [X[start : start + 50] for start in range(0, X.shape[0], 50)]


def test_every_batch_changes_the_checksum(X):
    words = [pl.Series(["a b", "c"]), pl.Series(["a", "b c"]), pl.Series(["a b", "d"]), ["a b c"]]
    dense = X[:3].toarray()
    moved = X[:3].tolil()
    moved[0, 5] = 1
    made = [writing.checksum(one) for one in (*words, dense, 2 * dense, X[:3], moved, X[:2])]
    assert len(set(made)) == len(made)
    assert writing.checksum(["a b", "c"]) == made[0]  # whatever texts come in
    assert writing.checksum(np.array(["a b", "c"])) == made[0]
    assert writing.checksum(dense.astype(object)) == made[4]
    assert writing.checksum(X[:0]) != writing.checksum(X[:0], before=1)
    assert writing.checksum(pl.Series([], dtype=pl.String)) == writing.checksum([])
    assert isinstance(writing.checksum(["half of a pair: \ud800"]), int)


@pytest.mark.parametrize("dense", [False, True])
def test_other_documents_are_not_mixed_in(model, X, tmp_path, dense):
    """As many documents in as many batches, of which one early value is another."""
    path = tmp_path / "z.npy"
    rows = X.toarray() if dense else X
    with pytest.raises(RuntimeError):
        model.transform_to(lambda: broken(rows, 3), path)
    other = X.toarray()
    other[60, 7] += 1
    other = other if dense else sp.csr_array(other)
    record = (tmp_path / "z.npy.progress").read_text()
    with pytest.raises(InvalidInputError, match=r"first 150 documents were different: give"):
        model.transform_to(lambda: broken(other, 99), path)
    assert (tmp_path / "z.npy.progress").read_text() == record
    model.transform_to(lambda: broken(rows, 99), path)
    np.testing.assert_allclose(read(path), model.transform(rows), atol=1e-12)


@pytest.mark.parametrize("column", [False, True])
def test_other_texts_are_not_mixed_in(tmp_path, column):
    documents = texts()
    model = DCoTVectorizer(n_prototypes=20).fit(documents)

    def given(changed=None, end=False):
        for start in range(0, 300, 50):
            if end and start == 100:
                raise RuntimeError("the power went")
            some = documents[start : start + 50]
            some = ["something else", *some[1:]] if start == changed else some
            yield pl.Series(some, dtype=pl.String) if column else some

    with pytest.raises(RuntimeError):
        model.transform_to(lambda: given(end=True), tmp_path / "z")
    with pytest.raises(InvalidInputError, match="100 documents were different"):
        model.transform_to(lambda: given(changed=50), tmp_path / "z")
    model.transform_to(given, tmp_path / "z")
    model.transform_to(given, tmp_path / "whole")
    np.testing.assert_array_equal(read(tmp_path / "z"), read(tmp_path / "whole"))
    assert_close(read(tmp_path / "z"), model.transform(documents))


@pytest.mark.parametrize("name", ["z.npy", "z.parquet"])
@pytest.mark.parametrize("left", [0, 2, 3])
def test_a_source_that_is_shorter_now(model, X, tmp_path, name, left):
    with pytest.raises(RuntimeError):
        model.transform_to(lambda: broken(X, 3), tmp_path / name)
    short = batches(X)[:left]
    if left == 3:  # all that was written, and no more
        assert model.transform_to(lambda: iter(short), tmp_path / name) == 150
        assert_close(read(tmp_path / name), model.transform(X[:150]))
        return
    with pytest.raises(
        InvalidInputError, match=rf"had 150 documents, and now they have {50 * left}:"
    ):
        model.transform_to(lambda: iter(short), tmp_path / name)
    assert not (tmp_path / name).exists()


def test_a_note_without_a_checksum(model, X, tmp_path):
    path = tmp_path / "z.npy"
    with pytest.raises(RuntimeError):
        model.transform_to(lambda: broken(X, 3), path)
    record = tmp_path / "z.npy.progress"
    old = json.loads(record.read_text())
    del old["checksum"]
    record.write_text(json.dumps(old))
    with pytest.raises(InvalidInputError, match=r"begun by an older version.*overwrite=True"):
        model.transform_to(batches(X), path)
    model.transform_to(batches(X), path, overwrite=True)
    assert_close(np.load(path), model.transform(X))


def counting(patch):
    """The sizes of what is transformed from here on."""
    calls, features = [], DCoT._features

    def counted(self, documents):
        calls.append(documents.shape[0])
        return features(self, documents)

    patch.setattr(DCoT, "_features", counted)
    return calls


@pytest.mark.parametrize("name", ["z.npy", "z.parquet"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, SystemExit, ValueError])
def test_small_outputs_go_on_too(model, X, tmp_path, name, error, monkeypatch):
    """Far less than what is noted by the way; the error comes within a batch."""
    monkeypatch.setattr(writing, "_SLICE_BYTES", 40 * 8 * 30)
    calls, real = [], DCoT._features

    def failing(self, documents):
        calls.append(documents.shape[0])
        if len(calls) == 6:  # the second half of the third batch
            raise error
        return real(self, documents)

    with monkeypatch.context() as patch:
        patch.setattr(DCoT, "_features", failing)
        with pytest.raises(error):
            model.transform_to(batches(X), tmp_path / name)
    assert json.loads((tmp_path / f"{name}.progress").read_text())["rows"] == 100
    left = tmp_path / f"{name}.partial"  # the first half of the third batch takes no room
    if name == "z.npy":
        assert left.stat().st_size == 128 + 100 * 40 * 8
    else:
        assert max(part.name for part in left.iterdir()) < f"part-{100:015d}"
    with monkeypatch.context() as patch:
        calls = counting(patch)
        model.transform_to(batches(X), tmp_path / name)
    assert sum(calls) == 300
    assert_close(read(tmp_path / name), model.transform(X))
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_the_first_error_is_the_one_to_see(model, X, tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RuntimeError, match="the power went"):
        model.transform_to(lambda: broken(X, 3), tmp_path / "z.npy")
    assert list(tmp_path.iterdir()) == []  # without a record, nothing can be resumed


def test_a_note_that_cannot_be_written(model, X, tmp_path, monkeypatch):
    """The message does not call safe what is not noted."""
    real = writing.write_atomically

    def full(path, data):
        if json.loads(data)["rows"] > 100:
            error = OutputError("cannot write it")
            error.errno = errno.ENOSPC
            raise error
        real(path, data)

    monkeypatch.setattr(writing, "_SYNC_BYTES", 1)
    monkeypatch.setattr(writing, "write_atomically", full)
    with pytest.raises(OutputError, match="features of 100 documents are written and safe"):
        model.transform_to(batches(X), tmp_path / "z.npy")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["z.npy.partial", "z.npy.progress"]


def test_an_end_that_fails_is_taken_up(model, X, tmp_path, monkeypatch):
    def fails(self, rows):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(writing.Npy, "finish", fails)
        with pytest.raises(OutputError, match=r"400 documents are written and safe"):
            model.transform_to(batches(X), tmp_path / "z.npy")
    with monkeypatch.context() as patch:
        calls = counting(patch)
        assert model.transform_to(batches(X), tmp_path / "z.npy") == 400
    assert calls == []
    assert_close(np.load(tmp_path / "z.npy"), model.transform(X))


def test_a_source_that_cannot_be_read_is_not_the_output(model, X, tmp_path):
    def gone():
        yield X[:50]
        (tmp_path / "no such file").read_text()

    with pytest.raises(InvalidInputError, match=r"source cannot be read: .*no such file") as caught:
        model.transform_to(gone, tmp_path / "z.npy")
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    assert json.loads((tmp_path / "z.npy.progress").read_text())["rows"] == 50


def test_a_partial_file_that_lost_its_end_is_begun_anew(model, X, tmp_path):
    with pytest.raises(RuntimeError):
        model.transform_to(lambda: broken(X, 3), tmp_path / "z.npy")
    with open(tmp_path / "z.npy.partial", "r+b") as file:
        file.truncate(1000)
    model.transform_to(batches(X), tmp_path / "z.npy")
    assert_close(np.load(tmp_path / "z.npy"), model.transform(X))


@pytest.mark.parametrize("after", [0, 3])
def test_a_link_in_place_of_the_partial_file_is_not_followed(model, X, tmp_path, after):
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious" * 10_000)
    if after:
        with pytest.raises(RuntimeError):
            model.transform_to(lambda: broken(X, after), tmp_path / "z.npy")
        (tmp_path / "z.npy.partial").unlink()
    (tmp_path / "z.npy.partial").symlink_to(precious)
    model.transform_to(batches(X), tmp_path / "z.npy")
    assert_close(np.load(tmp_path / "z.npy"), model.transform(X))
    assert precious.read_bytes() == b"precious" * 10_000


@pytest.mark.parametrize("name", ["z.npy", "z.parquet"])
def test_an_older_output_stays_until_it_is_replaced(model, X, tmp_path, name, monkeypatch):
    path = tmp_path / name
    model.transform_to(X[:50], path)

    def interrupted(**options):
        with pytest.raises(RuntimeError):
            model.transform_to(lambda: broken(X, 3), path, overwrite=True, **options)
        assert len(read(path)) == 50

    def transformed(**options):
        with monkeypatch.context() as patch:
            calls = counting(patch)
            model.transform_to(batches(X), path, overwrite=True, **options)
        assert_close(read(path), model.transform(X))
        return sum(calls)

    interrupted()
    with pytest.raises(InvalidParameterError, match=r"already exists.*resume=True, to resume"):
        model.transform_to(batches(X), path)
    assert transformed(resume=True) == 250
    model.transform_to(X[:50], path, overwrite=True)
    interrupted()
    assert transformed() == 400  # overwrite alone starts again
    model.transform_to(X[:50], path, overwrite=True)
    assert transformed(resume=True) == 400  # nothing to go on with


def test_resume_false_starts_again(model, X, tmp_path, monkeypatch):
    with pytest.raises(RuntimeError):
        model.transform_to(lambda: broken(X, 3), tmp_path / "z.npy")
    calls = counting(monkeypatch)
    model.transform_to(batches(X), tmp_path / "z.npy", resume=False)
    assert sum(calls) == 400


def test_what_is_there_is_not_replaced(model, X, tmp_path):
    path = tmp_path / "z.npy"
    model.transform_to(X, path)
    with pytest.raises(InvalidParameterError, match="already exists"):
        model.transform_to(X, path)
    with pytest.raises(InvalidParameterError, match="does not exist"):
        model.transform_to(X, tmp_path / "no" / "z.npy")


def upper(text):
    return text.upper().split()


def lower(text):
    return text.lower().split()


CHANGES = [
    {},
    {"squash": "tanh"},
    {"output": "last"},
    {"normalize": "center"},
    {"normalize": None},
    {"n_components": 5},
    {"output": "lsi"},
    {"dtype": "float64"},
    {"weighting": "bm25"},
    {"norm": None},
    {"sublinear_tf": False},
    {"weighting": "bm25", "k1": 2.0},
    {"binary": True},
    {"lowercase": False},
    {"ngram_range": (1, 2)},
    {"stop_words": ["w001", "w002"]},
    {"token_pattern": r"\w+"},
    {"analyzer": upper},
    {"analyzer": lower},
]


def mark(model):
    return model._fingerprint()


def test_the_fingerprint_changes_with_the_settings():
    marks = []
    for change in CHANGES:
        made = DCoTVectorizer(**{"n_prototypes": 10, "solver": "primal", **change}).fit(texts(60))
        marks.append(mark(made))
    assert len(set(marks)) == len(CHANGES)


def alike():
    made = DCoTVectorizer(n_prototypes=10, solver="primal", squash="identity").fit(texts())
    return made, made.dcot_


def with_layers(fitted, **change):
    made = fitted.representation
    layers = [replace(layer, **change) for layer in made.layers]
    return replace(fitted, representation=replace(made, layers=layers))


def test_the_fingerprint_hears_of_what_is_not_in_the_coefficients():
    model, inner = alike()
    before = mark(model)
    inner._adopt(with_layers(inner._fitted(), squash="tanh"), None)
    squashed = mark(model)
    inner.layers_[0].mean_[0] += 1
    moved = mark(model)
    model.weighting_.norm = None
    unscaled = mark(model)
    model.weighting_.mean_length_ += 1
    longer = mark(model)
    model.counter_.lowercase = False
    assert len({before, squashed, moved, unscaled, longer, mark(model)}) == 6


def test_the_fingerprint_stays(tmp_path):
    model, _ = alike()
    before = mark(model)
    model.counter_.stop_words = {"two", "a", "the"}
    some = mark(model)
    model.counter_.stop_words = {"the", "a", "two"}
    model.counter_.n_threads = 1
    assert mark(model) == some != before
    model, _ = alike()
    model.save(tmp_path / "model")
    loaded = dcot.load(tmp_path / "model")
    assert mark(loaded) == before


def test_sparse_features_and_sources_in_the_wrong_place(X, tmp_path):
    model = DCoT(20, output="concat").fit(X)
    with pytest.raises(InvalidParameterError, match="concat"):
        model.transform_to(X, tmp_path / "z.npy")
    with pytest.raises(InvalidTypeError, match="transform_to"):
        model.reconstruct(lambda: iter([X]))


FULL = """
import resource, signal, sys
import numpy as np
from dcot import DCoT
from dcot.stream import Blocks, writing
from tests.unit.streaming.corpus import matrix
writing._SYNC_BYTES = 1
X = matrix()
model = DCoT(20).fit(X)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (40 * 8 * 210, resource.RLIM_INFINITY))
source = [X[i : i + 50] for i in range(0, 400, 50)]
try:
    model.transform_to(source, sys.argv[1])
except OSError as error:
    print(type(error).__name__, error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
model.transform_to(source, sys.argv[1])
np.testing.assert_array_equal(np.load(sys.argv[1]), model.transform(X))
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_a_full_disk_keeps_what_is_written(tmp_path):
    command = [sys.executable, "-c", FULL, str(tmp_path / "z.npy")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "OutputError" in done.stdout
    assert "no more room. The features of 200 documents are written" in done.stdout


def test_a_full_disk_and_a_folder(model, X, tmp_path, no_room):
    """The files that are complete stay; the one that is not is made again."""
    model.transform_to(X[:100], tmp_path / "one")
    size = next((tmp_path / "one").glob("part-*")).stat().st_size
    with no_room(size + 100):
        model.transform_to([X[:100]], tmp_path / "z")  # there is room for as much as this
        with pytest.raises(OutputError, match=r"no more room\. The features of 100 documents"):
            model.transform_to([X[:100], X[100:]], tmp_path / "more")
    assert len(list((tmp_path / "more.partial").glob("part-*"))) == 1
    assert model.transform_to([X[:100], X[100:]], tmp_path / "more") == 400
    assert_close(read(tmp_path / "more"), model.transform(X))


def test_an_output_error_is_ours():
    assert issubclass(OutputError, DcotError)


KILLED = """
import sys, time
import dcot
from dcot.stream import Blocks, writing
from tests.unit.streaming.corpus import matrix
writing._SYNC_BYTES = 1
X = matrix()
model = dcot.load(sys.argv[2])
def slow():
    for i in range(0, 400, 50):
        yield X[i : i + 50]
        print("batch", i, flush=True)
        time.sleep(0.05)
model.transform_to(slow, sys.argv[1])
"""


def test_a_killed_process_is_taken_up(model, X, tmp_path):
    path = tmp_path / "z.npy"
    model.save(tmp_path / "model")
    command = [sys.executable, "-c", KILLED, str(path), str(tmp_path / "model")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if line.startswith("batch 150"):
                process.kill()
    assert process.returncode
    assert not path.exists()
    noted = json.loads((tmp_path / "z.npy.progress").read_text())
    assert noted["rows"] >= 150
    model.transform_to([X[i : i + 50] for i in range(0, 400, 50)], path)
    assert_close(read(path), model.transform(X))


@pytest.mark.parametrize("name", ["z.npy", "z"])
def test_folders_of_others_are_never_replaced(model, X, tmp_path, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "thesis.txt").write_text("three years of work")
    with pytest.raises(InvalidParameterError, match="not hold features that dcot wrote"):
        model.transform_to(X, tmp_path / name, overwrite=True)
    assert (tmp_path / name / "thesis.txt").read_text() == "three years of work"


def test_features_among_files_of_others_are_not_replaced(model, X, tmp_path):
    model.transform_to(X, tmp_path / "z")
    (tmp_path / "z" / "thesis.txt").write_text("three years of work")
    with pytest.raises(InvalidParameterError, match=r"other files \(thesis.txt\)"):
        model.transform_to(X, tmp_path / "z", overwrite=True)
    assert (tmp_path / "z" / "thesis.txt").read_text() == "three years of work"
    (tmp_path / "z" / "thesis.txt").unlink()
    assert model.transform_to(X, tmp_path / "z", overwrite=True) == 400


def test_other_endings_are_refused(model, X, tmp_path):
    with pytest.raises(InvalidParameterError, match=r"ends in \.csv"):
        model.transform_to(X, tmp_path / "z.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_batch_that_cannot_be_used_is_named(tmp_path, on_error):
    X = np.random.default_rng(0).poisson(1.0, (20, 6)).astype(float)
    bad = X.copy()
    bad[3, 2] = np.nan
    model = DCoT(3).fit(X)
    with pytest.raises(InvalidInputError, match=r"block 1: .*NaN"):
        model.transform_to(Blocks([X, bad, X], on_error), tmp_path / "a.npy")
    assert model.transform_to(Blocks([X, X, X], on_error), tmp_path / "a.npy") == 60
    expected = model.transform(np.vstack([X, X, X]))
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), expected)


def test_what_gives_no_batches_is_refused():
    for given in (lambda: None, lambda: 3):
        with pytest.raises(InvalidTypeError, match="expected batches"):
            DCoT(3).fit(given)
    with pytest.raises(InvalidTypeError, match="list of matrices"):
        Blocks(None)


@pytest.mark.skipif(sys.platform == "win32", reason="no locks there")
@pytest.mark.parametrize("name", ["z.npy", "z"])
def test_two_writers_of_one_output(model, X, tmp_path, name):
    path, refused = tmp_path / name, []

    def with_another_meanwhile():
        for batch in batches(X):
            with pytest.raises(OutputError, match="written by another process"):
                model.transform_to(X[:50], path, overwrite=True)
            refused.append(True)
            yield batch

    model.transform_to(with_another_meanwhile, path)
    assert refused
    assert_close(read(path), model.transform(X))
    assert sorted(one.name for one in tmp_path.iterdir()) == [name]


@pytest.mark.parametrize("name", ["z.npy", "z"])
def test_what_only_has_the_name_of_an_unfinished_output_stays(model, X, tmp_path, name):
    partial = tmp_path / f"{name}.partial"
    if name == "z":
        partial.mkdir()
        (partial / "thesis.txt").write_text("three years of work")
    else:
        partial.write_text("three years of work")
    with pytest.raises(InvalidParameterError, match="move it away"):
        model.transform_to(X, tmp_path / name)
    kept = partial / "thesis.txt" if name == "z" else partial
    assert kept.read_text() == "three years of work"


@pytest.mark.parametrize("damage", [{"rows": "a"}, {"batches": -1}, {"rows": 1.5}])
def test_a_note_with_other_counts(model, X, tmp_path, damage):
    with pytest.raises(RuntimeError):
        model.transform_to(lambda: broken(X, 3), tmp_path / "z.npy")
    record = tmp_path / "z.npy.progress"
    record.write_text(json.dumps(json.loads(record.read_text()) | damage))
    with pytest.raises(InvalidInputError, match="is damaged"):
        model.transform_to(batches(X), tmp_path / "z.npy")
