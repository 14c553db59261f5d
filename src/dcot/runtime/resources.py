"""Find out how many threads and how much memory may be used."""

from __future__ import annotations

import math
import numbers
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from dcot.errors import InvalidParameterError

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


@lru_cache(maxsize=1)
def _blas() -> Any:
    # Finding the loaded libraries takes milliseconds, and asking them takes microseconds. So find
    # them once, after SciPy has loaded its BLAS.
    import scipy.linalg.blas  # noqa: F401
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController().select(user_api="blas")
    # BLAS does not know the CPU limit of a container. With one thread per core of the machine, the
    # threads would use up the limit while they wait for each other.
    if any(library["num_threads"] > n_cores() for library in found.info()):
        found.limit(limits=n_cores())
    return found


def n_cores() -> int:
    """Return the number of cores that this process may use, also in a container with a limit."""
    try:
        return min(len(os.sched_getaffinity(0)), _core_limit())
    except AttributeError:  # not on macOS or Windows
        return _core_limit()


@lru_cache(maxsize=1)
def _core_limit() -> int:
    limits = [_group_cores(*files) for files in _CPU_FILES]
    known = [limit for limit in (os.cpu_count(), *limits) if limit is not None]
    return min(known, default=1)


# Microseconds of all cores that a container may use in a period, and the period.
_CPU_FILES = (
    (Path("/sys/fs/cgroup/cpu.max"),),  # both numbers
    (  # version 1 of control groups
        Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
        Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us"),
    ),
)


def _group_cores(*files: Path) -> int | None:
    """Return the cores that a container may use, rounded up, or None without a limit."""
    try:
        quota, period = " ".join(file.read_text() for file in files).split()
        return max(1, math.ceil(int(quota) / int(period))) if int(quota) > 0 else None
    except (OSError, ValueError, ZeroDivisionError):  # also "max"
        return None


def n_threads() -> int:
    """Return the number of threads for our kernels: that of BLAS, at most the number of cores.

    joblib, threadpoolctl, Dask and the environment variables all set the threads of BLAS. Using the
    same number avoids oversubscription with nested parallelism.
    """
    limits = [library["num_threads"] for library in _blas().info()]
    return int(max(1, min([n_cores(), *limits])))


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let BLAS and our kernels use one thread in each call: for callers with threads of their own.

    Threads of BLAS wait for each other in a loop. Where several calls share the cores, most of the
    time is spent waiting.
    """
    with _blas().limit(limits=1):
        yield


def run_threads(kernel: Callable[..., None], *args: Any, work: float) -> None:
    """Call ``kernel(*args, first, step)`` once on each of ``step`` threads.

    The kernel must release the GIL and write only to its own rows. ``work`` is the number of
    elementary operations; small work runs on one thread.
    """
    alone = work <= _WORTH_A_THREAD or getattr(_worker, "busy", False)
    threads = 1 if alone else n_threads()
    others = [_pool().submit(kernel, *args, first, threads) for first in range(1, threads)]
    kernel(*args, 0, threads)
    for first, other in enumerate(others, 1):
        if other.cancel():  # all threads of the pool are busy
            kernel(*args, first, threads)
        else:
            other.result()


def run_tasks(task: Callable[[Iterator[Any]], None], items: Iterable[Any], threads: int) -> None:
    """Call ``task`` once on each of several threads, with an iterator that they share.

    Each item goes to one call. The current thread is one of the threads. Kernels that tasks start
    use one thread each. If a call fails, the others get no more items, and its error is raised.
    """
    waiting, lock, failed = iter(items), threading.Lock(), threading.Event()

    def shared() -> Iterator[Any]:
        while not failed.is_set():
            with lock:
                item = next(waiting, _END)
            if item is _END:
                return
            yield item

    def work() -> None:
        before = getattr(_worker, "busy", False)
        _worker.busy = True
        try:
            task(shared())
        except BaseException:
            failed.set()
            raise
        finally:
            _worker.busy = before

    others = [_pool().submit(work) for _ in range(1, threads)]
    try:
        work()
    finally:
        errors = [other.exception() for other in others if not other.cancel()]
    for error in errors:
        if error is not None:
            raise error


_END = object()
_worker = threading.local()  # whether this thread runs a task, and the other cores have their own
_WORTH_A_THREAD = 500_000


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    # One for the process: tasks never wait for each other, so all callers can share it. Idle
    # threads are cheap, but starting them for each product is not.
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="dcot")


if hasattr(os, "register_at_fork"):  # a forked child inherits the pool, but not its threads
    os.register_at_fork(after_in_child=lambda: _pool.cache_clear())


def free_memory() -> int | None:
    """Return the bytes that can be allocated now, or None if not known."""
    candidates = []
    try:
        text = Path("/proc/meminfo").read_text()
        if match := re.search(r"MemAvailable:\s+(\d+) kB", text):
            candidates.append(int(match[1]) * 1024)
    except OSError:
        pass
    groups = (_group_memory(folder, *names) for folder, names in _GROUP_FILES.items())
    candidates += [group for group in groups if group is not None]
    if not candidates:
        try:  # macOS reports the total memory, not the free memory: take half of it
            known = "SC_AVPHYS_PAGES" in os.sysconf_names
            pages = os.sysconf("SC_AVPHYS_PAGES") if known else os.sysconf("SC_PHYS_PAGES") // 2
            candidates.append(pages * os.sysconf("SC_PAGE_SIZE"))
        except (ValueError, OSError, AttributeError):  # Windows
            return None
    return max(0, min(candidates))


# Files with the limit of a container, what it uses, and a line of its statistics: what is cached.
_GROUP_FILES = {
    Path("/sys/fs/cgroup"): ("memory.max", "memory.current", "inactive_file"),
    Path("/sys/fs/cgroup/memory"): (  # version 1 of control groups
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
}


def _group_memory(folder: Path, limit_file: str, used_file: str, cached: str) -> int | None:
    """Return the bytes that a container may still use, or None without a limit.

    Cached files count as used by the container, but their memory can be freed.
    """
    try:
        limit = (folder / limit_file).read_text().strip()
        used = int((folder / used_file).read_text())
        facts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return None if limit == "max" else int(limit) - used + int(facts.get(cached, 0))
    except (OSError, ValueError):
        return None


def allowance(limit: float | None) -> float:
    """Return the bytes that may be used: the limit, or by default 90 % of the free memory."""
    if limit is not None:
        return limit
    free = free_memory()
    return float("inf") if free is None else 0.9 * free


def parse_bytes(limit: float | str | None) -> float | None:
    """Return a memory limit in bytes, from a number, ``"4GB"``, ``"2 GiB"``, or None.

    >>> parse_bytes("1.5 GB"), parse_bytes("1.5 GiB")
    (1500000000.0, 1610612736.0)
    """
    if limit is None:
        return None
    number = float("nan")
    if isinstance(limit, str):
        match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([kmgt]?)(i?)b?\s*", limit.lower())
        if match and (match[2] or not match[3]):
            number = float(match[1]) * (1024 if match[3] else 1000) ** _POWERS[match[2]]
    elif isinstance(limit, numbers.Real) and not isinstance(limit, bool):
        with suppress(OverflowError):
            number = float(limit)
    if not number > 0:
        raise InvalidParameterError(
            "memory_limit must be a positive number of bytes, or a size like '4GB' or '2 GiB', "
            f"got {limit!r}"
        )
    return number


def format_bytes(number: float) -> str:
    """Format a size in bytes for people.

    >>> format_bytes(1_536_000_000)
    '1.5 GB'
    """
    for unit in ("B", "KB", "MB", "GB"):
        if number < 1000:
            return f"{number:.2g} {unit}" if number < 10 else f"{number:.0f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"
