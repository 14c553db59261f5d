"""What a model folder holds, in memory; and how a loader asks for it without trusting it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dcot.errors import ModelFormatError

Array = NDArray[Any]
Kind = TypeVar("Kind")


@dataclass
class Contents:
    """A model as arrays and JSON.

    Attributes
    ----------
    kind : which class it is; ``dcot.loading`` has the list
    settings : JSON values
    arrays : saved as they are
    weights : matrices that may be saved with less precision, and are float32 again after that
    vocabulary : terms in the order of the columns, or None
    facts : lines of the model card, label and value
    """

    kind: str
    settings: dict[str, Any]
    arrays: dict[str, Array] = field(default_factory=dict)
    weights: dict[str, Array] = field(default_factory=dict)
    vocabulary: list[str] | None = None
    facts: list[tuple[str, str]] = field(default_factory=list)

    def array(self, name: str, shape: tuple[int, ...], kinds: str = "f") -> Array:
        """An array that has to be there, of this shape and of one of these kinds of dtype."""
        found = self.arrays.get(name)
        if found is None:
            found = self.weights.get(name)
        if found is None:
            raise ModelFormatError(f"the array {name!r} is missing{DAMAGED}")
        if found.shape != shape or found.dtype.kind not in kinds:
            raise ModelFormatError(
                f"the array {name!r} is {found.dtype} of shape {found.shape}, which does not fit "
                f"the rest of the model: shape {shape} was expected{DAMAGED}"
            )
        return found

    def finite(self, name: str, shape: tuple[int, ...]) -> Array:
        """An array of finite numbers."""
        found = self.array(name, shape)
        if not np.isfinite(found).all():
            raise ModelFormatError(f"the array {name!r} has NaN or infinite values{DAMAGED}")
        return found

    def indices(self, name: str, shape: tuple[int, ...], n: int) -> Array:
        """An array of whole numbers from 0 to n - 1, of a signed type."""
        found = self.array(name, shape, "i")
        if found.size and (int(found.min()) < 0 or int(found.max()) >= n):
            raise ModelFormatError(
                f"the array {name!r} has numbers outside 0 … {n - 1}, which it points into{DAMAGED}"
            )
        return found

    def offsets(self, name: str, n: int) -> Array:
        """Where n pieces begin and end: n + 1 numbers that start with 0 and never decrease.

        The caller checks the last one against what they point into. Neighbours are compared, not
        subtracted: a difference of two of them can overflow and look right.
        """
        found = self.array(name, (n + 1,), "i")
        if int(found[0]) != 0 or (found[1:] < found[:-1]).any():
            raise ModelFormatError(f"the offsets {name!r} are not in order{DAMAGED}")
        return found

    def has(self, name: str) -> bool:
        """Whether there is an array of this name."""
        return name in self.arrays or name in self.weights


DAMAGED = "; the folder was damaged or changed after it was saved: save the model again"


def setting(settings: Mapping[str, Any], name: str, kind: type[Kind]) -> Kind:
    """A setting that has to be there and of this type.

    >>> setting({"n": 3}, "n", int)
    3
    """
    found = settings.get(name)
    # to JSON, 1.0 may be 1; to Python, True is a number
    if kind is float and type(found) is int:
        found = float(found)
    if type(found) is not kind or found in (np.inf, -np.inf):
        raise ModelFormatError(
            f"the setting {name!r} is {_short(found)}, but {kind.__name__} was expected{DAMAGED}"
        )
    return found


def count(settings: Mapping[str, Any], name: str, least: int = 0) -> int:
    """A setting that is a whole number, not below ``least`` nor absurdly large."""
    found = setting(settings, name, int)
    if not least <= found < np.iinfo(np.int64).max:
        raise ModelFormatError(
            f"the setting {name!r} is {_short(found)}, but at least {least} was expected{DAMAGED}"
        )
    return found


def choice(settings: Mapping[str, Any], name: str, choices: tuple[str | None, ...]) -> Any:
    """A setting that is one of a few strings, or None."""
    found = settings.get(name)
    if not isinstance(found, str | None) or found not in choices:
        raise ModelFormatError(
            f"the setting {name!r} is {_short(found)}, expected one of {choices}{DAMAGED}"
        )
    return found


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
