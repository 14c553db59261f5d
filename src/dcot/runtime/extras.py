"""Import optional dependencies, or give the pip command that installs them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from dcot.errors import MissingExtraError


def require(module: str, extra: str) -> ModuleType:
    """Import ``module``, or raise an error that names the extra of dcot that installs it.

    >>> require("json", "cli").__name__
    'json'
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        message = f'{package} is not installed; it comes with: pip install "dcot[{extra}]"'
        raise MissingExtraError(message) from error
