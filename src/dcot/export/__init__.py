"""Fitted models for places without dcot: ONNX, and a scorer that needs NumPy alone.

Both compute what the model computes: a vectorizer or ``DCoT`` its features, a classifier its
probabilities.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from dcot.errors import InvalidParameterError, OutOfMemoryError
from dcot.export.program import Model, Program
from dcot.runtime.extras import require
from dcot.runtime.files import atomic_file, write_atomically

__all__ = ["to_numpy", "to_onnx"]

_LARGEST = 2**31 - 2**20  # bytes that one file of ONNX can hold


def to_onnx(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model as one file of ONNX.

    Parameters
    ----------
    model : a fitted DCoT, DCoTVectorizer or DCoTClassifier
        From texts, the input ``counts`` has a column for each term, in the order of
        ``model.vocabulary_``; from a matrix, the input ``documents`` has its columns. The output
        is ``features``, or ``probabilities`` with a column for each class. Terms and classes are
        in the file's metadata, as JSON.
    path : the file, such as ``model.onnx``; it is replaced in one step

    Raises
    ------
    MissingExtraError : onnx is not installed
    NotAvailableError : the classifier needs the vectors of an encoder beside the terms
    OutOfMemoryError : the weights are larger than one file of ONNX can be, 2 GB

    Examples
    --------
    >>> from dcot import DCoTVectorizer
    >>> model = DCoTVectorizer().fit(["crude oil", "opec oil", "wheat harvest", "wheat and corn"])
    >>> to_onnx(model, "/tmp/model.onnx")  # doctest: +SKIP
    """
    require("onnx", "onnx")
    from dcot.export import onnx_graph

    program = Program.of(model)
    size = sum(array.nbytes for array in program.arrays.values())
    if size > _LARGEST:
        raise OutOfMemoryError(
            f"the weights take {size / 1e9:.1f} GB, and a file of ONNX holds 2 GB: fit with fewer "
            "n_prototypes, or with min_df or max_features"
        )
    write_atomically(path, onnx_graph.serialized(program))


def to_numpy(model: Model, folder: str | os.PathLike[str]) -> None:
    """Write a model as a folder with ``scorer.py``, which needs NumPy alone, and its weights.

    ``Scorer()`` in that file has ``transform``, ``predict_proba`` and ``predict`` for texts, or for
    mappings of terms to counts; the file shows how.

    Parameters
    ----------
    model : a DCoTVectorizer or DCoTClassifier, fitted to texts
    folder : where the two files go; it is created

    Raises
    ------
    NotAvailableError : the classifier needs the vectors of an encoder beside the terms

    Notes
    -----
    With a function as ``analyzer`` or ``strip_accents``, or with ``token_pattern="unicode"``, the
    scorer takes counts of terms only: it cannot hold the function.
    """
    program = Program.of(model)
    if program.settings["analysis"] is None:
        raise InvalidParameterError("to_numpy takes a model of texts, and this one takes a matrix")
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    text = json.dumps(program.settings, ensure_ascii=False).encode()
    arrays: dict[str, Any] = {"settings": np.frombuffer(text, dtype=np.uint8), **program.arrays}
    with atomic_file(place / "weights.npz") as file:
        np.savez(file, **arrays)
    write_atomically(place / "scorer.py", Path(__file__).with_name("scorer.py").read_bytes())
