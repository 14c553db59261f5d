"""Export fitted models to ONNX, or to a scorer that needs only NumPy.

The exported model computes the features of a vectorizer or ``DCoT``, or the probabilities of a
classifier.
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
from dcot.runtime.files import atomic_file, explained, write_atomically

__all__ = ["to_numpy", "to_onnx"]

_LARGEST = 2**31 - 2**20  # maximum size of an ONNX file in bytes


def to_onnx(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model as an ONNX file.

    Parameters
    ----------
    model : a fitted DCoT, DCoTVectorizer or DCoTClassifier
        If it was fitted to texts, the input ``counts`` has a column for each term, in the order of
        ``model.vocabulary_``; if it was fitted to a matrix, the input ``documents`` has its
        columns. The output is ``features``, or ``probabilities`` with a column for each class.
        Terms and classes are in the metadata of the file, as JSON.
    path : the file, such as ``model.onnx``; it is replaced atomically

    Raises
    ------
    MissingExtraError
        If onnx is not installed.
    NotAvailableError
        If the classifier needs the vectors of an encoder.
    OutOfMemoryError
        If the weights exceed 2 GB, the limit of an ONNX file.
    InvalidTypeError
        If the model is not one of these.
    OutputError
        If the file cannot be written.

    Examples
    --------
    >>> from dcot import DCoTVectorizer
    >>> model = DCoTVectorizer().fit(["crude oil", "opec oil", "wheat harvest", "wheat and corn"])
    >>> to_onnx(model, "model.onnx")  # doctest: +SKIP
    """
    require("onnx", "onnx")
    from dcot.export import onnx_graph

    program = Program.of(model)
    size = sum(array.nbytes for array in program.arrays.values())
    if size > _LARGEST:
        raise OutOfMemoryError(
            f"the weights take {size / 1e9:.1f} GB, and an ONNX file holds at most 2 GB: fit with "
            "fewer n_prototypes, or with min_df or max_features"
        )
    write_atomically(path, onnx_graph.serialized(program))


def to_numpy(model: Model, folder: str | os.PathLike[str]) -> None:
    """Write a model as a folder with its weights and ``scorer.py``, which needs only NumPy.

    ``Scorer()`` in that file has ``transform``, ``predict_proba`` and ``predict`` for texts, or for
    mappings from terms to counts.

    Parameters
    ----------
    model : a DCoTVectorizer or DCoTClassifier, fitted to texts
    folder : folder for the two files; it is created if needed

    Raises
    ------
    NotAvailableError
        If the classifier needs the vectors of an encoder.
    InvalidParameterError
        If the model was fitted to a matrix.
    InvalidTypeError
        If the model is not one of these.
    OutputError
        If a file cannot be written.

    Notes
    -----
    With a function as ``analyzer`` or ``strip_accents``, or with ``token_pattern="unicode"``, the
    scorer takes only counts of terms, because it cannot contain the function.

    Examples
    --------
    >>> import tempfile
    >>> from dcot import DCoTVectorizer
    >>> model = DCoTVectorizer().fit(["crude oil", "opec oil", "wheat harvest", "wheat and corn"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_numpy(model, folder)
    ...     sorted(os.listdir(folder))
    ['scorer.py', 'weights.npz']
    """
    program = Program.of(model)
    if program.settings["analysis"] is None:
        raise InvalidParameterError("to_numpy needs a model of texts, and this one reads a matrix")
    place = Path(folder)
    with explained(place):
        place.mkdir(parents=True, exist_ok=True)
    text = json.dumps(program.settings, ensure_ascii=False).encode()
    arrays: dict[str, Any] = {"settings": np.frombuffer(text, dtype=np.uint8), **program.arrays}
    with atomic_file(place / "weights.npz") as file:
        np.savez(file, **arrays)
    write_atomically(place / "scorer.py", Path(__file__).with_name("scorer.py").read_bytes())
