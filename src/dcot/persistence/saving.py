"""``save`` for estimators, and ``dcot.load``. Each model defines its own contents."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dcot._version import __version__
from dcot.core.options import check_flag
from dcot.errors import InvalidParameterError, InvalidTypeError, ModelFormatError, OutOfMemoryError
from dcot.persistence.contents import (
    DAMAGED,
    DEFAULT_PRECISION,
    Contents,
    check_precision,
    choice,
    decode,
    encode,
    setting,
)
from dcot.persistence.folder import read_folder, write_folder

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator, TransformerMixin


class Saveable:
    """An estimator that can be saved to a folder, and loaded by ``dcot.load``."""

    _saved_as: ClassVar[str]  # set by each class that dcot.load knows; not inherited

    def save(
        self, path: Any, *, precision: str | None = DEFAULT_PRECISION, keep_moments: bool = False
    ) -> None:
        """Save the fitted model to a folder, from which ``dcot.load`` makes it again.

        The folder contains numbers and text, never code. Saving is atomic: after a crash, the
        folder has either the old model or the new one, complete. The same model gives the same
        bytes.

        Parameters
        ----------
        path : str or path
            The folder. It is created; an existing folder must be empty or a dcot model.
        precision : {"float16", "int8"} or None
            Save weights in 16 or 8 bits, for half or a quarter of the space of float32. They are
            float32 after loading. None keeps the precision of the fit.
        keep_moments : bool
            Also save the moments (d × d numbers), so that ``partial_fit`` can continue after
            loading. The model must have been fitted with ``partial_fit``.

        Raises
        ------
        ModelNotFittedError
            If the model is not fitted.
        ModelFolderError
            If the folder contains other files or cannot be written.
        InvalidParameterError
            If ``precision`` is unknown, ``keep_moments`` is set and there are no moments, or a
            parameter of the model cannot be saved, such as a function.
        InvalidTypeError
            If the model is of a subclass.

        Examples
        --------
        >>> import tempfile
        >>> import dcot
        >>> model = dcot.DCoT(n_prototypes=2).fit([[1.0, 1, 0], [0, 1, 1], [1, 0, 1]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(folder)
        ...     dcot.load(folder).prototypes_.tolist()
        [0, 1]
        """
        if "_saved_as" not in type(self).__dict__:
            raise InvalidTypeError(
                f"{type(self).__name__} cannot be saved: a folder holds no code, so dcot.load "
                "could not make a subclass again; use dcot's own class"
            )
        check_precision(precision)
        check_flag("keep_moments", keep_moments)
        write_folder(path, self._contents(bool(keep_moments)), precision)

    def _contents(self, keep_moments: bool) -> Contents:
        raise NotImplementedError

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        raise NotImplementedError


def encode_parameters(parameters: Mapping[str, Any], advice: Mapping[str, str]) -> dict[str, Any]:
    """Return constructor parameters as JSON; ``advice`` is for errors about other values."""
    return {name: encode(name, value, advice.get(name, "")) for name, value in parameters.items()}


def decode_parameters(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return constructor parameters from JSON."""
    found = setting(settings, "parameters", dict)
    parameters = {name: decode(value) for name, value in found.items()}
    for name, value in parameters.items():
        # the only callable in a folder can be a dtype
        if callable(value) and name != "dtype":
            raise ModelFormatError(f"the parameter {name!r} cannot be {value!r:.60}{DAMAGED}")
    seed = parameters.get("random_state")
    if seed is not None and (type(seed) is not int or not 0 <= seed < 2**32):
        raise ModelFormatError(f"random_state is {seed!r:.60}, expected 0 … 2³² - 1{DAMAGED}")
    return parameters


def build(cls: type[Any], settings: Mapping[str, Any]) -> Any:
    """Return an estimator that is not fitted, from saved parameters.

    A parameter that was added after the model was saved gets its default, which must give the
    earlier behaviour.
    """
    parameters = decode_parameters(settings)
    unknown = sorted(set(parameters) - set(cls._get_param_names()))
    if unknown:
        raise ModelFormatError(
            f"{cls.__name__} has no parameter {', '.join(unknown[:5])!s:.200} in this version of "
            "dcot: upgrade dcot, if the model was saved by a newer version"
        )
    return cls(**parameters)


def restored(cls: type[Any], contents: Contents) -> Any:
    """Return the fitted model; raise ModelFormatError if the contents are inconsistent.

    The contents are untrusted, so any error means that the folder cannot be used.
    """
    try:
        model = cls._from_contents(contents)
        contents.check_all_used()
    except (ModelFormatError, OutOfMemoryError):
        raise
    except MemoryError as error:
        raise OutOfMemoryError("there is not enough memory for the model") from error
    except Exception as error:
        reason = f"{error!s:.300}"
        raise ModelFormatError(f"the model does not fit together: {reason}{DAMAGED}") from error
    return model


def output_container(model: BaseEstimator) -> str | None:
    """Return the container set with ``set_output``, if any."""
    container: str | None = getattr(model, "_sklearn_output_config", {}).get("transform")
    return container


def restore_container(model: TransformerMixin, settings: Mapping[str, Any]) -> None:
    """Call ``set_output`` with the saved container."""
    from sklearn.base import TransformerMixin

    container = choice(settings, "container", (None, "default", "pandas", "polars"))
    if container is not None:  # without the checks of the model's own set_output
        TransformerMixin.set_output(model, transform=container)


# The classes that can be loaded; no other class is imported.
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

    No code in the folder is run, and its content is checked. A folder that is damaged, changed,
    from another program or of a newer format raises a ``dcot.DcotError``.

    Parameters
    ----------
    path : str or path
        The folder.
    mmap : bool
        Map the arrays into memory instead of reading them. A large model loads at once, pages are
        read from disk when they are used, and processes share them. By default the checksum of the
        arrays is then not verified, so damaged numbers are not noticed. Weights saved in 16 or 8
        bits are converted to float32 in memory. The files must not be changed while the model is in
        use (saving a new model over the old one is fine).
    verify : bool or None
        Verify the checksum of the arrays, which reads every byte. None means unless ``mmap``.
        Sizes, headers, settings and vocabulary are always checked.
    embedding : encoder or None
        The encoder of a ``DCoTClassifier`` or a ``SearchIndex``; the folder has only its name. An
        encoder with other vectors raises an error.

    Returns
    -------
    DCoT, DCoTVectorizer, DCoTClassifier or SearchIndex
        The saved model.

    Raises
    ------
    ModelFolderError
        If there is no such folder, or it cannot be read.
    ModelFormatError
        If the folder is damaged, was not written by dcot, or has a newer format.
    InvalidParameterError
        If ``embedding`` is not the encoder of this model, or the model has none; or if ``mmap`` or
        ``verify`` is not True or False.
    OutOfMemoryError
        If the model does not fit in memory.

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
    check_flag("mmap", mmap)
    if verify is not None:
        check_flag("verify", verify)
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
    if not hasattr(model, "_attach_encoder"):
        raise InvalidParameterError(f"a {contents.kind} has no encoder: leave embedding out")
    return model._attach_encoder(embedding)
