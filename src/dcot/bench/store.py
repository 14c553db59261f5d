"""Finished cells on disk: one JSON file each, written in one step, never computed twice."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcot.bench import facts
from dcot.errors import DatasetError
from dcot.runtime.files import write_atomically

Key = dict[str, Any]  # what a cell is: experiment, corpus, system, draw and so on
Result = dict[str, Any]

# Raised when what a cell means changes, so that older results are not taken for new ones.
PROTOCOL = 1


@dataclass(frozen=True)
class Cell:
    """One result and everything it depends on."""

    key: Key
    result: Result
    seconds: float
    versions: Mapping[str, str]
    machine: Mapping[str, Any]
    commit: str
    protocol: int = PROTOCOL


class Store:
    """A folder of cells.

    >>> import tempfile
    >>> store = Store(tempfile.mkdtemp())
    >>> key = {"experiment": "few-labels", "system": "LSI", "draw": 0}
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
        text = json.dumps({**key, "protocol": PROTOCOL}, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
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
        """Keep a finished cell; it is there completely or not at all, also after a power cut."""
        cell = {
            "key": key,
            "result": result,
            "seconds": round(seconds, 4),
            "seeds": dict(seeds or {}),
            "protocol": PROTOCOL,
            "commit": facts.commit(),
            "versions": facts.versions(),
            "machine": facts.machine(),
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
            machine=content["machine"],
            commit=content["commit"],
            protocol=int(content["protocol"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DatasetError(
            f"{path} is not a result of dcot bench ({error}): delete it, and it is computed again"
        ) from error
