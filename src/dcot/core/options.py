"""``FitOptions``: the checked settings of a fit, and the choice of prototypes."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.core.corruption import System, marginalise
from dcot.core.moments import Moments
from dcot.core.solvers import SOLVERS
from dcot.errors import InvalidParameterError, InvalidTypeError
from dcot.runtime.progress import Progress, silent

MAX_LAYERS = 100
NORMALIZATIONS = ("shared", "unit", "center", None)
_PRECISION = 2.0**-28  # sums over documents that differ by less are tied, relative to their size

Array = NDArray[Any]
PrototypeChoice = str | Sequence[Any] | Array | Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """The settings of a fit; ``dcot.DCoT`` documents each one.

    ``noise`` and ``shrinkage`` have one value per layer, so their length is the number of layers.
    ``named`` turns the names of prototypes into columns. ``memory_limit`` is in bytes.
    """

    noise: tuple[float, ...] = (0.9, 0.8)
    shrinkage: tuple[float, ...] = (1.0, 0.0)
    ridge: float = 0.0
    squash: str = "identity"
    n_prototypes: int = 2000
    prototypes: PrototypeChoice = "variance"
    output: str = "layers"
    normalize: str | None = "shared"
    n_components: int | None = None
    solver: str = "auto"
    tol: float = 1e-2
    max_iter: int = 1000
    memory_limit: float | None = None
    random_state: Any = None
    progress: Progress = silent

    def __post_init__(self) -> None:
        check_integer("n_layers", len(self.noise), MAX_LAYERS)
        if len(self.shrinkage) != len(self.noise):
            raise InvalidParameterError(
                f"noise is for {len(self.noise)} layers and shrinkage for {len(self.shrinkage)}: "
                "give both one value per layer"
            )
        for value in self.noise:
            check_noise(value)
        for value in self.shrinkage:
            check_number("shrinkage", value)
        check_number("ridge", self.ridge)
        check_choice("squash", self.squash, ("identity", "tanh"))
        check_integer("n_prototypes", self.n_prototypes)
        check_choice("output", self.output, ("layers", "concat", "last", "lsi", "all"))
        check_choice("normalize", self.normalize, NORMALIZATIONS)
        if self.n_components is not None:
            check_integer("n_components", self.n_components)
        check_choice("solver", self.solver, ("auto", *SOLVERS))
        check_number("tol", self.tol, positive=True)
        check_integer("max_iter", self.max_iter)
        check_seed(self.random_state)

    @property
    def n_layers(self) -> int:
        return len(self.noise)

    @property
    def means(self) -> bool:
        """Whether the mean output of every layer is needed."""
        return self.normalize is not None

    @property
    def needs_sample(self) -> bool:
        """Whether documents are needed after the layers: for LSI, or for a compression."""
        return self.output in ("lsi", "all") or self.n_components is not None

    def generator(self) -> Any:
        """Return the random generator for LSI and a compression.

        Without a seed, a compression differs from fit to fit; LSI alone does not.
        """
        from sklearn.utils import check_random_state

        fixed = self.random_state is None and self.n_components is None
        return check_random_state(0 if fixed else self.random_state)

    def named(self, terms: Array | None) -> FitOptions:
        """Return the options with names of prototypes replaced by columns of ``terms``."""
        if isinstance(self.prototypes, str) or callable(self.prototypes) or terms is None:
            return self
        given = _listed(self.prototypes)
        if given.dtype.kind not in "OUST":
            return self
        return replace(self, prototypes=columns_of(given, terms))

    def choose(self, moments: Moments) -> Array:
        """Columns of the prototypes, in increasing order."""
        return choose_prototypes(self.prototypes, self.n_prototypes, moments)

    def system(self, moments: Moments, index: int) -> System:
        """Return the linear system of layer ``index`` (from 0) for inputs with these moments."""
        noise, shrinkage = self.noise[index], self.shrinkage[index]
        return marginalise(moments, noise, shrinkage=shrinkage, ridge=self.ridge)


def moments_lack(settings: Any) -> list[str]:
    """Return what moments do not suffice for, each with advice.

    ``settings`` are FitOptions, or an estimator with parameters of the same names.
    """
    # of parameters that nobody has checked yet: an array cannot be compared with a text
    given = [value for value in (settings.squash, settings.output) if isinstance(value, str)]
    reasons, squashed = [], "identity" not in given
    if squashed and settings.n_layers != 1:
        reasons.append("n_layers > 1 with squash='tanh': set squash='identity' or n_layers=1")
    if squashed and settings.normalize is not None:
        reasons.append("normalize with squash='tanh': set squash='identity' or normalize=None")
    if settings.n_components is not None:
        reasons.append("n_components: set it to None")
    if not {"lsi", "all"}.isdisjoint(given):
        reasons.append(f"output={settings.output!r}: set it to 'layers'")
    return reasons


def by_layer(
    name: str, value: Any, n_layers: int, check: Callable[[Any], None]
) -> tuple[float, ...]:
    """Return one number per layer from a number or a sequence, whose last value is repeated."""
    values = [value] if isinstance(value, numbers.Real) else value
    try:
        found = [float(entry) for entry in values]
    except (TypeError, ValueError, OverflowError):
        found = []
    unordered = isinstance(value, Mapping | Set | Iterator)  # or empty the next time
    if not found or unordered or any(isinstance(entry, str) for entry in values):
        raise InvalidParameterError(
            f"{name} must be a number, or a sequence with one number per layer, got {value!r}"
        )
    for entry in found:  # also those that no layer uses
        check(entry)
    return tuple((found + [found[-1]] * n_layers)[:n_layers])


def check_noise(value: Any) -> None:
    """Reject a value that is not a probability in [0, 1)."""
    number = as_number(value)
    if not 0 <= number < 1:
        hint = ": with every term removed there is nothing to learn from" if number == 1 else ""
        raise InvalidParameterError(f"noise must be in [0, 1), got {value}{hint}")


def check_integer(name: str, value: Any, most: float = float("inf")) -> None:
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or not 1 <= int(value) <= most:
        wanted = "a positive integer" if np.isinf(most) else f"an integer from 1 to {most}"
        raise InvalidParameterError(f"{name} must be {wanted}, got {value!r}")


def as_number(value: Any) -> float:
    """Return a value as a float; NaN if it is not a number, or too large for one."""
    try:
        real = isinstance(value, int | float | np.integer | np.floating)  # no fraction
        return float(value) if real and not isinstance(value, bool) else float("nan")
    except OverflowError:
        return float("nan")


def check_number(name: str, value: Any, positive: bool = False, most: float = float("inf")) -> None:
    wanted = "positive" if positive else "zero or more"
    number = as_number(value)
    if not np.isfinite(number) or number < 0 or (positive and number == 0) or number > most:
        limit = "" if np.isinf(most) else f" and at most {most:g}"
        raise InvalidParameterError(f"{name} must be a number, {wanted}{limit}, got {value!r}")


def check_seed(value: Any) -> None:
    """Reject a ``random_state`` that is no seed."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    whole = whole and 0 <= int(value) < 1 << 32
    if not whole and not (
        value is None or value is np.random or isinstance(value, np.random.RandomState)
    ):
        raise InvalidParameterError(
            "random_state must be an integer from 0 to 2**32 - 1, a numpy.random.RandomState or "
            f"None, got {value!r}"
        )


def check_flag(name: str, value: Any) -> None:
    if not isinstance(value, bool | np.bool_):
        raise InvalidParameterError(f"{name} must be True or False, got {value!r}")


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if not isinstance(value, str | None) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise InvalidParameterError(f"{name} must be one of {listed}, got {value!r}")


# -- prototypes ----------------------------------------------------------------------------------


def choose_prototypes(choice: PrototypeChoice, n_prototypes: int, moments: Moments) -> Array:
    """Return the column indices of the prototypes, in increasing order.

    Parameters
    ----------
    choice : ``"variance"``, ``"document_frequency"``, ``"frequent"``, indices, or a callable that
        takes the moments and the number of prototypes and returns indices
    n_prototypes : how many; all terms if there are fewer. Explicit choices ignore it.
    moments : moments of the corpus
    """
    if isinstance(choice, str):
        # A sum over documents that cancel out is zero, but for rounding.
        noise = _PRECISION * np.sqrt(moments.n * moments.squares)
        total = np.where(np.abs(moments.total) > noise, moments.total, 0.0)
        if choice == "variance":
            return _top(n_prototypes, _variation(moments), moments.document_frequency)
        if choice == "frequent":
            return _top(n_prototypes, total)
        if choice == "document_frequency":
            # ties between document frequencies are broken by the total count
            return _top(n_prototypes, moments.document_frequency, total)
        raise InvalidParameterError(
            "prototypes must be 'variance', 'document_frequency', 'frequent', column indices, "
            f"feature names or a callable, got {choice!r}"
        )
    if callable(choice):
        choice = choice(moments, n_prototypes)
    return _explicit(choice, moments.n_terms)


def _top(count: int, *scores: Array) -> Array:
    """Return the columns with the highest scores; ties go by the next score, then by column."""
    keys = [-_without_last_digits(score) for score in reversed(scores)]
    order = np.lexsort((np.arange(len(scores[0])), *keys))
    return np.sort(order[:count])


def _variation(moments: Moments) -> Array:
    """Return sums of squares around the mean, without digits that cancel if the mean is large."""
    step = np.ldexp(_PRECISION, np.frexp(moments.squares)[1])
    return np.rint(moments.variation() / step) * step


def _without_last_digits(sums: Array) -> Array:
    """Return the sums rounded, because the order of additions decides their last digits."""
    mantissa, exponent = np.frexp(sums)
    return np.ldexp(np.rint(mantissa / _PRECISION) * _PRECISION, exponent)


def _explicit(choice: Any, n_terms: int) -> Array:
    wanted = _listed(choice)
    if wanted.dtype.kind in "OUST":
        raise InvalidParameterError(
            "prototypes are given by name, but the columns have no names: fit on a DataFrame, "
            "or give column indices"
        )
    if wanted.dtype.kind == "b":
        if len(wanted) != n_terms or not wanted.any():
            raise InvalidParameterError(
                f"a mask of prototypes must have {n_terms} entries, one per term, not all False"
            )
        wanted = np.flatnonzero(wanted)
    elif wanted.dtype.kind not in "iu":
        raise InvalidTypeError(
            f"prototypes must be column indices or feature names, got {wanted.dtype} values"
        )
    if wanted.min() < 0 or wanted.max() >= n_terms:
        bad = wanted[(wanted < 0) | (wanted >= n_terms)][0]
        raise InvalidParameterError(
            f"prototypes has column {bad}, but there are {n_terms} terms: "
            f"indices go from 0 to {n_terms - 1}"
        )
    return np.unique(wanted).astype(np.intp)


def _listed(choice: Any) -> Array:
    try:
        wanted = np.asarray(choice)
    except ValueError as error:  # lists of different lengths
        raise InvalidParameterError(
            f"prototypes must be a list of column indices or feature names: {error}"
        ) from error
    if wanted.ndim != 1 or wanted.size == 0:
        raise InvalidParameterError(
            f"prototypes must be a list of at least one term, got {choice!r:.80}"
        )
    return wanted


def columns_of(wanted: Array, names: Array) -> Array:
    """Return the columns of terms given by name."""
    index = {str(name): column for column, name in enumerate(names)}
    missing = [str(name) for name in wanted if str(name) not in index]
    if missing:
        shown = ", ".join(repr(name) for name in missing[:5])
        raise InvalidParameterError(
            f"{len(missing)} of the prototypes are not among the {len(names)} terms: {shown}"
        )
    return np.array([index[str(name)] for name in wanted])
