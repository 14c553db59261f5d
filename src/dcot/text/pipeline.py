"""From texts to weighted terms: count, then weigh. The one place that does both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dcot.errors import ModelFormatError
from dcot.persistence import Contents
from dcot.persistence.contents import DAMAGED, count, setting
from dcot.persistence.fitted import check_vocabulary
from dcot.persistence.saving import build, encode_parameters
from dcot.text.counter import TermCounter
from dcot.text.options import check_threads
from dcot.text.weighting import TermWeighting

_OWN_CODE = (
    "transform would need it: save the fitted dcot_ alone (model.dcot_.save) and keep your "
    "function in your own code"
)
TEXT_ADVICE = {"analyzer": _OWN_CODE, "strip_accents": _OWN_CODE}
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

    # -- saving ---------------------------------------------------------------------------------

    def saved(self, contents: Contents) -> dict[str, Any]:
        """Put terms and weights into ``contents``; the settings are returned."""
        counter, weighting = self.counter.get_params(), self.weighting.get_params()
        contents.vocabulary = self.terms.tolist()
        contents.arrays["idf"] = np.asarray(self.weighting.idf_, dtype=np.float64)
        return {
            "counter": {
                "parameters": encode_parameters({**counter, "vocabulary": None}, TEXT_ADVICE),
                "vocabulary_given": counter["vocabulary"] is not None,
                "n_documents": int(self.counter.n_documents_),
            },
            "weighting": {
                "parameters": encode_parameters(weighting, {}),
                "n_documents": int(self.weighting.n_documents_),
                "mean_length": float(self.weighting.mean_length_),
            },
        }

    @classmethod
    def from_saved(cls, contents: Contents, settings: Mapping[str, Any], n_terms: int) -> Self:
        """The pipeline that ``saved`` described, fitted."""
        if contents.vocabulary is None:
            raise ModelFormatError(f"the vocabulary is missing{DAMAGED}")
        check_vocabulary(contents.vocabulary, n_terms)
        counting = setting(settings, "counter", dict)
        counter: TermCounter = build(TermCounter, counting)
        if setting(counting, "vocabulary_given", bool):
            counter.set_params(vocabulary=contents.vocabulary)
        counter._analysis()  # refuses settings that no text could be counted with
        check_threads(counter.n_threads)
        if np.dtype(counter.dtype).kind not in "iuf":
            raise ModelFormatError(f"counts cannot be {counter.dtype!r:.60}{DAMAGED}")
        weighing = setting(settings, "weighting", dict)
        weighting: TermWeighting = build(TermWeighting, weighing)
        return cls(
            counter.restore_terms(contents.vocabulary, count(counting, "n_documents")),
            weighting.with_idf(
                contents.array("idf", (n_terms,), largest=1e6),
                count(weighing, "n_documents"),
                setting(weighing, "mean_length", float),
            ),
        )
