"""Fit and transform on a Dask cluster, or with any other Dask scheduler.

The fit is that of ``dcot.stream``: the same sums, computed per partition and added in a tree, and
the same solver on the total. Install with ``pip install "dcot[dask]"``.
"""

from __future__ import annotations

from dcot.distributed._fit import fit
from dcot.distributed._running import connected
from dcot.distributed._transform import transform, transform_to

__all__ = ["connected", "fit", "transform", "transform_to"]
