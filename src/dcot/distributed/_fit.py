"""``fit`` on a cluster: partial sums where the documents are, the solver where the caller is."""

from __future__ import annotations

from typing import Any, TypeVar

from dcot.distributed._cluster import connected
from dcot.distributed._partitions import partitions_of
from dcot.distributed._passes import DaskPasses
from dcot.distributed._running import Options
from dcot.errors import InvalidParameterError, InvalidTypeError
from dcot.estimator import DCoT
from dcot.stream.fitting import fit_matrices
from dcot.vectorizer import DCoTVectorizer

Model = TypeVar("Model", DCoT, DCoTVectorizer)


def fit(
    model: Model,
    collection: Any,
    *,
    cluster: Any = None,
    column: str | None = None,
    on_error: str = "raise",
    retries: int = 3,
    timeout: float | None = None,
) -> Model:
    """Fit a model to a Dask collection: the model of ``model.fit`` on all of it, to rounding.

    Parameters
    ----------
    model : DCoT or DCoTVectorizer
    collection : a bag, series or dataframe of texts for ``DCoTVectorizer``; an array of documents ×
        terms (of sparse blocks, as a rule), one chunk wide, for ``DCoT``; or a list of
        ``dask.delayed`` texts or matrices for either; or ``read_texts(...)``, files that every
        worker can open, one or several a partition
    cluster : where to work: an address, a client, ``"threads"``, ``"processes"``; None for the
        client in use, or else a cluster of local processes
    column : of a dataframe, that holds the texts
    on_error : {"raise", "skip"}
        What to do with a partition that cannot be used: an error that names it, or go on without
        it; ``model.skipped_`` has the names and reasons.
    retries : how often a partition is tried again before it counts as one that cannot be used
    timeout : seconds that a pass may take; None waits as long as the cluster works

    Returns
    -------
    the model, fitted
    """
    if not isinstance(model, DCoT | DCoTVectorizer):
        raise InvalidTypeError(f"got a {type(model).__name__}, expected a DCoT or a DCoTVectorizer")
    if on_error not in ("raise", "skip"):
        raise InvalidParameterError(f"on_error must be 'raise' or 'skip', got {on_error!r}")
    partitions = partitions_of(collection, column, apart=on_error == "skip")
    with connected(cluster) as client:
        cluster_options = Options(client, retries, on_error, timeout)
        if isinstance(model, DCoTVectorizer):
            _, dcot = model.new_parts()
            passes = DaskPasses(partitions, cluster_options, dcot._options().progress)
            model.fit_passes(passes, sparse_parts=True)
        else:
            options = model._options()
            passes = DaskPasses(partitions, cluster_options, options.progress)
            found = fit_matrices(passes, None, options, model.dtype, sparse_parts=True)
            model._store(found, None)
    return model
