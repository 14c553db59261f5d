"""What ``DCoT`` is given, checked: its parameters and its documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from dcot.core.centred import Matrix
from dcot.core.checks import by_layer, canonical, check_choice, check_integer, check_number
from dcot.core.layers import Settings
from dcot.core.solvers import SOLVERS
from dcot.core.solvers.choice import allowance
from dcot.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    OutOfMemoryError,
)
from dcot.runtime.progress import progress_for
from dcot.runtime.resources import format_bytes, parse_bytes
from dcot.stream import Source

MAX_LAYERS = 100


def settings_of(model: Any) -> Settings:
    """The parameters, checked."""
    check_integer("n_prototypes", model.n_prototypes)
    check_integer("n_layers", model.n_layers, MAX_LAYERS)
    check_integer("max_iter", model.max_iter)
    if model.n_components is not None:
        check_integer("n_components", model.n_components)
    check_choice("squash", model.squash, ("identity", "tanh"))
    check_choice("output", model.output, ("layers", "concat", "last"))
    check_choice("normalize", model.normalize, ("unit", "center", None))
    check_choice("solver", model.solver, ("auto", *SOLVERS))
    check_number("tol", model.tol, positive=True)
    check_number("ridge", model.ridge)
    noise = by_layer("noise", model.noise, model.n_layers)
    for value in noise:
        if not 0 <= value < 1:
            end = "with every term removed there is nothing to learn from"
            hint = f": {end}" if value == 1 else ""
            raise InvalidParameterError(f"noise must be in [0, 1), got {value}{hint}")
    shrinkage = by_layer("shrinkage", model.shrinkage, model.n_layers)
    for value in shrinkage:
        check_number("shrinkage", value)
    return Settings(
        noise=noise,
        shrinkage=shrinkage,
        ridge=float(model.ridge),
        squash=model.squash,
        means=model.normalize is not None,
        solver=model.solver,
        tol=float(model.tol),
        max_iter=int(model.max_iter),
        memory_limit=parse_bytes(model.memory_limit),
        progress=progress_for(model.verbose),
    )


def read_documents(model: Any, X: Any, reset: bool) -> Matrix:
    """X as CSR or a C-contiguous array of the dtype to compute in; no copy without need."""
    if isinstance(X, Source) or (callable(X) and not hasattr(X, "shape")):
        raise InvalidTypeError(
            "got a source of batches, expected a matrix: fit and transform_to read sources"
        )
    try:
        X = validate_data(
            model, X, reset=reset, accept_sparse=["csr", "csc", "coo"], dtype="numeric"
        )
    except ValueError as error:
        raise InvalidInputError(str(error)) from error
    except TypeError as error:
        raise InvalidTypeError(str(error)) from error
    dtype = dtype_for(model, X, reset)
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


def dtype_for(model: Any, X: Matrix, reset: bool) -> Any:
    if not reset and getattr(model, "_representation", None) is not None:
        return model.layers_[0].coef_.dtype
    if model.dtype is None:
        return np.dtype(np.float64 if X.dtype == np.float64 else np.float32)
    try:
        dtype = np.dtype(model.dtype)
    except TypeError:
        dtype = np.dtype(object)
    if dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InvalidParameterError(
            f"dtype must be 'float32', 'float64' or None, got {model.dtype!r}"
        )
    return dtype


def check_features(model: Any, X: Matrix) -> None:
    """Refuse features that are predicted not to fit."""
    kept = model.n_features_in_ if model.output == "concat" and sp.issparse(X) else 0
    width = model._n_features_out - kept  # x stays sparse
    needed, free = float(X.shape[0]) * width * X.dtype.itemsize, allowance(None)
    if needed > free:
        raise OutOfMemoryError(
            f"the features of {X.shape[0]} documents need about {format_bytes(needed)}, and "
            f"{format_bytes(free)} are free: transform in batches, or set n_components"
        )
