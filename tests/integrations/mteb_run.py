"""Run dcot and its rivals in MTEB, on tasks that need no download: ``make mteb``.

MTEB's own tasks fetch their data from a hub. These have MTEB's classes, protocol and scores, with
corpora that are included in dcot or found in ``DCOT_DATA``. MTEB computes every figure. Collections
that ``dcot bench`` measures are not among them, so that a question has one figure. The table is
written to ``docs/tables/mteb.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mteb
import numpy as np
from datasets import Dataset, DatasetDict
from mteb.abstasks import AbsTask, AbsTaskClassification, AbsTaskClustering, AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_implementations.bm25 import BM25Search
from mteb.models.model_meta import ModelMeta
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from dcot import DCoTVectorizer
from dcot.datasets import JudgedCollection, load
from dcot.embedding.vectors import as_encoder
from dcot.integrations import MTEBSearch

SIZE = 256  # of the vectors of dcot and LSI: that of wordllama's
TABLE = Path(__file__).parents[2] / "docs" / "tables" / "mteb.md"
SCORES = {"ndcg_at_10": "nDCG@10", "v_measure": "V-measure", "accuracy": "accuracy"}
Rows = tuple[list[str], list[int]]  # texts and labels
COLUMNS = ("MTEB's BM25", f"LSI, {SIZE}", f"wordllama, {SIZE}", "dcot", "dcot, `hybrid=False`")


# -- tasks --------------------------------------------------------------------------------------


def described(task: type[AbsTask], name: str, kind: str, score: str) -> AbsTask:
    """A task of this class; MTEB wants all of its metadata."""
    metadata = TaskMetadata(
        name=name,
        type=kind,
        main_score=score,
        description=name,
        reference=None,
        dataset={"path": "local", "revision": "1"},
        category="t2t" if kind == "Retrieval" else "t2c",
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        date=None,
        dialect=[],
        domains=[],
        task_subtypes=[],
        license=None,
        annotations_creators="derived",
        modalities=["text"],
        sample_creation="found",
        bibtex_citation="",
    )
    made = type(name, (task,), {"metadata": metadata})()
    made.data_loaded = True
    return made


def retrieval(name: str, found: JudgedCollection) -> AbsTask:
    task = described(AbsTaskRetrieval, name, "Retrieval", "ndcg_at_10")
    documents = [
        {"id": name, "title": "", "text": text}
        for name, text in zip(found.ids, found.texts, strict=True)
    ]
    queries = [
        {"id": name, "text": text}
        for name, text in zip(found.query_ids, found.queries, strict=True)
    ]
    relevant = [{name: int(grade) for name, grade in each.items()} for each in found.relevant]
    split = {
        "corpus": Dataset.from_list(documents),
        "queries": Dataset.from_list(queries),
        "relevant_docs": dict(zip(found.query_ids, relevant, strict=True)),
        "top_ranked": None,
    }
    task.dataset = {"default": {"test": split}}
    return task


def clustering(name: str, texts: Sequence[str], labels: Sequence[str]) -> AbsTask:
    task = described(AbsTaskClustering, name, "Clustering", "v_measure")
    task.max_fraction_of_documents_to_embed = None  # all
    task.max_documents_per_cluster = 2048  # of each of ten draws
    data = Dataset.from_dict({"sentences": texts, "labels": labels})
    task.dataset = DatasetDict({"test": data})
    return task


def classification(name: str, train: Rows, test: Rows) -> AbsTask:
    task = described(AbsTaskClassification, name, "Classification", "accuracy")
    task.dataset = DatasetDict(
        {
            split: Dataset.from_dict({"text": texts, "label": labels})
            for split, (texts, labels) in {"train": train, "test": test}.items()
        }
    )
    return task


def same_topic() -> AbsTask:
    """Queries are the test texts of the included corpus; training texts of their topic count."""
    corpus = load("everyday")
    relevant = [
        {str(row): 1.0 for row in corpus.train if corpus.labels[row] == corpus.labels[query]}
        for query in corpus.test
    ]
    ids, queries = ([str(row) for row in rows] for rows in (corpus.train, corpus.test))
    texts, asked = ([corpus.texts[row] for row in rows] for rows in (corpus.train, corpus.test))
    return retrieval("everyday", JudgedCollection("everyday", ids, texts, queries, asked, relevant))


# -- systems ------------------------------------------------------------------------------------


class Encoder(AbsEncoder):
    """A function from a list of texts to vectors, as an encoder of MTEB."""

    def __init__(self, model: Callable[[list[str]], Any], name: str) -> None:
        self.model = model
        self.mteb_model_meta = ModelMeta.create_empty({"name": f"local/{name}", "revision": "1"})

    def encode(self, inputs: Any, **_: Any) -> np.ndarray:
        return self.model([text for batch in inputs for text in batch["text"]])


def lsi(texts: Sequence[str]) -> Callable[[list[str]], Any]:
    """scikit-learn's: sublinear TF-IDF, truncated SVD, unit rows."""
    svd = TruncatedSVD(SIZE, random_state=0)
    steps = make_pipeline(TfidfVectorizer(sublinear_tf=True), svd, Normalizer())
    return steps.fit(texts).transform  # type: ignore[no-any-return]


def dcot(texts: Sequence[str]) -> Callable[[list[str]], Any]:
    return DCoTVectorizer(n_components=SIZE, random_state=0).fit(texts).encode


class BM25(BM25Search):
    """MTEB's, with stemming and stop words."""

    mteb_model_meta = ModelMeta.create_empty({"name": "local/bm25", "revision": "1"})


# -- the run ------------------------------------------------------------------------------------


def score(model: Any, task: AbsTask) -> float:
    """The main score of a task, in percent, as MTEB computes it."""
    options = {"cache": None, "show_progress_bar": False, "encode_kwargs": {"batch_size": 512}}
    (result,) = mteb.evaluate(model, task, **options).task_results
    return 100 * result.get_score()


def row(title: str, task: AbsTask, texts: Sequence[str]) -> str:
    """A line of the table: every system on one task, learned from ``texts`` without labels."""
    searches = isinstance(task, AbsTaskRetrieval)
    systems = [
        BM25() if searches else None,
        Encoder(lsi(texts), "lsi"),
        Encoder(as_encoder("wordllama"), "wordllama"),
        MTEBSearch() if searches else Encoder(dcot(texts), "dcot"),
        MTEBSearch(hybrid=False) if searches else None,
    ]
    found = ["–" if each is None else f"{score(each, task):.1f}" for each in systems]
    return f"| {title} | {SCORES[task.metadata.main_score]} | {' | '.join(found)} |"


def main() -> None:
    lines = [f"| task | score | {' | '.join(COLUMNS)} |", "|---" * (2 + len(COLUMNS)) + "|"]
    task = same_topic()
    texts = task.dataset["default"]["test"]["corpus"]["text"][:]
    lines.append(row("retrieval: same topic, `everyday`", task, texts))
    dmoz = load("dmoz")
    names = {label: number for number, label in enumerate(sorted(set(dmoz.labels)))}
    train, test = (
        ([dmoz.texts[i] for i in rows], [names[dmoz.labels[i]] for i in rows])
        for rows in (dmoz.train, dmoz.test)
    )
    everything = train[0] + test[0]
    task = clustering("DmozClustering", everything, train[1] + test[1])
    lines.append(row("clustering: Dmoz", task, everything))
    task = classification("DmozClassification", train, test)
    lines.append(row("classification: Dmoz, 8 labels per class", task, train[0]))
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
