"""The ``dcot`` command: typer and rich over the rest of the library.

``app`` lists the commands. Each is a function with every option, its type, default and help in its
signature; ``options`` has those that several commands share. Heavy imports (numpy, scikit-learn,
polars, numba) are inside functions, so that help opens at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return an exit code of ``dcot.cli.errors``."""
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
    except KeyboardInterrupt:  # nothing to clean up yet
        return 130
