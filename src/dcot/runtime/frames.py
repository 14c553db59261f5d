"""Columns of polars frames, from values that polars may have no type for."""

from __future__ import annotations

from typing import Any

from dcot.runtime.extras import require


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
