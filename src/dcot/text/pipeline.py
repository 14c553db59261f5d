"""From texts to weighted terms: count, then weigh. The one place that does both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
from scipy import sparse

from dcot.text.counter import TermCounter
from dcot.text.weighting import TermWeighting

# Settings of a TermCounter that do not matter once its vocabulary is known.
LEARNING_ONLY = {
    "vocabulary", "min_df", "max_df", "max_features", "grow_vocabulary", "n_threads",
}  # fmt: skip


@dataclass(frozen=True)
class TextPipeline:
    """A counter, and the weighting of its counts.

    >>> TextPipeline(TermCounter(), TermWeighting("binary")).fit_transform(["a tea", "tea tea"]).nnz
    2
    """

    counter: TermCounter
    weighting: TermWeighting

    @property
    def terms(self) -> npt.NDArray[Any]:
        """The terms, in the order of the columns."""
        return self.counter.get_feature_names_out()

    def fit_transform(self, texts: Any) -> sparse.csr_matrix:
        """Learn terms and weights from texts, and return their weighted terms."""
        return self.weighting.fit_transform(self.counter.fit_transform(texts))

    def partial_fit_transform(self, texts: Any) -> sparse.csr_matrix:
        """Add terms that are new; document frequencies stay as the first call found them."""
        texts = texts if hasattr(texts, "__len__") else list(texts)
        counts = self.counter.partial_fit(texts).transform(texts)
        return self.weighting.partial_fit(counts).transform(counts)

    def transform(self, texts: Any) -> sparse.csr_matrix:
        """Weighted terms of texts; no texts give a matrix without rows."""
        return self.weigh(self.counter.transform(texts))

    def weigh(self, counts: Any) -> sparse.csr_matrix:
        """Weights of counts; columns beyond the known terms are left out."""
        counts = counts[:, : len(self.weighting.idf_)]
        return self.weighting.transform(counts) if counts.shape[0] else counts

    def fingerprint(self) -> list[Any]:
        """Everything that decides on the weighted terms of a text."""
        given = self.counter.get_params(deep=False)
        return [
            self.weighting.get_params(deep=False),
            self.weighting.idf_,
            float(self.weighting.mean_length_),
            {name: given[name] for name in given if name not in LEARNING_ONLY},
            "\0".join(self.terms),
        ]
