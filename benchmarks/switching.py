"""How long the task of docs/coming-from takes: from texts and 100 labels to predictions.

``python -m benchmarks.switching [--encoder FOLDER] [--tool NAME] [CORPUS ...]`` runs the code of
those pages, each tool in a process of its own with all cores, and prints a table. Imports, and what
dcot compiles once on a machine, come before the clock starts; loading a pretrained model is part of
the time. How good the predictions are is measured by ``dcot bench compare``. A sentence encoder and
SetFit need ``--encoder`` and the extra ``setfit``; SetFit takes minutes. Tools that are not
installed are left out.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from benchmarks.measure import in_subprocess
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import RidgeClassifierCV
from sklearn.pipeline import make_pipeline

from dcot import DCoTClassifier
from dcot.bench.tasks import load_task

LABELS, DIMENSIONS = 100, 300
Texts = list[str]


def sklearn(texts: Texts, labelled: Texts, topics: Texts, new: Texts, encoder: str) -> None:
    lsi = make_pipeline(TfidfVectorizer(sublinear_tf=True), TruncatedSVD(DIMENSIONS)).fit(texts)
    classifier = RidgeClassifierCV().fit(lsi.transform(labelled), topics)
    classifier.predict(lsi.transform(new))


def gensim(texts: Texts, labelled: Texts, topics: Texts, new: Texts, encoder: str) -> None:
    from gensim.corpora import Dictionary
    from gensim.matutils import corpus2dense
    from gensim.models import LsiModel, TfidfModel
    from gensim.utils import simple_preprocess

    words = [simple_preprocess(text) for text in texts]
    dictionary = Dictionary(words)
    bags = [dictionary.doc2bow(each) for each in words]
    tfidf = TfidfModel(bags)
    lsi = LsiModel([tfidf[bag] for bag in bags], num_topics=DIMENSIONS, id2word=dictionary)

    def features(some: Texts) -> Any:
        found = [lsi[tfidf[dictionary.doc2bow(simple_preprocess(text))]] for text in some]
        return corpus2dense(found, num_terms=DIMENSIONS).T

    RidgeClassifierCV().fit(features(labelled), topics).predict(features(new))


def sentence_encoder(
    texts: Texts, labelled: Texts, topics: Texts, new: Texts, encoder: str
) -> None:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(encoder, device="cpu")
    RidgeClassifierCV().fit(model.encode(labelled), topics).predict(model.encode(new))


def setfit(texts: Texts, labelled: Texts, topics: Texts, new: Texts, encoder: str) -> None:
    from datasets import Dataset
    from setfit import SetFitModel, Trainer, TrainingArguments

    names = sorted(set(topics))
    numbers = [names.index(topic) for topic in topics]
    data = Dataset.from_dict({"text": labelled, "label": numbers})
    model = SetFitModel.from_pretrained(encoder, labels=names)
    with tempfile.TemporaryDirectory() as folder:
        options = TrainingArguments(output_dir=folder, report_to="none", show_progress_bar=False)
        Trainer(model, options, train_dataset=data).train()
    model.predict(new)


def dcot(texts: Texts, labelled: Texts, topics: Texts, new: Texts, encoder: str) -> None:
    DCoTClassifier().fit(labelled, topics, unlabelled=texts).predict(new)


def dcot_with_encoder(
    texts: Texts, labelled: Texts, topics: Texts, new: Texts, encoder: str
) -> None:
    from sentence_transformers import SentenceTransformer

    model = DCoTClassifier(embedding=SentenceTransformer(encoder, device="cpu"))
    model.fit(labelled, topics, unlabelled=texts).predict(new)


TOOLS: dict[str, Callable[..., None]] = {
    "dcot": dcot,
    "TfidfVectorizer and TruncatedSVD": sklearn,
    "gensim's LSI": gensim,
    "sentence encoder": sentence_encoder,
    "dcot with the encoder": dcot_with_encoder,
    "SetFit": setfit,
}
PRETRAINED = ("sentence encoder", "dcot with the encoder", "SetFit")
PACKAGES = {
    "gensim's LSI": "gensim",
    "sentence encoder": "sentence_transformers",
    "dcot with the encoder": "sentence_transformers",
    "SetFit": "setfit",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="*", default=["everyday", "r8"], metavar="CORPUS")
    parser.add_argument("--encoder", default="", metavar="FOLDER")
    parser.add_argument("--tool", action="append", choices=list(TOOLS), metavar="NAME")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(measured(asked.one, asked.corpora[0], asked.encoder))
        return
    tools = asked.tool or [name for name in TOOLS if asked.encoder or name not in PRETRAINED]
    for name in [name for name in tools if name in PACKAGES and not find_spec(PACKAGES[name])]:
        print(f"{name} is left out: the package {PACKAGES[name]} is not installed.")
        tools.remove(name)
    found = {name: [_run(name, each, asked.encoder) for each in asked.corpora] for name in tools}
    print("**Seconds from texts to predictions**\n")
    print(f"| | {' | '.join(asked.corpora)} |\n|---{'|---' * len(asked.corpora)}|")
    for name, times in found.items():
        cells = [
            f"{seconds:.1f}" + (f" ({seconds / ours:.1f} ×)" if name != "dcot" else "")
            for seconds, ours in zip(times, found.get("dcot", times), strict=True)
        ]
        print(f"| {name} | {' | '.join(cells)} |")


def _run(name: str, corpus: str, encoder: str) -> float:
    options = ["--one", name, "--encoder", encoder, corpus]
    return float(json.loads(in_subprocess("benchmarks.switching", *options).splitlines()[-1]))


def measured(name: str, corpus: str, encoder: str) -> float:
    """Seconds of a tool; a run on a few documents comes first, except of SetFit."""
    warnings.simplefilter("ignore")
    task = load_task(corpus)
    texts = [task.texts[row] for row in task.train]
    new = [task.texts[row] for row in task.test]
    rows = np.random.default_rng(0).permutation(len(texts))[:LABELS]
    labelled = [texts[row] for row in rows]
    topics = [str(task.labels[task.train[row]]) for row in rows]
    work = TOOLS[name]
    if name != "SetFit":
        work(texts[: 2 * DIMENSIONS], labelled, topics, new[:5], encoder)
    start = time.perf_counter()
    work(texts, labelled, topics, new, encoder)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
