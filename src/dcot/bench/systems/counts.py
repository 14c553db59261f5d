"""Counts of words and TF-IDF: nothing is learned but document frequencies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sklearn.feature_extraction.text import TfidfTransformer

from dcot.bench.features import Block, Blocks
from dcot.bench.systems.base import ROWS, Learned, Setting, Size, System, grid, groups, share
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
    """scikit-learn's TfidfTransformer; IDF from the documents learned from."""

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
