"""What a fitted ``DCoT`` is in a model folder, and back."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dcot._saving import Saveable, build, encode_parameters
from dcot.core.fit import FittedDCoT
from dcot.core.layers import Layer
from dcot.core.moments import Moments
from dcot.core.representation import Representation
from dcot.errors import InvalidParameterError, ModelFormatError
from dcot.persistence import Contents
from dcot.persistence.contents import DAMAGED, choice, count, setting

Array = NDArray[Any]

_SUMS = ("total", "squares", "document_frequency")
_MOST_LAYERS = 100

_ADVICE = {
    "random_state": "the fitted model no longer needs it: set_params(random_state=0), or None, "
    "before saving",
    "prototypes": "partial_fit would call it again after loading: "
    "set_params(prototypes=model.prototypes_.tolist()) to stay with its choice",
}


class SaveableDCoT(Saveable):
    """Saving and loading of ``DCoT``."""

    def _contents(self, keep_moments: bool) -> Contents:
        contents = state_of(self, keep_moments)
        names = getattr(self, "feature_names_in_", None)
        contents.vocabulary = None if names is None else [str(name) for name in names]
        contents.facts = facts_of(self, names)
        return contents

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        model: Self = build(cls, contents.settings)
        names = None
        if contents.vocabulary is not None:
            check_vocabulary(contents.vocabulary, count(contents.settings, "n_terms", 1))
            names = np.array(contents.vocabulary, dtype=object)
        restore(model, contents, contents.settings, names)
        return model


# -- to the folder ------------------------------------------------------------------------------


def state_of(model: Any, keep_moments: bool) -> Contents:
    """Settings, arrays and weights of a fitted DCoT."""
    fitted: FittedDCoT = model._fitted()
    representation = fitted.representation
    layers = representation.layers
    settings = {
        "parameters": encode_parameters(_parameters(model, keep_moments), _ADVICE),
        "n_terms": int(model.n_features_in_),
        "n_prototypes": len(model.prototypes_),
        "n_documents": float(fitted.n_documents),
        "output": representation.output,
        "normalize": representation.normalize,
        "n_components": _width(representation.components),
        "layers": [layer_settings(layer) for layer in layers],
        "moments": None,
        "container": getattr(model, "_sklearn_output_config", {}).get("transform"),
    }
    contents = Contents(model._saved_as, settings)
    contents.arrays["prototypes"] = np.asarray(model.prototypes_, dtype=np.int64)
    contents.arrays["loss"] = np.array([layer.loss_ for layer in layers], dtype=np.float64)
    for number, layer in enumerate(layers, start=1):
        contents.weights[f"layer{number}.coef"] = layer.coef_
        contents.arrays[f"layer{number}.intercept"] = np.asarray(layer.intercept_)
        if layer.mean_ is not None:
            contents.arrays[f"layer{number}.mean"] = np.asarray(layer.mean_)
    if representation.components is not None:
        contents.weights["components"] = representation.components
    if keep_moments:
        _add_moments(contents, model)
    return contents


def _parameters(model: Any, keep_moments: bool) -> dict[str, Any]:
    """Constructor parameters; a function that chose the prototypes is replaced by its choice."""
    parameters: dict[str, Any] = model.get_params(deep=False)
    if callable(parameters["prototypes"]) and not keep_moments:
        parameters["prototypes"] = model.prototypes_.tolist()
    return parameters


def layer_settings(layer: Layer) -> dict[str, Any]:
    return {
        "squash": layer.squash,
        "solver": layer.solver_,
        "n_iter": int(layer.n_iter_),
        "converged": bool(layer.converged_),
        "mean": layer.mean_ is not None,
    }


def _width(components: Array | None) -> int | None:
    return None if components is None else int(components.shape[1])


def _add_moments(contents: Contents, model: Any) -> None:
    moments: Moments | None = model._moments
    if moments is None or moments.scatter is None:
        raise InvalidParameterError(
            "keep_moments=True needs a model learned by partial_fit: fit keeps no moments; learn "
            "with partial_fit, or save with keep_moments=False"
        )
    contents.settings["moments"] = {"n": float(moments.n)}
    for name in _SUMS:
        contents.arrays[f"moments.{name}"] = np.asarray(getattr(moments, name), dtype=np.float64)
    contents.arrays["moments.scatter"] = packed_lower(moments.scatter)


def packed_lower(matrix: Array) -> Array:
    """The rows of a lower triangle end to end: the upper one means nothing, and is half the space.

    >>> packed_lower(np.array([[1, 0], [2, 3]])).tolist()
    [1, 2, 3]
    """
    d = len(matrix)
    packed = np.empty(d * (d + 1) // 2, dtype=matrix.dtype)
    for i in range(d):
        start = i * (i + 1) // 2
        packed[start : start + i + 1] = matrix[i, : i + 1]
    return packed


def unpacked_lower(packed: Array, d: int) -> Array:
    """A square matrix with the lower triangle given."""
    matrix = np.zeros((d, d), dtype=packed.dtype)
    for i in range(d):
        start = i * (i + 1) // 2
        matrix[i, : i + 1] = packed[start : start + i + 1]
    return matrix


def facts_of(model: Any, names: Any = None) -> list[tuple[str, str]]:
    """The lines of the model card."""
    layers = model.layers_
    how = model.prototypes if isinstance(model.prototypes, str) else "given"
    compressed = model.components_ is not None
    facts = [
        ("documents learned from", f"{model.n_documents_:,.10g}"),
        ("terms", f"{model.n_features_in_:,}"),
        ("prototypes", f"{len(model.prototypes_):,} ({how.replace('_', ' ')})"),
        ("layers", f"{len(layers)}, {layers[0].squash}, solved by {layers[0].solver_}"),
        ("noise, shrinkage", f"{_plain(model.noise)}, {_plain(model.shrinkage)}"),
        ("features", f"{model._n_features_out:,}" + (" (compressed)" if compressed else "")),
        ("rebuilding error by layer", ", ".join(f"{layer.loss_:.4g}" for layer in layers)),
        ("computed in", str(layers[0].coef_.dtype)),
    ]
    if names is not None:
        shown = [f"{names[column]}" for column in model.prototypes_[:12]]
        more = ", …" if len(model.prototypes_) > len(shown) else ""
        facts.append(("some prototypes", ", ".join(shown) + more))
    return facts


def _plain(value: Any) -> str:
    if np.ndim(value):
        return " / ".join(f"{entry:g}" for entry in value)
    return f"{value:g}"


# -- from the folder ----------------------------------------------------------------------------


def restore(
    model: Any, contents: Contents, settings: dict[str, Any], names: Array | None = None
) -> None:
    """Make a DCoT that was just constructed the fitted one."""
    d, r = count(settings, "n_terms", 1), count(settings, "n_prototypes", 1)
    prototypes = check_prototypes(contents, d, r)
    layers = restore_layers(contents, settings, d, r)
    model._options()  # refuses parameters outside their range
    representation = Representation(
        layers,
        choice(settings, "output", ("layers", "concat", "last")),
        choice(settings, "normalize", ("unit", "center", None)),
    )
    if settings.get("n_components") is not None:
        rows = representation.width + (d if representation.output == "concat" else 0)
        shape = (rows, count(settings, "n_components", 1))
        components = contents.array("components", shape)
        representation = Representation(
            layers, representation.output, representation.normalize, components
        )
    n_documents = setting(settings, "n_documents", float)
    moments = _moments(contents, settings, d)
    found = FittedDCoT(representation, prototypes, n_documents, d, moments=moments)
    model._store(found, names)
    restore_container(model, settings)


def check_prototypes(contents: Contents, d: int, r: int) -> Array:
    """Columns of the prototypes, increasing."""
    prototypes = contents.array("prototypes", (r,), "i")
    if prototypes[0] < 0 or prototypes[-1] >= d or (np.diff(prototypes) <= 0).any():
        raise ModelFormatError(f"the prototypes are not increasing columns of {d} terms{DAMAGED}")
    return prototypes.astype(np.intp)


def restore_container(model: Any, settings: dict[str, Any]) -> None:
    """What ``set_output`` was told, if anything."""
    container = choice(settings, "container", (None, "default", "pandas", "polars"))
    if container is not None:
        model.set_output(transform=container)


def restore_layers(contents: Contents, settings: dict[str, Any], d: int, r: int) -> list[Layer]:
    described = setting(settings, "layers", list)
    if not 1 <= len(described) <= _MOST_LAYERS:
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
            )
        )
    return layers


def _moments(contents: Contents, settings: dict[str, Any], d: int) -> Moments | None:
    if settings.get("moments") is None:
        return None
    n = setting(setting(settings, "moments", dict), "n", float)
    total, squares, frequency = (contents.array(f"moments.{name}", (d,)) for name in _SUMS)
    packed = contents.array("moments.scatter", (d * (d + 1) // 2,))
    return Moments(n, total.copy(), squares.copy(), frequency.copy(), unpacked_lower(packed, d))


def check_vocabulary(vocabulary: list[str], n_terms: int) -> None:
    """One term for each column, none twice."""
    if len(vocabulary) != n_terms or len(set(vocabulary)) != n_terms:
        raise ModelFormatError(
            f"the vocabulary has {len(vocabulary):,} terms, {len(set(vocabulary)):,} of them "
            f"different, which does not fit arrays for {n_terms:,} terms{DAMAGED}"
        )
