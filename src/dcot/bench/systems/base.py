"""The interface of systems: settings to search, and features learned without labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from typing import Any, ClassVar, Literal

from numpy.typing import NDArray

from dcot.bench.features import Blocks
from dcot.bench.tasks import Documents

Array = NDArray[Any]
Setting = dict[str, Any]
Size = Literal["small", "full"]

SEED = 0
ROWS = ("unit", "as they are")  # whether rows are scaled to length one


@dataclass(frozen=True)
class Learned:
    """A learned representation: a function from documents to blocks of features."""

    setting: Setting
    features: Callable[[Documents], Blocks]


class System(ABC):
    """A way to learn features without labels, for a ridge classifier or an SVM.

    Attributes
    ----------
    name : the name in tables
    about : the library and its input
    slow : whether learning takes minutes; then features are cached on disk
    needs_text : whether it reads texts instead of counts
    seconds : time to learn one setting from 1000 documents on one core, for the plan
    self_trained : whether ridge also learns from its predictions for unlabelled documents
    """

    name: str
    about: str
    slow: ClassVar[bool] = False
    needs_text: ClassVar[bool] = False
    seconds: float = 0.1
    self_trained: ClassVar[bool] = False

    @abstractmethod
    def settings(self, size: Size) -> list[Setting]:
        """Settings to search, the default first; few and small ones for the quick profile."""

    @abstractmethod
    def learn(self, documents: Documents, settings: Sequence[Setting]) -> Iterator[Learned]:
        """Learn every setting from documents; work that settings share is done once."""


class SelfTrained(System):
    """Another system, whose ridge classifier learns from unlabelled documents as dCoT's does."""

    self_trained = True

    def __init__(self, base: System) -> None:
        self.base, self.name = base, f"{base.name}, self-trained"
        self.about, self.seconds = f"{base.about}, with dCoT's self-training", base.seconds

    def settings(self, size: Size) -> list[Setting]:
        return self.base.settings(size)

    def learn(self, documents: Documents, settings: Sequence[Setting]) -> Iterator[Learned]:
        return self.base.learn(documents, settings)


class Supervised(ABC):
    """A system with a classifier of its own, which selects its own settings.

    Attributes
    ----------
    name, about : as in ``System``
    seconds : time for 1000 documents on one core, without the labels, for the plan
    beside : a system whose vectors it gets as well, or None
    """

    name: str
    about: ClassVar[str]
    seconds: ClassVar[float]
    beside: System | None = None

    @abstractmethod
    def parameters(self, size: Size) -> Setting:
        """Its parameters, for a cell's key."""

    @abstractmethod
    def learn(self, documents: Documents) -> Any:
        """What does not depend on labels, learned once for all sets of labels."""

    @abstractmethod
    def predict(
        self,
        representation: Any,
        learned: Documents,
        labels: Sequence[Any],
        test: Documents,
        vectors: tuple[Array, Array] | None = None,
    ) -> tuple[Array, Setting]:
        """Fit to documents, with None for unlabelled ones, and predict the test documents.

        ``representation`` is the result of ``learn``; ``vectors`` are those of both from the
        system beside it.
        """


def share(
    settings: Sequence[Setting],
    outputs: Callable[[Documents], Any],
    blocks: Callable[[Any, Setting, Documents], Blocks],
) -> Iterator[Learned]:
    """Representations whose blocks come from the same outputs, which are computed once."""
    shared = lru_cache(maxsize=1)(outputs)

    def features(setting: Setting, documents: Documents) -> Blocks:
        return blocks(shared(documents), setting, documents)

    for setting in settings:
        yield Learned(setting, partial(features, setting))


def grid(**values: Sequence[Any]) -> list[Setting]:
    """All combinations of values; the first setting has the first value of each.

    >>> grid(k=(50, 100), rows=("unit",))
    [{'k': 50, 'rows': 'unit'}, {'k': 100, 'rows': 'unit'}]
    """
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


def groups(settings: Sequence[Setting], *names: str) -> dict[tuple[Any, ...], list[Setting]]:
    """Settings grouped by their values of ``names``, in order."""
    found: dict[tuple[Any, ...], list[Setting]] = {}
    for setting in settings:
        found.setdefault(tuple(setting[name] for name in names), []).append(setting)
    return found
