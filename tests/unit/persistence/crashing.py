"""Saves a model again and again, and is killed one step later each time.

Run as a program of its own, because children are forked: ``crashing.py FOLDER``. A step is
whatever touches the disk: opening, syncing, renaming, removing, making a folder, a piece of a file.
It makes ``FOLDER/first-K`` and ``FOLDER/again-K``, the remains of a first save and of one over an
old model that were killed at step K, and prints how many there are of each.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from dcot.persistence import Contents, tensors, write_folder

EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.listdir", "fcntl.flock"}


def contents(number: int) -> Contents:
    """A model in which everything says its number."""
    arrays = {"x": np.full(2000, number), "y": np.full(10, number, dtype=np.float32)}
    settings = {"number": number}
    facts = [("number", str(number))]
    return Contents("DCoT", settings, arrays, vocabulary=[str(number)], facts=facts)


def die_at(step: int) -> None:
    """Have this process killed before the step-th thing it does to the disk."""
    left = step

    def count(event: str, arguments: Any = ()) -> None:
        nonlocal left
        if event in EVENTS or event == "ours":
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

    sync, pieces = os.fsync, tensors.pieces

    def fsync(handle: int) -> None:
        count("ours")
        sync(handle)

    def counted(arrays: Any) -> Iterator[Any]:
        for piece in pieces(arrays):
            yield piece
            count("ours")

    os.fsync, tensors.pieces = fsync, counted  # type: ignore[assignment]
    sys.addaudithook(count)


def killed_at(step: int, folder: str) -> bool:
    """Whether saving was killed before it was done."""
    child = os.fork()
    if child == 0:
        die_at(step)
        write_folder(folder, contents(2))
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if not os.WIFSIGNALED(status) and os.WEXITSTATUS(status) != 0:
        raise SystemExit(f"the child failed at step {step}")
    return os.WIFSIGNALED(status)


def main(root: str) -> None:
    for name in ("first", "again"):
        step = 0
        while True:
            folder = f"{root}/{name}-{step}"
            if name == "again":
                write_folder(folder, contents(1))
            if not killed_at(step, folder):
                break
            step += 1
        print(step)


if __name__ == "__main__":
    main(sys.argv[1])
