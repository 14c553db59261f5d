"""Run tasks on a cluster, threads or processes: shared data, results and errors."""

from __future__ import annotations

import numbers
import os
import pickle
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from dcot.core.options import check_choice
from dcot.distributed._leaves import size_of
from dcot.distributed._partitions import Loader, Partition, failed
from dcot.errors import ClusterError, InvalidInputError, InvalidParameterError
from dcot.runtime.extras import require
from dcot.runtime.resources import n_cores
from dcot.stream.sources import ON_ERROR

LOCAL = ("threads", "processes", "synchronous")
SET_FOR_WORKERS = "distributed.nanny.pre-spawn-environ"


@contextmanager
def connected(cluster: Any = None, *, timeout: float = 30.0) -> Iterator[Any]:
    """A Dask client, or the name of a scheduler in this machine.

    Parameters
    ----------
    cluster : None, an address such as ``"tcp://10.0.0.1:8786"``, a ``distributed.Client``, a
        cluster object, or ``"threads"``, ``"processes"``, ``"synchronous"``
        None uses the current client, or starts a local cluster with one process per core and
        closes it at the end.
    timeout : seconds to wait for a scheduler, and for its first worker

    Raises
    ------
    InvalidParameterError
        If ``cluster`` is none of these.
    ClusterError
        If no scheduler answers in time, or it has no workers.
    MissingExtraError
        If dask is not installed.

    Examples
    --------
    >>> with connected("threads") as client:
    ...     client
    'threads'
    """
    distributed = require("distributed", "dask")
    if isinstance(cluster, str) and cluster in LOCAL:
        yield cluster
        return
    cluster = in_use() if cluster is None else cluster
    if cluster is None:
        with _local(distributed) as client:
            yield client
        return
    if isinstance(cluster, distributed.Client):
        _check_workers(distributed, cluster, timeout)
        yield cluster
        return
    if not isinstance(cluster, str) and not hasattr(cluster, "scheduler_address"):
        raise InvalidParameterError(
            f"cluster must be an address, a client, a cluster, one of {', '.join(LOCAL)} or None, "
            f"got {cluster!r}"
        )
    if isinstance(cluster, str):
        _check_address(cluster)
    try:
        client = _client(distributed, cluster, timeout)
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


def _check_address(address: str) -> None:
    """Raise an error for what is no address; a client of it would fail again when it is deleted."""
    from distributed.comm.addressing import parse_address, parse_host_port

    try:
        scheme, place = parse_address(address)
        if scheme in ("tcp", "tls"):
            parse_host_port(place)
    except ValueError as error:
        raise InvalidParameterError(
            f"cluster is {address!r}, which is no address of a scheduler ({error}): expected one "
            f"such as tcp://10.0.0.1:8786, or one of {', '.join(LOCAL)}"
        ) from error


def _client(distributed: Any, cluster: Any, timeout: float) -> Any:
    """Create a client, with a second attempt after an ``AssertionError``.

    The scheduler tells all clients what one of them cancels. If such a message arrives together
    with the answer to a new client, `distributed` raises this error.
    """
    try:
        return distributed.Client(cluster, timeout=timeout, set_as_default=False)
    except AssertionError:
        return distributed.Client(cluster, timeout=timeout, set_as_default=False)


def _check_workers(distributed: Any, client: Any, timeout: float) -> None:
    """Raise an error if there are no workers, because the work would never end."""
    try:
        client.wait_for_workers(1, timeout=timeout)
    except (TimeoutError, distributed.TimeoutError) as error:
        raise ClusterError(
            f"the Dask scheduler at {client.scheduler.address} has no workers after {timeout:g} s: "
            "start some, as in dask worker ADDRESS"
        ) from error


def in_use() -> Any:
    """Return the current client, or None."""
    from distributed import get_client

    with suppress(ValueError):
        return get_client()
    return None


# A cluster closes a worker for good if it is just restarting this long after it was lost before.
# Then a worker that is killed twice is missing, and there may be none left.
KEEP_WORKERS = {"distributed.deploy.lost-worker-timeout": "365 days"}


@contextmanager
def _local(distributed: Any) -> Iterator[Any]:
    """Start a cluster of processes that only this machine can reach."""
    import dask

    options = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "threads_per_worker": 1}
    with (
        environment_kept(),
        dask.config.set(KEEP_WORKERS),
        distributed.LocalCluster(n_workers=n_cores(), processes=True, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def environment_kept() -> Iterator[None]:
    """Restore what distributed sets in this process for its workers, such as OMP_NUM_THREADS.

    Otherwise processes that are started later would have one thread each.
    """
    import dask

    before = {name: os.environ.get(name) for name in dask.config.get(SET_FOR_WORKERS)}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


# Larger data is not part of the graph, but is sent once to each worker.
_EMBEDDED_BYTES = 1_000_000


@dataclass
class Options:
    """Options for running the tasks of partitions."""

    client: Any  # a distributed.Client, or the name of a scheduler
    retries: int = 3
    on_error: str = "raise"
    timeout: float | None = None

    def __post_init__(self) -> None:
        check_choice("on_error", self.on_error, ON_ERROR)
        if not isinstance(self.retries, int) or self.retries < 0:
            raise InvalidParameterError(
                f"retries must be a whole number, zero or more, got {self.retries!r}"
            )
        number = isinstance(self.timeout, numbers.Real) and not isinstance(self.timeout, bool)
        if self.timeout is not None and not (number and self.timeout > 0):
            raise InvalidParameterError(
                f"timeout must be a positive number of seconds or None, got {self.timeout!r}"
            )

    def loader(self, partition: Partition) -> Loader:
        """Return what a task needs to read a partition."""
        return Loader(partition, self.retries, self.on_error)


class LostError(ClusterError):
    """Data that was sent to workers was lost with them."""


# -- data that tasks share ----------------------------------------------------------------------


class Shared:
    """Data that many tasks use; Dask does not look into it, and it is sent once."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __sizeof__(self) -> int:
        return size_of(self.value)


def shared(value: Any, client: Any) -> Any:
    """Return one node of the graph for all tasks; large data is sent to the workers now."""
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
    """Return the results of tasks, fetched one by one to save memory."""
    if not isinstance(options.client, str):
        return _on_cluster(tasks, options)
    if options.timeout is None:
        return _here(tasks, options.client)
    return _here_in_time(tasks, options.client, options.timeout)


def _here(tasks: list[Any], scheduler: str, **more: Any) -> list[Any]:
    import dask

    return list(dask.compute(*tasks, scheduler=scheduler, optimize_graph=False, **more))


def _here_in_time(tasks: list[Any], scheduler: str, timeout: float) -> list[Any]:
    """Run the tasks in a separate thread, and raise an error after ``timeout`` seconds.

    No further tasks are started then. Processes are ended. Threads cannot be ended, so a task that
    never ends keeps its thread.
    """
    late = threading.Event()
    done: Future[list[Any]] = Future()
    pool = _processes() if scheduler == "processes" else None

    def stop_if_late(key: Any, graph: Any, state: Any) -> None:
        if late.is_set():
            raise TimeoutError

    def work() -> None:
        more = {} if pool is None else {"pool": pool}
        try:
            callbacks = [(None, None, stop_if_late, None, None)]
            done.set_result(_here(tasks, scheduler, callbacks=callbacks, **more))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=work, name="dcot-dask", daemon=True).start()
    try:
        if not wait([done], timeout).done:
            raise _no_result(timeout)
        return done.result()
    finally:
        late.set()
        if pool is not None:
            _end(pool, now=not done.done())


def _processes() -> ProcessPoolExecutor | None:
    """Return a pool of processes that can be ended; None if Dask has a configured pool."""
    import dask
    from dask.multiprocessing import get_context, initialize_worker_process

    if dask.config.get("pool", None) is not None:
        return None
    # as in Dask: strings must have the same hash in all processes
    if os.environ.get("PYTHONHASHSEED") in (None, "0"):
        os.environ["PYTHONHASHSEED"] = "6640"
    workers = dask.config.get("num_workers", None) or n_cores()
    options = {"mp_context": get_context(), "initializer": initialize_worker_process}
    return ProcessPoolExecutor(workers, **options)


def _end(pool: ProcessPoolExecutor, now: bool) -> None:
    processes = list((pool._processes or {}).values()) if now else []
    pool.shutdown(wait=not now, cancel_futures=True)
    for process in processes:
        process.terminate()


def _no_result(timeout: float | None) -> ClusterError:
    limit = "" if timeout is None else f" within timeout={timeout:g} s"
    return ClusterError(
        f"Dask gave no result{limit}: are there workers, and do they answer? Raise timeout if the "
        "work takes longer"
    )


def _on_cluster(tasks: list[Any], options: Options) -> list[Any]:
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
        raise _no_result(options.timeout) from error
    except CancelledError as error:
        raise LostError(
            f"workers were lost with what they had been sent ({error}): see their logs; they may "
            "have too little memory"
        ) from error
    finally:
        if futures:
            client.cancel(futures)


# -- persisted partitions -----------------------------------------------------------------------


def settle(partitions: Sequence[Partition], options: Options) -> dict[str, str]:
    """Wait for persisted partitions and retry those that failed.

    A partition that still fails raises an error that names it. With ``on_error="skip"``, the names
    and reasons are returned instead.
    """
    held = {part.name: part.futures for part in partitions if part.futures}
    if not held:
        return {}
    client = options.client
    if isinstance(client, str):
        raise InvalidParameterError(
            f"{next(iter(held))} is persisted on a cluster, which cluster={client!r} is not: pass "
            "the client that persisted it"
        )
    every = [future for futures in held.values() for future in futures]
    for _ in range(options.retries):
        if not (bad := [one for one in _finished(every, options) if one.status == "error"]):
            return {}
        client.retry(bad)
    _finished(every, options)
    found = {}
    for name, futures in held.items():
        reasons = [_reason(one) for one in futures if one.status != "finished"]
        if reasons:
            found[name] = failed(name, InvalidInputError(reasons[0]), options.on_error).reason
    return found


def _finished(futures: list[Any], options: Options) -> list[Any]:
    """Wait for the futures, and return them."""
    from distributed import TimeoutError as Late
    from distributed import wait

    try:
        with options.client.as_current(), suppress(CancelledError):
            wait(futures, timeout=options.timeout)
    except (Late, TimeoutError) as error:
        raise _no_result(options.timeout) from error
    return futures


def _reason(future: Any) -> str:
    if future.status != "error":
        return f"what was persisted is {future.status}: persist it again"
    error = future.exception()
    return f"{error}" or type(error).__name__
