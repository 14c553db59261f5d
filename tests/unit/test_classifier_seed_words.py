"""Seed words: words of a class, given beside labels or before any."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import dcot
from dcot import DCoTClassifier, DcotError
from dcot.classifier.ridge import KernelRidge
from dcot.cli.train import facts_of

TOPICS = {
    "oil": "opec crude barrel drilling refinery pipeline petroleum",
    "grain": "wheat corn harvest bushel farmer tonnes crop",
    "gold": "gold ounce mine bullion troy nugget vein",
}
SEEDS = {"oil": ["opec", "crude"], "grain": ["wheat"], "gold": ["gold", "mine"]}


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    labels = np.array(list(TOPICS))[np.arange(240) % 3]
    common = ["the", "of", "market", "price", "year", "said", "company", "report"]
    texts = [
        " ".join([*rng.choice(TOPICS[name].split(), 3), *rng.choice(common, 5)]) for name in labels
    ]
    return texts, labels


def partly(labels, n):
    return [label if row < n else None for row, label in enumerate(labels)]


# -- the ridge ----------------------------------------------------------------------------------


def test_documents_are_left_out_one_by_one_and_words_never():
    rng = np.random.default_rng(1)
    F, targets = rng.normal(size=(14, 6)), np.where(rng.random((14, 2)) > 0.5, 1.0, -1.0)
    weights = rng.uniform(0.5, 2, 14)
    ridge = KernelRidge.fit(F @ F.T, targets, weights=weights, judged=10)
    assert ridge.held_out.shape == (10, 2) == (len(ridge.losses), 2)
    for row in range(10):
        others = np.delete(np.arange(14), row)
        model = Ridge(alpha=ridge.alpha).fit(F[others], targets[others], weights[others])
        np.testing.assert_allclose(model.predict(F[[row]])[0], ridge.held_out[row], atol=1e-8)
    errors = {}
    for strength in (1e-2, 1e-1, 1.0, 10.0):
        tried = KernelRidge.fit(F @ F.T, targets, np.array([strength]), weights, 10)
        errors[strength] = tried.weights @ tried.losses
    chosen = KernelRidge.fit(F @ F.T, targets, np.array(list(errors)), weights, 10)
    assert chosen.strength == min(errors, key=errors.get)


# -- with labels --------------------------------------------------------------------------------


def test_each_word_is_one_more_document_of_the_classifier(corpus):
    texts, labels = corpus
    model = DCoTClassifier(class_weight=None, selection="none", self_training=False)
    model.fit(texts, partly(labels, 30), seed_words=SEEDS)
    words = [word for words in SEEDS.values() for word in words]
    classes = [name for name, words in SEEDS.items() for _ in words]
    features = model.vectorizer_.transform([*texts[:30], *words])
    targets = np.where(np.array([*labels[:30], *classes])[:, None] == model.classes_, 1.0, -1.0)
    centred = features - features.mean(axis=0)
    alpha = model.strength_ * np.linalg.eigvalsh(centred @ centred.T).clip(0).mean()
    expected = Ridge(alpha=alpha).fit(features, targets)
    found = model.decision_function(texts)
    np.testing.assert_allclose(
        found, expected.predict(model.vectorizer_.transform(texts)), atol=2e-3
    )


def test_documents_alone_make_the_representation_and_the_estimate(corpus):
    texts, labels = corpus
    plain = DCoTClassifier(selection="none", random_state=0).fit(texts, partly(labels, 30))
    seeded = DCoTClassifier(selection="none", random_state=0)
    seeded.fit(texts, partly(labels, 30), seed_words=SEEDS)
    np.testing.assert_array_equal(
        plain.vectorizer_.transform(texts), seeded.vectorizer_.transform(texts)
    )
    assert seeded.estimate_.n == plain.estimate_.n == seeded.n_labelled_ == 30
    assert seeded.n_documents_ == len(texts)
    assert len(seeded._learned.held_out.rows) == 30
    assert not np.array_equal(plain.decision_function(texts), seeded.decision_function(texts))


@pytest.mark.parametrize("estimator", ["ridge", "logistic"])
def test_a_class_may_have_words_and_no_label(corpus, estimator):
    texts, labels = corpus
    given = [label if row < 40 and label != "gold" else None for row, label in enumerate(labels)]
    model = DCoTClassifier(estimator=estimator, random_state=0).fit(
        texts, given, seed_words={"gold": SEEDS["gold"]}
    )
    assert model.classes_.tolist() == sorted(TOPICS)
    assert np.mean(model.predict(texts) == labels) > 0.9
    assert model.estimate_.n == model.n_labelled_ == 27


def test_refit_takes_them_too(corpus):
    texts, labels = corpus
    model = DCoTClassifier(selection="none", random_state=0)
    whole = model.fit(texts, partly(labels, 30), seed_words=SEEDS).decision_function(texts)
    model.fit(texts, partly(labels, 20))
    again = model.refit(texts, partly(labels, 30), seed_words=SEEDS).decision_function(texts)
    np.testing.assert_allclose(whole, again, atol=1e-4)
    forgotten = model.refit(texts, partly(labels, 30)).decision_function(texts)
    assert not np.allclose(whole, forgotten, atol=1e-4)


# -- without labels -----------------------------------------------------------------------------


def test_from_words_alone(corpus, tmp_path):
    texts, labels = corpus
    model = DCoTClassifier(random_state=0).fit(texts, None, seed_words=SEEDS)
    assert np.mean(model.predict(texts) == labels) > 0.9
    assert model.n_labelled_ == model.estimate_.n == 0
    assert np.isnan(model.estimate_.dcot.accuracy)
    assert "No document is labelled" in model.report()
    assert len(model.label_issues()) == 0
    assert "NaN" not in json.dumps(facts_of(model))
    for ask in (lambda: model.predict(texts, abstain=0.9), lambda: model.predict_sets(texts)):
        with pytest.raises(DcotError, match="label some documents"):
            ask()
    model.save(tmp_path / "model")
    again = dcot.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))
    assert again.report() == model.report()
    assert "not known" in (tmp_path / "model" / "README.md").read_text()
    assert len(model.suggest(texts, 5)) == 5


def test_columns_of_a_matrix_are_words(corpus):
    texts, labels = corpus
    words = sorted({word for text in texts for word in text.split()})
    counts = pd.DataFrame([[text.split().count(word) for word in words] for text in texts])
    counts.columns = words
    model = DCoTClassifier(random_state=0).fit(counts.astype(float), None, seed_words=SEEDS)
    assert np.mean(model.predict(counts.astype(float)) == labels) > 0.9
    with pytest.raises(DcotError, match="words of the columns"):
        DCoTClassifier().fit(counts.to_numpy(float), None, seed_words=SEEDS)


# -- vectors beside -----------------------------------------------------------------------------


def test_an_encoder_reads_the_words_and_a_table_has_them(corpus):
    texts, labels = corpus
    read = []

    def encode(batch):
        read.extend(batch)
        return np.array(
            [[text.count(word) for words in TOPICS.values() for word in words.split()[:2]] + [1.0]
             for text in batch], dtype=np.float32,
        )  # fmt: skip

    model = DCoTClassifier(embedding=encode, grid={"embedding": (1.0,)}, random_state=0)
    model.fit(texts, partly(labels, 20), seed_words=SEEDS)
    assert {"opec", "wheat"} <= set(read)
    assert np.mean(model.predict(texts) == labels) > 0.9
    table = dict(zip(["opec", "wheat", "gold"], np.eye(3), strict=True))
    model = DCoTClassifier(embedding=table, grid={"embedding": (1.0,)}, random_state=0)
    model.fit(texts, partly(labels, 20), seed_words=SEEDS)
    model.refit(texts, partly(labels, 20), seed_words=SEEDS)
    assert np.mean(model.predict(texts) == labels) > 0.9
    vectors = np.random.default_rng(0).normal(size=(len(texts), 3))
    with pytest.raises(DcotError, match="give the encoder"):
        DCoTClassifier().fit(texts, partly(labels, 20), vectors=vectors, seed_words=SEEDS)


# -- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        ({}, "has no words"),
        ({"oil": []}, "has no words"),
        ("opec", "mapping from classes"),
        ({"oil": "opec"}, "list of words"),
        ({"oil": [3]}, "expected text"),
        ({"oil": [["opec"]]}, "expected text"),
        ({"oil": ["opec"], "grain": ["zebra"]}, "'grain' is a term of the documents"),
        ({"oil": ["opec"]}, "only one class"),
        ({"oil": ["opec"], 3: ["wheat"]}, "sorted together"),
        ({("oil",): ["opec"], ("a", "b"): ["wheat"]}, "expected a label"),
        ({float("nan"): ["opec"], 1.0: ["wheat"]}, "expected a label"),
        ({"": ["opec"], "b": ["wheat"]}, "expected a label"),
        ({"a\0": ["opec"], "a": ["wheat"]}, "end in NUL"),
    ],
)
def test_bad_seed_words(corpus, seeds, message):
    with pytest.raises(DcotError, match=message):
        DCoTClassifier().fit(corpus[0], None, seed_words=seeds)


def test_unknown_words_are_named(corpus):
    texts, labels = corpus
    seeds = {**SEEDS, "oil": ["opec", "zebra", "opec"]}
    with pytest.warns(UserWarning, match="skipped: zebra"):
        found = DCoTClassifier(random_state=0).fit(texts, partly(labels, 20), seed_words=seeds)
    same = DCoTClassifier(random_state=0).fit(
        texts, partly(labels, 20), seed_words={**SEEDS, "oil": ["opec"]}
    )
    np.testing.assert_array_equal(found.predict_proba(texts), same.predict_proba(texts))


def test_columns_of_y_are_the_classes(corpus):
    texts, labels = corpus
    votes = pd.DataFrame({name: np.where(labels == name, 0.8, 0.1) for name in TOPICS})
    votes.loc[20:] = np.nan
    with pytest.raises(DcotError, match="columns of y"):
        DCoTClassifier().fit(texts, votes, seed_words={"silver": ["mine"]})
    assert DCoTClassifier().fit(texts, votes, seed_words=SEEDS).score(texts, labels) > 0.9
    sets = [[label] if row < 20 else None for row, label in enumerate(labels)]
    model = DCoTClassifier().fit(texts, sets, seed_words=SEEDS)
    assert "oil" in model.predict(["opec crude barrel"])[0]


def test_classes_of_large_numbers_stay_different(corpus):
    seeds = {2**63 + 1: ["opec"], 2**63 + 2: ["wheat"], 5: ["gold"]}
    model = DCoTClassifier().fit(corpus[0], None, seed_words=seeds)
    assert model.classes_.tolist() == sorted(seeds)
    assert model.predict(["opec", "wheat", "gold"]).tolist() == list(seeds)
