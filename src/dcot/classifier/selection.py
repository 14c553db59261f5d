"""Select parameters with few labels: closed-form leave-one-out, and a preference for the default.

The candidates are the default, and the default with one parameter changed. Each is evaluated by the
squared error of predicting every labelled document from the others. With few labels these errors
are noisy, and the candidate with the smallest error is often no better on other documents. So a
candidate replaces the default only if it is better by more than three standard errors of the
difference, document by document; one is enough to leave out LSI. Without a grid, only the features
are selected: the layers, LSI (the projection of x on its leading directions) and, with many labels,
x. This is cheap, because one fit serves all candidates.

Vectors are added to the selected features; their weight is selected by the likelihood of the
labels. Squared errors would select too small a weight, because vectors decide well between similar
classes, but are far from the targets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.classifier.calibration import log_losses
from dcot.classifier.ridge import KernelRidge
from dcot.core.centred import Matrix, scale_rows
from dcot.core.fit import FittedDCoT, fit_path
from dcot.core.options import FitOptions, check_integer, check_noise, check_number
from dcot.core.representation import WITH_LSI, WITH_X, Representation, sample
from dcot.errors import InvalidParameterError, InvalidTypeError
from dcot.estimator import DCoT

Array = NDArray[Any]

# Values to try in addition to those of the vectorizer.
GRID: dict[str, tuple[Any, ...]] = {
    "noise": (),
    "shrinkage": (),
    "n_prototypes": (),
    "features": ("LSI and both layers", "both layers", "x and LSI and both layers"),
    "embedding": (),
}
# Weights of the vectors relative to dCoT, if there are any; the first is the default.
EMBEDDING_WEIGHTS = (1.0, 2.0, 4.0, 0.5, 0.0)
MAX_EMBEDDING_WEIGHT = 1e5  # dCoT would be lost in rounding

CLEAR_STANDARD_ERRORS = 3.0
# LSI is dropped on less evidence: features with and without it are alike, and so are their errors.
LSI_STANDARD_ERRORS = 1.0
# So is the default weight of vectors: likelihoods tell weights apart better than squared errors.
EMBEDDING_STANDARD_ERRORS = 2.0
ROUNDING = 1e-5  # a smaller difference, relative to the error, says nothing
# Number of labels from which x helps. Leave-one-out would select it with fewer labels.
INPUT_FROM_LABELS = 1000


@dataclass(frozen=True)
class Candidate:
    """Parameters to evaluate.

    ``noise`` and ``shrinkage`` are those of the first layer; ``embedding`` is the weight of the
    vectors relative to dCoT, 0 without vectors.
    """

    noise: float
    shrinkage: float
    n_prototypes: int
    features: str
    embedding: float = 0.0

    @property
    def n_layers(self) -> int:
        return layers_and_output(self.features)[0]

    @property
    def output(self) -> str:
        return layers_and_output(self.features)[1]

    def options(self, base: FitOptions) -> FitOptions:
        """Options of a fit with these parameters; the others are those of ``base``."""
        depth = self.n_layers
        return replace(
            base,
            noise=(self.noise, *base.noise[1:])[:depth],
            shrinkage=(self.shrinkage, *base.shrinkage[1:])[:depth],
            n_prototypes=self.n_prototypes,
            output=self.output,
        )

    def parameters(self, dcot: DCoT | None = None) -> dict[str, Any]:
        """The same as parameters of ``DCoT``; the others are those of ``dcot``."""
        base = base_options(DCoT() if dcot is None else dcot, [self.features])
        options = self.options(base)
        return {
            "noise": options.noise,
            "shrinkage": options.shrinkage,
            "n_prototypes": options.n_prototypes,
            "n_layers": options.n_layers,
            "output": options.output,
        }


_OUTPUTS = {"": "layers", "x and ": "concat", "LSI and ": "lsi", "x and LSI and ": "all"}


def layers_and_output(features: str) -> tuple[int, str]:
    """The number of layers and the ``output`` of a representation with these features.

    >>> layers_and_output("both layers"), layers_and_output("x and 3 layers")
    ((2, 'layers'), (3, 'concat'))
    >>> layers_and_output("LSI and both layers")
    (2, 'lsi')
    """
    pattern = r"((?:x and )?(?:LSI and )?)(?:(both|\d\d?) layers|layer (\d\d?))"
    found = re.fullmatch(pattern, str(features))
    if found is not None:
        several, single = found[2], found[3]
        depth = 2 if several == "both" else int(several or single)
        if several or depth == 1:
            return depth, _OUTPUTS[found[1]]
        if depth > 1 and not found[1]:
            return depth, "last"
    raise InvalidParameterError(
        f"features must be some of {list(GRID['features'])}, or the like for more layers, such as "
        f"'3 layers', 'layer 3', 'x and 3 layers', got {features!r}"
    )


def features_of(n_layers: int, output: str) -> str:
    """The name of the features of a representation: the inverse of ``layers_and_output``."""
    if output == "last":
        return f"layer {n_layers}"
    layers = {1: "layer 1", 2: "both layers"}.get(n_layers, f"{n_layers} layers")
    return {name: start for start, name in _OUTPUTS.items()}[output] + layers


# -- the candidates -----------------------------------------------------------------------------


def base_options(dcot: DCoT, features: Iterable[str] = ()) -> FitOptions:
    """Options that all candidates share: those of ``dcot``, with the maximum number of layers.

    ``features`` are those to select from, in addition to the usual ones.
    """
    if dcot.n_components is not None:
        raise InvalidParameterError(
            f"n_components must be None in a classifier, got {dcot.n_components!r}: it learns "
            "from all features, which compressed ones would only approximate"
        )
    deepest = max(layers_and_output(name)[0] for name in (*GRID["features"], *features))
    asked = dcot._fit_options()
    if asked.n_layers >= deepest:
        return asked
    return DCoT(**{**dcot.get_params(), "n_layers": deepest})._fit_options()


def candidates_for(
    dcot: DCoT, grid: Mapping[str, Sequence[Any]] | None = None, embedding: float = 0.0
) -> list[Candidate]:
    """The parameters of ``dcot`` first, then one change at a time; each with all features.

    LSI is added to the layers of ``dcot``, unless it has x too, or only the last layer. ``grid``
    replaces values of ``GRID``; its first values replace those of ``dcot`` as the default. All
    candidates have the same weight of vectors, ``embedding``.
    """
    options = dcot._fit_options()
    features = [features_of(options.n_layers, options.output)]
    if options.output == "layers":
        features.insert(0, features_of(options.n_layers, "lsi"))
    start: dict[str, list[Any]] = {
        "noise": [options.noise[0]],
        "shrinkage": [options.shrinkage[0]],
        "n_prototypes": [options.n_prototypes],
        "features": features,
    }
    values = {
        name: tuple(_plain(value) for value in dict.fromkeys([*start[name], *GRID[name]]))
        for name in start
    }
    values |= read_grid(grid) | {"embedding": (embedding,)}
    centre = Candidate(*(values[name][0] for name in GRID))
    bases = [centre]
    for name in ("noise", "shrinkage", "n_prototypes"):
        bases += [replace(centre, **{name: value}) for value in values[name][1:]]
    return [replace(base, features=name) for base in bases for name in values["features"]]


def embedding_weights(
    grid: Mapping[str, Sequence[Any]] | None, embedded: bool
) -> tuple[float, ...]:
    """Weights of vectors to select from, the default first.

    ``embedded`` says whether there are vectors in addition to dCoT.
    """
    weights = read_grid(grid).get("embedding", EMBEDDING_WEIGHTS if embedded else (0.0,))
    if any(weights) and not embedded:
        raise InvalidParameterError(
            "grid['embedding'] has weights of vectors, but there are none: set embedding, or give "
            "vectors to fit"
        )
    return weights


def for_layers(
    candidates: Sequence[Candidate], grid: Mapping[str, Sequence[Any]] | None, n_layers: int
) -> list[Candidate]:
    """Candidates that are possible with a fitted representation of this many layers."""
    fixed = {"noise", "shrinkage", "n_prototypes"} & set(grid or {})
    if fixed:
        raise InvalidParameterError(
            f"grid has {sorted(fixed)[0]!r}, but the vectorizer is frozen, so that its "
            "representation is used as it is: leave it out, or give a DCoTVectorizer that is not "
            "frozen"
        )
    possible = [candidate for candidate in candidates if candidate.n_layers <= n_layers]
    if not possible:
        raise InvalidParameterError(
            f"grid['features'] needs {candidates[0].n_layers} layers, but the frozen vectorizer "
            f"has {n_layers}: choose other features, or fit it with more layers"
        )
    return possible


def for_labels(candidates: Sequence[Candidate], n_labelled: int) -> list[Candidate]:
    """Candidates for this many labels: x only with many, or if the default has it."""
    default = candidates[0].features
    return [
        candidate
        for candidate in candidates
        if n_labelled >= INPUT_FROM_LABELS
        or candidate.output not in WITH_X
        or candidate.features == default
    ]


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "noise": check_noise,
    "shrinkage": lambda value: check_number("shrinkage", value),
    "n_prototypes": lambda value: check_integer("n_prototypes", value),
    "features": layers_and_output,
    "embedding": lambda value: check_number("embedding", value, most=MAX_EMBEDDING_WEIGHT),
}


def read_grid(grid: Mapping[str, Sequence[Any]] | None) -> dict[str, tuple[Any, ...]]:
    """Check a grid and return its values."""
    if not isinstance(grid, Mapping | None):
        raise InvalidTypeError(f"grid must be a mapping from settings to values, got {grid!r:.80}")
    found = {}
    for name, values in dict(grid or {}).items():
        if name not in GRID:
            raise InvalidParameterError(
                f"grid has {name!r}, expected some of {sorted(GRID)}, each with its values"
            )
        if isinstance(values, str | Iterator) or not hasattr(values, "__iter__"):
            # an iterator would be empty for the next fit
            raise InvalidParameterError(f"grid[{name!r}] must be a list of values, got {values!r}")
        if not len(tuple(values)):
            raise InvalidParameterError(f"grid[{name!r}] must have a value, got {values!r}")
        for value in values:
            try:
                _CHECKS[name](value)
            except InvalidParameterError as error:
                raise InvalidParameterError(f"grid[{name!r}]: {error}") from error
        found[name] = tuple(dict.fromkeys(_plain(value) for value in values))
    return found


def _plain(value: Any) -> Any:
    """A number of NumPy as one of Python, which can be saved."""
    return value.item() if isinstance(value, np.generic) else value


# -- selection ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class SelectionResult:
    """The candidates and the selected one.

    Attributes
    ----------
    candidates : the default first; the last ones have the features of the best of the others, and
        other weights of vectors
    ridges : a classifier for each candidate, with its leave-one-out decisions
    best_index : index of the selected candidate
    fitted : representation of the selected candidate
    weighed : candidates with different weights of vectors
    log_losses : their losses, candidates × documents; None without vectors
    counts : weights of the documents without class weights; None without vectors
    """

    candidates: Sequence[Candidate]
    ridges: Sequence[KernelRidge]
    best_index: int
    fitted: FittedDCoT
    weighed: Sequence[int] = ()
    log_losses: Array | None = None
    counts: Array | None = None

    @property
    def best(self) -> Candidate:
        return self.candidates[self.best_index]

    @property
    def ridge(self) -> KernelRidge:
        return self.ridges[self.best_index]

    def selected_on(self, rows: Array) -> int:
        """The candidate that would be selected on some of the documents."""
        n = len(self.ridges) - max(len(self.weighed) - 1, 0)
        losses = np.array([ridge.losses[rows] for ridge in self.ridges[:n]])
        weights = self.ridges[0].weights[rows]
        best = selected(losses, weights, without_lsi(self.candidates[:n]))
        if self.log_losses is None or self.counts is None or best != self.weighed[0]:
            return best
        return self.weighed[weight_of(self.log_losses[:, rows], self.counts[rows])]


@dataclass(frozen=True)
class Vectors:
    """Vectors of labelled documents, whose weight is to be selected.

    Attributes
    ----------
    products : inner products of the documents
    weights : weights to select from, that of the candidates first
    counts : weights of the evaluated documents, without class weights
    exclusive : whether a document has exactly one class
    """

    products: Array
    weights: Sequence[float]
    counts: Array
    exclusive: bool = True


def select(
    fits: Iterable[tuple[Sequence[Candidate], FittedDCoT]],
    labelled: Matrix,
    targets: Array,
    weights: Array | None,
    vectors: Vectors | None = None,
    judged: int | None = None,
) -> SelectionResult:
    """Evaluate candidates on labelled documents.

    Parameters
    ----------
    fits : candidates that share layers, with these layers; the default first
    labelled : labelled documents
    targets : their targets, documents × targets
    weights : their weights
    vectors : their vectors, or None
    judged : number of documents, from the first, that are evaluated; by default all
    """
    order: list[Candidate] = []
    ridges: list[KernelRidge] = []
    kept: dict[int, FittedDCoT] = {}  # of the candidates that can still be selected
    for group, fitted in fits:
        start = len(order)
        kernels = _kernels(labelled, fitted.representation)
        for candidate in group:
            kernel = np.sum([kernels[block] for block in _blocks(candidate)], axis=0)
            if vectors is not None:
                kernel += candidate.embedding * vectors.products
            order.append(candidate)
            ridges.append(KernelRidge.fit(kernel, targets, weights=weights, judged=judged))
        kept |= dict.fromkeys(range(start, len(order)), fitted)
        smallest = min(range(len(order)), key=lambda number: ridges[number].error)
        needed = {0, without_lsi(order), smallest, _best(order, ridges)}
        kept = {number: each for number, each in kept.items() if number in needed}
    best = _best(order, ridges)
    made, chosen = kept[best].representation, order[best]
    made = replace(made, layers=made.layers[: chosen.n_layers], output=chosen.output)
    if chosen.output not in WITH_LSI:
        made = replace(made, directions=None)
    result = SelectionResult(order, ridges, best, replace(kept[best], representation=made))
    if vectors is None or len(vectors.weights) < 2:
        return result
    return _with_weights(result, labelled, targets, weights, vectors, judged)


def _with_weights(
    result: SelectionResult,
    labelled: Matrix,
    targets: Array,
    weights: Array | None,
    vectors: Vectors,
    judged: int | None,
) -> SelectionResult:
    """The selected candidate with the best of several weights of the vectors."""
    kernels = _kernels(labelled, result.fitted.representation)
    kernel = np.sum([kernels[block] for block in _blocks(result.best)], axis=0)
    more = [
        KernelRidge.fit(kernel + weight * vectors.products, targets, weights=weights, judged=judged)
        for weight in vectors.weights[1:]
    ]
    n, counts = len(result.ridges), vectors.counts
    losses = np.array(
        [
            log_losses(ridge.held_out, targets[: len(counts)], counts, vectors.exclusive)
            for ridge in (result.ridge, *more)
        ]
    )
    weighed = [result.best_index, *range(n, n + len(more))]
    return SelectionResult(
        [*result.candidates, *(replace(result.best, embedding=w) for w in vectors.weights[1:])],
        [*result.ridges, *more],
        weighed[weight_of(losses, counts)],
        result.fitted,
        weighed,
        losses,
        counts,
    )


def weight_of(losses: Array, weights: Array) -> int:
    """Position of the weight of vectors to use; ``losses`` are weights × documents."""
    return best_of(losses, weights, EMBEDDING_STANDARD_ERRORS)


def fits_of(
    X: Matrix, multiplicity: Array | None, candidates: Sequence[Candidate], base: FitOptions
) -> Iterator[tuple[list[Candidate], FittedDCoT]]:
    """Candidates that share layers, with these layers, fitted to documents.

    ``multiplicity`` is the weight of each document; ``base`` has the parameters that are not
    selected. All noise levels are solved together.
    """
    shared: dict[tuple[float, float, int], list[Candidate]] = {}
    for candidate in candidates:
        key = (candidate.noise, candidate.shrinkage, candidate.n_prototypes)
        shared.setdefault(key, []).append(candidate)
    options = []
    for group in shared.values():
        deepest = max(group, key=lambda candidate: candidate.n_layers).options(base)
        lsi = any(candidate.output in WITH_LSI for candidate in group)
        options.append(replace(deepest, output="lsi") if lsi else deepest)
    yield from zip(shared.values(), fit_path(X, multiplicity, options), strict=True)


def with_directions(
    fitted: FittedDCoT, candidates: Sequence[Candidate], X: Matrix, multiplicity: Array | None
) -> FittedDCoT:
    """A given representation, with directions of x if it has none and a candidate needs them."""
    made = fitted.representation
    if made.directions is None and any(candidate.output in WITH_LSI for candidate in candidates):
        generator, made = np.random.RandomState(0), replace(made, output="lsi")
        n = X.shape[0] if multiplicity is None else float(multiplicity.sum())
        made = made.learned_from(*sample(X, multiplicity, generator), n, None, generator)
    return replace(fitted, representation=made)


def _kernels(X: Matrix, made: Representation) -> dict[int | str, Array]:
    """Inner products of documents: of x, of its projection, and of each layer by its number."""
    x, layers = replace(made, output="concat").parts(X)
    product = x @ x.T
    found: dict[int | str, Array] = {"x": product.toarray() if sp.issparse(product) else product}
    for number, Z in enumerate(np.split(layers, len(made.layers), axis=1), start=1):
        found[number] = Z @ Z.T
    if made.directions is not None:
        (projected,) = replace(made, output="lsi").inputs(X)
        found["lsi"] = projected @ projected.T
    return found


def _blocks(candidate: Candidate) -> list[int | str]:
    """Keys of the ``_kernels`` that are added for the features of a candidate."""
    depth, output = candidate.n_layers, candidate.output
    if output == "last":
        return [depth]
    inputs = [*(["x"] if output in WITH_X else []), *(["lsi"] if output in WITH_LSI else [])]
    return [*inputs, *range(1, depth + 1)]


def unit_rows(X: Matrix) -> Matrix:
    """Documents scaled to length one; empty ones stay empty."""
    return scale_rows(X, inverse_lengths(X))


def inverse_lengths(X: Matrix) -> Array:
    """One over the length of each row; zero for empty ones."""
    squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    lengths = np.sqrt(np.asarray(squares).ravel())
    return np.asarray(np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0))


def input_kernel(X: Matrix) -> Array:
    """Cosines of the documents in the input: the kernel of TF-IDF."""
    unit = unit_rows(X)
    product = unit @ unit.T
    return np.asarray(product.toarray() if sp.issparse(product) else product)


def _best(candidates: Sequence[Candidate], ridges: Sequence[KernelRidge]) -> int:
    losses = np.array([ridge.losses for ridge in ridges])
    return selected(losses, ridges[0].weights, without_lsi(candidates))


def without_lsi(candidates: Sequence[Candidate]) -> int | None:
    """Index of the candidate that is the first one without LSI, or None."""
    first = candidates[0]
    if first.output != "lsi":
        return None
    wanted = replace(first, features=features_of(first.n_layers, "layers"))
    return list(candidates).index(wanted) if wanted in candidates else None


def selected(losses: Array, weights: Array, without: int | None) -> int:
    """Index of the selected candidate: with or without LSI, unless another one is clearly better.

    ``losses`` are candidates × documents; the first candidate is the default, and ``without`` is
    the one that leaves out LSI.
    """
    order = list(range(len(losses)))
    if without is not None and best_of(losses[[0, without]], weights, LSI_STANDARD_ERRORS):
        order.insert(0, order.pop(without))
    return order[best_of(losses[order], weights)]


def best_of(losses: Array, weights: Array, standard_errors: float = CLEAR_STANDARD_ERRORS) -> int:
    """The candidate with the smallest error if it is clearly better than the first; else 0.

    ``losses`` are candidates × documents; the first candidate is the default. Another one has to
    be better by more than ``standard_errors`` standard errors of the difference, and by more than
    rounding.
    """
    share = weights / weights.sum()
    means = losses @ share
    best = int(np.argmin(means))
    difference = losses[0] - losses[best]
    gain = float(share @ difference)
    variance = float(share @ (difference - gain) ** 2)
    error = np.sqrt(variance / max(len(share) - 1, 1))
    return best if gain > max(standard_errors * error, ROUNDING * means[0]) else 0


def cv_results(
    result: SelectionResult, targets: Array, weights: Array, exclusive: bool
) -> dict[str, Any]:
    """``cv_results_`` in the format of GridSearchCV, with leave-one-out scores.

    ``weights`` say how often each document counts. Scores are NaN if there are no labelled
    documents. ``std_test_error`` is the standard error of ``mean_test_error``.
    """
    rows = [asdict(candidate) for candidate in result.candidates]
    errors = np.array([ridge.error for ridge in result.ridges])
    scale = targets.shape[1] * np.sqrt(len(targets))
    scores = [np.nan for _ in rows]
    if len(targets):
        hits = [
            r.held_out.argmax(1) == targets.argmax(1)
            if exclusive
            else ((r.held_out > 0) == (targets > 0)).mean(axis=1)
            for r in result.ridges
        ]
        scores = [np.average(hit, weights=weights) for hit in hits]
    results: dict[str, Any] = {"params": rows}
    for name in rows[0]:
        results[f"param_{name}"] = np.array([row[name] for row in rows], dtype=object)
    results["param_strength"] = np.array([ridge.strength for ridge in result.ridges])
    results["mean_test_score"] = np.array(scores)
    results["mean_test_error"] = errors
    spread = [ridge.losses.std() / scale if len(targets) else np.nan for ridge in result.ridges]
    results["std_test_error"] = np.array(spread)
    results["rank_test_error"] = errors.argsort(kind="stable").argsort(kind="stable") + 1
    return results
