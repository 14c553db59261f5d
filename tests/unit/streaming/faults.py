"""Partitions that go wrong on purpose; what has happened is kept in files, which survive a kill."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcot.stream import Sum

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has only the latter, which kills there


def loads(folder: str, name: str) -> int:
    """Count this load of a partition, and return how many there were."""
    with (Path(folder) / f"{name}.loads").open("a") as file:
        file.write("x")
        file.flush()
        return file.tell()


def plain(value: Any) -> Any:
    return value


def killing(value: Any, folder: str, at: int) -> Any:
    """Take the worker down at the given load."""
    if loads(folder, "killing") == at:
        os.kill(os.getpid(), KILL)
    return value


def pausing(value: Any, folder: str, at: int) -> Any:
    """Stop the worker at the given load, until somebody lets it go on."""
    if loads(folder, "pausing") == at:
        (Path(folder) / "paused").write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGSTOP)
    return value


def failing(value: Any, folder: str, times: int) -> Any:
    """Fail this many times, then work."""
    if loads(folder, "failing") <= times:
        raise OSError("the connection was reset")
    return value


def corrupt(value: Any) -> Any:
    raise ValueError("invalid start byte 0xff")


def waiting(value: Any, folder: str) -> Any:
    """Do not come back before the test is over."""
    while not (Path(folder) / "over").exists():
        time.sleep(0.05)
    return value


def slow(value: Any, folder: str) -> Any:
    """Take half a second."""
    loads(folder, "slow")
    time.sleep(0.5)
    return value


def generated(seed: int, n: int = 4000, d: int = 3000, length: int = 40) -> Any:
    """A partition that is made where it is needed."""
    rng = np.random.default_rng(seed)
    columns = (d * rng.random((n, length)) ** 3).astype(np.int32)
    values = np.ones(n * length, dtype=np.float32)
    X = sp.csr_array((values, columns.ravel(), np.arange(0, n * length + 1, length)), shape=(n, d))
    X.sum_duplicates()
    return X


def memory_from_now_on() -> int:
    """Let the peak of this process count from now on; what it has."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def peak_memory() -> int:
    return _status("VmHWM")


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise AssertionError(field)


class KillingSum(Sum):
    """Counts documents; the first merge takes its worker down."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def empty(self) -> int:
        return 0

    def add(self, total: int, block: Any) -> int:
        return total + len(block)

    def merge(self, left: int, right: int) -> int:
        if loads(self.folder, "merging") == 1:
            os.kill(os.getpid(), KILL)
        return left + right
