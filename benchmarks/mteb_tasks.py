"""dcot and MTEB's BM25 in tasks of MTEB that are made here from data on the disk.

``python -m benchmarks.mteb_tasks FOLDER ...``: each folder is a collection in the layout of BEIR
(docs/data.md). It needs ``pip install "dcot[mteb]" bm25s PyStemmer``, and no network. dcot learns
from the documents of a task; settings are the defaults, and nothing is tuned on the queries.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import mteb
from datasets import Dataset
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.model_implementations.bm25 import BM25Search

from dcot import datasets
from dcot.integrations import MTEBSearch

MODELS = {
    "dcot, hybrid (the default)": lambda: MTEBSearch(),
    "dcot, meaning alone": lambda: MTEBSearch(hybrid=False),
    "dcot, BM25 alone": lambda: MTEBSearch(hybrid=0.0),
    "MTEB's BM25 (bm25s, stemmed)": lambda: BM25(),
}
MEASURES = ("ndcg_at_10", "map_at_100", "recall_at_100")


class BM25(BM25Search):
    """MTEB's baseline, which needs a name of its own outside its registry."""

    @property
    def mteb_model_meta(self) -> Any:
        return mteb.models.ModelMeta.create_empty({"name": "bm25s/stemmed", "revision": "1"})


def task_of(folder: str) -> AbsTaskRetrieval:
    """A collection in the layout of BEIR as a task."""
    found = datasets.load_beir(folder)

    class Task(AbsTaskRetrieval):
        metadata = TaskMetadata(
            name=found.name.capitalize(),
            description=f"The collection {found.name}.",
            reference=None,
            dataset={"path": "local/collection", "revision": "1"},
            type="Retrieval",
            category="t2t",
            modalities=["text"],
            eval_splits=["test"],
            eval_langs=["eng-Latn"],
            main_score="ndcg_at_10",
            date=None, domains=None, task_subtypes=None, license=None, annotations_creators=None,
            dialect=None, sample_creation=None, bibtex_citation=None,
        )  # fmt: skip

        def load_data(self, **_: Any) -> None:
            documents = zip(found.ids, found.texts, strict=True)
            queries = zip(found.query_ids, found.queries, strict=True)
            rows = [{"id": i, "title": "", "text": text} for i, text in documents]
            split = {
                "corpus": Dataset.from_list(rows),
                "queries": Dataset.from_list([{"id": i, "text": text} for i, text in queries]),
                "relevant_docs": {
                    query: {name: int(grade) for name, grade in grades.items()}
                    for query, grades in zip(found.query_ids, found.relevant, strict=True)
                },
                "top_ranked": None,
            }
            self.dataset = {"default": {"test": split}}
            self.data_loaded = True

    return Task()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+")
    for folder in parser.parse_args().folders:
        task = task_of(folder)
        print(f"\n{task.metadata.name}\n\n| | {' | '.join(MEASURES)} | CPU seconds |")
        print(f"|---|{'---|' * (len(MEASURES) + 1)}")
        for name, make in MODELS.items():
            start = time.process_time()
            (result,) = mteb.evaluate(make(), task, cache=None).task_results
            spent = time.process_time() - start
            scores = result.scores["test"][0]
            shown = " | ".join(f"{scores[measure]:.3f}" for measure in MEASURES)
            print(f"| {name} | {shown} | {spent:.1f} |", flush=True)


if __name__ == "__main__":
    main()
