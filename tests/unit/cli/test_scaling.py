"""Fits that are larger than memory, or than this machine, from the command line."""

from __future__ import annotations

import functools
import itertools
import re
import socket
from types import SimpleNamespace

import pytest
from tests.unit.cli.running import documents, run
from tests.unit.streaming.same import assert_same_model

import dcot

SMALL = ("--solver", "primal", "--n-prototypes", 8)
ROUNDING = 1e-4  # of single precision


@pytest.fixture
def folder(here):
    """Three files of different sizes."""
    texts = [text for _, _, text in documents(copies=30)]
    for number, part in enumerate((texts[:20], texts[20:150], texts[150:])):
        (here / f"part{number}.txt").write_text("".join(f"{text}\n" for text in part))
    return here


PARTS = ("part0.txt", "part1.txt", "part2.txt")


# -- with Dask ----------------------------------------------------------------------------------


def test_the_model_of_dask_is_the_model(folder, monkeypatch):
    distributed = pytest.importorskip("dcot.distributed._files")
    monkeypatch.setattr(distributed, "PARTITION_FILES", 1)
    for name, where in (("plain", []), ("threads", ["--dask", "threads"])):
        done = run("fit", *PARTS, *SMALL, *where, "-o", name, "--json")
        assert done.code == 0, done.err
        assert (done.json["documents"], done.err) == (240, "")
    assert_same_model(dcot.load("threads"), dcot.load("plain"), ROUNDING)


@pytest.mark.parametrize(
    ("given", "cluster"), [("local", None), ("threads", "threads"), ("tcp://h:1", "tcp://h:1")]
)
def test_where_dask_works(folder, monkeypatch, given, cluster):
    """``local`` asks for a cluster that is started for this."""
    distributed = pytest.importorskip("dcot.distributed")
    asked = []

    def fit(model, files, *, cluster):
        asked.append(cluster)
        return model.fit(files)

    monkeypatch.setattr(distributed, "fit", fit)
    assert run("fit", "part0.txt", *SMALL, "--dask", given, "-o", "m").code == 0
    assert asked == [cluster]


def test_nobody_at_the_address(folder, monkeypatch):
    cluster = pytest.importorskip("dcot.distributed._running")
    hasty = functools.partial(cluster.connected, timeout=0.5)
    monkeypatch.setattr("dcot.distributed._fit.connected", hasty)
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        done = run("fit", "part0.txt", *SMALL, "--dask", address, "-o", "m")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"Error: no Dask scheduler answers at {address} within 0.5 s")
    assert "check the address" in done.err
    assert "Traceback" not in done.err
    assert not (folder / "m").exists()


@pytest.mark.parametrize("corpus", ["-", "r52"])
def test_dask_takes_files(folder, monkeypatch, corpus):
    pytest.importorskip("distributed")
    batch = SimpleNamespace(texts=["opec oil"])
    monkeypatch.setattr("dcot.cli.corpus.Corpus.whole", lambda self: batch)
    done = run("fit", corpus, "--dask", "threads", "-o", "m", stdin="opec oil\n")
    assert done.code == 1
    assert "--dask needs files" in done.err


# -- streamed -----------------------------------------------------------------------------------


@pytest.fixture
def streamed(monkeypatch):
    """What was learned from a stream, in small batches, with a clock that never stands still."""
    sources, real = [], dcot.DCoTVectorizer._fit_passes

    def learn(model, passes, *weights, **options):
        sources.append(passes)
        return real(model, passes, *weights, **options)

    monkeypatch.setattr(dcot.DCoTVectorizer, "_fit_passes", learn)
    monkeypatch.setattr("dcot.text.readers._BATCH_CHARACTERS", 500)
    monkeypatch.setattr("dcot.text.readers._BATCH_TEXTS", 40)
    clock = itertools.count(0, 0.2)
    monkeypatch.setattr("dcot.runtime.progress.time", SimpleNamespace(perf_counter=clock.__next__))
    monkeypatch.setenv("COLUMNS", "120")
    return sources


def test_files_are_streamed_where_memory_is_small(folder, streamed, monkeypatch):
    assert run("fit", *PARTS, *SMALL, "-o", "held", watched=True).code == 0
    assert not streamed
    size = sum((folder / name).stat().st_size for name in PARTS)
    monkeypatch.setattr("dcot.vectorizer.allowance", lambda limit: 5.9 * size)
    done = run("fit", *PARTS, *SMALL, "-o", "streamed", watched=True)
    assert done.code == 0, done.err
    assert len(streamed) == 1
    assert_same_model(dcot.load("streamed"), dcot.load("held"), ROUNDING)
    drawn = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", done.err).split("\r")
    left = [line for line in drawn if re.search(r"\d+:\d+ [\d,]+ documents/s", line)]
    assert len(left) > 4  # several in every pass
    parts = [int(re.search(r"(\d+) %", line)[1]) for line in left]
    assert 0 < min(parts) < 50 < max(parts)
    assert "240 documents" in done.out


def test_a_streamed_fit_is_silent_where_nobody_looks(folder, streamed, monkeypatch):
    monkeypatch.setattr("dcot.vectorizer.allowance", lambda limit: 1.0)
    for options, watched in (([], False), (["--quiet"], True)):
        done = run("fit", *PARTS, *SMALL, "-o", "m", *options, watched=watched)
        assert (done.code, done.err) == (0, "")
    assert len(streamed) == 2
