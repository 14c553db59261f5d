"""Fit and transform on a Dask cluster, or with any other scheduler of Dask.

The fit is the one of ``dcot.stream``: the same sums, made per partition and added up in a tree,
and the same solver on the total. Install with ``pip install "dcot[dask]"``.
"""

from __future__ import annotations

from dcot.distributed._fit import fit
from dcot.distributed._running import connected
from dcot.distributed._transform import transform, transform_to

__all__ = ["connected", "fit", "transform", "transform_to"]
