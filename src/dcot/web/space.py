"""Documents as short dense vectors, learned once: what every quick answer is computed from.

A dCoT representation is learned from the documents and compressed to a few hundred directions.
With the vectors in memory, a classifier is refitted, all documents are classified and neighbours
are found in milliseconds. Accuracy is that of the full features within chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.classifier.explanation import term_shares
from dcot.classifier.first_batch import first_batch
from dcot.core.centred import Matrix
from dcot.core.representation import Representation
from dcot.errors import DcotError
from dcot.vectorizer import DCoTVectorizer
from dcot.web.shading import shares_of

Array = NDArray[Any]

N_COMPONENTS = 256
N_PROTOTYPES = 1000  # a third of the default: the time to the first suggestion counts
MAX_LEARNED_DOCUMENTS = 20_000  # of a larger corpus, the representation is learned from a sample
MAX_COMPRESSION_DOCUMENTS = 4000
N_ITERATIONS = 3
MAX_FIRST_POOL = 1500


@dataclass(frozen=True)
class Space:
    """A representation and the documents in it.

    Attributes
    ----------
    vectorizer : the fitted vectorizer, for words
    representation : from weighted terms to vectors
    X : weighted terms of the documents
    Z : vectors of the documents, documents × directions
    """

    vectorizer: DCoTVectorizer
    representation: Representation
    X: Matrix
    Z: Array

    def vectors(self, texts: Sequence[str]) -> Array:
        """Vectors of other texts, such as a few words."""
        return np.asarray(self.representation.transform(self.vectorizer.weigh(list(texts))))

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
        return np.asarray(np.diff(self.X.indptr) > 0)

    def nearest(self, vector: Array, among: Array, k: int) -> Array:
        """Rows among ``among`` whose vectors point the most in the direction of ``vector``."""
        Z = self.Z[among]
        lengths = np.sqrt(np.einsum("ij,ij->i", Z, Z))
        cosines = np.divide(Z @ vector, lengths, out=np.full(len(Z), -1.0), where=lengths > 0)
        return np.asarray(among[np.argsort(-cosines, kind="stable")[:k]])

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
        row_of_terms = self.X[[row]]
        shares = term_shares(row_of_terms, self.vectorizer.dcot_._fitted(), components @ weights)
        return dict(zip(row_of_terms.indices.tolist(), shares.tolist(), strict=True))

    def columns(self, words: Sequence[str]) -> list[int]:
        """Columns of all terms in some words."""
        if not words:
            return []
        return [int(k) for k in self.vectorizer.counter_.transform(list(words)).indices]

    def shares_of(self, words: Sequence[str], shares: Mapping[int, float]) -> list[float]:
        """The shares of words as they stand in a text, by the columns of their terms."""
        return shares_of(self.vectorizer.counter_, words, shares)


def learn_space(texts: Sequence[str], seed: int = 0) -> Space | None:
    """Learn a representation from texts; None if they have no words to learn from."""
    vectorizer = learn_vectorizer(texts, seed)
    return None if vectorizer is None else space_of(vectorizer, texts, seed)


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


def space_of(vectorizer: DCoTVectorizer, texts: Sequence[str], seed: int = 0) -> Space:
    """The documents in the representation of a fitted vectorizer."""
    X = vectorizer.weigh(texts).tocsr()
    full = replace(vectorizer.dcot_._fitted().representation, components=None)
    generator = np.random.RandomState(seed)
    rows = generator.permutation(X.shape[0])[:MAX_COMPRESSION_DOCUMENTS]
    directions = leading_directions(np.asarray(full.transform(X[np.sort(rows)])), generator)
    short = replace(full, components=directions)
    return Space(vectorizer, short, X, np.asarray(short.transform(X)))


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
        spread = scatter @ basis + ridge * basis
        lengths = np.sqrt(np.einsum("ij,ij->j", spread, spread))
        spread /= np.where(lengths > 0, lengths, 1.0)
        values, vectors = np.linalg.eigh(spread.T @ spread)
        kept = values > values[-1] * 1e-10
        basis = spread @ (vectors[:, kept] / np.sqrt(values[kept]))
    return np.ascontiguousarray(basis, dtype=features.dtype)
