"""What a system is: settings to search, and how it learns features without labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

from dcot.bench.features import Blocks
from dcot.bench.tasks import Documents

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
    """A way to learn features without labels, to which a ridge classifier or an SVM is added.

    Attributes
    ----------
    name : as tables show it
    about : which library, on what input
    slow : learns for minutes; its features are kept on disk, so that a run can resume
    needs_text : reads texts, not counts
    seconds : to learn one setting from 1000 documents, on one core, for the plan
    """

    name: ClassVar[str]
    about: ClassVar[str]
    slow: ClassVar[bool] = False
    needs_text: ClassVar[bool] = False
    seconds: ClassVar[float] = 0.1

    @abstractmethod
    def settings(self, size: Size) -> list[Setting]:
        """What is searched, the default first; few and small for the quick profile."""

    @abstractmethod
    def learn(self, documents: Documents, settings: Sequence[Setting]) -> Iterator[Learned]:
        """Learn every setting from documents; what settings share is learned once."""


def share(
    settings: Sequence[Setting],
    outputs: Callable[[Documents], Any],
    blocks: Callable[[Any, Setting, Documents], Blocks],
) -> Iterator[Learned]:
    """Settings that make their blocks of the same outputs, which are computed once."""
    last: list[tuple[Documents, Any]] = []

    def shared(documents: Documents) -> Any:
        if not last or last[0][0] is not documents:
            last[:] = [(documents, outputs(documents))]
        return last[0][1]

    def features(setting: Setting, documents: Documents) -> Blocks:
        return blocks(shared(documents), setting, documents)

    for setting in settings:
        yield Learned(setting, partial(features, setting))


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
