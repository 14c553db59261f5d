"""Seconds and peak memory of learning one representation, in a process of its own.

``python -m dcot.bench.measure`` reads what to learn as JSON from standard input and prints what
it found as JSON.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dcot.errors import InvalidInputError

SINGLES = 50  # documents that are transformed one at a time


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """In a fresh process: learn a system's default setting, and transform documents.

    ``request`` has corpus, data, sample, system, size.
    """
    command = [sys.executable, "-m", "dcot.bench.measure"]
    source = str(Path(__file__).parents[2])
    paths = [source, os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(
        command,
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise InvalidInputError(f"measuring {request['system']} failed: {last[0]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _measured(request: dict[str, Any]) -> dict[str, Any]:
    from dcot.bench.systems import SYSTEMS, Encoder, StaticEmbeddings, System
    from dcot.bench.tasks import load_task

    task = load_task(request["corpus"], request.get("data"), stand_in=True)
    if request.get("sample"):
        task = task.sample(*request["sample"])
    folder = request.get("encoder")
    known: dict[str, System] = {**SYSTEMS, StaticEmbeddings.name: StaticEmbeddings()}
    system = Encoder(folder) if folder else known[request["system"]]
    setting = system.settings(request["size"])[0]
    learned, test = task.documents(task.train, task.test)
    _compile(learned)
    begun = time.perf_counter()
    peak, model = peak_memory(lambda: next(system.learn(learned, [setting])))
    seconds = time.perf_counter() - begun
    begun = time.perf_counter()
    model.features(test)
    batch = time.perf_counter() - begun
    singles = []
    for row in range(min(SINGLES, len(test))):
        document = test[np.array([row])]
        begun = time.perf_counter()
        model.features(document)
        singles.append(time.perf_counter() - begun)
    return {
        "setting": setting,
        "documents": len(learned),
        "terms": int(learned.counts.shape[1]),
        "seconds": seconds,
        "peak_mb": None if peak is None else peak / 1e6,
        "ms_per_document": 1e3 * float(np.median(singles)),
        "documents_per_second": len(test) / batch,
    }


def _compile(documents: Any) -> None:
    """Compiled kernels are loaded (once per machine: compiled) before the clock starts."""
    from dcot.estimator import DCoT

    some = documents.tfidf[: min(64, len(documents))]
    for solver in ("dual", "primal", "cg"):
        terms = some[:, :200] if solver == "primal" else some
        model = DCoT(5, solver=solver).fit(terms)
        model.transform(terms)


def peak_memory(work: Callable[[], Any]) -> tuple[float | None, Any]:
    """Bytes by which the process grew at the most while it worked (None off Linux); the result."""
    gc.collect()
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak counts from now
        before = _status("VmRSS")
    except OSError:
        return None, work()
    result = work()
    return float(_status("VmHWM") - before), result


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {name}")


if __name__ == "__main__":
    print(json.dumps(_measured(json.load(sys.stdin))))
