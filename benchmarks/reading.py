"""The figures of docs/reading.md, from the embedded corpus of docstrings.

Run as ``python -m benchmarks.reading --output docs/images``. The corpus is read from the installed
packages, so other versions of them give other words.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from dcot import DCoTVectorizer, plots
from dcot.datasets import load_docstrings

PLACES = ("eigenvalue", "socket", "newline", "centroid", "timezone", "traceback", "histogram")
DOCUMENT = "Send the bytes to the remote address and return how many were sent"


def learn() -> DCoTVectorizer:
    """A model of the default settings, of words without digits."""
    pattern = r"(?u)\b[^\W\d_]{2,}\b"
    model = DCoTVectorizer(stop_words="english", token_pattern=pattern, min_df=2)
    return model.fit(load_docstrings().texts)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.reading", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("docs/images"))
    folder = parser.parse_args(arguments).output
    folder.mkdir(parents=True, exist_ok=True)
    model = learn()
    figures = {
        "reading-document": plots.document_layers(model.explain(DOCUMENT), k=10),
        "reading-map": plots.term_map(model, PLACES, neighbours=7),
    }
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=80)
        print(folder / f"{name}.png")
    print(model.explain("eigenvalue", k=5))
    print(model.similar_terms("eigenvalue", 5))
    print(model.cohort("matrix", 5))


if __name__ == "__main__":
    main()
