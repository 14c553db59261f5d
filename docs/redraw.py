"""Draw the figures of accuracy again, from the published data: ``python docs/redraw.py``.

``docs/experiments/figures.json`` has the mean and the standard deviation of every cell. Two draws
with the same mean and deviation give the same figure, so a change of style needs no new run.
"""

from __future__ import annotations

import json
from math import sqrt
from pathlib import Path
from typing import Any

from dcot.bench.experiments.accuracy import ALL, FEW_LABELS, NAME, UNLABELLED
from dcot.bench.report.figures import figures, svg
from dcot.bench.report.results import Results
from dcot.bench.store import Cell

EXPERIMENTS = Path(__file__).parent / "experiments"


def published(folder: Path) -> Results:
    """The cells of ``figures.json``, as two draws each."""
    data = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
    pairs: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    corpora = {}
    for figure in data["figures"]:
        key = {k: v for k, v in figure.items() if k not in ("metric", "mean", "sd", "draws")}
        if key["labels"] == ALL:
            corpora[key["corpus"]] = {"learned": key["learned"]}
        labelled = key["learned"] if key["labels"] == ALL else key["labels"]
        values = {"labelled": labelled}
        low, high = pairs.setdefault(json.dumps(key), (dict(values), dict(values)))
        spread = (figure["sd"] or 0) / sqrt(2)
        low[figure["metric"]] = (figure["mean"] - spread) / 100
        high[figure["metric"]] = (figure["mean"] + spread) / 100
    cells = [
        Cell({"experiment": NAME, **json.loads(key), "draw": draw}, values, 0.0, {}, {}, "")
        for key, pair in pairs.items()
        for draw, values in enumerate(pair)
    ]
    experiments = (FEW_LABELS, UNLABELLED)
    return Results(data["profile"], experiments, cells, len(cells), corpora=corpora)


if __name__ == "__main__":
    for _, name, _, figure in figures(published(EXPERIMENTS)):
        (EXPERIMENTS / f"{name}.svg").write_text(svg(figure), encoding="utf-8")
        print(name)
