"""Finished cells on disk: one JSON file each, written in one step, never computed twice.

Each says what it depends on besides its settings: versions, commit and hardware; no names, no
paths.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from dcot._version import __version__
from dcot.errors import DatasetError
from dcot.runtime.files import write_atomically
from dcot.runtime.resources import n_cores

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "polars", "threadpoolctl")
RIVALS = ("sentence-transformers", "torch", "wordllama")  # where they are installed


@cache
def versions() -> dict[str, str]:
    """Of Python, dcot and the libraries that compute."""
    found = {"python": platform.python_version(), "dcot": __version__}
    for package in (*PACKAGES, *RIVALS):
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


@cache
def commit() -> str:
    """The commit of the running dcot, ``+`` if it was changed since; "" outside a checkout."""
    here = Path(__file__).parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(here), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", __file__)  # not a repository that dcot is installed in
        changed = git("status", "--porcelain", "--untracked-files=no", "--", str(here.parent))
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


@cache
def hardware() -> dict[str, str | int]:
    """Processor, cores and memory; no host name, user or path."""
    facts: dict[str, str | int] = {
        "system": platform.system(),
        "architecture": platform.machine(),
        "processor": platform.processor() or "unknown",
        "cores": n_cores(),
    }
    with suppress(OSError):  # only Linux has this file
        if match := re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text()):
            facts["processor"] = match[1].strip()
    with suppress(ValueError, OSError, AttributeError):  # not on Windows
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        facts["memory_gb"] = round(memory / 1e9)
    return facts


Key = dict[str, Any]  # what a cell is: experiment, corpus, system, draw and so on
Result = dict[str, Any]

# Raised when the meaning of a cell changes, so that older results are not taken for new ones.
PROTOCOL = 2


@dataclass(frozen=True)
class Cell:
    """One result and everything it depends on."""

    key: Key
    result: Result
    seconds: float
    versions: Mapping[str, str]
    hardware: Mapping[str, Any]
    commit: str
    protocol: int = PROTOCOL


class Store:
    """A folder of cells, all computed at one commit.

    Cells of another commit have other file names, so a run never mixes two states of the code.

    >>> import tempfile
    >>> store = Store(tempfile.mkdtemp())
    >>> key = {"experiment": "accuracy", "system": "LSI", "draw": 0}
    >>> store.put(key, {"accuracy": 0.5}, seconds=1.0)
    >>> store.get(key).result
    {'accuracy': 0.5}
    >>> store.get({**key, "draw": 1}) is None
    True
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, key: Key) -> Path:
        """Where a cell is: readable for people, unique by the hash of its key."""
        known = {**key, "protocol": PROTOCOL, "commit": commit()}
        digest = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16]
        words = [str(key[name]) for name in ("corpus", "system") if name in key]
        slug = "".join(c if c.isalnum() else "-" for c in "-".join(words).lower())
        return self.folder / str(key["experiment"]) / f"{slug}-{digest}.json"

    def get(self, key: Key) -> Cell | None:
        """The cell, or None if it is not finished."""
        path = self.path(key)
        return _read(path) if path.exists() else None

    def put(
        self, key: Key, result: Result, *, seconds: float, seeds: Mapping[str, int] | None = None
    ) -> None:
        """Keep a finished cell; it is written completely or not at all."""
        cell = {
            "key": key,
            "result": result,
            "seconds": round(seconds, 4),
            "seeds": dict(seeds or {}),
            "protocol": PROTOCOL,
            "commit": commit(),
            "versions": versions(),
            "hardware": hardware(),
        }
        text = json.dumps(cell, indent=1, sort_keys=True, allow_nan=False)
        write_atomically(self.path(key), (text + "\n").encode())

    def cells(self) -> Iterator[Cell]:
        """All finished cells of this protocol, in a fixed order."""
        for path in sorted(self.folder.glob("*/*.json")):
            cell = _read(path)
            if cell.protocol == PROTOCOL:
                yield cell


def _read(path: Path) -> Cell:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Cell(
            key=content["key"],
            result=content["result"],
            seconds=float(content["seconds"]),
            versions=content["versions"],
            hardware=content["hardware"],
            commit=content["commit"],
            protocol=int(content["protocol"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DatasetError(
            f"{path} is not a result of dcot bench ({error}): delete it, and it is computed again"
        ) from error
