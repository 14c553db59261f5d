"""Accuracy of every system: few labels, more unlabelled documents, and published splits.

All three experiments have the same kind of cell: a corpus, a system, a classifier, the documents
that the representation is learned from, the number of labels, and a draw. A cell that two
experiments share is computed, stored and printed once.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from dcot.bench.features import Block
from dcot.bench.jobs import Context, Job, corpus_key, digest
from dcot.bench.protocol import (
    MAX_COMPARED,
    RIDGE,
    SEED,
    SVM,
    Candidate,
    choose,
    default_class_weight,
    draws,
    hits,
    ridge_predictions,
    score,
    svm_predictions,
)
from dcot.bench.store import PROTOCOL, Key, Result
from dcot.bench.systems import FEATURES, OURS, Setting, Supervised, System
from dcot.bench.tasks import Documents, Task
from dcot.classifier.fit import evenly_spaced
from dcot.runtime.files import write_atomically

Array = NDArray[Any]
NAME = "accuracy"
FEW_LABELS, UNLABELLED, PUBLISHED, COMPARE = "few-labels", "unlabelled", "published", "compare"
ALL = "all"
# Draws are seeded by their number; no draw has this one.
UNLABELLED_ORDER = 1_000_000


# -- the plan -----------------------------------------------------------------------------------


def jobs(context: Context, experiments: Sequence[str]) -> Iterator[Job]:
    """A job for each corpus, system and set of documents to learn from."""
    found: dict[str, tuple[Task, str, dict[str, Key]]] = {}
    for task, name, key in _wanted(context, experiments):
        size, n = key["learned"], len(task.train)
        # A part of the training documents differs from draw to draw; larger sets do not.
        part = [task.name, name, size, key["draw"] if size < n else None]
        _, _, keys = found.setdefault(digest(part), (task, name, {}))
        keys[digest(key)] = key
    for task, name, keys in found.values():
        yield _job(context, task, name, list(keys.values()))


def _wanted(context: Context, experiments: Sequence[str]) -> Iterator[tuple[Task, str, Key]]:
    profile = context.profile
    if FEW_LABELS in experiments or COMPARE in experiments:
        seen = set()
        for corpus, names in profile.few_labels.items():
            task = context.task(corpus, stand_in=True)
            if task is None or task.fingerprint in seen:  # one stand-in may replace several
                continue
            seen.add(task.fingerprint)
            size = len(task.train) + (len(task.unlabelled) if COMPARE in experiments else 0)
            cells = _budgets(task, profile.budgets, profile.draws, profile.all_labels)
            yield from _cells(context, task, context.names_for(task, names), cells, size)
    if PUBLISHED in experiments:
        for corpus in profile.published:
            task = context.task(corpus)
            if task is not None:
                names = profile.published_systems
                yield from _cells(context, task, names, [(ALL, 0)], len(task.train))
    if UNLABELLED in experiments:
        for corpus, sizes in profile.learned.items():
            # A stand-in without unlabelled documents would show nothing new.
            task = context.task(corpus, stand_in=corpus == "dmoz")
            if task is None:
                continue
            most = len(task.train) + len(task.unlabelled)
            cells = _budgets(task, profile.learned_budgets, profile.learned_draws, False)
            for size in sorted({*(min(size, most) for size in sizes), len(task.train)}):
                fitting = [cell for cell in cells if int(cell[0]) <= size]
                names = profile.learned_systems
                yield from _cells(context, task, names, fitting, size, (RIDGE,))


def _budgets(
    task: Task, budgets: Sequence[int], count: int, all_labels: bool
) -> list[tuple[int | str, int]]:
    """Number of labels and draw of every cell; with all labels there is one draw."""
    n = len(task.train)
    cells: list[tuple[int | str, int]] = [
        (budget, draw) for draw in range(count) for budget in budgets if budget < n
    ]
    return [*cells, (ALL, 0)] if all_labels else cells


def _cells(
    context: Context,
    task: Task,
    names: Sequence[str],
    cells: Sequence[tuple[int | str, int]],
    size: int,
    classifiers: tuple[str, ...] = (RIDGE, SVM),
) -> Iterator[tuple[Task, str, Key]]:
    weight = default_class_weight()
    for name in names:
        reads_text = name in (OURS, FEATURES) or name in context.extra
        common: Key = {
            "experiment": NAME,
            **corpus_key(task, reads_text),
            "system": name,
            "searched": digest(context.settings(name)),
            "learned": size,
            "class_weight": weight,
        }
        # dCoT has its own ridge, its features an SVM; pretrained systems have both.
        tried = context.profile.svm_systems
        pretrained = name in context.extra and not isinstance(context.system(name), Supervised)
        has = {RIDGE: name != FEATURES, SVM: name in tried or (pretrained and bool(tried))}
        for classifier in classifiers:
            for labels, draw in cells if has[classifier] else ():
                cell = {"classifier": classifier, "labels": labels, "draw": draw}
                yield task, name, {**common, **cell}


def _job(context: Context, task: Task, name: str, keys: list[Key]) -> Job:
    size = keys[0]["learned"]
    part = keys[0]["draw"] if size < len(task.train) else None
    options = {"corpus": task.stands_for or task.name, "system": name, "learned": size}
    title = f"accuracy, {task.name}, {name}"
    if size != len(task.train):
        title += f", learned from {size:,} documents"
    seconds, memory = _predicted(context, task, name, size, keys)
    system = context.system(name)
    source = system.beside if isinstance(system, Supervised) else system
    features = digest([task.name, source.name, size, part]) if source and source.slow else ""
    options["part"] = part
    return Job(NAME, title, keys, options, seconds, memory, features=features)


def _predicted(
    context: Context, task: Task, name: str, size: int, keys: Sequence[Key]
) -> tuple[float, float]:
    """Seconds on one core and bytes, from measurements on Reuters, Dmoz and 20 Newsgroups."""
    n = len(task.train) + len(task.test)
    system = context.system(name)
    labels = [len(task.train) if key["labels"] == ALL else key["labels"] for key in keys]
    if isinstance(system, Supervised):
        fits = (3000 + n * 0.3 + 10 * min(b, 1500) + 6 * b for b in labels)
        return (size * system.seconds + sum(fits)) / 1000, 4e9
    settings = context.settings(name)
    learning = system.seconds * size / 1000 * len(settings)
    compared = sum(0.4 * len(settings) * (min(b, 1500) / 1000) ** 3 for b in labels)
    final = sum(0.1 * (b / 1000) ** 3 for b in labels)
    if system.self_trained:
        final += sum(3.0 for b in labels if b <= MAX_COMPARED)
    svm = sum(
        4.0 * (b / 1000) ** 1.5
        for key, b in zip(keys, labels, strict=True)
        if key["classifier"] == SVM
    )
    memory = 1e9 + 4.0 * n * 3000 * min(len(settings), 8) + 24.0 * max(labels) ** 2
    return learning + compared + final + svm, memory


# -- the work -----------------------------------------------------------------------------------


def work(context: Context, job: Job, missing: list[Key]) -> Iterator[tuple[Key, Result]]:
    """Compute cells that share a representation."""
    options = job.options
    task = context.task(options["corpus"], stand_in=True)
    if task is None:
        return
    rows = learned_rows(task, options["learned"], options["part"])
    system = context.system(options["system"])
    if isinstance(system, Supervised):
        yield from _supervised_cells(context, task, system, rows, missing)
    else:
        yield from _representation_cells(context, task, system, rows, missing)


def learned_rows(task: Task, size: int, draw: int | None) -> Array:
    """Documents to learn from: the first of a draw, or all training and some unlabelled ones."""
    n = len(task.train)
    if size < n:
        return np.asarray(task.train[draws(n, (draw or 0) + 1)[-1][:size]])
    more = np.random.default_rng([SEED, UNLABELLED_ORDER]).permutation(task.unlabelled)
    return np.concatenate([task.train, more[: size - n]])


def _labelled(task: Task, key: Key) -> Array:
    """Positions of labelled documents among the training documents."""
    n = len(task.train)
    order = draws(n, key["draw"] + 1)[-1]
    return order if key["labels"] == ALL else order[: key["labels"]]


def _supervised_cells(
    context: Context, task: Task, system: Supervised, rows: Array, missing: list[Key]
) -> Iterator[tuple[Key, Result]]:
    learned, test = task.documents(rows, task.test)
    vectors = None
    if system.beside is not None:
        both, wanted = task.documents(rows, np.concatenate([rows, task.test]))
        (found,) = _candidates(context, task, system.beside, rows, both, wanted)
        vectors = found.blocks[0].values[: len(rows)], found.blocks[0].values[len(rows) :]
    place = {int(row): position for position, row in enumerate(rows)}
    representation = system.learn(learned)
    for key in missing:
        labels = np.full(len(rows), None, dtype=object)
        for row in task.train[_labelled(task, key)]:
            labels[place[int(row)]] = task.labels[row]
        predicted, setting = system.predict(representation, learned, list(labels), test, vectors)
        yield key, _result(task, key, predicted, setting, None)


def _representation_cells(
    context: Context, task: Task, system: System, rows: Array, missing: list[Key]
) -> Iterator[tuple[Key, Result]]:
    n = len(task.train)
    # as in DCoTClassifier, of the documents to learn from, also those without labels
    sampled = rows[evenly_spaced(len(rows))] if system.self_trained else rows[:0]
    used = np.concatenate([task.train, task.test, np.setdiff1d(sampled, task.train)])
    place = {int(row): position for position, row in enumerate(used)}
    pool = np.array([place[int(row)] for row in sampled], dtype=np.intp)
    learned, wanted = task.documents(rows, used)
    candidates = _candidates(context, task, system, rows, learned, wanted)
    labels, test = task.labels[task.train], np.arange(n, n + len(task.test))
    for draw in dict.fromkeys(key["draw"] for key in missing):
        members = [key for key in missing if key["draw"] == draw]
        order, weight = draws(n, draw + 1)[-1], members[0]["class_weight"]
        budgets = sorted({n if key["labels"] == ALL else key["labels"] for key in members})
        chosen = choose(candidates, labels, order, budgets, weight)
        for key in members:
            labelled = _labelled(task, key)
            choice = chosen[len(labelled)]
            if key["classifier"] == SVM:
                found = svm_predictions(choice, labels, labelled, test, weight)
            else:
                more = np.setdiff1d(pool, labelled)
                found = ridge_predictions(choice, labels, labelled, test, weight, more)
            setting = choice.candidate.setting
            yield key, _result(task, key, found.labels, setting, found.strength)


def _result(
    task: Task, key: Key, predicted: Array, setting: Setting, strength: float | None
) -> Result:
    truth = task.labels[task.test]
    result: Result = {**score(truth, predicted), "setting": setting}
    result["labelled"] = len(_labelled(task, key))
    if strength is not None:
        result["strength"] = strength
    if key["labels"] == ALL:  # one draw, so tests pair documents
        result["hits"] = hits(truth, predicted)
    return result


# -- representations ----------------------------------------------------------------------------


def _candidates(
    context: Context, task: Task, system: System, rows: Array, learned: Documents, wanted: Documents
) -> list[Candidate]:
    about = [corpus_key(task, system.needs_text), digest(rows.tolist())]
    settings = context.settings(system.name)
    return candidates_of(system, learned, wanted, settings, context.cache, about)


def candidates_of(
    system: System,
    learned: Documents,
    wanted: Documents,
    settings: Sequence[Setting],
    cache: Path,
    about: Any,
) -> list[Candidate]:
    """Features of the wanted documents with every setting; slow systems are cached on disk.

    ``about`` identifies the documents.
    """
    if not system.slow:
        models = system.learn(learned, settings)
        return [Candidate(model.setting, model.features(wanted)) for model in models]
    paths = {
        digest(setting): cache / f"{digest([system.name, setting, about, PROTOCOL])}.npz"
        for setting in settings
    }
    kept = {name: blocks for name, path in paths.items() if (blocks := _read(path)) is not None}
    missing = [setting for setting in settings if digest(setting) not in kept]
    for model in system.learn(learned, missing) if missing else ():
        name = digest(model.setting)
        kept[name] = list(model.features(wanted))
        _write(paths[name], kept[name])
    return [Candidate(setting, kept[digest(setting)]) for setting in settings]


def _write(path: Path, blocks: Sequence[Block]) -> None:
    arrays: dict[str, Array] = {}
    for number, block in enumerate(blocks):
        arrays[f"values{number}"] = block.values
        if block.scale is not None:
            arrays[f"scale{number}"] = block.scale
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]  # the stub does not know keywords
    write_atomically(path, buffer.getvalue())


def _read(path: Path) -> list[Block] | None:
    """Read cached blocks; None if the file is missing or damaged."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            found = dict(archive)
            count = sum(name.startswith("values") for name in found)
            return [Block(found[f"values{i}"], found.get(f"scale{i}")) for i in range(count)]
    except (OSError, EOFError, ValueError, KeyError, BadZipFile):
        return None
