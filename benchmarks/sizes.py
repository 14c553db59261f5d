"""How a classifier's fit ends, its time and memory: tiny to large, one size at a time.

    python -m benchmarks.sizes                        # everything: about half an hour
    python -m benchmarks.sizes labels classes         # some of the sizes
    python -m benchmarks.sizes --output docs/tables   # the same, and the table of docs/scaling.md

Each fit has a process of its own. The documents are generated counts of words; a class is a topic,
and half of a document's words come from it. A fit is in order if it is done, or refused with an
error of dcot's own; a signal, another error or more memory than the machine has is not.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from time import perf_counter

import numpy as np
from benchmarks.generated import topical_documents
from benchmarks.measure import peak_memory

from dcot import DCoTClassifier
from dcot.errors import DcotError

REFUSED = 3  # exit status of a fit that dcot refuses


@dataclass(frozen=True)
class Size:
    """A corpus. ``words`` is the length of a document."""

    documents: int = 10_000
    labels: int = 1000
    classes: int = 20
    words: int = 50
    terms: int = 20_000


DEFAULT_SIZE = Size()
SIZES = {
    "documents": [
        replace(DEFAULT_SIZE, documents=n, labels=min(n, DEFAULT_SIZE.labels))
        for n in (10, 100, 1000, 10_000, 100_000, 1_000_000)
    ],
    "labels": [
        replace(DEFAULT_SIZE, documents=max(n, DEFAULT_SIZE.documents), labels=n)
        for n in (2, 10, 100, 1000, 10_000, 100_000)
    ],
    "classes": [replace(DEFAULT_SIZE, classes=n, labels=5000) for n in (2, 20, 200, 1000)],
    "words": [
        replace(
            DEFAULT_SIZE,
            words=n,
            documents=min(DEFAULT_SIZE.documents, 50_000_000 // n),
            labels=500,
        )
        for n in (1, 10, 100, 1000, 10_000, 100_000)
    ],
    "terms": [replace(DEFAULT_SIZE, terms=n) for n in (2, 100, 10_000, 1_000_000)],
    "all": [Size(100_000, 100_000, 1000, 20), Size(1_000_000, 100_000, 1000)],
}


def fit(size: Size) -> int:
    """Fit one classifier; print seconds, bytes and documents predicted per second."""
    small, topics = topical_documents(200, 300, topics=2)
    DCoTClassifier(random_state=0).fit(small, topics)  # compiled, not measured
    X, topics = topical_documents(
        size.documents, size.terms, words=size.words - 1, topics=size.classes
    )
    labels = np.full(size.documents, None, dtype=object)
    labels[: size.labels] = topics[: size.labels].astype(str)
    labels[:2] = ["0", "1"]  # at least two classes
    model = DCoTClassifier(random_state=0)
    begun = perf_counter()
    try:
        peak, _ = peak_memory(lambda: model.fit(X, labels))
    except DcotError as error:
        print(error, file=sys.stderr)
        return REFUSED
    seconds = perf_counter() - begun
    new = X[:10_000]
    begun = perf_counter()
    model.predict(new)
    print(seconds, peak, new.shape[0] / (perf_counter() - begun))
    return 0


def outcome(size: Size) -> tuple[str, bool]:
    """A row of the table, and whether the fit ended in order."""
    values = [str(value) for value in astuple(size)]
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.sizes", "--fit", *values]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    columns = [f"{value:,}" for value in astuple(size)]
    if done.returncode == 0:
        seconds, peak, predicted = map(float, done.stdout.split())
        columns += [f"{seconds:,.1f} s", f"{peak / 1e9:.2f} GB", f"{predicted:,.0f}"]
    else:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        how = signal.Signals(-done.returncode).name if done.returncode < 0 else "error"
        columns += ["refused" if done.returncode == REFUSED else how, last, ""]
    return f"| {' | '.join(columns)} |", done.returncode in (0, REFUSED)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("parts", nargs="*", choices=[*SIZES, []], help="default: all")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="also write the table there")
    parser.add_argument("--fit", nargs=len(fields(Size)), type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit:
        sys.exit(fit(Size(*options.fit)))
    head = "| documents | labels | classes | words each | terms | fit | memory | predicted per s |"
    lines = [head, "|" + "---:|" * head.count(" | ") + "---:|"]
    print(*lines, sep="\n")
    in_order = True
    for size in dict.fromkeys(size for part in options.parts or SIZES for size in SIZES[part]):
        line, right = outcome(size)
        print(line, flush=True)
        lines.append(line)
        in_order &= right
    if options.output:
        (options.output / "scaling-sizes.md").write_text("\n".join(lines) + "\n")
    sys.exit(not in_order)


if __name__ == "__main__":
    main()
