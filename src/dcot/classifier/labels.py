"""Read labels: some may be missing, and a document may have one or several."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Integral, Number, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_sample_weight

from dcot.classifier.ridge import targets_of
from dcot.core.centred import Matrix
from dcot.errors import DcotError, InvalidInputError, InvalidParameterError, InvalidTypeError

Array = NDArray[Any]

EXCLUSIVE = ("single", "soft")  # kinds of labels with exactly one class per document
LEAST_WEIGHT = 1e-9  # of a class; and one over it is the largest
MAX_RATIO = 1e8  # of weights; beyond it, leaving out a heavy document is lost in rounding
SAME_VECTOR = 1e-4  # vectors of copies differ by less than this, relative to their length
_SUM_TOLERANCE = 1e-3  # of the probabilities of a document


@dataclass(frozen=True)
class Labels:
    """The labelled documents and their targets of ±1.

    Attributes
    ----------
    labelled : rows of the documents with labels
    targets : labelled documents × classes, ±1; for soft labels between, 2p - 1
    classes : sorted; those of soft labels in the order of the columns
    kind : ``"single"``, ``"soft"``, ``"indicator"`` or ``"sets"``: how labels were given, and are
        returned
    """

    labelled: Array
    targets: Array
    classes: Array
    kind: str

    @property
    def exclusive(self) -> bool:
        """Whether a document has exactly one class."""
        return self.kind in EXCLUSIVE

    def take(self, places: Array) -> Labels:
        """The labels of some of the labelled documents."""
        return replace(self, labelled=self.labelled[places], targets=self.targets[places])


# -- reading ------------------------------------------------------------------------------------


def read_labels(y: Any, n: int, mark: Any = -1) -> Labels:
    """Read labels; None, NaN, NA, ``""`` and ``mark`` mean unlabelled.

    >>> read_labels(["oil", None, "grain", ""], 4).labelled
    array([0, 2])
    """
    mark, values = _checked_mark(mark), label_values(y)
    if len(values) != n:
        raise InvalidInputError(
            f"Found input variables with inconsistent numbers of samples: {n} documents, "
            f"{len(values)} labels; give one label for each document, None for unlabelled ones"
        )
    return _read_values(values, _column_names(y), mark)


def _checked_mark(mark: Any) -> Any:
    """The mark of unlabelled documents; None if it is one of those that always count."""
    if is_set(mark) or isinstance(mark, Mapping) or np.ndim(mark):
        raise InvalidParameterError(
            f"unlabelled_label must be one label, or None, got {mark!r:.80}"
        )
    return None if is_missing(mark, None) else mark


def _read_values(values: list[Any] | Array, columns: Any, mark: Any) -> Labels:
    try:
        return _read_any(values, columns, mark)
    except DcotError:
        raise
    except (TypeError, ValueError, ArithmeticError) as error:
        raise InvalidTypeError(
            f"y has labels that cannot be sorted ({error}): expected strings or whole numbers, as "
            "in [str(label) for label in y]"
        ) from error


def _read_any(values: list[Any] | Array, columns: Any, mark: Any) -> Labels:
    if not isinstance(values, np.ndarray) and any(is_set(value) for value in values):
        matrix = _as_matrix(values, mark)
        if matrix is None:
            return _sets(values, mark)
        values = matrix
    if isinstance(values, np.ndarray):
        soft = _soft(values, columns, mark)
        return _indicator(values, columns, mark) if soft is None else soft
    return _single(values, mark)


def label_values(y: Any) -> list[Any] | Array:
    """A list with a label, or a set of them, for each document; or a matrix of indicators.

    Columns of pandas, polars and Arrow are read as they are: whole numbers with missing values
    stay whole numbers.
    """
    if y is None:
        raise InvalidInputError(
            "y is missing (requires y to be passed, but the target y is None): give a label for "
            "each document, None for unlabelled ones"
        )
    if isinstance(y, str | bytes):
        raise InvalidInputError(
            f"y is a single {type(y).__name__}, expected one label per document"
        )
    if isinstance(y, Mapping | set | frozenset):
        raise InvalidTypeError(
            f"y is a {type(y).__name__}, which does not say which label is that of which document: "
            "expected a list, in the order of the documents"
        )
    if sp.issparse(y):
        return np.asarray(y.toarray())
    if isinstance(y, np.ma.MaskedArray):
        y = _unmasked(y)
    if isinstance(y, np.ndarray) or hasattr(y, "columns"):
        return _array_values(np.asarray(y))
    try:
        for method in ("to_pylist", "to_list", "tolist"):  # Arrow, polars and pandas
            if hasattr(y, method):
                return list(getattr(y, method)())
        if hasattr(y, "__array__"):
            return _array_values(np.asarray(y))
        return list(y)
    except TypeError:
        raise InvalidTypeError(
            f"y is a {type(y).__name__}, expected a sequence with one label per document"
        ) from None


def _column_names(y: Any) -> Any:
    """The names of the columns of a table; None of an array. ``columns`` of Arrow are not names."""
    return getattr(y, "column_names", getattr(y, "columns", None))


def _unmasked(y: Any) -> Any:
    """An array without a mask: masked labels are missing."""
    if y.ndim == 1:
        return y.tolist()
    return y.astype(np.float64).filled(np.nan) if y.mask.any() else y.data


def _array_values(y: Array) -> list[Any] | Array:
    if y.ndim == 2 and y.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: pass y.ravel()",
            DataConversionWarning,
            stacklevel=5,
        )
        y = y.ravel()
    if y.ndim > 2 or y.ndim == 0:
        raise InvalidInputError(f"y must have one or two dimensions, got {y.ndim}")
    if y.ndim == 1:
        return list(y)
    if y.dtype == object:  # numbers with missing values
        rows = [[np.nan if is_missing(value, None) else value for value in row] for row in y]
        with suppress(TypeError, ValueError):
            return np.array(rows, dtype=np.float64)
    return y


def is_set(value: Any) -> bool:
    return isinstance(value, list | tuple | set | frozenset | np.ndarray)


def is_missing(value: Any, mark: Any) -> bool:
    """Whether a label marks an unlabelled document."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Number) and value != value:  # NaN
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):  # -1 is no duration
        return bool(np.isnat(value) or (isinstance(mark, type(value)) and value == mark))
    if isinstance(value, str) and not value:
        return True
    if mark is None or is_set(value) or isinstance(mark, str) != isinstance(value, str):
        return False
    return bool(value == mark)


def _single(values: list[Any], mark: Any) -> Labels:
    labelled = np.array([i for i, v in enumerate(values) if not is_missing(v, mark)], dtype=np.intp)
    kept = [values[i] for i in labelled]
    _check_kinds(kept)
    classes, targets = (
        targets_of(as_label_array(kept)) if kept else (np.array([]), np.empty((0, 0)))
    )
    return Labels(labelled, targets, classes, "single")


def as_label_array(names: list[Any]) -> Array:
    """An array in which different labels stay different."""
    if any(isinstance(name, str | bytes) and name[-1:] in ("\0", b"\0") for name in names):
        raise InvalidInputError(
            "there are labels that end in NUL, which an array of texts cannot hold: remove it, as "
            "in label.rstrip('\\0')"
        )
    # plain texts: those of an Enum have a length and a text that do not go together
    found = np.asarray([str.__str__(name) if isinstance(name, str) else name for name in names])
    whole = all(isinstance(name, Integral) for name in names)
    if found.dtype.kind == "f" and (whole or len(set(found.tolist())) < len(set(names))):
        found = np.asarray(names, dtype=object)  # beyond 64 bits, or beyond the digits of a float
    return found


def _check_kinds(values: Iterable[Any]) -> None:
    kinds = {
        "text" if isinstance(v, str) else "bytes" if isinstance(v, bytes) else "numbers"
        for v in values
    }
    if len(kinds) > 1:
        raise InvalidTypeError(
            f"y has labels of mixed types, {' and '.join(sorted(kinds, reverse=True))}: expected "
            "one kind; convert them, as in [str(label) for label in y]"
        )
    for value in values:
        if isinstance(value, float | np.floating) and not np.isfinite(value):
            raise InvalidInputError("Input y contains infinity: expected finite labels")
        if isinstance(value, float | np.floating) and value != int(value):
            raise InvalidInputError(
                f"Unknown label type: continuous. y has {float(value)!r}, expected classes"
            )


def _as_matrix(values: list[Any], mark: Any) -> Array | None:
    """Rows of equal length with 0, 1 (and the mark), or probabilities, as a matrix; else None.

    Rows of unlabelled documents become NaN. Rows with one number are lists of one label.
    """
    known = [not is_missing(value, mark) for value in values]
    kept = [value for value, there in zip(values, known, strict=True) if there]
    if not all(isinstance(value, list | tuple | np.ndarray) for value in kept):
        return None
    lengths = {len(value) for value in kept}
    if len(lengths) != 1 or lengths <= {0, 1}:
        return None
    array = np.asarray(kept)
    shares = array.dtype.kind == "f" and bool((np.rint(array) != array).any())
    if array.dtype.kind not in "iufb" or not (shares or np.isin(array, [0, 1, mark]).all()):
        return None
    if all(known):
        return array
    found = np.full((len(values), array.shape[1]), np.nan)
    found[known] = array
    return found


def _soft(y: Array, columns: Any, mark: Any) -> Labels | None:
    """Read rows of probabilities; None if all values are 0 or 1, as in an indicator matrix.

    If columns have names and each row has a single 1, these are probabilities that are certain.
    The names of the columns are the classes, else their numbers. A row of NaN, or of the mark, is
    that of an unlabelled document.
    """
    if y.dtype.kind != "f":
        return None
    missing = np.isnan(y).all(axis=1) | (not isinstance(mark, str) and (y == mark).all(axis=1))
    kept = y[~missing].astype(np.float64)
    sums = kept.sum(axis=1)
    if np.isin(kept, [0, 1]).all() and (columns is None or (sums != 1).any()):
        return None
    bad = ~((kept >= 0).all(axis=1) & (np.abs(sums - 1) <= _SUM_TOLERANCE))
    if bad.any():
        place = int(np.flatnonzero(~missing)[bad.argmax()])
        raise InvalidInputError(
            f"row {place} of y is {y[place].tolist()!s:.80}, expected probabilities of the "
            "classes, zero or more, that sum to 1 (or, with several labels per document, 0 and 1; "
            "an unlabelled document has NaN in every column)"
        )
    classes = _named_classes(columns, y.shape[1])
    return Labels(np.flatnonzero(~missing), 2 * kept / sums[:, None] - 1, classes, "soft")


def _named_classes(columns: Any, count: int) -> Array:
    """The names of the columns; their numbers if they have none."""
    if columns is None:
        return np.arange(count)
    _check_kinds(columns)
    classes = as_label_array(list(columns))
    if len(set(classes.tolist())) < len(classes):
        raise InvalidInputError(f"columns of y have the same name: {classes.tolist()!s:.80}")
    return classes


def _indicator(y: Array, columns: Any, mark: Any) -> Labels:
    marked = (y == mark).all(axis=1) if not isinstance(mark, str) else np.zeros(len(y), dtype=bool)
    if y.dtype.kind == "f":
        marked |= np.isnan(y).all(axis=1)
    labelled = np.flatnonzero(~marked)
    kept = y[labelled]
    if kept.dtype.kind not in "iufb" or not np.isin(kept, [0, 1]).all():
        raise InvalidInputError(
            "y with two dimensions must be an indicator matrix of 0 and 1 (an unlabelled document "
            f"has {mark!r} or NaN in every column)"
        )
    classes = _named_classes(columns, y.shape[1])
    return Labels(labelled, np.where(kept > 0, 1.0, -1.0), classes, "indicator")


def _sets(values: list[Any], mark: Any) -> Labels:
    labelled = [i for i, value in enumerate(values) if not is_missing(value, mark)]
    _check_sets(values, labelled)
    for i in labelled:
        for name in values[i]:
            if not is_set(name) and is_missing(name, None):
                raise InvalidInputError(
                    f"y has {name!r} among the labels of document {i}, expected labels: leave it "
                    "out; None instead of the list marks an unlabelled document"
                )
    found = {name for i in labelled for name in values[i]}
    _check_kinds(found)
    names = sorted(found)
    column = {name: k for k, name in enumerate(names)}
    targets = np.full((len(labelled), len(names)), -1.0)
    for row, i in enumerate(labelled):
        targets[row, [column[name] for name in values[i]]] = 1.0
    return Labels(np.array(labelled, dtype=np.intp), targets, as_label_array(names), "sets")


def _check_sets(values: Any, labelled: list[int]) -> None:
    bad = [i for i in labelled if not is_set(values[i])]
    if bad:
        raise InvalidTypeError(
            f"y has lists of labels and, at position {bad[0]}, {values[bad[0]]!r}: give every "
            "document a list, or None for unlabelled ones"
        )


def check_enough(labels: Labels, n_seeds: int = 0) -> None:
    """Raise an error if no classifier can be fitted to these labels."""
    count, names = len(labels.labelled), labels.classes.tolist()
    if n_seeds and len(names) > 1:
        return
    if n_seeds:
        raise InvalidInputError(
            f"Classifier can't train when only one class is present: all labels and seed words are "
            f"of {names[0]!r}; give a word or a label for at least one more class"
        )
    if not count:
        raise InvalidInputError(
            "no document has a label: label a few of each class, and mark the others with None"
        )
    if labels.exclusive and len(names) < 2:
        marked = (
            ", or, if the value that marks unlabelled documents (-1 by default) is a class, set "
            "unlabelled_label"
        )
        raise InvalidInputError(
            f"Classifier can't train when only one class is present: all {count} labelled "
            f"documents are {names[0]!r}; label documents of at least one more class"
            + ("" if isinstance(names[0], str) else marked)
        )
    if labels.kind == "soft" and not np.ptp(labels.targets, axis=0).any():
        raise InvalidInputError(
            f"all {count} labelled documents have the same probabilities, so the classes cannot be "
            "distinguished: give some documents other labels"
        )
    if not names:
        raise InvalidInputError(
            f"all {count} labelled documents have an empty list of labels: there is no class to "
            "learn; give some of them a label"
        )
    if count < 2:
        raise InvalidInputError(f"at least two labelled documents are needed, got {count}")


def check_distinct(count: int, n_seeds: int) -> None:
    """Raise an error if all labelled documents are copies of one."""
    if count + n_seeds < 2:
        raise InvalidInputError(
            "all labelled documents have the same words and labels: give labels to at least two "
            "different documents"
        )


# -- weights ------------------------------------------------------------------------------------


def without_zeros(
    X: Matrix, labels: Labels, weights: Array, seeded: Array | None
) -> tuple[Matrix, Labels, Array, Array]:
    """Leave out documents with weight zero, and classes that only these have.

    ``seeded`` are the targets of seed words, whose classes are kept. The last value is a mask of
    the classes that are kept.
    """
    kept = weights > 0
    place = np.cumsum(kept) - 1
    counted = kept[labels.labelled]
    rows, targets = place[labels.labelled[counted]], labels.targets[counted]
    present = (targets > -1).any(axis=0) | (not labels.exclusive)
    if seeded is not None:
        present = present | (seeded > -1).any(axis=0)
    labels = Labels(rows, targets[:, present], labels.classes[present], labels.kind)
    return X[kept], labels, weights[kept], np.asarray(present)


def with_class_weights(labels: Labels, weights: Array, class_weight: Any) -> Array:
    """Weights of the labelled documents times those of their classes.

    ``"balanced"`` is one over the size of a class, ``"sqrt"`` one over its square root. The size is
    the total weight of the documents. With several labels per document, ``"sqrt"``, the default,
    has no effect.
    """
    named = class_weight if isinstance(class_weight, str) else None  # an array has no truth value
    if class_weight is None or (named == "sqrt" and not labels.exclusive):
        return weights
    if not labels.exclusive:
        raise InvalidParameterError("class_weight needs one label per document: set it to None")
    codes = labels.targets.argmax(axis=1)
    if named in ("balanced", "sqrt"):
        members = (labels.targets + 1) / 2
        totals = weights @ members
        power = 1.0 if named == "balanced" else 0.5
        scaled = weights * (members @ np.maximum(totals, 1e-300) ** -power)
        return np.asarray(scaled * (weights.sum() / scaled.sum()))
    if not isinstance(class_weight, Mapping):
        raise InvalidParameterError(
            f"class_weight must be 'sqrt', 'balanced', a mapping from classes to weights or None, "
            f"got {class_weight!r}"
        )
    _check_class_weights(class_weight)
    try:
        return np.asarray(weights * compute_sample_weight(class_weight, labels.classes[codes]))
    except ValueError as error:  # scikit-learn's names the classes without a weight
        names = labels.classes.tolist()
        unknown = [name for name in class_weight if name not in names]
        raise InvalidParameterError(
            f"class_weight has {unknown!s:.80}, and the classes are {names!s:.200}: name classes "
            "only; those that are not named have weight 1"
        ) from error


def _check_class_weights(class_weight: Mapping[Any, Any]) -> None:
    for name, weight in class_weight.items():
        number = float(weight) if isinstance(weight, Real) else np.nan
        if not LEAST_WEIGHT <= number <= 1 / LEAST_WEIGHT:
            raise InvalidParameterError(
                f"class_weight of {name!r} must be a positive number, from {LEAST_WEIGHT:g} to "
                f"{1 / LEAST_WEIGHT:g}, got {weight!r}: to leave out a class, leave out its labels"
            )


def warn_of_unequal(weights: Array) -> None:
    """Warn if some labelled documents hardly count against others."""
    least, most = float(weights.min()), float(weights.max())
    if most > MAX_RATIO * least:
        warnings.warn(
            f"the weights of the labelled documents (sample_weight times class_weight) are from "
            f"{least:.2g} to {most:.2g}: with a ratio above {MAX_RATIO:.0e} the light ones hardly "
            "count, and the estimate of the accuracy is not exact; give weights that are closer "
            "together, or 0 to leave documents out",
            stacklevel=5,
        )


def without_duplicates(
    rows: Any, targets: Array, weights: Array, vectors: Array | None = None
) -> tuple[Array, Array]:
    """Positions of distinct labelled documents, and the weight of all copies of each.

    Copies of a document are left out together, so that leave-one-out is not too optimistic. They
    have the same terms, the same targets and, if there are any, the same vectors. Documents without
    any term are no copies of each other: new ones, too, will be like those that are known.
    """
    keys: dict[bytes, int] = {}
    member = np.empty(len(targets), dtype=np.intp)
    for i in range(len(targets)):
        if sp.issparse(rows):
            part = slice(rows.indptr[i], rows.indptr[i + 1])
            key = rows.indices[part].tobytes() + b"|" + rows.data[part].tobytes()
            empty = part.start == part.stop
        else:
            key = rows[i].tobytes()
            empty = not rows[i].any()
        key += b"|" + (b"%d" % i if empty and vectors is None else targets[i].tobytes())
        member[i] = keys.setdefault(key, len(keys))
    if vectors is not None:
        member = _with_equal_vectors(member, vectors)
    _, first, member = np.unique(member, return_index=True, return_inverse=True)
    order = np.argsort(first)  # as the documents were given
    return first[order], np.bincount(member, weights=weights)[order]


def _with_equal_vectors(member: Array, vectors: Array) -> Array:
    """Divide groups of documents further, by their vectors.

    The vectors of copies differ by rounding if an encoder read them in different batches. So
    documents are sorted along a random direction, where copies are neighbours, and compared.
    """
    rows = np.flatnonzero(np.bincount(member)[member] > 1)
    if not len(rows):
        return member
    direction = np.random.default_rng(0).standard_normal(vectors.shape[1])
    rows = rows[np.lexsort((vectors[rows] @ direction, member[rows]))]
    ordered = vectors[rows].astype(np.float64)
    steps = np.linalg.norm(np.diff(ordered, axis=0), axis=1)
    equal = steps <= SAME_VECTOR * np.linalg.norm(ordered[1:], axis=1)
    new = np.append(True, (np.diff(member[rows]) > 0) | ~equal)
    found = member.copy()
    found[rows] = len(member) + np.cumsum(new)
    return found


# -- scoring ------------------------------------------------------------------------------------


def hits(y: Any, predicted: Any, kind: str, mark: Any, classes: Array) -> tuple[Array, Array]:
    """Mask of the labelled documents, and mask of those among them with a correct prediction.

    ``classes`` are those of the model, for soft labels.
    """
    mark, values = _checked_mark(mark), label_values(y)
    if len(values) != len(predicted):
        raise InvalidInputError(
            f"{len(predicted)} documents, but {len(values)} labels to score them by"
        )
    if kind == "soft" and (isinstance(values, np.ndarray) or any(map(is_set, values))):
        columns = _column_names(y)
        known = _read_values(values, columns, mark)
        best = _most_probable(known, columns, classes)
        labelled = np.isin(np.arange(len(values)), known.labelled)
        return labelled, np.asarray(best == np.asarray(predicted)[labelled])
    if kind == "indicator":
        return _indicator_hits(values, np.asarray(predicted), mark)
    if isinstance(values, np.ndarray) or (kind == "single" and any(map(is_set, values))):
        raise InvalidInputError(
            "y has several labels per document, and the model was trained with "
            f"{'one each' if kind == 'single' else 'lists of them'}: give them in the same form"
        )
    labelled = np.array([not is_missing(value, mark) for value in values], dtype=bool)
    pairs = [(values[i], predicted[i]) for i in np.flatnonzero(labelled)]
    if kind == "sets":
        _check_sets(values, np.flatnonzero(labelled).tolist())
        return labelled, np.array([_same_members(a, b) for a, b in pairs], dtype=bool)
    return labelled, np.array([a == b for a, b in pairs], dtype=bool)


def _most_probable(known: Labels, columns: Any, classes: Array) -> Array:
    """The most probable class of each document; columns without names are those of the model."""
    if known.kind == "sets" or not (known.targets > -1).any(axis=1).all():
        raise InvalidInputError(
            "y must have a row of probabilities for each document, or one label, to score a model "
            "of soft labels by"
        )
    names = classes if columns is None else np.asarray(list(columns))
    if len(names) != known.targets.shape[1]:
        raise InvalidInputError(
            f"y has {known.targets.shape[1]} columns, expected one for each of the {len(names)} "
            "classes, in their order, or a DataFrame with their names"
        )
    return np.asarray(names[known.targets.argmax(axis=1)])


def _indicator_hits(values: Any, predicted: Array, mark: Any) -> tuple[Array, Array]:
    truth = values if isinstance(values, np.ndarray) else _as_matrix(values, mark)
    if truth is None or truth.shape != predicted.shape:
        raise InvalidInputError(
            f"y has {'other rows' if truth is None else f'shape {truth.shape}'}, expected "
            f"{predicted.shape}, as in fit: a row of 0 and 1 per document, a column per class"
        )
    known = _indicator(truth, None, mark)
    labelled = np.isin(np.arange(len(truth)), known.labelled)
    return labelled, ((known.targets > 0) == (predicted > 0)[labelled]).all(axis=1)


def _same_members(one: Any, other: Any) -> bool:
    try:
        return set(one) == set(other)
    except TypeError as error:
        raise InvalidTypeError(
            f"y has lists of labels that are no labels ({error}): expected strings or whole numbers"
        ) from error
