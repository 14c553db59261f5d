"""Explain a decision by the shares of words and the prototypes they act through.

The row lengths, and the slopes of the squashing function if there is one, are those of the document
(``dcot.explain.tracing``). With these fixed, the decision is linear in the words: the share of a
word is its weight times the effect of one unit of it, and the baseline is the decision without any
word. The shares and the baseline add up to the decision value exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.classifier.fit import FittedClassifier
from dcot.core.centred import Matrix
from dcot.core.fit import FittedDCoT
from dcot.core.representation import WITH_X, Representation
from dcot.embedding.vectors import Documents, Embedding
from dcot.explain import showing
from dcot.explain.tracing import Trace
from dcot.runtime.extras import require
from dcot.runtime.terminal import visible

Array = NDArray[Any]

MAX_THROUGH = 10  # prototypes for each word


@dataclass(frozen=True)
class WordShare:
    """The share of a word in a decision.

    Attributes
    ----------
    word : the term
    share : contribution to the decision value
    direct : part of the share that goes through x or LSI, if they are among the features
    through : prototypes with their parts of the share, the largest first
    labelled : whether any labelled document has the word
    vector : part of the share from its word vector, if there are any
    """

    word: str
    share: float
    direct: float
    through: list[tuple[str, float]] = field(default_factory=list)
    labelled: bool = True
    vector: float = 0.0

    def reasons(self) -> str:
        """The largest parts of the share, in one line."""
        parts = [*self.through[:4], *([("its vector", self.vector)] if self.vector else [])]
        return ", ".join(f"{visible(name)} {value:+.3f}" for name, value in parts)


@dataclass(frozen=True)
class Explanation:
    """A decision as the sum of ``baseline``, ``encoder`` and the shares of words.

    Attributes
    ----------
    target : the class
    decision : its decision value; with ``against``, minus that of the other class
    baseline : decision value without any word
    words : the words with their shares, the largest first
    probability : probability of the class
    runner_up : the most probable other class and its probability
    against : the class that is compared with, or None
    encoder : contribution of the vector of the text, if it comes from an encoder
    unknown : words of the text that the model does not know and skips
    """

    target: str
    decision: float
    baseline: float
    words: list[WordShare]
    probability: float
    runner_up: tuple[str, float]
    against: str | None = None
    encoder: float = 0.0
    unknown: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[WordShare]:
        return iter(self.words)

    @property
    def title(self) -> str:
        """The class, its probability, and the next class."""
        return "\n".join(self._titles)

    @property
    def _titles(self) -> tuple[str, str]:
        """What was decided, and the head of the reasons; names of classes on one line."""
        other, second = self.runner_up
        names = (self.target, other, self.against)
        target, other, against = (" ".join(str(name).splitlines()) for name in names)
        title = f"{target}: probability {self.probability:.2f}, next {other} {second:.2f}"
        rather = f" rather than {against}" if self.against is not None else ""
        made = f"decision {self.decision:+.3f}, baseline {self.baseline:+.3f}"
        made += f", encoder {self.encoder:+.3f}" if self.encoder else ""
        return title, f"What speaks for {target}{rather} ({made}):"

    def __str__(self) -> str:
        lines = [self.title]
        for word in self.words[:15]:
            note = "" if word.labelled else "  (in no labelled document)"
            name = visible(word.word)
            lines.append(f"  {word.share:+.3f}  {name}: through {word.reasons()}{note}")
        if len(self.words) > 15:
            rest = sum(word.share for word in self.words[15:])
            lines.append(f"  {rest:+.3f}  {len(self.words) - 15} more words")
        if not self.words:
            lines.append("  no word of the document is known: the decision is that of an empty one")
        lines += [f"  {note}" for note in showing.skipped_words(self.unknown)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        largest = max((abs(word.share) for word in self.words), default=0.0) or 1.0
        rows = [
            (
                word.word,
                f"{word.share:+.3f}",
                word.reasons(),
                "" if word.labelled else "in no labelled document",
            )
            for word in self.words[:15]
        ]
        bars = [abs(word.share) / largest for word in self.words[:15]]
        rest = sum(word.share for word in self.words[15:])
        more = len(self.words) - 15
        title, reasons = self._titles
        table = showing.html_table("", ("word", "share", "through", ""), rows, bars)
        notes = [f"{rest:+.3f} by {more} more words"] if more > 0 else []
        notes += showing.skipped_words(self.unknown)
        return showing.html_block(title, [reasons, *notes], [table])

    def to_frame(self) -> Any:
        """A polars frame with a row for each word; unknown words come last, with the share 0."""
        pl = require("polars", "tables")
        skipped = [WordShare(word, 0.0, 0.0, labelled=False) for word in self.unknown]
        words = [*self.words, *skipped]
        return pl.DataFrame(
            {
                "word": [word.word for word in words],
                "share": [word.share for word in words],
                "direct": [word.direct for word in words],
                "vector": [word.vector for word in words],
                "labelled": [word.labelled for word in words],
                "known": [True] * len(self.words) + [False] * len(skipped),
                "through": [[name for name, _ in word.through] for word in words],
            },
            schema_overrides={"through": pl.List(pl.String), "word": pl.String},
        )


def explain_decision(
    document: Documents,
    fitted: FittedClassifier,
    terms: Array,
    target: int | None = None,
    against: int | None = None,
    unknown: Sequence[str] = (),
) -> Explanation:
    """Explain the decision for one document.

    Parameters
    ----------
    document : one document
    fitted : the classifier
    terms : names of the columns
    target : a class; None means the most probable one other than ``against``, compared with the
        second if they are exclusive
    against : another class, whose decision is subtracted
    unknown : words of the document that are not among ``terms``
    """
    decisions = fitted.decisions(document)
    probabilities = fitted.probabilities(decisions)[0]
    order = np.argsort(-decisions[0], kind="stable")
    if target is None:
        column = int(next((one for one in order if one != against), order[0]))
    else:
        column = target
    others = order[order != column]
    second = int(others[0]) if len(others) else column
    if target is None and against is None and fitted.exclusive:
        against = second
    weights, intercept = fitted.coef[column].astype(np.float64), float(fitted.intercept[column])
    if against is not None:
        weights = weights - fitted.coef[against]
        intercept -= float(fitted.intercept[against])
    weights, beside = np.split(weights, [fitted.dcot.n_features])
    constant, vectors = vector_shares(document, fitted.embedding, beside)
    baseline, words = word_shares(
        document.terms, fitted.dcot, weights, terms, fitted.known_terms, vectors
    )
    encoder = constant if vectors is None else 0.0
    baseline += intercept + constant - encoder
    names = [str(name) for name in fitted.classes]
    return Explanation(
        target=names[column],
        decision=baseline + encoder + sum(word.share for word in words),
        baseline=baseline,
        words=words,
        probability=float(probabilities[column]),
        runner_up=(names[second], float(probabilities[second])),
        against=None if against is None else names[against],
        encoder=encoder,
        unknown=tuple(unknown),
    )


def vector_shares(
    document: Documents, embedding: Embedding | None, weights: Array
) -> tuple[float, Array | None]:
    """The contribution of the vector of a document: a constant, and the shares of its terms.

    The shares are None if the vector is not a sum of word vectors.
    """
    if embedding is None or document.vectors is None:
        return 0.0, None
    vector = document.vectors.astype(np.float64)
    centred = vector - embedding.mean
    effect = weights * embedding.scales(vector, centred)
    if embedding.table is None:
        return float(centred[0] @ effect), None
    row = sp.csr_array(document.terms)
    shares = (embedding.table[row.indices].astype(np.float64) @ effect) * row.data
    return -float(embedding.mean @ effect), shares


def term_shares(X: Matrix, dcot: FittedDCoT, weights: Array) -> Array:
    """The shares of the terms of one document, in the order of its row; see ``word_shares``."""
    row = sp.csr_array(X)
    effect, _, direct = _effects(row, dcot.representation, weights)
    unit = dcot.layers[0].coef_[row.indices] @ effect
    if direct is not None:
        unit = unit + direct[row.indices]
    return np.asarray(unit * row.data)


def word_shares(
    X: Matrix,
    dcot: FittedDCoT,
    weights: Array,
    terms: Array,
    labelled: Array,
    vectors: Array | None = None,
) -> tuple[float, list[WordShare]]:
    """The baseline of a decision, without the intercept, and the shares of the words.

    Parameters
    ----------
    X : one document, a matrix of one row
    dcot : the representation
    weights : weights of its features in the decision
    terms : names of the columns
    labelled : whether any labelled document has a term
    vectors : contribution of the word vector of each term, in the order of the row
    """
    row = sp.csr_array(X)
    columns, values = row.indices, row.data.astype(np.float64)
    effect, baseline, direct = _effects(row, dcot.representation, weights)
    through = dcot.layers[0].coef_[columns].astype(np.float64) * effect * values[:, None]
    straight = direct[columns] * values if direct is not None else np.zeros(len(columns))
    vectors = np.zeros(len(columns)) if vectors is None else vectors
    shares = through.sum(axis=1) + straight + vectors
    words = []
    for place in np.argsort(-np.abs(shares), kind="stable"):
        top = np.argsort(-np.abs(through[place]), kind="stable")[:MAX_THROUGH]
        parts = [(str(terms[dcot.prototypes[p]]), float(through[place, p])) for p in top]
        words.append(
            WordShare(
                str(terms[columns[place]]),
                float(shares[place]),
                float(straight[place]),
                parts,
                bool(labelled[columns[place]]),
                float(vectors[place]),
            )
        )
    return baseline, words


def _effects(row: Any, made: Representation, weights: Array) -> tuple[Array, float, Array | None]:
    """Effect of a unit of each prototype of layer 1, the baseline, effect of a unit of a term."""
    layers = made.layers
    width = layers[0].coef_.shape[1]
    weights = weights.astype(np.float64)
    direct = None
    if made.input_width:
        direct, weights = _direct(row, made, weights), weights[made.input_width :]
    shown = [len(layers)] if made.output == "last" else list(range(1, len(layers) + 1))
    effect, baseline = np.zeros(width), 0.0
    trace = Trace.of(row, layers)
    for block, depth in enumerate(shown):
        mean = _mean(made, depth)
        measured = {"unit": depth, "shared": 1}.get(str(made.normalize))
        length = 1.0
        if measured is not None:
            length = float(np.linalg.norm(trace.outputs(measured) - _mean(made, measured)))
        if length == 0:
            continue
        part = weights[block * width : (block + 1) * width] * made.scales[depth - 1] / length
        baseline += float((trace.empty[depth - 1] - mean) @ part)
        effect += trace.handed_back(depth, part)
    return effect, baseline, direct


def _direct(row: Any, made: Representation, weights: Array) -> Array:
    """Effect of a unit of each term through x and LSI; 0 for terms that are missing."""
    columns, values = row.indices, row.data.astype(np.float64)
    direct, scaled = np.zeros(row.shape[1]), made.normalize in ("unit", "shared")
    if made.output in WITH_X:
        length = float(np.linalg.norm(values)) if scaled else 1.0
        direct[columns] += weights[columns] / length if length > 0 else 0.0
    if made.directions is not None:
        table = made.directions[columns].astype(np.float64)
        length = float(np.linalg.norm(values @ table)) if scaled else 1.0
        start = made.input_width - table.shape[1]
        effect = table @ weights[start : made.input_width] * made.lsi_weight
        direct[columns] += effect / length if length > 0 else 0.0
    return direct


def _mean(made: Representation, depth: int) -> Array:
    """The mean that is subtracted from the outputs of a layer."""
    mean = made.layers[depth - 1].mean_
    if made.normalize is None or mean is None:
        return np.zeros(made.layers[-1].coef_.shape[1])
    return mean
