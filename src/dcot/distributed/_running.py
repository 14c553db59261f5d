"""Tasks on a cluster or on threads and processes: what they share, their results, their errors."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dcot.distributed._leaves import size_of
from dcot.errors import ClusterError, InvalidParameterError
from dcot.runtime.extras import require
from dcot.runtime.resources import n_cores

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
    options = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "threads_per_worker": 1}
    with (
        distributed.LocalCluster(n_workers=n_cores(), processes=True, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


# What is larger than this does not travel with the graph, but once to each worker.
_EMBEDDED_BYTES = 1_000_000


@dataclass
class Options:
    """How partitions are worked on."""

    client: Any  # a distributed.Client, or the name of a scheduler
    retries: int = 3
    on_error: str = "raise"
    timeout: float | None = None


class LostError(ClusterError):
    """Data that was sent to workers is gone with them."""


# -- things that tasks share --------------------------------------------------------------------


class Shared:
    """Something that many tasks use: opaque to Dask, sent once."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __sizeof__(self) -> int:
        return size_of(self.value)


def shared(value: Any, client: Any) -> Any:
    """One node of the graph for all tasks; large ones go straight to the workers."""
    from dask import delayed

    opaque = Shared(value)
    if not isinstance(client, str) and client is not None:
        size = len(pickle.dumps(opaque, protocol=5, buffer_callback=None))
        if size > _EMBEDDED_BYTES:
            return _scattered(client, opaque)
    return delayed(opaque, traverse=False, pure=False)


def _scattered(client: Any, value: Any) -> Any:
    from distributed import TimeoutError as Late

    try:
        return client.scatter(value, broadcast=True, hash=False)
    except (Late, TimeoutError, OSError) as error:
        raise LostError(
            f"the workers cannot be reached ({error or type(error).__name__}): are there any, and "
            "do they answer?"
        ) from error


# -- running ------------------------------------------------------------------------------------


def compute(tasks: list[Any], options: Options) -> list[Any]:
    """Results of tasks, one after the other: large ones are never here twice."""
    import dask

    client = options.client
    if isinstance(client, str):
        return list(dask.compute(*tasks, scheduler=client, optimize_graph=False))
    return _on_cluster(tasks, options)


def _on_cluster(tasks: list[Any], options: Options) -> list[Any]:
    from concurrent.futures import CancelledError

    from distributed import TimeoutError as Late
    from distributed import wait
    from distributed.scheduler import KilledWorker

    client = options.client
    futures = client.compute(tasks, optimize_graph=False)
    try:
        with client.as_current():
            wait(futures, timeout=options.timeout)
        results = []
        while futures:
            results.append(futures.pop(0).result(timeout=options.timeout))
        return results
    except KilledWorker as error:
        raise ClusterError(
            f"a task took several workers down with it ({error}): they probably ran out of memory; "
            "use smaller partitions, or workers with more memory"
        ) from error
    except (Late, TimeoutError) as error:
        limit = "" if options.timeout is None else f" within timeout={options.timeout:g} s"
        raise ClusterError(
            f"the cluster gave no result{limit}: are there workers, and do they answer? Raise "
            "timeout if the work takes longer"
        ) from error
    except CancelledError as error:
        raise LostError(
            f"workers were lost with what they had been sent ({error}): see their logs; they may "
            "have too little memory"
        ) from error
    finally:
        client.cancel(futures)
