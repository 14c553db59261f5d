"""``dcot.load``: from a model folder to the fitted model, of a class that dcot knows."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from dcot._version import __version__
from dcot.errors import ModelFormatError
from dcot.persistence import read_folder
from dcot.persistence.saving import restored

# What can be in a folder. A class is found here or not at all: a folder cannot name its own.
KINDS = {
    "DCoT": "dcot.estimator",
    "DCoTVectorizer": "dcot.vectorizer",
    "DCoTClassifier": "dcot.classifier.model",
    "SearchIndex": "dcot.search",
}


def load(path: str | os.PathLike[str], *, mmap: bool = False, verify: bool | None = None) -> Any:
    """Load a model that ``save`` wrote. It transforms as it did before, to the last bit.

    Nothing in the folder is run, and nothing in it is believed unchecked: a folder that is
    damaged, changed, of another program or of a newer format is a ``dcot.DcotError``.

    Parameters
    ----------
    path : str or path
        The folder.
    mmap : bool
        Map the arrays instead of reading them: a large model is there at once, pages come from the
        disk when they are used, and processes share them. Weights that were saved in 16 or 8 bits
        are widened, and so in memory, all the same. The files must stay as they are meanwhile
        (saving a new model over the old one is fine).
    verify : bool or None
        Compute the checksum of the arrays, which reads every byte. None: unless ``mmap``. Sizes,
        headers, settings and vocabulary are checked in any case.

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
    return restored(getattr(module, contents.kind), contents)
