"""Profiles: how much of each experiment is computed."""

from __future__ import annotations

from dataclasses import dataclass, field

from dcot.bench.systems import FEATURES, NAMES, OURS, PAPER, SELF_TRAINED, Size
from dcot.errors import InvalidParameterError

# Systems that learn in seconds; the others run only on the paper's two corpora.
FAST = ("bag of words", "TF-IDF", "LSI", "PCA", "mSDA", PAPER, FEATURES, OURS)
FAST_AND_SELF_TRAINED = (*FAST, *SELF_TRAINED)


@dataclass(frozen=True)
class Profile:
    """The cells of each experiment.

    Attributes
    ----------
    size : size of the grids that systems search
    sample : numbers of training, test and unlabelled documents of a corpus; None for all
    few_labels : systems by corpus
    budgets, draws : numbers of labelled documents, and how often they are drawn
    all_labels : whether to add one draw with all labels
    svm_systems : systems that are also tried with a linear SVM
    published : corpora with published figures, measured with all labels
    published_systems : systems measured on them
    learned : numbers of documents to learn from, by corpus; larger numbers mean all
    learned_systems, learned_budgets, learned_draws : for the experiment on unlabelled documents
    noises, depths, noise_labels, noise_draws, noise_prototypes : for figure 3; the numbers of
        prototypes are for the paper's method and for our defaults
    timed : corpora of table 1
    words_prototypes : numbers of prototypes in figure 2, for the paper's method and our defaults
    suggested, suggested_draws : corpora and draws of the experiment on what to label next
    collections : judged collections of the experiment on retrieval
    """

    name: str
    size: Size
    sample: tuple[int, int, int] | None
    few_labels: dict[str, tuple[str, ...]]
    budgets: tuple[int, ...]
    draws: int
    svm_systems: tuple[str, ...]
    all_labels: bool = True
    published: tuple[str, ...] = ()
    published_systems: tuple[str, ...] = FAST
    learned: dict[str, tuple[int, ...]] = field(default_factory=dict)
    learned_systems: tuple[str, ...] = ("LSI", OURS)
    learned_budgets: tuple[int, ...] = (100, 1000)
    learned_draws: int = 3
    noises: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
    depths: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    noise_labels: int = 1000
    noise_draws: int = 5
    noise_prototypes: tuple[int, int] = (1000, 2000)
    timed: tuple[str, ...] = ("reuters", "dmoz")
    words_prototypes: tuple[int, int] = (1000, 2000)
    suggested: tuple[str, ...] = ()
    suggested_draws: int = 3
    collections: tuple[str, ...] = ()


PROFILES = {
    "quick": Profile(
        name="quick",
        size="small",
        sample=(800, 400, 2200),
        few_labels={"reuters": NAMES, "dmoz": FAST},
        budgets=(50, 200),
        draws=2,
        svm_systems=("TF-IDF", FEATURES),
        published=("r8",),
        published_systems=("TF-IDF", OURS),
        learned={"dmoz": (400, 3000)},
        learned_budgets=(50,),
        learned_draws=2,
        noises=(0.0, 0.5, 0.9),
        depths=(1, 2, 3),
        noise_labels=200,
        noise_draws=1,
        noise_prototypes=(300, 600),
        timed=("reuters",),
        words_prototypes=(1000, 1000),
        suggested=("dmoz",),
        suggested_draws=1,
        collections=("dmoz-items",),
    ),
    "full": Profile(
        name="full",
        size="full",
        sample=None,
        few_labels={
            "reuters": NAMES,
            "dmoz": NAMES,
            "r52": FAST_AND_SELF_TRAINED,
            "20newsgroups": FAST_AND_SELF_TRAINED,
        },
        budgets=(50, 100, 200, 500, 1000),
        draws=5,
        svm_systems=("TF-IDF", "LSI", FEATURES),
        published=("r8", "r52", "20newsgroups"),
        learned={"dmoz": (1000, 3000, 33_704), "20newsgroups": (1000, 3000)},
        suggested=("dmoz", "r52"),
        collections=(
            "cranfield",
            "reuters-items",
            "reuters-pieces",
            "dmoz-items",
            "dmoz-pieces",
            "dmoz-names",
            "r52-classes",
            "20newsgroups-classes",
        ),
    ),
}


def profile_of(name: str) -> Profile:
    """A profile by its name."""
    if name not in PROFILES:
        raise InvalidParameterError(f"profile must be one of {list(PROFILES)}, got {name!r}")
    return PROFILES[name]
