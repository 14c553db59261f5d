"""Learn from texts that are never held: their terms first, then dCoT from their moments."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

from dcot.core.centred import as_documents, precision
from dcot.core.fit import FitOptions, FittedDCoT, check_weights
from dcot.core.plan import CorpusSize
from dcot.errors import InvalidInputError
from dcot.runtime.progress import announce
from dcot.runtime.resources import allowance
from dcot.stream import Passes
from dcot.stream.blocks import AttachWeights, Block
from dcot.stream.fitting import fit_passes
from dcot.text.pipeline import TextPipeline
from dcot.text.streams import as_column
from dcot.text.vocabulary import fit_counter

# The share of the allowed memory that the terms may take while they are chosen.
VOCABULARY_SHARE = 0.1


@dataclass
class CountAndWeight:
    """A step of a pass: from texts to weighted terms."""

    pipeline: TextPipeline
    dtype: Any

    def __call__(self, texts: Any) -> Block:
        return Block(as_documents(self.pipeline.transform(texts), self.dtype))


def fit_texts(
    texts: Passes,
    pipeline: TextPipeline,
    options: FitOptions,
    *,
    dtype: Any = None,
    sample_weight: Any = None,
    sparse_parts: bool = False,
) -> FittedDCoT:
    """Learn from passes over batches of texts, wherever the passes are made.

    Parameters
    ----------
    texts : passes over batches of texts
    pipeline : a counter and a weighting, not fitted yet; they are when this returns
    options : the settings; prototypes may be terms
    dtype : the precision to compute in; None takes that of the counter
    sample_weight : how often each text counts for dCoT, or None for once
    sparse_parts : whether partial sums are sent between machines
    """
    if not texts.rereadable:
        raise InvalidInputError(
            "texts are read at least twice, for their terms and for the model, and the source can "
            "be read once: give files, a function that returns a new iterator, or a list of texts"
        )
    texts = texts.map(as_column)
    counter, weighting = pipeline.counter, pipeline.weighting
    begun = perf_counter()
    counted = fit_counter(counter, texts, VOCABULARY_SHARE * allowance(options.memory_limit))
    spent = perf_counter() - begun
    n, d = counted.n_documents, len(counted.documents)
    if counter.undercount_:
        announce(
            options.progress,
            f"terms in {counter.undercount_} documents or fewer may be missing from the "
            "vocabulary: raise memory_limit, or min_df above that",
        )
    weighting.fit_sums(n, counted.documents, float(counted.totals.sum()))
    dtype = precision(dtype, counter.dtype)
    weights = check_weights(sample_weight, n)
    step = CountAndWeight(pipeline, dtype)
    blocks = texts.map(step).map(AttachWeights(weights))
    nnz = float(counted.documents.sum())
    # documents of unequal length have more pairs than those of the mean length
    pairs = 0.6 * nnz * (nnz / n + 1)
    known = CorpusSize(d, n, nnz, pairs, counted.documents, spent)
    options = options.named(pipeline.terms)
    return fit_passes(blocks, d, dtype, options, known=known, sparse_parts=sparse_parts)
