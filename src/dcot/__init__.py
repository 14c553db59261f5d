"""Dense Cohort of Terms: better text features from your own unlabelled documents.

The public surface is what ``__all__`` lists. Estimators are imported on first use, so that
``import dcot`` itself takes milliseconds.
"""

from __future__ import annotations

from importlib import import_module as _import_module

from dcot._version import __version__
from dcot.errors import (
    ClusterError,
    DatasetError,
    DatasetMissingError,
    DcotError,
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    MissingExtraError,
    ModelFolderError,
    ModelFormatError,
    NotAvailableError,
    OutOfMemoryError,
    OutputError,
    UnknownTermError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dcot.classifier import DCoTClassifier
    from dcot.errors import ModelNotFittedError
    from dcot.estimator import DCoT
    from dcot.persistence.saving import load
    from dcot.search import SearchIndex
    from dcot.vectorizer import DCoTVectorizer

__all__ = [
    "ClusterError",
    "DCoT",
    "DCoTClassifier",
    "DCoTVectorizer",
    "DatasetError",
    "DatasetMissingError",
    "DcotError",
    "InvalidInputError",
    "InvalidParameterError",
    "InvalidTypeError",
    "MissingExtraError",
    "ModelFolderError",
    "ModelFormatError",
    "ModelNotFittedError",
    "NotAvailableError",
    "OutOfMemoryError",
    "OutputError",
    "SearchIndex",
    "UnknownTermError",
    "__version__",
    "load",
]

_LAZY = {
    "DCoT": "dcot.estimator",
    "DCoTClassifier": "dcot.classifier",
    "DCoTVectorizer": "dcot.vectorizer",
    "ModelNotFittedError": "dcot.errors",
    "SearchIndex": "dcot.search",
    "load": "dcot.persistence.saving",
}
_MODULES = ("datasets", "distributed", "export", "integrations", "plots", "stream", "text")


def __getattr__(name: str) -> object:
    if name in _LAZY:
        value: object = getattr(_import_module(_LAZY[name]), name)
    elif name in _MODULES:
        value = _import_module(f"dcot.{name}")
    else:
        raise AttributeError(f"module 'dcot' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "errors"})
