"""A fitted model as arrays and JSON, with all that is needed for features or probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.classifier import DCoTClassifier
from dcot.classifier.fit import FittedClassifier
from dcot.core.representation import Representation
from dcot.errors import InvalidTypeError, NotAvailableError
from dcot.estimator import DCoT
from dcot.text.analysis import DEFAULT_PATTERN, UNICODE_PATTERN
from dcot.text.counter import TermCounter
from dcot.text.options import stop_list
from dcot.text.pipeline import TextPipeline
from dcot.vectorizer import DCoTVectorizer

Array = NDArray[Any]
Model = DCoT | DCoTVectorizer | DCoTClassifier


@dataclass(frozen=True)
class Program:
    """Arrays by name, and settings as JSON values.

    Attributes
    ----------
    arrays : ``idf``; ``coef0``, ``intercept0``, ``mean0`` and so on for the layers;
        ``components``; ``weights`` and ``bias`` of the classifier; ``vectors`` and
        ``vectors_mean`` of its word vectors
    settings : ``analysis``, ``weighting``, ``terms`` (None for models of a matrix), ``layers``,
        ``output``, ``normalize``, ``input_weight``, and ``classifier`` or None
    dtype : dtype of the model
    n_terms : number of columns of the documents
    """

    arrays: Mapping[str, Array]
    settings: Mapping[str, Any]
    dtype: Any
    n_terms: int

    @classmethod
    def of(cls, model: Model) -> Program:
        """Build the program of a fitted model."""
        if not isinstance(model, DCoT | DCoTVectorizer | DCoTClassifier):
            raise InvalidTypeError(
                f"expected a DCoT, a DCoTVectorizer or a DCoTClassifier, got {type(model).__name__}"
            )
        classifier = model._fitted() if isinstance(model, DCoTClassifier) else None
        vectorizer = model.vectorizer_ if isinstance(model, DCoTClassifier) else model
        pipeline = vectorizer._pipeline if isinstance(vectorizer, DCoTVectorizer) else None
        dcot = model if isinstance(model, DCoT) else model.dcot_
        fitted = dcot._fitted()
        parts = [_text(pipeline), _features(fitted.representation), _classifier(classifier)]
        arrays = {name: array for part in parts for name, array in part[0].items()}
        settings = {name: value for part in parts for name, value in part[1].items()}
        return cls(arrays, settings, np.dtype(fitted.dtype), fitted.n_terms)


Part = tuple[dict[str, Array], dict[str, Any]]


def _text(pipeline: TextPipeline | None) -> Part:
    if pipeline is None:
        return {}, {"analysis": None, "weighting": None, "terms": None}
    weighting = pipeline.weighting
    settings = weighting.get_params()
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
    layers = [
        {"squash": layer.squash, "scale": scale}
        for layer, scale in zip(made.layers, made.scales, strict=True)
    ]
    return arrays, {
        "layers": layers,
        "output": made.output,
        "normalize": made.normalize,
        "input_weight": float(made.input_weight),
    }


def _classifier(fitted: FittedClassifier | None) -> Part:
    if fitted is None:
        return {}, {"classifier": None}
    arrays = {"weights": fitted.coef.T, "bias": fitted.intercept}
    settings: dict[str, Any] = {
        "classes": fitted.classes.tolist(),
        "exclusive": fitted.exclusive,
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
