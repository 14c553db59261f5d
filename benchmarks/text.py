"""Text to counts beside CountVectorizer: time, memory, and a million short texts.

Run from the checkout, with DCOT_DATA naming the folder that has ``reuters21578.tar.gz``::

    python -m benchmarks.text            # all
    python -m benchmarks.text speed      # or one of: speed, memory, million

Every ratio is of two times from the same run, each the best of several, taken in turns. Memory is
measured in a fresh process for each: the peak above what was resident just before the call, with
the libraries loaded, the texts in memory and a tenth of the work done once to start all threads.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import html
import json
import os
import re
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

CASES: dict[str, tuple[dict[str, Any], float, float]] = {
    # name: parameters, ratio required, ratio aimed at
    "words": ({}, 4.0, 6.0),
    "word bigrams": ({"ngram_range": (2, 2)}, 2.0, 3.0),
    "char_wb 3-grams": ({"analyzer": "char_wb", "ngram_range": (3, 3)}, 2.0, 3.0),
}


def reuters() -> list[str]:
    """The 21,578 texts of the original distribution, without markup."""
    folder = os.environ.get("DCOT_DATA")
    if not folder:
        sys.exit("set DCOT_DATA to the folder that has reuters21578.tar.gz")
    texts = []
    with tarfile.open(Path(folder) / "reuters21578.tar.gz") as archive:
        for member in sorted(archive.getnames()):
            if member.endswith(".sgm"):
                stream = archive.extractfile(member)
                assert stream is not None
                sgml = stream.read().decode("latin-1")
                found = re.findall(r"<TEXT.*?>(.*?)</TEXT>", sgml, re.S)
                texts += [html.unescape(re.sub(r"<[^>]+>", " ", text)) for text in found]
    return texts


def counter(which: str, parameters: dict[str, Any]) -> Any:
    """Ours or scikit-learn's."""
    if which == "dcot":
        from dcot.text import TermCounter

        return TermCounter(**parameters)
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(**parameters)


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def speed(repeats: int) -> None:
    """Both libraries in turns, so that a busy machine slows both."""
    texts = reuters()
    size = sum(len(text.encode()) for text in texts) / 1e6
    print(f"\n{len(texts):,} Reuters texts, {size:.1f} MB; best of {repeats}, in turns")
    head = ("sklearn s", "dcot s", "MB/s", "ratio", "target", "aim")
    print(f"{'':32}" + "".join(f"{name:>11}" for name in head))
    for name, (parameters, target, aim) in CASES.items():
        counter("dcot", parameters).fit(texts[:50]).transform(texts[:50])  # compile
        best: dict[tuple[str, str], float] = {}
        for _ in range(repeats):
            for which in ("sklearn", "dcot"):
                model = counter(which, parameters)
                steps = {
                    "fit_transform": lambda model=model: model.fit_transform(texts),
                    "transform": lambda model=model: model.transform(texts),
                }
                for step, work in steps.items():
                    taken = seconds(work)
                    best[which, step] = min(taken, best.get((which, step), taken))
        for step in ("fit_transform", "transform"):
            theirs, ours = best["sklearn", step], best["dcot", step]
            print(
                f"{name + ', ' + step:32}{theirs:11.2f}{ours:11.3f}{size / ours:11.0f}"
                f"{theirs / ours:11.1f}{target:11.1f}{aim:11.1f}"
            )


def status(field: str) -> float:
    """A size from Linux's account of this process, in MB: VmRSS is memory now, VmHWM the most."""
    found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024 / 1e6


def memory_of(work: Callable[[], Any]) -> dict[str, float]:
    """Peak memory of a step above what was resident before it, and in total, in MB.

    The process's own record of its peak is reset first, where Linux allows: it would hide a step
    that needs less than an earlier one (or than the parent process, whose peak a child inherits).
    """
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)  # give back what was freed: it would be used unseen
        Path("/proc/self/clear_refs").write_text("5")
        before = status("VmRSS")
        kept = work()
        peak = status("VmHWM")
    except (OSError, AttributeError, TypeError):  # not on Linux
        unit = 1 if sys.platform == "darwin" else 1024
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
        kept = work()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    del kept
    return {"above": peak - before, "peak": peak}


def measure(which: str, case: str, vocabulary: str | None = None) -> None:
    """In a process of its own: peak memory above what was there, printed as JSON.

    With a file of terms the step is transform, else fit_transform.
    """
    parameters = dict(CASES[case][0])
    texts = reuters()
    if vocabulary:
        parameters["vocabulary"] = json.loads(Path(vocabulary).read_text())
    model = counter(which, parameters)
    model.fit(texts[:2000]).transform(texts[:2000])  # code and threads are there from now on
    step = model.transform if vocabulary else model.fit_transform
    print(json.dumps(memory_of(lambda: step(texts))))


def child(*arguments: str) -> dict[str, Any]:
    """Run one measurement in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.text", *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout))


def memory() -> None:
    """Peak memory of both steps in fresh processes."""
    print("\npeak memory, MB above what was resident before (and the process's in total)")
    texts = reuters()
    with tempfile.TemporaryDirectory() as folder:
        for name, (parameters, *_) in CASES.items():
            terms = Path(folder) / "terms.json"
            names = counter("dcot", parameters).fit(texts).get_feature_names_out()
            terms.write_text(json.dumps(names.tolist()))
            for step, extra in (("fit_transform", ()), ("transform", (str(terms),))):
                found = {
                    which: child("measure", which, name, *extra) for which in ("sklearn", "dcot")
                }
                shown = "".join(f"{which:>10} {_shown(of):16}" for which, of in found.items())
                ratio = found["dcot"]["above"] / found["sklearn"]["above"]
                print(f"{name + ', ' + step:32}{shown} ratio {ratio:.2f} (target: at most 1)")


def _shown(found: dict[str, Any]) -> str:
    return f"{found['above']:.0f} ({found['peak']:.0f})"


def short_texts(n: int) -> Iterator[str]:
    """Generated titles of about ten words, with a vocabulary that grows as in real text."""
    random = np.random.default_rng(0)
    for start in range(0, n, 10_000):
        ranks = random.zipf(1.3, size=(min(10_000, n - start), 10)) % 200_000
        for row in ranks.tolist():
            yield " ".join(f"w{rank:x}" for rank in row)


def million(n: int) -> None:
    """In processes of their own: a tenth, a half and all of n texts."""
    print(f"\n{n:,} short generated texts: time from a list, memory from a generator")
    for part in (n // 10, n // 2, n):
        result = child("measure-short", str(part))
        print(
            f"{part:>10,} texts: fit_transform {result['fit_transform']:6.2f} s "
            f"({part / result['fit_transform']:>9,.0f} texts/s), transform "
            f"{result['transform']:6.2f} s; {result['above']:5.0f} MB above, of which the result "
            f"{result['result']:.0f} MB"
        )


def measure_short(n: int) -> None:
    """In a process of its own: time and memory for n short texts, printed as JSON."""
    from dcot.text import TermCounter

    TermCounter().fit(["a text"]).transform(["a text"])
    model = TermCounter()
    above = memory_of(lambda: model.fit_transform(short_texts(n)))["above"]
    texts = list(short_texts(n))
    times = {
        step: min(seconds(lambda step=step: getattr(model, step)(texts)) for _ in range(3))
        for step in ("fit_transform", "transform")
    }
    X = model.transform(texts)
    size = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 1e6
    print(json.dumps({"above": above, "result": size, **times}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", default=["speed", "memory", "million"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--texts", type=int, default=1_000_000)
    options = parser.parse_args()
    if options.what[0] == "measure":
        measure(*options.what[1:])
    elif options.what[0] == "measure-short":
        measure_short(int(options.what[1]))
    for what in options.what:
        if what == "speed":
            speed(options.repeats)
        elif what == "memory":
            memory()
        elif what == "million":
            million(options.texts)


if __name__ == "__main__":
    main()
