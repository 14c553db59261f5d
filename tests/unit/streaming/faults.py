"""Partitions that go wrong on purpose; what has happened is kept in files, which survive a kill."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any


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
        os.kill(os.getpid(), signal.SIGKILL)
    return value


def pausing(value: Any, folder: str, at: int) -> Any:
    """Stop the worker at the given load, until somebody lets it go on."""
    if loads(folder, "pausing") == at:
        (Path(folder) / "paused").write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGSTOP)
    return value


def failing(value: Any, folder: str, times: int) -> Any:
    """Fail so many times, then work."""
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
