"""The cells of a run, and the questions that tables, figures and claims ask of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dcot.bench.jobs import SEEDS, Context, Failure, Job, digest
from dcot.bench.store import Cell, Store
from dcot.bench.systems import SYSTEMS, Setting
from dcot.bench.tasks import Task


@dataclass
class Results:
    """Everything that one run planned, with what came of it.

    Attributes
    ----------
    profile : its name
    cells : all finished cells of the plan
    planned : how many cells the plan has; those that are missing have failed
    failures : jobs that did not work
    notes : what a reader has to know, such as corpora that are missing
    corpora : by name: title, sizes, licence, citation
    searched : by the digest in a cell's key: the settings that were searched
    seeds : of everything that is random
    """

    profile: str
    cells: list[Cell]
    planned: int
    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    corpora: dict[str, dict[str, Any]] = field(default_factory=dict)
    searched: dict[str, list[Setting]] = field(default_factory=dict)
    seeds: dict[str, int] = field(default_factory=dict)

    @classmethod
    def collect(
        cls, store: Store, jobs: Sequence[Job], context: Context, failures: list[Failure]
    ) -> Results:
        """The plan's cells from the store; not what other runs left there."""
        found = [store.get(key) for job in jobs for key in job.keys]
        tasks = [task for task in context._tasks.values() if task is not None]
        grids = [context.settings(system) for system in {**SYSTEMS, **context.extra}.values()]
        return cls(
            profile=context.profile.name,
            cells=[cell for cell in found if cell is not None],
            planned=len(found),
            failures=failures,
            notes=list(context.notes),
            corpora={task.name: about(task, context.cut(task)) for task in tasks},
            searched={digest(grid): grid for grid in grids},
            seeds=SEEDS,
        )

    def select(self, experiment: str, **wanted: Any) -> list[Cell]:
        """Cells whose key has these values."""
        return [
            cell
            for cell in self.cells
            if cell.key["experiment"] == experiment
            and all(cell.key.get(name) == value for name, value in wanted.items())
        ]

    def values(self, experiment: str, name: str, metric: str, **wanted: Any) -> dict[Any, Any]:
        """``{value of name in the key: metric in each draw}`` of the selected cells."""
        found: dict[Any, list[tuple[int, float]]] = {}
        for cell in self.select(experiment, **wanted):
            pair = (cell.key.get("draw", 0), cell.result[metric])
            found.setdefault(cell.key[name], []).append(pair)
        return {key: np.array([v for _, v in sorted(pairs)]) for key, pairs in found.items()}

    def draws(self, experiment: str, name: str, **wanted: Any) -> dict[Any, int]:
        """How many draws the system with most of them has, by a value in the key."""
        found: dict[Any, set[int]] = {}
        for cell in self.select(experiment, **wanted):
            found.setdefault(cell.key[name], set()).add(cell.key.get("draw", 0))
        return {key: len(draws) for key, draws in found.items()}

    def corpora_of(self, experiment: str) -> list[str]:
        """In the order of the plan."""
        return list(dict.fromkeys(cell.key["corpus"] for cell in self.select(experiment)))

    def systems_of(self, experiment: str, **wanted: Any) -> list[str]:
        """In the order of tables; those that are not ours to name come before dCoT's."""
        found = {cell.key["system"] for cell in self.select(experiment, **wanted)}
        return in_order(found)

    def title(self, corpus: str) -> str:
        """How a corpus is called in tables."""
        return str(self.corpora.get(corpus, {}).get("title", corpus))

    @property
    def commits(self) -> list[str]:
        """Commits that made the cells; more than one after an update between runs."""
        return sorted({cell.commit or "unknown" for cell in self.cells})

    @property
    def machines(self) -> list[str]:
        """That made the cells."""
        found = []
        for machine in (cell.machine for cell in self.cells if cell.machine):
            text = f"{machine['processor']}, {machine['cores']} cores"
            found.append(text + (f", {machine['memory_gb']} GB" if "memory_gb" in machine else ""))
        return list(dict.fromkeys(found))

    @property
    def versions(self) -> dict[str, list[str]]:
        """Of all libraries that made the cells; more than one after an update between runs."""
        found: dict[str, list[str]] = {}
        for cell in self.cells:
            for name, version in cell.versions.items():
                if version not in found.setdefault(name, []):
                    found[name].append(version)
        return found

    @property
    def seconds(self) -> float:
        """Time that went into the cells, over all runs."""
        return sum(cell.seconds for cell in self.cells)


def in_order(names: Iterable[str]) -> list[str]:
    """Systems as tables list them; others before the last two, which are dCoT's."""
    found = set(names)
    known = [name for name in SYSTEMS if name in found]
    others = sorted(found - set(SYSTEMS))
    ours = [name for name in known if name.startswith("dCoT")]
    return [name for name in known if name not in ours] + others + ours


def about(task: Task, used: Task) -> dict[str, Any]:
    """What is said of a corpus, and of the sample of it that was used."""
    return {
        "title": task.name,
        "stands_for": task.stands_for,
        "documents": {
            "train": len(task.train),
            "test": len(task.test),
            "unlabelled": len(task.unlabelled),
        },
        "classes": len(set(map(str, task.labels[np.concatenate([task.train, task.test])]))),
        "unseen_classes": task.unseen_classes,
        "unseen_in_use": used.unseen_classes,
        "description": task.description,
        "licence": task.licence,
        "citation": task.citation,
    }
