"""Bag of words: the paper's first baseline, term counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dcot.bench.machines import Blocks
from dcot.bench.systems._base import ROWS, Learned, Setting, Size, System, grid, scaled
from dcot.bench.tasks import Documents


class BagOfWords(System):
    """Counts, or their logarithms; rows of length one, or as they are."""

    name = "bag of words"
    about = "term counts"

    def settings(self, size: Size) -> list[Setting]:
        return grid(counts=("log", "raw"), rows=ROWS)

    def learn(self, documents: Documents, settings: Sequence[Setting]) -> Iterator[Learned]:
        for setting in settings:

            def features(documents: Documents, setting: Setting = setting) -> Blocks:
                raw = documents.counts
                counts = raw if setting["counts"] == "raw" else raw.log1p()
                return [scaled(counts, setting["rows"])]

            yield Learned(setting, features)
