"""Every error that dcot raises on purpose, in one place.

::

    DcotError
    ├── InvalidParameterError (ValueError)   a setting outside its range
    ├── InvalidInputError (ValueError)       documents that cannot be used as they are
    │   └── UnknownTermError             a word that the model does not know
    ├── InvalidTypeError (TypeError)         a setting or documents of the wrong kind
    ├── NotAvailableError (AttributeError)   not possible with these settings
    ├── OutOfMemoryError (MemoryError)       predicted to be too large, before allocating
    ├── MissingExtraError (ImportError)      an optional dependency is not installed
    ├── DatasetError (OSError)               a corpus is not what it should be
    │   └── DatasetMissingError          it was found nowhere
    ├── ModelFormatError (ValueError)        a model folder is damaged, foreign or of another format
    ├── ModelFolderError (OSError)           a model folder is missing, or cannot be written
    ├── OutputError (OSError)                results cannot be written; what is there is kept
    ├── ClusterError (OSError)               a cluster is not there, or lost its workers
    └── ModelNotFittedError (NotFittedError) the model was used before it was fitted

All of them can be imported from ``dcot``. Each also derives from the Python (or scikit-learn)
type that a caller would expect, so ``except ValueError`` still works. A message says what was
wrong, what was expected and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

__all__ = [
    "ClusterError",
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
    "UnknownTermError",
]


class DcotError(Exception):
    """Root of all errors raised by dcot."""


class InvalidParameterError(DcotError, ValueError):
    """A setting is outside its range."""


class InvalidInputError(DcotError, ValueError):
    """Documents that cannot be used as they are: NaN, no terms, the wrong number of columns."""


class UnknownTermError(InvalidInputError):
    """A word that the model does not know, with ``suggestions``: near spellings that it does."""

    def __init__(self, message: str, term: str = "", suggestions: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.term = term
        self.suggestions = list(suggestions)


class InvalidTypeError(DcotError, TypeError):
    """A setting or documents of the wrong kind."""


class NotAvailableError(DcotError, AttributeError):
    """The method exists, but cannot work with the current settings."""


class OutOfMemoryError(DcotError, MemoryError):
    """The work was predicted to need more memory than allowed; nothing was allocated."""


class MissingExtraError(DcotError, ImportError):
    """An optional dependency is not installed; the message has the pip command."""


class DatasetError(DcotError, OSError):
    """A corpus is missing, or is not what it should be."""


class DatasetMissingError(DatasetError):
    """A corpus was found nowhere, and could not be downloaded."""


class ModelFormatError(DcotError, ValueError):
    """A model folder is damaged, not dcot's, or of a format that this version cannot read."""


class ModelFolderError(DcotError, OSError):
    """A model folder is missing, is not a folder, or cannot be written or read."""


class OutputError(DcotError, OSError):
    """Results cannot be written: a full disk, no permission; what is there is still there."""


class ClusterError(DcotError, OSError):
    """A cluster does not answer, or its workers are lost."""


if TYPE_CHECKING:
    from sklearn.exceptions import NotFittedError

    class ModelNotFittedError(DcotError, NotFittedError):
        """The model was used before it was fitted."""


def not_fitted(model: object) -> DcotError:
    """The error for using ``model`` before it is fitted; the same words everywhere."""
    message = f"This {type(model).__name__} instance is not fitted yet: call fit first"
    return _model_not_fitted_error()(message)  # type: ignore[no-any-return]


@cache
def _model_not_fitted_error() -> Any:
    # Importing scikit-learn takes a while, so this class is made when it is first asked for.
    from sklearn.exceptions import NotFittedError

    class ModelNotFittedError(DcotError, NotFittedError):
        """The model was used before it was fitted."""

    ModelNotFittedError.__module__ = __name__
    ModelNotFittedError.__qualname__ = "ModelNotFittedError"
    return ModelNotFittedError


def __getattr__(name: str) -> Any:
    if name == "ModelNotFittedError":
        return _model_not_fitted_error()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
