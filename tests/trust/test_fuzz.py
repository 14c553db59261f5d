"""A bounded number of changed inputs to everything that reads; ``make fuzz`` runs more."""

from __future__ import annotations

import os

import pytest
from tests.trust.fuzzing import TARGETS, attempt, attempts

COUNT = int(os.environ.get("DCOT_FUZZ", "60"))


@pytest.mark.skipif(os.name != "posix", reason="limits and timers of POSIX")
@pytest.mark.parametrize("name", TARGETS)
def test_changed_inputs_are_errors_of_dcot_or_work(name, tally):
    """Good inputs are tried first, and have to work, so that this says something."""
    found, tried = [], 0
    for data in attempts(name, COUNT):
        tried += 1
        try:
            attempt(name, data)
        except Exception as error:
            found.append((error, data[:200]))
    tally(f"fuzz: {name}", tried, len(found))
    assert found == []
