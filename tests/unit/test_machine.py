"""Threads and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from importlib.metadata import metadata

import numpy as np
import pytest
from packaging.requirements import Requirement
from threadpoolctl import threadpool_limits

from dcot import DcotError
from dcot.runtime.extras import require
from dcot.runtime.resources import (
    _pool,
    format_bytes,
    free_memory,
    n_threads,
    parse_bytes,
    run_tasks,
    run_threads,
)


def test_threads_follow_the_blas_limit():
    with threadpool_limits(1):
        assert n_threads() == 1
    assert 1 <= n_threads() <= (os.cpu_count() or 1)


def test_every_share_is_run_once():
    seen = np.zeros(10)

    def kernel(array, first, step):
        array[first::step] += 1

    run_threads(kernel, seen, work=1e9)
    run_threads(kernel, seen, work=1)
    assert (seen == 2).all()


def test_errors_in_a_thread_come_back():
    def kernel(first, step):
        raise ValueError(f"share {first}")

    with pytest.raises(ValueError, match="share"):
        run_threads(kernel, work=1e9)


def test_shares_are_run_if_the_pool_is_busy():
    free, seen = threading.Event(), np.zeros(10)

    def kernel(array, first, step):
        array[first::step] += 1

    blocking = [_pool().submit(free.wait, 20) for _ in range(os.cpu_count() or 1)]
    try:
        run_threads(kernel, seen, work=1e9)
    finally:
        free.set()
    assert (seen == 1).all()
    assert all(future.result() for future in blocking)


def test_every_item_goes_to_one_task_whose_kernels_use_one_thread():
    seen, steps, threads = [], [], set()

    def task(items):
        for item in items:
            seen.append(item)
            threads.add(threading.get_ident())
            run_threads(lambda first, step: steps.append(step), work=1e9)
            time.sleep(0.01)

    run_tasks(task, range(20), 3)
    assert sorted(seen) == list(range(20))
    assert set(steps) == {1}
    assert len(threads) > 1 or (os.cpu_count() or 1) == 1
    steps.clear()
    run_threads(lambda first, step: steps.append(step), work=1e9)
    assert set(steps) == {n_threads()}  # as before


@pytest.mark.parametrize("caller", [True, False])
def test_an_error_in_a_task_ends_the_others(caller):
    here, seen = threading.get_ident(), []

    def task(items):
        for item in items:
            seen.append(item)
            if (threading.get_ident() == here) is caller:
                raise ValueError("no good")
            time.sleep(0.01)

    with pytest.raises(ValueError, match="no good"):
        run_tasks(task, range(1000), 2)
    assert len(seen) < 1000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own():
    from dcot.core.centred import times

    dense = np.ones((2000, 300))
    import scipy.sparse as sp

    X = sp.random_array((2000, 2000), density=0.01, format="csr", random_state=0)
    expected = times(X, dense)
    child = os.fork()
    if child == 0:  # a dead pool would hang here; the alarm ends it
        import signal

        signal.alarm(20)
        os._exit(0 if np.array_equal(times(X, dense), expected) else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_a_second_process_compiles_nothing(tmp_path):
    code = (
        "import numpy as np; from dcot import DCoT; from dcot.core import kernels; "
        "X = np.random.default_rng(0).random((30, 20)); DCoT(5, solver='cg').fit(X).transform(X); "
        "import scipy.sparse as sp; X = sp.csr_array(X); DCoT(5, solver='cg').fit(X).transform(X); "
        "print(sum(sum(k.stats.cache_misses.values()) for k in vars(kernels).values() "
        "if hasattr(k, 'stats')))"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    compiled = []
    for _ in range(2):
        command = [sys.executable, "-c", code]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        compiled.append(int(run.stdout))
    assert compiled[0] > 0
    assert compiled[1] == 0


def test_an_installation_that_nobody_can_write_to_compiles_in_each_process():
    code = (
        "from numba.core import caching; "
        "name = 'CacheImpl' if hasattr(caching, 'CacheImpl') else '_CacheImpl'; "  # before 0.61
        "getattr(caching, name)._locator_classes = []; "
        "import dcot.core.kernels; from dcot.text import TermCounter; "
        "print(TermCounter().fit(['oil', 'oil corn', 'corn']).n_terms_)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout == "2\n", run.stderr


@pytest.mark.parametrize(
    ("text", "number"),
    [("4GB", 4e9), ("500 MB", 5e8), ("1.5kb", 1500), (10, 10), ("2 GiB", 2 * 2**30)],
)
def test_parse_bytes(text, number):
    assert parse_bytes(text) == number


@pytest.mark.parametrize(
    "text", ["", "GB", "-1", 0, -5, "4 bananas", "1.2.3GB", "2i", ".", float("nan"), True, [1]]
)
def test_parse_bytes_refuses(text):
    with pytest.raises(DcotError, match="memory_limit must be"):
        parse_bytes(text)


def test_the_cpu_limit_of_a_container_holds_for_blas_and_our_threads(tmp_path):
    (tmp_path / "cpu.max").write_text("50000 100000\n")  # half a core
    code = (
        "import sys; from pathlib import Path; from dcot.runtime import resources; "
        "resources._CPU_FILES = ((Path(sys.argv[1]),),); n = resources.n_threads(); "
        "from threadpoolctl import threadpool_info; "
        "blas = [x['num_threads'] for x in threadpool_info() if x['user_api'] == 'blas']; "
        "print(resources.n_cores(), n, *blas)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "cpu.max")]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert set(run.stdout.split()) == {"1"}


def test_free_memory_is_plausible():
    free = free_memory()
    assert free is None or 10**6 < free < 10**15
    assert format_bytes(12_300_000) == "12 MB"


def test_missing_extra_names_the_command():
    with pytest.raises(ImportError, match=r'pip install "dcot\[plots\]"'):
        require("no_such_module_at_all", "plots")


@pytest.mark.parametrize("extra", ["all", "dev"])
def test_extras_leave_out_what_has_no_wheels_for_a_version_of_python(extra):
    """As the build writes them: it joins extras that name others, and may lose their markers."""
    found = {}
    for version in ("3.13", "3.14"):
        environment = {"python_version": version, "extra": extra}
        wanted = map(Requirement, metadata("dcot").get_all("Requires-Dist"))
        found[version] = {
            one.name for one in wanted if one.marker and one.marker.evaluate(environment)
        }
    assert "wordllama" in found["3.13"]
    assert found["3.13"] - found["3.14"] == {"wordllama", *(["gensim"] if extra == "dev" else [])}
