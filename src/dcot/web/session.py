"""A labelling session: documents, labels, what was learned from them, and what comes next.

The state consists of values that are replaced, never changed: the classes, the seed words, the
space of the documents and the latest ``Snapshot``. A background thread
learns the space, then refits whenever there are new labels. Requests read what is there.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from dcot.classifier import DCoTClassifier
from dcot.errors import InvalidParameterError, OutputError
from dcot.runtime.files import write_atomically
from dcot.web.documents import Documents
from dcot.web.given import Model, class_names, new_classifier, start_from, updated
from dcot.web.labels import LabelStore, check_name
from dcot.web.learning import Prior, Snapshot, Start, choose_next, learn, learn_rows
from dcot.web.progress import CurveCache, Progress, measure
from dcot.web.shading import MAX_SHOWN, Piece
from dcot.web.space import Array, Space, known_seeds, learn_space, ranked_by, seed_vectors

MAX_CLASSES = 1000
QUEUED_DOCUMENTS = 30  # documents that are chosen at a time
RANDOM_EVERY = 4  # one document in this many is drawn at random, for an unbiased accuracy
# how long to wait for a refit at the end: labels are on the disk, and what it learns is not kept
CLOSING_SECONDS = 2.0
REFIT_LABELS, REFIT_SECONDS = 5, 0.8  # refit after this many labels, or this long after one
LEASE_SECONDS = 600.0
PREPARED = 8  # documents that are shaded before they are asked for
CACHED_TEXTS = 500


@dataclass(frozen=True)
class Saving:
    """The state of saving the model."""

    state: str = "none"  # "none", "running", "done" or "failed"
    message: str = ""


@dataclass(frozen=True)
class Learned:
    """What a refit found; ``revision`` is that of the labels it was made from."""

    revision: int = -1
    snapshot: Snapshot | None = None
    plan: tuple[tuple[int, str], ...] = ()
    number: int = 0


@dataclass
class Session:
    """See the module.

    Attributes
    ----------
    documents, store : the corpus, and the labels with their file
    classes : names, in the order of their keys
    seeds : seed words by class
    given, embedding : a model to start from, and vectors to add to dCoT, if there are any
    space : None until it is learned, or if the documents have no words
    prior : what a given classifier decides; None without one
    names : what its classes are called now; one that was removed is not among them
    phase : ``"learning"``, ``"ready"``, or ``"wordless"`` if there are no words to learn from
    """

    documents: Documents
    store: LabelStore
    model_path: Path
    classes: tuple[str, ...] = ()
    seeds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    given: Model | None = None
    embedding: Any = None
    space: Space | None = None
    prior: Prior | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    phase: str = "learning"
    learned: Learned = field(default_factory=Learned)
    progress: Progress = field(default_factory=Progress)
    measured: int = 0
    saving: Saving = field(default_factory=Saving)

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        self._wake = threading.Condition()
        self._revision = 0
        self._attempted = -1  # the revision of the last refit, successful or not
        self._changed_at = 0.0
        self._leases: dict[int, tuple[str, float]] = {}
        self._closing = False
        self._cache = CurveCache()
        self._begun: tuple[Any, Start] | None = None
        self._generator = np.random.RandomState(self.seed)
        self._order = self._generator.permutation(len(self.documents))
        self._shaded: OrderedDict[tuple[int, int, str], list[Piece]] = OrderedDict()
        self._side = self.store.path.with_name(f"{self.store.path.name}.session.json")
        self._resume()
        self._thread = threading.Thread(target=self._work, name="dcot-label", daemon=True)

    def start(self) -> None:
        """Begin to learn in the background."""
        self._thread.start()

    def close(self) -> None:
        with self._wake:
            self._closing = True
            self._wake.notify_all()
        if self._thread.is_alive():
            self._thread.join(CLOSING_SECONDS)
        self.store.close()

    # -- what there is ----------------------------------------------------------------------

    @property
    def labels(self) -> dict[int, str]:
        """Class by row, in labelling order, without skipped documents."""
        return {row: label.name for row, label in self.store.labels.items() if label.name}

    def unlabelled(self) -> Array:
        """Rows without a label that were not skipped either."""
        free = np.ones(len(self.documents), dtype=bool)
        free[list(self.store.labels)] = False
        return np.flatnonzero(free)

    def counts(self) -> dict[str, int]:
        """Labels by class, in the order of the classes."""
        counts = dict.fromkeys(self.classes, 0)
        for label in self.store.labels.values():
            if label.name:
                counts[label.name] = counts.get(label.name, 0) + 1
        return counts

    # -- labels -----------------------------------------------------------------------------

    def label(
        self,
        changes: Mapping[int, str | None],
        how: str,
        expected: Mapping[int, str | None] | None = None,
    ) -> str:
        """Give labels; on the disk when this returns. A notice if the file was edited meanwhile."""
        names = {name for name in changes.values() if name}
        for name in names:
            check_name(name)
        with self._lock:
            new = [name for name in sorted(names) if name not in self.classes]
            if len(self.classes) + len(new) > MAX_CLASSES:
                raise InvalidParameterError(f"at most {MAX_CLASSES} classes are possible")
            reload = self.store.set(changes, how, expected)
            for row in changes:
                self._leases.pop(row, None)
            self._add_labelled(new, bool(reload))
            self._touch()
        if not reload:
            return ""
        return (
            f"{self.store.path.name} was edited by another program. Labels added: {reload.added}, "
            f"changed: {reload.changed}, removed: {reload.removed}."
        )

    def add_class(self, name: str) -> None:
        check_name(name)
        with self._lock:
            if name not in self.classes:
                if len(self.classes) >= MAX_CLASSES:
                    raise InvalidParameterError(f"at most {MAX_CLASSES} classes are possible")
                self._keep((*self.classes, name))

    def rename_class(self, old: str, new: str, merge: bool = False) -> int:
        """Rename a class, or merge it into another that exists; how many labels changed."""
        check_name(new)
        with self._lock:
            self._read_edits()
            if old not in self.classes:
                raise InvalidParameterError(f"there is no class {old!r}")
            if new in self.classes and not merge:
                raise InvalidParameterError(
                    f"there is already a class {new!r}: merge the two, or choose another name"
                )
            count = self.store.rename(old, new)
            kept = [name for name in self.classes if name != old or new not in self.classes]
            words = (*self.seeds.get(new, ()), *self.seeds.get(old, ()))
            seeds = {name: listed for name, listed in self.seeds.items() if name not in (old, new)}
            seeds |= {new: tuple(dict.fromkeys(words))} if words else {}
            names = {given: new if now == old else now for given, now in self.names.items()}
            self._keep([new if name == old else name for name in kept], seeds, names)
            self._touch()
        return count

    def remove_class(self, name: str) -> None:
        """Remove a class that no document has."""
        with self._lock:
            self._read_edits()
            if self.counts().get(name):
                raise InvalidParameterError(f"{name!r} has labels: merge it into another class")
            seeds = {each: words for each, words in self.seeds.items() if each != name}
            names = {given: now for given, now in self.names.items() if now != name}
            self._keep([each for each in self.classes if each != name], seeds, names)
            self._touch()

    def _read_edits(self) -> None:
        """Take over what another program changed in the file of labels."""
        if self.store.refresh():
            self._add_labelled((), True)
            self._touch()

    def _add_labelled(self, names: Iterable[str], edited: bool) -> None:
        """Add classes that have labels; if the file was edited, all that are in it."""
        labels = self.store.labels.values() if edited else ()
        found = sorted({label.name for label in labels if label.name})
        classes = (*self.classes, *names, *found)
        try:
            self._keep(classes)
        except OutputError:  # the labels are saved, and they hold the names
            self.classes = tuple(dict.fromkeys(classes))

    def set_seeds(self, name: str, words: Sequence[str]) -> None:
        """The seed words of a class; none removes them."""
        check_name(name)
        kept = tuple(dict.fromkeys(word.strip() for word in words if word.strip()))
        with self._lock:
            others = {each: given for each, given in self.seeds.items() if each != name}
            seeds = others | ({name: kept} if kept else {})
            self.add_class(name)
            self._keep(self.classes, seeds)
            self._touch()

    # -- what comes next --------------------------------------------------------------------

    def next_rows(
        self, tab: str, k: int, keep: Sequence[int] = (), by_class: str | None = None
    ) -> list[tuple[int, str]]:
        """Documents for a tab, each with how it was chosen; as long as there are any, those that
        no other tab has.

        Parameters
        ----------
        tab : who asks; what it was given before and does not keep is free again
        k : at most this many
        keep : rows that the tab has and wants to keep
        by_class : rank by the seed words of this class instead
        """
        now = time.monotonic()
        most = k + len(self._leases) + len(self.store.labels) + len(keep)
        candidates = self._candidates(by_class, most)  # not in the lock: labels do not wait for it
        with self._lock:
            self._leases = {
                row: (owner, until)
                for row, (owner, until) in self._leases.items()
                if until > now and (owner != tab or row in keep)
            }
            chosen = _first_free(candidates, k, {*self._leases, *self.store.labels, *keep})
            if not chosen and not keep:  # the last ones: another tab has them, or was closed
                others = _first_free(self._candidates(by_class, most), k, {*self.store.labels})
                chosen = others[::-1]  # the other tab begins with the first
            for row in [*(row for row, _ in chosen), *keep]:
                self._leases[row] = (tab, now + LEASE_SECONDS)
        return chosen

    def _candidates(self, by_class: str | None, k: int) -> Iterable[tuple[int, str]]:
        words = self.seeds.get(by_class or "", ())
        if self.space is not None and words:
            rows = ranked_by(self.space, words, self.unlabelled(), k)
            return [(int(row), "seed words") for row in rows]
        plan = self.learned.plan
        how = "other" if plan else "random"  # beside a plan, those it suggests are missing
        return chain(plan, ((int(row), how) for row in self._order))

    def alike(self, row: int, k: int) -> tuple[str | None, list[int]]:
        """Unlabelled documents like one, and the class that it has or is predicted to have."""
        if self.space is None:
            return None, []
        among = self.unlabelled()
        label = self.store.labels.get(row)
        name = label.name if label else None
        snapshot = self.learned.snapshot
        if snapshot is not None:
            if name is None:
                name = snapshot.classes[snapshot.best[row]]
            if name in snapshot.classes:
                same = among[snapshot.best[among] == snapshot.classes.index(name)]
                among = same if len(same) else among
        rows = self.space.nearest(self.space.Z[row], among[among != row], k)
        return name or None, [int(one) for one in rows]

    def pieces(self, row: int, name: str, learned: Learned | None = None) -> list[Piece]:
        """A text in pieces with shares of the decision for a class; kept for a while."""
        learned = self.learned if learned is None else learned
        space, text, snapshot = self.space, self.documents.texts[row], learned.snapshot
        if space is None or snapshot is None or name not in snapshot.classes:
            return [(text[:MAX_SHOWN], 0.0)]
        key = (row, learned.revision, name)
        found = self._shaded.get(key)
        if found is None:
            shares = space.shares(row, snapshot.weights_for(name, space.Z[row]))
            found = space.pieces(text, shares)
            with self._lock:
                self._shaded[key] = found
                while len(self._shaded) > CACHED_TEXTS:
                    self._shaded.popitem(last=False)
        return found

    def held_out_pieces(self, row: int, name: str, other: str) -> tuple[list[Piece], list[Piece]]:
        """A text shaded for one class against another, and the other way round.

        By a classifier that never saw the document.
        """
        space, labels = self.space, {each: one for each, one in self.labels.items() if each != row}
        assert space is not None
        learned = learn_rows(space.Z, labels, self._start(space))
        if learned is None or not {name, other} <= {*learned.classes}:
            return self.pieces(row, name), self.pieces(row, other)
        one, two = (learned.coef[:, learned.classes.index(each)] for each in (name, other))
        found = space.pieces(self.documents.texts[row], space.shares(row, one - two))
        return found, [(text, -share) for text, share in found]

    def _start(self, space: Space) -> Start:
        """What is known in addition to the labels; the same object until something changes."""
        key = (self.seeds, self.names, self.prior)
        if self._begun is None or any(a is not b for a, b in zip(self._begun[0], key, strict=True)):
            prior = None if self.prior is None else self.prior.renamed(self.names)
            beside = space.n_beside if self.prior is None else 0  # a classifier has chosen a weight
            self._begun = key, Start(seed_vectors(space, dict(self.seeds)), prior, beside)
        return self._begun[1]

    # -- saving the model -------------------------------------------------------------------

    def save_model(self) -> None:
        """Learn the final classifier on all documents, and save it; in the background."""
        with self._lock:
            if self.saving.state == "running":
                return
            labels = self.labels
            if self.prior is not None and not labels and not self.seeds:
                raise InvalidParameterError("nothing is labelled yet: the model would be the same")
            if len({*labels.values(), *self.seeds, *self.names.values()}) < 2:
                raise InvalidParameterError(
                    "a model needs labels or seed words of at least two classes: label a few more"
                )
            self.saving = Saving("running", "Learning the model from all documents …")
        threading.Thread(target=self._save, args=(labels,), daemon=True).start()

    def _save(self, labels: Mapping[int, str]) -> None:
        try:
            words = {} if self.space is None else known_seeds(self.space, dict(self.seeds))
            if isinstance(self.given, DCoTClassifier) and self.space is not None:
                snapshot = learn(self.space.Z, labels, self._start(self.space))
                assert snapshot is not None
                model = updated(self.given, self.space, snapshot, self.seed)
            else:
                y = [labels.get(row) for row in range(len(self.documents))]
                model = new_classifier(self.given, self.embedding, self.seed)
                model.fit(list(self.documents.texts), y, seed_words=words or None)
            model.save(self.model_path)
            self.saving = Saving("done", f"Saved to {self.model_path}. {model.summary()}")
        except Exception as error:  # any error is shown on the page
            self.saving = Saving("failed", str(error) or type(error).__name__)

    # -- the background ---------------------------------------------------------------------

    def _work(self) -> None:
        if self.space is None:
            try:
                self._read_documents()
            except Exception as error:  # an encoder is other people's code
                self.saving = _failed("The documents could not be read", error)
        self.phase = "wordless" if self.space is None else "ready"
        with self._wake:
            self._revision += 1
        told = None
        while self._wait():
            try:
                self._refit()
                if told is not None and self.saving is told:
                    self.saving = Saving()  # what it said is no longer so
            except Exception as error:  # of an encoder, for example; the next change tries again
                self.saving = told = _failed("The model could not be refitted", error)

    def _read_documents(self) -> None:
        texts = self.documents.texts
        if self.given is None:
            self.space = learn_space(texts, self.seed, self.embedding)
            return
        space, self.prior = start_from(self.given, texts, self.seed, self.embedding)
        self.space = space if space.known.any() else None

    def _wait(self) -> bool:
        """Wait until a refit is due; False to end."""
        with self._wake:
            while not self._closing:
                behind = self._revision - self._attempted
                idle = time.monotonic() - self._changed_at
                if self.space is not None and behind > 0:
                    if behind >= REFIT_LABELS or idle >= REFIT_SECONDS:
                        return True
                    self._wake.wait(REFIT_SECONDS - idle)
                else:
                    self._wake.wait()
        return False

    def _refit(self) -> None:
        space = self.space
        assert space is not None
        with self._lock:
            revision, labels = self._revision, self.labels
            self._attempted = revision
            given = dict(self.store.labels)
            among = self.unlabelled()
        start = self._start(space)  # not in the lock: an encoder may read seed words
        snapshot = learn(space.Z, labels, start)
        plan = self._plan(space, snapshot, among)
        learned = Learned(revision, snapshot, plan, self.learned.number + 1)
        if snapshot is not None:
            for row, _ in plan[:PREPARED]:
                self.pieces(row, snapshot.classes[snapshot.best[row]], learned)
        self.learned = learned  # once the next documents are shaded: they are asked for at once
        if snapshot is None:
            self.progress = Progress()
            return
        drawn = {
            row: label.name for row, label in given.items() if label.name and label.how == "random"
        }
        progress = measure(space.Z, labels, drawn, snapshot, start, self._cache)
        self.progress = progress
        self.measured += 1

    def _plan(
        self, space: Space, snapshot: Snapshot | None, among: Array
    ) -> tuple[tuple[int, str], ...]:
        """The next documents; one in ``RANDOM_EVERY`` is drawn at random, from all of them.

        Places are counted from the first label, not from the last refit: there may be a refit after
        every label, and then only the first document of each plan is shown.
        """
        if not len(among):
            return ()
        if snapshot is None:
            rows = space.first_documents(among, QUEUED_DOCUMENTS, self._generator)
            return tuple((int(row), "first") for row in rows)
        done = len(self.documents) - len(among)
        places = done + np.arange(min(QUEUED_DOCUMENTS, len(among)))
        random = places % RANDOM_EVERY == RANDOM_EVERY - 1
        rows = np.empty(len(places), dtype=np.intp)
        # Drawn before the others are chosen: documents that would be suggested are among them.
        rows[random] = self._generator.choice(among, random.sum(), replace=False)
        if not random.all():
            rest = np.setdiff1d(among, rows[random])
            k = int((~random).sum())
            rows[~random] = choose_next(snapshot, space.Z, rest, k, self._generator)
        ways = np.where(random, "random", "suggested")
        return tuple(zip(rows.tolist(), ways.tolist(), strict=True))

    def _touch(self) -> None:
        with self._wake:
            self._revision += 1
            self._changed_at = time.monotonic()
            self._wake.notify_all()

    # -- what the label file does not hold --------------------------------------------------

    def _resume(self) -> None:
        """Classes without labels, their order, and seed words, from the last session."""
        kept = _read_side(self._side)
        found = [label.name for label in self.store.labels.values() if label.name]
        given = class_names(self.given)
        changed = kept.get("names", {})
        self.names = {name: changed.get(name, name) for name in given if changed.get(name, name)}
        names = [*self.classes, *kept.get("classes", []), *self.names.values(), *found]
        for name in dict.fromkeys(names):
            check_name(name)
        self.classes = tuple(dict.fromkeys(names))
        self.seeds = {
            name: tuple(words) for name, words in kept.get("seed_words", {}).items()
        } | dict(self.seeds)

    def _keep(
        self,
        classes: Sequence[str],
        seeds: Mapping[str, tuple[str, ...]] | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        """Change what is given; on the disk first, so that a full disk changes nothing."""
        classes = tuple(dict.fromkeys(classes))
        seeds = self.seeds if seeds is None else seeds
        names = self.names if names is None else names
        if (classes, seeds, names) == (self.classes, self.seeds, self.names):
            return
        kept = {
            "classes": list(classes),
            "seed_words": {k: list(v) for k, v in seeds.items()},
            "names": {name: names.get(name, "") for name in class_names(self.given)},
        }
        write_atomically(self._side, json.dumps(kept, ensure_ascii=False, indent=1).encode())
        self.classes, self.seeds, self.names = classes, seeds, names


def _first_free(
    candidates: Iterable[tuple[int, str]], k: int, taken: set[int]
) -> list[tuple[int, str]]:
    """The first k candidates, each once, whose rows are not taken."""
    free: dict[int, str] = {}
    for row, how in candidates:
        if row not in taken:
            free.setdefault(row, how)
        if len(free) == k:
            break
    return list(free.items())


def _failed(what: str, error: Exception) -> Saving:
    return Saving("failed", f"{what}: {str(error) or type(error).__name__}")


def _read_side(path: Path) -> dict[str, Any]:
    """The file next to the labels; invalid entries are left out."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        classes = [name for name in kept["classes"] if _is_name(name)]
        words = {
            str(name): [word for word in listed if isinstance(word, str)]
            for name, listed in kept["seed_words"].items()
            if name in classes
        }
        names = {k: v for k, v in kept.get("names", {}).items() if v == "" or v in classes}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    return {"classes": classes, "seed_words": words, "names": names}


def _is_name(name: object) -> bool:
    try:
        check_name(str(name))
    except InvalidParameterError:
        return False
    return isinstance(name, str)
