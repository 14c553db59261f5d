"""Fit a classifier: from documents, labels and options to an immutable ``FittedClassifier``.

The steps are: select a representation with the labels, fit a linear classifier to its features,
let it learn from unlabelled documents too, calibrate its probabilities, and estimate its accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from dcot.classifier.calibration import Reliability, calibrate, probabilities
from dcot.classifier.estimate import Estimate, estimate, held_out_by_fold
from dcot.classifier.labels import (
    EXCLUSIVE,
    Labels,
    check_distinct,
    check_enough,
    warn_of_unequal,
    with_class_weights,
    without_duplicates,
    without_zeros,
)
from dcot.classifier.learners import (
    MAX_KERNEL_LABELS,
    LinearFit,
    check_usable,
    fit_linear,
    fit_ridge,
)
from dcot.classifier.ridge import KernelRidge, held_out_rows
from dcot.classifier.seeds import Seeds
from dcot.classifier.selection import (
    Candidate,
    SelectionResult,
    Vectors,
    cv_results,
    fits_of,
    input_kernel,
    select,
    unit_rows,
    with_directions,
)
from dcot.classifier.self_training import self_train
from dcot.core.centred import Matrix
from dcot.core.fit import FittedDCoT
from dcot.core.moments import Moments
from dcot.core.options import FitOptions
from dcot.core.representation import combined, products
from dcot.embedding.vectors import Documents, Embedding, VectorSource, check_vectors

Array = NDArray[Any]

# Candidates are evaluated on at most this many labelled documents: each needs n³ time.
MAX_SELECTION_LABELS = 1500
# The classifier learns from its predictions for at most this many documents; the mean of vectors
# also uses at most this many, because encoders are slow.
MAX_SAMPLED_DOCUMENTS = 2000


@dataclass(frozen=True)
class ClassifierOptions:
    """Options of a fit.

    Attributes
    ----------
    candidates : parameters of the representation to select from, the default first
    base : the other parameters
    fitted : a fitted representation to use unchanged, or None
    embedding_weights : weights of vectors to select from, the default first
    estimator, self_training, class_weight, n_jobs, random_state : as in ``DCoTClassifier``
    """

    candidates: Sequence[Candidate]
    base: FitOptions
    fitted: FittedDCoT | None = None
    embedding_weights: Sequence[float] = ()
    estimator: Any = "ridge"
    self_training: bool = True
    class_weight: Any = None
    n_jobs: int | None = None
    random_state: Any = None


@dataclass(frozen=True)
class HeldOut:
    """Decisions for labelled documents by models that were fitted without them.

    Attributes
    ----------
    rows : positions among the documents of the fit; for copies, that of the first
    targets : ±1, documents × classes
    decisions : array of the same shape
    """

    rows: Array
    targets: Array
    decisions: Array


@dataclass(frozen=True)
class FittedClassifier:
    """The result of a fit.

    Attributes
    ----------
    dcot : the representation
    candidate : its parameters
    embedding : the vectors used in addition, or None
    had_vectors : whether the fit had vectors, which it may have left out
    classes, kind : the classes, and the form of the labels
    coef, intercept : the linear classifier, one row per class; columns of the vectors come last
    strength, alpha : its regularisation; alpha is that of the selected ridge
    estimator : the scikit-learn classifier, unless it is ridge
    learner : what ``estimator`` was called in the parameters of the fit
    temperature, calibrated : how decisions are converted to probabilities
    estimate : estimated accuracy
    reliability : held-out probabilities, for ``abstain``; None with several labels per document
    cv_results, best_index : all candidates with their scores, and the index of the selected one
    n_documents, n_labelled : number of documents and of labelled documents in the fit
    known_terms : mask of the terms that occur in labelled documents
    labelled_rows : the labelled documents; None after loading
    held_out : held-out decisions on labelled documents; None after loading
    """

    dcot: FittedDCoT
    candidate: Candidate
    embedding: Embedding | None
    had_vectors: bool
    classes: Array
    kind: str
    coef: Array
    intercept: Array
    strength: float
    alpha: float
    estimator: Any
    learner: str
    temperature: float
    calibrated: bool
    estimate: Estimate
    reliability: Reliability | None
    cv_results: dict[str, Any]
    best_index: int
    n_documents: int
    n_labelled: int
    known_terms: Array
    labelled_rows: Documents | None
    held_out: HeldOut | None

    @property
    def exclusive(self) -> bool:
        """Whether a document has exactly one class."""
        return self.kind in EXCLUSIVE

    def decisions(self, documents: Documents) -> Array:
        """Decision values, documents × classes."""
        weights, beside = np.split(self.coef.T, [self.dcot.n_features])
        found = self.dcot.representation.times(documents.terms, weights) + self.intercept
        if self.embedding is not None and documents.vectors is not None:
            found += self.embedding.features(documents.vectors) @ beside
        return np.asarray(found)

    def features(self, documents: Documents) -> list[Matrix]:
        """The input of the linear classifier, in blocks of columns."""
        return _features(self.dcot, self.embedding, documents)

    def probabilities(self, decisions: Array) -> Array:
        return probabilities(decisions, self.temperature, self.exclusive)

    def summary(self) -> str:
        """A paragraph with the selected parameters and the expected accuracy."""
        tried, chosen = self.cv_results["params"], self.candidate
        default = Candidate(**tried[0])
        changed = [name for name, value in tried[0].items() if getattr(chosen, name) != value]
        if len(tried) == 1:
            verdict = "One candidate was used, not chosen among others"
        elif chosen == default:
            verdict = f"Of {len(tried)} candidates none was significantly better than the default"
        else:
            verdict = f"Of {len(tried)} candidates, one with other {' and '.join(changed)} was best"
        return (
            f"Learned words from {self.n_documents} documents, and {len(self.classes)} classes "
            f"from {self.n_labelled} labelled documents. {verdict}: noise {chosen.noise:g}, "
            f"shrinkage {chosen.shrinkage:g}, {len(self.dcot.prototypes)} prototypes, features: "
            f"{chosen.features}{self._embedding_text()}. {self.estimate.sentence()}"
        )

    def _embedding_text(self) -> str:
        if self.embedding is not None:
            return f", and {self.embedding.describe()}"
        return ", without the embedding, which did not help" if self.had_vectors else ""


@dataclass(frozen=True)
class _Training:
    """Labelled documents without copies.

    ``weights`` are those in the linear classifier, followed by those of seed words; ``counts`` the
    weights of documents without class weights; ``judged`` the positions of the documents that
    candidates are evaluated on; ``pool`` the positions of unlabelled documents to predict and learn
    from; ``rows`` and ``pool_rows`` the positions of the labelled documents and of these in the
    input.
    """

    X: Matrix
    multiplicity: Array | None
    labels: Labels
    weights: Array
    counts: Array
    judged: Array
    pool: Array
    rows: Array
    pool_rows: Array
    n_labelled: int
    seeds: Seeds | None

    @property
    def used(self) -> Array:
        """Positions of the evaluated documents and of the seed words."""
        n = len(self.counts)
        return np.concatenate([self.judged, np.arange(n, len(self.weights))])

    @property
    def targets(self) -> Array:
        """Targets of the labelled documents, followed by those of the seed words."""
        targets = self.labels.targets
        return targets if self.seeds is None else np.vstack([targets, self.seeds.targets])

    @property
    def pool_weights(self) -> Array:
        """Weights of the documents of ``pool``."""
        return (
            np.ones(len(self.pool)) if self.multiplicity is None else self.multiplicity[self.pool]
        )

    def with_seeds(self, labelled: Documents) -> Documents:
        """The labelled documents, followed by the seed words."""
        return labelled if self.seeds is None else labelled.joined(self.seeds.documents)


def _features(dcot: FittedDCoT, embedding: Embedding | None, documents: Documents) -> list[Matrix]:
    parts = dcot.representation.parts(documents.terms)
    if embedding is not None and documents.vectors is not None:
        parts.append(embedding.features(documents.vectors).astype(dcot.dtype, copy=False))
    return parts


def fit_classifier(
    X: Matrix,
    labels: Labels,
    weights: Array | None,
    options: ClassifierOptions,
    source: VectorSource | None = None,
    seeds: Seeds | None = None,
) -> FittedClassifier:
    """Select a representation and fit a classifier to its features.

    Parameters
    ----------
    X : all documents × terms, as in ``core.fit.fit``
    labels : labels of some of them
    weights : weights of the documents, for the representation and for the classifier
    source : vectors of the documents, to use in addition
    seeds : seed words, which are used to fit the classifier
    """
    embedding, vectors, added = None, None, None
    if source is not None:
        embedding, vectors = _learned_vectors(source, labels, weights, X.shape[0])
        if seeds is not None:
            width = len(embedding.mean)
            check_vectors(seeds.documents.vectors, len(seeds), "the seed words", width)
    training = _prepare(X, labels, weights, options, seeds, vectors)
    labelled = Documents(training.X[training.labels.labelled])
    pool = Documents(training.X[training.pool])
    if vectors is not None:
        labelled = replace(labelled, vectors=vectors(training.rows))
        pool = replace(pool, vectors=vectors(training.pool_rows))
    judged = training.with_seeds(labelled)[training.used]
    if embedding is not None and judged.vectors is not None:
        unit = embedding.features(judged.vectors)
        tried = options.embedding_weights if len(training.judged) else ()
        counts = training.counts[training.judged]
        added = Vectors(unit @ unit.T, tried, counts, labels.exclusive)
    candidates = options.candidates if len(training.judged) else options.candidates[:1]
    if options.fitted is None:
        n_documents = training.X.shape[0]
        fits = fits_of(training.X, training.multiplicity, candidates, options.base)
    else:
        n_documents = int(options.fitted.n_documents)
        fitted = with_directions(options.fitted, candidates, training.X, training.multiplicity)
        fits = iter([(list(candidates), fitted)])
    selection = select(
        fits,
        judged.terms,
        training.targets[training.used],
        training.weights[training.used],
        added,
        len(training.judged),
    )
    if embedding is not None:
        weight = selection.best.embedding
        embedding = replace(embedding, weight=weight) if weight else None
    if embedding is None:
        labelled, pool = Documents(labelled.terms), Documents(pool.terms)
    had = source is not None
    return _finish(training, labelled, pool, selection, embedding, had, options, n_documents)


def refit_classifier(
    fitted: FittedClassifier,
    documents: Documents,
    labels: Labels,
    weights: Array | None,
    options: ClassifierOptions,
    seeds: Seeds | None = None,
) -> FittedClassifier:
    """Fit the linear classifier again, with the same representation."""
    vectors = None if documents.vectors is None else documents.vectors.__getitem__
    training = _prepare(documents.terms, labels, weights, options, seeds, vectors)
    labelled, pool = documents[training.rows], documents[training.pool_rows]
    parts = fitted.features(training.with_seeds(labelled)[training.used])
    ridge = KernelRidge.fit(
        products(parts, parts),
        training.targets[training.used],
        weights=training.weights[training.used],
        judged=len(training.judged),
    )
    selection = SelectionResult([fitted.candidate], [ridge], 0, fitted.dcot)
    embedding, had, n_documents = fitted.embedding, fitted.had_vectors, fitted.n_documents
    return _finish(training, labelled, pool, selection, embedding, had, options, n_documents)


def _learned_vectors(
    source: VectorSource, labels: Labels, weights: Array | None, n: int
) -> tuple[Embedding, Callable[[Array], Array]]:
    """The embedding, and its vectors of the labelled and the sampled documents, by row."""
    counted = np.arange(n) if weights is None else np.flatnonzero(weights)
    labelled = np.intersect1d(labels.labelled, counted)
    wanted = np.union1d(labelled, counted[evenly_spaced(len(counted))])
    embedding, vectors = source.learn(wanted, None if weights is None else weights[wanted])
    return embedding, lambda rows: vectors[np.searchsorted(wanted, rows)]


def _prepare(
    X: Matrix,
    labels: Labels,
    weights: Array | None,
    options: ClassifierOptions,
    seeds: Seeds | None,
    vectors: Callable[[Array], Array] | None,
) -> _Training:
    places = np.arange(X.shape[0])
    if weights is not None and not weights.all():
        places = np.flatnonzero(weights)
        seeded = None if seeds is None else seeds.targets
        X, labels, weights, present = without_zeros(X, labels, weights, seeded)
        seeds = None if seeds is None else replace(seeds, targets=seeds.targets[:, present])
    check_enough(labels, 0 if seeds is None else len(seeds))
    sampled = evenly_spaced(X.shape[0])
    pool = np.setdiff1d(sampled, labels.labelled)
    label_weights = np.ones(len(labels.labelled)) if weights is None else weights[labels.labelled]
    first, counts = without_duplicates(
        X[labels.labelled],
        labels.targets,
        label_weights,
        None if vectors is None else vectors(places[labels.labelled]),
    )
    check_distinct(len(first), 0 if seeds is None else len(seeds))
    labels, n_labelled = labels.take(first), len(labels.labelled)
    learned, label_weights = labels, counts
    if seeds is not None:  # a word has the weight of a document
        learned = replace(labels, targets=np.vstack([labels.targets, seeds.targets]))
        label_weights = np.concatenate([counts, np.ones(len(seeds))])
    label_weights = with_class_weights(learned, label_weights, options.class_weight)
    warn_of_unequal(label_weights)
    check_usable(options.estimator, labels, label_weights)
    judged = np.arange(len(first))
    if len(first) > MAX_SELECTION_LABELS:
        generator = check_random_state(options.random_state)
        judged = np.sort(generator.choice(len(first), MAX_SELECTION_LABELS, replace=False))
    rows = places[labels.labelled]
    return _Training(
        X,
        weights,
        labels,
        label_weights,
        counts,
        judged,
        pool,
        rows,
        places[pool],
        n_labelled,
        seeds,
    )


def evenly_spaced(n: int) -> Array:
    """Positions of documents to predict and learn from, unless they are labelled."""
    return np.linspace(0, n - 1, min(n, MAX_SAMPLED_DOCUMENTS)).astype(np.intp)


def _finish(
    training: _Training,
    labelled: Documents,
    pool: Documents,
    selection: SelectionResult,
    embedding: Embedding | None,
    had_vectors: bool,
    options: ClassifierOptions,
    n_documents: int,
) -> FittedClassifier:
    """Fit the final classifier, calibrate it, and estimate its accuracy."""
    labels, used = training.labels, training.used
    learned, exclusive = training.with_seeds(labelled), labels.exclusive
    held = held_out_rows(len(learned), check_random_state(options.random_state))
    if _learns_from_pool(training, options):
        linear = _self_trained(training, learned.joined(pool), selection, embedding, options)
    else:
        linear = fit_linear(
            options.estimator,
            _features(selection.fitted, embedding, learned),
            replace(labels, labelled=np.arange(len(learned)), targets=training.targets),
            training.weights,
            selection.ridge,
            used,
            held,
            options.n_jobs,
            options.random_state,
        )
    tfidf = _tfidf(training, learned.terms, linear, held)
    rows, held_out = training.judged, selection.ridge.held_out
    if linear.rows is not None and linear.held_out is not None:
        is_document = linear.rows < len(training.counts)  # documents, not seed words
        rows, held_out = linear.rows[is_document], linear.held_out[is_document]
        by_fold = held_out
    else:
        generator = check_random_state(options.random_state)
        by_fold = held_out_by_fold(selection, generator)
    targets, counts = labels.targets[rows], training.counts[rows]
    # without class weights, so that probabilities follow the frequency of classes
    temperature, calibrated = calibrate(held_out, targets, counts, exclusive)
    chance = probabilities(held_out, temperature, exclusive)
    return FittedClassifier(
        dcot=selection.fitted,
        candidate=selection.best,
        embedding=embedding,
        had_vectors=had_vectors,
        classes=labels.classes,
        kind=labels.kind,
        coef=np.ascontiguousarray(linear.coef, dtype=selection.fitted.dtype),
        intercept=linear.intercept,
        strength=linear.strength,
        alpha=selection.ridge.alpha,
        estimator=linear.estimator,
        learner=str(options.estimator),
        temperature=temperature,
        calibrated=calibrated,
        estimate=estimate(by_fold, tfidf, targets, counts, exclusive, options.random_state),
        reliability=_reliability(chance, targets, counts, exclusive),
        cv_results=cv_results(
            selection,
            labels.targets[training.judged],
            training.counts[training.judged],
            exclusive,
        ),
        best_index=selection.best_index,
        n_documents=n_documents,
        n_labelled=training.n_labelled,
        known_terms=Moments.of(learned.terms).document_frequency > 0,
        labelled_rows=labelled,
        held_out=HeldOut(training.rows[rows], targets, held_out),
    )


def _learns_from_pool(training: _Training, options: ClassifierOptions) -> bool:
    """Whether the classifier also learns from its predictions for unlabelled documents."""
    return bool(
        options.self_training
        and options.estimator == "ridge"
        and training.labels.exclusive
        and len(training.pool)
        and len(training.judged) == len(training.counts)
        and len(training.weights) <= MAX_KERNEL_LABELS
    )


def _self_trained(
    training: _Training,
    documents: Documents,
    selection: SelectionResult,
    embedding: Embedding | None,
    options: ClassifierOptions,
) -> LinearFit:
    """Ridge on labelled documents, seed words and unlabelled documents, in this order."""
    features, ridge = _features(selection.fitted, embedding, documents), selection.ridge
    found = self_train(
        products(features, features),
        training.targets,
        training.weights,
        ridge,
        training.counts,
        training.pool_weights,
        # probabilities depend on the folds: without a seed, they are the same every time
        check_random_state(0 if options.random_state is None else options.random_state),
    )
    coef = combined(features, found.dual).T
    strength = ridge.strength * found.alpha / ridge.alpha
    return LinearFit(coef, found.intercept, strength, None, training.judged, found.held_out)


def _tfidf(training: _Training, X: Matrix, linear: LinearFit, held: Array) -> Array:
    """Held-out decisions of ridge on TF-IDF, for the same documents as those of ``linear``."""
    used = training.used
    targets, weights = training.targets, training.weights
    ridge = KernelRidge.fit(
        input_kernel(X[used]), targets[used], weights=weights[used], judged=len(training.judged)
    )
    evaluated = linear.rows is None or np.array_equal(linear.rows, training.judged)
    if evaluated or linear.estimator is not None:
        return ridge.held_out
    assert linear.rows is not None
    by_kernel = len(linear.rows) == len(weights)  # the same documents are left out
    found = fit_ridge([unit_rows(X)], targets, weights, ridge, used, held, by_kernel).held_out
    assert found is not None
    return found[linear.rows < len(training.counts)]


def _reliability(
    chance: Array, targets: Array, counts: Array, exclusive: bool
) -> Reliability | None:
    if not exclusive or not len(targets):
        return None
    return Reliability.of(chance, targets.argmax(axis=1), counts)
