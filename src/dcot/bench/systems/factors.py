"""Counts, TF-IDF, and their factors with scikit-learn: LSI, PCA, NMF, pLSI and LDA."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.decomposition import NMF, PCA, LatentDirichletAllocation, TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer

from dcot.bench.features import Block, Blocks
from dcot.bench.systems.base import ROWS, SEED, Learned, Setting, Size, System, grid, groups, share
from dcot.bench.tasks import Documents


def _scaled(values: Any, setting: Setting, documents: Documents) -> Blocks:
    return [Block.of(values, setting["rows"])]


class BagOfWords(System):
    """Counts, or their logarithms; the paper's first baseline."""

    name = "bag of words"
    about = "term counts"

    def settings(self, size: Size) -> list[Setting]:
        return grid(counts=("log", "raw"), rows=ROWS)

    def learn(self, documents: Documents, settings: Sequence[Setting]) -> Iterator[Learned]:
        for (kind,), members in groups(settings, "counts").items():

            def counts(documents: Documents, kind: str = kind) -> Any:
                return documents.counts if kind == "raw" else documents.counts.log1p()

            yield from share(members, counts, _scaled)


class Tfidf(System):
    """scikit-learn's TfidfTransformer; IDF is from the documents to learn from."""

    name = "TF-IDF"
    about = "sklearn TfidfTransformer on counts"

    def settings(self, size: Size) -> list[Setting]:
        return grid(tf=("sublinear", "raw"), rows=ROWS)

    def learn(self, documents: Documents, settings: Sequence[Setting]) -> Iterator[Learned]:
        for (kind,), members in groups(settings, "tf").items():
            model = TfidfTransformer(norm=None, sublinear_tf=kind == "sublinear")
            model.fit(documents.counts)

            def weights(documents: Documents, model: TfidfTransformer = model) -> Any:
                return model.transform(documents.counts)

            yield from share(members, weights, _scaled)


SIZES: dict[Size, tuple[int, ...]] = {"full": (100, 50, 200, 300), "small": (50, 25)}


class Factors(System):
    """A factorisation of counts or TF-IDF with k factors."""

    nested: ClassVar[bool] = False  # whether the first k factors are those of a smaller model
    inputs: ClassVar[tuple[str, ...]] = ("tfidf",)
    sizes: ClassVar[dict[Size, tuple[int, ...]]] = SIZES

    def settings(self, size: Size) -> list[Setting]:
        return grid(input=self.inputs, k=self.sizes[size], rows=ROWS)

    @abstractmethod
    def model(self, setting: Setting, k: int) -> Any:
        """The unfitted scikit-learn estimator."""

    def learn(self, documents: Documents, settings: Sequence[Setting]) -> Iterator[Learned]:
        names = [name for name in settings[0] if name not in ("rows", "features")]
        shared = [name for name in names if name != "k" or not self.nested]
        for members in groups(settings, *shared).values():
            kind = members[0]["input"]
            X = getattr(documents, kind)
            k = min(max(setting["k"] for setting in members), min(X.shape) - 1)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # max_iter is enough
                model = self.model(members[0], k).fit(X)

            def transform(documents: Documents, model: Any = model, kind: str = kind) -> Any:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    Z = model.transform(getattr(documents, kind))
                return np.asarray(Z, dtype=np.float32)

            yield from share(members, transform, self.blocks)

    def blocks(self, factors: Any, setting: Setting, documents: Documents) -> Blocks:
        """The features of one setting."""
        return [Block.of(factors[:, : setting["k"]], setting["rows"])]


class Lsi(Factors):
    """Latent semantic indexing, on counts as in the paper, or on TF-IDF."""

    name = "LSI"
    about = "sklearn TruncatedSVD of TF-IDF or counts"
    nested = True
    inputs = ("tfidf", "counts")
    seconds = 0.05

    def model(self, setting: Setting, k: int) -> Any:
        return TruncatedSVD(k, random_state=SEED)


class Pca(Factors):
    """Principal components: LSI of the centred matrix, without building it."""

    name = "PCA"
    about = "sklearn PCA (ARPACK, sparse) of TF-IDF"
    nested = True
    seconds = 0.1

    def model(self, setting: Setting, k: int) -> Any:
        return PCA(k, svd_solver="arpack", random_state=SEED)


class Nmf(Factors):
    """Non-negative factors by least squares; not in the paper."""

    name = "NMF"
    about = "sklearn NMF of TF-IDF"
    sizes: ClassVar = {"full": (100, 50, 200), "small": (25,)}
    slow = True
    seconds = 2.0

    def model(self, setting: Setting, k: int) -> Any:
        return NMF(k, init="nndsvda", max_iter=100, random_state=SEED)


class Plsi(Factors):
    """Probabilistic LSI, as NMF with the Kullback-Leibler loss: both have the same optima."""

    name = "pLSI"
    about = "sklearn NMF of counts with the Kullback-Leibler loss"
    inputs = ("counts",)
    sizes: ClassVar = {"full": (100, 50), "small": (25,)}
    slow = True
    seconds = 1.7

    def model(self, setting: Setting, k: int) -> Any:
        options = {"beta_loss": "kullback-leibler", "solver": "mu", "init": "nndsvda"}
        return NMF(k, max_iter=100, random_state=SEED, **options)


class Lda(Factors):
    """Latent Dirichlet allocation; topics and Dirichlet prior are searched, as in the paper.

    Features are the mixture, as in the paper, or its square root with unit rows (Hellinger),
    which suits linear classifiers.
    """

    name = "LDA"
    about = "sklearn LatentDirichletAllocation of counts"
    slow = True
    seconds = 7.0

    def settings(self, size: Size) -> list[Setting]:
        return grid(
            input=("counts",),
            k=(100, 50, 200) if size == "full" else (20,),
            prior=(0.1, 0.01) if size == "full" else (0.1,),
            features=("mixture", "square root"),
        )

    def model(self, setting: Setting, k: int) -> Any:
        return LatentDirichletAllocation(
            k,
            doc_topic_prior=setting["prior"],
            learning_method="batch",
            max_iter=50,  # more iterations change accuracy by less than 0.3 points
            random_state=SEED,
        )

    def blocks(self, factors: Any, setting: Setting, documents: Documents) -> Blocks:
        if setting["features"] == "mixture":
            return [Block.of(factors)]
        return [Block.of(np.sqrt(factors), "unit")]
