"""``DCoTVectorizer``: raw text → counts → weights → dCoT features, in one estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import metadata_routing
from sklearn.utils.metaestimators import available_if

from dcot._vectorizer_state import SaveableVectorizer
from dcot.core.layers import Layer
from dcot.core.prototypes import columns_of
from dcot.core.solvers.choice import allowance
from dcot.errors import not_fitted
from dcot.estimator import DCoT, moments_suffice
from dcot.explain import Meaning, Readable, Reader
from dcot.explain.reader import refuse_names
from dcot.runtime.progress import progress_for
from dcot.runtime.resources import parse_bytes
from dcot.stream import LocalPasses, Once, Passes, Repeatable
from dcot.stream.writing import fingerprint, write_features
from dcot.text import TermCounter, TermWeighting
from dcot.text.fitting import fit_texts, text_settings
from dcot.text.inputs import batches
from dcot.text.patterns import DEFAULT_PATTERN
from dcot.text.streams import as_text_source

Array = NDArray[Any]


class DCoTVectorizer(Readable, SaveableVectorizer, TransformerMixin, BaseEstimator):
    r"""Turn texts into dCoT features: count terms, weigh them, learn what they mean.

    ``fit`` needs no labels: give it all the documents there are. The parameters are those of its
    three parts, under their own names: ``TermCounter``, ``TermWeighting`` and ``DCoT`` document
    them.

    Parameters
    ----------
    lowercase, strip_accents, stop_words, token_pattern, min_word_length, ngram_range, analyzer, \
min_df, max_df, max_features, vocabulary, binary, grow_vocabulary, regex_engine, n_threads
        What is counted: see :class:`dcot.text.TermCounter`.
    weighting : {"tfidf", "bm25", "log", "binary", "counts"}
        How counts are weighed.
    norm, use_idf, smooth_idf, sublinear_tf, k1, b
        More about weighing: see :class:`dcot.text.TermWeighting`.
    n_prototypes, prototypes, noise, n_layers, squash, shrinkage, output, normalize, n_components, \
ridge, solver, tol, max_iter, memory_limit, dtype, random_state, verbose
        What is learned: see :class:`dcot.DCoT`. ``prototypes`` may be words. ``dtype`` is float32
        unless asked otherwise.

    Attributes
    ----------
    counter_, weighting_, dcot_ : the fitted parts
    vocabulary_ : term → column
    layers_, prototypes_, loss_ : those of the fitted ``DCoT``

    Examples
    --------
    >>> from dcot import DCoTVectorizer
    >>> texts = ["crude oil prices", "opec oil output", "wheat harvest", "wheat and corn prices"]
    >>> vectorizer = DCoTVectorizer(n_prototypes=3).fit(texts)
    >>> vectorizer.transform(["oil"]).shape
    (1, 6)
    >>> vectorizer.get_feature_names_out()[:3].tolist()
    ['dcot1_oil', 'dcot1_prices', 'dcot1_wheat']
    """

    _saved_as: ClassVar = "DCoTVectorizer"

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
        min_df: float = 1,
        max_df: float = 1.0,
        max_features: int | None = None,
        vocabulary: Mapping[str, int] | Iterable[str] | None = None,
        binary: bool = False,
        grow_vocabulary: bool = True,
        regex_engine: str = "compiled",
        n_threads: int | None = None,
        weighting: str = "tfidf",
        norm: str | None = "auto",
        use_idf: bool = True,
        smooth_idf: bool = True,
        sublinear_tf: bool = True,
        k1: float = 1.2,
        b: float = 0.75,
        n_prototypes: int = 3000,
        prototypes: str | Sequence[Any] | Callable[..., Any] = "document_frequency",
        noise: float | Sequence[float] = (0.9, 0.8),
        n_layers: int = 2,
        squash: Literal["identity", "tanh"] = "identity",
        shrinkage: float | Sequence[float] = (1.0, 0.0),
        output: Literal["layers", "concat", "last"] = "layers",
        normalize: Literal["unit", "center"] | None = "unit",
        n_components: int | None = None,
        ridge: float = 0.0,
        solver: Literal["auto", "primal", "dual", "cg"] = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
        memory_limit: float | str | None = None,
        dtype: Any = "float32",
        random_state: Any = None,
        verbose: bool = False,
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
        self.grow_vocabulary = grow_vocabulary
        self.regex_engine = regex_engine
        self.n_threads = n_threads
        self.weighting = weighting
        self.norm = norm
        self.use_idf = use_idf
        self.smooth_idf = smooth_idf
        self.sublinear_tf = sublinear_tf
        self.k1 = k1
        self.b = b
        self.n_prototypes = n_prototypes
        self.prototypes = prototypes
        self.noise = noise
        self.n_layers = n_layers
        self.squash = squash
        self.shrinkage = shrinkage
        self.output = output
        self.normalize = normalize
        self.n_components = n_components
        self.ridge = ridge
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit
        self.dtype = dtype
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, raw_documents: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from texts.

        Parameters
        ----------
        raw_documents : list, generator, array, column or reader of texts; or a source of batches
            (``dcot.stream``, ``dcot.text.TextSource``, a function that returns an iterator),
            which is read as often as needed and never held. So are files that are large beside
            the memory.
        y : ignored
        sample_weight : how often each text counts for the representation, default once
        """
        source = as_text_source(raw_documents, allowance(parse_bytes(self.memory_limit)))
        if source is None:
            self._fit(raw_documents, sample_weight)
        else:
            self._start()
            passes = LocalPasses(source, self.dcot_._options().progress)
            self._fit_passes(passes, sample_weight=sample_weight)
        return self

    def fit_transform(
        self, raw_documents: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Any:
        """Learn from texts and return their features; the texts are read once."""
        X = self._fit(raw_documents, sample_weight)
        return self.dcot_.transform(X)

    def transform(self, raw_documents: Any) -> Any:
        """Features of texts. A text without known terms gets the features of the empty one."""
        return self._features(raw_documents)

    def _features(self, raw_documents: Any) -> Any:
        """The same as an array, whatever ``set_output`` was told."""
        return self._fitted()._features(self.weigh(raw_documents))

    def transform_to(
        self,
        raw_documents: Any,
        path: str | Path,
        *,
        overwrite: bool = False,
        resume: bool | None = None,
        progress: Any = None,
    ) -> int:
        """Write the features of many texts to a file; see :meth:`dcot.DCoT.transform_to`."""
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
            progress=progress or progress_for(self.verbose),
        )

    def _fingerprint(self) -> str:
        """Changes with anything that changes the features."""
        settings = text_settings(self.counter_, self.weighting_)
        return fingerprint(self._fitted()._fitted(), *settings)

    def weigh(self, raw_documents: Any) -> Any:
        """Weighted terms of texts, CSR: what the fitted ``dcot_`` reads."""
        self._fitted()
        return self.weighting_.transform(self.counter_.transform(raw_documents))

    def explain(self, text: str, k: int = 10) -> Meaning:
        """What a word or a text means: prototypes with their values in every layer.

        Values are the rebuilt ones (``reconstruct``), before they are scaled, joined or compressed,
        with the bias subtracted; the empty text, ``""``, shows the bias itself. Each word of a text
        has a share in each value, and the shares add up to it. With squashing, its slope is held
        at the text's own (:mod:`dcot.explain.tracing`).

        Parameters
        ----------
        text : a word, or a text of any length
        k : at most this many prototypes

        Returns
        -------
        dcot.explain.Meaning
            It prints as text, and has ``to_frame()``. Unknown words are skipped, as in
            ``transform``, and listed; a text without any known word is the empty text.

        Raises
        ------
        UnknownTermError : a single word that the model does not know; near spellings are suggested

        Examples
        --------
        >>> from dcot import DCoTVectorizer
        >>> texts = ["crude oil", "opec oil output", "wheat harvest", "wheat and corn", "opec oil"]
        >>> model = DCoTVectorizer(n_layers=1, noise=0.5).fit(texts)
        >>> print(model.explain("opec", k=3))
        opec: what it means, the bias subtracted
          layer 1
          +0.351  opec
          +0.170  oil
          +0.097  output
        """
        return self._reader().explain(text, k)

    def _reader(self, names: Any = None) -> Reader:
        dcot = self._fitted()
        refuse_names(names)
        return Reader(
            dcot.layers_,
            dcot.prototypes_,
            self.counter_.get_feature_names_out(),
            self.weigh,
            self.weighting_.transform,
            self.counter_.analyze,
            frequency=-self.weighting_.idf_,
        )

    @available_if(lambda self: moments_suffice(self))
    def partial_fit(
        self, raw_documents: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add texts; new terms get new columns, unless ``vocabulary`` is given.

        Earlier texts had none of the new terms, so for counts, ``"binary"`` and ``"log"`` the model
        is that of one ``fit`` on all texts (but for the order of columns). Document frequencies
        would change: those behind ``"tfidf"`` and ``"bm25"``, and BM25's mean length, stay as the
        first call found them.
        """
        if getattr(self, "_learned_at_once", True):
            self._start()
        texts = raw_documents if hasattr(raw_documents, "__len__") else list(raw_documents)
        counts = self.counter_.partial_fit(texts).transform(texts)
        X = self.weighting_.partial_fit(counts).transform(counts)
        self.dcot_.set_params(**self._given_to(DCoT))
        self._name_prototypes()
        self.dcot_.widen(X.shape[1])
        self.dcot_.partial_fit(X, sample_weight=sample_weight)
        self._learned_at_once: bool = False
        return self

    def reconstruct(
        self, raw_documents: Any, layer: int | None = None, subtract_bias: bool = False
    ) -> Array:
        """The rebuilt prototype values of texts; see :meth:`dcot.DCoT.reconstruct`."""
        dcot = self._fitted()
        return dcot.reconstruct(self.weigh(raw_documents), layer, subtract_bias)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the features, such as ``dcot1_oil``: layer and prototype."""
        dcot = self._fitted()
        return dcot.get_feature_names_out(self.counter_.get_feature_names_out())

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each term."""
        self._fitted()
        return self.counter_.vocabulary_

    @property
    def prototypes_(self) -> Array:
        """Columns of the prototypes."""
        return self._fitted().prototypes_

    @property
    def layers_(self) -> list[Layer]:
        """The fitted layers."""
        return self._fitted().layers_

    @property
    def loss_(self) -> Array:
        """The expected reconstruction error of each layer."""
        return self._fitted().loss_

    @property
    def skipped_(self) -> dict[str, str]:
        """Batches of a source that were skipped, each with the reason."""
        return self._fitted().skipped_

    def _fit(self, raw_documents: Any, sample_weight: Any) -> Any:
        """Learn, and return the weighted terms."""
        self._start()
        counts = self.counter_.fit_transform(raw_documents)
        X = self.weighting_.fit_transform(counts)
        del counts
        self._name_prototypes()
        self.dcot_.fit(X, sample_weight=sample_weight)
        self._learned_at_once = True
        return X

    def _fit_passes(self, texts: Passes, **options: Any) -> None:
        """Learn from passes over batches of texts, wherever they are made."""
        found = fit_texts(
            texts,
            self.counter_,
            self.weighting_,
            self.dcot_._options(),
            dtype=self.dtype,
            **options,
        )
        self._name_prototypes()
        self.dcot_._store(found, None)
        self._learned_at_once = True

    def parts(self) -> tuple[TermCounter, TermWeighting]:
        """New parts for counting and weighing, with the settings as they are now."""
        precision = np.float64 if self.dtype in ("float64", np.float64, float) else np.float32
        counter = TermCounter(dtype=precision, **self._given_to(TermCounter, "dtype"))
        return counter, TermWeighting(self.weighting, **self._given_to(TermWeighting))

    def _start(self) -> None:
        self.counter_, self.weighting_ = self.parts()
        self.dcot_ = DCoT(**self._given_to(DCoT))

    def _given_to(self, part: type[BaseEstimator], *other_than: str) -> dict[str, Any]:
        """Our parameters that a part knows by the same name."""
        names = set(part._get_param_names()) - set(other_than)
        ours = self.get_params(deep=False)
        return {name: value for name, value in ours.items() if name in names}

    def _name_prototypes(self) -> None:
        """Prototypes given as words become columns."""
        chosen = self.prototypes
        if isinstance(chosen, str) or callable(chosen):
            return
        if np.asarray(chosen).dtype.kind in "OUT":
            names = self.counter_.get_feature_names_out()
            self.dcot_.set_params(prototypes=columns_of(np.asarray(chosen), names))

    def _fitted(self) -> DCoT:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        return self.dcot_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dcot_") and self.dcot_.__sklearn_is_fitted__()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        return tags
