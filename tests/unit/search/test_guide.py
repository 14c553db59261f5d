"""The examples of docs/search.md do what they show."""

import doctest
from pathlib import Path

from dcot.bench.experiments import retrieval

GUIDE = Path(__file__).parents[3] / "docs" / "search.md"


def test_the_guide():
    results = doctest.testfile(str(GUIDE), module_relative=False, encoding="utf-8")
    assert results.attempted > 12
    assert results.failed == 0


def test_the_table_comes_from_the_benchmark():
    table = GUIDE.parent / "tables" / "retrieval.md"
    assert "](tables/retrieval.md)" in GUIDE.read_text()
    head = ["collection", *retrieval.SYSTEMS, f"{retrieval.DEFAULT} against BM25"]
    assert table.read_text().startswith(f"**nDCG@10 (%)**\n\n| {' | '.join(head)} |")
