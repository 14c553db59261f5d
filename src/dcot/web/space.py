"""Documents as short dense vectors, learned once: what every quick answer is computed from.

A dCoT representation is learned from the documents and compressed to a few hundred directions.
With the vectors in memory, a classifier is refitted, all documents are classified and neighbours
are found in milliseconds. Accuracy is that of the full features within chance. Seed words, a few
words for a class, are documents too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.classifier.explanation import term_shares, vector_shares
from dcot.classifier.suggestion import first_batch
from dcot.core.centred import Matrix
from dcot.core.fit import FittedDCoT
from dcot.core.layers import Layer
from dcot.core.representation import WITH_X, Representation, orthonormal
from dcot.embedding.vectors import Documents, Embedding, as_encoder, source_of
from dcot.errors import DcotError, InvalidParameterError, UnknownTermError
from dcot.text.inputs import as_texts
from dcot.vectorizer import DCoTVectorizer
from dcot.web.shading import Piece, Shares, shaded

Array = NDArray[Any]

N_COMPONENTS = 256
N_PROTOTYPES = 1000  # a third of the default: the time to the first suggestion counts
MAX_LEARNED_DOCUMENTS = 20_000  # of a larger corpus, the representation is learned from a sample
MAX_COMPRESSION_DOCUMENTS = 4000
N_ITERATIONS = 3
MAX_FIRST_POOL = 1500
NEIGHBOURS_PER_WORD, MAX_PROPOSALS = 12, 12  # of seed words


@dataclass(frozen=True)
class Space:
    """A representation and the documents in it.

    Attributes
    ----------
    vectorizer : the fitted vectorizer, for words
    representation : from weighted terms to vectors
    X : weighted terms of the documents
    Z : vectors of the documents, documents × directions; columns of ``embedding`` come last
    embedding : vectors that are used in addition to dCoT, or None
    beside : vectors of the documents in it, before they are centred and scaled
    """

    vectorizer: DCoTVectorizer
    representation: Representation
    X: Matrix
    Z: Array
    embedding: Embedding | None = None
    beside: Array | None = None

    @property
    def n_beside(self) -> int:
        """The number of columns of ``Z`` that come from the embedding."""
        return 0 if self.embedding is None else len(self.embedding.mean)

    def vectors(self, texts: Sequence[str]) -> Array:
        """Vectors of other texts, such as a few words."""
        X = self.vectorizer.weigh(list(texts))
        beside = None if self.embedding is None else self.embedding.of(list(texts), X)
        return _joined(self.representation, X, self.embedding, beside)

    @cached_property
    def terms(self) -> Array:
        return np.asarray(self.vectorizer.counter_.get_feature_names_out())

    @cached_property
    def scale(self) -> float:
        """The mean squared length of a vector."""
        return float(np.einsum("ij,ij->", self.Z, self.Z)) / len(self.Z) or 1.0

    @cached_property
    def known(self) -> Array:
        """Whether each document has a word that the model knows."""
        found = np.asarray(np.diff(self.X.indptr) > 0)
        return found if self.beside is None else found | self.beside.any(axis=1)

    def nearest(self, vector: Array, among: Array, k: int) -> Array:
        """Rows among ``among`` whose vectors point the most in the direction of ``vector``."""
        lengths = self._lengths[among]
        values = (self.Z @ vector)[among]  # of all: a copy of some rows would take longer
        cosines = np.divide(values, lengths, out=np.full(len(among), -1.0), where=lengths > 0)
        return np.asarray(among[np.argsort(-cosines, kind="stable")[:k]])

    @cached_property
    def _lengths(self) -> Array:
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", self.Z, self.Z)))

    def first_documents(self, among: Array, k: int, generator: np.random.RandomState) -> Array:
        """Rows to label first, spread out over the documents."""
        pool = among[self.known[among]]
        if not len(pool):
            return among[:k]
        if len(pool) > MAX_FIRST_POOL:
            pool = np.sort(generator.choice(pool, MAX_FIRST_POOL, replace=False))
        return np.asarray(pool[first_batch([self.Z[pool]], min(k, len(pool)))])

    def shares(self, row: int, weights: Array) -> dict[int, float]:
        """What each term of a document adds to a decision, by its column.

        Parameters
        ----------
        row : the document
        weights : of the decision, ``Z @ weights``
        """
        components = self.representation.components
        assert components is not None
        of_terms, beside = np.split(weights, [components.shape[1]])
        vectors = None if self.beside is None else self.beside[[row]]
        document = Documents(self.X[[row]], vectors)
        shares = term_shares(document.terms, self._wide, components @ of_terms)
        of_words = vector_shares(document, self.embedding, beside)[1]
        shares = shares if of_words is None else shares + of_words
        return dict(zip(document.terms.indices.tolist(), shares.tolist(), strict=True))

    @cached_property
    def _wide(self) -> FittedDCoT:
        fitted = self.vectorizer.dcot_._fitted()
        return with_layers(fitted, in_double_precision(self.representation.layers))

    def columns(self, words: Sequence[str]) -> list[int]:
        """Columns of all terms in some words."""
        if not words:
            return []
        return [int(k) for k in self.vectorizer.counter_.transform(list(words)).indices]

    def pieces(self, text: str, shares: Shares) -> list[Piece]:
        """A text for the page to shade, by the shares of its terms."""
        return shaded(self.vectorizer.counter_, [(text, shares)])[0]


def in_double_precision(layers: Sequence[Layer]) -> tuple[Layer, ...]:
    """The representation for shares: layers after the first are converted once, not per text."""
    first, *later = layers
    return (first, *(replace(layer, coef_=layer.coef_.astype(np.float64)) for layer in later))


def with_layers(fitted: FittedDCoT, layers: Sequence[Layer]) -> FittedDCoT:
    return replace(fitted, representation=replace(fitted.representation, layers=layers))


def learn_space(texts: Sequence[str], seed: int = 0, embedding: Any = None) -> Space | None:
    """Learn a representation from texts; None if they have no words to learn from.

    ``embedding`` is as in ``DCoTClassifier``.
    """
    vectorizer = learn_vectorizer(texts, seed)
    return None if vectorizer is None else space_of(vectorizer, texts, seed, embedding)


def learn_vectorizer(texts: Sequence[str], seed: int = 0) -> DCoTVectorizer | None:
    """The same without the vectors of the documents."""
    sample: Sequence[str] = texts
    if len(texts) > MAX_LEARNED_DOCUMENTS:
        generator = np.random.RandomState(seed)
        chosen = generator.choice(len(texts), MAX_LEARNED_DOCUMENTS, replace=False)
        sample = [texts[row] for row in np.sort(chosen)]
    vectorizer = DCoTVectorizer(n_prototypes=N_PROTOTYPES, tol=1e-3, random_state=seed)
    try:
        return vectorizer.fit(sample)
    except DcotError:
        return None


def space_of(
    vectorizer: DCoTVectorizer, texts: Sequence[str], seed: int = 0, embedding: Any = None
) -> Space:
    """The documents in the representation of a fitted vectorizer, and their vectors."""
    X = vectorizer.weigh(texts).tocsr()
    if embedding is None:
        return compressed_space(vectorizer, Documents(X), seed)
    terms = vectorizer.counter_.get_feature_names_out()
    source = source_of(embedding, as_encoder(embedding), None, X, as_texts(texts), terms)
    rows = np.arange(X.shape[0])
    learned, vectors = source.learn(rows)
    return compressed_space(vectorizer, Documents(X, vectors), seed, learned)


def compressed_space(
    vectorizer: DCoTVectorizer,
    documents: Documents,
    seed: int = 0,
    embedding: Embedding | None = None,
    exact: Array | None = None,
) -> Space:
    """Documents in a few hundred directions; ``exact`` are weights of features, kept as they are.

    A linear classifier with these weights decides on ``Z`` as it does on the features.
    """
    X = documents.terms
    full = replace(vectorizer.dcot_._fitted().representation, components=None)
    joined = full.output in WITH_X  # x is sparse and wide: only the others are compressed
    layers = replace(full, output="lsi" if full.output == "all" else "layers") if joined else full
    generator = np.random.RandomState(seed)
    rows = generator.permutation(X.shape[0])[:MAX_COMPRESSION_DOCUMENTS]
    directions = leading_directions(np.asarray(layers.transform(X[np.sort(rows)])), generator)
    if joined:
        nothing = np.zeros((X.shape[1], directions.shape[1]), dtype=directions.dtype)
        directions = np.vstack([nothing, directions])
    if exact is not None:
        first = orthonormal(exact.astype(np.float64))
        rest = orthonormal(directions - first @ (first.T @ directions))
        directions = np.hstack([first, rest]).astype(directions.dtype)
    short = replace(full, components=np.ascontiguousarray(directions))
    Z = _joined(short, X, embedding, documents.vectors)
    return Space(vectorizer, short, X, Z, embedding, documents.vectors)


def _joined(
    representation: Representation, X: Matrix, embedding: Embedding | None, vectors: Array | None
) -> Array:
    features = np.asarray(representation.transform(X))
    if embedding is None or vectors is None:
        return features
    return np.hstack([features, embedding.features(vectors).astype(features.dtype, copy=False)])


def leading_directions(features: Array, generator: np.random.RandomState) -> Array:
    """Orthonormal directions that hold most of the features, by iterating a random subspace.

    Products of matrices and one small factorisation do it all, which stays fast on a computer
    that is busy with other things; a QR decomposition does not.
    """
    width = features.shape[1]
    if width <= N_COMPONENTS:
        return np.eye(width, dtype=features.dtype)
    scatter = (features.T @ features).astype(np.float64)
    ridge = 1e-12 * float(np.trace(scatter)) + 1e-30
    basis = generator.standard_normal((width, N_COMPONENTS))
    for _ in range(N_ITERATIONS):
        basis = orthonormal(scatter @ basis + ridge * basis)
    return np.ascontiguousarray(basis, dtype=features.dtype)


# -- seed words ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Proposal:
    """A word to add to the seed words, and those it was found by."""

    word: str
    because: tuple[str, ...]


def propose(space: Space, words: Sequence[str], rejected: Sequence[str] = ()) -> list[Proposal]:
    """More words for a class: those most similar to its words, and those translated into them.

    A word that several seed words lead to comes before one that a single word leads to.
    """
    places: dict[str, float] = {}
    found: dict[str, list[str]] = {}
    for word in words:
        for ranked in _lists(space, word):
            for place, term in enumerate(ranked):
                places[term] = places.get(term, 0.0) + 1.0 / (place + 2)
                if word not in found.setdefault(term, []):
                    found[term].append(word)
    excluded = {*words, *rejected}
    order = sorted(places, key=lambda term: (-len(found[term]), -places[term]))
    return [Proposal(term, tuple(found[term])) for term in order if term not in excluded][
        :MAX_PROPOSALS
    ]


def _lists(space: Space, word: str) -> list[list[str]]:
    """The neighbours of a word, and its cohort if it is a prototype."""
    model = space.vectorizer
    lists = []
    for ask in (model.similar_terms, model.cohort):
        try:
            lists.append([term for term in ask(word, NEIGHBOURS_PER_WORD).terms if term != word])
        except (UnknownTermError, InvalidParameterError):
            continue  # not a word of the corpus, or not a prototype
    return lists


def unknown_words(space: Space, words: Sequence[str]) -> list[str]:
    """The words that no document has, or that were left out when counting."""
    if not words:
        return []
    lengths = np.diff(space.vectorizer.weigh(list(words)).indptr)
    return [word for word, length in zip(words, lengths, strict=True) if not length]


def seed_vectors(space: Space, seeds: Mapping[str, Sequence[str]]) -> dict[str, Array]:
    """Vectors of each class's words, without those that the model does not know."""
    known = known_seeds(space, seeds)
    return {name: space.vectors(words) for name, words in known.items()}


def known_seeds(space: Space, seeds: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The same classes and words, without those that the model does not know."""
    found = {}
    for name, words in seeds.items():
        unknown = set(unknown_words(space, words))
        found[name] = [word for word in words if word not in unknown]
    return {name: words for name, words in found.items() if words}


def ranked_by(space: Space, words: Sequence[str], among: Array, k: int) -> Array:
    """Rows of the documents that are closest to seed words, best first."""
    text = " ".join(words)  # the words as one document
    if not space.vectorizer.weigh([text]).nnz:
        return among[:0]
    return space.nearest(space.vectors([text])[0], among, k)
