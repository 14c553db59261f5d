"""Dense Cohort of Terms: better text features from your own unlabelled documents.

The public surface is what ``__all__`` lists. Names are imported on first use, so that
``import dcot`` itself costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dcot._exceptions import DcotError
from dcot._version import __version__

if TYPE_CHECKING:
    from dcot.classifier import DCoTClassifier
    from dcot.estimator import DCoT
    from dcot.loading import load
    from dcot.search import SearchIndex
    from dcot.vectorizer import DCoTVectorizer

__all__ = [
    "DCoT",
    "DCoTClassifier",
    "DCoTVectorizer",
    "DcotError",
    "SearchIndex",
    "__version__",
    "load",
]

_LAZY = {
    "DCoT": "dcot.estimator",
    "DCoTClassifier": "dcot.classifier",
    "DCoTVectorizer": "dcot.vectorizer",
    "SearchIndex": "dcot.search",
    "load": "dcot.loading",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = getattr(import_module(_LAZY[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'dcot' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
