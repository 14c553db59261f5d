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
    for way, found in json.loads(done.stdout).items():
        half, wrong = found["stopped"], found["wrong"]
        tally(f"{kind}: {way} ({half} of them before the end)", found["tried"], len(wrong))
        assert wrong == []
