"""The public surface, the registry, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dcot.datasets
from dcot.errors import InvalidParameterError


def test_everything_listed_is_there() -> None:
    for name in dcot.datasets.__all__:
        assert getattr(dcot.datasets, name).__doc__, name


def test_registry() -> None:
    assert set(dcot.datasets.available()) == {
        "20newsgroups",
        "dmoz",
        "everyday",
        "imdb",
        "r52",
        "r8",
        "reuters-matrix",
        "reuters-text",
    }


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InvalidParameterError, match=r"unknown corpus 'r53'.*r52"):
        dcot.datasets.load("r53")


def test_options_reach_the_loader() -> None:
    with pytest.raises(InvalidParameterError, match="label must be"):
        dcot.datasets.load("dmoz", label="middle")


def test_importing_is_light() -> None:
    code = (
        "import sys, dcot; assert 'dcot.datasets' not in sys.modules;"
        "import dcot.datasets; heavy = {'polars', 'scipy', 'sklearn', 'pandas'};"
        "found = heavy & sys.modules.keys(); assert not found, found"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
