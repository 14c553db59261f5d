"""``DCoT``: the method as a scikit-learn transformer, a thin layer over the rooms below."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, validate_data

from dcot._dcot_state import SaveableDCoT
from dcot._exceptions import (
    DcotError,
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    NotAvailableError,
    OutOfMemoryError,
)
from dcot._machine import format_bytes, parse_bytes
from dcot._progress import ProgressBar, silent
from dcot.centred import Matrix
from dcot.checking import (
    by_layer,
    canonical,
    check_choice,
    check_integer,
    check_not_empty,
    check_number,
    check_room,
    check_weights,
)
from dcot.layers import Layer, Settings, fit_stack_from_moments, fit_stacks
from dcot.moments import Moments
from dcot.prototypes import choose_prototypes
from dcot.representation import Representation
from dcot.solvers import SOLVERS
from dcot.solvers.choice import allowance

Array = NDArray[Any]

MAX_LAYERS = 100


class ModelNotFittedError(DcotError, NotFittedError):
    """The model was used before it was fitted."""


def moments_suffice(model: Any) -> bool:
    """Whether ``partial_fit`` can work with the model's settings."""
    reasons = []
    if model.squash != "identity" and model.n_layers != 1:
        reasons.append("n_layers > 1 with squash='tanh': set squash='identity' or n_layers=1")
    if model.squash != "identity" and model.normalize is not None:
        reasons.append("normalize with squash='tanh': set squash='identity' or normalize=None")
    if model.n_components is not None:
        reasons.append("n_components: set it to None")
    if reasons:
        raise NotAvailableError(
            "partial_fit cannot give the same model as fit without seeing earlier documents "
            f"again, because of {'; and '.join(reasons)}. Or collect the documents and use fit"
        )
    return True


class DCoT(SaveableDCoT, TransformerMixin, BaseEstimator):
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
        X : sparse or dense matrix, documents × terms
        y : ignored
        sample_weight : how often each document counts, default once
        """
        X, weights, settings = self._prepare(X, sample_weight)
        moments = self._moments_of(X, weights)
        prototypes = self._choose(moments)
        layers = next(fit_stacks(X, weights, moments, prototypes, [settings]))
        self._adopt(layers, prototypes, X, weights)
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
        models = [clone(self).set_params(noise=noise) for noise in noises]
        if not models:
            raise InvalidParameterError("noises is empty: give at least one noise level")
        X, weights, _ = models[0]._prepare(X, sample_weight)
        variants = [model._settings() for model in models]
        moments = self._moments_of(X, weights)
        prototypes = models[0]._choose(moments)
        stacks = fit_stacks(X, weights, moments, prototypes, variants)
        for model, layers in zip(models, stacks, strict=True):
            model.n_features_in_ = models[0].n_features_in_
            if hasattr(models[0], "feature_names_in_"):
                model.feature_names_in_ = models[0].feature_names_in_
            model._adopt(layers, prototypes, X, weights)
        return models

    @available_if(moments_suffice)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Add documents; any split into pieces gives the model of one ``fit`` on all of them.

        The moments, d × d numbers, are kept between calls. The system is solved when the model
        is next used, so that many small pieces cost no more than a few large ones. A model that
        was learned by ``fit`` has no moments, and starts again.
        """
        first = getattr(self, "_moments", None) is None
        if first and self.__sklearn_is_fitted__():
            warnings.warn(
                "fit keeps no moments to add to: partial_fit starts a new model, without the "
                "documents that fit saw; learn from the start with partial_fit",
                stacklevel=2,
            )
        X, weights, settings = self._prepare(X, sample_weight, reset=first)
        if first:
            check_room(X.shape[1], X.dtype, settings.memory_limit)
            self._moments = Moments.empty(X.shape[1], X.dtype)
        self._moments.add(X, weights)
        self._representation: Representation | None = None
        return self

    def widen(self, n_terms: int) -> Self:
        """Make room for new terms at the end, which no document so far had (``partial_fit``)."""
        moments = getattr(self, "_moments", None)
        if moments is not None and n_terms > moments.n_terms:
            check_room(n_terms, moments.scatter.dtype, parse_bytes(self.memory_limit))
            self._moments = moments.widened(n_terms)
            self.n_features_in_ = n_terms
            self._representation = None
        return self

    def _solve_moments(self) -> None:
        moments = self._moments
        check_not_empty(moments)
        prototypes = self._choose(moments)
        layers = fit_stack_from_moments(moments, prototypes, self._settings())
        self._adopt(layers, prototypes, moments=moments)

    def _prepare(
        self, X: Any, sample_weight: Any, reset: bool = True
    ) -> tuple[Matrix, Array | None, Settings]:
        settings = self._settings()
        X = self._read(X, reset=reset)
        weights = check_weights(sample_weight, X.shape[0])
        if weights is not None and not weights.all():
            X, weights = X[weights > 0], weights[weights > 0]
        return X, weights, settings

    def _moments_of(self, X: Matrix, weights: Array | None) -> Moments:
        moments = Moments.of(X, weights)
        check_not_empty(moments)
        return moments

    def _choose(self, moments: Moments) -> Array:
        names = getattr(self, "feature_names_in_", None)
        return choose_prototypes(self.prototypes, self.n_prototypes, moments, names)

    def _adopt(
        self,
        layers: list[Layer],
        prototypes: Array,
        X: Matrix | None = None,
        weights: Array | None = None,
        moments: Moments | None = None,
    ) -> None:
        """Take over what was learned."""
        self._moments = moments  # type: ignore[assignment]
        self._prototypes = prototypes
        if moments is not None:
            self.n_documents_ = float(moments.n)
        elif X is not None:
            self.n_documents_ = float(X.shape[0] if weights is None else weights.sum())
        representation = Representation(layers, self.output, self.normalize)
        if self.n_components is not None and X is not None:
            rank, seed = self.n_components, self.random_state
            representation = representation.compressed(X, weights, rank, seed)
        self._representation = representation
        if not all(layer.converged_ for layer in layers):
            warnings.warn(
                f"cg stopped after max_iter={self.max_iter} iterations short of tol={self.tol}: "
                "raise max_iter or noise, or use a direct solver",
                ConvergenceWarning,
                stacklevel=3,
            )

    # -- using ------------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Features of the documents in the rows of X.

        Dense, except for ``output="concat"`` with sparse X, which gives CSR.
        """
        representation = self._fitted()
        X = self._read(X, reset=False)
        self._check_output(X)
        return representation.transform(X)

    def reconstruct(self, X: Any, layer: int | None = None, subtract_bias: bool = False) -> Array:
        """The rebuilt prototype values of a layer, before they are scaled.

        Parameters
        ----------
        X : documents × terms; the row of a single word shows what that word means
        layer : 1 … n_layers, by default the last
        subtract_bias : take off what the empty document gives, which is the same for all
        """
        layers = self._fitted().layers
        X = self._read(X, reset=False)
        depth = len(layers) if layer is None else layer
        if not isinstance(depth, numbers.Integral) or not 1 <= depth <= len(layers):
            raise InvalidParameterError(
                f"layer must be an integer from 1 to {len(layers)}, got {layer!r}"
            )
        Z, bias = X, sp.csr_array((1, X.shape[1]), dtype=X.dtype)
        for step in layers[:depth]:
            Z, bias = step.outputs(Z), step.outputs(bias)
        return Z - bias if subtract_bias else Z

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
            raise ModelNotFittedError(
                f"This {type(self).__name__} instance is not fitted yet: call fit first"
            )
        if self._representation is None:
            self._solve_moments()
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

    # -- checking ---------------------------------------------------------------------------

    def _check_output(self, X: Matrix) -> None:
        """Refuse features that are predicted not to fit."""
        kept = self.n_features_in_ if self.output == "concat" and sp.issparse(X) else 0
        width = self._n_features_out - kept  # x stays sparse
        needed, free = float(X.shape[0]) * width * X.dtype.itemsize, allowance(None)
        if needed > free:
            raise OutOfMemoryError(
                f"the features of {X.shape[0]} documents need about {format_bytes(needed)}, and "
                f"{format_bytes(free)} are free: transform in batches, or set n_components"
            )

    def _settings(self) -> Settings:
        """The parameters, checked."""
        check_integer("n_prototypes", self.n_prototypes)
        check_integer("n_layers", self.n_layers, MAX_LAYERS)
        check_integer("max_iter", self.max_iter)
        if self.n_components is not None:
            check_integer("n_components", self.n_components)
        check_choice("squash", self.squash, ("identity", "tanh"))
        check_choice("output", self.output, ("layers", "concat", "last"))
        check_choice("normalize", self.normalize, ("unit", "center", None))
        check_choice("solver", self.solver, ("auto", *SOLVERS))
        check_number("tol", self.tol, positive=True)
        check_number("ridge", self.ridge)
        noise = by_layer("noise", self.noise, self.n_layers)
        for value in noise:
            if not 0 <= value < 1:
                end = "with every term removed there is nothing to learn from"
                hint = f": {end}" if value == 1 else ""
                raise InvalidParameterError(f"noise must be in [0, 1), got {value}{hint}")
        shrinkage = by_layer("shrinkage", self.shrinkage, self.n_layers)
        for value in shrinkage:
            check_number("shrinkage", value)
        return Settings(
            noise=noise,
            shrinkage=shrinkage,
            ridge=float(self.ridge),
            squash=self.squash,
            means=self.normalize is not None,
            solver=self.solver,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            memory_limit=parse_bytes(self.memory_limit),
            progress=ProgressBar() if self.verbose else silent,
        )

    def _read(self, X: Any, reset: bool) -> Matrix:
        """X as CSR or a C-contiguous array of the dtype to compute in; no copy without need."""
        try:
            X = validate_data(
                self, X, reset=reset, accept_sparse=["csr", "csc", "coo"], dtype="numeric"
            )
        except ValueError as error:
            raise InvalidInputError(str(error)) from error
        except TypeError as error:
            raise InvalidTypeError(str(error)) from error
        dtype = self._dtype_for(X, reset)
        if sp.issparse(X):
            X = canonical(X, dtype)
            values = X.data
        else:
            with np.errstate(over="ignore"):
                X = values = np.ascontiguousarray(X, dtype=dtype)
        if dtype == np.float32 and not np.isfinite(values).all():
            raise InvalidInputError(
                "X has values too large for float32: rescale X, or use dtype='float64'"
            )
        return X

    def _dtype_for(self, X: Matrix, reset: bool) -> Any:
        if not reset and getattr(self, "_representation", None) is not None:
            return self.layers_[0].coef_.dtype
        if self.dtype is None:
            return np.dtype(np.float64 if X.dtype == np.float64 else np.float32)
        try:
            dtype = np.dtype(self.dtype)
        except TypeError:
            dtype = np.dtype(object)
        if dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise InvalidParameterError(
                f"dtype must be 'float32', 'float64' or None, got {self.dtype!r}"
            )
        return dtype
