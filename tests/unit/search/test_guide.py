"""The examples of docs/search.md do what they show."""

import doctest
from pathlib import Path

GUIDE = Path(__file__).parents[3] / "docs" / "search.md"


def test_the_guide():
    results = doctest.testfile(str(GUIDE), module_relative=False, encoding="utf-8")
    assert results.attempted > 12
    assert results.failed == 0
