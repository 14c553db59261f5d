"""How much is computed: a quick look at everything, or every cell."""

from __future__ import annotations

from dataclasses import dataclass

from dcot.bench.protocol import WAYS
from dcot.bench.systems import SYSTEMS, Size
from dcot.errors import InvalidParameterError

_NOISES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Profile:
    """The cells of each experiment.

    Attributes
    ----------
    size : of the systems' own grids
    sample : training, test and unlabelled documents of a corpus; None takes all
    budgets, draws : labelled documents ("all" comes on top) and how often they are drawn
    noises, depths, noise_labels, noise_draws, noise_prototypes : of figure 3; prototypes of the
        paper's variant and of ours
    learned : documents to learn from, by corpus; more than there are means all
    unlabelled_labels, unlabelled_draws : labelled documents and draws beside them
    published : corpora with published tables
    published_systems, published_ways : who is measured on them, and how
    timed : corpora of table 1
    words_prototypes : of figure 2, for the paper's variant and for ours
    systems : who is compared in figure 4 and table 1
    """

    name: str
    size: Size
    sample: tuple[int, int, int] | None
    budgets: tuple[int, ...]
    draws: int
    noises: tuple[float, ...]
    depths: tuple[int, ...]
    noise_labels: int
    noise_draws: int
    noise_prototypes: tuple[int, int]
    learned: dict[str, tuple[int, ...]]
    unlabelled_labels: tuple[int, ...]
    unlabelled_draws: int
    published: tuple[str, ...]
    published_systems: tuple[str, ...]
    published_ways: tuple[str, ...] = tuple(WAYS)
    timed: tuple[str, ...] = ("reuters", "dmoz")
    words_prototypes: tuple[int, int] = (1000, 3000)
    systems: tuple[str, ...] = tuple(SYSTEMS)


# The slowest are confined to the paper's two corpora.
_CONFINED = ("pLSI", "LDA", "SDA")

PROFILES = {
    "quick": Profile(
        name="quick",
        size="small",
        sample=(800, 400, 2200),
        budgets=(50, 200),
        draws=2,
        noises=(0.0, 0.5, 0.9),
        depths=(1, 2, 3),
        noise_labels=200,
        noise_draws=1,
        noise_prototypes=(300, 600),
        learned={"dmoz": (400, 800, 3000), "20newsgroups": (400, 800)},
        unlabelled_labels=(100,),
        unlabelled_draws=2,
        published=("r8",),
        published_systems=("TF-IDF", "dCoT"),
        published_ways=("leave-one-out",),
        timed=("reuters",),
        words_prototypes=(1000, 1000),
    ),
    "full": Profile(
        name="full",
        size="full",
        sample=None,
        budgets=(50, 100, 200, 500, 1000, 2000),
        draws=5,
        noises=_NOISES,
        depths=(1, 2, 3, 4, 5, 6),
        noise_labels=1000,
        noise_draws=5,
        noise_prototypes=(1000, 3000),
        learned={
            "dmoz": (1000, 3000, 7184, 15_000, 33_704),
            "20newsgroups": (1000, 3000, 6000, 11_293),
        },
        unlabelled_labels=(100, 1000),
        unlabelled_draws=5,
        published=("r8", "r52", "20newsgroups"),
        published_systems=tuple(name for name in SYSTEMS if name not in _CONFINED),
    ),
}


def profile_of(name: str) -> Profile:
    """A profile by its name."""
    if name not in PROFILES:
        raise InvalidParameterError(f"profile must be one of {list(PROFILES)}, got {name!r}")
    return PROFILES[name]
