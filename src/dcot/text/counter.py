"""TermCounter: count the terms of texts, several times faster than CountVectorizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from operator import length_hint
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils import check_array, metadata_routing

from dcot.core.centred import canonical
from dcot.errors import InvalidInputError, InvalidTypeError, not_fitted
from dcot.runtime.parameters import Parameters
from dcot.text import counting, inputs, options
from dcot.text.analysis import DEFAULT_PATTERN, Analysis
from dcot.text.counting import RowStore
from dcot.text.terms import Int32s, Terms


# Always sparse, whatever scikit-learn is configured to return, as CountVectorizer.
class TermCounter(  # type: ignore[call-arg]
    TransformerMixin, Parameters, auto_wrap_output_keys=None
):
    r"""Count the terms of texts: documents in, a sparse matrix and a vocabulary out.

    The parameters have the same meaning as in scikit-learn's ``CountVectorizer``, and the result is
    identical: terms in sorted order, one column each.

    Parameters
    ----------
    lowercase : bool, default=True
        Count ``Tea`` and ``tea`` together, by the rules of ``str.lower``.
    strip_accents : {"ascii", "unicode"}, callable or None, default=None
        Replace accented letters by plain ones, after lower-casing.
    stop_words : {"english"}, list of str or None, default=None
        Words to remove before n-grams are formed. For ``analyzer="word"`` only.
    token_pattern : str, default=r"(?u)\b\w\w+\b"
        A regular expression that matches a word, for Python's ``re``; or ``"unicode"`` for words
        that keep their combining marks and joiners, as Hindi and Persian need. Runs of one class of
        characters, such as the default, are several times faster than other patterns. Repeats
        inside repeats, such as ``(?:a+)+b``, can take exponential time.
    min_word_length : int or None, default=None
        Minimum number of characters per word, for the default pattern and ``"unicode"``. None means
        2; 1 keeps words of one character.
    ngram_range : tuple (int, int), default=(1, 1)
        Minimum and maximum number of words (or characters) per term; at most 1000.
    analyzer : {"word", "char", "char_wb"} or callable, default="word"
        Terms are n-grams of words, of characters, or of characters within words padded with
        spaces; or the strings that a function returns for a text.
    min_df, max_df : int or float, default=1 and 1.0
        Minimum and maximum number of documents that contain a term, or fraction of all documents.
        ``min_df="auto"`` is 2 from 1,000 documents on, and 1 below and with ``partial_fit``.
    max_features : int or None, default=None
        Keep the terms that occur most often.
    vocabulary : mapping, iterable or None, default=None
        The terms to count, if they are fixed: a list, or a mapping of terms to columns.
    binary : bool, default=False
        Count every term at most once per document.
    dtype : dtype, default=np.int64
        The type of the counts.
    grow_vocabulary : bool, default=True
        Whether ``partial_fit`` adds new terms, in new columns at the end.
    n_threads : int or None, default=None
        Number of threads; None uses all cores, up to eight.

    Attributes
    ----------
    vocabulary_ : dict
        The column of each term; built on first access.
    n_documents_ : int
        The number of training documents.

    Examples
    --------
    >>> counter = TermCounter()
    >>> counter.fit_transform(["Tea for two", "Two and two is tea"]).toarray()
    array([[0, 1, 0, 1, 1],
           [1, 0, 1, 1, 2]])
    >>> counter.get_feature_names_out().tolist()
    ['and', 'for', 'is', 'tea', 'two']
    """

    _terms: Terms
    n_documents_: int
    # mean number of counted words in a training document, with those of terms that limits such as
    # min_df left out; None if it is not known
    _mean_length: float | None = None

    # scikit-learn routes metadata by the names of arguments; the texts are not metadata
    __metadata_request__fit: ClassVar = {"raw_documents": metadata_routing.UNUSED}
    __metadata_request__partial_fit: ClassVar = {"raw_documents": metadata_routing.UNUSED}
    __metadata_request__transform: ClassVar = {"raw_documents": metadata_routing.UNUSED}

    def __init__(
        self,
        *,
        lowercase: bool = True,
        strip_accents: str | Callable[[str], str] | None = None,
        stop_words: str | Iterable[str] | None = None,
        token_pattern: str = DEFAULT_PATTERN,
        min_word_length: int | None = None,
        ngram_range: tuple[int, int] = (1, 1),
        analyzer: str | Callable[[str], Iterable[str]] = "word",
        min_df: float | str = 1,
        max_df: float = 1.0,
        max_features: int | None = None,
        vocabulary: Mapping[str, int] | Iterable[str] | None = None,
        binary: bool = False,
        dtype: npt.DTypeLike = np.int64,
        grow_vocabulary: bool = True,
        n_threads: int | None = None,
    ) -> None:
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.stop_words = stop_words
        self.token_pattern = token_pattern
        self.min_word_length = min_word_length
        self.ngram_range = ngram_range
        self.analyzer = analyzer
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.vocabulary = vocabulary
        self.binary = binary
        self.dtype = dtype
        self.grow_vocabulary = grow_vocabulary
        self.n_threads = n_threads

    def fit(self, raw_documents: Any, y: Any = None) -> Self:
        """Learn the vocabulary of texts.

        Raises
        ------
        InvalidInputError
            If there are no terms to count, or ``raw_documents`` is a single string.
        InvalidTypeError
            If the documents are not texts.
        InvalidParameterError
            If a parameter is out of range, or no term is left within ``min_df`` and ``max_df``.

        Examples
        --------
        >>> TermCounter(min_df=2).fit(["crude oil", "opec oil"]).get_feature_names_out().tolist()
        ['oil']
        """
        self._check_parameters()
        if self.vocabulary is not None:
            terms = options.fixed_terms(self.vocabulary)
            return self._fit_fixed(terms, sum(map(len, inputs.batches(raw_documents))))
        self._fit_learned(counting.learn(raw_documents, self._analysis(), self.n_threads))
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> sparse.csr_matrix:
        """Learn the vocabulary of texts and count them, reading them once.

        Raises
        ------
        InvalidInputError
            If there are no terms to count, or ``raw_documents`` is a single string.
        InvalidTypeError
            If the documents are not texts.
        InvalidParameterError
            If a parameter is out of range, or no term is left within ``min_df`` and ``max_df``.

        Examples
        --------
        >>> TermCounter().fit_transform(["two teas", "tea for two"]).toarray()
        array([[0, 0, 1, 1],
               [1, 1, 0, 1]])
        """
        self._check_parameters()
        if self.vocabulary is not None:
            terms = options.fixed_terms(self.vocabulary)
            matrix = self._counted(raw_documents, terms)
            self._fit_fixed(terms, matrix.shape[0])
            return matrix
        store = RowStore(self.dtype, length_hint(raw_documents))
        learned = counting.learn(raw_documents, self._analysis(), self.n_threads, store)
        kept = self._fit_learned(learned)
        columns = np.full(len(learned.terms), -1, dtype=np.int32)
        columns[kept] = np.arange(len(kept), dtype=np.int32)
        return self._renumbered(store, learned, columns)

    def transform(self, raw_documents: Any) -> sparse.csr_matrix:
        """Count the terms of the vocabulary; unknown terms are skipped.

        Raises
        ------
        ModelNotFittedError
            If the counter is not fitted and has no ``vocabulary``.
        InvalidInputError
            If ``raw_documents`` is a single string.
        InvalidTypeError
            If the documents are not texts.

        Examples
        --------
        >>> TermCounter().fit(["crude oil"]).transform(["oil and oil", "opec"]).toarray().tolist()
        [[0, 2], [0, 0]]
        """
        return self._counted(raw_documents, self.terms)

    def _counted(self, raw_documents: Any, terms: Terms) -> sparse.csr_matrix:
        """Count these terms."""
        store = RowStore(self.dtype, length_hint(raw_documents))
        counting.look_up(raw_documents, self._analysis(), terms, store, self.n_threads)
        return store.matrix(len(terms), self.binary)

    def partial_fit(self, raw_documents: Any, y: Any = None) -> Self:
        """Learn from more texts.

        New terms get new columns after the existing ones, in sorted order, so that earlier rows
        stay valid: those documents do not contain the new terms. With a fixed ``vocabulary``, or
        with ``grow_vocabulary=False`` after the first call, the columns do not change.

        ``min_df``, ``max_df`` and ``max_features`` need all documents at once. If one of them is
        set, the vocabulary cannot grow and an error is raised.

        Raises
        ------
        InvalidInputError
            If the texts have no terms, or ``raw_documents`` is a single string.
        InvalidParameterError
            If a parameter is out of range, or ``min_df``, ``max_df`` or ``max_features`` is set.

        Examples
        --------
        >>> counter = TermCounter().partial_fit(["two teas"]).partial_fit(["a cup of tea"])
        >>> counter.get_feature_names_out().tolist()
        ['teas', 'two', 'cup', 'of', 'tea']
        """
        analysis = self._analysis()
        first = not hasattr(self, "_terms")
        fixed = self.vocabulary is not None or not self.grow_vocabulary
        if fixed and first:
            return self.fit(raw_documents)
        if fixed:
            self.n_documents_ += sum(map(len, inputs.batches(raw_documents)))
            return self
        self._check_parameters()
        options.refuse_limits_while_growing(self.get_params(deep=False))
        learned = counting.learn(raw_documents, analysis, self.n_threads)
        if first:
            self._fit_learned(learned, growing=True)
            return self
        self._terms, _ = self._terms.extended(learned.terms)
        self.n_documents_ += learned.n_documents
        return self

    def _grown(self, texts: Any) -> tuple[Self, sparse.csr_matrix]:
        """Return a copy that also has the terms of these texts, and the counts of the texts.

        New terms get new columns as in ``partial_fit``, but limits such as ``min_df`` are ignored.
        The texts are read once.

        >>> larger, counts = TermCounter().fit(["two teas"])._grown(["two cups"])
        >>> larger.get_feature_names_out().tolist(), counts.toarray().tolist()
        (['teas', 'two', 'cups'], [[0, 1, 1]])
        """
        if self.vocabulary is not None or not self.grow_vocabulary:
            return self, self.transform(texts)
        known, larger = self.terms, copy(self)
        store = RowStore(self.dtype, length_hint(texts))
        learned = counting.learn(texts, self._analysis(), self.n_threads, store)
        larger._terms, columns = known.extended(learned.terms)
        return larger, larger._renumbered(store, learned, columns)

    def _renumbered(
        self, store: RowStore, learned: counting.Learned, columns: Int32s
    ) -> sparse.csr_matrix:
        """Return the rows of the store; ``columns`` has the column of each learned term, or -1."""
        by_table = [columns[numbers] for numbers in learned.numbers]
        store.renumber(by_table, len(self._terms), self.n_threads)
        return store.matrix(len(self._terms), self.binary)

    def analyze(self, text: str) -> list[str]:
        """Return the terms of one text in order, including terms not in the vocabulary.

        Raises
        ------
        InvalidTypeError
            If ``text`` is not a string.

        Examples
        --------
        >>> TermCounter(stop_words="english").analyze("The price of Tea")
        ['price', 'tea']
        """
        if not isinstance(text, str):
            raise InvalidTypeError(f"analyze takes one text, got {type(text).__name__}")
        (column,) = inputs.batches([text])
        spans = self._analysis().spans(column)
        edges = zip(spans.starts, spans.ends, strict=True)
        return [spans.text[start:end].tobytes().decode() for start, end in edges]

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """The terms, in the order of the columns.

        Raises
        ------
        ModelNotFittedError
            If the counter is not fitted and has no ``vocabulary``.
        """
        return np.array(self.terms.to_list(), dtype=object)

    def inverse_transform(self, X: Any) -> list[npt.NDArray[np.object_]]:
        """Return the terms of each row of a matrix.

        Raises
        ------
        InvalidInputError
            If the matrix does not have one column for each term.
        ModelNotFittedError
            If the counter is not fitted and has no ``vocabulary``.

        Examples
        --------
        >>> counter = TermCounter().fit(["crude oil", "opec"])
        >>> [terms.tolist() for terms in counter.inverse_transform([[1, 2, 0]])]
        [['crude', 'oil']]
        """
        names = self.get_feature_names_out()
        try:
            X = canonical(X, X.dtype) if sparse.issparse(X) else X  # SciPy checks no indices
            matrix = sparse.csr_matrix(check_array(X, accept_sparse="csr"))
        except (TypeError, ValueError) as error:
            raise InvalidInputError(str(error)) from error
        if matrix.shape[1] != len(names):
            raise InvalidInputError(
                f"X has {matrix.shape[1]} columns, expected {len(names)}, one for each term"
            )
        rows = (matrix[i] for i in range(matrix.shape[0]))
        return [names[np.sort(row.indices[row.data != 0])] for row in rows]

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each term."""
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        if "_vocabulary" not in self.__dict__:
            self._vocabulary = {term: column for column, term in enumerate(self._terms)}
        return self._vocabulary

    @property
    def n_terms_(self) -> int:
        """The number of terms, and of columns that ``transform`` returns."""
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        return len(self._terms)

    @property
    def terms(self) -> Terms:
        """The terms in the form that the kernels use, in the order of the columns."""
        if not hasattr(self, "_terms"):
            if self.vocabulary is None:
                raise not_fitted(self)
            self._terms = options.fixed_terms(self.vocabulary)
            self.n_documents_ = 0
        return self._terms

    def _restore_terms(
        self, terms: Iterable[str], n_documents: int, mean_length: float | None = None
    ) -> Self:
        """Set the terms of a saved model, in the order of the columns, instead of fitting."""
        self._terms = Terms.of(list(terms))
        self.n_documents_, self._mean_length = n_documents, mean_length
        return self

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_vocabulary", None)  # fast to build again
        return state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_terms")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.requires_fit = self.vocabulary is None
        return tags

    def _analysis(self) -> Analysis:
        return options.analysis_from(self.get_params(deep=False))

    def _check_parameters(self) -> None:
        """Check the parameters before any text is read; warn about those without effect."""
        options.check_parameters(self.get_params(deep=False))
        options.warn_about(self.get_params(deep=False), self._analysis())
        self.__dict__.pop("_vocabulary", None)

    def _fit_fixed(self, terms: Terms, n_documents: int) -> Self:
        """Keep the terms of a fixed ``vocabulary``."""
        self._terms, self.n_documents_, self._mean_length = terms, n_documents, None
        return self

    def _fit_learned(
        self, learned: counting.Learned, undercount: int = 0, *, growing: bool = False
    ) -> Int32s:
        """Keep the learned terms that are within the limits, in sorted order.

        Terms in at most ``undercount`` documents may be missing. ``growing`` means that more
        documents follow, so ``min_df`` is not applied. Returns which of the learned terms were
        kept; with a fixed ``vocabulary``, all are.
        """
        kept = np.arange(len(learned.terms), dtype=np.int32)
        if self.vocabulary is None:
            if self.analyzer == "word":
                longest = self.ngram_range[1]
                options.warn_of_phrases(learned.terms, learned.documents, longest)
            kept = self._within_limits(learned, 1 if growing else self.min_df)
            self._terms = learned.terms.take(kept)
            totals = learned.documents if self.binary else learned.totals
            self._mean_length = float(totals.sum()) / max(learned.n_documents, 1)
        self.n_documents_ = learned.n_documents
        self.undercount_ = undercount
        return kept

    @property
    def _terms_per_word(self) -> float:
        """About how many terms a word has: n-grams of characters overlap."""
        if self.analyzer not in ("char", "char_wb"):
            return 1.0
        first, last = self.ngram_range
        return 2.0 * sum(range(first, last + 1))

    def _within_limits(self, learned: counting.Learned, min_df: float | str) -> Any:
        if not len(learned.terms):
            has_stop_words = self._analysis().stop_words is not None
            raise options.nothing_found(learned.n_documents, learned.n_stopped, has_stop_words)
        order = learned.terms.sorted_order()
        documents = learned.documents[order]
        totals = documents if self.binary else learned.totals[order]
        totals = totals.astype(options.sum_type(self.dtype))
        limits = options.document_limits(min_df, self.max_df, learned.n_documents)
        mask = options.chosen_terms(documents, totals, limits, self.max_features)
        if not mask.any():
            params = self.get_params(deep=False)
            raise options.nothing_kept(documents, params, learned.n_documents)
        return order[mask]
