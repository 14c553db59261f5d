"""What a system is: settings to search, and how it learns features without labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from dcot.bench.machines import Blocks
from dcot.bench.tasks import Documents

Array = NDArray[Any]
Setting = dict[str, Any]
Size = Literal["small", "full"]

SEED = 0
ROWS = ("unit", "as they are")  # whether features are scaled to rows of length one


@dataclass(frozen=True)
class Learned:
    """A representation that was learned: features of any documents as blocks side by side."""

    setting: Setting
    features: Callable[[Documents], Blocks]


class System(ABC):
    """One of the systems compared.

    Attributes
    ----------
    name : as tables show it
    slow : learns for minutes; its features are kept on disk, so that a run can resume
    prior : leave-one-out prefers the first setting, as ``DCoTClassifier`` does
    needs_text : reads texts, not counts
    about : which library, on what input
    """

    name: ClassVar[str]
    about: ClassVar[str]
    slow: ClassVar[bool] = False
    prior: ClassVar[bool] = False
    needs_text: ClassVar[bool] = False

    @abstractmethod
    def settings(self, size: Size) -> list[Setting]:
        """What is searched, the default first; few and small for the quick profile."""

    @abstractmethod
    def learn(self, documents: Documents, settings: Sequence[Setting]) -> Iterator[Learned]:
        """Learn every setting from documents; what settings share is learned once."""


def scaled(features: Any, rows: str) -> Any:
    """Features with rows of length one, or as they are."""
    features = sp.csr_array(features) if sp.issparse(features) else np.asarray(features)
    return normalize(features) if rows == "unit" else features


def remembered(work: Callable[[Documents], Any]) -> Callable[[Documents], Any]:
    """The same function; asked again for the same documents, it does not work again."""
    last: list[tuple[Documents, Any]] = []

    def wrapper(documents: Documents) -> Any:
        if not last or last[0][0] is not documents:
            last[:] = [(documents, work(documents))]
        return last[0][1]

    return wrapper


def grid(**values: Sequence[Any]) -> list[Setting]:
    """All combinations; the first value of each together are the first setting.

    >>> grid(k=(50, 100), rows=("unit",))
    [{'k': 50, 'rows': 'unit'}, {'k': 100, 'rows': 'unit'}]
    """
    settings: list[Setting] = [{}]
    for name, choices in values.items():
        settings = [{**setting, name: value} for setting in settings for value in choices]
    return settings


def groups(settings: Sequence[Setting], *names: str) -> dict[tuple[Any, ...], list[Setting]]:
    """Settings that share the values of ``names``, in their order."""
    found: dict[tuple[Any, ...], list[Setting]] = {}
    for setting in settings:
        found.setdefault(tuple(setting[name] for name in names), []).append(setting)
    return found
