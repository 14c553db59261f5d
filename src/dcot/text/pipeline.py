"""Turn texts into weighted terms: count, then weight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dcot.core.centred import as_documents, precision
from dcot.core.fit import FittedDCoT, check_weights
from dcot.core.options import FitOptions
from dcot.core.plan import TEXT_RATE, CorpusSize
from dcot.errors import InvalidInputError, ModelFormatError
from dcot.persistence import Contents
from dcot.persistence.contents import DAMAGED, count, setting
from dcot.persistence.fitted import check_vocabulary
from dcot.persistence.saving import build, encode_parameters
from dcot.runtime.progress import announce
from dcot.runtime.resources import allowance
from dcot.stream import Passes, Sum
from dcot.stream.fitting import fit_passes
from dcot.stream.passes import AttachWeights, Block
from dcot.text import counting
from dcot.text.counter import TermCounter
from dcot.text.inputs import as_texts
from dcot.text.options import check_parameters
from dcot.text.terms import Terms, TermTable
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
    """A counter and a weighting of its counts.

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
        """Add new terms; document frequencies do not change after the first call."""
        if hasattr(texts, "__iter__") and not hasattr(texts, "__len__"):
            texts = list(texts)  # they are read twice
        counts = self.counter.partial_fit(texts).transform(texts)
        return self.weighting.partial_fit(counts).transform(counts)

    def transform(self, texts: Any) -> sparse.csr_matrix:
        """Return the weighted terms of texts; without texts, a matrix without rows."""
        return self.weigh(self.counter.transform(texts))

    def weigh(self, counts: Any) -> sparse.csr_matrix:
        """Return the weights of counts; columns beyond the known terms are dropped."""
        counts = counts[:, : len(self.weighting.idf_)]
        return self.weighting.transform(counts) if counts.shape[0] else counts

    def fingerprint(self) -> list[Any]:
        """Return everything that determines the weighted terms of a text."""
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
        """Write weights to ``contents``, and return the settings."""
        counter, weighting = self.counter.get_params(), self.weighting.get_params()
        contents.arrays["idf"] = np.asarray(self.weighting.idf_, dtype=np.float64)
        return {
            "counter": {
                "parameters": encode_parameters({**counter, "vocabulary": None}, TEXT_ADVICE),
                "vocabulary_given": counter["vocabulary"] is not None,
                "n_documents": int(self.counter.n_documents_),
                "mean_length": self.counter._mean_length,
            },
            "weighting": {
                "parameters": encode_parameters(weighting, {}),
                "n_documents": int(self.weighting.n_documents_),
                "mean_length": float(self.weighting.mean_length_),
            },
        }

    @classmethod
    def from_saved(cls, contents: Contents, settings: Mapping[str, Any], n_terms: int) -> Self:
        """Return the fitted pipeline from the result of ``saved``, and the vocabulary."""
        if contents.vocabulary is None:
            raise ModelFormatError(f"the vocabulary is missing{DAMAGED}")
        check_vocabulary(contents.vocabulary, n_terms)
        counting = setting(settings, "counter", dict)
        counter: TermCounter = build(TermCounter, counting)
        if setting(counting, "vocabulary_given", bool):
            counter.set_params(vocabulary=contents.vocabulary)
        counter._analysis()  # raises an error for invalid settings
        check_parameters(counter.get_params(deep=False))
        known = counting.get("mean_length") is not None  # older folders do not have it
        length = setting(counting, "mean_length", float) if known else None
        weighing = setting(settings, "weighting", dict)
        weighting: TermWeighting = build(TermWeighting, weighing)
        return cls(
            counter._restore_terms(contents.vocabulary, count(counting, "n_documents"), length),
            weighting._with_idf(
                contents.array("idf", (n_terms,), largest=1e6),
                count(weighing, "n_documents"),
                setting(weighing, "mean_length", float),
            ),
        )


# -- from passes over batches -------------------------------------------------------------------


Ints = npt.NDArray[np.int64]

# Share of the allowed memory for terms while the vocabulary is chosen.
VOCABULARY_SHARE = 0.1
# Bytes per term in a table, including spare capacity.
TERM_BYTES = 160
_FEWEST_TERMS = 1000


@dataclass
class Tally:
    """The terms so far, with their document frequencies and total counts.

    If there are more than ``capacity``, the least frequent ones are dropped.
    """

    capacity: int
    table: TermTable = field(default_factory=TermTable)
    n_documents: int = 0
    n_stopped: int = 0
    undercount: int = 0

    def learned(self) -> counting.Learned:
        return counting.Learned(*self.table.counted(), [], self.n_documents, self.n_stopped)

    def plus(self, more: counting.Learned, undercount: int = 0) -> Tally:
        """Add terms, whose document frequencies may be too small by ``undercount``."""
        self.table.merge(more.terms, more.documents, more.totals)
        self.n_documents += more.n_documents
        self.n_stopped += more.n_stopped
        self.undercount += undercount
        terms, documents, totals = self.table.counted()
        n = len(terms)
        if n > self.capacity:
            room = max(self.capacity // 2, 1)  # halve: dropping one term at a time is too slow
            cut = int(np.partition(documents, n - room - 1)[n - room - 1])
            kept = np.flatnonzero(documents > cut)
            self.table = TermTable()
            self.table.merge(terms.take(kept), documents[kept] - cut, totals[kept])
            self.undercount += cut
        return self


@dataclass
class VocabularySum(Sum):
    """Collects all terms of the texts, or the most frequent if there are too many.

    Attributes
    ----------
    counter : defines the terms
    capacity : maximum number of terms at a time
    """

    counter: TermCounter
    capacity: int

    def empty(self) -> Tally:
        return Tally(self.capacity)

    def add(self, total: Tally, texts: Any) -> Tally:
        counter = self.counter
        return total.plus(counting.learn(texts, counter._analysis(), counter.n_threads))

    def merge(self, left: Tally, right: Tally) -> Tally:
        return left.plus(right.learned(), right.undercount)


@dataclass
class KnownSum(Sum):
    """Sums document frequencies and total counts of known terms, and the number of documents."""

    counter: TermCounter
    terms: Terms

    def empty(self) -> tuple[Ints, Ints, int]:
        d = len(self.terms)
        return np.zeros(d, dtype=np.int64), np.zeros(d, dtype=np.int64), 0

    def add(self, total: tuple[Ints, Ints, int], texts: Any) -> tuple[Ints, Ints, int]:
        store = counting.RowStore(np.int64)
        analysis, d = self.counter._analysis(), len(self.terms)
        counting.look_up(texts, analysis, self.terms, store, self.counter.n_threads)
        counts = store.matrix(d)
        documents = np.bincount(counts.indices, minlength=d)
        often = np.bincount(counts.indices, weights=counts.data, minlength=d)
        n = total[2] + counts.shape[0]
        return total[0] + documents, total[1] + often.astype(np.int64), n

    def merge(self, left: Any, right: Any) -> tuple[Ints, Ints, int]:
        return left[0] + right[0], left[1] + right[1], left[2] + right[2]


def fit_counter(counter: TermCounter, texts: Passes, memory: float) -> counting.Learned:
    """Learn the counter's vocabulary from passes over texts, within ``memory`` bytes.

    ``counter.undercount_`` is 0 if all terms fit in memory. Otherwise terms in at most this many
    documents may be missing.
    """
    undercount = 0
    if counter.vocabulary is not None:
        learned = _counted(counter, counter.fit([]).terms, texts, "counting")
    else:
        counter._check_parameters()
        capacity = max(int(memory // TERM_BYTES), _FEWEST_TERMS)
        (tally,) = texts.totals([VocabularySum(counter, capacity)], "vocabulary")
        learned, undercount = tally.learned(), tally.undercount
        if undercount:
            exact = _counted(counter, learned.terms, texts, "counting again")
            learned = replace(learned, documents=exact.documents, totals=exact.totals)
    kept = counter._fit_learned(learned, undercount)
    totals = learned.documents if counter.binary else learned.totals
    return replace(learned, documents=learned.documents[kept], totals=totals[kept])


def _counted(counter: TermCounter, terms: Terms, texts: Passes, title: str) -> counting.Learned:
    """Count known terms exactly."""
    ((documents, totals, n),) = texts.totals([KnownSum(counter, terms)], title)
    return counting.Learned(terms, documents, totals, [], n, 0)


def _count_and_weight(pipeline: TextPipeline, dtype: Any, texts: Any) -> Block:
    return Block(as_documents(pipeline.transform(texts), dtype))


def fit_texts(
    texts: Passes,
    pipeline: TextPipeline,
    options: FitOptions,
    *,
    dtype: Any = None,
    sample_weight: Any = None,
    sparse_parts: bool = False,
) -> FittedDCoT:
    """Learn from passes over batches of texts, locally or on a cluster.

    Parameters
    ----------
    texts : passes over batches of texts
    pipeline : a counter and a weighting, which are fitted here
    options : the settings; prototypes may be terms
    dtype : the dtype to compute in; None chooses it by that of the counter
    sample_weight : weight of each text for dCoT, or None for 1
    sparse_parts : whether partial sums are sent between machines
    """
    if not texts.rereadable:
        raise InvalidInputError(
            "texts are read at least twice, for their terms and for the model, and the source can "
            "be read once: give files, a function that returns a new iterator, or a list of texts"
        )
    texts = texts.map(as_texts)
    counter, weighting = pipeline.counter, pipeline.weighting
    counted = fit_counter(counter, texts, VOCABULARY_SHARE * allowance(options.memory_limit))
    n, d = counted.n_documents, len(counted.documents)
    if counter.undercount_:
        announce(
            options.progress,
            f"terms in {counter.undercount_} documents or fewer may be missing from the "
            "vocabulary: raise memory_limit, or min_df above that",
        )
    weighting._fit_sums(n, counted.documents, float(counted.totals.sum()))
    dtype = precision(dtype, counter.dtype)
    weights = check_weights(sample_weight, n)
    blocks = texts.map(partial(_count_and_weight, pipeline, dtype)).map(AttachWeights(weights))
    nnz = float(counted.documents.sum())
    # documents of unequal length have more pairs than those of the mean length
    pairs = 0.6 * nnz * (nnz / n + 1)
    known = CorpusSize(d, n, nnz, pairs, counted.documents, TEXT_RATE)
    options = options.named(pipeline.terms)
    return fit_passes(blocks, d, dtype, options, known=known, sparse_parts=sparse_parts)
