"""Features to files: the same as transform, in order, and taken up after a crash."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from tests.unit.streaming.corpus import matrix, texts

from dcot import DCoT, DcotError, DCoTVectorizer
from dcot._exceptions import InvalidInputError, InvalidParameterError, InvalidTypeError, OutputError
from dcot.streaming import writing


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


@pytest.mark.parametrize("name", ["z.npy", "z.parquet"])
def test_the_same_as_transform(model, X, tmp_path, name, small_steps):
    expected = model.transform(X)
    for source in (X, [X[:100], X[:0], X[100:]], lambda: iter([X[:7], X[7:]])):
        assert model.transform_to(source, tmp_path / name, overwrite=True) == X.shape[0]
        got = read(tmp_path / name)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == [name]


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
        np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), expected)


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
    whole = DCoT.transform

    def counted(self, documents):
        calls.append(documents.shape[0])
        return whole(self, documents)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DCoT, "transform", counted)
        model.transform_to(lambda: broken(X, 99), tmp_path / name)
    assert sum(calls) == 400 - 50 * after
    np.testing.assert_array_equal(read(tmp_path / name), model.transform(X))


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
    np.testing.assert_array_equal(np.load(path), other.transform(X))


def test_what_is_there_is_not_replaced(model, X, tmp_path):
    path = tmp_path / "z.npy"
    model.transform_to(X, path)
    with pytest.raises(InvalidParameterError, match="there already"):
        model.transform_to(X, path)
    with pytest.raises(InvalidParameterError, match="does not exist"):
        model.transform_to(X, tmp_path / "no" / "z.npy")


def test_sparse_features_and_sources_in_the_wrong_place(X, tmp_path):
    model = DCoT(20, output="concat").fit(X)
    with pytest.raises(InvalidParameterError, match="concat"):
        model.transform_to(X, tmp_path / "z.npy")
    with pytest.raises(InvalidTypeError, match="transform_to"):
        model.transform(lambda: iter([X]))


FULL = """
import resource, signal, sys
import numpy as np
from dcot import DCoT
from dcot.streaming import writing
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


def test_a_full_disk_keeps_what_is_written(tmp_path):
    command = [sys.executable, "-c", FULL, str(tmp_path / "z.npy")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "OutputError" in done.stdout
    assert "no more room. The features of 200 documents are written" in done.stdout


def test_an_output_error_is_ours():
    assert issubclass(OutputError, DcotError)


KILLED = """
import sys, time
import dcot
from dcot.streaming import writing
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
                os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not path.exists()
    noted = json.loads((tmp_path / "z.npy.progress").read_text())
    assert noted["rows"] >= 150
    model.transform_to([X[i : i + 50] for i in range(0, 400, 50)], path)
    np.testing.assert_array_equal(read(path), model.transform(X))
