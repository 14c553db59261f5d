"""Fits on Dask: the model of a local fit, whatever the scheduler and whatever goes wrong."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import signal
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context

import numpy as np
import polars as pl
import pytest

pytest.importorskip("distributed")

import dask
import dask.array as da
import dask.bag as db
import distributed
from dask import delayed
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.streaming import faults
from tests.unit.streaming.corpus import matrix, texts
from tests.unit.streaming.same import assert_same_model

from dcot import DCoT, DCoTClassifier, DcotError, DCoTVectorizer
from dcot import distributed as on_dask
from dcot.distributed import _files, _partitions, _running
from dcot.distributed import _fit as _passes
from dcot.distributed._fit import DaskPasses
from dcot.distributed._partitions import Partition, Recipe, partitions_of
from dcot.distributed._running import Options
from dcot.errors import (
    ClusterError,
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    OutputError,
)
from dcot.runtime.files import temporary_name
from dcot.runtime.progress import watched
from dcot.stream import Sum
from dcot.text import read_texts

TEXTS = texts()
X = matrix()
CUTS = [TEXTS[start : start + 75] for start in range(0, 300, 75)]


def vectorizer(**options):
    return DCoTVectorizer(**{"n_prototypes": 30, "dtype": "float64", "solver": "primal", **options})


@pytest.fixture(scope="module")
def expected():
    return vectorizer(squash="tanh").fit(TEXTS)


@pytest.fixture(scope="module", autouse=True)
def environment():
    with _running.environment_kept():
        yield


def test_a_local_cluster_leaves_the_environment_as_it_was(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "7")
    with on_dask.connected() as found:
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
        assert found.submit(lambda: [os.environ[name] for name in names]).result() == ["1", "7"]
    assert "OMP_NUM_THREADS" not in os.environ
    assert os.environ["MKL_NUM_THREADS"] == "7"


@pytest.fixture(scope="module")
def client():
    """One real cluster of two processes for all tests, on loopback."""
    settings = {
        "distributed.scheduler.worker-ttl": "60s",  # other work may keep a worker from answering
        "distributed.comm.timeouts.connect": "10s",
        **_running.KEEP_WORKERS,
        "distributed.nanny.pre-spawn-environ.OMP_NUM_THREADS": 1,
    }
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            host="127.0.0.1", dashboard_address="127.0.0.1:0", **options
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def parts(bad, *arguments, place=2):
    """Four delayed partitions, of which one goes wrong."""
    made = [delayed(faults.plain)(cut) for cut in CUTS]
    made[place] = delayed(bad)(CUTS[place], *arguments)
    return made


# -- the same model -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"squash": "tanh"},
        {"n_components": 5, "random_state": 0},
        {"output": "lsi"},
        {"weighting": "bm25", "min_df": 3, "n_layers": 3},
        {"solver": "cg", "tol": 1e-12},
        {"vocabulary": ["w000", "w003", "w017", "w020"]},
    ],
    ids=str,
)
def test_a_bag_of_texts(options):
    bag = db.from_sequence(TEXTS, npartitions=5).map(str)
    got = on_dask.fit(vectorizer(**options), bag, cluster="synchronous")
    assert_same_model(got, vectorizer(**{**options, "solver": "primal"}).fit(TEXTS))
    assert got.skipped_ == {}


@pytest.mark.parametrize("n", [1, 2, 5, 17])
def test_any_number_of_partitions(n):
    bag = db.from_sequence(TEXTS, npartitions=n)
    got = on_dask.fit(vectorizer(), bag, cluster="synchronous")
    assert_same_model(got, vectorizer().fit(TEXTS))


def test_dataframes_and_series():
    import dask.dataframe as dd
    import pandas as pd

    frame = dd.from_pandas(pd.DataFrame({"n": range(300), "text": TEXTS}), npartitions=3)
    expected = vectorizer().fit(TEXTS)
    for collection in (frame, frame["text"]):
        got = on_dask.fit(vectorizer(), collection, cluster="threads")
        assert_same_model(got, expected)
    with pytest.raises(InvalidInputError, match="which of the columns"):
        on_dask.fit(vectorizer(), frame.rename(columns={"text": "body"}), cluster="threads")


@pytest.mark.parametrize("width", [0, 50])
def test_a_frame_of_numbers_is_to_be_an_array(width):
    import dask.dataframe as dd
    import pandas as pd

    frame = dd.from_pandas(pd.DataFrame(np.ones((9, width))), npartitions=2)
    with pytest.raises(InvalidInputError, match=r"to_dask_array\(lengths=True\)$") as found:
        on_dask.fit(DCoT(), frame, cluster="threads")
    assert len(str(found.value)) < 300


def sparse_array():
    blocks = [X[:150], X[150:150], X[150:400]]
    made = [da.from_delayed(delayed(b), b.shape, dtype=b.dtype) for b in blocks]
    return da.concatenate(made, allow_unknown_chunksizes=True)


@pytest.mark.parametrize("way", ["packed", "sparse", "none"])
def test_an_array_of_sparse_blocks(way, monkeypatch):
    from dcot.core.plan import Plan
    from dcot.stream import fitting

    plan = Plan(way, "cholesky" if way == "packed" else "cg", 0.0, 0.0, 0.0, 1, 20)
    monkeypatch.setattr(fitting, "plan_passes", lambda *a, **k: plan)
    monkeypatch.setattr("dcot.stream.sums.PANEL", 32)
    monkeypatch.setattr(_passes, "GROUP_BYTES", 50_000)
    got = on_dask.fit(DCoT(30, tol=1e-12), sparse_array(), cluster="threads")
    assert_same_model(got, DCoT(30, solver="primal").fit(X))


def test_sums_that_workers_cannot_hold_together_take_several_passes(monkeypatch):
    monkeypatch.setattr("dcot.stream.sums.PANEL", 32)
    monkeypatch.setattr(_passes, "GROUP_BYTES", 20_000)
    monkeypatch.setattr(_passes, "_memory", lambda client: 500_000)
    said = []
    watcher = Said(said)
    with watched(watcher):
        got = on_dask.fit(DCoT(30, solver="primal"), sparse_array(), cluster="threads")
    assert_same_model(got, DCoT(30, solver="primal").fit(X))
    (plan,) = [text for text in said if "a thread of a worker" in text]
    assert re.search(r"2 partitions, \d tasks? in \d+ passes", plan)


class Said:
    def __init__(self, said):
        self.said = said

    def __call__(self, message, fraction):
        pass

    def say(self, text):
        self.said.append(text)


def test_small_partitions_are_worked_on_together(monkeypatch):
    partitions = [Partition(f"partition {i}", Recipe({}, "x")) for i in range(10)]
    passes = DaskPasses(partitions, Options("threads"))
    monkeypatch.setattr(_passes, "_threads", lambda client: 2)
    assert [len(leaf) for leaf in passes._leaves()] == [1] * 10  # nothing is known of them
    passes.state["sizes"] = {part.name: 10.0 for part in partitions}
    assert [len(leaf) for leaf in passes._leaves()] == [5, 5]
    monkeypatch.setattr(_passes, "LEAF_BYTES", 1.0)
    assert [len(leaf) for leaf in passes._leaves()] == [1] * 10  # four tasks a thread, or so
    partitions[4].inputs = ["a future"]  # which has a place where it is
    monkeypatch.setattr(_passes, "LEAF_BYTES", 1e9)
    passes = DaskPasses(partitions, Options("threads"), state=passes.state)
    assert [leaf[0].name for leaf in passes._leaves() if len(leaf) == 1] == ["partition 4"]


def test_every_pass_over_texts_is_shared_between_threads(monkeypatch):
    """The sizes of texts are known after the first pass, so the next has a task for each thread."""
    monkeypatch.setattr(_passes, "_threads", lambda client: 2)
    leaves = []
    make = DaskPasses._leaves

    def noted(self):
        leaves.append(len(make(self)))
        return make(self)

    monkeypatch.setattr(DaskPasses, "_leaves", noted)
    made = [delayed(list)(TEXTS[start : start + 30]) for start in range(0, 300, 30)]
    on_dask.fit(vectorizer(squash="tanh"), made, cluster="threads")
    assert leaves[0] == 10
    assert set(leaves[1:]) == {2}


def test_what_cannot_be_added_is_named():
    class Broken(Sum):
        def empty(self):
            return 0

        def add(self, total, block):
            raise ValueError("no room")

        merge = None

    collection = db.from_sequence(TEXTS, npartitions=3)
    passes = DaskPasses(partitions_of(collection), Options("synchronous"))
    with pytest.raises(InvalidInputError, match=r"partition \d cannot be read: no room"):
        passes.totals([Broken()], "broken")


def test_processes():
    context = get_context("spawn")
    with (
        ProcessPoolExecutor(2, mp_context=context) as pool,
        dask.config.set(pool=pool),
    ):
        got = on_dask.fit(vectorizer(), [delayed(cut) for cut in CUTS], cluster="processes")
    assert_same_model(got, vectorizer().fit(TEXTS))


def test_a_cluster_by_client_and_by_address(client, expected):
    for cluster in (client, client.scheduler.address):
        bag = db.from_sequence(TEXTS, npartitions=4)
        got = on_dask.fit(vectorizer(squash="tanh"), bag, cluster=cluster, timeout=180)
        assert_same_model(got, expected)


def test_an_answer_that_comes_with_other_news_is_asked_for_again(client, monkeypatch):
    """`distributed` fails an assertion if another client cancels something just then."""
    connect, attempts = distributed.Client._ensure_connected, []

    async def with_other_news(self, timeout=None):
        attempts.append(self)
        if len(attempts) == 1:
            raise AssertionError
        await connect(self, timeout=timeout)

    monkeypatch.setattr(distributed.Client, "_ensure_connected", with_other_news)
    with _running.connected(client.scheduler.address) as other:
        assert other.submit(sum, [1, 2]).result(timeout=60) == 3
    assert len(attempts) > 1


def test_nothing_is_cancelled_after_all_results(client, expected, monkeypatch):
    monkeypatch.setattr(distributed.Client, "cancel", None)
    bag = db.from_sequence(TEXTS, npartitions=4)
    got = on_dask.fit(vectorizer(squash="tanh"), bag, cluster=client, timeout=180)
    assert_same_model(got, expected)


def test_large_things_are_sent_once_to_each_worker(client, monkeypatch):
    monkeypatch.setattr(_running, "_EMBEDDED_BYTES", 1000)
    sent = []
    scatter = distributed.Client.scatter

    def counted(self, *arguments, **options):
        sent.append(options)
        return scatter(self, *arguments, **options)

    monkeypatch.setattr(distributed.Client, "scatter", counted)
    model = vectorizer(squash="tanh")
    on_dask.fit(model, [delayed(cut) for cut in CUTS], cluster=client, timeout=180)
    assert_same_model(model, vectorizer(squash="tanh").fit(TEXTS))
    # the vocabulary's step once, and what a pass adds up with: the layers, twice of two passes
    assert 1 <= len(sent) <= 4
    assert all(options == {"broadcast": True, "hash": False} for options in sent)


def test_persisted_collections_are_not_made_again(client, tmp_path):
    made = [delayed(faults.failing)(cut, str(tmp_path), 0) for cut in CUTS]
    with client.as_current():
        kept = list(dask.persist(*made))
    got = on_dask.fit(vectorizer(), kept, cluster=client, timeout=180)
    assert_same_model(got, vectorizer().fit(TEXTS))
    assert (tmp_path / "failing.loads").read_text() == "xxxx"


def test_persisted_partitions_that_failed_are_tried_again(client, tmp_path):
    made = parts(faults.failing, str(tmp_path), 2)
    with client.as_current():
        kept = list(dask.persist(*made))
    got = on_dask.fit(vectorizer(), kept, cluster=client, timeout=180)
    assert_same_model(got, vectorizer().fit(TEXTS))
    assert (tmp_path / "failing.loads").read_text() == "xxx"


def test_persisted_partitions_that_stay_broken_are_named_or_skipped(client, tmp_path):
    with client.as_current():
        kept = list(dask.persist(*parts(faults.corrupt)))
    options = {"cluster": client, "retries": 1, "timeout": 180}
    with pytest.raises(InvalidInputError, match=r"partition 2.*invalid start byte 0xff"):
        on_dask.fit(vectorizer(), kept, **options)
    got = on_dask.fit(vectorizer(), kept, on_error="skip", **options)
    assert_same_model(got, vectorizer().fit(CUTS[0] + CUTS[1] + CUTS[3]))
    assert got.skipped_ == {"partition 2": "invalid start byte 0xff"}
    path = tmp_path / "z"
    with pytest.raises(InvalidInputError, match=r"partition 2.*invalid start byte 0xff"):
        on_dask.transform_to(got, kept, path, **options)
    assert on_dask.transform_to(got, kept, path, on_error="skip", **options) == 225
    skipped = json.loads((path / "features.json").read_text())["skipped"]
    assert skipped == {"partition 2": "invalid start byte 0xff"}
    with pytest.raises(InvalidParameterError, match="partition 0 is persisted on a cluster"):
        on_dask.fit(vectorizer(), kept, cluster="threads")


def test_what_is_made_from_persisted_partitions(client):
    with client.as_current():
        kept = dask.persist(*[delayed(faults.plain)(cut) for cut in CUTS])
        futures = client.compute([delayed(faults.plain)(cut) for cut in CUTS])
    for made in (
        [delayed(faults.plain)(part) for part in kept],
        [delayed(faults.plain)(future) for future in futures],
    ):
        got = on_dask.fit(vectorizer(), made, cluster=client, timeout=180)
        assert_same_model(got, vectorizer().fit(TEXTS))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_worker_takes_no_more_memory_than_was_said(client):
    """On workers that were warm, so that libraries do not count."""
    made = [delayed(faults.generated)(seed) for seed in range(12)]
    on_dask.fit(DCoT(20, solver="primal"), made[:2], cluster=client, timeout=180)
    before = client.run(faults.memory_from_now_on)
    said = []
    with watched(Said(said)):
        on_dask.fit(DCoT(20, solver="primal"), made, cluster=client, timeout=180)
    (plan,) = [text for text in said if "a thread of a worker" in text]
    number, unit = re.search(r"about ([\d.]+) (MB|GB)", plan).groups()
    need = float(number) * {"MB": 1e6, "GB": 1e9}[unit]
    assert need > 100e6
    for worker, peak in client.run(faults.peak_memory).items():
        assert peak - before[worker] < 1.1 * need


# -- faults -------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", [1, 2, 3, 4], ids=["terms", "moments", "outputs", "means"])
def test_a_worker_killed_in_any_phase(client, expected, tmp_path, phase):
    collection = parts(faults.killing, str(tmp_path), phase, place=3)  # in the middle of a task
    model = vectorizer(squash="tanh")
    on_dask.fit(model, collection, cluster=client, timeout=180)
    assert_same_model(model, expected)
    assert len((tmp_path / "killing.loads").read_text()) > 4  # it was killed, and made again


@pytest.mark.parametrize("way", ["products", "components"])
def test_a_worker_killed_in_the_passes_of_other_fits(client, tmp_path, monkeypatch, way):
    """Products of conjugate gradients where no matrix is kept, and the choice of components."""
    from dcot.core.plan import Plan
    from dcot.stream import fitting

    options = {"n_components": 5, "random_state": 0} if way == "components" else {"tol": 1e-12}
    if way == "products":
        plan = Plan("none", "cg", 0.0, 0.0, 0.0, 1, 30)
        monkeypatch.setattr(fitting, "plan_passes", lambda *a, **k: plan)
    collection = parts(faults.killing, str(tmp_path), 4, place=3)
    got = on_dask.fit(vectorizer(**options), collection, cluster=client, timeout=180)
    assert len((tmp_path / "killing.loads").read_text()) > 4
    assert_same_model(got, vectorizer(**options).fit(TEXTS))


def test_a_worker_killed_while_it_holds_what_was_sent(client, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(_running, "_EMBEDDED_BYTES", 1000)
    model = vectorizer(squash="tanh")
    collection = parts(faults.killing, str(tmp_path), 3)
    on_dask.fit(model, collection, cluster=client, timeout=180)
    assert_same_model(model, expected)


def test_a_worker_killed_while_it_merges(client, tmp_path):
    collection = [delayed(faults.plain)(cut) for cut in CUTS]
    passes = DaskPasses(partitions_of(collection), Options(client, timeout=180))
    assert passes.totals([faults.KillingSum(str(tmp_path))], "counting") == [300]
    assert len((tmp_path / "merging.loads").read_text()) > 1


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no process can be paused")
def test_a_paused_worker(client, expected, tmp_path):
    def go_on():
        path = tmp_path / "paused"
        while not path.exists() or not path.read_text():
            time.sleep(0.05)
        time.sleep(1.0)
        os.kill(int(path.read_text()), signal.SIGCONT)

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    model = vectorizer(squash="tanh")
    on_dask.fit(model, parts(faults.pausing, str(tmp_path), 2), cluster=client, timeout=180)
    thread.join(timeout=10)
    assert_same_model(model, expected)


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no process can be paused")
def test_a_worker_that_stays_paused_is_done_without(expected, tmp_path):
    """It is taken for dead when it has not been heard of for long enough."""
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    model = vectorizer(squash="tanh")
    with (
        dask.config.set({"distributed.scheduler.worker-ttl": "10s"}),
        distributed.LocalCluster(host="127.0.0.1", dashboard_address=None, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        try:
            collection = parts(faults.pausing, str(tmp_path), 2)
            on_dask.fit(model, collection, cluster=client, timeout=180)
        finally:
            paused = tmp_path / "paused"
            if paused.exists():
                with suppress(ProcessLookupError):  # its nanny has ended it
                    os.kill(int(paused.read_text()), signal.SIGCONT)
    assert paused.exists()
    assert_same_model(model, expected)


@pytest.mark.parametrize("scheduler", ["cluster", "threads"])
def test_a_partition_that_fails_twice_and_then_works(client, expected, tmp_path, scheduler):
    model = vectorizer(squash="tanh")
    cluster = client if scheduler == "cluster" else scheduler
    collection = parts(faults.failing, str(tmp_path), 2)
    on_dask.fit(model, collection, cluster=cluster, timeout=180)
    assert_same_model(model, expected)


@pytest.mark.parametrize("scheduler", ["cluster", "threads"])
def test_a_corrupt_partition_is_named_or_skipped(client, scheduler, monkeypatch):
    monkeypatch.setattr(_partitions, "_RETRY_SECONDS", 0.0)
    cluster = client if scheduler == "cluster" else scheduler
    collection = parts(faults.corrupt)
    with pytest.raises(InvalidInputError, match=r"partition 2 cannot be read: invalid start byte"):
        on_dask.fit(vectorizer(), collection, cluster=cluster, retries=1, timeout=180)
    options = {"on_error": "skip", "retries": 0, "timeout": 180}
    got = on_dask.fit(vectorizer(), collection, cluster=cluster, **options)
    assert_same_model(got, vectorizer().fit(CUTS[0] + CUTS[1] + CUTS[3]))
    assert got.skipped_ == {"partition 2": "invalid start byte 0xff"}


def sharing(first, *arguments):
    """Four partitions that are cut from one list, which is read by one task."""
    whole = delayed(first)(TEXTS, *arguments)
    return [delayed(slice_of)(whole, start) for start in range(0, 300, 75)]


def slice_of(documents, start):
    return documents[start : start + 75]


@pytest.mark.parametrize("scheduler", ["cluster", "threads"])
def test_tasks_that_partitions_share_run_once_and_are_tried_again(client, tmp_path, scheduler):
    cluster = client if scheduler == "cluster" else scheduler
    collection = sharing(faults.failing, str(tmp_path), 2)
    model = on_dask.fit(vectorizer(), collection, cluster=cluster, timeout=180)
    assert_same_model(model, vectorizer().fit(TEXTS))
    # failed twice, then once for each pass: the first documents, the terms, the moments
    assert len((tmp_path / "failing.loads").read_text()) <= 6


@pytest.mark.parametrize("scheduler", ["cluster", "threads"])
def test_partitions_that_share_tasks_are_named_or_skipped(client, scheduler, monkeypatch):
    monkeypatch.setattr(_partitions, "_RETRY_SECONDS", 0.0)
    cluster = client if scheduler == "cluster" else scheduler
    options = {"cluster": cluster, "retries": 1, "timeout": 180}
    collection = sharing(faults.plain)
    collection[2] = delayed(faults.corrupt)(collection[2])
    with pytest.raises(InvalidInputError, match=r"partition 2 cannot be read: invalid start byte"):
        on_dask.fit(vectorizer(), collection, **options)
    got = on_dask.fit(vectorizer(), collection, on_error="skip", **options)
    assert_same_model(got, vectorizer().fit(CUTS[0] + CUTS[1] + CUTS[3]))
    assert got.skipped_ == {"partition 2": "invalid start byte 0xff"}
    words = r"partition \d: a task that several partitions share failed: invalid start byte"
    with pytest.raises(InvalidInputError, match=words):
        on_dask.fit(vectorizer(), sharing(faults.corrupt), **options)


@pytest.mark.parametrize("scheduler", ["cluster", "threads", "processes", "synchronous"])
def test_work_that_does_not_end_is_given_up(client, tmp_path, scheduler):
    cluster = client if scheduler == "cluster" else scheduler
    collection = parts(faults.waiting, str(tmp_path))
    try:
        with pytest.raises(ClusterError, match=r"no result within timeout=1 s"):
            on_dask.fit(vectorizer(), collection, cluster=cluster, timeout=1)
    finally:
        (tmp_path / "over").touch()


def test_processes_that_take_too_long_are_ended(tmp_path):
    from multiprocessing import active_children

    before = set(active_children())
    with pytest.raises(ClusterError, match="no result"):
        on_dask.fit(
            vectorizer(), parts(faults.waiting, str(tmp_path)), cluster="processes", timeout=1
        )
    for process in set(active_children()) - before:
        process.join(timeout=30)
    assert set(active_children()) <= before


def test_no_task_is_started_after_the_time(tmp_path):
    made = [delayed(faults.slow)(cut, str(tmp_path)) for cut in CUTS]
    with pytest.raises(ClusterError, match="no result"):
        on_dask.fit(vectorizer(), made, cluster="synchronous", timeout=0.1)
    time.sleep(1.5)
    assert (tmp_path / "slow.loads").read_text() == "x"


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_work_in_time_and_its_errors(scheduler, monkeypatch):
    options = {"cluster": scheduler, "timeout": 300}
    model = on_dask.fit(vectorizer(), parts(faults.plain), **options)
    assert_same_model(model, vectorizer().fit(TEXTS))
    with pytest.raises(InvalidInputError, match="partition 2 cannot be read"):
        on_dask.fit(vectorizer(), parts(faults.corrupt), retries=0, **options)


def test_a_scheduler_that_is_not_there():
    with (
        pytest.raises(ClusterError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1 "),
        on_dask.connected("tcp://127.0.0.1:1", timeout=0.5),
    ):
        pass


@pytest.mark.parametrize("address", ["lokal", "tcp://10.0.0.1", ""])
def test_what_is_no_address(address):
    with (
        pytest.raises(InvalidParameterError, match=f"cluster is '{address}', which is no address"),
        on_dask.connected(address),
    ):
        pass


def test_a_scheduler_without_workers():
    options = {"n_workers": 0, "host": "127.0.0.1", "dashboard_address": None}
    with (
        distributed.LocalCluster(**options) as cluster,
        pytest.raises(ClusterError, match=r"has no workers after 2 s"),
        on_dask.connected(cluster.scheduler_address, timeout=2),
    ):
        pass


# -- bad input ----------------------------------------------------------------------------------


def test_an_error_beside_a_client_in_use(client):
    with client.as_current(), pytest.raises(InvalidInputError, match=r"149 columns.*150"):
        on_dask.fit(DCoT(30), [delayed(X[:100]), delayed(X[100:, :149])], retries=0, timeout=180)


def test_different_columns_name_their_partition():
    made = [delayed(X[:100]), delayed(X[100:, :149])]
    with pytest.raises(InvalidInputError, match=r"partition 1: 149 columns.*150"):
        on_dask.fit(DCoT(30), made, cluster="threads")


def test_empty_partitions_add_nothing():
    made = [delayed([]), delayed(TEXTS[:100]), delayed([]), delayed(TEXTS[100:])]
    got = on_dask.fit(vectorizer(), made, cluster="threads")
    assert_same_model(got, vectorizer().fit(TEXTS))
    with pytest.raises(InvalidInputError, match="no documents"):
        on_dask.fit(vectorizer(), [delayed([]), delayed([])], cluster="threads")


def test_graphs_that_are_made_when_asked_for():
    """A new one may have the address of one that is gone."""

    class Graph(dict):
        pass

    class Made:
        def __init__(self, number):
            self.key = f"made-{number}"

        def __dask_graph__(self):
            return Graph({self.key: (len, self.key[:4])})

    found = _partitions._cut_graph([Made(number) for number in range(50)], 0)
    assert [partition.recipe.key for partition in found] == [f"made-{i}" for i in range(50)]


def test_what_is_no_collection():
    with pytest.raises(InvalidTypeError, match="expected a Dask bag"):
        on_dask.fit(vectorizer(), "texts", cluster="threads")
    with pytest.raises(InvalidTypeError, match=r"dask\.delayed"):
        on_dask.fit(vectorizer(), ["texts"], cluster="threads")
    with pytest.raises(InvalidInputError, match="no partitions"):
        on_dask.fit(vectorizer(), [], cluster="threads")
    with pytest.raises(InvalidInputError, match=r"rechunk\(\{1: -1\}\)"):
        on_dask.fit(DCoT(3), da.ones((4, 4), chunks=2), cluster="threads")
    with pytest.raises(InvalidParameterError, match="cluster must be"):
        on_dask.fit(vectorizer(), [delayed(TEXTS)], cluster=3)
    for option, value in (
        ("on_error", "ignore"),
        ("retries", -1),
        ("retries", 0.5),
        ("timeout", 0),
    ):
        with pytest.raises(InvalidParameterError, match=f"{option} must be"):
            on_dask.fit(vectorizer(), [delayed(TEXTS)], cluster="threads", **{option: value})


def test_a_partition_that_changes_is_refused(tmp_path):
    made = [delayed(TEXTS[:100]), delayed(changing)(str(tmp_path))]
    with pytest.raises(InvalidInputError, match=r"partition 1 changed between passes"):
        on_dask.fit(vectorizer(), made, cluster="synchronous")


def changing(folder):
    return TEXTS[: 10 * faults.loads(folder, "changing")]


# -- transform ----------------------------------------------------------------------------------


def test_transform_to_an_array(expected):
    bag = db.from_sequence(TEXTS, npartitions=4)
    features = on_dask.transform(expected, bag)
    got = features.compute(scheduler="threads")
    np.testing.assert_allclose(got, expected.transform(TEXTS), atol=1e-12)


def test_transform_on_the_cluster(client, expected):
    with client.as_current():
        features = on_dask.transform(expected, [delayed(cut) for cut in CUTS])
        got = client.compute(features).result(timeout=180)
    np.testing.assert_allclose(got, expected.transform(TEXTS), atol=1e-12)


def read(folder):
    frames = [pl.read_parquet(part) for part in sorted(folder.glob("part-*.parquet"))]
    return pl.concat(frames)["features"].to_numpy()


def test_transform_to_parquet_survives_a_killed_worker(client, expected, tmp_path):
    collection = parts(faults.killing, str(tmp_path), 1)
    path = tmp_path / "z"
    assert on_dask.transform_to(expected, collection, path, cluster=client, timeout=180) == 300
    np.testing.assert_allclose(read(path), expected.transform(TEXTS), atol=1e-12)
    assert json.loads((path / "features.json").read_text())["documents"] == 300


def test_transform_to_parquet_goes_on(expected, tmp_path, monkeypatch):
    monkeypatch.setattr(_partitions, "_RETRY_SECONDS", 0.0)
    path = tmp_path / "z"
    bad, options = parts(faults.corrupt), {"cluster": "synchronous"}
    with pytest.raises(InvalidInputError, match="partition 2"):
        on_dask.transform_to(expected, bad, path, **options)
    assert on_dask.transform_to(expected, bad, path, on_error="skip", **options) == 225
    first = path / "part-000000.parquet"
    stamp = first.stat().st_mtime_ns
    good = parts(faults.plain)
    assert on_dask.transform_to(expected, good, path, cluster="synchronous") == 300
    assert first.stat().st_mtime_ns == stamp
    np.testing.assert_allclose(read(path), expected.transform(TEXTS), atol=1e-12)
    other = vectorizer(noise=0.5).fit(TEXTS)
    with pytest.raises(InvalidParameterError, match="another model"):
        on_dask.transform_to(other, good, path, cluster="synchronous")
    on_dask.transform_to(other, good, path, cluster="synchronous", overwrite=True)
    np.testing.assert_allclose(read(path), other.transform(TEXTS), atol=1e-12)


def written_files(folder, cuts=CUTS):
    folder.mkdir(exist_ok=True)
    for number, cut in enumerate(cuts):
        (folder / f"part{number}.txt").write_text("\n".join(cut) + "\n")
    return read_texts(sorted(folder.glob("*.txt")), kind="lines")


@pytest.fixture
def single_files(monkeypatch):
    """A file is a partition."""
    monkeypatch.setattr(_files, "PARTITION_FILES", 1)


def test_files_that_changed_are_not_taken_up(expected, tmp_path, single_files, monkeypatch):
    path, options = tmp_path / "z", {"cluster": "synchronous"}
    files = written_files(tmp_path / "a")
    assert on_dask.transform_to(expected, files, path, **options) == 300
    monkeypatch.chdir(tmp_path)  # the same files by another path
    (path / "part-000001.parquet").unlink()
    there = read_texts(sorted((tmp_path / "a").glob("*.txt")), kind="lines")
    assert on_dask.transform_to(expected, there, path, **options) == 300
    stamp = (path / "part-000002.parquet").stat().st_mtime_ns
    for change in ("time", "size", "name"):
        folder = tmp_path / ("b" if change == "name" else "a")
        files = written_files(folder) if change == "name" else files
        if change == "time":
            os.utime(folder / "part2.txt", (1, 1))
        elif change == "size":
            (folder / "part2.txt").write_text("another text\n")
        culprit = "part0.txt" if change == "name" else "part2.txt"
        with pytest.raises(InvalidInputError, match=rf"other documents: .*{culprit} is another"):
            on_dask.transform_to(expected, files, path, **options)
    with pytest.raises(InvalidInputError, match="begun with 4 partitions, and now there are 2"):
        on_dask.transform_to(expected, parts(faults.plain)[:2], path, **options)
    with pytest.raises(InvalidInputError, match="other documents"):
        on_dask.transform_to(expected, parts(faults.plain), path, **options)
    assert (path / "part-000002.parquet").stat().st_mtime_ns == stamp
    assert on_dask.transform_to(expected, files, path, overwrite=True, **options) == 300


@pytest.mark.parametrize("kind", ["bag", "array"])
def test_other_documents_in_as_many_partitions_are_not_mixed_in(expected, tmp_path, kind):
    path, options = tmp_path / "z", {"cluster": "synchronous"}
    model = expected if kind == "bag" else DCoT(30).fit(X)

    def collection(change):
        if kind == "bag":
            given = [text + " w003" * (change and i == 250) for i, text in enumerate(TEXTS)]
            return db.from_sequence(given, npartitions=4).map(str)
        blocks = [
            X[start : start + 100] * (2 if change and start == 200 else 1)
            for start in (0, 100, 200)
        ]
        made = [da.from_delayed(delayed(b), b.shape, dtype=b.dtype) for b in blocks]
        return da.concatenate(made)

    on_dask.transform_to(model, collection(False), path, **options)
    before = read(path)
    (path / "part-000000.parquet").unlink()
    with pytest.raises(InvalidInputError, match=r"other documents: partition \d has changed"):
        on_dask.transform_to(model, collection(True), path, **options)
    assert not (path / "part-000000.parquet").exists()  # nothing is mixed in before the check
    on_dask.transform_to(model, collection(False), path, **options)
    np.testing.assert_array_equal(read(path), before)
    on_dask.transform_to(model, collection(True), path, overwrite=True, **options)
    assert (read(path) != before).any()


def test_a_part_of_unknown_documents_is_made_again(expected, tmp_path):
    """As after an older version, which did not note them."""
    good, path = parts(faults.plain), tmp_path / "z"
    on_dask.transform_to(expected, good, path, cluster="synchronous")
    before = read(path)
    (path / ".part-000001.json").unlink()
    (path / ".part-000002.json").write_text("[]")
    for number in (1, 2):
        pl.DataFrame({"features": [[0.0]]}).write_parquet(path / f"part-{number:06d}.parquet")
    (path / "part-mine.parquet").write_bytes(b"not ours")
    assert on_dask.transform_to(expected, good, path, cluster="synchronous") == 300
    (path / "part-mine.parquet").unlink()
    np.testing.assert_array_equal(read(path), before)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"model": "m", "partitions": 4}, "older version of dcot"),
        ({"model": "m", "partitions": [1, 2, 3, 4]}, "older version of dcot"),
        ({"model": "m"}, "model.json is damaged"),
        ("{", "model.json is damaged"),
    ],
)
def test_records_that_do_not_tell(expected, tmp_path, record, words):
    text = record if isinstance(record, str) else json.dumps(record)
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(InvalidInputError, match=rf"{words}.*overwrite=True"):
        on_dask.transform_to(expected, parts(faults.plain), tmp_path, cluster="synchronous")
    options = {"cluster": "synchronous", "overwrite": True}
    assert on_dask.transform_to(expected, parts(faults.plain), tmp_path, **options) == 300


def test_a_part_that_is_damaged_is_made_again(expected, tmp_path):
    good = parts(faults.plain)
    path = tmp_path / "z"
    on_dask.transform_to(expected, good, path, cluster="synchronous")
    (path / "part-000001.parquet").write_bytes(b"PAR1")
    left = temporary_name(path / "part-000001.parquet")  # of a worker that was killed
    left.write_bytes(b"PAR1")
    assert on_dask.transform_to(expected, good, path, cluster="synchronous") == 300
    np.testing.assert_allclose(read(path), expected.transform(TEXTS), atol=1e-12)
    assert not left.exists()


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_full_disk_names_the_file_and_the_partition(expected, tmp_path, no_room, on_error):
    """A real limit; what was complete stays, and the rest is made when there is room."""
    path, options = tmp_path / "z", {"cluster": "threads", "on_error": on_error}
    small = [delayed(faults.plain)(cut) for cut in (TEXTS[:20], TEXTS[20:])]
    on_dask.transform_to(expected, small[:1], tmp_path / "one", **options)
    size = (tmp_path / "one" / "part-000000.parquet").stat().st_size
    with no_room(size + 1000), pytest.raises(OutputError) as caught:
        on_dask.transform_to(expected, small, path, **options)
    words = r"part-000001\.parquet: there is no more room\. The features of partition 1 are not"
    assert re.search(words, str(caught.value))
    assert not list(path.glob("part-000001.*"))  # another thread may still be at the other one
    assert on_dask.transform_to(expected, small, path, **options) == 300
    np.testing.assert_allclose(read(path), expected.transform(TEXTS), atol=1e-12)


def test_a_folder_that_cannot_be_made(expected, tmp_path):
    (tmp_path / "file").write_text("precious")
    with pytest.raises(OutputError, match=r"file/z/model\.json: writing failed"):
        on_dask.transform_to(
            expected, parts(faults.plain), tmp_path / "file" / "z", cluster="synchronous"
        )


@pytest.mark.parametrize("cluster", ["threads", None])
def test_files_are_partitions(tmp_path, client, monkeypatch, cluster):
    monkeypatch.setattr(_files, "PARTITION_FILES", 2)
    for number, cut in enumerate(CUTS):
        (tmp_path / f"part{number}.txt").write_text("\n".join(cut) + "\n")
    lines = [text for cut in CUTS for text in cut]
    files = read_texts(sorted(tmp_path.glob("*.txt")), kind="lines")
    assert len(_partitions.partitions_of(files)) == 2
    model = on_dask.fit(vectorizer(), files, cluster=cluster)
    assert_same_model(model, vectorizer().fit(lines))


@settings(max_examples=50, deadline=None)
@given(
    lines=st.lists(st.text("aé \r", max_size=30), min_size=1, max_size=40),
    size=st.integers(1, 60),
    kind=st.sampled_from(["lines", "jsonl"]),
    ended=st.booleans(),
)
def test_pieces_of_a_file_have_each_line_once(tmp_path_factory, lines, size, kind, ended):
    path = tmp_path_factory.mktemp("pieces") / "texts.txt"
    written = [json.dumps({"text": line}) if kind == "jsonl" else line for line in lines]
    path.write_bytes("\n".join(written).encode() + b"\n" * ended)
    files = read_texts(path, kind=kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_files, "PARTITION_BYTES", size)
        partitions = partitions_of(files)
    found = [text for part in partitions for text in part.recipe.make()]
    assert found == list(files)
    assert len(partitions) > 1 or path.stat().st_size <= 2 * size


def test_a_large_file_is_several_partitions(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "PARTITION_BYTES", 2000)
    (tmp_path / "texts.jsonl").write_text(
        "".join(json.dumps({"text": text}) + "\n" for text in TEXTS)
    )
    files = read_texts(tmp_path / "texts.jsonl")
    assert len(partitions_of(files)) > 3
    model = on_dask.fit(vectorizer(), files, cluster="threads")
    assert_same_model(model, vectorizer().fit(TEXTS))
    (tmp_path / "texts.jsonl").write_text('{"text": "a"}\n' * 500 + "{broken\n" + "{}\n" * 500)
    with pytest.raises(InvalidInputError, match=r"texts\.jsonl, bytes [\d,]+ to [\d,]+"):
        on_dask.fit(vectorizer(), files, cluster="threads", retries=0)


@settings(max_examples=50, deadline=None)
@given(
    lines=st.lists(st.text('aé," \n', max_size=20), min_size=1, max_size=30),
    size=st.integers(1, 80),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    mark=st.sampled_from(["", "\ufeff", "sep=,\n"]),
)
def test_pieces_of_a_csv_file_have_each_row_once(tmp_path_factory, lines, size, quoting, mark):
    path = tmp_path_factory.mktemp("pieces") / "texts.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        file.write(mark)
        rows = csv.writer(file, quoting=quoting, lineterminator="\n")
        rows.writerows([["text", "a\nname"], *([line, "x"] for line in lines)])
    files = read_texts(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_files, "PARTITION_BYTES", size)
        partitions = partitions_of(files)
    assert [text for part in partitions for text in part.recipe.make()] == list(files)
    longest = 70  # bytes of the header and the longest row
    assert len(partitions) > 1 or path.stat().st_size <= max(2 * size, size + longest)


@pytest.mark.parametrize("options", [{}, {"encoding": "latin-1"}], ids=str)
def test_rows_without_quotation_marks_are_cut_without_reading_them(tmp_path, monkeypatch, options):
    monkeypatch.setattr(_files, "PARTITION_BYTES", 500)
    path = tmp_path / "texts.tsv"
    rows = "".join(f"{number}\té {text}\n" for number, text in enumerate(TEXTS))
    path.write_text(f"number\ttext\n{rows}", **{"encoding": "utf-8", **options})
    monkeypatch.setattr("dcot.text.tables.csv.reader", None)
    partitions = partitions_of(read_texts(path, **options))
    monkeypatch.undo()
    assert len(partitions) > 10
    found = [text for part in partitions for text in part.recipe.make()]
    assert found == [f"é {text}" for text in TEXTS]


def test_a_broken_row_names_its_piece(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "PARTITION_BYTES", 500)
    path = tmp_path / "texts.csv"
    rows = [*('"a b",1\n' for _ in range(200)), "too,many,fields\n"]
    path.write_text("text,n\n" + "".join(rows))
    with pytest.raises(
        InvalidInputError, match=r"texts\.csv, from byte [\d,]+, line \d+: 3 fields"
    ):
        on_dask.fit(vectorizer(), read_texts(path), cluster="threads", retries=0)
    path.write_text('text,n\n"never closed,1\n' + "a,1\n" * 500)
    assert len(partitions_of(read_texts(path))) == 1  # the worker says what is wrong
    with pytest.raises(InvalidInputError, match=r"texts\.csv, line \d+: the file ends inside"):
        on_dask.fit(vectorizer(), read_texts(path), cluster="threads", retries=0)


def test_a_large_parquet_file_is_several_partitions(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "PARTITION_BYTES", 1000)
    frame = pl.DataFrame({"text": TEXTS})
    frame.write_parquet(tmp_path / "texts.parquet", row_group_size=70)
    files = read_texts(tmp_path / "texts.parquet")
    partitions = partitions_of(files)
    assert len(partitions) > 3
    assert [text for part in partitions for text in part.recipe.make()] == TEXTS
    assert_same_model(on_dask.fit(vectorizer(), files, cluster="threads"), vectorizer().fit(TEXTS))


@pytest.mark.parametrize("name", ["texts.txt.gz", "texts.csv.gz", "utf16.txt"])
def test_a_large_file_that_cannot_be_cut_is_said_to_be(tmp_path, monkeypatch, name):
    monkeypatch.setattr(_files, "PARTITION_BYTES", 10)
    monkeypatch.setattr(_files, "LARGE_PARTITION_BYTES", 40)
    data = "\n".join(["text", *TEXTS]).encode("utf-16" if "16" in name else "utf-8")
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    files = read_texts(path, encoding="utf-16" if "16" in name else "utf-8", column="text")
    why = "is compressed" if name.endswith("gz") else "is 'lines' in utf-16"
    with pytest.warns(UserWarning, match=rf"{why}, so it cannot be cut: its \d.* one partition"):
        assert len(partitions_of(files)) == 1


def test_a_file_that_is_gone(tmp_path):
    (tmp_path / "a.txt").write_text("\n".join(TEXTS))
    files = read_texts(tmp_path / "a.txt")
    (tmp_path / "a.txt").unlink()
    with pytest.raises(InvalidInputError, match=r"a\.txt cannot be read: No such file"):
        on_dask.fit(vectorizer(), files, cluster="threads")


def test_a_file_given_twice_counts_twice(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("\n".join(TEXTS))
    files = read_texts([tmp_path / "a.txt"] * 2, kind="lines")
    assert len({part.name for part in partitions_of(files, apart=True)}) == 2
    model = on_dask.fit(vectorizer(), files, cluster="threads", on_error="skip")
    assert_same_model(model, vectorizer().fit(TEXTS * 2))


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "good.txt").write_text("\n".join(TEXTS))
    (tmp_path / "worse.txt").write_bytes(b"caf\xe9 \xff\n")
    files = read_texts([tmp_path / "good.txt", tmp_path / "worse.txt"], kind="lines")
    with pytest.raises(InvalidInputError, match="worse"):
        on_dask.fit(vectorizer(), files, cluster="threads", retries=0)
    model = on_dask.fit(vectorizer(), files, cluster="threads", retries=0, on_error="skip")
    assert list(model.skipped_) == [str(tmp_path / "worse.txt")]
    assert_same_model(model, vectorizer().fit(TEXTS))  # what is skipped takes no other with it


def test_what_cannot_be_transformed_is_refused(tmp_path):
    some = texts(20)
    bag, model = db.from_sequence(some, npartitions=2), vectorizer().fit(some)
    classifier = DCoTClassifier().fit(some, ["a", "b"] * 10)
    for wrong in (classifier, "model"):
        with pytest.raises(InvalidTypeError, match="expected a DCoT or a DCoTVectorizer"):
            on_dask.transform(wrong, bag)
        with pytest.raises(InvalidTypeError, match="expected a DCoT or a DCoTVectorizer"):
            on_dask.transform_to(wrong, bag, tmp_path / "new", cluster="threads")
    (tmp_path / "file").write_text("")
    (tmp_path / "folder" / "model.json").mkdir(parents=True)
    for place in ("file", "folder"):
        with pytest.raises(DcotError):
            on_dask.transform_to(model, bag, tmp_path / place, cluster="threads")


@pytest.mark.parametrize(
    ("name", "content"), [("model.json", '{"class_name": "Sequential"}'), ("thesis.txt", "work")]
)
def test_a_folder_of_others_is_not_emptied(tmp_path, name, content):
    model = vectorizer(n_prototypes=5).fit(TEXTS[:50])
    folder = tmp_path / "z"
    folder.mkdir()
    (folder / "model.json").write_text('{"model": "a", "partitions": []}')
    (folder / "part-000000.parquet").write_text("features of another program")
    (folder / name).write_text(content)
    before = {path.name: path.read_text() for path in folder.iterdir()}
    bag = db.from_sequence(TEXTS[:50], npartitions=1)
    with pytest.raises(InvalidParameterError, match=rf"has {name}, which transform_to did not"):
        on_dask.transform_to(model, bag, folder, cluster="synchronous", overwrite=True)
    assert {path.name: path.read_text() for path in folder.iterdir()} == before
