"""Model folders on the command line: checked before the work, loaded and saved."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcot.cli.errors import UserError

if TYPE_CHECKING:
    from dcot import DCoTClassifier, DCoTVectorizer, SearchIndex

    Model = DCoTClassifier | DCoTVectorizer | SearchIndex


def check_target(path: Path, kind: str) -> None:
    """Refuse a folder where the model could not be saved, before hours of training.

    A model of the same kind is replaced in one step when the new one is complete. Anything else
    that is there is left alone.
    """
    from dcot.persistence import folder
    from dcot.persistence.manifest import MANIFEST, read_manifest

    parent = path.absolute().parent
    if not parent.is_dir():
        raise UserError(f"{parent} does not exist: create it first, as in mkdir -p {parent}")
    if not os.access(path if path.is_dir() else parent, os.W_OK):
        raise UserError(f"{path} cannot be written: you have no permission; use another folder")
    folder.check_target(path)
    if (path / MANIFEST).exists() and (found := read_manifest(path).kind) != kind:
        raise UserError(
            f"{path} holds a {found}, and a {kind} does not replace it: name another folder, or "
            "remove it first"
        )


def load_model(path: Path, *kinds: str, hint: str = "", mmap: bool = False) -> Any:
    """The model of a folder, which has to be of one of these classes (any, if none is named)."""
    import dcot

    if path.is_file():
        raise UserError(f"{path} is a file, but a model folder was expected here")
    model = dcot.load(path, mmap=mmap)
    found = type(model).__name__
    if kinds and found not in kinds:
        raise UserError(f"{path} holds a {found}, but a {' or '.join(kinds)} is needed: {hint}")
    if getattr(model, "vectorizer_", model) is None:
        raise UserError(f"{path} was trained on a matrix, not on texts: use it from Python")
    return model


def save_model(model: Model, path: Path, precision: str | None) -> int:
    """Save a model as if nobody had watched it train; its size in bytes."""
    if hasattr(model, "set_params"):
        model.set_params(verbose=False)
    model.save(path, precision=precision)
    return sum(file.stat().st_size for file in path.iterdir() if file.is_file())
