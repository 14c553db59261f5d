"""Where corpora are looked for: a directory that is named, then DCOT_DATA, then the cache."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from dcot.errors import DatasetError, DatasetMissingError

__all__ = ["cache_dir", "find_file", "search_dirs"]


def cache_dir() -> Path:
    """The directory for downloads: ``DCOT_CACHE``, or ``dcot`` in the platform's user cache."""
    if named := os.environ.get("DCOT_CACHE"):
        return Path(named).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "dcot"


def search_dirs(data_dir: str | os.PathLike[str] | None = None) -> list[Path]:
    """All directories that may hold a corpus, in the order in which they are tried."""
    directories = []
    if data_dir is not None:
        named = Path(data_dir).expanduser()
        if not named.is_dir():
            raise DatasetError(
                f"data_dir {str(named)!r} is not a directory: expected one that exists"
            )
        directories.append(named)
    if from_environment := os.environ.get("DCOT_DATA"):
        directories.append(Path(from_environment).expanduser())
    return [*directories, cache_dir()]


def find_file(filename: str, data_dir: str | os.PathLike[str] | None, *, hint: str) -> Path:
    """The first file of this name in `search_dirs`, or an error that says where to put it.

    ``hint`` says where the file comes from.
    """
    directories = search_dirs(data_dir)
    for directory in directories:
        if (path := directory / filename).is_file():
            return path
    looked = ", ".join(str(directory) for directory in directories)
    raise DatasetMissingError(
        f"{filename} was not found in: {looked}. {hint} Put it into one of these directories, or "
        "name its directory with data_dir=... or the environment variable DCOT_DATA."
    )
