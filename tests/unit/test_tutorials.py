"""The tutorials run, without a warning."""

from __future__ import annotations

import runpy
import tempfile
from pathlib import Path

import pytest

TUTORIALS = sorted((Path(__file__).parents[2] / "docs" / "tutorials").glob("*.py"))


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_the_tutorial_runs(path, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    if path.stem == "short_texts":
        pytest.importorskip("wordllama")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    runpy.run_path(str(path))
    assert capsys.readouterr().out
