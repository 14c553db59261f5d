"""A search index as the contents of a model folder, and back."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from types import NoneType
from typing import Any

import numpy as np

from dcot.embedding.vectors import add_embedding, read_embedding
from dcot.errors import InvalidTypeError, ModelFormatError
from dcot.estimator import DCoT
from dcot.persistence import Contents
from dcot.persistence.contents import DAMAGED, count, setting
from dcot.persistence.saving import restored
from dcot.search.encoding import Transformer, counter_of
from dcot.search.postings import Postings, Segment
from dcot.search.records import PackedColumn, Records, pack
from dcot.search.snapshot import Snapshot, Vectors
from dcot.text.terms import Terms
from dcot.vectorizer import DCoTVectorizer

_MODELS: dict[str, type[DCoT] | type[DCoTVectorizer]] = {
    "DCoT": DCoT,
    "DCoTVectorizer": DCoTVectorizer,
}
_PREFIX = "model."
_PARAMETERS = {"hybrid", "layer", "store_texts", "k1", "b"}


# -- to the folder --------------------------------------------------------------------------------


def index_contents(
    snapshot: Snapshot,
    model: Transformer | None,
    parameters: Mapping[str, Any],
    keep_moments: bool,
) -> Contents:
    """A compacted snapshot and its model, as arrays and JSON."""
    contents = _model_contents(model, keep_moments)
    n, terms = len(snapshot), snapshot.vocabulary
    settings = {
        "parameters": dict(parameters),
        "model": contents.settings,
        "n_documents": n,
        "width": None if snapshot.vectors is None else snapshot.vectors.width,
        "next_id": snapshot.next_id,
        "is_text": snapshot.is_text,
        "extra_terms": None if terms is None else _add_terms(contents, snapshot, terms.terms),
        "embedding": add_embedding(contents, snapshot.embedding),
    }
    if snapshot.vectors is not None:
        # an empty matrix has no scale for a lower precision
        place = contents.weights if n else contents.arrays
        place["vectors"] = snapshot.vectors.array
        for name in ("ids", "metadata", "texts"):
            column = getattr(snapshot.records, name)
            if column is not None:
                contents.arrays[f"{name}.bytes"], contents.arrays[f"{name}.cuts"] = pack(column)
    kind = "texts" if snapshot.is_text else "rows of features"
    facts = [("documents in the index", f"{n:,} {kind}"), *contents.facts]
    return replace(contents, kind="SearchIndex", settings=settings, facts=facts)


def _model_contents(model: Transformer | None, keep_moments: bool) -> Contents:
    """The contents of the model, with prefixed names of arrays."""
    if model is None:
        return Contents("", {"kind": None})
    if not isinstance(model, DCoT | DCoTVectorizer) or type(model) not in _MODELS.values():
        raise InvalidTypeError(
            f"an index with a {type(model).__name__} cannot be saved, because a model folder holds "
            "no code: use a DCoTVectorizer or DCoT, or compute the features and build the index "
            "from them, SearchIndex().add(features)"
        )
    inner = model._contents(keep_moments)
    return Contents(
        "",
        {"kind": type(model).__name__, "settings": inner.settings},
        {_PREFIX + name: array for name, array in inner.arrays.items()},
        {_PREFIX + name: array for name, array in inner.weights.items()},
        inner.vocabulary,
        inner.facts,
    )


def _add_terms(contents: Contents, snapshot: Snapshot, terms: Terms) -> int:
    """Add counts, and the terms that the model does not know; return their number."""
    known = _n_known(snapshot.model)
    extra, cuts = pack(terms.to_list()[known:])
    postings = snapshot.counts.merged(len(terms))
    contents.arrays.update(
        {
            "lengths": snapshot.lengths,
            "terms.bytes": extra,
            "terms.cuts": cuts,
            "counts.starts": postings.indptr,
            "counts.rows": postings.rows,
            "counts.values": postings.values,
        }
    )
    return len(terms) - known


def _n_known(model: Transformer | None) -> int:
    return int(model.counter_.n_terms_) if isinstance(model, DCoTVectorizer) else 0


# -- from the folder ------------------------------------------------------------------------------


def read_index(contents: Contents) -> tuple[Snapshot, dict[str, Any]]:
    """Read the snapshot and the parameters of the index."""
    settings = contents.settings
    parameters = setting(settings, "parameters", dict)
    unknown = sorted(set(parameters) - _PARAMETERS)
    if unknown:
        raise ModelFormatError(
            f"SearchIndex has no parameter {', '.join(unknown[:5])!s:.200} in this version of "
            "dcot: upgrade dcot, if the index was saved by a newer version"
        )
    numbers = {"k1", "b"} if parameters.get("hybrid") is True else {"hybrid", "k1", "b"}
    for name in numbers:
        setting(parameters, name, float)
    setting(parameters, "store_texts", bool)
    model = _model(contents)
    n = count(settings, "n_documents")
    is_text = settings.get("is_text")
    if not (is_text is None or isinstance(is_text, bool)) or (is_text is None and n):
        raise ModelFormatError(f"the folder does not say whether documents are texts{DAMAGED}")
    next_id = setting(settings, "next_id", int)
    if next_id < 0:
        raise ModelFormatError(f"the next id is negative{DAMAGED}")
    stores = parameters["store_texts"]
    if settings.get("width") is None:
        if n:
            raise ModelFormatError(f"there are documents without vectors{DAMAGED}")
        empty = Records(texts=() if stores else None)
        return Snapshot(model, is_text, empty, next_id=next_id), parameters
    vectors = contents.array("vectors", (n, count(settings, "width")))
    if vectors.dtype != np.float32:
        raise ModelFormatError(f"the vectors are {vectors.dtype}, expected float32{DAMAGED}")
    records = Records(
        PackedColumn(contents, "ids", n, str, int),
        PackedColumn(contents, "metadata", n, dict, NoneType),
        PackedColumn(contents, "texts", n, str) if stores else None,
    )
    if is_text is False and isinstance(model, DCoTVectorizer):
        raise ModelFormatError(f"an index of features has a DCoTVectorizer{DAMAGED}")
    terms = _read_terms(contents, model, n, parameters["layer"]) if is_text else {}
    live = np.ones(n, dtype=np.bool_)
    return (
        Snapshot(model, is_text, records, live, Vectors(vectors), next_id=next_id, **terms),
        parameters,
    )


def _model(contents: Contents) -> Any:
    described = setting(contents.settings, "model", dict)
    kind = described.get("kind")
    if kind is None:
        return None
    if not isinstance(kind, str) or kind not in _MODELS:
        raise ModelFormatError(
            f"the index needs a {kind!r:.60}, which this version of dcot does not know: upgrade "
            "dcot"
        )
    inner = contents.part(_PREFIX, kind, setting(described, "settings", dict))
    return restored(_MODELS[kind], inner)


def _read_terms(
    contents: Contents, model: Transformer | None, n: int, layer: int | None
) -> dict[str, Any]:
    """The fields of a snapshot that concern words."""
    if not isinstance(model, DCoTVectorizer):
        raise ModelFormatError(f"an index of texts has no DCoTVectorizer{DAMAGED}")
    vocabulary = counter_of(model)
    n_extra = count(contents.settings, "extra_terms")
    extra = list(PackedColumn(contents, "terms", n_extra, str))
    if extra:
        terms = [*vocabulary.terms.to_list(), *extra]
        if len(set(terms)) != len(terms):
            raise ModelFormatError(f"the terms of the index are not distinct words{DAMAGED}")
        vocabulary = copy(vocabulary)._restore_terms(terms, n)
    counts = _read_postings(contents, len(vocabulary.terms), n)
    lengths = contents.array("lengths", (n,))
    if n and lengths.min() < 0:
        raise ModelFormatError(f"a document of the index has a negative length{DAMAGED}")
    embedding = read_embedding(contents, _n_known(model), np.float32)
    width = len(model.prototypes_) + (0 if embedding is None else len(embedding.mean))
    if layer is not None and contents.settings["width"] != width:
        raise ModelFormatError(f"the vectors do not have the width of the model{DAMAGED}")
    return {
        "vocabulary": vocabulary,
        "counts": counts,
        "lengths": lengths,
        "embedding": embedding,
    }


def _read_postings(contents: Contents, n_terms: int, n: int) -> Postings:
    """Read postings and check their rows, because compiled loops do not."""
    starts = contents.offsets("counts.starts", n_terms)
    size = int(starts[-1])
    rows = contents.indices("counts.rows", (size,), n)
    values = contents.array("counts.values", (size,))
    if starts.dtype != np.int64 or rows.dtype != np.int64 or values.dtype != np.float32:
        raise ModelFormatError(f"the postings are of the wrong types{DAMAGED}")
    return Postings((Segment(starts, rows, values),))
