"""Three exact ways to solve the system, and the choice between them.

To add one: write a module with ``solve`` and ``memory`` (see ``_base.Solver``), give it a line in
``SOLVERS`` and a time in ``choice``; the contract suite then tests it by itself.
"""

from __future__ import annotations

from dcot.core.solvers import cg, dual, primal
from dcot.core.solvers._base import Shape, Solution, Solver

SOLVERS: dict[str, Solver] = {"primal": primal, "dual": dual, "cg": cg}

__all__ = ["SOLVERS", "Shape", "Solution", "Solver"]
