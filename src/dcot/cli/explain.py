"""``dcot explain`` and ``dcot similar``: what words and documents mean to a model."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add the commands."""
