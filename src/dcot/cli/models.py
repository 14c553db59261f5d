"""Model folders on the command line: checked before the work, loaded with what they have to be."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from dcot.cli.errors import UserError


def check_target(path: Path) -> None:
    """Refuse a place where a model could not be saved, before hours of learning.

    A model that is there is replaced in one step when the new one is complete; anything else that
    is there is left alone.
    """
    from dcot.persistence import writing

    parent = path.absolute().parent
    if not parent.is_dir():
        raise UserError(f"{parent} does not exist: create it first, as in mkdir -p {parent}")
    if not os.access(path if path.is_dir() else parent, os.W_OK):
        raise UserError(f"{path} cannot be written: you have no permission to; use another folder")
    writing.check_target(path)


def load_model(path: Path, *kinds: str, hint: str = "", mmap: bool = False) -> Any:
    """The model of a folder, which has to be of one of these classes (any, if none is named)."""
    import dcot

    model = dcot.load(path, mmap=mmap)
    found = type(model).__name__
    if kinds and found not in kinds:
        raise UserError(f"{path} holds a {found}, but a {' or '.join(kinds)} is needed: {hint}")
    if getattr(model, "_from_text", True) is False:
        raise UserError(f"{path} was trained on a matrix, not on texts: use it from Python")
    return model


def save_model(model: Any, path: Path, precision: str | None) -> int:
    """Save a model as if nobody had watched it learn; its size in bytes."""
    if hasattr(model, "verbose"):
        model.verbose = False
    model.save(path, precision=precision)
    return sum(file.stat().st_size for file in path.iterdir() if file.is_file())
