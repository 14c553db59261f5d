"""TermWeighting: weight counts by TF-IDF, BM25, logarithms or presence.

Also weighs words against meaning in a search, and joins both in sparse vectors.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils.sparsefuncs_fast import (
    inplace_csr_row_normalize_l1,
    inplace_csr_row_normalize_l2,
)
from sklearn.utils.validation import validate_data

from dcot.core.centred import canonical, check_kind
from dcot.core.options import check_choice, check_number
from dcot.errors import InvalidInputError, InvalidParameterError, InvalidTypeError, not_fitted
from dcot.runtime.parameters import Parameters
from dcot.text.options import check_flags

Floats = npt.NDArray[np.float64]

MAX_IDF_FLOOR = 1e5  # a model folder holds no idf above 1e6
_SCHEMES = ("counts", "binary", "log", "tfidf", "bm25")
_NORMS = ("auto", "l1", "l2", None)


# Always sparse, whatever scikit-learn is configured to return, as TfidfTransformer.
class TermWeighting(  # type: ignore[call-arg]
    OneToOneFeatureMixin, TransformerMixin, Parameters, auto_wrap_output_keys=None
):
    """Weigh the terms of a document-term matrix.

    The weight of a term that occurs tf times in a document:

    - ``counts``: tf
    - ``binary``: 1
    - ``log``: 1 + log(tf)
    - ``tfidf``: tf · idf as in scikit-learn's ``TfidfTransformer``, with
      idf = 1 + log((1+n) / (1+df)), where ``idf_floor`` is the 1 in front
    - ``bm25``: idf · tf·(k1+1) / (tf + k1·(1 − b + b·length/mean length)), with
      idf = log(1 + (n − df + ½) / (df + ½))

    Parameters
    ----------
    scheme : {"tfidf", "bm25", "log", "binary", "counts"}, default="tfidf"
        How to weight the counts.
    norm : {"auto", "l1", "l2"} or None, default="auto"
        The norm in which every row has length 1; ``"auto"`` is ``"l2"`` for ``tfidf``, else None.
    use_idf : bool, default=True
        For ``tfidf``: whether to use idf.
    smooth_idf : bool, default=True
        For ``tfidf``: whether to compute idf as if one more document had every term.
    sublinear_tf : bool, default=False
        For ``tfidf``: whether to replace tf by 1 + log(tf).
    idf_floor : float, default=1
        For ``tfidf``: the idf of a term that every document has. 1 as in scikit-learn; smaller
        values give frequent terms less weight.
    k1 : float, default=1.2
        For ``bm25``: how much repeats of a term count. With 0 they do not.
    b : float, default=0.75
        For ``bm25``: how strongly long documents are scaled down. With 0 they are not.

    Attributes
    ----------
    idf_ : ndarray of shape (n_terms,)
        The inverse document frequencies; ones for schemes without idf.
    mean_length_ : float
        The mean number of words of the training documents.

    Examples
    --------
    >>> weighting = TermWeighting("log").fit([[1, 0], [8, 2]])
    >>> weighting.transform([[1, 0], [8, 2]]).toarray().round(2)
    array([[1.  , 0.  ],
           [3.08, 1.69]])
    """

    def __init__(
        self,
        scheme: str = "tfidf",
        *,
        norm: str | None = "auto",
        use_idf: bool = True,
        smooth_idf: bool = True,
        sublinear_tf: bool = False,
        idf_floor: float = 1.0,
        k1: float = 1.2,
        b: float = 0.75,
    ) -> None:
        self.scheme = scheme
        self.norm = norm
        self.use_idf = use_idf
        self.smooth_idf = smooth_idf
        self.sublinear_tf = sublinear_tf
        self.idf_floor = idf_floor
        self.k1 = k1
        self.b = b

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the document frequency of each term and the mean length of documents.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of range.
        InvalidInputError
            If a count is negative, NaN or infinite, or X has no documents.
        InvalidTypeError
            If X is not numeric.

        Examples
        --------
        >>> TermWeighting().fit([[1, 1], [0, 1]]).idf_.round(2)
        array([1.41, 1.  ])
        """
        self._check_parameters()
        learned = clone(self)  # nothing of this one changes if X is rejected
        X = learned._checked(X, reset=True)
        documents = np.bincount(X.indices, minlength=X.shape[1])
        return self._take(learned._fit_sums(X.shape[0], documents, X.sum()))

    def fit_transform(self, X: Any, y: Any = None) -> sparse.csr_matrix:
        """Learn from counts, and return their weights.

        Raises
        ------
        InvalidParameterError
            If a parameter is out of range.
        InvalidInputError
            If a count is negative, NaN or infinite, X has no documents, or weights overflow.
        InvalidTypeError
            If X is not numeric.

        Examples
        --------
        >>> TermWeighting("binary").fit_transform([[0, 3]]).toarray().tolist()
        [[0.0, 1.0]]
        """
        learned = clone(self).fit(X)
        weights = learned.transform(X)
        self._take(learned)
        return weights

    def _take(self, learned: TermWeighting) -> Self:
        """Take over what another weighting has learned."""
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update({name: one for name, one in vars(learned).items() if name[-1] == "_"})
        return self

    def _fit_sums(self, n_documents: int, documents: npt.ArrayLike, n_words: float) -> Self:
        """Fit from the number of documents, the documents with each term, and all words."""
        self._check_parameters()
        frequency = np.asarray(documents)
        if n_documents < 1:
            raise InvalidInputError("no documents were given, so there are no weights to learn")
        self.n_features_in_ = len(frequency)
        self.mean_length_ = float(n_words / n_documents)
        self.n_documents_ = int(n_documents)
        self.idf_ = self._idf(frequency)
        return self

    def _with_idf(self, idf: Floats, n_documents: int, mean_length: float) -> Self:
        """Return a fitted copy with these inverse document frequencies."""
        made: Self = clone(self)
        made._check_parameters()
        made.idf_, made.n_features_in_ = idf, len(idf)
        made.n_documents_, made.mean_length_ = n_documents, mean_length
        return made

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Fit on the first call; later calls only add columns for new terms.

        The inverse document frequencies and the mean length **do not change after the first call**,
        so that weights stay comparable. New columns get the idf of a term that no document has.

        Raises
        ------
        InvalidInputError
            If a count is negative, NaN or infinite, or X has fewer columns than before.
        InvalidTypeError
            If X is not numeric.

        Examples
        --------
        >>> weighting = TermWeighting().partial_fit([[1, 1]]).partial_fit([[0, 1, 2]])
        >>> len(weighting.idf_)
        3
        """
        if not hasattr(self, "idf_"):
            return self.fit(X)
        n_terms = len(self.idf_)
        checked = clone(self)  # nothing of this one changes if X is rejected
        X = checked._checked(X, reset=True)
        n_columns = X.shape[1]
        if n_columns < n_terms:
            raise InvalidInputError(
                f"X has {n_columns} features, but {type(self).__name__} is expecting {n_terms} "
                "features as input, or more: terms may be added at the end, never removed"
            )
        unseen = self._idf(np.zeros(n_columns - n_terms, dtype=np.int64))
        self._take(checked)  # the number of columns, and their names if X has any
        self.idf_ = np.concatenate([self.idf_, unseen])
        return self

    def transform(self, X: Any) -> sparse.csr_matrix:
        """Return weights of the same shape; a row without terms stays zero.

        Raises
        ------
        ModelNotFittedError
            If the weighting is not fitted.
        InvalidInputError
            If a count is negative, NaN or infinite, or X has other columns than in ``fit``.
        InvalidTypeError
            If X is not numeric.

        Examples
        --------
        >>> TermWeighting("log").fit([[1, 1], [0, 3]]).transform([[0, 3]]).toarray().round(2)
        array([[0. , 2.1]])
        """
        if not hasattr(self, "idf_"):
            raise not_fitted(self)
        X = self._checked(X, reset=False).copy()
        if self.scheme == "bm25":
            self._apply_bm25(X)
        elif self.scheme == "binary":
            X.data.fill(1)
        elif self.scheme == "log" or (self.scheme == "tfidf" and self.sublinear_tf):
            np.log(X.data, out=X.data)
            X.data += 1
        if self.scheme == "tfidf" and self.use_idf:
            with np.errstate(over="ignore"):  # checked below
                X.data *= self.idf_[X.indices].astype(X.dtype)
        norm = self.norm
        if norm == "auto":
            norm = "l2" if self.scheme == "tfidf" else None
        return X if norm is None else _unit_rows(X, norm)

    def _as_bm25(self, n_terms: int, mean_length: float | None = None) -> TermWeighting:
        """Return a BM25 weighting for the same training documents, for any scheme.

        ``n_terms`` may include added terms, which count as if in one document. Then
        ``mean_length`` must count their words, too. Without idf, all terms have the same weight.
        """
        bm25 = TermWeighting("bm25", k1=self.k1, b=self.b)
        bm25.n_documents_ = self.n_documents_
        idf = bm25._idf(np.ones(n_terms, dtype=np.int64))
        if self.scheme == "tfidf" and self.use_idf:
            idf[: len(self.idf_)] = bm25._idf(self._documents())
        elif self.scheme == "bm25":
            idf[: len(self.idf_)] = self.idf_
        else:
            idf.fill(1.0)
        length = self.mean_length_ if mean_length is None else mean_length
        return bm25._with_idf(idf, self.n_documents_, length)

    def _documents(self) -> npt.NDArray[np.int64]:
        """Number of training documents with each term, at least 1, from the idf of ``tfidf``."""
        n, extra = self.n_documents_, int(self.smooth_idf)
        with np.errstate(over="ignore"):  # a damaged model can have any idf
            found = (n + extra) * np.exp(self.idf_floor - self.idf_) - extra
        return np.asarray(np.clip(np.rint(found), 1, n), dtype=np.int64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_parameters(self) -> None:
        """Raise an error for parameters out of range."""
        check_flags(self.get_params(deep=False), "use_idf", "smooth_idf", "sublinear_tf")
        check_choice("scheme", self.scheme, _SCHEMES)
        check_choice("norm", self.norm, _NORMS)
        check_number("idf_floor", self.idf_floor, most=MAX_IDF_FLOOR)
        check_number("k1", self.k1)
        if not isinstance(self.b, Real) or not 0 <= self.b <= 1:
            raise InvalidParameterError(
                f"b must be in [0, 1], got {self.b!r}: 0 ignores the length of documents"
            )

    def _checked(self, X: Any, reset: bool) -> sparse.csr_matrix:
        """Return X as a CSR matrix of floats without stored zeros; reject negative values."""
        types = [np.float64, np.float32]
        check_kind(X)
        if sparse.issparse(X):
            X = canonical(X, X.dtype)  # SciPy does not check indices, and takes few types
        try:
            X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=types)
        except ValueError as error:
            raise InvalidInputError(str(error)) from error
        except TypeError as error:
            raise InvalidTypeError(str(error)) from error
        given = X
        X = sparse.csr_matrix(X)
        if X.nnz and X.data.min() < 0:
            raise InvalidInputError(
                "Negative values in data passed to TermWeighting: counts were expected, which are "
                "0 or more; pass the matrix as it was counted, neither centred nor standardised"
            )
        if not X.has_canonical_format or (X.nnz and X.data.min() == 0):
            X = X.copy() if sparse.issparse(given) else X  # do not change the caller's matrix
            X.sum_duplicates()
            X.eliminate_zeros()
        return X

    def _idf(self, documents: npt.NDArray[np.int64]) -> Floats:
        """Return the idf of terms with these document frequencies."""
        n = self.n_documents_
        if self.scheme == "bm25":
            return np.asarray(np.log1p((n - documents + 0.5) / (documents + 0.5)))
        if self.scheme != "tfidf" or not self.use_idf:
            return np.ones(len(documents))
        extra = int(self.smooth_idf)
        # a term that no document has would get an infinite idf: count it as in one
        seen = np.maximum(documents + extra, 1).astype(np.float64)
        return np.asarray(np.log((n + extra) / seen) + self.idf_floor)

    def _apply_bm25(self, X: sparse.csr_matrix) -> None:
        lengths = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
        relative = lengths / self.mean_length_ if self.mean_length_ > 0 else np.ones_like(lengths)
        damping = self.k1 * (1 - self.b + self.b * relative)
        per_entry = np.repeat(damping, np.diff(X.indptr)).astype(X.dtype)
        X.data *= (self.k1 + 1) / (X.data + per_entry)
        X.data *= self.idf_[X.indices].astype(X.dtype)


def _unit_rows(X: sparse.csr_matrix, norm: str) -> sparse.csr_matrix:
    """Scale rows to length 1 in place; rows of zeros stay zero."""
    limit = 1e15 if X.dtype == np.float32 else 1e130
    if X.nnz and not (1 / limit < X.data.min() and X.data.max() < limit):
        if not np.isfinite(X.data).all():
            raise InvalidInputError("the weights overflow: rescale the counts")
        # squares would overflow or underflow: first divide each row by its largest value
        largest = abs(X).max(axis=1).toarray().ravel()  # a count below one may weigh less than zero
        X.data /= np.repeat(np.where(largest > 0, largest, 1), np.diff(X.indptr))
    # sklearn.preprocessing.normalize does the same but is slow to import
    (inplace_csr_row_normalize_l1 if norm == "l1" else inplace_csr_row_normalize_l2)(X)
    return X


# -- words and meaning in a search ----------------------------------------------------------------

EQUAL_WORDS = 9.0  # effective words of a query from which meaning counts as much as words
LONG_DOCUMENT_TERMS = 100.0  # mean terms per document from which meaning has its full weight
MEANING = "~"  # prefix of a prototype, to distinguish it from the word itself


def weight_of_meaning(weights: Any, mean_length: float, terms_per_word: float = 1.0) -> Floats:
    """Return the weight of meaning relative to words for each query, a row of word weights.

    A query of one or two words is best answered by the documents that contain them. A query of many
    words describes a topic, and no document has them all. So the weight of meaning grows with the
    square of the effective number of words, (Σ w)² / Σ w², up to 1. It is smaller for short
    documents, whose meaning is less certain (docs/search.md has the measurements). If terms are not
    words, ``terms_per_word`` says how many of them are about a word.

    >>> queries = sparse.csr_array(np.tril(np.ones((12, 12))))
    >>> weight_of_meaning(queries, mean_length=150)[[0, 2, 8, 11]].round(2).tolist()
    [0.01, 0.11, 1.0, 1.0]
    """
    total, squares = (
        np.asarray(each.sum(axis=1)).ravel() for each in (weights, weights.multiply(weights))
    )
    n_words = total**2 / np.where(squares > 0, squares, 1.0) / terms_per_word
    by_length = min(mean_length / terms_per_word / LONG_DOCUMENT_TERMS, 1.0)
    return np.minimum((n_words / EQUAL_WORDS) ** 2, 1.0) * by_length


def strongest(Z: Floats, top: int) -> sparse.csr_array:
    """Scale the positive part of each row to length 1, and keep its ``top`` largest values.

    >>> strongest(np.array([[0.6, -5.0, 0.8, 0.0]]), top=1).toarray().tolist()
    [[0.0, 0.0, 0.8, 0.0]]
    """
    Z = np.maximum(Z, 0.0)
    norms = np.linalg.norm(Z, axis=1, keepdims=True)
    Z /= np.where(norms > 0, norms, 1.0)
    if top < Z.shape[1]:
        order = np.argpartition(-Z, top, axis=1)[:, top:]
        np.put_along_axis(Z, order, 0.0, axis=1)
    return sparse.csr_array(Z)


def as_dicts(words: Any, terms: Any, meaning: Any, prototypes: Any) -> list[dict[str, float]]:
    """Return each row of both matrices as one dictionary; prototypes are prefixed with ``~``."""
    marked = np.array([f"{MEANING}{name}" for name in prototypes.tolist()], dtype=object)
    return [_row(words, terms, i) | _row(meaning, marked, i) for i in range(words.shape[0])]


def _row(matrix: Any, names: Any, i: int) -> dict[str, float]:
    entries = slice(matrix.indptr[i], matrix.indptr[i + 1])
    columns, values = matrix.indices[entries], matrix.data[entries]
    return dict(zip(names[columns].tolist(), values.tolist(), strict=True))
