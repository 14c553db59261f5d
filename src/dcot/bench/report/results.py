"""The cells of a run, and the questions that tables, figures and verdicts ask of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.bench.experiments.accuracy import COMPARE, NAME
from dcot.bench.jobs import SEEDS, Context, Failure, Job, digest
from dcot.bench.store import Cell, Store
from dcot.bench.systems import FEATURES, NAMES, OURS, PAPER, WITH, Setting
from dcot.bench.tasks import Task

Array = NDArray[Any]


@dataclass(frozen=True)
class Results:
    """Everything that one run planned, with what came of it.

    Attributes
    ----------
    profile : its name
    experiments : names of the experiments that were asked for
    cells : all finished cells of the plan
    planned : how many cells the plan has; those that are missing have failed
    failures : jobs that did not work
    notes : what a reader has to know, such as corpora that are missing
    corpora : by name: sizes, licence, citation
    searched : by the digest in a cell's key: the settings that were searched
    seeds : of everything that is random
    """

    profile: str
    experiments: tuple[str, ...]
    cells: list[Cell]
    planned: int
    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    corpora: dict[str, dict[str, Any]] = field(default_factory=dict)
    searched: dict[str, list[Setting]] = field(default_factory=dict)
    seeds: dict[str, int] = field(default_factory=dict)

    @classmethod
    def collect(
        cls,
        store: Store,
        jobs: Sequence[Job],
        context: Context,
        failures: list[Failure],
        experiments: Sequence[str],
    ) -> Results:
        """The plan's cells from the store; not what other runs left there."""
        found = [store.get(key) for job in jobs for key in job.keys]
        grids = [context.settings(name) for name in (*NAMES, *context.extra)]
        more = COMPARE in experiments
        return cls(
            profile=context.profile.name,
            experiments=tuple(experiments),
            cells=[cell for cell in found if cell is not None],
            planned=len(found),
            failures=failures,
            notes=list(context.notes),
            corpora={task.name: _about(task, used, more) for task, used in context.used()},
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

    def few_labels(self, corpus: str, **wanted: Any) -> list[Cell]:
        """Accuracy cells with the representation learned on the usual documents of a corpus."""
        learned = self.corpora.get(corpus, {}).get("learned")
        more = {} if learned is None else {"learned": learned}
        return self.select(NAME, corpus=corpus, **more, **wanted)

    def corpora_of(self, experiment: str, **wanted: Any) -> list[str]:
        """Corpora with such cells, in the order of the plan."""
        return list(dict.fromkeys(cell.key["corpus"] for cell in self.select(experiment, **wanted)))

    @property
    def commit(self) -> str:
        """Of the code that made the cells; all have the same one."""
        found = sorted({cell.commit for cell in self.cells})
        return ", ".join(found)

    @property
    def hardware(self) -> list[str]:
        """That made the cells."""
        found = []
        for facts in (cell.hardware for cell in self.cells if cell.hardware):
            text = f"{facts['processor']}, {facts['cores']} cores"
            found.append(text + (f", {facts['memory_gb']} GB" if "memory_gb" in facts else ""))
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
        """Computing time of the cells, over all processes."""
        return sum(cell.seconds for cell in self.cells)


def values(cells: Iterable[Cell], name: str, metric: str) -> dict[Any, Array]:
    """``{value of name in the key: metric in each draw}``."""
    found: dict[Any, list[tuple[int, float]]] = {}
    for cell in cells:
        pair = (cell.key.get("draw", 0), cell.result[metric])
        found.setdefault(cell.key[name], []).append(pair)
    return {key: np.array([v for _, v in sorted(pairs)]) for key, pairs in found.items()}


def systems_of(cells: Iterable[Cell]) -> list[str]:
    """As tables list them: baselines, those that are not ours to name, then dCoT's."""
    found = {cell.key["system"] for cell in cells}
    ours = [name for name in (PAPER, FEATURES, OURS, *WITH) if name in found]
    known = [name for name in NAMES if name in found and name not in ours]
    return [*known, *sorted(found.difference(known, ours)), *ours]


def _about(task: Task, used: Task, with_unlabelled: bool) -> dict[str, Any]:
    """What is said of a corpus, and of the sample of it that was used."""
    return {
        "stands_for": task.stands_for,
        "documents": {
            "train": len(task.train),
            "test": len(task.test),
            "unlabelled": len(task.unlabelled),
        },
        "learned": len(used.train) + (len(used.unlabelled) if with_unlabelled else 0),
        "classes": len(set(map(str, task.labels[np.concatenate([task.train, task.test])]))),
        "unseen_classes": used.unseen_classes,
        "description": task.description,
        "licence": task.licence,
        "citation": task.citation,
    }
