"""``transform_to``: features of a large corpus to a file, for every estimator that transforms."""

from __future__ import annotations

import hashlib
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from dcot.runtime.progress import Progress, progress_for
from dcot.stream import Source
from dcot.stream.writing import write_features


def write_transformed(
    model: Any,
    dcot: Any,
    source: Source,
    path: str | Path,
    overwrite: bool,
    resume: bool | None = None,
    progress: Progress | None = None,
) -> int:
    """Transform with ``model``, whose fitted DCoT is ``dcot``."""
    dcot._fitted()
    if progress is None:
        progress = progress_for(model.verbose)
    return write_features(
        plain(model).transform,
        source,
        path,
        width=dcot._n_features_out,
        dtype=dcot.layers_[0].coef_.dtype,
        model=fingerprint(model, dcot),
        names=model.get_feature_names_out().tolist(),
        overwrite=overwrite,
        resume=resume,
        progress=progress,
    )


def plain(model: Any) -> Any:
    """The model with arrays for its output, whatever ``set_output`` was told."""
    if getattr(model, "_sklearn_output_config", None):
        model = copy(model)
        model._sklearn_output_config = {}
    return model


def fingerprint(model: Any, dcot: Any) -> str:
    """Changes with anything that changes the features, and is the same in every process."""
    digest = hashlib.blake2b(digest_size=16)

    def add(*values: Any) -> None:
        for value in values:
            if isinstance(value, np.ndarray):
                digest.update(f"{value.dtype.str} {value.shape} ".encode())
                digest.update(np.ascontiguousarray(value).data)
            else:
                digest.update(f"{_settled(value)}\0".encode("utf-8", "surrogatepass"))

    made = dcot._fitted().representation
    add(made.output, made.normalize, made.components)
    for layer in made.layers:
        add(layer.squash, layer.coef_, layer.intercept_, layer.mean_)
    weighting = getattr(model, "weighting_", None)
    if weighting is not None:
        add(weighting.get_params(deep=False), weighting.idf_, float(weighting.mean_length_))
    counter = getattr(model, "counter_", None)
    if counter is not None:
        given = counter.get_params(deep=False)
        add({name: given[name] for name in given if name not in _LEARNING_ONLY})
        add("\0".join(counter.get_feature_names_out()))
    return digest.hexdigest()


# Settings of a TermCounter that do not matter once its vocabulary is known.
_LEARNING_ONLY = {
    "vocabulary", "min_df", "max_df", "max_features", "grow_vocabulary", "n_threads",
}  # fmt: skip


def _settled(value: Any) -> str:
    """A setting as text: no addresses of functions, no order of sets."""
    if isinstance(value, dict):
        return str(sorted((name, _settled(one)) for name, one in value.items()))
    if isinstance(value, set | frozenset):
        return str(sorted(map(str, value)))
    if isinstance(value, list | tuple):
        return str([_settled(one) for one in value])
    name = getattr(value, "__qualname__", None)
    return str(value) if name is None else f"{value.__module__}.{name}"
