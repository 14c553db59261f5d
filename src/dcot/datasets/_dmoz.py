"""Dmoz: titles and descriptions of web sites, about 20 words each, in a directory of topics."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from dcot.datasets._corpus import Corpus, check_figures
from dcot.datasets._files import find_file
from dcot.errors import DatasetError, InvalidParameterError

__all__ = ["load_dmoz"]

_FILE = "dmoz.tsv"
_COLUMNS = ["top", "sub", "text"]
_HINT = (
    "It is a tab-separated file with the columns top, sub and text: 500 (once 1000) sites of "
    "each of 70 sub-categories of Computers, Health, Science and Sports."
)
_N_TRAIN, _N_TEST = 7184, 1796  # the sizes of the paper, whose own sample is not public


def load_dmoz(
    data_dir: str | os.PathLike[str] | None = None,
    *,
    label: Literal["sub", "top"] = "sub",
    seed: int = 0,
) -> Corpus:
    """Dmoz: 7184 + 1796 documents drawn by ``seed``, and the other 26,520 as unlabelled.

    Parameters
    ----------
    data_dir : path, optional
        Where ``dmoz.tsv`` is; see `dcot.datasets`.
    label : {"sub", "top"}
        ``"sub"`` gives 70 classes such as ``"Sports/Golf"``, ``"top"`` the 4 above them.
    seed : int
        The draw. Documents are ordered by a hash of the seed and their row, so a seed means the
        same sample on every machine and with every version of every library. Results in dcot's
        documentation use 0.
    """
    if label not in ("sub", "top"):
        raise InvalidParameterError(f"label must be 'sub' or 'top', got {label!r}")
    path = find_file(_FILE, data_dir, hint=_HINT)
    rows = _read(path)
    order = _draw(len(rows), seed)
    corpus = Corpus(
        name="dmoz",
        texts=[row[2] for row in rows],
        labels=np.array([row[0] if label == "top" else f"{row[0]}/{row[1]}" for row in rows]),
        train=np.sort(order[:_N_TRAIN]),
        test=np.sort(order[_N_TRAIN : _N_TRAIN + _N_TEST]),
        unlabelled=np.sort(order[_N_TRAIN + _N_TEST :]),
        licence="Creative Commons Attribution 3.0 (Open Directory Project)",
        citation="The Open Directory Project (dmoz), closed in 2017.",
        description="Titles and descriptions of web sites by the editors of a web directory. The "
        f"sample of {_N_TRAIN} + {_N_TEST} documents is drawn with seed {seed}; the paper's own "
        "16-category sample is not public.",
    )
    return check_figures(
        corpus, str(path), documents=35500, unlabelled=26520, classes=70 if label == "sub" else 4
    )


def _read(path: Path) -> list[list[str]]:
    # Only "\n" ends a row: splitlines() would also break at characters inside a text.
    lines = path.read_bytes().decode("utf-8", errors="replace").split("\n")
    rows = [line.rstrip("\r").split("\t") for line in lines if line.strip()]
    if not rows or rows[0] != _COLUMNS:
        found = rows[0][:5] if rows else "nothing"
        raise DatasetError(f"{path} begins with {found}, expected the columns {_COLUMNS}. {_HINT}")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(_COLUMNS):
            raise DatasetError(f"{path}: row {number} has {len(row)} fields, expected 3. {_HINT}")
    return rows[1:]


def _draw(n_documents: int, seed: int) -> npt.NDArray[np.intp]:
    keys = [hashlib.sha256(f"{seed}:{row}".encode()).digest() for row in range(n_documents)]
    return np.array(sorted(range(n_documents), key=keys.__getitem__), dtype=np.intp)
