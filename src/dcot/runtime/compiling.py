"""Compile functions with numba, and cache them on disk if a directory for the cache can be written.

Later processes then start without compiling. In an installation that is read-only, each process
compiles what it uses, unless ``NUMBA_CACHE_DIR`` names a directory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for kernels that release the GIL; ``options`` are those of ``njit``."""

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # no writable directory for the cache
            return numba.njit(nogil=True, **options)(function)

    return decorate
