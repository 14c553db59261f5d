"""What a search index is in a model folder, and back: its model, its vectors, its documents."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from dcot._saving import Saveable, restored
from dcot.errors import InvalidTypeError, ModelFormatError
from dcot.estimator import DCoT
from dcot.persistence import Contents
from dcot.persistence.contents import DAMAGED, count, setting
from dcot.search._encoding import growing_counter
from dcot.search._lexical import Lexical
from dcot.search._postings import Postings, Segment
from dcot.search._records import Column, Records
from dcot.search._vectors import Vectors
from dcot.text.terms import Terms
from dcot.vectorizer import DCoTVectorizer

_MODELS: dict[str, type[Any]] = {"DCoT": DCoT, "DCoTVectorizer": DCoTVectorizer}
_PREFIX = "model."


class SaveableIndex(Saveable):
    """Saving and loading of ``SearchIndex``."""

    def save(self, path: Any, *, precision: str | None = None, keep_moments: bool = False) -> None:
        """Save the index to a folder, its model with it; ``dcot.load`` makes it again.

        The folder holds numbers and text, never code, and saving is atomic.
        ``dcot.load(path, mmap=True)`` leaves the vectors on the disk until they are used.

        Parameters
        ----------
        path : str or path
            The folder. It is created; if there is one, it has to be empty or a model's.
        precision : {"float16", "int8"} or None
            Vectors and the model's weights in 16 or 8 bits; they are float32 after loading, and
            scores differ in their last digits.
        keep_moments : bool
            Save the model's moments too, see ``DCoT.save``.
        """
        super().save(path, precision=precision, keep_moments=keep_moments)

    def _contents(self, keep_moments: bool) -> Contents:
        index: Any = self
        index._compact()
        contents = _model_contents(index.model_ or index.model, keep_moments)
        contents.kind = index._saved_as
        n = len(index)
        contents.settings = {
            "parameters": {
                "hybrid": index.weight,
                "layer": index.layer,
                "store_texts": index.store_texts,
                "k1": index.k1,
                "b": index.b,
            },
            "model": contents.settings,
            "n_documents": n,
            "width": None if index._vectors is None else index._vectors.width,
            "next_id": index._next_id,
            "is_text": index._is_text,
            "extra_terms": None,
        }
        if index._vectors is not None:
            # an empty matrix has no scale that less precision could use
            place = contents.weights if n else contents.arrays
            place["vectors"] = index._vectors.array
        _add_records(contents, index._records)
        if index._lexical is not None:
            n_known = index.model_.counter_.n_terms_
            _add_lexical(contents, index._lexical, n_known)
            if index._own.segments:
                _add_postings(contents, "own", index._own.merged(n_known))
        kind = "texts" if index._is_text else "rows of features"
        contents.facts = [("documents in the index", f"{n:,} {kind}"), *contents.facts]
        return contents

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        settings = contents.settings
        model = _model(contents)
        make: Any = cls
        index = make(model, **_parameters(setting(settings, "parameters", dict)))
        n = count(settings, "n_documents")
        index._is_text = settings.get("is_text")
        if index._is_text not in (None, True, False):
            raise ModelFormatError(f"the kind of documents is not told{DAMAGED}")
        index._next_id = count(settings, "next_id")
        if settings.get("width") is None:
            if n:
                raise ModelFormatError(f"there are documents without vectors{DAMAGED}")
            return index  # type: ignore[no-any-return]
        array = contents.array("vectors", (n, count(settings, "width")))
        if array.dtype != np.float32:
            raise ModelFormatError(f"the vectors are {array.dtype}, expected float32{DAMAGED}")
        index._vectors = Vectors(array)
        index._live = np.ones(n, dtype=np.bool_)
        texts = Column.unpack(contents, "texts", n) if index.store_texts else None
        ids, metadata = (Column.unpack(contents, name, n) for name in ("ids", "metadata"))
        index._records = Records(ids, metadata, texts)
        if index._is_text:
            index._lexical = _lexical(contents, model, n)
            if index.layer is not None:
                n_known = model.counter_.n_terms_
                index._own = Postings([_postings(contents, "own", n_known, n)])
        return index  # type: ignore[no-any-return]


def _parameters(found: dict[str, Any]) -> dict[str, Any]:
    known = {"hybrid", "layer", "store_texts", "k1", "b"}
    unknown = sorted(set(found) - known)
    if unknown:
        raise ModelFormatError(
            f"SearchIndex has no parameter {', '.join(unknown[:5])!s:.200} in this version of "
            "dcot: upgrade dcot, if the index was saved by a newer version"
        )
    return found


# -- the model ----------------------------------------------------------------------------------


def _model_contents(model: Any, keep_moments: bool) -> Contents:
    """The model's own contents, its arrays under names of their own."""
    if model is None:
        return Contents("", {"kind": None})
    kind = next((name for name, cls in _MODELS.items() if type(model) is cls), None)
    if kind is None:
        raise InvalidTypeError(
            f"an index with a {type(model).__name__} cannot be saved: a folder holds no code, and "
            "dcot knows to save DCoTVectorizer and DCoT; compute the features yourself and build "
            "the index from them, SearchIndex().add(features)"
        )
    inner = model._contents(keep_moments)
    return Contents(
        "",
        {"kind": kind, "settings": inner.settings},
        {_PREFIX + name: array for name, array in inner.arrays.items()},
        {_PREFIX + name: array for name, array in inner.weights.items()},
        inner.vocabulary,
        inner.facts,
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
    own = {
        name.removeprefix(_PREFIX): array
        for name, array in contents.arrays.items()
        if name.startswith(_PREFIX)
    }
    inner = Contents(
        kind, setting(described, "settings", dict), own, vocabulary=contents.vocabulary
    )
    return restored(_MODELS[kind], inner)


# -- documents ----------------------------------------------------------------------------------


def _add_records(contents: Contents, records: Records) -> None:
    columns = {"ids": records.ids, "metadata": records.metadata, "texts": records.texts}
    for name, column in columns.items():
        if column is not None:
            packed, cuts = column.pack()
            contents.arrays[f"{name}.bytes"], contents.arrays[f"{name}.cuts"] = packed, cuts


def _add_lexical(contents: Contents, lexical: Lexical, n_known: int) -> None:
    """Counts, and the terms that the model does not know."""
    terms = lexical.counter.get_feature_names_out().tolist()
    extra, cuts = Column(terms[n_known:]).pack()
    contents.settings["extra_terms"] = len(terms) - n_known
    contents.arrays |= {"lengths": lexical.lengths, "terms.bytes": extra, "terms.cuts": cuts}
    _add_postings(contents, "counts", lexical.postings.merged(len(terms)))


def _add_postings(contents: Contents, name: str, postings: Segment) -> None:
    contents.arrays |= {
        f"{name}.starts": postings.indptr,
        f"{name}.rows": postings.rows,
        f"{name}.values": postings.values,
    }


def _lexical(contents: Contents, model: Any, n: int) -> Lexical:
    if not isinstance(model, DCoTVectorizer):
        raise ModelFormatError(f"an index of texts has no DCoTVectorizer{DAMAGED}")
    counter = growing_counter(model)
    extra = Column.unpack(contents, "terms", count(contents.settings, "extra_terms")).all()
    if extra:
        terms = [*model.counter_.get_feature_names_out().tolist(), *extra]
        if not all(type(term) is str for term in extra) or len(set(terms)) != len(terms):
            raise ModelFormatError(f"the terms of the index are not different words{DAMAGED}")
        counter._terms = Terms.from_strings(terms)
    postings = Postings([_postings(contents, "counts", len(counter._terms), n)])
    return Lexical(counter, postings, contents.array("lengths", (n,)))


def _postings(contents: Contents, name: str, n_terms: int, n: int) -> Segment:
    """Postings that name only documents that are there: compiled loops look no further."""
    starts = contents.array(f"{name}.starts", (n_terms + 1,), "i")
    size = int(starts[-1])
    if starts[0] != 0 or (np.diff(starts) < 0).any():
        raise ModelFormatError(f"the postings of the index are not in a row{DAMAGED}")
    rows = contents.array(f"{name}.rows", (size,), "i")
    if size and (rows.min() < 0 or rows.max() >= n):
        raise ModelFormatError(f"the postings name documents that are not there{DAMAGED}")
    values = contents.array(f"{name}.values", (size,))
    if starts.dtype != np.int64 or rows.dtype != np.int64 or values.dtype != np.float32:
        raise ModelFormatError(f"the postings are of the wrong types{DAMAGED}")
    return Segment(starts, rows, values)
