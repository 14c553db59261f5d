"""Table 1: time and memory to learn each representation, and time to transform a document.

Each system is measured in its own process: ``python -m dcot.bench.experiments.timing`` reads a
request as JSON from standard input and prints the measurements as JSON.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dcot.bench.jobs import Context, Job, corpus_key, digest
from dcot.bench.store import Key, Result
from dcot.bench.systems import SYSTEMS, Encoder, StaticEmbeddings, Supervised, System
from dcot.bench.tasks import load_task
from dcot.errors import InvalidInputError
from dcot.estimator import DCoT

NAME = "time"
# Table 1 of the paper, in seconds, on two six-core Xeon X5650 at 2.66 GHz.
PAPER_SECONDS = {
    "reuters": {"TF-IDF": 1, "LSI": 51 * 60, "LDA": 190 * 60, "dCoT (paper)": 2 * 60},
    "dmoz": {"TF-IDF": 1, "LSI": 98 * 60, "LDA": 541 * 60, "dCoT (paper)": 3 * 60},
}
SINGLE_DOCUMENTS = 50  # documents that are transformed one at a time


def jobs(context: Context) -> Iterator[Job]:
    """A job for each corpus and system, with its default setting; no other job runs beside it."""
    seen = set()
    for name in context.profile.timed:
        task = context.task(name, stand_in=True)
        if task is None or task.fingerprint in seen:
            continue
        seen.add(task.fingerprint)
        compared = context.profile.few_labels.get(name, tuple(SYSTEMS))
        for each in context.names_for(task, compared):
            system = context.system(each)
            if isinstance(system, Supervised) or system.self_trained:
                continue
            key: Key = {
                "experiment": NAME,
                **corpus_key(task, each in context.extra),
                "system": each,
                "setting": digest(context.settings(each)[0]),
            }
            options = {
                "corpus": task.stands_for or task.name,
                "data": None if context.data is None else str(context.data),
                "sample": context.profile.sample,
                "system": each,
                "size": context.profile.size,
                "encoder": str(system.folder) if isinstance(system, Encoder) else None,
            }
            seconds = 5 + system.seconds * len(task.train) / 1000
            yield Job(NAME, f"{NAME}, {task.name}, {each}", [key], options, seconds, alone=True)


def work(context: Context, job: Job, missing: list[Key]) -> Iterator[tuple[Key, Result]]:
    """Measure the missing cells."""
    for key in missing:
        yield key, measure(job.options)


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """Learn a system's default setting and transform documents, in a new process.

    ``request`` is the options of a job.
    """
    command = [sys.executable, "-m", "dcot.bench.experiments.timing"]
    source = str(Path(__file__).parents[3])
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
    for row in range(min(SINGLE_DOCUMENTS, len(test))):
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
    """Compile the kernels, or load them, before the clock starts."""
    some = documents.tfidf[: min(64, len(documents))]
    for solver in ("dual", "primal", "cg"):
        terms = some[:, :200] if solver == "primal" else some
        model = DCoT(5, solver=solver).fit(terms)
        model.transform(terms)


def peak_memory(work: Callable[[], Any]) -> tuple[float | None, Any]:
    """Peak growth of the process in bytes during ``work`` (None off Linux), and its result."""
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
