"""Convert a ``FittedDCoT`` to arrays and JSON, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.core.fit import FittedDCoT
from dcot.core.layers import Layer
from dcot.core.moments import Moments
from dcot.core.options import MAX_LAYERS, NORMALIZATIONS
from dcot.core.representation import WITH_LSI, Representation
from dcot.errors import InvalidParameterError, ModelFormatError
from dcot.persistence.contents import DAMAGED, Contents, choice, count, setting

Array = NDArray[Any]

_SUMS = ("total", "squares", "document_frequency")


# -- to the folder ------------------------------------------------------------------------------


def add_fitted(contents: Contents, fitted: FittedDCoT, keep_moments: bool) -> dict[str, Any]:
    """Add the arrays to ``contents``, and return the settings that ``read_fitted`` needs."""
    made = fitted.representation
    contents.arrays["prototypes"] = np.asarray(fitted.prototypes, dtype=np.int64)
    contents.arrays["loss"] = np.array([layer.loss_ for layer in fitted.layers], dtype=np.float64)
    for number, layer in enumerate(fitted.layers, start=1):
        contents.weights[f"layer{number}.coef"] = layer.coef_
        contents.arrays[f"layer{number}.intercept"] = np.asarray(layer.intercept_)
        if layer.mean_ is not None:
            contents.arrays[f"layer{number}.mean"] = np.asarray(layer.mean_)
    if made.components is not None:
        contents.weights["components"] = made.components
    if made.directions is not None:
        contents.weights["directions"] = made.directions
    return {
        "n_terms": int(fitted.n_terms),
        "n_prototypes": len(fitted.prototypes),
        "n_documents": float(fitted.n_documents),
        "output": made.output,
        "normalize": made.normalize,
        "n_components": None if made.components is None else int(made.components.shape[1]),
        "lsi_weight": float(made.lsi_weight),
        "n_directions": None if made.directions is None else int(made.directions.shape[1]),
        "layers": [
            {
                "squash": layer.squash,
                "solver": layer.solver_,
                "n_iter": int(layer.n_iter_),
                "converged": bool(layer.converged_),
                "mean": layer.mean_ is not None,
                "spread": float(layer.spread_),
            }
            for layer in fitted.layers
        ],
        "moments": _add_moments(contents, fitted.moments) if keep_moments else None,
    }


def _add_moments(contents: Contents, moments: Moments | None) -> dict[str, Any]:
    if moments is None or moments.scatter is None:
        raise InvalidParameterError(
            "keep_moments=True needs a model learned by partial_fit: fit keeps no moments; learn "
            "with partial_fit, or save with keep_moments=False"
        )
    for name in _SUMS:
        contents.arrays[f"moments.{name}"] = np.asarray(getattr(moments, name), dtype=np.float64)
    contents.arrays["moments.scatter"] = packed_lower(moments.scatter)
    return {"n": float(moments.n)}


def packed_lower(matrix: Array) -> Array:
    """Return the rows of the lower triangle in one array, without the upper triangle.

    >>> packed_lower(np.array([[1, 0], [2, 3]])).tolist()
    [1, 2, 3]
    """
    return np.asarray(matrix[np.tri(len(matrix), dtype=bool)])


def unpacked_lower(packed: Array, d: int) -> Array:
    """Return a square matrix with this lower triangle."""
    matrix = np.zeros((d, d), dtype=packed.dtype)
    matrix[np.tri(d, dtype=bool)] = packed
    return matrix


def fitted_facts(
    fitted: FittedDCoT, noise: Any, shrinkage: Any, prototypes: Any, names: Sequence[Any] | None
) -> list[tuple[str, str]]:
    """Return the lines of the model card; ``names`` are the names of the terms, if known."""
    layers, chosen = fitted.layers, fitted.prototypes
    how = prototypes.replace("_", " ") if isinstance(prototypes, str) else "given"
    compressed = " (compressed)" if fitted.representation.components is not None else ""
    facts = [
        ("documents learned from", f"{fitted.n_documents:,.10g}"),
        ("terms", f"{fitted.n_terms:,}"),
        ("prototypes", f"{len(chosen):,} ({how})"),
        ("layers", f"{len(layers)}, {layers[0].squash}, solved by {layers[0].solver_}"),
        ("noise, shrinkage", f"{_plain(noise)}, {_plain(shrinkage)}"),
        ("features", f"{fitted.n_features:,}{compressed}"),
        ("reconstruction error per layer", ", ".join(f"{layer.loss_:.4g}" for layer in layers)),
        ("computed in", str(fitted.dtype)),
    ]
    if names is not None:
        shown = [f"{names[column]}" for column in chosen[:12]]
        more = ", …" if len(chosen) > len(shown) else ""
        facts.append(("some prototypes", ", ".join(shown) + more))
    return facts


def _plain(value: Any) -> str:
    if np.ndim(value):
        return " / ".join(f"{entry:g}" for entry in value)
    return f"{value:g}"


# -- from the folder ----------------------------------------------------------------------------


def read_fitted(contents: Contents, settings: dict[str, Any]) -> FittedDCoT:
    """Return the fitted model; raise ``ModelFormatError`` if the contents are inconsistent."""
    d, r = count(settings, "n_terms", 1), count(settings, "n_prototypes", 1)
    prototypes = read_prototypes(contents, d, r)
    layers = read_layers(contents, settings, d, r)
    output = choice(settings, "output", ("layers", "concat", "last", "lsi", "all"))
    normalize = choice(settings, "normalize", NORMALIZATIONS)
    directions, weight = None, 1.0
    if output in WITH_LSI:
        directions = contents.array("directions", (d, count(settings, "n_directions")))
        directions = directions.astype(layers[0].coef_.dtype, copy=False)
        weight = setting(settings, "lsi_weight", float)
        if not 0 < weight < 1e6:
            raise ModelFormatError(f"the weight of LSI is {weight}{DAMAGED}")
    made = Representation(layers, output, normalize, directions=directions, lsi_weight=weight)
    if settings.get("n_components") is not None:
        shape = (made.input_width + made.width, count(settings, "n_components", 1))
        made = replace(made, components=contents.array("components", shape))
    n_documents = setting(settings, "n_documents", float)
    moments = _moments(contents, settings, d)
    return FittedDCoT(made, prototypes, n_documents, d, moments=moments)


def read_prototypes(contents: Contents, d: int, r: int) -> Array:
    """Return the columns of the prototypes, in increasing order."""
    found = contents.array("prototypes", (r,), "i").astype(np.int64)
    # neighbours are compared, because differences of large integers wrap around
    if found[0] < 0 or found[-1] >= d or (found[1:] <= found[:-1]).any():
        raise ModelFormatError(f"the prototypes are not increasing columns of {d} terms{DAMAGED}")
    return found.astype(np.intp)


def read_layers(contents: Contents, settings: dict[str, Any], d: int, r: int) -> list[Layer]:
    described = setting(settings, "layers", list)
    if not 1 <= len(described) <= MAX_LAYERS:
        raise ModelFormatError(f"there are {len(described)} layers{DAMAGED}")
    losses = contents.array("loss", (len(described),))
    layers: list[Layer] = []
    for number, entry in enumerate(described, start=1):
        if not isinstance(entry, dict):
            raise ModelFormatError(f"layer {number} is not described{DAMAGED}")
        coef = contents.array(f"layer{number}.coef", (d if number == 1 else r, r))
        if layers and coef.dtype != layers[0].coef_.dtype:
            raise ModelFormatError(f"the layers are of different precision{DAMAGED}")
        intercept = contents.array(f"layer{number}.intercept", (r,))
        mean = contents.array(f"layer{number}.mean", (r,)) if entry.get("mean") else None
        layers.append(
            Layer(
                coef,
                intercept.astype(coef.dtype, copy=False),
                choice(entry, "squash", ("identity", "tanh")),
                float(losses[number - 1]),
                setting(entry, "solver", str),
                count(entry, "n_iter"),
                setting(entry, "converged", bool),
                mean,
                setting(entry, "spread", float),
            )
        )
    return layers


def _moments(contents: Contents, settings: dict[str, Any], d: int) -> Moments | None:
    if settings.get("moments") is None:
        return None
    n = setting(setting(settings, "moments", dict), "n", float)
    total, squares, frequency = (contents.array(f"moments.{name}", (d,)) for name in _SUMS)
    if not n > 0 or min(squares.min(), frequency.min()) < 0:
        raise ModelFormatError(f"the moments have negative sums of squares or counts{DAMAGED}")
    packed = contents.array("moments.scatter", (d * (d + 1) // 2,))
    return Moments(n, total.copy(), squares.copy(), frequency.copy(), unpacked_lower(packed, d))


def check_vocabulary(vocabulary: list[str], n_terms: int) -> None:
    """Check that there is one term for each column, and none twice."""
    if len(vocabulary) != n_terms or len(set(vocabulary)) != n_terms:
        raise ModelFormatError(
            f"the vocabulary has {len(vocabulary):,} terms, {len(set(vocabulary)):,} of them "
            f"different, which does not fit arrays for {n_terms:,} terms{DAMAGED}"
        )
