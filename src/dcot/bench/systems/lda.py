"""Latent Dirichlet allocation: topic mixtures, the paper's strongest topic model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.decomposition import LatentDirichletAllocation

from dcot.bench.machines import Blocks
from dcot.bench.systems._base import (
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


class Lda(System):
    """scikit-learn's variational LDA; topics and Dirichlet prior by validation, as in the paper.

    The paper's features are the mixture itself; its square root with unit rows (Hellinger) is
    tried too, which suits linear classifiers.
    """

    name = "LDA"
    about = "sklearn LatentDirichletAllocation on counts; topics and prior by validation"
    slow = True

    def settings(self, size: Size) -> list[Setting]:
        topics = (100, 50, 200) if size == "full" else (20,)
        priors = (0.1, 0.01) if size == "full" else (0.1,)
        return grid(topics=topics, prior=priors, features=("mixture", "square root"))

    def learn(self, documents: Documents, settings: Sequence[Setting]) -> Iterator[Learned]:
        for (topics, prior), members in groups(settings, "topics", "prior").items():
            model = LatentDirichletAllocation(
                topics,
                doc_topic_prior=prior,
                learning_method="batch",
                max_iter=20 if topics > 20 else 10,
                random_state=SEED,
            ).fit(documents.counts)

            def transform(documents: Documents, model: Any = model) -> Any:
                return model.transform(documents.counts).astype(np.float32)

            mixtures = remembered(transform)
            for setting in members:

                def features(
                    documents: Documents, setting: Setting = setting, mixtures: Any = mixtures
                ) -> Blocks:
                    theta = mixtures(documents)
                    if setting["features"] == "mixture":
                        return [theta]
                    return [scaled(np.sqrt(theta), "unit")]

                yield Learned(setting, features)
