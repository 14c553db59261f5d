"""Text to counts beside CountVectorizer: time, memory, and a million short texts.

Run from the checkout, with DCOT_DATA naming the folder that has ``reuters21578.tar.gz``::

    python -m benchmarks.text            # all
    python -m benchmarks.text speed      # or one of: speed, memory, million

Every ratio is of two times from the same run, each the best of several, taken in turns. Memory is
measured in a fresh process for each: the peak above what was resident just before the call, with
the libraries loaded, the texts in memory and one small call made.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import re
import resource
import subprocess
import sys
import tarfile
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


def resident() -> float:
    """Resident memory of this process in MB (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def peak() -> float:
    """The most memory this process ever had, in MB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def measure(which: str, case: str, step: str) -> None:
    """In a process of its own: peak memory above what was there, printed as JSON."""
    parameters = CASES[case][0]
    texts = reuters()
    counter(which, parameters).fit(texts[:50]).transform(texts[:50])
    model = counter(which, parameters)
    if step == "transform":
        model.fit(texts)
    before, peak_before = resident(), peak()
    result = getattr(model, step)(texts)
    assert result.shape[0] == len(texts)
    # where fitting came first, or reading the archive, its peak hides a lower one of this step
    print(json.dumps({"above": peak() - before, "peak": peak(), "hidden": peak() == peak_before}))


def child(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.text", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def memory() -> None:
    """Peak memory of fit_transform in fresh processes."""
    print("\npeak memory of fit_transform, MB above what was resident before (and in total)")
    for name in CASES:
        found = {which: child("measure", which, name) for which in ("sklearn", "dcot")}
        shown = "   ".join(
            f"{which} {'<= ' if result['hidden'] else ''}{result['above']:.0f}"
            f" ({result['peak']:.0f})"
            for which, result in found.items()
        )
        ratio = found["dcot"]["above"] / found["sklearn"]["above"]
        print(f"{name:20}{shown}   ratio {ratio:.2f} (target: at most 1)")


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
    before = resident()
    model = TermCounter()
    X = model.fit_transform(short_texts(n))
    above = peak() - before
    size = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 1e6
    del X
    texts = list(short_texts(n))
    times = {
        step: min(seconds(lambda step=step: getattr(model, step)(texts)) for _ in range(3))
        for step in ("fit_transform", "transform")
    }
    print(json.dumps({"above": above, "result": size, **times}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", default=["speed", "memory", "million"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--texts", type=int, default=1_000_000)
    options = parser.parse_args()
    if options.what[0] == "measure":
        measure(options.what[1], options.what[2], "fit_transform")
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
