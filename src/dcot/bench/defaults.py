"""``dcot bench defaults``: the study behind the default settings, on training labels only.

Some training documents are held out. The representation is learned from the others without labels,
and a ridge classifier from 100, 300 or 1000 labels of these. Accuracy is measured on the held-out
documents; test documents are not used. Tables show differences to the default, so that nobody
mistakes them for results.
"""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from dcot.bench.features import Block, Blocks
from dcot.bench.protocol import Candidate, choose, default_class_weight, ridge_predictions, score
from dcot.bench.report.results import points
from dcot.bench.report.tables import Table
from dcot.bench.systems.dcot import outputs_of
from dcot.bench.systems.pretrained import Encoder
from dcot.bench.tasks import load_corpus
from dcot.classifier import DCoTClassifier
from dcot.classifier.fit import evenly_spaced
from dcot.classifier.selection import EMBEDDING_WEIGHTS
from dcot.classifier.self_training import FACTOR
from dcot.datasets import Corpus
from dcot.embedding.vectors import WORDLLAMA, VectorSource, as_encoder, vectors_of_words
from dcot.errors import DatasetMissingError, InvalidParameterError
from dcot.estimator import DCoT
from dcot.persistence.saving import load as load_model
from dcot.runtime.files import write_atomically
from dcot.runtime.progress import Progress, announce, silent
from dcot.vectorizer import DCoTVectorizer

Array = NDArray[Any]
SEED = 7
BUDGETS = (100, 300, 1000)
MANY_LABELS = (1000, 2500, 4500)
DRAWS = 3
METRICS = {"accuracy": "accuracy", "macro-F1": "macro_f1"}
MAX_DOCUMENTS, HELD_OUT = 6000, 1500
CORPORA = ("reuters-text", "dmoz", "r52", "20newsgroups", "imdb")

# One thing changed at a time; the first is the default.
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "noise of layer 1: 0.8": {"noise": (0.8, 0.8)},
    "noise of layer 1: 0.95": {"noise": (0.95, 0.8)},
    "noise of layer 2: 0.5": {"noise": (0.9, 0.5)},
    "noise of layer 2: 0.9": {"noise": (0.9, 0.9)},
    "no shrinkage": {"shrinkage": (0.0, 0.0)},
    "shrinkage 0.3": {"shrinkage": (0.3, 0.0)},
    "shrinkage 3": {"shrinkage": (3.0, 0.0)},
    "1000 prototypes": {"n_prototypes": 1000},
    "3000 prototypes": {"n_prototypes": 3000},
    "6000 prototypes": {"n_prototypes": 6000},
    "prototypes by document frequency": {"prototypes": "document_frequency"},
    "3000 prototypes by document frequency": {
        "n_prototypes": 3000,
        "prototypes": "document_frequency",
    },
    "prototypes by total weight": {"prototypes": "frequent"},
    "three layers": {"n_layers": 3},
    "tanh": {"squash": "tanh"},
    "compressed to 300": {"n_components": 300, "random_state": 0},
    "compressed to 500": {"n_components": 500, "random_state": 0},
    "compressed to 600": {"n_components": 600, "random_state": 0},
    "layers of length one": {"normalize": "unit"},
    "rows not scaled": {"normalize": "center"},
}
WORDS: dict[str, dict[str, Any]] = {
    "min_df=1": {"min_df": 1},
    "min_df=2": {"min_df": 2},
    "min_df=3": {"min_df": 3},
    "min_df=2, max_df=0.5": {"min_df": 2, "max_df": 0.5},
    "min_df=2, max_df=0.2": {"min_df": 2, "max_df": 0.2},
    "min_df=2, English stop words": {"min_df": 2, "stop_words": "english"},
}
PROMISED = 0.9  # accuracy of answers and coverage of sets, in the study of reliability
PRECISIONS = ("as learned", "float16", "int8")
# Factors of the input weights, from the share of documents that have a term and its idf; rows are
# then scaled to length one again.
FREQUENT: dict[str, Callable[[Array, Array], Array]] = {
    "idf_floor=1": lambda share, idf: np.ones_like(idf),
    "idf · (1 - share)²": lambda share, idf: (1 - share) ** 2,
    "idf · (1 - share)⁴": lambda share, idf: (1 - share) ** 4,
    "idf_floor=0.1, the default": lambda share, idf: (idf - 0.9) / idf,
    "idf_floor=0": lambda share, idf: (idf - 1) / idf,
    "idf²": lambda share, idf: idf,
    "idf, no term of more than a fifth": lambda share, idf: (share <= 0.2).astype(float),
}
CLASS_WEIGHTS: dict[str, Any] = {"none": None, "square root": "sqrt", "balanced": "balanced"}


@dataclass(frozen=True)
class Held:
    """Texts and labels of some training documents; the first ones are held out."""

    name: str
    texts: list[str]
    labels: Array
    draws: list[Array]

    @classmethod
    def of(cls, corpus: Corpus, name: str) -> Held:
        """A sample, always the same one."""
        rng = np.random.default_rng(SEED)
        rows = rng.permutation(corpus.train)[:MAX_DOCUMENTS]
        held = min(HELD_OUT, len(rows) // 4)
        pool = np.arange(held, len(rows))
        texts = corpus.texts or []
        return cls(
            name,
            [texts[row] for row in rows],
            np.asarray(corpus.labels)[rows],
            [rng.permutation(pool) for _ in range(DRAWS)],
        )

    @property
    def n_out(self) -> int:
        """Number of documents that are held out."""
        return len(self.texts) - len(self.draws[0])

    @property
    def learned(self) -> list[str]:
        """The texts that a representation is learned from: those not held out."""
        return self.texts[self.n_out :]

    def scores(
        self,
        *choices: Blocks,
        class_weight: Any = "default",
        budgets: Sequence[int] | None = None,
        factor: float | None = None,
        without_lsi: int | None = None,
        by_likelihood: bool = False,
    ) -> dict[str, Array]:
        """Scores in percent by number of labels; leave-one-out chooses among several features.

        With ``factor``, the classifier also learns from its predictions for other documents.
        ``without_lsi`` says which features are the first ones without LSI. With
        ``by_likelihood``, features are chosen by the rule for weights of vectors.
        """
        held, labels = np.arange(self.n_out), self.labels
        weight = default_class_weight() if class_weight == "default" else class_weight
        candidates = [Candidate({}, blocks) for blocks in choices]
        found: list[list[dict[str, float]]] = []
        for order in self.draws:
            usable = [budget for budget in budgets or BUDGETS if budget <= len(order)]
            if not usable:
                raise InvalidParameterError(
                    f"{self.name} has {len(order)} documents to label, and this study needs "
                    f"{(budgets or BUDGETS)[0]}: choose a larger corpus"
                )
            chosen = choose(candidates, labels, order, usable, weight, without_lsi, by_likelihood)
            found.append([])
            for budget, choice in chosen.items():
                known, others = order[:budget], order[budget:]
                pool = others[evenly_spaced(len(others))] if factor else None
                by = factor or FACTOR
                made = ridge_predictions(choice, labels, known, held, weight, pool, by)
                found[-1].append(score(labels[held], made.labels))
        return {
            name: np.array([[100 * each[key] for each in draw] for draw in found]).mean(axis=0)
            for name, key in METRICS.items()
        }


@dataclass(frozen=True)
class Outcome:
    """Scores and costs of one setting on one corpus."""

    scores: dict[str, Array]
    megabytes: float | None = None
    seconds: float | None = None


Study = Callable[[Held], Iterator[tuple[str, Outcome]]]


def _settings(held: Held) -> Iterator[tuple[str, Outcome]]:
    """Parameters of ``DCoT``, and parts of its default features."""
    X = DCoTVectorizer().fit(held.learned).weigh(held.texts)
    for name, options in SETTINGS.items():
        start = time.process_time()
        model = DCoT(**options).fit(X[held.n_out :])
        seconds = time.process_time() - start
        yield name, Outcome(held.scores([Block.of(model.transform(X))]), None, seconds)
        if name == "default":
            z1, z2 = (Block.of(Z) for Z in outputs_of(model, X, "unit"))
            x = Block.of(X, "unit")
    for name, blocks in (("layer 1 alone", [z1]), ("layer 2 alone", [z2]), ("with x", [x, z1, z2])):
        yield name, Outcome(held.scores(blocks))


def _words(held: Held) -> Iterator[tuple[str, Outcome]]:
    """What ``DCoTVectorizer`` counts, and the size of a saved model."""
    for name, options in WORDS.items():
        start = time.process_time()
        model = DCoTVectorizer(**options).fit(held.learned)
        seconds = time.process_time() - start
        size, _ = _saved(model, None)
        features = [Block.of(model.transform(held.texts))]
        yield name, Outcome(held.scores(features), size, seconds)


def _precision(held: Held) -> Iterator[tuple[str, Outcome]]:
    """The precision that models are saved in."""
    model = DCoTVectorizer(min_df=2).fit(held.learned)
    for precision in PRECISIONS:
        size, loaded = _saved(model, None if precision == "as learned" else precision)
        features = [Block.of(loaded.transform(held.texts))]
        yield precision, Outcome(held.scores(features), size)


def _saved(model: DCoTVectorizer, precision: str | None) -> tuple[float, Any]:
    """Size of a saved model in megabytes, and the model as it is loaded again."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "model"
        model.save(folder, precision=precision)
        return sum(path.stat().st_size for path in folder.iterdir()) / 1e6, load_model(folder)


def _frequent(held: Held) -> Iterator[tuple[str, Outcome]]:
    """Input weights of frequent terms."""
    X = DCoTVectorizer(idf_floor=1.0).fit(held.learned).weigh(held.texts)
    n = len(held.learned)
    share = np.bincount(X[held.n_out :].indices, minlength=X.shape[1]) / n
    idf = 1 + np.log((1 + n) / (1 + share * n))
    for name, factor in FREQUENT.items():
        weighed = normalize(X @ sp.diags_array(factor(share, idf).astype(X.dtype)))
        model = DCoT().fit(weighed[held.n_out :])
        yield name, Outcome(held.scores([Block.of(model.transform(weighed))]))


def _classes(held: Held) -> Iterator[tuple[str, Outcome]]:
    """Weights of labelled documents by the size of their class."""
    features = [Block.of(DCoTVectorizer().fit(held.learned).transform(held.texts))]
    for name, weight in CLASS_WEIGHTS.items():
        yield name, Outcome(held.scores(features, class_weight=weight))


def _selection(held: Held) -> Iterator[tuple[str, Outcome]]:
    """Features chosen by the classifier, against fixed ones."""
    model = DCoTVectorizer(output="lsi").fit(held.learned)
    X = model.weigh(held.texts)
    lsi, z1, z2 = (Block.of(part) for part in _parts(model.dcot_, X))
    x, half = Block.of(X), Block.of(X * X.dtype.type(np.sqrt(0.5)))
    both, all_three = [z1, z2], [lsi, z1, z2]
    choices: dict[str, list[Blocks]] = {
        "both layers": [both],
        "LSI too": [all_three],
        "LSI at twice the weight too": [[lsi.times(2), z1, z2]],
        "LSI alone": [[lsi]],
        "chosen: LSI too, or not": [all_three, both],
        "layer 1": [[z1]],
        "layer 2": [[z2]],
        "x too": [[x, z1, z2]],
        "x at half weight too": [[half, z1, z2]],
        "LSI and x too": [[x, *all_three]],
    }
    for name, blocks in choices.items():
        without = 1 if blocks[1:2] == [both] else None
        yield name, Outcome(held.scores(*blocks, without_lsi=without))


def _parts(model: DCoT, X: Any) -> list[Array]:
    """LSI of documents, and the layers."""
    lsi, layers = model._fitted().representation.parts(X)
    return [lsi, *np.hsplit(layers, len(model.layers_))]


def _self_training(held: Held) -> Iterator[tuple[str, Outcome]]:
    """Ridge that learns from its predictions for unlabelled documents, with several strengths."""
    features = [Block.of(DCoTVectorizer(output="lsi").fit(held.learned).transform(held.texts))]
    yield "ridge alone", Outcome(held.scores(features))
    for factor in (1.0, FACTOR, 0.1):
        name = f"self-training, {factor:g} times the strength"
        yield name, Outcome(held.scores(features, factor=factor))


def _many(held: Held) -> Iterator[tuple[str, Outcome]]:
    """x beside the layers, with many labels."""
    model = DCoTVectorizer(output="lsi").fit(held.learned)
    X = model.weigh(held.texts)
    x, (lsi, z1, z2) = Block.of(X), (Block.of(part) for part in _parts(model.dcot_, X))
    choices = {
        "LSI and both layers": [lsi, z1, z2],
        "both layers": [z1, z2],
        "x and both layers": [x, z1, z2],
        "x and LSI and both layers": [x, lsi, z1, z2],
    }
    for name, blocks in choices.items():
        yield name, Outcome(held.scores(blocks, budgets=MANY_LABELS))


def _embedding(held: Held, encoder: Any = None) -> Iterator[tuple[str, Outcome]]:
    """The vectors of wordllama, for texts and for words, beside the default and alone.

    With ``encoder``, the folder of a sentence-transformers model, its vectors too.
    """
    encode = as_encoder(WORDLLAMA)
    assert encode is not None
    model = DCoTVectorizer(output="lsi").fit(held.learned)
    terms, X = model._pipeline.terms.tolist(), model.weigh(held.texts)
    ours = Block.of(model.transform(held.texts))
    start = time.process_time()
    vectors = encode(held.texts)
    seconds = time.process_time() - start
    # a word in a text is encoded with the space before it
    words = dict(zip(terms, encode([f" {term}" for term in terms]), strict=True))
    sources = {
        "wordllama": VectorSource.given(lambda rows: vectors[rows], None),
        "its word vectors": vectors_of_words(words, terms, X),
    }
    if encoder is not None:
        encoded = Encoder(encoder).encode(held.texts)
        sources["the encoder"] = VectorSource.given(lambda rows: encoded[rows], None)
    for name, source in sources.items():
        embedding, _ = source.learn(np.arange(held.n_out, len(held.texts)))
        beside = Block.of(embedding.features(source.of(np.arange(len(held.texts)))))
        if name == "wordllama":
            yield "dCoT alone", Outcome(held.scores([ours], factor=FACTOR))
        cost = seconds if name == "wordllama" else None
        yield f"{name} alone", Outcome(held.scores([beside], factor=FACTOR), None, cost)
        both = {weight: [ours, beside.times(weight)] for weight in EMBEDDING_WEIGHTS}
        for weight in sorted(EMBEDDING_WEIGHTS)[1:]:
            fixed = held.scores(both[weight], factor=FACTOR)
            yield f"dCoT and {name}, weight {weight:g}", Outcome(fixed)
        chosen = held.scores(*both.values(), factor=FACTOR, by_likelihood=True)
        yield f"dCoT and {name}, weight chosen", Outcome(chosen)


def _reliability(held: Held) -> Iterator[tuple[str, Outcome]]:
    """How well abstaining and sets of classes keep their promise on held-out documents."""
    model = DCoTClassifier(selection="none", random_state=0)
    found: list[list[list[float]]] = []
    n, texts = held.n_out, held.learned
    for order in held.draws:
        scores: list[list[float]] = []
        for budget in [budget for budget in BUDGETS if budget <= len(order)]:
            known = set((order[:budget] - n).tolist())
            y = [label if row in known else None for row, label in enumerate(held.labels[n:])]
            model = model.refit(texts, y) if found or scores else model.fit(texts, y)
            scores.append(_kept(model, held.texts[:n], held.labels[:n]))
        found.append(scores)
    means = np.mean(found, axis=0).T
    rows = (
        f"right of those answered, abstain={PROMISED}, %",
        f"answered, abstain={PROMISED}, %",
        f"right class in the set, coverage={PROMISED}, %",
        "classes in a set",
        "calibration error, points",
    )
    for name, values in zip(rows, means, strict=True):
        yield name, Outcome({name: values})


def _kept(model: DCoTClassifier, texts: list[str], truth: Array) -> list[float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no document may be certain enough
        least = model._answer_from(PROMISED)
    chance = model.predict_proba(texts)
    sure, right = chance.max(axis=1), model.classes_[chance.argmax(axis=1)] == truth
    answered = sure >= least
    sets = model.predict_sets(texts, PROMISED)
    covered = [label in found for label, found in zip(truth.tolist(), sets, strict=True)]
    bins = np.minimum((10 * sure).astype(int), 9)
    gaps = [abs(float(np.sum(right[bins == b] - sure[bins == b]))) for b in range(10)]
    return [
        100 * float(right[answered].mean()) if answered.any() else np.nan,
        100 * float(answered.mean()),
        100 * float(np.mean(covered)),
        float(np.mean([len(found) for found in sets])),
        100 * sum(gaps) / len(texts),
    ]


STUDIES: dict[str, Study] = {
    "settings": _settings,
    "words": _words,
    "frequent": _frequent,
    "classes": _classes,
    "selection": _selection,
    "self-training": _self_training,
    "many": _many,
    "precision": _precision,
    "embedding": _embedding,
    "reliability": _reliability,
}


def run(
    studies: Sequence[str] | None = None,
    corpora: Sequence[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    docs: str | os.PathLike[str] | None = None,
    encoder: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> list[Table]:
    """Run studies and return their tables; with ``docs``, also write them there as Markdown.

    ``encoder`` is the folder of a sentence-transformers model, for the study of embeddings.
    """
    if unknown := set(studies or ()) - set(STUDIES):
        raise InvalidParameterError(
            f"unknown studies {sorted(unknown)}: expected some of {list(STUDIES)}"
        )
    known = STUDIES | {"embedding": partial(_embedding, encoder=encoder)}
    tables = []
    held = list(_corpora(corpora or CORPORA, data, progress))
    for name in studies or STUDIES:
        found: Found = {}
        for number, each in enumerate(held):
            for setting, outcome in known[name](each):
                found.setdefault(setting, {})[each.name] = outcome
                progress(f"{name}, {each.name}", (number + 0.5) / len(held))
        if name == "reliability":
            made = [_plain_table(name, found)]
        else:
            made = [_table(name, metric, found) for metric in METRICS]
        tables += made
        if docs is not None:
            path = Path(docs) / f"defaults-{name}.md"
            write_atomically(path, "\n".join(table.markdown() for table in made).encode())
    progress("studies", 1.0)
    return tables


def _corpora(
    names: Sequence[str], data: str | os.PathLike[str] | None, progress: Progress
) -> Iterator[Held]:
    for name in names:
        try:
            yield Held.of(load_corpus(name, data), name)
        except DatasetMissingError as error:
            announce(progress, f"{name} is skipped: {error}")


Found = dict[str, dict[str, Outcome]]  # by setting and corpus


def _table(study: str, metric: str, found: Found) -> Table:
    """Differences to the first row, and mean sizes and times if they were measured."""
    first = next(iter(found.values()))
    rows = []
    for name, outcomes in found.items():
        gains = [one.scores[metric] - first[c].scores[metric] for c, one in outcomes.items()]
        mean = f"{round(float(np.mean([gain.mean() for gain in gains])), 2) + 0.0:+.2f}"
        cells = [*(" / ".join(map(points, gain)) for gain in gains), mean]
        sizes = [one.megabytes for one in outcomes.values() if one.megabytes is not None]
        seconds = [one.seconds for one in outcomes.values() if one.seconds is not None]
        costs = [
            f"{np.mean(sizes):.0f} MB" if sizes else "",
            f"{np.mean(seconds):.1f}" if seconds else "",
        ]
        rows.append([name, *([""] * len(cells) if outcomes is first else cells), *costs])
    budgets = " / ".join(map(str, MANY_LABELS if study == "many" else BUDGETS))
    title = f"{study}: change in {metric} with {budgets} labels, in points"
    head = ["change", *first, "mean", "saved size", "CPU seconds"]
    measured = [i for i in range(len(head)) if i < len(first) + 2 or any(row[i] for row in rows)]
    return Table(title, [head[i] for i in measured], [[row[i] for i in measured] for row in rows])


def _plain_table(study: str, found: Found) -> Table:
    """Values instead of differences: a promise is compared with what was kept."""
    rows = []
    for name, outcomes in found.items():
        values = [next(iter(outcome.scores.values())) for outcome in outcomes.values()]
        # NaN if no document was answered in some draw
        shown = (["–" if np.isnan(v) else f"{v:.1f}" for v in each] for each in values)
        rows.append([name, *map(" / ".join, shown)])
    budgets = " / ".join(map(str, BUDGETS))
    corpora = next(iter(found.values()))
    return Table(f"{study}, with {budgets} labels", ["on held-out documents", *corpora], rows)
