"""Finished cells on disk: one JSON file each, written in one step, never computed twice."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcot.bench import environment
from dcot.errors import DatasetError
from dcot.runtime.files import write_atomically

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
        known = {**key, "protocol": PROTOCOL, "commit": environment.commit()}
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
            "commit": environment.commit(),
            "versions": environment.versions(),
            "hardware": environment.hardware(),
        }
        path = self.path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(cell, indent=1, sort_keys=True, allow_nan=False)
        write_atomically(path, (text + "\n").encode())

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
