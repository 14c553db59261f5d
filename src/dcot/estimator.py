"""``DCoT``: the method as a scikit-learn transformer, a thin layer over the rooms below."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in

from dcot._dcot_input import check_features, read_documents, settings_of
from dcot._dcot_learning import (
    add_documents,
    add_terms,
    learn,
    learn_path,
    moments_suffice,
    solve_moments,
)
from dcot._dcot_state import SaveableDCoT
from dcot._dcot_streaming import learn_from_source
from dcot._writing import write_transformed
from dcot.core.layers import Layer, Settings
from dcot.core.moments import Moments
from dcot.core.representation import Representation
from dcot.errors import InvalidParameterError, not_fitted
from dcot.explain import Meaning, Readable, Reader
from dcot.stream import Blocks, as_source

Array = NDArray[Any]


class DCoT(Readable, SaveableDCoT, TransformerMixin, BaseEstimator):
    """Dense Cohort of Terms: learn to rebuild frequent terms from documents with terms removed.

    Parameters
    ----------
    n_prototypes : int, default=3000
        Number of terms to rebuild. More than there are terms means all of them.
    prototypes : {"document_frequency", "frequent"}, sequence or callable
        Which terms: those in most documents, those with the largest total (the paper), column
        indices or feature names, or a callable ``(moments, n_prototypes) -> indices``.
    noise : float or sequence of float
        Probability that a term is removed, in [0, 1). A sequence gives layer 1, 2, …; its last
        value goes on for deeper layers.
    n_layers : int
        Number of applications of the method to its own output.
    squash : {"identity", "tanh"}
        What is applied to the rebuilt values; the paper's is tanh.
    shrinkage : float or sequence of float
        Strength of the shrinkage in units of the mean squared length of a document; 0 is the
        paper. By layer like ``noise``.
    output : {"layers", "concat", "last"}
        The features: ``(z¹ … zˡ)``, ``(x, z¹ … zˡ)`` as in the paper, or ``zˡ``.
    normalize : {"unit", "center", None}
        ``"unit"``: each layer's features are centred and every row is scaled to length one, so
        that layers weigh the same. ``"center"`` leaves the lengths. None: as in the paper. x, if
        kept, is not centred.
    n_components : int or None
        Compress the features to so many dimensions by a truncated SVD.
    ridge : float
        Absolute amount added to the diagonal of the paper's E[Q], the bias excepted.
    solver : {"auto", "primal", "dual", "cg"}
        For the first layer. All solve the same system; "auto" takes the one predicted to be
        fastest within the memory limit. Later layers are small and always solved directly.
    tol, max_iter : float, int
        Relative residual at which "cg" stops, and its largest number of iterations.
    memory_limit : int, str or None
        Bytes (or "4GB") that the fit may use beyond X; None means what the machine has free.
    dtype : {"float32", "float64", None}
        Precision of the computation and the features. None takes that of X: float64 stays
        float64, everything else becomes float32, which is twice as fast and as accurate for
        classification.
    random_state : int, RandomState or None
        Only the compression is random.
    verbose : bool
        Show progress on standard error.

    Attributes
    ----------
    prototypes_ : column indices of the prototypes, in increasing order
    layers_ : list of fitted layers, each with ``coef_`` (inputs × prototypes), ``intercept_``
    loss_ : expected reconstruction error of each layer (the paper's equation 1, m → ∞)
    n_documents_ : number of documents learned from, or their total weight
    solver_, n_iter_ : solver of the first layer and its iterations (1 if direct)
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from dcot import DCoT
    >>> texts = ["crude oil prices", "opec oil output", "wheat harvest", "wheat and corn prices"]
    >>> X = TfidfVectorizer().fit_transform(texts)
    >>> DCoT(n_prototypes=4).fit_transform(X).shape
    (4, 8)
    """

    _saved_as: ClassVar = "DCoT"

    # set by fit and partial_fit; None until the moments are solved
    _representation: Representation | None
    _prototypes: Array
    _moments: Moments | None
    n_documents_: float

    def __init__(
        self,
        n_prototypes: int = 3000,
        *,
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
        dtype: Any = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
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

    @classmethod
    def paper(
        cls, n_prototypes: int = 1000, noise: float = 0.8, n_layers: int = 2, **others: Any
    ) -> Self:
        """The method of the paper to the letter; feed it counts.

        Prototypes by total count, no shrinkage beyond 1e-5 on the diagonal, tanh, x and all
        layers concatenated, nothing normalised.
        """
        letter = {
            "prototypes": "frequent",
            "squash": "tanh",
            "shrinkage": 0.0,
            "output": "concat",
            "normalize": None,
            "ridge": 1e-5,
        }
        return cls(n_prototypes, noise=noise, n_layers=n_layers, **{**letter, **others})

    # -- learning ---------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the documents in the rows of X.

        Parameters
        ----------
        X : sparse or dense matrix, documents × terms; or a source of such batches
            (``dcot.stream``: a list of blocks, ``.npz`` files, a function that returns an
            iterator), which is read as often as the layers need and never held
        y : ignored
        sample_weight : how often each document counts, default once
        """
        source = as_source(X)
        if source is None:
            learn(self, X, sample_weight)
        else:
            learn_from_source(self, source, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Any:
        """Learn from X and return its features."""
        return self.fit(X, y, sample_weight=sample_weight).transform(X)

    def noise_path(
        self, X: Any, noises: Sequence[float | Sequence[float]], sample_weight: Any = None
    ) -> list[Self]:
        """One fitted model per noise level, for a fraction of the cost of fitting each.

        Equal to ``[clone(self).set_params(noise=noise).fit(X) for noise in noises]``; the first
        layers share one Gram matrix, scatter matrix or Krylov space.
        """
        return learn_path(self, X, noises, sample_weight)

    @available_if(moments_suffice)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Add documents; any split into pieces gives the model of one ``fit`` on all of them.

        The moments, d × d numbers, are kept between calls. The system is solved when the model
        is next used, so that many small pieces cost no more than a few large ones. A model that
        was learned by ``fit`` has no moments, and starts again.
        """
        add_documents(self, X, sample_weight)
        return self

    def widen(self, n_terms: int) -> Self:
        """Make room for new terms at the end, which no document so far had (``partial_fit``)."""
        add_terms(self, n_terms)
        return self

    # -- using ------------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Features of the documents in the rows of X.

        Dense, except for ``output="concat"`` with sparse X, which gives CSR.
        """
        representation = self._fitted()
        X = read_documents(self, X, reset=False)
        check_features(self, X)
        return representation.transform(X)

    def transform_to(
        self,
        X: Any,
        path: str | Path,
        *,
        overwrite: bool = False,
        resume: bool | None = None,
        progress: Any = None,
    ) -> int:
        """Write the features of a large corpus to a file, batch by batch; how many documents.

        After a crash, Ctrl-C, or when the disk was full, the same call goes on where it stopped.

        Parameters
        ----------
        X : documents × terms, or a source of such batches (see ``fit``)
        path : ``….npy`` for one array, which ``numpy.load(path, mmap_mode="r")`` maps; any other
            name becomes a folder of parquet files, in order, with the columns ``document`` (its
            place) and ``features``
        overwrite : replace a finished output, which stays until the new one is complete
        resume : go on with an unfinished output; by default unless ``overwrite``
        progress : ``progress(message, fraction)`` is called as the work goes on; by default a bar
            with documents/s and the time left, if ``verbose``
        """
        source = as_source(X) or Blocks([read_documents(self, X, reset=False)])
        return write_transformed(self, self, source, path, overwrite, resume, progress)

    def reconstruct(self, X: Any, layer: int | None = None, subtract_bias: bool = False) -> Array:
        """The rebuilt prototype values of a layer, before they are scaled.

        Parameters
        ----------
        X : documents × terms; the row of a single word shows what that word means
        layer : 1 … n_layers, by default the last
        subtract_bias : take off what the empty document gives, which is the same for all
        """
        layers = self._fitted().layers
        X = read_documents(self, X, reset=False)
        depth = len(layers) if layer is None else layer
        if not isinstance(depth, numbers.Integral) or not 1 <= depth <= len(layers):
            raise InvalidParameterError(
                f"layer must be an integer from 1 to {len(layers)}, got {layer!r}"
            )
        Z, bias = X, sp.csr_array((1, X.shape[1]), dtype=X.dtype)
        for step in layers[:depth]:
            Z, bias = step.outputs(Z), step.outputs(bias)
        return Z - bias if subtract_bias else Z

    def explain(self, document: Any, k: int = 10, *, names: Any = None) -> Meaning:
        """What a word or a document means: prototypes with their values in every layer.

        Values are the rebuilt ones (``reconstruct``), before they are scaled, joined or compressed,
        with the bias subtracted; the empty document, ``""``, shows the bias itself. Each word of
        a document has a share in each value, and the shares add up to it. With squashing, its slope
        is held at the document's own (:mod:`dcot.explain.tracing`).

        Parameters
        ----------
        document : words (a string or a list), each counted once for each time it comes; or one
            row of a matrix, weighted as in ``fit``
        k : at most this many prototypes
        names : names of the columns, for a model that was fitted without names

        Returns
        -------
        dcot.explain.Meaning
            It prints as text, and has ``to_frame()``. Unknown words are skipped and listed; a
            document without any known word is the empty document.

        Raises
        ------
        UnknownTermError : a single word that the model does not know; near spellings are suggested

        Examples
        --------
        >>> import numpy as np
        >>> from dcot import DCoT
        >>> names = ["crude", "oil", "opec", "wheat"]
        >>> X = np.array([[1.0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1], [1, 1, 1, 0]])
        >>> model = DCoT(n_layers=1, noise=0.5, shrinkage=0.1).fit(X)
        >>> print(model.explain("opec", k=2, names=names))
        opec: what it means, the bias subtracted
          layer 1
          +0.552  opec
          +0.186  oil
        """
        return self._reader(names).explain(document, k)

    def _reader(self, names: Any = None) -> Reader:
        layers = self._fitted().layers
        known = getattr(self, "feature_names_in_", None)

        def read(rows: Any) -> Any:
            return read_documents(self, rows, reset=False)

        return Reader.of_matrix(layers, self._prototypes, read, names=names, known=known)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the features, such as ``dcot1_oil``: layer and prototype."""
        representation = self._fitted()
        names = _check_feature_names_in(self, input_features)
        if representation.components is not None:
            count = representation.components.shape[1]
            return np.array([f"dcot_{index}" for index in range(count)], dtype=object)
        depth = len(representation.layers)
        shown = [depth] if self.output == "last" else range(1, depth + 1)
        out = list(names) if self.output == "concat" else []
        out += [f"dcot{layer}_{names[column]}" for layer in shown for column in self._prototypes]
        return np.array(out, dtype=object)

    @property
    def prototypes_(self) -> Array:
        self._fitted()
        return self._prototypes

    @property
    def layers_(self) -> list[Layer]:
        return list(self._fitted().layers)

    @property
    def components_(self) -> Array | None:
        """Directions of the compression, features × components; None without one."""
        return self._fitted().components

    @property
    def loss_(self) -> Array:
        return np.array([layer.loss_ for layer in self.layers_])

    @property
    def solver_(self) -> str:
        return self.layers_[0].solver_

    @property
    def n_iter_(self) -> int:
        return self.layers_[0].n_iter_

    @property
    def _n_features_out(self) -> int:
        representation = self._fitted()
        if representation.components is not None:
            return int(representation.components.shape[1])
        kept = self.n_features_in_ if self.output == "concat" else 0
        return int(representation.width + kept)

    def _fitted(self) -> Representation:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        if self._representation is None:
            solve_moments(self)
        assert self._representation is not None
        return self._representation

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_representation")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        given = ["float64", "float32"] if self.dtype is None else []
        tags.transformer_tags.preserves_dtype = given
        return tags

    def _settings(self) -> Settings:
        """The parameters, checked."""
        return settings_of(self)
