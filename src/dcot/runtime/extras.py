"""Optional dependencies: imported when used, with the pip command when they are missing."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from dcot.errors import MissingExtraError


def require(module: str, extra: str) -> ModuleType:
    """Import ``module``, or say which extra of dcot brings it.

    >>> require("json", "cli").__name__
    'json'
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        message = f'{package} is not installed; it comes with: pip install "dcot[{extra}]"'
        raise MissingExtraError(message) from error
