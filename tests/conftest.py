"""A count of what was tried, for ``make trust``."""

from __future__ import annotations

import json
import os

import pytest

collect_ignore = ["integrations/mteb_run.py"]  # a program that needs mteb, without doctests


@pytest.fixture
def tally():
    """Note how often something was tried, and how often it failed, where DCOT_TALLY says."""

    def note(what: str, tried: int, failed: int = 0) -> None:
        if path := os.environ.get("DCOT_TALLY"):
            with open(path, "a", encoding="utf-8") as file:
                file.write(json.dumps([what, tried, failed]) + "\n")

    return note
