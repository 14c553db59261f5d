"""Where the work is done: a cluster by its address, the one in use, a local one, or threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dcot.errors import ClusterError, InvalidParameterError
from dcot.runtime.extras import require

LOCAL = ("threads", "processes", "synchronous")


@contextmanager
def connected(cluster: Any = None, *, timeout: float = 30.0) -> Iterator[Any]:
    """A Dask client, or the name of a scheduler in this machine.

    Parameters
    ----------
    cluster : None, an address such as ``"tcp://10.0.0.1:8786"``, a ``distributed.Client``, a
        cluster object, or ``"threads"``, ``"processes"``, ``"synchronous"``
        None takes the client that is in use, or starts a local cluster, one process a core, and
        closes it at the end.
    timeout : seconds to wait for a scheduler, and for its first worker
    """
    distributed = require("distributed", "dask")
    if isinstance(cluster, str) and cluster in LOCAL:
        yield cluster
        return
    if isinstance(cluster, distributed.Client):
        _check_workers(distributed, cluster, timeout)
        yield cluster
        return
    if cluster is None:
        in_use = _in_use(distributed)
        if in_use is not None:
            _check_workers(distributed, in_use, timeout)
            yield in_use
            return
        with _local(distributed) as client:
            yield client
        return
    if not isinstance(cluster, str) and not hasattr(cluster, "scheduler_address"):
        raise InvalidParameterError(
            f"cluster must be an address, a client, a cluster, one of {', '.join(LOCAL)} or None, "
            f"got {cluster!r}"
        )
    try:
        client = distributed.Client(cluster, timeout=timeout, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ClusterError(
            f"no Dask scheduler answers at {cluster} within {timeout:g} s ({error}): check the "
            "address and that it runs, or leave it out to use this machine"
        ) from error
    try:
        _check_workers(distributed, client, timeout)
        yield client
    finally:
        client.close()


def _check_workers(distributed: Any, client: Any, timeout: float) -> None:
    """Work that nobody takes would be waited for without end."""
    try:
        client.wait_for_workers(1, timeout=timeout)
    except (TimeoutError, distributed.TimeoutError) as error:
        raise ClusterError(
            f"the Dask scheduler at {client.scheduler.address} has no workers after {timeout:g} s: "
            "start some, as in dask worker ADDRESS"
        ) from error


def _in_use(distributed: Any) -> Any:
    try:
        return distributed.get_client()
    except ValueError:
        return None


@contextmanager
def _local(distributed: Any) -> Iterator[Any]:
    """A cluster of processes on this machine, reachable from nowhere else."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    options = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "threads_per_worker": 1}
    with (
        distributed.LocalCluster(n_workers=cores or 1, processes=True, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client
