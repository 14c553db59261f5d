"""``dcot.load``: from a model folder to the fitted model, of a class that dcot knows."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from dcot._version import __version__
from dcot.errors import InvalidParameterError, ModelFormatError
from dcot.persistence import read_folder
from dcot.persistence.saving import restored

# The classes that a folder can hold. A folder cannot name any other.
KINDS = {
    "DCoT": "dcot.estimator",
    "DCoTVectorizer": "dcot.vectorizer",
    "DCoTClassifier": "dcot.classifier.model",
    "SearchIndex": "dcot.search",
}


def load(
    path: str | os.PathLike[str],
    *,
    mmap: bool = False,
    verify: bool | None = None,
    embedding: Any = None,
) -> Any:
    """Load a model that ``save`` wrote. It gives the same features as before, bit for bit.

    Nothing in the folder is run, and everything in it is checked: a folder that is damaged,
    changed, of another program or of a newer format is a ``dcot.DcotError``.

    Parameters
    ----------
    path : str or path
        The folder.
    mmap : bool
        Map the arrays instead of reading them: a large model loads at once, pages are read from the
        disk when they are used, and processes share them. The checksums of the arrays are then not
        verified: a damaged number goes unnoticed. Weights that were saved in 16 or 8 bits are
        widened, so they are in memory all the same. The files must not be changed meanwhile (saving
        a new model over the old one is fine).
    verify : bool or None
        Verify the checksum of the arrays, which reads every byte. None: unless ``mmap``. Sizes,
        headers, settings and vocabulary are always checked.
    embedding : encoder or None
        The encoder that a ``DCoTClassifier`` was fitted with, which its folder only names. It is
        refused if its vectors are not those that the classifier knows.

    Returns
    -------
    DCoT, DCoTVectorizer, DCoTClassifier or SearchIndex
        As it was saved.

    Examples
    --------
    >>> import tempfile
    >>> import dcot
    >>> texts = ["crude oil prices", "opec oil output", "wheat harvest", "wheat and corn prices"]
    >>> model = dcot.DCoTVectorizer(n_prototypes=3).fit(texts)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(folder)
    ...     again = dcot.load(folder)
    >>> bool((again.transform(texts) == model.transform(texts)).all())
    True
    """
    contents = read_folder(path, mmap=mmap, verify=verify)
    if contents.kind not in KINDS:
        raise ModelFormatError(
            f"{path} holds a {contents.kind!r:.60}, which dcot {__version__} does not know: it "
            f"loads {', '.join(KINDS)}; upgrade dcot, if it was saved by a newer version"
        )
    module = import_module(KINDS[contents.kind])
    model = restored(getattr(module, contents.kind), contents)
    if embedding is None:
        return model
    if not hasattr(model, "attach_encoder"):
        raise InvalidParameterError(f"a {contents.kind} has no encoder: leave embedding out")
    return model.attach_encoder(embedding)
