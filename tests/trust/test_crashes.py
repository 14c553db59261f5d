"""Work that is killed, or finds no room, at random moments; ``make trust`` does it more often."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.trust.crashing import WORK

COUNT = os.environ.get("DCOT_KILLS", "2")


@pytest.mark.skipif(os.name != "posix", reason="signals and forks of POSIX")
@pytest.mark.parametrize("kind", WORK)
def test_the_old_or_the_new_is_there_whole(kind, tally):
    done = subprocess.run(
        [sys.executable, "-m", "tests.trust.crashing", kind, COUNT],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    tally(f"killed or without room: {kind}", found["stopped"], len(found["wrong"]))
    assert found["tried"] == int(COUNT)
    assert found["wrong"] == []
