"""Read documents in batches, from memory or files, and make passes over them.

A fit of a large corpus consists of a few sums over its documents. A ``Source`` yields the
documents in named batches, ``Passes`` computes the sums, locally or (in ``dcot.distributed``)
on a cluster, and a ``Sum`` defines one sum.
"""

from __future__ import annotations

from dcot.runtime.progress import watched
from dcot.stream.passes import LocalPasses, Passes, Sum
from dcot.stream.sources import Batch, Blocks, NpzFiles, Once, Repeatable, Source, as_source

__all__ = [
    "Batch",
    "Blocks",
    "LocalPasses",
    "NpzFiles",
    "Once",
    "Passes",
    "Repeatable",
    "Source",
    "Sum",
    "as_source",
    "watched",
]
