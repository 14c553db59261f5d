"""The same task with dcot and with what people use today: accuracy and seconds of both.

    python -m benchmarks.coming_from --output docs/tables/coming-from.md

Classify with 100 labelled documents, drawn at random from the training set, on two corpora that no
other table has with these labels. Representations that learn from documents get all training texts
without labels. Sizes (and the strength of the classifier) are chosen by leave-one-out on the
labelled documents, for all. Seconds are CPU seconds of this process and include everything: reading
words, learning, choosing, and predicting the test documents.

``--encoder FOLDER`` adds a sentence-transformers model, and SetFit on top of it where that is
installed. Without the folder their rows are left out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer
from sklearn.linear_model import RidgeClassifierCV
from sklearn.preprocessing import normalize

from dcot import DCoTClassifier, DCoTVectorizer, datasets
from dcot.datasets import Corpus

LABELS, DRAWS = 100, 3
SIZES = (50, 100, 200, 300)
STRENGTHS = np.logspace(-3, 3, 13)
SLOW = {"SetFit": ("everyday",)}  # minutes for each draw, so on short texts only
Array = Any
Predict = Callable[[Corpus, Array], Array]  # labelled rows in, labels of the test documents out
Learn = Callable[[Corpus], Predict]  # what is learned without labels, once


def best_ridge(candidates: Iterable[Array]) -> Predict:
    """Predicts with the candidate that leave-one-out prefers; features are of all documents."""
    units = [normalize(features) for features in candidates]

    def predict(corpus: Corpus, rows: Array) -> Array:
        best, found = -np.inf, None
        for unit in units:
            ridge = RidgeClassifierCV(STRENGTHS).fit(unit[rows], corpus.labels[rows])
            if ridge.best_score_ > best:
                best, found = ridge.best_score_, ridge.predict(unit[corpus.test])
        return found

    return predict


def tfidf_svd(corpus: Corpus) -> Predict:
    vectorizer = TfidfVectorizer(sublinear_tf=True, stop_words="english", min_df=2)
    learned = vectorizer.fit_transform(corpus.train_texts)
    svd = TruncatedSVD(max(SIZES), random_state=0).fit(learned)
    features = svd.transform(vectorizer.transform(corpus.texts))
    return best_ridge(features[:, :size] for size in SIZES)


def tokens(text: str) -> list[str]:
    from gensim.utils import simple_preprocess

    return [word for word in simple_preprocess(text) if word not in ENGLISH_STOP_WORDS]


def gensim_bags(corpus: Corpus) -> tuple[Any, list[Any], list[Any]]:
    """The dictionary, and the bags of words of the training documents and of all."""
    from gensim.corpora import Dictionary

    words = [tokens(text) for text in corpus.texts]
    dictionary = Dictionary([words[row] for row in corpus.train])
    dictionary.filter_extremes(no_below=2, no_above=1.0)
    bags = [dictionary.doc2bow(each) for each in words]
    return dictionary, [bags[row] for row in corpus.train], bags


def gensim_lsi(corpus: Corpus) -> Predict:
    from gensim.matutils import corpus2dense
    from gensim.models import LsiModel, TfidfModel

    dictionary, learned, bags = gensim_bags(corpus)
    tfidf = TfidfModel(learned)
    weighted = [tfidf[bag] for bag in learned]
    lsi = LsiModel(weighted, max(SIZES), dictionary, random_seed=0)
    features = corpus2dense([lsi[tfidf[bag]] for bag in bags], max(SIZES)).T
    return best_ridge(features[:, :size] for size in SIZES)


def gensim_lda(corpus: Corpus) -> Predict:
    from gensim.matutils import corpus2dense
    from gensim.models import LdaModel

    dictionary, learned, bags = gensim_bags(corpus)

    def candidates() -> Iterator[Array]:
        for topics in (20, 50, 100):
            passes = max(10, 40_000 // len(learned))  # a small corpus needs more of them
            lda = LdaModel(learned, topics, dictionary, passes=passes, random_state=0)
            found = (lda.get_document_topics(bag, minimum_probability=0) for bag in bags)
            yield np.sqrt(corpus2dense(found, topics).T)

    return best_ridge(candidates())


def gensim_doc2vec(corpus: Corpus) -> Predict:
    from gensim.models.doc2vec import Doc2Vec, TaggedDocument

    words = [tokens(text) for text in corpus.texts]
    tagged = [TaggedDocument(words[row], [place]) for place, row in enumerate(corpus.train)]

    def candidates() -> Iterator[Array]:
        for size in (50, 100):
            model = Doc2Vec(
                tagged, dm=0, vector_size=size, epochs=40, min_count=2, workers=1, seed=0
            )
            yield np.array([model.infer_vector(each) for each in words])

    return best_ridge(candidates())


def dcot_classifier(corpus: Corpus) -> Predict:
    return classify_with_dcot  # everything is learned in fit


def classify_with_dcot(corpus: Corpus, rows: Array) -> Array:
    labels = np.full(len(corpus.texts), None)
    labels[rows] = corpus.labels[rows]
    vectorizer = DCoTVectorizer(stop_words="english", min_df=2)  # the words of the others
    model = DCoTClassifier(vectorizer=vectorizer).fit(corpus.train_texts, labels[corpus.train])
    return model.predict(corpus.test_texts)


def sentence_encoder(folder: Path) -> Learn:
    def learn(corpus: Corpus) -> Predict:
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(str(folder), device="cpu")
        # only labelled and test documents: an encoder learns nothing from the others
        rows = [labelled(corpus, draw) for draw in range(DRAWS)]
        needed = np.unique(np.concatenate([*rows, corpus.test]))
        found = model.encode([corpus.texts[row] for row in needed])
        features = np.zeros((len(corpus.texts), found.shape[1]))
        features[needed] = found
        return best_ridge([features])

    return learn


def setfit(folder: Path) -> Learn:
    def predict(corpus: Corpus, rows: Array) -> Array:
        from datasets import Dataset
        from setfit import SetFitModel, Trainer, TrainingArguments

        texts, labels = [corpus.texts[row] for row in rows], corpus.labels[rows].tolist()
        model = SetFitModel.from_pretrained(str(folder), labels=sorted(set(labels)))
        arguments = TrainingArguments(
            batch_size=16, num_epochs=1, num_iterations=20, report_to="none", save_strategy="no"
        )
        given = Dataset.from_dict({"text": texts, "label": labels})
        Trainer(model, arguments, train_dataset=given).train()
        return np.array(model.predict(corpus.test_texts))

    return lambda corpus: predict


def systems(encoder: Path | None) -> dict[str, Learn]:
    found: dict[str, Learn] = {
        "TfidfVectorizer + TruncatedSVD": tfidf_svd,
        "gensim LsiModel": gensim_lsi,
        "gensim LdaModel": gensim_lda,
        "gensim Doc2Vec": gensim_doc2vec,
    }
    if encoder is not None:
        found["sentence encoder (all-MiniLM-L6-v2)"] = sentence_encoder(encoder)
        found["SetFit"] = setfit(encoder)
    return {**found, "DCoTClassifier": dcot_classifier}


def labelled(corpus: Corpus, draw: int) -> Array:
    return np.random.default_rng(draw).choice(corpus.train, LABELS, replace=False)


def measure(learn: Learn, corpus: Corpus) -> tuple[list[float], float]:
    """The accuracy of each draw, and CPU seconds: to learn, and the median to classify."""
    start = time.process_time()
    predict = learn(corpus)
    learning = time.process_time() - start
    accuracies, seconds = [], []
    for draw in range(DRAWS):
        rows = labelled(corpus, draw)
        start = time.process_time()
        found = predict(corpus, rows)
        seconds.append(time.process_time() - start)
        accuracies.append(100 * float(np.mean(found == corpus.test_labels)))
    return accuracies, learning + float(np.median(seconds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", type=Path, help="folder of a sentence-transformers model")
    parser.add_argument("--only", action="append", help="a system; can be repeated")
    parser.add_argument("--output", type=Path, help="file for the table")
    given = parser.parse_args()
    corpora = [datasets.load("everyday"), datasets.load("r8")]
    classify_with_dcot(corpora[0], corpora[0].train[::7])  # compiles
    lines = [
        "| | " + " | ".join(f"{corpus.name}, accuracy | CPU seconds" for corpus in corpora) + " |",
        "|---|" + "---|---|" * len(corpora),
    ]
    for name, learn in systems(given.encoder).items():
        if given.only and name not in given.only:
            continue
        cells = []
        for corpus in corpora:
            if corpus.name not in SLOW.get(name, (corpus.name,)):
                cells.append("not run | ")
                continue
            accuracies, seconds = measure(learn, corpus)
            spread = np.std(accuracies, ddof=1)
            cells.append(f"{np.mean(accuracies):.1f} ± {spread:.1f} | {seconds:.1f}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    if given.output:
        given.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
