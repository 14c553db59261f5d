"""How ``DCoTVectorizer`` learns from texts that are never held: terms first, then their moments."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from dcot._dcot_input import dtype_for, settings_of
from dcot._dcot_streaming import Weigh, learn_from_passes
from dcot.core.checks import canonical, check_weights
from dcot.core.solvers.choice import allowance
from dcot.errors import InvalidInputError
from dcot.runtime.progress import announce
from dcot.stream import LocalPasses, Passes, Source
from dcot.stream.plan import Corpus
from dcot.stream.sums import Block
from dcot.text import TermCounter, TermWeighting
from dcot.text.streams import as_column
from dcot.text.vocabulary import fit_counter

# The part of the allowed memory that the terms may take while they are chosen.
_SHARE = 0.1


@dataclass
class WeighTexts:
    """A step of a pass: from texts to weighted terms."""

    counter: TermCounter
    weighting: TermWeighting
    dtype: Any

    def __call__(self, texts: Any) -> Block:
        counts = self.counter.transform(texts)
        if not counts.shape[0]:
            return Block(canonical(counts, self.dtype))
        return Block(canonical(self.weighting.transform(counts), self.dtype))


def learn_from_texts(model: Any, source: Source, sample_weight: Any) -> None:
    """From batches of texts in this process."""
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    settings = settings_of(model)
    passes = LocalPasses(source, settings.progress)
    learn_from_text_passes(model, passes, settings=settings, weights=weights)


def learn_from_text_passes(
    model: Any,
    texts: Passes,
    *,
    settings: Any = None,
    weights: Any = None,
    sparse_parts: bool = False,
) -> None:
    """From passes over batches of texts, wherever they are made."""
    if not texts.rereadable:
        raise InvalidInputError(
            "texts are read at least twice, for their terms and for the model, and the source can "
            "be read once: give files, a function that returns a new iterator, or a list of texts"
        )
    settings = settings or settings_of(model)
    texts = texts.map(as_column)
    model._start()
    begun = perf_counter()
    counted = fit_counter(model.counter_, texts, _SHARE * allowance(settings.memory_limit))
    spent = perf_counter() - begun
    n, d = counted.n_documents, len(counted.documents)
    if model.counter_.undercount_:
        announce(
            settings.progress,
            f"terms in {model.counter_.undercount_} documents or fewer may be missing from the "
            "vocabulary: raise memory_limit, or min_df above that",
        )
    model.weighting_.fit_sums(n, counted.documents, float(counted.totals.sum()))
    model._name_prototypes()
    dtype = dtype_for(model.dcot_, np.empty(0, dtype=model.counter_.dtype), reset=True)
    if weights is not None:
        weights = check_weights(weights, n)
    step = WeighTexts(model.counter_, model.weighting_, dtype)
    blocks = texts.map(step).map(Weigh(weights))
    nnz = float(counted.documents.sum())
    # documents of unequal length have more pairs than those of the mean length
    pairs = 0.6 * nnz * (nnz / n + 1)
    known = Corpus(d, n, nnz, pairs, counted.documents, spent)
    learn_from_passes(
        model.dcot_, blocks, d, dtype, known=known, settings=settings, sparse_parts=sparse_parts
    )
    model._learned_at_once = True
