"""Linear and non-negative factors of the document-term matrix: LSI, PCA, NMF and pLSI."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.decomposition import NMF, PCA, TruncatedSVD
from sklearn.exceptions import ConvergenceWarning

from dcot.bench.machines import Blocks
from dcot.bench.systems._base import (
    ROWS,
    SEED,
    Learned,
    Setting,
    Size,
    System,
    grid,
    groups,
    remembered,
    scaled,
)
from dcot.bench.tasks import Documents

SIZES: dict[Size, tuple[int, ...]] = {"full": (100, 50, 200, 300), "small": (50, 25)}


class Factors(System):
    """A matrix factorisation of scikit-learn, of counts or TF-IDF, with k factors."""

    nested: ClassVar[bool] = False  # the first k factors are those of a smaller model

    @abstractmethod
    def model(self, k: int) -> Any:
        """The unfitted scikit-learn estimator."""

    def learn(self, documents: Documents, settings: Sequence[Setting]) -> Iterator[Learned]:
        shared = ("input",) if self.nested else ("input", "k")
        for (kind, *_), members in groups(settings, *shared).items():
            X = getattr(documents, kind)
            k = min(max(setting["k"] for setting in members), min(X.shape) - 1)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # as far as max_iter goes
                model = self.model(k).fit(X)

            def transform(documents: Documents, model: Any = model, kind: str = kind) -> Any:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    Z = model.transform(getattr(documents, kind))
                return np.asarray(Z, dtype=np.float32)

            outputs = remembered(transform)
            for setting in members:

                def features(
                    documents: Documents, setting: Setting = setting, outputs: Any = outputs
                ) -> Blocks:
                    return [scaled(outputs(documents)[:, : setting["k"]], setting["rows"])]

                yield Learned(setting, features)


class Lsi(Factors):
    """Latent semantic indexing; the paper's is on counts, TF-IDF is tried too."""

    name = "LSI"
    about = "sklearn TruncatedSVD; k by validation"
    nested = True

    def settings(self, size: Size) -> list[Setting]:
        return grid(input=("tfidf", "counts"), k=SIZES[size], rows=ROWS)

    def model(self, k: int) -> Any:
        return TruncatedSVD(k, random_state=SEED)


class Pca(Factors):
    """Principal components: LSI of the centred matrix, which is never built."""

    name = "PCA"
    about = "sklearn PCA (ARPACK, sparse) on TF-IDF"
    nested = True

    def settings(self, size: Size) -> list[Setting]:
        return grid(input=("tfidf",), k=SIZES[size], rows=ROWS)

    def model(self, k: int) -> Any:
        return PCA(k, svd_solver="arpack", random_state=SEED)


class Nmf(Factors):
    """Non-negative factors by least squares; not in the paper."""

    name = "NMF"
    about = "sklearn NMF on TF-IDF"
    slow = True

    def settings(self, size: Size) -> list[Setting]:
        sizes = (100, 50, 200) if size == "full" else (25,)
        return grid(input=("tfidf",), k=sizes, rows=ROWS)

    def model(self, k: int) -> Any:
        return NMF(k, init="nndsvda", max_iter=100, random_state=SEED)


class Plsi(Factors):
    """Probabilistic LSI: NMF with the Kullback-Leibler loss has the same stationary points."""

    name = "pLSI"
    about = "sklearn NMF with Kullback-Leibler loss on counts"
    slow = True

    def settings(self, size: Size) -> list[Setting]:
        sizes = (100, 50) if size == "full" else (25,)
        return grid(input=("counts",), k=sizes, rows=ROWS)

    def model(self, k: int) -> Any:
        options = {"beta_loss": "kullback-leibler", "solver": "mu", "init": "nndsvda"}
        return NMF(k, max_iter=100, random_state=SEED, **options)
