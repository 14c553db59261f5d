"""The ``dcot`` command: typer and rich over the rest of the library.

``main`` is all there is before the extra is known to be installed. Modules of this room import
what is heavy (numpy, scikit-learn, polars, numba) inside functions, so that help opens at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; see ``dcot.cli.errors`` for their meaning."""
    try:
        return _main(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:  # before there was anything to clean up
        return 130


def _main(arguments: list[str]) -> int:
    from dcot.errors import MissingExtraError
    from dcot.runtime.extras import require

    try:
        require("typer", "cli")
        require("rich", "cli")
    except MissingExtraError as error:
        print(f"Error: the dcot command needs an extra: {error}", file=sys.stderr)
        return 1
    from dcot.cli.app import run

    return run(arguments)
