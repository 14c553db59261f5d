"""Retrieval: the default index, dCoT's cosine alone, BM25, TF-IDF and LSI on judged queries.

Collections are folders in the layout of BEIR, or made from corpora. In *items* the query is the
title of a document, and in *pieces* some words from its middle; the rest of the document is to be
found, mostly by its words. In *names* the query is the name of a class, and in *classes* the
beginning of a document; every document of the class is relevant, so meaning counts.

All systems see the same words. The settings of tuned BM25 and LSI are chosen on the other half of
the queries; another setting replaces the default only if it is better by more than one standard
error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction import DictVectorizer
from sklearn.preprocessing import normalize

from dcot.bench.jobs import Context, Job, digest
from dcot.bench.store import Key, Result
from dcot.bench.systems import StaticEmbeddings
from dcot.bench.tasks import CORPORA
from dcot.datasets import Corpus, JudgedCollection, load, load_beir
from dcot.datasets._files import search_dirs
from dcot.embedding.vectors import WORDLLAMA
from dcot.errors import DatasetMissingError
from dcot.runtime.extras import require
from dcot.search import SearchIndex
from dcot.search.metrics import average_precision, ndcg
from dcot.text import TermCounter, TermWeighting
from dcot.vectorizer import DCoTVectorizer

NAME = "retrieval"
Array = NDArray[Any]
DEPTH = 1000
QUERIES, MAX_DOCUMENTS = 300, 8000
DEFAULT, BASELINE, TUNED, SPARSE = "default index", "BM25", "tuned BM25", "sparse vectors"
SYSTEMS = ("TF-IDF", BASELINE, TUNED, "LSI", "dCoT", SPARSE, DEFAULT)
# Only in runs with the static embeddings.
WITH_VECTORS = "default index with static embeddings"
LSI_SIZES = (200, 50, 100, 300, 500)
BM25_SETTINGS = ((1.2, 0.75), (0.9, 0.4), (1.5, 0.75), (2.0, 0.75), (1.2, 0.4), (2.0, 0.4))
Rankings = list[list[str]]
Cut = Callable[..., tuple[str, str] | None]


def jobs(context: Context) -> Iterator[Job]:
    """A job for each collection."""
    systems = (*SYSTEMS, WITH_VECTORS) if StaticEmbeddings.name in context.extra else SYSTEMS
    for name in context.profile.collections:
        try:
            collection = collection_of(context, name)
        except DatasetMissingError as error:
            context.note(f"{name} is skipped: {error}")
            continue
        keys: list[Key] = [
            {
                "experiment": NAME,
                "corpus": name,
                "data": digest([collection.texts, collection.queries]),
                "system": system,
            }
            for system in systems
        ]
        seconds = 30 + len(collection.texts) / 100
        yield Job(NAME, f"{NAME}, {name}", keys, {"collection": name}, seconds, 3e9)


def work(context: Context, job: Job, missing: list[Key]) -> Iterator[tuple[Key, Result]]:
    """All systems on one collection."""
    require("bm25s", "bench")
    collection = collection_of(context, job.options["collection"])
    counter = TermCounter(dtype=np.float32)
    counts, asked = counter.fit_transform(collection.texts), counter.transform(collection.queries)
    weighting = TermWeighting("tfidf", sublinear_tf=True).fit(counts)
    X, Q = weighting.transform(counts), weighting.transform(asked)

    @cache
    def index(embedding: str | None = None) -> SearchIndex:
        return SearchIndex(embedding=embedding).add(collection.texts, ids=collection.ids)

    def indexed(hybrid: bool | None, embedding: str | None = None) -> Rankings:
        found = index(embedding).search(collection.queries, k=DEPTH, hybrid=hybrid)
        return [list(hits.ids) for hits in found]

    @cache
    def bm25(setting: tuple[float, float]) -> Rankings:
        return _ranked(_bm25(counts, asked, *setting), collection)

    candidates: dict[str, Callable[[], list[Rankings]]] = {
        "TF-IDF": lambda: [_ranked((Q @ X.T).toarray(), collection)],
        BASELINE: lambda: [bm25(BM25_SETTINGS[0])],  # the settings of the index
        TUNED: lambda: [bm25(setting) for setting in BM25_SETTINGS],
        "LSI": lambda: list(_lsi(X, Q, collection)),
        "dCoT": lambda: [indexed(False)],
        SPARSE: lambda: [_ranked(_sparse(index().model_, collection), collection)],
        DEFAULT: lambda: [indexed(None)],
        WITH_VECTORS: lambda: [indexed(None, WORDLLAMA)],
    }
    for key in missing:
        scores = [_scores(ranked, collection) for ranked in candidates[key["system"]]()]
        ndcgs, maps = _chosen(scores)
        yield (
            key,
            {
                "ndcg": float(ndcgs.mean()),
                "map": float(maps.mean()),
                "ndcg_by_query": [round(float(value), 5) for value in ndcgs],
                "documents": len(collection.texts),
                "queries": len(collection.queries),
            },
        )


def _scores(ranked: Rankings, collection: JudgedCollection) -> Array:
    """nDCG@10 and average precision, by query."""
    found = []
    for names, relevant in zip(ranked, collection.relevant, strict=True):
        grades = cast("Mapping[Hashable, float]", relevant)
        found.append([ndcg(names, grades), average_precision(names, grades)])
    return np.array(found).T


def _chosen(scores: Sequence[Array]) -> tuple[Array, Array]:
    """Scores of each half of the queries with the setting that is best on the other half."""
    n = scores[0].shape[1]
    half = np.random.default_rng(0).permutation(n) % 2 == 0
    best = scores[0].copy()
    for side in (half, ~half):
        gains = [each[0, ~side] - scores[0][0, ~side] for each in scores]
        means = [float(gain.mean()) for gain in gains]
        top = int(np.argmax(means))
        error = float(gains[top].std(ddof=1)) / np.sqrt(max(len(gains[top]), 1))
        if means[top] > error:
            best[:, side] = scores[top][:, side]
    return best[0], best[1]


def _ranked(scores: Array, collection: JudgedCollection) -> Rankings:
    order = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
    return [[collection.ids[row] for row in rows] for rows in order]


def _bm25(counts: Any, asked: Any, k1: float, b: float) -> Array:
    """Scores of bm25s on the same tokens: the columns of the counts."""
    engine: Any = require("bm25s", "bench").BM25(method="lucene", k1=k1, b=b)
    vocabulary = {str(column): column for column in range(counts.shape[1])}
    engine.index((_tokens(counts), vocabulary), show_progress=False, create_empty_token=False)
    return np.stack([engine.get_scores_from_ids(query) for query in _tokens(asked)])


def _tokens(counts: Any) -> list[list[int]]:
    """The columns of each row, repeated by their counts."""
    counts = sp.csr_array(counts)
    bounds = zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
    return [
        np.repeat(counts.indices[a:b], counts.data[a:b].astype(int)).tolist() for a, b in bounds
    ]


def _lsi(X: Any, Q: Any, collection: JudgedCollection) -> Iterator[Rankings]:
    most = min(X.shape) - 1
    sizes = list(dict.fromkeys(min(size, most) for size in LSI_SIZES))
    svd = TruncatedSVD(max(sizes), random_state=0).fit(X)
    U, V = svd.transform(X), svd.transform(Q)
    for k in sizes:
        yield _ranked(normalize(V[:, :k]) @ normalize(U[:, :k]).T, collection)


def _sparse(model: DCoTVectorizer, collection: JudgedCollection) -> Array:
    """Inner products of sparse vectors, as a search engine computes them."""
    vectorizer = DictVectorizer(dtype=np.float32)
    documents = vectorizer.fit_transform(model.to_sparse(collection.texts))
    queries = vectorizer.transform(model.to_sparse(collection.queries, query=True))
    return np.asarray((queries @ documents.T).toarray())


# -- collections --------------------------------------------------------------------------------


def collection_of(context: Context, name: str) -> JudgedCollection:
    """Load a collection by name: one made from a corpus, or a folder in the data directory."""
    if name in _MADE:
        corpus, made = _MADE[name]
        return made(load(CORPORA[corpus], data_dir=context.data))
    for folder in search_dirs(context.data):
        if (folder / name / "corpus.jsonl").is_file():
            return load_beir(folder / name)
    raise DatasetMissingError(f"there is no folder {name} in the layout of BEIR")


def _items(corpus: Corpus, cut: Cut, **options: Any) -> JudgedCollection:
    """Queries cut out of documents; ``cut`` returns a query and the rest of a text, or None."""
    texts = corpus.texts or []
    rng = np.random.default_rng(0)
    pieces = [cut(texts[i], **options) for i in rng.permutation(len(texts))]
    pairs = [pair for pair in pieces if pair is not None][:MAX_DOCUMENTS]
    asked = rng.choice(len(pairs), min(QUERIES, len(pairs)), replace=False).tolist()
    ids = [str(i) for i in range(len(pairs))]
    numbers = [str(i) for i in asked]
    relevant = [{number: 1.0} for number in numbers]
    queries = [pairs[i][0] for i in asked]
    return JudgedCollection(
        corpus.name, ids, [rest for _, rest in pairs], numbers, queries, relevant
    )


def _classes(corpus: Corpus, n_words: int) -> JudgedCollection:
    """Queries begin test documents; training documents of the same class are relevant."""
    texts, labels = corpus.texts or [], np.asarray(corpus.labels)
    rng = np.random.default_rng(0)
    asked = rng.choice(corpus.test, QUERIES, replace=False)
    held = rng.permutation(corpus.train)[:MAX_DOCUMENTS]
    relevant = {
        int(i): {str(held[j]): 1.0 for j in np.flatnonzero(labels[held] == labels[i])}
        for i in asked
    }
    kept = [i for i, grades in relevant.items() if grades]
    return JudgedCollection(
        corpus.name,
        [str(i) for i in held],
        [texts[i] for i in held],
        [str(i) for i in kept],
        [" ".join(texts[i].split()[:n_words]) for i in kept],
        [relevant[i] for i in kept],
    )


def _names(corpus: Corpus) -> JudgedCollection:
    """Queries are the names of classes; the documents of the class are relevant."""
    held = np.concatenate([corpus.train, corpus.test])
    labels, texts = np.asarray(corpus.labels)[held], corpus.texts or []
    ids, classes = [str(i) for i in held], np.unique(labels).tolist()
    return JudgedCollection(
        corpus.name,
        ids,
        [texts[i] for i in held],
        classes,
        [" ".join(re.findall(r"[^\W_]+", label)) for label in classes],
        [{ids[i]: 1.0 for i in np.flatnonzero(labels == label)} for label in classes],
    )


def _title(text: str) -> tuple[str, str] | None:
    """The first paragraph, and at least 20 more words."""
    query, found, rest = text.partition("\n\n")
    return (query, rest) if found and len(rest.split()) >= 20 else None


def _words(text: str, n: int, least: int, middle: bool = False) -> tuple[str, str] | None:
    """The first n words, like a title, or n in the middle; at least ``least`` must be left."""
    words = text.split()
    start = (len(words) - n) // 2 if middle else 0
    piece, rest = words[start : start + n], words[:start] + words[start + n :]
    return (" ".join(piece), " ".join(rest)) if len(rest) >= least else None


# The corpus that each collection is made from, and how.
_MADE: dict[str, tuple[str, Callable[[Corpus], JudgedCollection]]] = {
    "reuters-items": ("reuters-text", partial(_items, cut=_title)),
    "dmoz-items": ("dmoz", partial(_items, cut=_words, n=4, least=6)),
    "reuters-pieces": ("reuters-text", partial(_items, cut=_words, n=14, least=20, middle=True)),
    "dmoz-pieces": ("dmoz", partial(_items, cut=_words, n=8, least=8, middle=True)),
    "dmoz-names": ("dmoz", _names),
    "r52-classes": ("r52", partial(_classes, n_words=8)),
    "20newsgroups-classes": ("20newsgroups", partial(_classes, n_words=12)),
}
