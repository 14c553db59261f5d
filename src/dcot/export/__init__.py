"""Export fitted models to ONNX, or to a scorer that needs only NumPy.

The exported model computes the features of a vectorizer or ``DCoT``, or the probabilities of a
classifier.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.classifier import DCoTClassifier
from dcot.classifier.fit import FittedClassifier
from dcot.core.representation import Representation
from dcot.errors import (
    InvalidParameterError,
    InvalidTypeError,
    NotAvailableError,
    OutOfMemoryError,
)
from dcot.estimator import DCoT
from dcot.runtime.extras import require
from dcot.runtime.files import as_path, atomic_file, explained, write_atomically
from dcot.text.analysis import DEFAULT_PATTERN, UNICODE_PATTERN
from dcot.text.counter import TermCounter
from dcot.text.options import stop_list
from dcot.text.pipeline import TextPipeline
from dcot.vectorizer import DCoTVectorizer

__all__ = ["to_numpy", "to_onnx"]

Array = NDArray[Any]
Model = DCoT | DCoTVectorizer | DCoTClassifier
Part = tuple[dict[str, Array], dict[str, Any]]

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
        If the model is not one of these, or has labels that are not strings, numbers or booleans.
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

    program = _program(model)
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
        If the model is not one of these, or has labels that are not strings, numbers or booleans.
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
    program = _program(model)
    if program.settings["analysis"] is None:
        raise InvalidParameterError("to_numpy needs a model of texts, and this one reads a matrix")
    place = as_path(folder)
    with explained(place):
        place.mkdir(parents=True, exist_ok=True)
    settings = json.dumps(program.settings, ensure_ascii=False)
    text = settings.encode("utf-8", "surrogatepass")  # labels may have lone surrogates
    arrays: dict[str, Any] = {"settings": np.frombuffer(text, dtype=np.uint8), **program.arrays}
    with atomic_file(place / "weights.npz") as file:
        np.savez(file, **arrays)
    write_atomically(place / "scorer.py", Path(__file__).with_name("scorer.py").read_bytes())


# -- what a model computes ------------------------------------------------------------------------


@dataclass(frozen=True)
class Program:
    """Arrays by name, and settings as JSON values.

    Attributes
    ----------
    arrays : ``idf``; ``coef0``, ``intercept0``, ``mean0`` and so on for the layers;
        ``components``; ``directions``; ``weights`` and ``bias`` of the classifier; ``vectors`` and
        ``vectors_mean`` of its word vectors
    settings : ``analysis``, ``weighting``, ``terms`` (None for models of a matrix), ``layers``,
        ``output``, ``normalize``, ``lsi_weight``, and ``classifier`` or None
    dtype : dtype of the model
    n_terms : number of columns of the documents
    """

    arrays: Mapping[str, Array]
    settings: Mapping[str, Any]
    dtype: Any
    n_terms: int


def _program(model: Model) -> Program:
    """Return the program of a fitted model."""
    if not isinstance(model, DCoT | DCoTVectorizer | DCoTClassifier):
        raise InvalidTypeError(
            f"expected a DCoT, a DCoTVectorizer or a DCoTClassifier, got {type(model).__name__}"
        )
    classifier = model._fitted() if isinstance(model, DCoTClassifier) else None
    vectorizer = model.vectorizer_ if isinstance(model, DCoTClassifier) else model
    pipeline = vectorizer._pipeline if isinstance(vectorizer, DCoTVectorizer) else None
    fitted = (model if isinstance(model, DCoT) else model.dcot_)._fitted()
    arrays: dict[str, Array] = {}
    settings: dict[str, Any] = {}
    for part in (_text(pipeline), _features(fitted.representation), _classifier(classifier)):
        arrays |= part[0]
        settings |= part[1]
    return Program(arrays, settings, np.dtype(fitted.dtype), fitted.n_terms)


def _text(pipeline: TextPipeline | None) -> Part:
    if pipeline is None:
        return {}, {"analysis": None, "weighting": None, "terms": None}
    weighting = pipeline.weighting
    settings = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in weighting.get_params().items()
    }
    if settings["norm"] == "auto":
        settings["norm"] = "l2" if weighting.scheme == "tfidf" else None
    settings["mean_length"] = float(weighting.mean_length_)
    return {"idf": np.asarray(weighting.idf_)}, {
        "analysis": _analysis(pipeline.counter),
        "weighting": settings,
        "terms": pipeline.terms.tolist(),
    }


def _analysis(counter: TermCounter) -> dict[str, Any]:
    """Return how texts are split into terms; ``"refused"`` says why a scorer cannot do it."""
    pattern, shortest = counter.token_pattern, counter.min_word_length
    if shortest is not None and pattern == DEFAULT_PATTERN:
        pattern = rf"(?u)\b\w{{{shortest},}}\b"
    refused = None
    if callable(counter.analyzer) or callable(counter.strip_accents):
        refused = "the model uses a function to analyze texts, which a file cannot hold"
    elif counter.analyzer == "word" and pattern == UNICODE_PATTERN:
        refused = "token_pattern='unicode' needs dcot"
    return {
        "refused": refused,
        "analyzer": None if refused else counter.analyzer,
        "lowercase": bool(counter.lowercase),
        "strip_accents": None if refused else counter.strip_accents,
        "token_pattern": pattern,
        "stop_words": sorted(stop_list(counter.stop_words)),
        "ngram_range": [int(n) for n in counter.ngram_range],
        "binary": bool(counter.binary),
    }


def _features(made: Representation) -> Part:
    arrays: dict[str, Array] = {}
    for k, layer in enumerate(made.layers):
        arrays |= {f"coef{k}": layer.coef_, f"intercept{k}": layer.intercept_}
        if made.normalize is not None and layer.mean_ is not None:
            arrays[f"mean{k}"] = layer.mean_
    if made.components is not None:
        arrays["components"] = made.components
    if made.directions is not None:
        arrays["directions"] = made.directions
    layers = [
        {"squash": layer.squash, "scale": scale}
        for layer, scale in zip(made.layers, made.scales, strict=True)
    ]
    return arrays, {
        "layers": layers,
        "output": made.output,
        "normalize": made.normalize,
        "lsi_weight": float(made.lsi_weight),
    }


def _classifier(fitted: FittedClassifier | None) -> Part:
    if fitted is None:
        return {}, {"classifier": None}
    arrays = {"weights": fitted.coef.T, "bias": fitted.intercept}
    settings: dict[str, Any] = {
        "classes": _labels(fitted.classes),
        "exclusive": fitted.exclusive,
        "indicator": fitted.kind == "indicator",
        "temperature": float(fitted.temperature),
    }
    beside = fitted.embedding
    if beside is not None:
        if beside.table is None:
            raise NotAvailableError(
                "this classifier needs vectors of documents, which an exported model does not "
                "have: fit it without an embedding, or with word vectors"
            )
        arrays |= {"vectors": beside.table, "vectors_mean": beside.mean}
        settings["vectors_weight"] = float(beside.weight)
    return arrays, {"classifier": settings}


def _labels(classes: Array) -> list[Any]:
    """Return the classes as JSON values."""
    labels = [one.item() if isinstance(one, np.generic) else one for one in classes.tolist()]
    for label in labels:
        if not isinstance(label, str | int | float):  # a boolean is an integer
            raise InvalidTypeError(
                f"an exported model cannot hold the label {label!r:.60} "
                f"({type(label).__name__}): fit with labels that are strings, numbers or booleans"
            )
    return labels
