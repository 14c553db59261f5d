"""Import optional dependencies, or give the pip command that installs them.

For polars, also columns from values that it may have no type for.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

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


def series(values: list[Any]) -> Any:
    """A column; as text if polars has no type for its values, such as very large integers.

    >>> series([-5, 2**63 + 2]).to_list()
    ['-5', '9223372036854775810']
    """
    pl = require("polars", "tables")
    try:
        return pl.Series(values)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return pl.Series([None if value is None else as_text(value) for value in values])


def as_text(value: Any) -> str:
    r"""A value as text that UTF-8 can hold: lone surrogates become escapes.

    >>> as_text("half \ud800")
    'half \\ud800'
    """
    return str(value).encode("utf-8", "backslashreplace").decode()
