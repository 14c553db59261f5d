"""``DCoTVectorizer``: raw text → counts → weights → dCoT features, in one estimator."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import metadata_routing

from dcot.core.centred import precision
from dcot.core.layers import Layer
from dcot.core.options import check_flag, check_integer
from dcot.errors import InvalidParameterError, InvalidTypeError, not_fitted
from dcot.estimator import (
    DCoT,
    available_with,
    documents_by_name,
    is_sparse,
    moments_suffice,
    refuse_sparse_frame,
    warn_of_new_model,
)
from dcot.explain import Meaning, Readable, Reader
from dcot.persistence import Contents
from dcot.persistence.contents import setting
from dcot.persistence.saving import (
    Saveable,
    decode_parameters,
    encode_parameters,
    output_container,
    restore_container,
)
from dcot.runtime.progress import progress_for
from dcot.runtime.resources import allowance, parse_bytes
from dcot.stream import LocalPasses, Once, Passes, Repeatable
from dcot.stream.writing import fingerprint, write_features
from dcot.text import TermCounter, TermWeighting
from dcot.text.inputs import as_text_source, as_texts, batches
from dcot.text.options import check_parameters
from dcot.text.pipeline import TEXT_ADVICE, TextPipeline, fit_texts
from dcot.text.weighting import as_dicts, strongest, weight_of_meaning

Array = NDArray[Any]

TEXTS_PER_BLOCK = 4096  # reconstructed at a time, to limit memory
SAVING_ADVICE = {
    **TEXT_ADVICE,
    "random_state": "the fitted model no longer needs it: set_params(random_state=0), or None, on "
    "the vectorizer and its dcot_ before saving",
    "prototypes": "learning after loading would call it again: give words or columns instead, such "
    "as the prototypes_ of the fitted model",
}
# Options of sentence encoders that change the result, with the values that `encode` accepts.
_RESULTS: dict[str, tuple[Any, ...]] = {
    "convert_to_numpy": (True, None),
    "convert_to_tensor": (False, None),
    "output_value": ("sentence_embedding",),
    "precision": ("float32",),
    "truncate_dim": (None,),
    "prompt": (None, ""),
    "prompt_name": (None,),
}
# Terms that occur in nearly every document get a small weight, but not zero.
IDF_FLOOR = 0.1
# Parameters of the counter that may change between calls of partial_fit.
_FREE = ("grow_vocabulary", "n_threads")
_PARTS: dict[str, type[Any]] = {"counter": TermCounter, "weighting": TermWeighting, "dcot": DCoT}


@documents_by_name("raw_documents")
class DCoTVectorizer(Readable, Saveable, TransformerMixin, BaseEstimator):
    """Convert texts to dCoT features: count terms, weight the counts, apply ``DCoT``.

    ``fit`` needs no labels. It should see as many documents as possible.

    Parameters
    ----------
    counter : TermCounter or None
        Counts the terms. None means ``TermCounter(min_df="auto")``: with 1,000 documents or more,
        terms that occur in only one document are left out. They are about half of all terms and
        carry no information about others. The ``dtype`` of integer counts is ignored; counts have
        the precision of the computation.
    weighting : TermWeighting, {"tfidf", "bm25", "log", "binary", "counts"} or None
        Weights the counts. A name means a ``TermWeighting`` with this scheme,
        ``sublinear_tf=True`` and ``idf_floor=0.1``, so that terms of nearly every document have a
        small weight. None means ``"tfidf"``.
    dcot : DCoT or None
        The model of the weighted counts. None means ``DCoT()``. Its ``prototypes`` may be words.
    **options
        Parameters of the parts, as a shorthand: ``min_df=2`` is a parameter of the counter,
        ``norm=None`` of the weighting, and ``n_prototypes=500`` or ``dtype`` of the DCoT.
        ``set_params`` accepts them too, as well as ``dcot__n_prototypes=500``.

    Attributes
    ----------
    counter_ : the fitted ``TermCounter``
    weighting_ : the fitted ``TermWeighting``
    dcot_ : the fitted ``DCoT``
    vocabulary_ : dict from terms to columns
    layers_, prototypes_, loss_ : as in the fitted ``DCoT``

    Raises
    ------
    InvalidParameterError
        If an option is not a parameter of any part.

    Examples
    --------
    >>> from dcot import DCoTVectorizer
    >>> texts = ["crude oil prices", "opec oil output", "wheat harvest", "wheat and corn prices"]
    >>> vectorizer = DCoTVectorizer(prototypes=["oil", "prices", "wheat"]).fit(texts)
    >>> vectorizer.transform(["oil"]).shape
    (1, 6)
    >>> vectorizer.get_feature_names_out()[:3].tolist()
    ['dcot1_oil', 'dcot1_prices', 'dcot1_wheat']
    """

    _saved_as: ClassVar = "DCoTVectorizer"

    # scikit-learn routes metadata by argument name; the texts are not metadata
    __metadata_request__fit: ClassVar = {"raw_documents": metadata_routing.UNUSED}
    __metadata_request__partial_fit: ClassVar = {"raw_documents": metadata_routing.UNUSED}
    __metadata_request__transform: ClassVar = {"raw_documents": metadata_routing.UNUSED}

    def __init__(
        self,
        *,
        counter: TermCounter | None = None,
        weighting: TermWeighting | str | None = None,
        dcot: DCoT | None = None,
        **options: Any,
    ) -> None:
        self.counter = counter
        self.weighting = weighting
        self.dcot = dcot
        if options:
            self.set_params(**options)

    # -- parts and their parameters ---------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parts and, with ``deep``, their parameters, such as ``dcot__noise``.

        Examples
        --------
        >>> DCoTVectorizer(n_prototypes=3).get_params()["dcot__n_prototypes"]
        3
        """
        params: dict[str, Any] = super().get_params(deep=False)
        if deep:
            for name in _PARTS:
                part = self._part(name)
                if hasattr(part, "get_params") and not isinstance(part, type):
                    params |= {f"{name}__{key}": value for key, value in part.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parts or parameters of parts: ``dcot__noise=0.8``, or shorter, ``noise=0.8``.

        The parts passed by the caller are not modified; a changed copy replaces them.

        Raises
        ------
        InvalidParameterError
            If no part has such a parameter.

        Examples
        --------
        >>> DCoTVectorizer().set_params(noise=0.8, min_df=2).dcot.noise
        0.8
        """
        parts = {name: params.get(name, getattr(self, name)) for name in _PARTS}
        changes: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            if name not in _PARTS:
                part, parameter = _owner(name)
                changes.setdefault(part, {})[parameter] = value
        given = DCoTVectorizer(**parts)
        for part, values in changes.items():
            parts[part] = given._checked_part(part).set_params(**values)
        for part, made in parts.items():  # at the end: an error changes nothing
            setattr(self, part, made)
        return self

    def _short_params(self) -> dict[str, Any]:
        """The parameters of all parts under their short names, as the constructor takes them."""
        pipeline, dcot = self._new_parts()
        weighting = pipeline.weighting.get_params()
        scheme = {"weighting": weighting.pop("scheme")}
        return {**pipeline.counter.get_params(), **scheme, **weighting, **dcot.get_params()}

    def _new_parts(self) -> tuple[TextPipeline, DCoT]:
        """New unfitted parts with the current parameters."""
        counter, weighting, dcot = (self._checked_part(name) for name in _PARTS)
        check_parameters(counter.get_params(deep=False))
        if np.dtype(counter.dtype).kind != "f":
            # counts in the precision of the computation; integers would be converted to float64
            counter.set_params(dtype=precision(dcot.dtype, np.float32).type)
        return TextPipeline(counter, weighting), dcot

    def _part(self, name: str) -> Any:
        """A part as the caller passed it, or the default."""
        given = getattr(self, name)
        if name == "weighting" and (given is None or isinstance(given, str)):
            return TermWeighting(given or "tfidf", sublinear_tf=True, idf_floor=IDF_FLOOR)
        if name == "counter" and given is None:
            return TermCounter(min_df="auto")
        return _PARTS[name]() if given is None else given

    def _checked_part(self, name: str) -> Any:
        part, expected = self._part(name), _PARTS[name]
        if not isinstance(part, expected):
            raise InvalidTypeError(
                f"{name} must be a {expected.__name__} or None, got {type(part).__name__}"
            )
        try:
            return clone(part)
        except TypeError as error:  # a generator cannot be copied
            raise InvalidTypeError(
                f"{name} has a parameter that cannot be copied ({error}): give a list"
            ) from error

    # -- fitting ----------------------------------------------------------------------------

    def fit(
        self, raw_documents: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the vectorizer to texts.

        Parameters
        ----------
        raw_documents : iterable of str, or a source of batches
            A list, generator, array, column or reader of texts. A source (``dcot.stream``,
            ``dcot.text.TextSource``, a function that returns an iterator) is read once or several
            times and is never in memory as a whole; the same holds for files that are large
            relative to the memory.
        y : ignored
        sample_weight : array of shape (n_documents,), optional
            Weight of each text in ``dcot_``.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            If there are no texts, no terms are left, or ``raw_documents`` is a single string.
        InvalidTypeError
            If the documents are not texts, or a part has the wrong type.
        InvalidParameterError
            If a parameter of a part is out of range.
        OutOfMemoryError
            If the fit is predicted to need more than ``memory_limit``.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil", "wheat harvest", "wheat and corn"]
        >>> model = DCoTVectorizer(n_prototypes=2, prototypes="document_frequency").fit(texts)
        >>> [term for term, column in model.vocabulary_.items() if column in model.prototypes_]
        ['oil', 'wheat']
        """
        self._fit(raw_documents, sample_weight)
        return self

    def fit_transform(
        self, raw_documents: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Any:
        """Fit the vectorizer to texts and return their features.

        Texts are read once; a source is read again for the features. Parameters and errors are
        those of ``fit``.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil", "wheat harvest", "wheat and corn"]
        >>> DCoTVectorizer(n_prototypes=3).fit_transform(texts).shape
        (4, 6)
        """
        if is_sparse(self._part("dcot")):
            refuse_sparse_frame(self)
        X = self._fit(raw_documents, sample_weight)
        return self._features(raw_documents) if X is None else self.dcot_._features(X)

    def set_output(self, *, transform: Any = None) -> Self:
        """Choose what ``transform`` returns: ``"default"`` arrays, ``"pandas"`` or ``"polars"``.

        Raises
        ------
        InvalidParameterError
            If features are sparse (``output="concat"`` or ``"all"`` without ``n_components``), and
            a frame is asked for.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil", "wheat harvest", "wheat and corn"]
        >>> model = DCoTVectorizer(n_prototypes=3).set_output(transform="pandas")
        >>> model.fit_transform(texts).columns[0]
        'dcot1_crude'
        """
        if transform is not None and is_sparse(self._part("dcot")):
            refuse_sparse_frame(self, transform)
        super().set_output(transform=transform)
        return self

    def _fit(self, raw_documents: Any, sample_weight: Any) -> Any:
        """Fit, and return the weighted counts, or None if the texts come from a source."""
        pipeline, dcot = self._new_parts()
        source = as_text_source(raw_documents, allowance(parse_bytes(dcot.memory_limit)))
        if source is not None:
            self._fit_passes(LocalPasses(source, progress_for(dcot.verbose)), sample_weight)
            return None
        X = pipeline.fit_transform(raw_documents)
        _name_prototypes(dcot, pipeline)
        self._adopt(pipeline, dcot.fit(X, sample_weight=sample_weight))
        return X

    def _fit_passes(
        self, texts: Passes, sample_weight: Any = None, *, sparse_parts: bool = False
    ) -> Self:
        """Fit by passes over batches of texts, on this machine or on a cluster."""
        pipeline, dcot = self._new_parts()
        found = fit_texts(
            texts,
            pipeline,
            replace(dcot._fit_options(), progress=texts.progress),
            dtype=dcot.dtype,
            sample_weight=sample_weight,
            sparse_parts=sparse_parts,
        )
        _name_prototypes(dcot, pipeline)
        self._adopt(pipeline, dcot._adopt(found))
        return self

    @available_with(
        lambda self: isinstance(self.dcot, DCoT | None) and moments_suffice(self._part("dcot"))
    )
    def partial_fit(
        self, raw_documents: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add texts to the model. New terms get new columns, unless ``vocabulary`` is given.

        With the schemes ``"counts"``, ``"binary"`` and ``"log"`` and ``min_df=1``, the model equals
        one ``fit`` on all texts, except for the order of columns. ``min_df="auto"``, the default,
        has an effect in a ``fit`` on 1,000 texts or more, and none here. With ``"tfidf"`` and
        ``"bm25"``, the document frequencies and the mean length are those of the first call, and
        do not change later. A model fitted by ``fit`` has no moments; ``partial_fit`` then starts a
        new model, with a warning.

        Raises
        ------
        NotAvailableError
            If the parameters of ``dcot`` do not allow it; see ``dcot.DCoT.partial_fit``.
        InvalidInputError
            If the texts cannot be used; see ``fit``.
        InvalidParameterError
            If ``min_df``, ``max_df`` or ``max_features`` is set: they need all texts at once. Or if
            a parameter of the counter or of the weighting has changed since the first call;
            ``grow_vocabulary`` and ``n_threads`` may.

        Examples
        --------
        >>> model = DCoTVectorizer(n_prototypes=3).partial_fit(["crude oil", "opec oil"])
        >>> len(model.partial_fit(["wheat harvest"]).vocabulary_)
        5
        """
        known = self.__sklearn_is_fitted__() and self.dcot_._moments is not None
        if known:
            # other objects, so that an error leaves the model unchanged
            pipeline = self._continued()
            dcot = self.dcot_._twin().set_params(**self._checked_part("dcot").get_params())
        else:
            if self.__sklearn_is_fitted__():
                warn_of_new_model()
            pipeline, dcot = self._new_parts()
        X = pipeline.partial_fit_transform(raw_documents)
        _name_prototypes(dcot, pipeline)
        dcot._widen(X.shape[1]).partial_fit(X, sample_weight=sample_weight)
        if known:  # the same object: a second one would share the moments that it changes
            dcot = self.dcot_._become(dcot)
        self._adopt(pipeline, dcot)
        return self

    def _continued(self) -> TextPipeline:
        """A copy of the fitted counter and weighting, whose parameters must be those of now."""
        now, _ = self._new_parts()
        made = TextPipeline(copy(self.counter_), copy(self.weighting_))
        free = {name: getattr(now.counter, name) for name in _FREE}
        made.counter.set_params(**free)
        for before, after in ((made.counter, now.counter), (made.weighting, now.weighting)):
            for name, value in after.get_params(deep=False).items():
                old = getattr(before, name)
                if name != "dtype" and not _same(old, value):  # that follows from the dtype of dcot
                    raise InvalidParameterError(
                        f"{name} was {old!r:.60} in the first call of partial_fit, and is now "
                        f"{value!r:.60}: set it back, or learn all texts again in a new vectorizer"
                    )
        return made

    @classmethod
    def _of_fitted(cls, pipeline: TextPipeline, dcot: DCoT) -> Self:
        """A vectorizer made of fitted parts, with their parameters."""
        parts = (pipeline.counter, pipeline.weighting, dcot)
        model = cls(**dict(zip(_PARTS, map(clone, parts), strict=True)))
        model._adopt(pipeline, dcot)
        return model

    def _adopt(self, pipeline: TextPipeline, dcot: DCoT) -> None:
        self.counter_, self.weighting_, self.dcot_ = pipeline.counter, pipeline.weighting, dcot

    # -- using ------------------------------------------------------------------------------

    def transform(self, raw_documents: Any) -> Any:
        """Return the features of texts.

        A text without known terms gets the features of the empty text.

        Parameters
        ----------
        raw_documents : iterable of str, or a source of batches, as in ``fit``

        Returns
        -------
        array of shape (n_texts, n_features)
            A CSR matrix if ``output="concat"``.

        Raises
        ------
        ModelNotFittedError
            If the vectorizer is not fitted.
        InvalidInputError
            If ``raw_documents`` is a single string.
        InvalidTypeError
            If the documents are not texts.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil", "wheat harvest", "wheat and corn"]
        >>> model = DCoTVectorizer(n_prototypes=3).fit(texts)
        >>> model.transform(["opec", "corn harvest"]).shape
        (2, 6)
        """
        features = self._features(raw_documents)
        if sparse.issparse(features):
            refuse_sparse_frame(self)
        return features

    def _features(self, raw_documents: Any) -> Any:
        """As ``transform``, but always an array, whatever ``set_output`` says."""
        dcot = self._fitted()
        X = self.weigh(raw_documents)
        if not X.shape[0]:  # a batch may be empty, which scikit-learn does not accept
            return np.empty((0, dcot._n_features_out), dtype=dcot.layers_[0].coef_.dtype)
        return dcot._features(X)

    def encode(self, texts: Any, **options: Any) -> NDArray[np.float32]:
        """Return dense rows of length one, like a sentence encoder.

        For tools that expect one, such as BERTopic, KeyBERT and Chroma. Inner products of rows are
        cosines. Fit with ``n_components``, such as 256, for short rows.

        Parameters
        ----------
        texts : str, or texts as in ``transform``
        **options
            Options of sentence encoders. Those that do not change the result, such as
            ``batch_size``, ``show_progress_bar`` and ``device``, are ignored. Rows have length one
            whatever ``normalize_embeddings`` says.

        Returns
        -------
        float32 array of shape (n_texts, n_features), or (n_features,) for a single text

        Raises
        ------
        InvalidParameterError
            If an option asks for another result, such as ``convert_to_tensor=True`` or a
            ``prompt``.
        ModelNotFittedError
            If the vectorizer is not fitted.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil output", "wheat harvest", "wheat and corn", "opec oil"]
        >>> model = DCoTVectorizer(n_components=2, random_state=0).fit(texts)
        >>> model.encode("opec").shape, model.encode(["opec", "corn"]).shape
        ((2,), (2, 2))
        """
        from sklearn.preprocessing import normalize

        _refuse_other_results(options)
        single = isinstance(texts, str)
        features = self._features([texts] if single else texts)
        rows = features.toarray() if sparse.issparse(features) else features
        rows = rows.astype(np.float32)
        if len(rows):
            rows = normalize(rows, copy=False)
        return np.asarray(rows[0] if single else rows)

    def to_sparse(
        self, texts: Any, top: int = 64, *, query: bool = False
    ) -> list[dict[str, float]] | dict[str, float]:
        """Return words and weights for search engines with sparse vectors.

        The inner product of a query and a document is BM25 of their words, as in ``SearchIndex``,
        plus the cosine of the positive values that layer 1 reconstructs, times the weight of
        meaning of the query and the sum of its words' weights.
        Elasticsearch and OpenSearch accept such dictionaries; docs/search.md has an example.

        Parameters
        ----------
        texts : str, or texts as in ``transform``
        top : int
            Number of prototypes to add to the words of a text: those with the largest values.
            Their names begin with ``~``.
        query : bool
            Whether the texts are queries, which are weighted differently from documents.

        Returns
        -------
        list of dict, or one dict for a single text
            All weights are positive. Rare words that ``fit`` left out are included, unless
            ``vocabulary``, ``max_df`` or ``max_features`` is set.

        Raises
        ------
        InvalidParameterError
            If ``top`` is not a positive integer.
        ModelNotFittedError
            If the vectorizer is not fitted.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil output", "wheat harvest", "wheat and corn", "opec oil"]
        >>> model = DCoTVectorizer(n_layers=1, noise=0.5).fit(texts)
        >>> {word: round(weight, 2) for word, weight in model.to_sparse("opec", top=2).items()}
        {'opec': 1.15, '~oil': 0.39, '~opec': 0.9}
        """
        check_integer("top", top)
        check_flag("query", query)
        single = isinstance(texts, str)
        texts = as_texts([texts] if single else texts)
        dcot, counter = self._fitted(), self.counter_
        mean_length = None  # of the words that the weighting has seen
        if counter.max_df == 1.0 and counter.max_features is None:
            mean_length = counter._mean_length
            counter, counts = counter._grown(texts)
        else:  # frequent words may have been left out, and would count as rare ones
            counts = counter.transform(texts)
        terms = counter.get_feature_names_out()
        bm25 = self.weighting_._as_bm25(len(terms), mean_length)
        prototypes = self._pipeline.terms[dcot.prototypes_]
        found: list[dict[str, float]] = []
        for start in range(0, counts.shape[0], TEXTS_PER_BLOCK):
            words = counts[start : start + TEXTS_PER_BLOCK]
            meaning = strongest(dcot.reconstruct(self._pipeline.weigh(words), 1, True), top)
            if query:
                weights = words.multiply(bm25.idf_).tocsr()
                weight = weight_of_meaning(weights, bm25.mean_length_, counter._terms_per_word)
                scale = weight * np.asarray(weights.sum(axis=1)).ravel()
                meaning = sparse.csr_array(sparse.diags_array(scale) @ meaning)
            else:
                words = bm25.transform(words)
            found += as_dicts(words, terms, meaning, prototypes)
        return found[0] if single else found

    def transform_to(
        self,
        raw_documents: Any,
        path: str | Path,
        *,
        overwrite: bool = False,
        resume: bool | None = None,
        progress: Any = None,
    ) -> int:
        """Write the features of many texts to a file; see ``dcot.DCoT.transform_to``.

        Raises
        ------
        ModelNotFittedError
            If the vectorizer is not fitted.
        InvalidParameterError
            If the output exists and ``overwrite`` is not set, was begun with another model, or is
            in a folder that does not exist.
        OutputError
            If the output cannot be written, such as when the disk is full.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> texts = ["crude oil", "opec oil", "wheat harvest", "wheat and corn"]
        >>> model = DCoTVectorizer(n_prototypes=3).fit(texts)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.transform_to(texts, pathlib.Path(folder) / "features.npy")
        4
        """
        dcot = self._fitted()
        source = as_text_source(raw_documents, 0.0)
        if source is None:
            texts = raw_documents
            again = hasattr(texts, "__len__")
            source = Repeatable(lambda: batches(texts)) if again else Once(batches(texts))
        fitted = dcot._fitted()
        return write_features(
            self._features,
            source,
            path,
            width=fitted.n_features,
            dtype=fitted.dtype,
            model=self._fingerprint(),
            names=self.get_feature_names_out().tolist(),
            overwrite=overwrite,
            resume=resume,
            progress=progress or progress_for(dcot.verbose),
        )

    def _fingerprint(self) -> str:
        """A string that changes whenever the features would change."""
        return fingerprint(self._fitted()._fitted(), *self._pipeline.fingerprint())

    def weigh(self, raw_documents: Any) -> Any:
        """Return the weighted counts of texts, a CSR matrix: the input of ``dcot_``.

        Raises
        ------
        ModelNotFittedError
            If the vectorizer is not fitted.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil", "wheat harvest", "wheat and corn"]
        >>> model = DCoTVectorizer(n_prototypes=3).fit(texts)
        >>> model.weigh(["opec oil"]).shape == (1, len(model.vocabulary_))
        True
        """
        source = as_text_source(raw_documents, np.inf)
        return self._pipeline.transform(raw_documents if source is None else source)

    def explain(self, text: str, k: int = 10) -> Meaning:
        """Explain a word or a text by its prototypes and their values in every layer.

        The values are those of ``reconstruct``, before normalisation and compression, with the
        bias subtracted. The empty text, ``""``, shows the bias itself. Each value is the sum of
        the shares of the words. With ``squash="tanh"`` the shares use the slope of the line from
        the empty text to this one (``dcot.explain.tracing``).

        Parameters
        ----------
        text : str
            A word, or a text of any length.
        k : int
            Maximum number of prototypes.

        Returns
        -------
        dcot.explain.Meaning
            It prints as text and has ``to_frame()``. Unknown words are skipped, as in
            ``transform``, and listed. A text without any known word is the empty text.

        Raises
        ------
        UnknownTermError
            If the text is a single word that the model does not know. Similar spellings are
            suggested.
        InvalidTypeError
            If ``text`` is not a string.
        ModelNotFittedError
            If the vectorizer is not fitted.

        Examples
        --------
        >>> from dcot import DCoTVectorizer
        >>> texts = ["crude oil", "opec oil output", "wheat harvest", "wheat and corn", "opec oil"]
        >>> model = DCoTVectorizer(n_layers=1, noise=0.5).fit(texts)
        >>> print(model.explain("opec", k=3))
        opec: what it means, the bias subtracted
          layer 1
          +0.374  opec
          +0.160  oil
          +0.079  output
        """
        return self._reader().explain(text, k)

    def _reader(self, names: Any = None) -> Reader:
        dcot = self._fitted()
        if names is not None:
            raise InvalidParameterError(
                "names are for models of matrices: this one reads texts and knows its terms; leave "
                "names out"
            )
        return Reader(
            dcot.layers_,
            dcot.prototypes_,
            self._pipeline.terms,
            self.weigh,
            self.weighting_.transform,
            self.counter_.analyze,
            frequency=-self.weighting_.idf_,
        )

    def reconstruct(
        self, raw_documents: Any, layer: int | None = None, subtract_bias: bool = False
    ) -> Array:
        """Return the reconstructed values of texts; see ``dcot.DCoT.reconstruct``.

        Raises
        ------
        ModelNotFittedError
            If the vectorizer is not fitted.
        InvalidParameterError
            If there is no such layer.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil", "wheat harvest", "wheat and corn"]
        >>> model = DCoTVectorizer(n_prototypes=3).fit(texts)
        >>> model.reconstruct(["opec"], layer=1).shape
        (1, 3)
        """
        dcot = self._fitted()
        return dcot.reconstruct(self.weigh(raw_documents), layer, subtract_bias)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the features, such as ``dcot1_oil``: layer and prototype.

        Raises
        ------
        ModelNotFittedError
            If the vectorizer is not fitted.
        """
        return self._fitted().get_feature_names_out(self._pipeline.terms)

    @property
    def _pipeline(self) -> TextPipeline:
        """The fitted counter and weighting, which make the input of ``dcot_`` from texts."""
        self._fitted()
        return TextPipeline(self.counter_, self.weighting_)

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each term."""
        self._fitted()
        return self.counter_.vocabulary_

    @property
    def prototypes_(self) -> Array:
        """Column indices of the prototypes."""
        return self._fitted().prototypes_

    @property
    def layers_(self) -> list[Layer]:
        """The fitted layers."""
        return self._fitted().layers_

    @property
    def loss_(self) -> Array:
        """Expected reconstruction error of each layer."""
        return self._fitted().loss_

    @property
    def skipped_(self) -> dict[str, str]:
        """Batches of a source that were skipped, with the reasons."""
        return self._fitted().skipped_

    def _fitted(self) -> DCoT:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        return self.dcot_

    # -- saving -----------------------------------------------------------------------------

    def _contents(self, keep_moments: bool) -> Contents:
        dcot, pipeline = self._fitted(), self._pipeline
        params = self._short_params()
        if callable(params["prototypes"]) and not keep_moments:
            params["prototypes"] = dcot.prototypes_.tolist()  # the choice of the function
        contents, terms = Contents(self._saved_as, {}), pipeline.terms.tolist()
        settings = {
            "parameters": encode_parameters({**params, "vocabulary": None}, SAVING_ADVICE),
            "vocabulary_given": params["vocabulary"] is not None,
            **pipeline.saved(contents),
            "dcot": dcot._saved_settings(contents, keep_moments),
            "container": output_container(self),
        }
        facts = [*dcot._facts(terms), ("weighting", pipeline.weighting.scheme)]
        return replace(contents, settings=settings, vocabulary=terms, facts=facts)

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        settings = contents.settings
        model = cls(**decode_parameters(settings))
        dcot = DCoT._from_settings(contents, setting(settings, "dcot", dict))
        model._adopt(TextPipeline.from_saved(contents, settings, dcot.n_features_in_), dcot)
        if setting(settings, "vocabulary_given", bool):
            model.set_params(vocabulary=contents.vocabulary)
        restore_container(model, settings)
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dcot_")

    def __copy__(self) -> Self:
        """A copy that ``partial_fit`` changes independently of this model."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        if self.__sklearn_is_fitted__():
            made.dcot_ = copy(self.dcot_)
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        return tags


def _owner(name: str) -> tuple[str, str]:
    """The part that a parameter belongs to, and its name there."""
    part, _, parameter = name.partition("__")
    if parameter and part in _PARTS:
        known = _PARTS[part]._get_param_names()
        if parameter in known:
            return part, parameter
        raise InvalidParameterError(
            f"{_PARTS[part].__name__} has no parameter {parameter!r}: it has {', '.join(known)}"
        )
    # dtype is the precision of the computation; that of the counter follows from it
    for part in ("dcot", "counter", "weighting"):
        if name in _PARTS[part]._get_param_names() and name != "scheme":
            return part, name
    raise InvalidParameterError(
        f"DCoTVectorizer has no parameter {name!r}: it takes counter, weighting and dcot, and the "
        "parameters of TermCounter, TermWeighting and DCoT"
    )


def _same(one: Any, other: Any) -> bool:
    """Whether two values of a parameter are equal. Copies of a callable object count as equal."""
    if callable(one) or type(one) is not type(other):
        return one is other or (type(one) is type(other) and not isinstance(one, FunctionType))
    try:
        return bool(one == other)
    except (TypeError, ValueError):  # arrays and columns
        return list(one) == list(other)


def _refuse_other_results(options: dict[str, Any]) -> None:
    """Raise an error for options that ask for anything but unit rows in float32."""
    for name, value in options.items():
        if name not in _RESULTS or value in _RESULTS[name]:
            continue
        if name.startswith("prompt"):
            raise InvalidParameterError(
                f"encode has no prompts, so {name} cannot be {value!r:.60}: leave it out; queries "
                "and documents are encoded in the same way"
            )
        raise InvalidParameterError(
            f"encode returns a NumPy array of float32, so {name} cannot be {value!r:.60}: leave it "
            "out, and convert the array"
        )


def _name_prototypes(dcot: DCoT, pipeline: TextPipeline) -> None:
    """Replace prototypes that are words by their columns."""
    dcot.set_params(prototypes=dcot._fit_options().named(pipeline.terms).prototypes)
