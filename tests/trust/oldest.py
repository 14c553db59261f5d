"""Print the oldest versions that pyproject.toml allows, as constraints for pip.

``make test-oldest`` installs them and runs the suite. Tools of development are left alone.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
EXTRAS = ("cli", "plots", "explore", "dask", "bench")


def oldest(path: Path = PROJECT) -> list[str]:
    """``name==version`` for every dependency that a user can install."""
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(one for extra in EXTRAS for one in extras[extra])]
    found = {}
    for requirement in wanted:
        parsed = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\d.]+)", requirement)
        assert parsed, f"{requirement}: expected name>=version"
        found[parsed[1]] = parsed[2]
    return [f"{name}=={version}" for name, version in sorted(found.items())]


if __name__ == "__main__":
    print("\n".join(oldest()))
