"""``DCoT``: the method as a scikit-learn transformer, on top of ``dcot.core.fit``."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from types import MethodType
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_feature_names_in, validate_data

from dcot.core.centred import Matrix, as_documents, check_given, precision
from dcot.core.fit import FittedDCoT, check_weights, fit, fit_moments, fit_path
from dcot.core.layers import Layer
from dcot.core.moments import Moments
from dcot.core.options import (
    MAX_LAYERS,
    FitOptions,
    by_layer,
    check_flag,
    check_integer,
    check_noise,
    check_number,
    moments_lack,
)
from dcot.core.plan import Plan
from dcot.core.representation import WITH_X
from dcot.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    NotAvailableError,
    OutOfMemoryError,
    not_fitted,
)
from dcot.explain import Meaning, Readable, Reader
from dcot.persistence.contents import Contents, count
from dcot.persistence.fitted import add_fitted, check_vocabulary, fitted_facts, read_fitted
from dcot.persistence.saving import (
    Saveable,
    build,
    encode_parameters,
    output_container,
    restore_container,
)
from dcot.runtime.parameters import Parameters
from dcot.runtime.progress import progress_for
from dcot.runtime.resources import allowance, format_bytes, parse_bytes
from dcot.stream import Blocks, LocalPasses, Passes, Source, as_source
from dcot.stream.fitting import fit_matrices, source_weights
from dcot.stream.passes import read_blocks
from dcot.stream.writing import fingerprint, write_features

Array = NDArray[Any]
Model = TypeVar("Model", bound=TransformerMixin)

# What to do about parameters that a model folder cannot hold.
_SAVING_ADVICE = {
    "random_state": "the fitted model no longer needs it: set_params(random_state=0), or None, "
    "before saving",
    "prototypes": "partial_fit would call it again after loading: "
    "set_params(prototypes=model.prototypes_.tolist()) to keep its choice",
}


def moments_suffice(model: DCoT) -> bool:
    """Return True if ``partial_fit`` works with these parameters, else raise an error."""
    reasons = moments_lack(model)
    if reasons:
        raise NotAvailableError(
            "partial_fit cannot give the same model as fit without seeing earlier documents "
            f"again, because of {'; and '.join(reasons)}. Or collect the documents and use fit"
        )
    return True


def warn_of_new_model() -> None:
    """Warn the caller of ``partial_fit`` that a model of ``fit`` is not continued."""
    warnings.warn(
        "fit keeps no moments to add to: partial_fit starts a new model, without the documents "
        "that fit saw; learn from the start with partial_fit",
        stacklevel=3,
    )


def refuse_sparse_frame(model: BaseEstimator, container: str | None = None) -> None:
    """Raise an error if sparse features would be returned in a frame of pandas or polars.

    ``container`` is None for the one set with ``set_output``, or with ``sklearn.set_config``.
    """
    container = container or output_container(model) or get_config()["transform_output"]
    if container != "default":
        raise InvalidParameterError(
            "the features are sparse, because the words themselves are among them, and frames of "
            f"{container} cannot hold them: set n_components or output='layers' (of a classifier, "
            "grid={'features': ['LSI and both layers']}), or call set_output(transform='default')"
        )


def is_sparse(dcot: Any) -> bool:
    """Whether the features of sparse documents are sparse, by the parameters of a DCoT."""
    return getattr(dcot, "output", None) in WITH_X and dcot.n_components is None


class _Available:
    def __init__(self, method: Callable[..., Any], check: Callable[[Any], object]) -> None:
        self.method, self.check = method, check
        self.__doc__ = method.__doc__

    def __get__(self, instance: object, owner: type[object]) -> Callable[..., Any]:
        if instance is None:
            return self.method
        self.check(instance)
        return MethodType(self.method, instance)


def available_with(check: Callable[[Any], object]) -> Callable[[Callable[..., Any]], _Available]:
    """Make a method available unless ``check(model)`` raises a ``NotAvailableError``.

    scikit-learn's ``available_if`` would replace the error, and its advice, by one of its own.
    """
    return lambda method: _Available(method, check)


def documents_by_name(name: str) -> Callable[[type[Model]], type[Model]]:
    """Let ``transform`` and ``fit_transform`` of a class take the documents by their name.

    scikit-learn wraps these methods for ``set_output``, in a function that calls them X.
    """

    def changed(cls: type[Model]) -> type[Model]:
        for method in ("transform", "fit_transform"):
            setattr(cls, method, _by_name(getattr(cls, method), name))
        return cls

    return changed


def _by_name(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(method)
    def called(self: Any, *documents: Any, **others: Any) -> Any:
        if not documents and name in others:
            documents = (others.pop(name),)
        return method(self, *documents, **others)

    return called


class DCoT(Readable, Saveable, TransformerMixin, Parameters):
    """Dense Cohort of Terms: learn to reconstruct terms of documents from which terms were removed.

    Parameters
    ----------
    n_prototypes : int, default=2000
        Number of terms to reconstruct (the prototypes). If there are fewer terms, all are used.
    prototypes : {"variance", "document_frequency", "frequent"}, sequence or callable
        Which terms are prototypes: those whose values vary most between documents, those in most
        documents, those with the largest total (as in the paper), column indices or feature
        names, or a callable ``(moments, n_prototypes) -> indices``.
    noise : float or sequence of float
        Probability that a term is removed, in [0, 1). A sequence gives one value per layer; its
        last value is used for deeper layers.
    n_layers : int
        Number of layers. Each layer applies the method to the output of the layer before it.
    squash : {"identity", "tanh"}
        Function applied to the reconstructed values. The paper uses tanh.
    shrinkage : float or sequence of float
        Strength of the shrinkage, in units of the mean squared length of a document. The paper
        uses 0. One value per layer, like ``noise``.
    output : {"layers", "concat", "last", "lsi", "all"}
        The features: all layers, ``(z¹ … zˡ)``; x and all layers, ``(x, z¹ … zˡ)``, as in the
        paper; the last layer, ``zˡ``; LSI and all layers; or x, LSI and all layers. LSI is the
        projection of x on its leading singular directions, one for every ten documents and at
        most 200.
    normalize : {"shared", "unit", "center", None}
        ``"shared"`` centres the layers and divides the features of a document by the length of
        its first layer, so that the length of documents does not matter. On average, all layers
        have the same weight. ``"unit"`` scales every layer of every document to length one; it is
        as accurate, but prediction is slower, because every layer has to be computed.
        ``"center"`` only centres the layers. None changes nothing, as in the paper. The input x,
        if it is part of the output, is never centred.
    n_components : int or None
        Compress the features to this many dimensions with a truncated SVD.
    ridge : float
        Absolute amount added to the diagonal of the paper's E[Q], except for the bias.
    solver : {"auto", "primal", "dual", "cg"}
        Solver of the first layer. All solve the same system; "auto" uses the one that is predicted
        to be fastest within the memory limit. Later layers are small and always solved directly.
    tol : float
        Relative residual at which "cg" stops.
    max_iter : int
        Maximum number of iterations of "cg".
    memory_limit : int, str or None
        Memory that the fit may use in addition to X, in bytes or as a string such as "4GB". With
        None, the free memory of the machine.
    dtype : {"float32", "float64", None}
        Precision of the computation and the features. With None, float64 input gives float64, and
        any other input gives float32, which is twice as fast and as accurate for classification.
    random_state : int, RandomState or None
        Seed for ``n_components`` and for LSI. With None, LSI is still the same every time.
        Nothing else is random.
    verbose : bool
        Show progress on standard error.

    Attributes
    ----------
    prototypes_ : column indices of the prototypes, in increasing order
    layers_ : list of fitted layers, each with ``coef_`` (inputs × prototypes) and ``intercept_``
    loss_ : expected reconstruction error of each layer (the paper's equation 1, m → ∞)
    n_documents_ : number of documents in the fit, or their total weight
    solver_ : solver of the first layer
    n_iter_ : its number of iterations, 1 if it is direct
    n_features_in_ : number of columns of X
    feature_names_in_ : names of the columns of X, if it has names

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

    # The fitted model, or the moments from partial_fit, which are solved when they are needed.
    _learned: FittedDCoT | Moments

    def __init__(
        self,
        n_prototypes: int = 2000,
        *,
        prototypes: str | Sequence[Any] | Callable[..., Any] = "variance",
        noise: float | Sequence[float] = (0.9, 0.8),
        n_layers: int = 2,
        squash: Literal["identity", "tanh"] = "identity",
        shrinkage: float | Sequence[float] = (1.0, 0.0),
        output: Literal["layers", "concat", "last", "lsi", "all"] = "layers",
        normalize: Literal["shared", "unit", "center"] | None = "shared",
        n_components: int | None = None,
        ridge: float = 0.0,
        solver: Literal["auto", "primal", "dual", "cg"] = "auto",
        tol: float = 1e-2,
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
        """Create a model with the parameters of the paper. Its input should be counts.

        Prototypes are chosen by total count, the only regularisation is 1e-5 on the diagonal, the
        squashing function is tanh, and the features are x and all layers, not normalised.

        Parameters
        ----------
        n_prototypes, noise, n_layers : as in ``DCoT``; the paper tunes them
        **others
            Further parameters of ``DCoT``, which replace those of the paper.

        Examples
        --------
        >>> model = DCoT.paper(n_prototypes=2)
        >>> model.squash, model.output
        ('tanh', 'concat')
        >>> model.fit_transform([[2.0, 1, 0], [0, 1, 1], [1, 0, 3]]).shape
        (3, 7)
        """
        published = {
            "prototypes": "frequent",
            "squash": "tanh",
            "shrinkage": 0.0,
            "output": "concat",
            "normalize": None,
            "ridge": 1e-5,
        }
        return cls(n_prototypes, noise=noise, n_layers=n_layers, **{**published, **others})

    # -- fitting ----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to the documents in the rows of X.

        Parameters
        ----------
        X : sparse or dense matrix of shape (n_documents, n_terms), or a source of such matrices
            A source (``dcot.stream``: a list of blocks, ``.npz`` files, a function that returns an
            iterator) is read once or several times, batch by batch, and is never in memory as a
            whole.
        y : ignored
        sample_weight : array of shape (n_documents,), optional
            Weight of each document. A weight of 2 has the effect of a second copy.

        Returns
        -------
        self

        Raises
        ------
        InvalidParameterError
            If a parameter is out of range.
        InvalidInputError
            If X is empty, contains only zeros, or has NaN or infinite values, or if
            ``sample_weight`` is negative or does not have one value per document.
        InvalidTypeError
            If X is not numeric.
        OutOfMemoryError
            If the fit is predicted to need more than ``memory_limit``.

        Examples
        --------
        >>> model = DCoT(n_prototypes=2).fit([[1.0, 1, 0], [0, 1, 1], [1, 0, 1]])
        >>> model.prototypes_.tolist(), len(model.layers_)
        ([0, 1], 2)
        """
        source = as_source(X)
        if source is not None:
            weights = source_weights(source, sample_weight)
            passes = LocalPasses(
                source,
                progress_for(self.verbose),
                n_weights=None if weights is None else len(weights),
            )
            return self._fit_passes(passes, weights)
        documents, names = self._read_new(X)
        weights = check_weights(sample_weight, documents.shape[0])
        return self._adopt(fit(documents, weights, self._fit_options().named(names)), names)

    def _fit_passes(
        self, passes: Passes, weights: Array | None = None, *, sparse_parts: bool = False
    ) -> Self:
        """Fit the model by passes over batches of matrices, on this machine or on a cluster."""
        options = replace(self._fit_options(), progress=passes.progress)
        found = fit_matrices(passes, weights, options, self.dtype, sparse_parts=sparse_parts)
        return self._adopt(found)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Any:
        """Fit the model to X and return the features of X.

        Parameters and errors are those of ``fit``.

        Raises
        ------
        InvalidInputError
            If X is an iterator, which can be read only once, or if ``fit`` raises it.

        Examples
        --------
        >>> DCoT(n_prototypes=2).fit_transform([[1.0, 1, 0], [0, 1, 1], [1, 0, 1]]).shape
        (3, 4)
        """
        source = as_source(X)
        if source is not None and not source.rereadable:
            raise InvalidInputError(
                "fit_transform reads the documents again to transform them, and an iterator can "
                "be read once: give a list of blocks, files or a function that returns a new "
                "iterator each time"
            )
        if is_sparse(self) and sp.issparse(X):
            refuse_sparse_frame(self)
        return self.fit(X, y, sample_weight=sample_weight).transform(X)

    def noise_path(
        self, X: Any, noises: Sequence[float | Sequence[float]], sample_weight: Any = None
    ) -> list[Self]:
        """Fit one model per noise level, much faster than one after the other.

        The result equals ``[clone(self).set_params(noise=noise).fit(X) for noise in noises]``. The
        first layers share one Gram matrix, scatter matrix or Krylov space.

        Parameters
        ----------
        X : matrix of shape (n_documents, n_terms), or a list of such blocks
        noises : list of values for the parameter ``noise``
        sample_weight : array of shape (n_documents,), optional

        Returns
        -------
        list of DCoT

        Raises
        ------
        InvalidParameterError
            If ``noises`` is not a list, is empty or contains an invalid noise level.
        InvalidInputError
            If X cannot be used; see ``fit``.
        InvalidTypeError
            If X is a source other than a list of blocks.

        Examples
        --------
        >>> X = [[1.0, 1, 0], [0, 1, 1], [1, 0, 1]]
        >>> [model.noise for model in DCoT(2).noise_path(X, [0.5, 0.9])]
        [0.5, 0.9]
        """
        if isinstance(noises, str) or not np.iterable(noises) or not len(noises := list(noises)):
            raise InvalidParameterError(
                f"noises must be a list of at least one noise level, got {noises!r}"
            )
        models: list[Self] = [clone(self).set_params(noise=noise) for noise in noises]
        source = as_source(X)
        if isinstance(source, Blocks):  # the blocks are in memory already
            X = read_blocks(source).X
        documents, names = self._read_new(X)
        weights = check_weights(sample_weight, documents.shape[0])
        options = [model._fit_options().named(names) for model in models]
        results = fit_path(documents, weights, options)
        return [model._adopt(found, names) for model, found in zip(models, results, strict=True)]

    @available_with(moments_suffice)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Add documents to the model. The result equals one ``fit`` on all documents.

        The moments (d × d numbers) are kept between calls. The system is solved when the model is
        used next, so many small batches cost no more than a few large ones. A model fitted by
        ``fit`` has no moments; ``partial_fit`` then starts a new model, with a warning.

        Parameters
        ----------
        X : sparse or dense matrix of shape (n_documents, n_terms)
        y : ignored
        sample_weight : array of shape (n_documents,), optional

        Returns
        -------
        self

        Raises
        ------
        NotAvailableError
            If the parameters do not allow it: ``n_components``, ``output="lsi"``, or
            ``squash="tanh"`` with several layers or with ``normalize``.
        InvalidInputError
            If X cannot be used, or has other columns than before.
        OutOfMemoryError
            If the moments are predicted to need more than ``memory_limit``.

        Examples
        --------
        >>> model = DCoT(n_prototypes=2).partial_fit([[1.0, 1, 0], [0, 1, 1]])
        >>> model.partial_fit([[1.0, 0, 1]]).n_documents_
        3.0
        """
        moments = self._moments
        if moments is None and self.__sklearn_is_fitted__():
            warn_of_new_model()
        limit = self._fit_options().memory_limit
        names = getattr(self, "feature_names_in_", None)
        if moments is None:
            documents, names = self._read_new(X)
        else:
            documents = self._read(X)
        weights = check_weights(sample_weight, documents.shape[0])
        if weights is not None and not weights.all():
            documents, weights = documents[weights > 0], weights[weights > 0]
        if moments is None:
            _check_moments_fit(documents.shape[1], documents.dtype, limit)
            moments = Moments.empty(documents.shape[1], documents.dtype)
        elif isinstance(self._learned, FittedDCoT):
            moments = moments.copy()  # a fitted model does not change
        moments.add(documents, weights)
        return self._adopt(moments, names)

    def _widen(self, n_terms: int) -> Self:
        """Add columns for terms that occur in no document so far (``partial_fit``)."""
        moments = self._moments
        if moments is None or n_terms <= moments.n_terms:
            return self
        assert moments.scatter is not None
        _check_moments_fit(n_terms, moments.scatter.dtype, parse_bytes(self.memory_limit))
        return self._adopt(moments.widened(n_terms))

    def _fit_options(self) -> FitOptions:
        """Check the parameters and return them in the form that ``dcot.core.fit`` takes."""
        check_integer("n_layers", self.n_layers, MAX_LAYERS)
        return FitOptions(
            noise=by_layer("noise", self.noise, self.n_layers, check_noise),
            shrinkage=by_layer(
                "shrinkage", self.shrinkage, self.n_layers, lambda s: check_number("shrinkage", s)
            ),
            ridge=self.ridge,
            squash=self.squash,
            n_prototypes=self.n_prototypes,
            prototypes=self.prototypes,
            output=self.output,
            normalize=self.normalize,
            n_components=self.n_components,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            memory_limit=parse_bytes(self.memory_limit),
            random_state=self.random_state,
            progress=progress_for(self.verbose),
        )

    def _adopt(self, learned: FittedDCoT | Moments, names: Array | None = None) -> Self:
        """Store the result of a fit, in place of any earlier one."""
        self._learned = learned
        self.n_features_in_ = learned.n_terms
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if isinstance(learned, FittedDCoT) and not learned.converged:
            warnings.warn(
                f"cg stopped after max_iter={self.max_iter} iterations short of tol={self.tol}: "
                "raise max_iter or noise, or use a direct solver",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    # -- using ------------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Return the features of the documents in the rows of X.

        Parameters
        ----------
        X : matrix of shape (n_documents, n_terms), or a source of batches, as in ``fit``

        Returns
        -------
        array of shape (n_documents, n_features)
            A CSR matrix if ``output="concat"`` and X is sparse.

        Raises
        ------
        ModelNotFittedError
            If the model is not fitted.
        InvalidInputError
            If X has other columns than in ``fit``, contains NaN or infinite values, or is a
            source without documents.
        InvalidTypeError
            If X is not numeric.
        OutOfMemoryError
            If the features are predicted not to fit in memory.

        Examples
        --------
        >>> model = DCoT(n_prototypes=2).fit([[1.0, 1, 0], [0, 1, 1], [1, 0, 1]])
        >>> model.transform([[1.0, 0, 0]]).shape
        (1, 4)
        """
        features = self._features(X)
        if sp.issparse(features):
            refuse_sparse_frame(self)
        return features

    def _features(self, X: Any) -> Any:
        """As ``transform``, but always an array, whatever ``set_output`` says."""
        fitted, source = self._fitted(), as_source(X)
        if source is None:
            X = self._read(X)
            _check_features_fit(fitted, X)
            return fitted.representation.transform(X)
        parts = [self._features(batch.documents) for batch in source.batches()]
        if not parts:
            raise InvalidInputError("the source has no documents: there is nothing to transform")
        sparse = sp.issparse(parts[0])
        return sp.vstack(parts, format="csr") if sparse else np.concatenate(parts)

    def transform_to(
        self,
        X: Any,
        path: str | Path,
        *,
        overwrite: bool = False,
        resume: bool | None = None,
        progress: Any = None,
    ) -> int:
        """Write the features of a large corpus to a file, batch by batch.

        After a crash, Ctrl-C or a full disk, the same call resumes where it stopped. A batch that
        cannot be used is an error, also in a source with ``on_error="skip"``, because each document
        has its row.

        Parameters
        ----------
        X : matrix of shape (n_documents, n_terms), or a source of such batches (see ``fit``)
        path : str or path
            A name that ends in ``.npy`` gives one array, which ``numpy.load(path, mmap_mode="r")``
            can map. Any other name gives a folder of parquet files with the columns ``document``
            (its position) and ``features``.
        overwrite : bool
            Replace a finished output. It is kept until the new one is complete.
        resume : bool or None
            Resume an unfinished output. By default, True unless ``overwrite`` is set.
        progress : callable or None
            Called as ``progress(message, fraction)``. By default, a progress bar is shown if
            ``verbose`` is set.

        Returns
        -------
        int
            The number of documents written.

        Raises
        ------
        ModelNotFittedError
            If the model is not fitted.
        InvalidParameterError
            If the output exists and ``overwrite`` is not set, was begun with another model, is in
            a folder that does not exist, or would be sparse (``output="concat"`` with sparse X).
        InvalidInputError
            If the documents cannot be used, or are not those of the output to resume.
        OutputError
            If the output cannot be written, such as when the disk is full.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> X = [[1.0, 1, 0], [0, 1, 1], [1, 0, 1]]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     DCoT(n_prototypes=2).fit(X).transform_to(X, pathlib.Path(folder) / "features.npy")
        3
        """
        fitted = self._fitted()
        return write_features(
            self._features,
            as_source(X) or Blocks([self._read(X)]),
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
        """A string that changes whenever the features would change."""
        return fingerprint(self._fitted())

    def reconstruct(self, X: Any, layer: int | None = None, subtract_bias: bool = False) -> Array:
        """Return the values that a layer reconstructs for the prototypes, before normalisation.

        Parameters
        ----------
        X : matrix of shape (n_documents, n_terms)
            The row of a single word shows what this word means.
        layer : int or None
            From 1 to ``n_layers``; by default the last.
        subtract_bias : bool
            Subtract the values of the empty document, which are the same for all documents.

        Returns
        -------
        array of shape (n_documents, n_prototypes)

        Raises
        ------
        ModelNotFittedError
            If the model is not fitted.
        InvalidParameterError
            If there is no such layer.
        InvalidInputError
            If X has other columns than in ``fit``.

        Examples
        --------
        >>> model = DCoT(n_prototypes=2).fit([[1.0, 1, 0], [0, 1, 1], [1, 0, 1]])
        >>> model.reconstruct([[1.0, 0, 0]], layer=1).shape
        (1, 2)
        """
        check_flag("subtract_bias", subtract_bias)
        layers = self._fitted().layers
        X = self._read(X)
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
        """Explain a word or a document by its prototypes and their values in every layer.

        The values are those of ``reconstruct``, before normalisation and compression, with the
        bias subtracted. The empty document, ``""``, shows the bias itself. Each value is the sum
        of the shares of the words. With ``squash="tanh"`` the shares use the slope of the line
        from the empty document to this one (``dcot.explain.tracing``).

        Parameters
        ----------
        document : str, list of str, or one row of a matrix
            Words are counted as often as they occur; a row is weighted as in ``fit``.
        k : int
            Maximum number of prototypes.
        names : list of str, optional
            Names of the columns, for a model that was fitted without names.

        Returns
        -------
        dcot.explain.Meaning
            It prints as text and has ``to_frame()``. Unknown words are skipped and listed. A
            document without any known word is the empty document.

        Raises
        ------
        ModelNotFittedError
            If the model is not fitted.
        UnknownTermError
            If the document is a single word that the model does not know. Similar spellings are
            suggested.
        InvalidInputError
            If there is more than one row, or ``names`` do not fit the model.

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
        fitted, known = self._fitted(), getattr(self, "feature_names_in_", None)
        return Reader.of_matrix(
            fitted.layers, fitted.prototypes, self._read, names=names, known=known
        )

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the features, such as ``dcot1_oil``: layer and prototype.

        Raises
        ------
        ModelNotFittedError
            If the model is not fitted.
        InvalidInputError
            If ``input_features`` are not the names of the columns, one for each.

        Examples
        --------
        >>> model = DCoT(n_prototypes=2).fit([[1.0, 1, 0], [0, 1, 1], [1, 0, 1]])
        >>> model.get_feature_names_out(["oil", "opec", "wheat"]).tolist()
        ['dcot1_oil', 'dcot1_opec', 'dcot2_oil', 'dcot2_opec']
        """
        fitted = self._fitted()
        try:
            terms = _check_feature_names_in(self, input_features)
        except (ValueError, TypeError) as error:
            raise InvalidInputError(
                f"{error}: pass the names of the {fitted.n_terms} columns, or None"
            ) from error
        return np.array(fitted.feature_names(terms), dtype=object)

    # -- what was learned -------------------------------------------------------------------

    @property
    def prototypes_(self) -> Array:
        """Column indices of the prototypes."""
        return self._fitted().prototypes

    @property
    def layers_(self) -> list[Layer]:
        """The fitted layers."""
        return list(self._fitted().layers)

    @property
    def components_(self) -> Array | None:
        """Directions of the truncated SVD, features × components, or None."""
        return self._fitted().representation.components

    @property
    def loss_(self) -> Array:
        """Expected reconstruction error of each layer."""
        return np.array([layer.loss_ for layer in self._fitted().layers])

    @property
    def solver_(self) -> str:
        """Solver of the first layer."""
        return self._fitted().layers[0].solver_

    @property
    def n_iter_(self) -> int:
        """Number of iterations of the solver; 1 for direct solvers."""
        return self._fitted().layers[0].n_iter_

    @property
    def n_documents_(self) -> float:
        """Number of documents in the fit, or their total weight."""
        return self._fitted().n_documents

    @property
    def plan_(self) -> Plan | None:
        """How the first layer was solved; None after ``partial_fit`` and after loading."""
        return self._fitted().plan

    @property
    def skipped_(self) -> dict[str, str]:
        """Batches of a source that were skipped, with the reasons."""
        return dict(self._fitted().skipped)

    @property
    def _n_features_out(self) -> int:
        return self._fitted().n_features

    @property
    def _moments(self) -> Moments | None:
        learned = getattr(self, "_learned", None)
        return learned.moments if isinstance(learned, FittedDCoT) else learned

    def _fitted(self) -> FittedDCoT:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        if isinstance(self._learned, Moments):
            names = getattr(self, "feature_names_in_", None)
            self._adopt(fit_moments(self._learned, self._fit_options().named(names)), names)
        assert isinstance(self._learned, FittedDCoT)
        return self._learned

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learned")

    def __copy__(self) -> Self:
        """A copy that ``partial_fit`` changes independently of this model."""
        made, learned = self._twin(), getattr(self, "_learned", None)
        if isinstance(learned, Moments):
            made._learned = learned.copy()
        return made

    def _twin(self) -> Self:
        """A second object with the same moments, of which only one may be used later."""
        return type(self).__new__(type(self))._become(self)

    def _become(self, other: DCoT) -> Self:
        """Take over the parameters and the fit of another model, which is not used later."""
        self.__dict__.update(other.__dict__)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        given = ["float64", "float32"] if self.dtype is None else []
        tags.transformer_tags.preserves_dtype = given
        return tags

    # -- saving -----------------------------------------------------------------------------

    def _contents(self, keep_moments: bool) -> Contents:
        contents = Contents(self._saved_as, {})
        names = getattr(self, "feature_names_in_", None)
        return replace(
            contents,
            settings=self._saved_settings(contents, keep_moments),
            vocabulary=None if names is None else [str(name) for name in names],
            facts=self._facts(names),
        )

    def _saved_settings(self, contents: Contents, keep_moments: bool) -> dict[str, Any]:
        """Put the arrays into ``contents`` and return the settings."""
        fitted = self._fitted()
        parameters = self.get_params(deep=False)
        if callable(parameters["prototypes"]) and not keep_moments:
            parameters["prototypes"] = fitted.prototypes.tolist()  # the choice of the function
        return {
            "parameters": encode_parameters(parameters, _SAVING_ADVICE),
            **add_fitted(contents, fitted, keep_moments),
            "container": output_container(self),
        }

    def _facts(self, names: Sequence[Any] | None) -> list[tuple[str, str]]:
        """Lines of the model card."""
        return fitted_facts(self._fitted(), self.noise, self.shrinkage, self.prototypes, names)

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        names = None
        if contents.vocabulary is not None:
            check_vocabulary(contents.vocabulary, count(contents.settings, "n_terms", 1))
            names = np.array(contents.vocabulary, dtype=object)
        return cls._from_settings(contents, contents.settings, names)

    @classmethod
    def _from_settings(
        cls, contents: Contents, settings: dict[str, Any], names: Array | None = None
    ) -> Self:
        """The model that ``_saved_settings`` describes."""
        model: Self = build(cls, settings)
        model._fit_options()  # raises an error if a parameter is out of range
        model._adopt(read_fitted(contents, settings), names)
        restore_container(model, settings)
        return model

    # -- documents --------------------------------------------------------------------------

    def _read_new(self, X: Any) -> tuple[Matrix, Array | None]:
        """Documents for a fit, and the names of their columns, if they have any."""
        # scikit-learn stores the columns on the estimator it gets; a copy, so that a fit that
        # fails leaves this model unchanged
        scratch = self._twin()
        X = _validated(scratch, X, reset=True)
        names = scratch.__dict__.get("feature_names_in_")
        return as_documents(X, precision(self.dtype, X.dtype)), names

    def _read(self, X: Any) -> Matrix:
        """Documents with the columns that the model knows."""
        X = _validated(self, X, reset=False)
        learned = self._learned
        if isinstance(learned, FittedDCoT):
            return as_documents(X, learned.dtype)
        return as_documents(X, precision(self.dtype, X.dtype))


def _validated(model: DCoT, X: Any, reset: bool) -> Any:
    """Validate a matrix; ``transform`` accepts no documents."""
    if isinstance(X, Source) or (callable(X) and not hasattr(X, "shape")):
        raise InvalidTypeError(
            "got a source of batches, expected a matrix: fit, transform and transform_to read "
            "sources; noise_path takes a list of blocks"
        )
    if isinstance(X, list | tuple) and not X:
        raise InvalidInputError("got an empty list, expected a matrix, documents × terms")
    return validated(model, X, reset, at_least=1 if reset else 0)


def validated(model: BaseEstimator, X: Any, reset: bool, at_least: int = 1) -> Any:
    """Validate documents with scikit-learn, and convert its errors to those of dcot."""
    check_given(X)
    kinds = ["csr", "csc", "coo"]
    try:
        found = validate_data(
            model, X, reset=reset, accept_sparse=kinds, ensure_min_samples=at_least
        )
        # scikit-learn leaves objects of some tables as they are
        return found.astype(np.float64) if found.dtype == object else found
    except ValueError as error:
        first, *others = str(error).splitlines()
        if "NaN" in first:  # scikit-learn then names estimators that are no help here
            first, others = first.rstrip(".") + ": replace missing values by 0", []
        raise InvalidInputError("\n".join([first, *others])) from error
    except TypeError as error:
        raise InvalidTypeError(str(error)) from error


def _check_moments_fit(n_terms: int, dtype: Any, limit: float | None) -> None:
    """Raise an error if the moments are predicted not to fit in memory."""
    needed, allowed = 2.0 * n_terms**2 * dtype.itemsize, allowance(limit)
    if needed > allowed:
        raise OutOfMemoryError(
            f"partial_fit keeps {n_terms} × {n_terms} moments, about {format_bytes(needed)} with "
            f"their solution, and {format_bytes(allowed)} are allowed: use fewer terms (a fixed "
            "vocabulary, or min_df and max_features with fit), or raise memory_limit"
        )


def _check_features_fit(fitted: FittedDCoT, X: Matrix) -> None:
    """Raise an error if the features are predicted not to fit in memory."""
    joined = fitted.representation.output in WITH_X and fitted.representation.components is None
    kept = fitted.n_terms if joined and sp.issparse(X) else 0  # x stays sparse
    needed = float(X.shape[0]) * (fitted.n_features - kept) * X.dtype.itemsize
    free = allowance(None)
    if needed > free:
        raise OutOfMemoryError(
            f"the features of {X.shape[0]} documents need about {format_bytes(needed)}, and "
            f"{format_bytes(free)} are free: transform in batches, or set n_components"
        )
