"""``transform_to``: features of a large corpus to a file, for every estimator that transforms."""

from __future__ import annotations

import hashlib
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from dcot._progress import Progress, progress_for
from dcot.sources import Source
from dcot.streaming.writing import write_features


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
    """Changes with anything that changes the features."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(f"{dcot.output} {dcot.normalize}".encode())
    for layer in dcot.layers_:
        for array in (layer.coef_, layer.intercept_):
            digest.update(np.ascontiguousarray(array).data)
    if dcot.components_ is not None:
        digest.update(np.ascontiguousarray(dcot.components_).data)
    weighting = getattr(model, "weighting_", None)
    if weighting is not None:
        digest.update(np.ascontiguousarray(weighting.idf_).data)
    return digest.hexdigest()
