"""Print the oldest versions that pyproject.toml allows, as constraints for pip.

``make test-oldest`` installs them and runs the suite. Tools of development are left alone. With the
names of extras, print the constraints of these alone: ``embedding`` needs NumPy 2, so it cannot be
installed beside the oldest NumPy, and is tested in an environment of its own.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
EXTRAS = ("cli", "plots", "explore", "dask", "bench", "onnx")
RUNS_ONNX = "onnxruntime"  # not an extra: those who export a model often run it elsewhere


def oldest(path: Path = PROJECT, extras: tuple[str, ...] = ()) -> list[str]:
    """``name==version`` for every dependency that a user can install, or for those of extras."""
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    wanted = [one for extra in extras or EXTRAS for one in optional[extra]]
    if not extras:
        wanted += project["dependencies"]
        wanted += [one for one in optional["integrations"] if one.startswith(RUNS_ONNX)]
    found = {}
    for requirement in wanted:
        parsed = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\d.]+)", requirement)
        assert parsed, f"{requirement}: expected name>=version"
        found[parsed[1]] = parsed[2]
    return [f"{name}=={version}" for name, version in sorted(found.items())]


if __name__ == "__main__":
    print("\n".join(oldest(extras=tuple(sys.argv[1:]))))
