"""How ``DCoT`` learns: at once, along a path of noise levels, or in pieces."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from dcot._dcot_input import read_documents, settings_of
from dcot.core.centred import Matrix
from dcot.core.checks import check_not_empty, check_room, check_weights
from dcot.core.layers import Layer, Settings, fit_stack_from_moments, fit_stacks
from dcot.core.moments import Moments
from dcot.core.prototypes import choose_prototypes
from dcot.core.representation import Representation
from dcot.errors import InvalidParameterError, NotAvailableError
from dcot.runtime.resources import parse_bytes

Array = NDArray[Any]


def learn(model: Any, X: Any, sample_weight: Any) -> None:
    """From all documents at once."""
    X, weights, settings = _prepare(model, X, sample_weight)
    moments = _moments_of(X, weights)
    prototypes = choose(model, moments)
    layers = next(fit_stacks(X, weights, moments, prototypes, [settings]))
    adopt(model, layers, prototypes, X, weights)


def learn_path(model: Any, X: Any, noises: Sequence[Any], sample_weight: Any) -> list[Any]:
    """A model for each noise level; the first layers share what they can."""
    models = [clone(model).set_params(noise=noise) for noise in noises]
    if not models:
        raise InvalidParameterError("noises is empty: give at least one noise level")
    first = models[0]
    X, weights, _ = _prepare(first, X, sample_weight)
    variants = [settings_of(other) for other in models]
    moments = _moments_of(X, weights)
    prototypes = choose(first, moments)
    stacks = fit_stacks(X, weights, moments, prototypes, variants)
    for other, layers in zip(models, stacks, strict=True):
        other.n_features_in_ = first.n_features_in_
        if hasattr(first, "feature_names_in_"):
            other.feature_names_in_ = first.feature_names_in_
        adopt(other, layers, prototypes, X, weights)
    return models


# -- in pieces ----------------------------------------------------------------------------------


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


def add_documents(model: Any, X: Any, sample_weight: Any) -> None:
    """Add to the moments; what was solved before is no longer true."""
    first = getattr(model, "_moments", None) is None
    if first and model.__sklearn_is_fitted__():
        warnings.warn(
            "fit keeps no moments to add to: partial_fit starts a new model, without the "
            "documents that fit saw; learn from the start with partial_fit",
            stacklevel=3,
        )
    X, weights, settings = _prepare(model, X, sample_weight, reset=first)
    if first:
        check_room(X.shape[1], X.dtype, settings.memory_limit)
        model._moments = Moments.empty(X.shape[1], X.dtype)
    model._moments.add(X, weights)
    model._representation = None


def add_terms(model: Any, n_terms: int) -> None:
    """Make room in the moments."""
    moments = getattr(model, "_moments", None)
    if moments is not None and n_terms > moments.n_terms:
        check_room(n_terms, moments.scatter.dtype, parse_bytes(model.memory_limit))
        model._moments = moments.widened(n_terms)
        model.n_features_in_ = n_terms
        model._representation = None


def solve_moments(model: Any) -> None:
    """From the moments to the model."""
    moments = model._moments
    check_not_empty(moments)
    prototypes = choose(model, moments)
    layers = fit_stack_from_moments(moments, prototypes, settings_of(model))
    adopt(model, layers, prototypes, moments=moments)


# -- common to all ------------------------------------------------------------------------------


def _prepare(
    model: Any, X: Any, sample_weight: Any, reset: bool = True
) -> tuple[Matrix, Array | None, Settings]:
    settings = settings_of(model)
    X = read_documents(model, X, reset=reset)
    weights = check_weights(sample_weight, X.shape[0])
    if weights is not None and not weights.all():
        X, weights = X[weights > 0], weights[weights > 0]
    return X, weights, settings


def _moments_of(X: Matrix, weights: Array | None) -> Moments:
    moments = Moments.of(X, weights)
    check_not_empty(moments)
    return moments


def choose(model: Any, moments: Moments) -> Array:
    names = getattr(model, "feature_names_in_", None)
    return choose_prototypes(model.prototypes, model.n_prototypes, moments, names)


def adopt(
    model: Any,
    layers: list[Layer],
    prototypes: Array,
    X: Matrix | None = None,
    weights: Array | None = None,
    moments: Moments | None = None,
) -> None:
    """Make what was learned the model's."""
    model._moments = moments
    model._prototypes = prototypes
    if moments is not None:
        model.n_documents_ = float(moments.n)
    elif X is not None:
        model.n_documents_ = float(X.shape[0] if weights is None else weights.sum())
    representation = Representation(layers, model.output, model.normalize)
    if model.n_components is not None and X is not None:
        rank, seed = model.n_components, model.random_state
        representation = representation.compressed(X, weights, rank, seed)
    model._representation = representation
    if not all(layer.converged_ for layer in layers):
        warnings.warn(
            f"cg stopped after max_iter={model.max_iter} iterations short of tol={model.tol}: "
            "raise max_iter or noise, or use a direct solver",
            ConvergenceWarning,
            stacklevel=4,
        )
