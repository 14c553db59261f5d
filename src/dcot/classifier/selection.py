"""Choosing settings on few labels, honestly: closed-form leave-one-out, and a prior on the default.

The candidates form a star: the default, and the default with one thing changed. Each is judged by
the squared error of predicting every labelled document from the others. With few labels these
errors are noisy, so another setting replaces the default only if it is better by more than one
standard error of the difference, document by document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.classifier.ridge import KernelRidge
from dcot.core.centred import Matrix
from dcot.core.fit import FitOptions, FittedDCoT, fit_path
from dcot.core.layers import Layer
from dcot.core.representation import Representation
from dcot.errors import InvalidParameterError

Array = NDArray[Any]

LAYER_2_NOISE = 0.8
# The first of each is the default; see docs/defaults.md for the study behind it.
GRID: dict[str, tuple[Any, ...]] = {
    "noise": (0.9, 0.8, 0.95),
    "shrinkage": (1.0, 0.3, 3.0),
    "n_prototypes": (3000, 1000),
    "features": ("both layers", "layer 1", "layer 2", "x and both layers"),
}
FORMS = {
    "both layers": (2, "layers"),
    "layer 1": (1, "layers"),
    "layer 2": (2, "last"),
    "x and both layers": (2, "concat"),
}


@dataclass(frozen=True)
class Setting:
    """One candidate. ``noise`` and ``shrinkage`` are those of the first layer."""

    noise: float
    shrinkage: float
    n_prototypes: int
    features: str

    @property
    def n_layers(self) -> int:
        return FORMS[self.features][0]

    @property
    def output(self) -> str:
        return FORMS[self.features][1]

    def parameters(self) -> dict[str, Any]:
        """The same as parameters of ``DCoT``."""
        return {
            "noise": (self.noise, LAYER_2_NOISE),
            "shrinkage": (self.shrinkage, 0.0),
            "n_prototypes": self.n_prototypes,
            "n_layers": self.n_layers,
            "output": self.output,
        }


@dataclass
class Candidate:
    """A setting and how it did on the labelled documents."""

    setting: Setting
    ridge: KernelRidge


@dataclass
class Choice:
    """What was tried and what was taken."""

    candidates: list[Candidate]
    chosen: int
    layers: list[Layer]  # the stack of the chosen setting
    prototypes: Array  # and its columns

    @property
    def setting(self) -> Setting:
        return self.candidates[self.chosen].setting

    @property
    def ridge(self) -> KernelRidge:
        return self.candidates[self.chosen].ridge


def read_grid(grid: Mapping[str, Sequence[Any]] | None) -> dict[str, tuple[Any, ...]]:
    """The default grid with some of its entries replaced; the first value of each is the prior."""
    given = dict(grid or {})
    unknown = set(given) - set(GRID)
    if unknown:
        raise InvalidParameterError(
            f"grid has {sorted(unknown)}, expected some of {sorted(GRID)}, each with its values"
        )
    for name, values in given.items():
        if isinstance(values, str) or not len(values):
            raise InvalidParameterError(f"grid[{name!r}] must be a list of values, got {values!r}")
    bad = [form for form in given.get("features", ()) if form not in FORMS]
    if bad:
        raise InvalidParameterError(
            f"grid['features'] has {bad[0]!r}, expected some of {list(FORMS)}"
        )
    return {name: tuple(given.get(name, values)) for name, values in GRID.items()}


def star(grid: Mapping[str, tuple[Any, ...]]) -> list[Setting]:
    """The default first, then one change at a time; each with every choice of features."""
    forms = grid["features"]
    centre = Setting(grid["noise"][0], grid["shrinkage"][0], grid["n_prototypes"][0], forms[0])
    bases = [centre]
    for name in ("noise", "shrinkage", "n_prototypes"):
        bases += [replace(centre, **{name: value}) for value in grid[name][1:]]
    return [replace(base, features=form) for base in bases for form in forms]


def select(
    X: Matrix,
    labelled: Array,
    targets: Array,
    settings: Sequence[Setting],
    common: FitOptions,
    weights: Array | None = None,
    multiplicity: Array | None = None,
) -> Choice:
    """Fit every setting on all documents, judge it on the labelled ones.

    Parameters
    ----------
    X : all documents
    labelled : rows of the documents to judge by
    targets : of these, documents × targets
    settings : candidates, the default first
    common : solver, tolerance, memory limit and so on
    weights : of the labelled documents
    multiplicity : how often each document counts for the representation
    """
    candidates: list[Candidate] = []
    stacks: dict[int, FittedDCoT] = {}
    for group, fitted in _stacks(X, multiplicity, settings, common):
        kernels = _kernels(X[labelled], fitted.layers)
        for setting in group:
            kernel = np.sum([kernels[block] for block in _blocks(setting)], axis=0)
            ridge = KernelRidge.fit(kernel, targets, weights=weights)
            candidates.append(Candidate(setting, ridge))
            best = _best(candidates)
            if best == len(candidates) - 1:
                stacks = {0: stacks.get(0, fitted), best: fitted}
    chosen = _best(candidates)
    fitted = stacks[chosen]
    layers = list(fitted.layers[: candidates[chosen].setting.n_layers])
    return Choice(candidates, chosen, layers, fitted.prototypes)


def _stacks(
    X: Matrix, multiplicity: Array | None, settings: Sequence[Setting], common: FitOptions
) -> Iterator[tuple[list[Setting], FittedDCoT]]:
    """Settings that share a stack of layers, with it; noise levels are solved together."""
    shared: dict[tuple[float, float, int], list[Setting]] = {}
    for setting in settings:
        key = (setting.noise, setting.shrinkage, setting.n_prototypes)
        shared.setdefault(key, []).append(setting)
    options = []
    for members in shared.values():
        first, depth = members[0], max(setting.n_layers for setting in members)
        options.append(
            replace(
                common,
                noise=(first.noise, LAYER_2_NOISE)[:depth],
                shrinkage=(first.shrinkage, 0.0)[:depth],
                n_prototypes=first.n_prototypes,
            )
        )
    yield from zip(shared.values(), fit_path(X, multiplicity, options), strict=True)


def _kernels(X: Matrix, layers: Sequence[Layer]) -> dict[str, Array]:
    """Inner products of documents in each block of features."""
    kernels = {}
    for name, (depth, output) in {"z1": (1, "last"), "z2": (2, "last")}.items():
        if depth <= len(layers):
            Z = Representation(layers[:depth], output, "unit").transform(X)
            kernels[name] = Z @ Z.T
    kernels["x"] = input_kernel(X)
    return kernels


def input_kernel(X: Matrix) -> Array:
    """Cosines of the documents as they came: what TF-IDF sees."""
    product = X @ X.T
    product = product.toarray() if sp.issparse(product) else np.asarray(product)
    lengths = np.sqrt(np.maximum(product.diagonal(), 0))
    scale = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return np.asarray(product * scale * scale[:, None])


def _blocks(setting: Setting) -> tuple[str, ...]:
    return {
        "both layers": ("z1", "z2"),
        "layer 1": ("z1",),
        "layer 2": ("z2",),
        "x and both layers": ("x", "z1", "z2"),
    }[setting.features]


def _best(candidates: Sequence[Candidate]) -> int:
    """The least error, if it beats the default's by more than one standard error; else 0."""
    return best_of(np.array([c.ridge.losses for c in candidates]), candidates[0].ridge.weights)


def best_of(losses: Array, weights: Array) -> int:
    """The same from losses, candidates × documents; the first is the default."""
    share = weights / weights.sum()
    means = losses @ share
    best = int(np.argmin(means))
    difference = losses[0] - losses[best]
    gain = float(share @ difference)
    variance = float(share @ (difference - gain) ** 2)
    error = np.sqrt(variance / max(len(share) - 1, 1))
    return best if gain > error else 0


def table(choice: Choice, targets: Array) -> dict[str, Any]:
    """``cv_results_`` in the shape of GridSearchCV's, the scores by leave-one-out."""
    single = (targets > 0).sum(axis=1).max() == 1 and (targets > 0).sum(axis=1).min() == 1
    rows = [asdict(candidate.setting) for candidate in choice.candidates]
    ridges = [candidate.ridge for candidate in choice.candidates]
    errors = np.array([ridge.error for ridge in ridges])
    width = targets.shape[1]
    spread = np.array([ridge.losses.std() / width / np.sqrt(len(targets)) for ridge in ridges])
    if single:
        hits = [(r.held_out.argmax(1) == targets.argmax(1)).mean() for r in ridges]
    else:
        hits = [((r.held_out > 0) == (targets > 0)).mean() for r in ridges]
    results: dict[str, Any] = {"params": rows}
    for name in rows[0]:
        results[f"param_{name}"] = np.array([row[name] for row in rows], dtype=object)
    results["param_strength"] = np.array([ridge.strength for ridge in ridges])
    results["mean_test_score"] = np.array(hits)
    results["mean_test_error"] = errors
    results["std_test_error"] = spread
    results["rank_test_error"] = errors.argsort(kind="stable").argsort(kind="stable") + 1
    return results
