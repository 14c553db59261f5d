"""The ``dcot`` command: typer and rich over the rest of the library.

``app`` lists the commands; each has a file with its function, whose signature has every option
with its type, default and help. ``options`` has those that several commands share. Modules here
import what is heavy (numpy, scikit-learn, polars, numba) inside functions, so that help opens at
once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; see ``dcot.cli.errors`` for their meaning."""
    from dcot.errors import MissingExtraError
    from dcot.runtime.extras import require

    try:
        for module in ("typer", "rich"):
            require(module, "cli")
        from dcot.cli.app import run

        return run(sys.argv[1:] if arguments is None else list(arguments))
    except MissingExtraError as error:
        print(f"Error: the dcot command needs an extra: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # before there was anything to clean up
        return 130
