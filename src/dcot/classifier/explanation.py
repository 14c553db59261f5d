"""Which words moved a decision, and through which prototypes.

The rule. The row lengths are held at the document's own, and so are the slopes of squashing, if
there is any (:mod:`dcot.explain.tracing`). Then everything is linear in the words: a word's share
is its weight times what a unit of it adds to the decision, and what is left when all words are gone
is the baseline. The shares and the baseline add up to the decision value exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.core.centred import Matrix
from dcot.core.representation import Representation
from dcot.explain import showing
from dcot.explain.tracing import Trace

Array = NDArray[Any]


@dataclass(frozen=True)
class WordShare:
    """A word's part in a decision.

    Attributes
    ----------
    word : the term
    share : what it adds to the decision value
    direct : the part of it that comes from the word itself, where x is kept
    through : prototypes and the parts that went through them, the largest first
    labelled : whether any labelled document has the word; if not, it counts by its cohort alone
    """

    word: str
    share: float
    direct: float
    through: list[tuple[str, float]] = field(default_factory=list)
    labelled: bool = True


@dataclass(frozen=True)
class Explanation:
    """A decision taken apart; ``baseline`` and the shares of the words add up to it."""

    target: str
    decision: float
    baseline: float
    words: list[WordShare]

    def __iter__(self) -> Iterator[WordShare]:
        return iter(self.words)

    def __str__(self) -> str:
        lines = [f"{self.target}: decision {self.decision:+.3f}, baseline {self.baseline:+.3f}"]
        for word in self.words[:15]:
            through = ", ".join(f"{name} {value:+.3f}" for name, value in word.through[:4])
            note = "" if word.labelled else "  (in no labelled document)"
            lines.append(f"  {word.share:+.3f}  {word.word}: through {through}{note}")
        if len(self.words) > 15:
            rest = sum(word.share for word in self.words[15:])
            lines.append(f"  {rest:+.3f}  {len(self.words) - 15} more words")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        largest = max((abs(word.share) for word in self.words), default=0.0) or 1.0
        rows = [
            (
                word.word,
                f"{word.share:+.3f}",
                ", ".join(f"{name} {value:+.3f}" for name, value in word.through[:4]),
                "" if word.labelled else "in no labelled document",
            )
            for word in self.words[:15]
        ]
        bars = [abs(word.share) / largest for word in self.words[:15]]
        rest = sum(word.share for word in self.words[15:])
        more = len(self.words) - 15
        title = f"{self.target}: decision {self.decision:+.3f}, baseline {self.baseline:+.3f}"
        table = showing.html_table("", ("word", "share", "through", ""), rows, bars)
        notes = [f"{rest:+.3f} by {more} more words"] if more > 0 else []
        return showing.html_block(title, notes, [table])

    def to_frame(self) -> Any:
        """A polars frame with a row for each word."""
        import polars as pl

        return pl.DataFrame(
            {
                "word": [word.word for word in self.words],
                "share": [word.share for word in self.words],
                "direct": [word.direct for word in self.words],
                "labelled": [word.labelled for word in self.words],
                "through": [[name for name, _ in word.through] for word in self.words],
            },
            schema_overrides={"through": pl.List(pl.String), "word": pl.String},
        )


def explain_document(
    X: Matrix,
    machine: Representation,
    column: int,
    intercept: float,
    terms: Array,
    target: str,
    labelled: Array,
    prototypes: Array,
    n_through: int = 10,
) -> Explanation:
    """Take apart the decision for one class on one document (a matrix of one row)."""
    assert machine.components is not None
    row = sp.csr_array(X)
    own, values = row.indices, row.data.astype(np.float64)
    effect, baseline, direct = _effects(row, machine, machine.components[:, column])
    through = machine.layers[0].coef_[own].astype(np.float64) * effect * values[:, None]
    straight = direct[own] * values if direct is not None else np.zeros(len(own))
    shares = through.sum(axis=1) + straight
    words = []
    for place in np.argsort(-np.abs(shares), kind="stable"):
        top = np.argsort(-np.abs(through[place]), kind="stable")[:n_through]
        parts = [(str(terms[prototypes[p]]), float(through[place, p])) for p in top]
        words.append(
            WordShare(
                str(terms[own[place]]),
                float(shares[place]),
                float(straight[place]),
                parts,
                bool(labelled[own[place]]),
            )
        )
    baseline += intercept
    return Explanation(target, baseline + float(shares.sum()), baseline, words)


def _effects(
    row: Any, machine: Representation, weights: Array
) -> tuple[Array, float, Array | None]:
    """What a unit of each prototype of layer 1 adds, the baseline, what a unit of a term adds."""
    layers = machine.layers
    width = layers[0].coef_.shape[1]
    weights = weights.astype(np.float64)
    direct = None
    if machine.output == "concat":
        d = row.shape[1]
        length = float(np.sqrt((row.data.astype(np.float64) ** 2).sum()))
        direct = weights[:d] / length if length > 0 else np.zeros(d)
        weights = weights[d:]
    shown = [len(layers)] if machine.output == "last" else list(range(1, len(layers) + 1))
    effect, baseline = np.zeros(width), 0.0
    trace = Trace.of(row, layers)
    for block, depth in enumerate(shown):
        mean = layers[depth - 1].mean_
        assert mean is not None
        length = float(np.linalg.norm(trace.outputs(depth) - mean))
        if length == 0:
            continue
        part = weights[block * width : (block + 1) * width] / length
        baseline += float((trace.empty[depth - 1] - mean) @ part)
        effect += trace.handed_back(depth, part)
    return effect, baseline, direct
