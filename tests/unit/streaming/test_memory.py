"""The corpus is never held: peak memory of a process, measured."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import sys
from pathlib import Path
import numpy as np, scipy.sparse as sp
from dcot import DCoT

def status(field):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024

rng = np.random.default_rng(0)
n, d, length = 100_000, 400, 8
block = sp.csr_array((np.ones(n * length, dtype=np.float32),
                      np.sort(rng.integers(0, d, (n, length)), axis=1).ravel().astype(np.int32),
                      np.arange(0, n * length + 1, length)), shape=(n, d))
block.sum_duplicates()
size = block.data.nbytes + block.indices.nbytes + block.indptr.nbytes
model = DCoT(50, solver=sys.argv[1], squash=sys.argv[2])
model.fit([block])  # compiles, and warms up
Path("/proc/self/clear_refs").write_text("5")
before = status("VmRSS")
def batches():
    for _ in range(40):
        yield block.copy()
model.fit(batches)
print(model.n_documents_, status("VmHWM") - before, 40 * size)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(("solver", "squash"), [("primal", "identity")])
def test_peak_memory_does_not_grow_with_the_corpus(solver, squash):
    command = [sys.executable, "-c", CODE, solver, squash]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr
    n, peak, corpus = (float(value) for value in done.stdout.split())
    assert n == 4_000_000
    assert corpus > 250e6
    assert peak < 0.4 * corpus
