"""The examples of docs/models.md do what they show."""

import doctest
import tempfile
from pathlib import Path

GUIDE = Path(__file__).parents[3] / "docs" / "models.md"


def test_the_guide(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    results = doctest.testfile(str(GUIDE), module_relative=False, encoding="utf-8")
    assert results.attempted > 12
    assert results.failed == 0
