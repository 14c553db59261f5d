"""Documents in batches that can be read again, from memory or from files, and passes over them.

A fit of a large corpus is a few sums over its documents. A :class:`Source` gives the documents,
batch by batch and each with a name for errors; :class:`Passes` makes the sums, here or (in
``dcot.distributed``) on a cluster; a :class:`Sum` says what is added up.
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
