"""Vectors in addition to dCoT: from an encoder, from word vectors, or given with the documents.

The kernel of the classifier is that of dCoT plus ``weight`` times that of the vectors, centred and
scaled to unit length. This is the same as appending these columns, times √weight, to the features.
Leave-one-out selects the weight. If the vector of a document is zero, its columns are zero.

With word vectors, the vector of a document is the weighted sum of the vectors of its terms. It is
linear in the terms, so explanations are exact, and the model keeps the vectors of its terms.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.core.centred import Matrix
from dcot.embedding.word_vectors import LARGEST, look_up
from dcot.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    ModelFormatError,
)
from dcot.persistence import Contents
from dcot.persistence.contents import DAMAGED, choice, count, setting
from dcot.runtime.extras import require
from dcot.text.inputs import Texts

Array = NDArray[Any]
Kind = Literal["words", "encoder", "given"]

WORDLLAMA = "wordllama"
# The vectors of these texts identify an encoder; maximum difference relative to their length.
PROBES = ("oil", "The committee will meet again on Friday.", "naïve 数据 42")
MAX_PROBE_DIFFERENCE = 0.02
FROM_WORDS = "this classifier makes vectors of documents from its word vectors"


@dataclass(frozen=True)
class Documents:
    """Documents as weighted terms and, if vectors are used, vectors."""

    terms: Matrix
    vectors: Array | None = None

    def __getitem__(self, rows: Any) -> Documents:
        return Documents(self.terms[rows], None if self.vectors is None else self.vectors[rows])

    def __len__(self) -> int:
        return int(self.terms.shape[0])

    @property
    def known(self) -> Array:
        """Mask of the documents with a known term or a vector."""
        known = _has_terms(self.terms)
        return known if self.vectors is None else known | self.vectors.any(axis=1)

    def joined(self, others: Documents) -> Documents:
        """These documents, followed by others."""
        one, two = self.terms, others.terms
        if sp.issparse(one):
            terms = sp.vstack([one, sp.csr_array(two)], format="csr")
        else:
            terms = np.vstack([one, two.toarray() if sp.issparse(two) else two])
        if self.vectors is None or others.vectors is None:
            return Documents(terms)
        return Documents(terms, np.vstack([self.vectors, others.vectors]))


def _has_terms(X: Matrix) -> Array:
    """Mask of the rows with a value other than zero."""
    if not sp.issparse(X):
        return np.asarray(X.any(axis=1))
    counts = np.diff(X.indptr)
    if not X.data.all():  # zeros that are stored
        rows = np.repeat(np.arange(X.shape[0]), counts)
        counts = np.bincount(rows[X.data != 0], minlength=X.shape[0])
    return np.asarray(counts > 0)


@dataclass(frozen=True)
class Embedding:
    """The vectors that a classifier or an index uses in addition to dCoT.

    Attributes
    ----------
    kind : whether they come from word vectors, from an encoder, or with the documents
    name : name of the file, the class or the function
    mean : mean of the vectors of documents
    weight : weight of their kernel
    table : vectors of the terms, for kind ``"words"``
    probes : vectors of ``PROBES``, for kind ``"encoder"``
    encoder : the encoder; None after loading, until it is set again
    """

    kind: Kind
    name: str
    mean: Array
    weight: float = 1.0
    table: Array | None = None
    probes: Array | None = None
    encoder: Encoder | None = None

    def features(self, vectors: Array) -> Array:
        """Columns to append to those of dCoT: centred vectors of equal length, or zero."""
        centred = vectors - self.mean.astype(vectors.dtype)
        return np.asarray(centred * self.scales(vectors, centred)[:, None])

    def scales(self, vectors: Array, centred: Array) -> Array:
        """Factor of each centred vector."""
        lengths = np.sqrt(np.einsum("ij,ij->i", centred, centred, dtype=np.float64))
        known = vectors.any(axis=1) & (lengths > 0)
        scales = np.where(known, np.sqrt(self.weight) / np.where(known, lengths, 1), 0)
        return scales.astype(vectors.dtype)

    def of(self, texts: list[str], X: Matrix) -> Array:
        """Vectors of texts whose weighted terms are ``X``."""
        if self.table is not None:
            return np.asarray(X @ self.table)
        encoder = self.available().encoder
        assert encoder is not None
        found, k = encoder(texts), len(self.mean)
        if not found.shape[1]:  # all texts are blank
            return np.zeros((len(texts), k), dtype=np.float32)
        return check_vectors(found, len(texts), f"the encoder {encoder.name}", k)

    def available(self) -> Embedding:
        """This embedding with its encoder; an error if a model folder did not hold it."""
        if self.encoder is not None or self.kind != "encoder":
            return self
        if self.name == WORDLLAMA:  # can be loaded by name
            return self.with_encoder(WORDLLAMA)
        raise InvalidInputError(
            f"the model needs the encoder it was fitted with, {self.name}, which a model folder "
            "does not hold: dcot.load(folder, embedding=encoder); a classifier can also be given "
            "its vectors of these documents, as vectors="
        )

    def with_encoder(self, given: Any) -> Embedding:
        """This embedding with an encoder, after checking that it is the same one."""
        encoder = as_encoder(given)
        if encoder is None or self.kind != "encoder":
            raise no_encoder()
        _check_same(encoder, self)
        return replace(self, encoder=encoder)

    def describe(self) -> str:
        """A short description, for summaries and model cards."""
        if self.table is not None:
            known = int(self.table.any(axis=1).sum())
            what = f"word vectors of {known:,} of {len(self.table):,} terms ({self.name})"
        elif self.kind == "encoder":
            what = f"vectors of the encoder {self.name}"
        else:
            what = "vectors given with the documents"
        return f"{what}, {len(self.mean)} dimensions, weight {self.weight:g}"


@dataclass(frozen=True)
class Encoder:
    """A function from texts to vectors, with a name."""

    name: str
    function: Callable[[list[str]], Any]

    def __call__(self, texts: Sequence[str]) -> Array:
        """A row for each text; zero for blank texts, which encoders treat differently."""
        known = np.array([bool(text.strip()) for text in texts], dtype=bool)
        chosen = [text for text, full in zip(texts, known, strict=True) if full]
        if not chosen:
            return np.zeros((len(texts), 0), dtype=np.float32)
        found = self.function(chosen)
        if isinstance(found, Iterator):
            found = list(found)  # fastembed yields one vector at a time
        vectors = check_vectors(found, len(chosen), f"the encoder {self.name}")
        if known.all():
            return vectors
        padded = np.zeros((len(texts), vectors.shape[1]), dtype=vectors.dtype)
        padded[known] = vectors
        return padded


# -- reading ------------------------------------------------------------------------------------


def as_encoder(given: Any) -> Encoder | None:
    """The encoder that was given; None if it is a table of word vectors.

    >>> as_encoder(len).name, as_encoder({"oil": [1.0]}) is None
    ('builtins.len', True)
    """
    if isinstance(given, str) and given == WORDLLAMA:
        return Encoder(WORDLLAMA, _wordllama())
    if isinstance(given, str | os.PathLike):
        if not Path(given).is_file():
            raise InvalidParameterError(
                f"embedding is {os.fspath(given)!r}, which is neither a file of word vectors nor "
                f"{WORDLLAMA!r}"
            )
        return None
    named = hasattr(given, "__qualname__") and hasattr(given, "__module__")
    kind = given if named else type(given)
    name = f"{kind.__module__}.{kind.__qualname__}"
    for method in ("encode", "embed"):
        if callable(getattr(given, method, None)) and not isinstance(given, type):
            return Encoder(name, getattr(given, method))
    if isinstance(given, Mapping) or all(
        hasattr(given, method) for method in ("__contains__", "__getitem__", "key_to_index")
    ):
        return None
    if callable(given) and not isinstance(given, type):
        return Encoder(name, given)
    raise InvalidTypeError(
        f"embedding is a {type(given).__name__}, expected a function from texts to vectors, an "
        "encoder with encode or embed, the path of a file of word vectors, or a mapping from words "
        "to vectors; vectors of the documents themselves are given to fit, as vectors="
    )


@cache
def _wordllama() -> Callable[[list[str]], Any]:
    library = require(WORDLLAMA, "embedding")
    # pass its own folder as the cache, because its default folder may not exist
    folder = Path(library.__file__ or "").parent
    loaded = library.WordLlama.load(cache_dir=folder, disable_download=True)
    return loaded.embed  # type: ignore[no-any-return]


def check_vectors(vectors: Any, n: int, name: str, dimensions: int | None = None) -> Array:
    """Check that there is a row of finite numbers for each document."""
    if sp.issparse(vectors):
        raise InvalidTypeError(
            f"vectors of {name} are sparse, expected a dense array: they are centred, which leaves "
            "nothing sparse; reduce them first, as by TruncatedSVD, or use vectors.toarray()"
        )
    try:
        found = np.asarray(vectors)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidTypeError(f"vectors of {name} are not an array: {error}") from error
    if found.dtype.kind not in "fiu" or found.ndim != 2 or found.shape[1] == 0:
        raise InvalidInputError(
            f"vectors of {name} are {found.dtype} of shape {found.shape}, expected numbers of "
            "shape (documents, dimensions)"
        )
    if len(found) != n:
        raise InvalidInputError(f"{n} documents, but {len(found)} vectors of {name}: give one each")
    if dimensions not in (None, found.shape[1]):
        raise InvalidInputError(
            f"vectors of {name} have {found.shape[1]} dimensions, but the model was fitted on "
            f"{dimensions}: use the same encoder"
        )
    found = found if found.dtype in (np.float32, np.float64) else found.astype(np.float32)
    bad = ~(np.abs(found).max(axis=1, initial=0) <= LARGEST)
    if bad.any():
        raise InvalidInputError(
            f"vectors of {name}: that of document {int(bad.argmax())} has NaN, infinite or very "
            "large values"
        )
    return found


# -- fitting ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class VectorSource:
    """The vectors of the documents of a fit, computed for the requested rows."""

    kind: Kind
    name: str
    of: Callable[[Array], Array]
    table: Array | None = None
    encoder: Encoder | None = None

    @classmethod
    def given(cls, of: Callable[[Array], Array], encoder: Encoder | None) -> VectorSource:
        """Vectors from an encoder, or from an unknown origin."""
        if encoder is None:
            return cls("given", "the documents", of)
        return cls("encoder", encoder.name, of, encoder=encoder)

    def of_words(self, words: list[str], rows: Matrix) -> Array:
        """Vectors of documents of one word each."""
        if self.table is not None:
            return np.asarray(rows @ self.table)
        if self.encoder is None:
            raise no_vectors_of_words()
        return self.encoder(words)

    def learn(self, wanted: Array, weights: Array | None = None) -> tuple[Embedding, Array]:
        """The embedding, with a weight of one, and the vectors of some documents.

        Parameters
        ----------
        wanted : rows of documents; their vectors give the mean
        weights : weights of these documents
        """
        vectors = self.of(wanted)
        known = vectors.any(axis=1)
        if not known.any():
            raise InvalidInputError(
                f"all vectors of {self.name} are zero: there is nothing to learn from them"
            )
        probes = None if self.encoder is None else self.encoder(PROBES)
        if probes is not None and probes.shape[1] != vectors.shape[1]:
            raise InvalidInputError(
                f"the vectors have {vectors.shape[1]} dimensions, but those of the encoder "
                f"{self.name} have {probes.shape[1]}: give its own vectors, or leave vectors out"
            )
        share = None if weights is None else weights[known]
        mean = np.average(vectors[known].astype(np.float64), axis=0, weights=share)
        found = Embedding(self.kind, self.name, mean, 1.0, self.table, probes, self.encoder)
        return found, vectors


def source_of(
    embedding: Any,
    encoder: Encoder | None,
    vectors: Any,
    X: Matrix,
    texts: Texts | None,
    terms: Array | None,
) -> VectorSource:
    """The source of the vectors of the documents of a fit.

    Parameters
    ----------
    embedding : the parameter of the classifier
    encoder : result of ``as_encoder``
    vectors : vectors given with the documents, or None
    X, texts, terms : the documents; texts and terms may be None
    """
    if embedding is not None and encoder is None:
        refuse_vectors(vectors, FROM_WORDS)
        if terms is None:
            raise InvalidInputError(
                "word vectors need the words of the columns: give texts, or a DataFrame whose "
                "columns are named by words"
            )
        return vectors_of_words(embedding, [str(term) for term in terms], X)
    if vectors is not None:
        found = check_vectors(vectors, X.shape[0], "the documents")
        return VectorSource.given(lambda rows: found[rows], encoder)
    if texts is None or encoder is None:
        raise InvalidInputError(
            "an encoder reads texts, and the documents are a matrix: give their vectors, as "
            "vectors="
        )
    return VectorSource.given(lambda rows: encoder([texts[int(row)] for row in rows]), encoder)


def no_vectors_of_words() -> InvalidInputError:
    """The error for seed words if vectors were given with the documents."""
    return InvalidInputError(
        "seed words have no vectors, and the documents came with theirs: give the encoder, as "
        "embedding=, which then reads the seed words too"
    )


def refuse_vectors(vectors: Any, reason: str) -> None:
    """Raise an error if vectors of documents are given, which this model cannot use."""
    if vectors is not None:
        raise InvalidInputError(f"{reason}: leave vectors out")


def vectors_of_words(given: Any, terms: Sequence[str], X: Matrix) -> VectorSource:
    """Vectors of documents from a table of word vectors."""
    table = look_up(given, terms).astype(X.dtype, copy=False)
    name = Path(given).name if isinstance(given, str | os.PathLike) else type(given).__name__
    return VectorSource("words", name, lambda rows: np.asarray(X[rows] @ table), table)


def no_encoder() -> InvalidParameterError:
    """The error for an encoder that is given to a model without one."""
    return InvalidParameterError(
        "this model was fitted without an encoder and works as it is: leave embedding out; word "
        "vectors are in its folder, if it was fitted with any"
    )


def _check_same(encoder: Encoder, fitted: Embedding) -> None:
    """Raise an error if this is not the encoder that the model was fitted with."""
    assert fitted.probes is not None
    found = encoder(PROBES)
    same = found.shape == fitted.probes.shape
    if same:
        apart = np.linalg.norm(found - fitted.probes, axis=1)
        same = bool((apart <= MAX_PROBE_DIFFERENCE * np.linalg.norm(fitted.probes, axis=1)).all())
    if not same:
        raise InvalidParameterError(
            f"{encoder.name} does not give the vectors that the model was fitted on, those of "
            f"{fitted.name} with {len(fitted.mean)} dimensions: load the same encoder"
        )


# -- saving -------------------------------------------------------------------------------------


def add_embedding(contents: Contents, embedding: Embedding | None) -> dict[str, Any] | None:
    """Add the vectors of the terms or, for an encoder, those of a few texts."""
    if embedding is None:
        return None
    contents.arrays["embedding.mean"] = embedding.mean
    if embedding.table is not None:
        contents.weights["embedding.table"] = embedding.table
    if embedding.probes is not None:
        contents.arrays["embedding.probes"] = embedding.probes
    return {
        "kind": embedding.kind,
        "name": embedding.name,
        "weight": float(embedding.weight),
        "dimensions": len(embedding.mean),
    }


def read_embedding(contents: Contents, n_terms: int, dtype: Any) -> Embedding | None:
    """The embedding of a classifier or an index, without its encoder."""
    if contents.settings.get("embedding") is None:
        return None
    found = setting(contents.settings, "embedding", dict)
    kind = choice(found, "kind", ("words", "encoder", "given"))
    k, weight = count(found, "dimensions", 1), setting(found, "weight", float)
    if not 0 < weight < 1e6:
        raise ModelFormatError(f"the weight of the embedding is {weight}{DAMAGED}")
    table = probes = None
    if kind == "words":
        table = contents.array("embedding.table", (n_terms, k), largest=LARGEST)
        table = table.astype(dtype, copy=False)
    if kind == "encoder":
        probes = contents.array("embedding.probes", (len(PROBES), k), largest=LARGEST)
    mean = contents.array("embedding.mean", (k,), largest=LARGEST)
    return Embedding(kind, setting(found, "name", str), mean, weight, table, probes)
