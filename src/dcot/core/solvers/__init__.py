"""Three solvers for the systems of a layer; ``dcot.core.plan`` chooses between them.

To add one, write a function like ``Solver``, add it to ``SOLVERS``, and add its memory and time to
``dcot.core.plan``. The contract tests then cover it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from dcot.core.centred import Centred
from dcot.core.corruption import Solution, System
from dcot.core.solvers import cg, direct


class Solver(Protocol):
    """A function that solves systems with the same ``scale``."""

    def __call__(
        self,
        centred: Centred,
        targets: NDArray[Any],
        systems: Sequence[System],
        *,
        tol: float,
        max_iter: int,
        progress: Callable[[float], None],
    ) -> Iterator[Solution]:
        """Yield a solution for each system, in order."""
        ...


SOLVERS: dict[str, Solver] = {
    "primal": direct.solve_by_terms,
    "dual": direct.solve_by_documents,
    "cg": cg.solve,
}

__all__ = ["SOLVERS", "Solver"]
