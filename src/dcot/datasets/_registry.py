"""Corpora by name, for command lines and studies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dcot.datasets._corpus import Corpus
from dcot.datasets._dmoz import load_dmoz
from dcot.datasets._everyday import load_everyday
from dcot.datasets._imdb import load_imdb
from dcot.datasets._orange import load_20newsgroups, load_r8, load_r52
from dcot.datasets._reuters_matrix import load_reuters_matrix
from dcot.datasets._reuters_text import load_reuters_text
from dcot.errors import InvalidParameterError

__all__ = ["available", "load"]

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

    >>> "r52" in available()
    True
    """
    return tuple(_LOADERS)


def load(name: str, **options: Any) -> Corpus:
    """Load a corpus by its name; ``options`` go to its own function, such as ``data_dir=...``."""
    loader = _LOADERS.get(name)
    if loader is None:
        known = ", ".join(_LOADERS)
        raise InvalidParameterError(f"unknown corpus {name!r}: expected one of {known}")
    return loader(**options)
