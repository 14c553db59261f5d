"""The cells of a run, and how systems compare over the same draws."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_rel

from dcot.bench.experiments.accuracy import ALL, COMPARE, NAME
from dcot.bench.jobs import SEEDS, Context, Failure, Job, digest
from dcot.bench.protocol import RIDGE, SVM, mcnemar
from dcot.bench.store import Cell, Store
from dcot.bench.systems import FEATURES, NAMES, OURS, PAPER, PRETRAINED, WITH, Setting
from dcot.bench.tasks import Task

Array = NDArray[Any]
SIGNIFICANT = 0.05
METRICS = {"accuracy": "Accuracy", "macro_f1": "Macro-F1"}


@dataclass(frozen=True)
class Results:
    """The results of one run.

    Attributes
    ----------
    profile : name of the profile
    experiments : names of the experiments that were run
    cells : all finished cells of the plan
    planned : number of cells in the plan; those that are missing have failed
    failures : jobs that failed
    notes : what a reader has to know, such as missing corpora
    corpora : sizes, licence and citation by name
    searched : the settings that were searched, by the digest in a cell's key
    seeds : seeds of everything random
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
        """Read the cells of the plan from the store, and none of other runs."""
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
        return where(self.cells, experiment=experiment, **wanted)

    def few_labels(self, corpus: str, **wanted: Any) -> list[Cell]:
        """Accuracy cells with the representation learned on all training documents."""
        learned = self.corpora.get(corpus, {}).get("learned")
        more = {} if learned is None else {"learned": learned}
        return self.select(NAME, corpus=corpus, **more, **wanted)

    def corpora_of(self, experiment: str, **wanted: Any) -> list[str]:
        """Corpora of these cells, in the order of the plan."""
        return list(dict.fromkeys(cell.key["corpus"] for cell in self.select(experiment, **wanted)))

    @property
    def commit(self) -> str:
        """Commit of the code that made the cells; a run has one."""
        return ", ".join(sorted({cell.commit for cell in self.cells}))

    @property
    def hardware(self) -> list[str]:
        """Machines that computed the cells."""
        found: dict[str, None] = {}
        for facts in (cell.hardware for cell in self.cells if cell.hardware):
            memory = f", {facts['memory_gb']} GB" if "memory_gb" in facts else ""
            found[f"{facts['processor']}, {facts['cores']} cores{memory}"] = None
        return list(found)

    @property
    def versions(self) -> dict[str, list[str]]:
        """Versions of each library; more than one after an update between runs."""
        pairs = dict.fromkeys(pair for cell in self.cells for pair in cell.versions.items())
        return {name: [v for other, v in pairs if other == name] for name, _ in pairs}

    @property
    def seconds(self) -> float:
        """Computing time of the cells, summed over all processes."""
        return sum(cell.seconds for cell in self.cells)


def where(cells: Iterable[Cell], **wanted: Any) -> list[Cell]:
    """Cells whose key has these values."""
    return [
        cell for cell in cells if all(cell.key.get(name) == value for name, value in wanted.items())
    ]


def values(cells: Iterable[Cell], name: str, metric: str) -> dict[Any, Array]:
    """The metric in each draw, by the value of ``name`` in the key."""
    found: dict[Any, list[tuple[int, float]]] = {}
    for cell in cells:
        pair = (cell.key.get("draw", 0), cell.result[metric])
        found.setdefault(cell.key[name], []).append(pair)
    return {key: np.array([v for _, v in sorted(pairs)]) for key, pairs in found.items()}


def systems_of(cells: Iterable[Cell]) -> list[str]:
    """Names of the systems in the order of tables: baselines, others, dCoT."""
    found = {cell.key["system"] for cell in cells}
    ours = [name for name in (PAPER, FEATURES, OURS, *WITH) if name in found]
    known = [name for name in NAMES if name in found and name not in ours]
    return [*known, *sorted(found.difference(known, ours)), *ours]


def _about(task: Task, used: Task, with_unlabelled: bool) -> dict[str, Any]:
    """What the report says about a corpus and the sample of it that was used."""
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


# -- comparisons --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gain:
    """Difference between two systems in points; p is NaN where it cannot be tested."""

    points: float
    p: float

    @property
    def significant(self) -> bool:
        """Whether chance among draws, or documents, does not explain the difference."""
        return self.p < SIGNIFICANT

    @property
    def tested(self) -> str:
        """The p-value as a suffix for text.

        >>> Gain(1.25, 0.123).tested, Gain(-2.0, 0.0004).tested
        (', p 0.12', ', p < 0.01')

        It has more digits where readers could not tell whether it is significant.

        >>> Gain(1.0, 0.047).tested, Gain(1.0, 0.053).tested, Gain(1.0, 0.0498).tested
        (', p 0.047', ', p 0.053', ', p 0.0498')
        """
        if not np.isfinite(self.p):
            return ""
        if self.p < 0.01:
            return ", p < 0.01"
        enough = (d for d in (2, 3, 4) if round(self.p, d) != SIGNIFICANT)
        return f", p {self.p:.{next(enough, 2)}f}"


def points(value: float) -> str:
    """Format a difference for tables, without a negative zero.

    >>> points(1.25), points(-0.01)
    ('+1.2', '+0.0')
    """
    return f"{round(value, 1) + 0.0:+.1f}"


def paired(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Gain | None:
    """Paired t-test over the draws that both have; None if they share none."""
    draws = sorted(ours.keys() & theirs.keys())
    if not draws:
        return None
    differences = np.array([ours[draw] - theirs[draw] for draw in draws])
    p = np.nan
    if not differences.any():
        p = 1.0
    elif len(draws) > 1 and np.ptp(differences) > 0:
        p = float(ttest_rel([ours[d] for d in draws], [theirs[d] for d in draws]).pvalue)
    return Gain(100 * float(differences.mean()), p)


def gain(ours: Iterable[Cell], theirs: Iterable[Cell], metric: str = "accuracy") -> Gain | None:
    """Gain of some cells over others that differ only in the system.

    With all labels there is one draw, so McNemar's exact test pairs documents instead.
    """
    one = {cell.key["draw"]: cell.result for cell in ours}
    other = {cell.key["draw"]: cell.result for cell in theirs}
    found = paired(
        {draw: result[metric] for draw, result in one.items()},
        {draw: result[metric] for draw, result in other.items()},
    )
    if found is None or metric != "accuracy" or not one.keys() == other.keys() == {0}:
        return found
    hits = [side[0]["hits"] for side in (one, other) if "hits" in side[0]]
    return Gain(found.points, mcnemar(hits[0], hits[1])) if len(hits) == 2 else found


def with_article(name: str) -> str:
    """The name of a pretrained system in a sentence.

    >>> with_article("pretrained encoder"), with_article("SetFit")
    ('the pretrained encoder', 'SetFit')
    """
    return name if name[0].isupper() else f"the {name}"


def rivals_of(cells: Iterable[Cell]) -> list[str]:
    """Systems other than dCoT that learn from the same documents."""
    others = {PAPER, FEATURES, OURS, *PRETRAINED, *WITH}
    return [name for name in systems_of(cells) if name not in others]


def against_best(
    ours: Sequence[Cell], others: Iterable[Cell], among: Sequence[str], metric: str = "accuracy"
) -> tuple[Cell, Gain] | None:
    """A cell of the best system and classifier among others, and the gain over it.

    The best is that on the test documents. None if there is nothing to compare.
    """
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in others:
        if cell.key["system"] in among:
            groups.setdefault((cell.key["system"], cell.key["classifier"]), []).append(cell)
    if not groups:
        return None
    best = max(groups.values(), key=lambda group: np.mean([c.result[metric] for c in group]))
    found = gain(ours, best, metric)
    return None if found is None else (best[0], found)


@dataclass(frozen=True)
class Comparison:
    """dCoT against the best rival in one cell of the table."""

    corpus: str
    labels: int | str
    rival: str
    gain: Gain

    def __str__(self) -> str:
        where = f"{self.corpus} with {self.labels} labels"
        return f"{where} ({points(self.gain.points)} against {self.rival}{self.gain.tested})"


def comparisons(results: Results, metric: str = "accuracy") -> Iterator[Comparison]:
    """dCoT against the best rival, for every corpus and number of labels.

    Rivals with an SVM count too: their C is chosen on the same labels.
    """
    for corpus in results.corpora_of(NAME, system=OURS, classifier=RIDGE):
        cells = results.few_labels(corpus)
        ours, rivals = where(cells, system=OURS), rivals_of(cells)
        for labels in labels_of(ours):
            own_cells, others = where(ours, labels=labels), where(cells, labels=labels)
            if found := against_best(own_cells, others, rivals, metric):
                yield Comparison(corpus, labels, title_of(found[0]), found[1])


def title_of(cell: Cell) -> str:
    """Name of a system, with its classifier unless that is ridge."""
    name = str(cell.key["system"])
    return f"{name} + SVM" if cell.key.get("classifier") == SVM else name


def labels_of(cells: Iterable[Cell]) -> list[Any]:
    """Numbers of labels, increasing; all labels come last."""
    found = {cell.key["labels"] for cell in cells}
    return sorted(found, key=lambda labels: (labels == ALL, labels if labels != ALL else 0))


def verdict(results: Results) -> list[str]:
    """The main result in a few sentences: wins, losses, and where there is no difference."""
    said = []
    for metric, measure in METRICS.items():
        found = list(comparisons(results, metric))
        if not found:
            continue
        lost = [c for c in found if c.gain.significant and c.gain.points < 0]
        won = [c for c in found if c.gain.significant and c.gain.points > 0]
        level = len(found) - len(won) - len(lost)
        rival = "the best rival that learns from the same documents"
        text = (
            f"{measure}: of {len(found)} comparisons, dCoT is significantly better than {rival} in "
            f"{len(won)} and significantly worse in {len(lost)}; in {level} the difference is not "
            "significant"
        )
        said.append(f"{text}. Worse: {'; '.join(map(str, lost))}." if lost else f"{text}.")
    return said
