"""A model that labelling starts from: its representation, and what it decides before any label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from dcot.classifier import DCoTClassifier
from dcot.classifier.calibration import Reliability, probabilities
from dcot.classifier.estimate import Estimate, estimate
from dcot.classifier.fit import FittedClassifier, HeldOut
from dcot.classifier.labels import is_missing
from dcot.classifier.ridge import KernelRidge
from dcot.classifier.selection import input_kernel
from dcot.core.moments import Moments
from dcot.errors import InvalidInputError, InvalidParameterError, InvalidTypeError
from dcot.vectorizer import DCoTVectorizer
from dcot.web.learning import Prior, Snapshot
from dcot.web.space import Space, compressed_space, space_of

Model = DCoTVectorizer | DCoTClassifier

MAX_ANCHORS = 100  # documents on which the decisions of a given classifier are kept


def check_given(model: object, name: str, embedding: Any = None) -> Model:
    """A model that labelling can start from, or an error that says why not."""
    if isinstance(model, DCoTVectorizer):
        _check_features(model, name)
        return model
    if not isinstance(model, DCoTClassifier):
        raise InvalidTypeError(
            f"{name} is a {type(model).__name__}: labelling starts from a DCoTVectorizer or a "
            "DCoTClassifier, which read texts"
        )
    fitted = model._fitted()
    if model.vectorizer_ is None:
        raise InvalidTypeError(f"{name} was trained on a matrix: labelling needs a model of texts")
    if not fitted.exclusive:
        raise InvalidInputError(
            f"{name} gives several labels per document, and labelling gives one: start from "
            "another model, or from model.vectorizer_"
        )
    if embedding is not None:
        raise InvalidParameterError(
            f"{name} is a classifier, which has its vectors already: leave embedding out, or start "
            "from a vectorizer"
        )
    if fitted.embedding is not None and fitted.embedding.table is None:
        model._available()  # an error, if a folder does not hold it
    return model


def _check_features(vectorizer: DCoTVectorizer, name: str) -> None:
    """Refuse what the classifier that is saved in the end would refuse."""
    n_components = vectorizer._fitted().n_components
    if n_components is not None:
        raise InvalidParameterError(
            f"{name} has n_components={n_components}, and a classifier learns from all features, "
            "so that no model could be saved: start from a vectorizer that was fitted with "
            "n_components=None"
        )


def class_names(model: Model | None) -> tuple[str, ...]:
    """The classes of a classifier, as people read them."""
    if not isinstance(model, DCoTClassifier):
        return ()
    return tuple(str(name) for name in model.classes_)


def start_from(
    model: Model, texts: Sequence[str], seed: int = 0, embedding: Any = None
) -> tuple[Space, Prior | None]:
    """Documents in the representation of a model; the decisions of a classifier, too."""
    if isinstance(model, DCoTVectorizer):
        return space_of(model, texts, seed, embedding), None
    fitted, vectorizer = model._fitted(), model.vectorizer_
    assert vectorizer is not None
    documents = model._read(texts)
    fitted = model._fitted()  # with the encoder, which reading may have found
    of_terms, beside = np.split(fitted.coef.T, [fitted.dcot.n_features])
    space = compressed_space(vectorizer, documents, seed, fitted.embedding, of_terms)
    components = space.representation.components
    assert components is not None
    coef = np.vstack([components.T @ of_terms, beside]).astype(space.Z.dtype)
    return space, _prior(fitted, class_names(model), coef, space, seed)


def _prior(
    fitted: FittedClassifier, names: tuple[str, ...], coef: Any, space: Space, seed: int
) -> Prior:
    known = np.flatnonzero(space.known)
    count = min(MAX_ANCHORS, fitted.n_labelled, len(known))
    rows = np.random.RandomState(seed).permutation(known)[:count]
    return Prior(
        names,
        coef,
        np.asarray(fitted.intercept, dtype=np.float64),
        fitted.temperature,
        fitted.calibrated,
        fitted.alpha,
        space.Z[rows],
    )


def new_classifier(given: Model | None, embedding: Any, seed: int) -> DCoTClassifier:
    """Unfitted, on the representation of a given vectorizer if there is one."""
    frozen = None if given is None else FrozenEstimator(given)
    return DCoTClassifier(vectorizer=frozen, embedding=embedding, random_state=seed)


def updated(model: DCoTClassifier, space: Space, snapshot: Snapshot, seed: int) -> DCoTClassifier:
    """The given classifier with what the labels added: it decides as the page does."""
    fitted, components = model._fitted(), space.representation.components
    assert components is not None
    values, snapshot = _sorted(class_values(model, snapshot.classes), snapshot)
    of_terms, beside = np.split(snapshot.coef, [components.shape[1]])
    coef = np.vstack([components @ of_terms, beside]).T
    rows, codes, held_out = snapshot.rows, snapshot.codes, snapshot.held_out
    chance, once = probabilities(held_out, snapshot.temperature, True), np.ones(len(rows))
    learned = replace(
        fitted,
        classes=_as_array(values),
        coef=np.ascontiguousarray(coef, dtype=fitted.dcot.dtype),
        intercept=snapshot.intercept,
        alpha=snapshot.alpha,
        estimator=None,
        learner="ridge",
        temperature=snapshot.temperature,
        calibrated=snapshot.calibrated,
        estimate=_estimate(space, snapshot, seed),
        reliability=Reliability.of(chance, codes, once) if len(rows) else None,
        n_labelled=fitted.n_labelled + len(rows),
        known_terms=fitted.known_terms | (Moments.of(space.X[rows]).document_frequency > 0),
        labelled_rows=None,
        held_out=HeldOut(rows, snapshot.targets, held_out),
    )
    return model._refitted_by_ridge(learned)


def class_values(model: DCoTClassifier, names: Sequence[str]) -> list[Any]:
    """The classes of a given model by their names; text for a class that it does not have.

    If its classes are numbers, a new class whose name is a number of that kind is one, too.
    """
    known = dict(zip(class_names(model), model.classes_.tolist(), strict=True))
    kinds = {type(value) for value in known.values()} & {int, float}
    found = []
    for name in names:
        read = [value for kind in kinds if (value := _number(name, kind)) is not None]
        new = read[0] if read and not is_missing(read[0], model.unlabelled_label) else name
        found.append(known.get(name, new))
    return found


def _number(name: str, kind: type[int] | type[float]) -> int | float | None:
    """The number that is written exactly like the name; None if there is none."""
    try:
        value = kind(name)
    except ValueError:
        return None
    return value if str(value) == name and math.isfinite(value) else None


def _sorted(values: Sequence[Any], snapshot: Snapshot) -> tuple[list[Any], Snapshot]:
    """Numbers in their own order, text after them; the columns of the snapshot alike."""
    order = sorted(range(len(values)), key=lambda k: (isinstance(values[k], str), values[k]))
    place = np.argsort(order)
    moved = replace(
        snapshot,
        classes=tuple(snapshot.classes[k] for k in order),
        coef=snapshot.coef[:, order],
        intercept=snapshot.intercept[order],
        codes=place[snapshot.codes],
        held_out=snapshot.held_out[:, order],
        best=place[snapshot.best],
    )
    return [values[k] for k in order], moved


def _as_array(values: Sequence[Any]) -> NDArray[Any]:
    """An array in which numbers stay numbers, beside text too."""
    array = np.array(values)
    if array.tolist() == list(values):  # not so if numbers became text, or lost digits
        return array
    mixed = np.empty(len(values), dtype=object)
    mixed[:] = values
    return mixed


def _estimate(space: Space, snapshot: Snapshot, seed: int) -> Estimate:
    """From the labels of the page alone: those that the given model learned from are unknown."""
    words, targets = snapshot.held_out, snapshot.targets
    if len(targets):
        words = KernelRidge.fit(input_kernel(space.X[snapshot.rows]), targets).held_out
    once = np.ones(len(targets))
    return estimate(snapshot.held_out, words, targets, once, True, seed)
