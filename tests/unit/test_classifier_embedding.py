"""Embeddings: from encoders, word vectors or the caller; explained, saved and checked."""

from __future__ import annotations

import gzip
import json
import zlib

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.linear_model import Ridge

import dcot
from dcot import DCoT, DCoTClassifier, DcotError, DCoTVectorizer
from dcot.classifier.calibration import (
    DEFAULT_TEMPERATURE,
    MIN_CALIBRATION_LABELS,
    probabilities,
)
from dcot.classifier.labels import without_duplicates
from dcot.classifier.selection import (
    EMBEDDING_STANDARD_ERRORS,
    Vectors,
    base_options,
    candidates_for,
    fits_of,
    select,
)
from dcot.embedding.vectors import Embedding, as_encoder
from dcot.embedding.word_vectors import look_up

TOPICS = {
    "oil": ["crude", "oil", "opec", "barrel", "petrol", "fuel", "drilling", "rig", "tanker"],
    "grain": ["wheat", "corn", "barley", "harvest", "silo", "rice", "oats", "farmer", "maize"],
    "money": ["bank", "rate", "loan", "credit", "dollar", "yen", "bond", "mint", "cash"],
}
WORDS = [word for words in TOPICS.values() for word in words]


def word_vector(word: str) -> np.ndarray:
    """A few numbers that say which topic a word is of, and noise that is always the same."""
    rng = np.random.default_rng(zlib.crc32(word.encode()))
    own = [2.0 * (word in words) for words in TOPICS.values()]
    return np.array([*own, 1.0, 0.0]) + rng.normal(size=5) / 3


class FakeEncoder:
    """Deterministic, with ``encode``; it counts its texts and refuses blank ones."""

    calls = 0

    def encode(self, texts: list[str]) -> np.ndarray:
        assert isinstance(texts, list)
        assert all(text.strip() for text in texts)
        self.calls += len(texts)
        return np.array([np.mean([word_vector(w) for w in t.split()], axis=0) for t in texts])


@pytest.fixture(scope="module")
def corpus():
    """Short texts whose words rarely meet, so that counts say little and word vectors much."""
    rng = np.random.default_rng(0)
    topics = list(TOPICS)
    labels = [topics[row % 3] for row in range(120)]
    texts = [" ".join([*rng.choice(TOPICS[label], 2), *rng.choice(WORDS, 1)]) for label in labels]
    return texts, [label if row < 18 else None for row, label in enumerate(labels)], labels


def model_of(corpus, embedding, **options):
    model = DCoTClassifier(embedding=embedding, random_state=0, **options)
    return model.fit(corpus[0], corpus[1])


TABLE = {word: word_vector(word) for word in WORDS}


# -- what it is ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["encoder", "words", "given"])
def test_it_is_ridge_on_features_with_scaled_columns_appended(corpus, kind):
    """The definition, by scikit-learn: centred vectors of length √weight beside dCoT's features."""
    texts, partly, _ = corpus
    options = {"selection": "none", "grid": {"embedding": [3.0]}, "class_weight": None}
    options["self_training"] = False
    given = FakeEncoder().encode(texts) if kind == "given" else None
    model = DCoTClassifier(
        embedding={"encoder": FakeEncoder(), "words": TABLE}.get(kind), **options
    ).fit(texts, partly, vectors=given)
    vectorizer = DCoTVectorizer(output="lsi").fit(texts)
    raw = FakeEncoder().encode(texts)
    if kind == "words":
        table = np.array([TABLE[word] for word in vectorizer._pipeline.terms])
        raw = vectorizer.weigh(texts) @ table
    V = raw - raw.mean(axis=0)
    V *= np.sqrt(3.0) / np.linalg.norm(V, axis=1, keepdims=True)
    F = np.hstack([vectorizer.transform(texts), V])
    np.testing.assert_allclose(model.transform(texts, vectors=given), F, atol=1e-4)
    first = sorted({text: row for row, text in reversed(list(enumerate(texts[:18])))}.values())
    targets = np.where(np.array(partly[:18])[:, None] == model.classes_, 1.0, -1.0)
    centred = F[first] - F[first].mean(0)
    alpha = model.strength_ * np.linalg.eigvalsh(centred @ centred.T).clip(0).mean()
    expected = Ridge(alpha=alpha).fit(F[first], targets[first]).predict(F)
    found = model.decision_function(texts, vectors=given)
    np.testing.assert_allclose(found, expected, atol=2e-3)
    assert len(model.get_feature_names_out()) == F.shape[1] == model.coef_.shape[1]


def test_vectors_that_say_the_topic_help_and_noise_gets_no_weight(corpus):
    texts, partly, labels = corpus
    alone = DCoTClassifier(random_state=0).fit(texts, partly)
    both = model_of(corpus, FakeEncoder())
    assert both.score(texts[18:], labels[18:]) > alone.score(texts[18:], labels[18:]) + 0.02
    assert both.best_params_["embedding"] > 0
    noise = np.random.default_rng(0).normal(size=(len(texts), 300))
    grid = {"embedding": [200.0, 0.0]}  # so much noise that leave-one-out is sure
    bad = DCoTClassifier(grid=grid, random_state=0).fit(texts, partly, vectors=noise)
    assert bad.best_params_["embedding"] == 0
    assert "did not help" in bad.summary()
    assert bad.coef_.shape == alone.coef_.shape
    assert bad.predict(texts).shape == (120,)  # and vectors are no longer needed
    assert (bad.predict(texts, vectors=noise) == bad.predict(texts)).all()  # but not refused
    bad.refit(texts, partly, vectors=noise)  # nor after a refit, which tries one candidate
    assert bad.predict(texts, vectors=noise).shape == (120,)
    assert "did not help" in bad.summary()


def test_a_model_without_vectors_refuses_them(corpus, tmp_path):
    texts, partly, _ = corpus
    model = DCoTClassifier(random_state=0).fit(texts, partly)
    model.save(tmp_path / "model")
    for one in (model, dcot.load(tmp_path / "model"), model.refit(texts, partly)):
        with pytest.raises(DcotError, match="fitted without vectors: leave vectors out"):
            one.predict(texts, vectors=np.ones((120, 3)))


def test_a_model_that_left_its_vectors_out_knows_so_after_loading(corpus, tmp_path):
    texts, partly, _ = corpus
    V = FakeEncoder().encode(texts)
    model = DCoTClassifier(grid={"embedding": [0.0]}, random_state=0)
    model.fit(texts, partly, vectors=V).refit(texts, partly, vectors=V).save(tmp_path / "model")
    assert dcot.load(tmp_path / "model").predict(texts, vectors=V).shape == (120,)


@pytest.mark.parametrize("exclusive", [True, False])
def test_the_weight_is_that_of_the_largest_likelihood(corpus, exclusive):
    """By the definition: a fit for every weight, its held-out decisions, their likelihood."""
    texts, partly, _ = corpus
    y = partly if exclusive else [None if label is None else {label} for label in partly]
    tried, vectors = (0.0, 8.0, 1.0, 0.1), FakeEncoder().encode(texts)
    losses = []
    for weight in tried:
        grid = {"embedding": [weight], "features": ["both layers"]}
        one = DCoTClassifier(grid=grid, self_training=False, random_state=0)
        one.fit(texts, y, vectors=vectors)
        held = one._fitted().held_out
        chance = probabilities(held.decisions, DEFAULT_TEMPERATURE, exclusive)
        right = np.where(held.targets > 0, chance, 1 if exclusive else 1 - chance)
        losses.append(-np.log(right).sum(axis=1))
    losses = np.array(losses)
    assert len(losses[0]) < MIN_CALIBRATION_LABELS
    best = losses.mean(axis=1).argmin()
    gain = losses[0] - losses[best]
    clear = gain.mean() > EMBEDDING_STANDARD_ERRORS * gain.std() / np.sqrt(len(gain) - 1)
    grid = {"embedding": tried, "features": ["both layers"]}
    found = DCoTClassifier(grid=grid, random_state=0).fit(texts, y, vectors=vectors)
    assert best == 1
    assert clear
    assert found.best_params_["embedding"] == tried[1]


def test_weights_are_tried_with_the_selected_features():
    """Not with the default ones only; the selection can be repeated on some documents."""
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.poisson(0.7, (60, 12)).astype(np.float32))
    targets = np.where(np.arange(60)[:, None] % 3 == np.arange(3), 1.0, -1.0)
    found = candidates_for(DCoT(5), {"features": ["layer 1", "both layers"]}, 0.5)
    beside = 50.0 * (targets @ targets.T)  # vectors that tell the classes apart
    fits = fits_of(X, None, found, base_options(DCoT(5)))
    ones = np.ones(60)
    vectors = Vectors(beside, (0.5, 0.0, 2.0), ones)
    result = select(fits, X, targets, ones, vectors)
    chosen = result.candidates[result.weighed[0]]
    assert [(c.features, c.embedding) for c in result.candidates] == [
        ("layer 1", 0.5),
        ("both layers", 0.5),
        (chosen.features, 0.0),
        (chosen.features, 2.0),
    ]
    assert result.best.embedding > 0
    assert result.selected_on(np.arange(60)) == result.best_index
    assert result.selected_on(np.arange(30)) in range(4)
    # without vectors there is nothing to select
    fits = fits_of(X, None, found, base_options(DCoT(5)))
    assert len(select(fits, X, targets, ones).candidates) == 2


def test_an_encoder_reads_labelled_documents_and_some_others(corpus, monkeypatch):
    monkeypatch.setattr("dcot.classifier.fit.MAX_SAMPLED_DOCUMENTS", 10)
    encoder = FakeEncoder()
    model_of(corpus, encoder)
    assert encoder.calls < 18 + 10 + 10  # labelled, for the mean, probes


def test_documents_that_count_zero_times_change_nothing(corpus):
    texts, _, labels = corpus
    weights = (np.arange(120) < 60).astype(float)
    vectors = FakeEncoder().encode(texts)
    other = np.where(weights[:, None] > 0, vectors, 1e6)
    y = [label if row < 18 or row > 100 else None for row, label in enumerate(labels)]
    models = [
        DCoTClassifier(random_state=0).fit(texts, y, sample_weight=weights, vectors=V)
        for V in (vectors, other)
    ]
    decisions = [model.decision_function(texts, vectors=vectors) for model in models]
    np.testing.assert_array_equal(*decisions)


@pytest.mark.parametrize("labels", [0, 1])
def test_many_labels_and_other_learners_see_the_vectors(corpus, monkeypatch, labels):
    texts, _, y = corpus
    if labels:
        monkeypatch.setattr("dcot.classifier.learners.MAX_KERNEL_LABELS", 50)
        model = DCoTClassifier(embedding=TABLE, random_state=0).fit(texts, y)
    else:
        model = DCoTClassifier(embedding=TABLE, estimator="logistic", random_state=0).fit(texts, y)
    k = 5
    assert np.abs(model.coef_[:, -k:]).max() > 0.01
    found = model.transform(texts) @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(texts), found, atol=1e-4)


# -- explanations -------------------------------------------------------------------------------


@pytest.mark.parametrize("features", ["both layers", "x and both layers"])
def test_word_vectors_are_explained_word_by_word(corpus, features):
    """A share is what is lost when the word is gone and the length is held: here, by doing it."""
    grid = {"features": [features], "embedding": [0.5]}
    model = model_of(corpus, TABLE, selection="none", grid=grid)
    text = "crude wheat tanker"
    explained = model.explain(text, "oil")
    decision = model.decision_function([text])[0, model.classes_.tolist().index("oil")]
    assert explained.decision == pytest.approx(decision, abs=1e-5)
    total = explained.baseline + sum(word.share for word in explained)
    assert explained.decision == pytest.approx(total, abs=1e-9)
    assert explained.encoder == 0
    embedding, beside = model._learned.embedding, model.coef_[2, -5:].astype(float)
    terms = model.vectorizer_.weigh([text]).toarray()[0]
    length = np.linalg.norm(terms @ embedding.table - embedding.mean)
    for word in explained:
        column = model.vectorizer_.vocabulary_[word.word]
        part = terms[column] * embedding.table[column] @ beside * np.sqrt(0.5) / length
        assert word.vector == pytest.approx(part, abs=1e-5)
    assert "its vector" in str(explained)
    assert "its vector" in explained._repr_html_()
    assert explained.to_frame()["vector"].to_list() == [word.vector for word in explained]


def test_the_share_of_an_encoder_is_one_number(corpus):
    model = model_of(corpus, FakeEncoder())
    explained = model.explain("crude wheat tanker", "oil")
    V = model.transform(["crude wheat tanker"])[:, -5:]
    row = model.classes_.tolist().index("oil")
    assert explained.encoder == pytest.approx(float(V[0] @ model.coef_[row, -5:]), abs=1e-5)
    total = explained.baseline + explained.encoder + sum(word.share for word in explained)
    decision = model.decision_function(["crude wheat tanker"])[0, row]
    assert explained.decision == pytest.approx(total) == pytest.approx(decision, abs=1e-5)
    assert "encoder" in str(explained)


# -- other methods ------------------------------------------------------------------------------


def test_every_method_takes_vectors(corpus, tmp_path):
    texts, partly, labels = corpus
    V = FakeEncoder().encode(texts)
    model = DCoTClassifier(random_state=0).fit(texts, partly, vectors=V)
    same = model_of(corpus, FakeEncoder())
    expected = same.predict_proba(texts)
    np.testing.assert_allclose(model.predict_proba(texts, vectors=V), expected, atol=1e-6)
    assert model.predict(texts, vectors=V).tolist() == same.predict(texts).tolist()
    assert model.predict_sets(texts, vectors=V) == same.predict_sets(texts)
    assert model.score(texts, labels, vectors=V) == same.score(texts, labels)
    assert model.suggest(texts, 5, vectors=V).tolist() == same.suggest(texts, 5).tolist()
    assert model.explain(texts[0], vectors=V[:1]).decision == same.explain(texts[0]).decision
    assert len(model.label_issues()) == len(same.label_issues())
    # an encoder's vectors can be computed beforehand
    np.testing.assert_array_equal(same.predict_proba(texts, vectors=V), expected)
    fewer = DCoTClassifier(random_state=0).fit(
        texts[:18], partly[:18], unlabelled=texts[18:], vectors=V
    )
    np.testing.assert_allclose(fewer.predict_proba(texts, vectors=V), expected, atol=1e-6)
    model.save(tmp_path / "model")
    again = dcot.load(tmp_path / "model")
    found = again.refit(texts, partly, vectors=V).predict_proba(texts, vectors=V)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    for use in (model.predict, model.decision_function, again.predict, model.suggest):
        with pytest.raises(DcotError, match="vectors="):
            use(texts)


def test_matrices_take_vectors_and_named_columns_word_vectors(corpus):
    texts, partly, _ = corpus
    X = pd.DataFrame(
        [[text.split().count(word) for word in WORDS] for text in texts], columns=WORDS
    )
    V = FakeEncoder().encode(texts)
    given = DCoTClassifier(random_state=0).fit(X.to_numpy(), partly, vectors=V)
    assert given.predict(X.to_numpy(), vectors=V).shape == (120,)
    named = DCoTClassifier(embedding=TABLE, random_state=0).fit(X, partly)
    assert named.explain(X[:1]).words[0].vector != 0
    with pytest.raises(DcotError, match="columns are named"):
        DCoTClassifier(embedding=TABLE).fit(X.to_numpy(), partly)
    with pytest.raises(DcotError, match="encoder reads texts"):
        DCoTClassifier(embedding=FakeEncoder()).fit(X.to_numpy(), partly)


def test_blank_and_unknown_texts_have_no_vector(corpus):
    for embedding in (FakeEncoder(), TABLE):
        model = model_of(corpus, embedding)
        features = model.transform(["", " \n", "oil"])
        assert not features[:2, -5:].any()
        assert np.linalg.norm(features[2, -5:]) == pytest.approx(
            np.sqrt(model.best_params_["embedding"]), rel=1e-5
        )
        assert model.transform(["", " "]).shape[0] == 2  # nothing to encode at all
        new = ["", "oil", "never heard"]
        read = isinstance(embedding, FakeEncoder)  # an encoder reads words that the model has not
        assert model.has_known_terms(new).tolist() == [False, True, read]
        assert (model.predict(new, unknown="?") == "?").tolist() == [True, False, not read]


def test_an_encoder_that_gives_words_other_dimensions(corpus):
    def encode(texts):
        width = 5 if " " in texts[0] or texts[0] == "oil" else 4
        return FakeEncoder().encode(texts)[:, :width]

    with pytest.raises(DcotError, match="seed words have 4 dimensions"):
        DCoTClassifier(embedding=encode).fit(corpus[0], corpus[1], seed_words={"oil": ["opec"]})


def test_a_vector_says_something_about_a_document_without_known_terms(corpus):
    texts, labels, _ = corpus
    V = FakeEncoder().encode(texts)
    model = DCoTClassifier(random_state=0, grid={"embedding": [1.0]}).fit(texts, labels, vectors=V)
    new, vectors = ["never heard", "never heard", "oil"], np.vstack([V[0], 0 * V[0], 0 * V[0]])
    assert model.has_known_terms(new, vectors=vectors).tolist() == [True, False, True]
    assert model.has_known_terms(new).tolist() == [False, False, True]
    assert (model.predict(new, unknown="?", vectors=vectors) != "?").tolist() == [True, False, True]
    with pytest.raises(DcotError, match="vectors"):
        model.has_known_terms(new, vectors=vectors[:2])


def test_clones_share_the_encoder_and_nothing_that_was_learned(corpus):
    encoder = FakeEncoder()
    model = model_of(corpus, encoder)
    made = clone(model.set_output(transform="pandas"))
    assert made.embedding is encoder
    assert model.embedding is encoder
    assert not hasattr(made, "classes_")
    assert made.get_params(deep=False) == model.get_params(deep=False)
    assert made._sklearn_output_config == {"transform": "pandas"}
    made = clone(DCoTClassifier(vectorizer=DCoTVectorizer(min_df=3)))
    assert made.get_params()["vectorizer__counter__min_df"] == 3


# -- saving -------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", [None, "float16"])
def test_word_vectors_of_the_models_own_words_are_in_its_folder(corpus, tmp_path, precision):
    texts, partly, _ = corpus
    large = TABLE | {f"other{n}": np.ones(5) for n in range(1000)}
    model = model_of(corpus, large)
    model.save(tmp_path / "model", precision=precision)
    again = dcot.load(tmp_path / "model")
    tolerance = 1e-12 if precision is None else 1e-2
    expected = model.predict_proba(texts)
    np.testing.assert_allclose(again.predict_proba(texts), expected, atol=tolerance)
    assert again._learned.embedding.table.shape == (len(again.vectorizer_.vocabulary_), 5)
    assert again.explain(texts[0]).decision == pytest.approx(
        model.explain(texts[0]).decision, abs=tolerance
    )
    assert "word vectors of 27 of 27 terms" in (tmp_path / "model" / "README.md").read_text()
    assert again.refit(texts, partly).predict(texts).shape == (120,)


def test_an_encoder_is_named_and_checked(corpus, tmp_path):
    texts = corpus[0]
    model = model_of(corpus, FakeEncoder())
    model.save(tmp_path / "model")
    assert "FakeEncoder" in (tmp_path / "model" / "README.md").read_text()
    again = dcot.load(tmp_path / "model", embedding=FakeEncoder())
    np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))
    alone = dcot.load(tmp_path / "model")
    with pytest.raises(DcotError, match=r"FakeEncoder.*dcot\.load\(folder, embedding=encoder\)"):
        alone.predict(texts)
    assert alone.predict(texts, vectors=FakeEncoder().encode(texts)).shape == (120,)
    for other in (
        lambda texts: 2 * FakeEncoder().encode(texts),
        lambda texts: np.ones((len(texts), 5)),
        lambda texts: np.ones((len(texts), 6)),
    ):
        with pytest.raises(DcotError, match="the same encoder"):
            dcot.load(tmp_path / "model", embedding=other)
    assert alone._attach_encoder(FakeEncoder().encode).predict(texts).shape == (120,)
    model_of(corpus, TABLE).save(tmp_path / "words")
    DCoTVectorizer().fit(texts).save(tmp_path / "vectorizer")
    for folder in ("words", "vectorizer"):
        with pytest.raises(DcotError, match="leave embedding out"):
            dcot.load(tmp_path / folder, embedding=FakeEncoder())


def test_damaged_folders(corpus, tmp_path):
    from tests.unit.persistence.conftest import forge, part

    model_of(corpus, TABLE).save(tmp_path / "model")
    settings = json.loads(part(tmp_path / "model", "settings").read_bytes())
    for change in (
        {"kind": "encoder"},
        {"kind": "pickle"},
        {"weight": -1.0},
        {"dimensions": 7},
        {"name": None},
    ):
        changed = settings | {"embedding": settings["embedding"] | change}
        forge(tmp_path / "model", settings=json.dumps(changed).encode())
        with pytest.raises(dcot.errors.ModelFormatError):
            dcot.load(tmp_path / "model")


# -- encoders -----------------------------------------------------------------------------------


def test_encoders_of_every_kind(corpus):
    expected = model_of(corpus, FakeEncoder()).decision_function(corpus[0])

    class Embed:
        def embed(self, texts):  # as fastembed does
            return (vector for vector in FakeEncoder().encode(texts))

    def function(texts):
        return FakeEncoder().encode(texts).tolist()

    for embedding in (Embed(), function):
        found = model_of(corpus, embedding).decision_function(corpus[0])
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_real_wordllama(corpus, tmp_path):
    pytest.importorskip("wordllama", reason="wordllama is not installed: dcot[embedding]")
    texts, _, labels = corpus
    grid = {"embedding": [1.0]}
    model = model_of(corpus, "wordllama", grid=grid)
    assert model.score(texts[18:], labels[18:]) > 0.7
    model.save(tmp_path / "model")
    again = dcot.load(tmp_path / "model")  # found by its name
    np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))
    own = as_encoder("wordllama").function.__self__  # the object itself has embed
    np.testing.assert_array_equal(
        model_of(corpus, own, grid=grid).predict_proba(texts), model.predict_proba(texts)
    )


def test_real_model2vec(corpus):
    model2vec = pytest.importorskip("model2vec", reason="model2vec is not installed")
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = {word: place for place, word in enumerate(["[UNK]", *WORDS])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    table = np.array([np.zeros(5), *TABLE.values()])
    static = model2vec.StaticModel(table, tokenizer, normalize=False)
    model = model_of(corpus, static)
    assert model._learned.embedding.name == "model2vec.model.StaticModel"
    expected = model_of(corpus, FakeEncoder()).predict(corpus[0])
    assert (model.predict(corpus[0]) == expected).mean() > 0.95


# -- tables -------------------------------------------------------------------------------------


def lines_of(table) -> str:
    return "".join(f"{word} {' '.join(map(repr, v.tolist()))}\n" for word, v in table.items())


@pytest.mark.parametrize("kind", ["glove", "word2vec", "gz", "safetensors", "gensim", "mapping"])
def test_tables_of_every_kind(kind, tmp_path):
    table = {"other": np.ones(5), **TABLE, "new_york": np.arange(5.0), "oil ": np.ones(5)}
    path = tmp_path / {"gz": "v.txt.gz", "safetensors": "v.safetensors"}.get(kind, "v.txt")
    given: object = path
    if kind == "safetensors":
        words = {"words": json.dumps(list(table))}
        save_file({"vectors": np.array(list(table.values()))}, path, metadata=words)
    elif kind == "gensim":
        given = pytest.importorskip("gensim").models.KeyedVectors(5)
        given.add_vectors(list(table), list(table.values()))
    elif kind == "mapping":
        given = table
    else:
        del table["oil "]
        text = ("29 5\n" if kind == "word2vec" else "") + lines_of(table)
        path.write_bytes(gzip.compress(text.encode()) if kind == "gz" else text.encode())
    assert as_encoder(given) is None
    found = look_up(given, ["oil", "unheard", "new york", "mint"])
    expected = [TABLE["oil"], np.zeros(5), np.arange(5.0), TABLE["mint"]]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found.dtype == np.float32


def test_a_large_file_is_streamed(tmp_path):
    """Numbers of other words are not read, and of a word that is there twice the first counts."""
    path = tmp_path / "vectors.txt"
    lines = ["other 1 2\n", "oil 1 2\n", *(f"w{n} not numbers\n" for n in range(1000))]
    path.write_text("".join([*lines, "oil 3 4\n"]))
    np.testing.assert_array_equal(look_up(path, ["oil"]), [[1.0, 2.0]])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"oil 1 2\nwheat 1 2 3\n", "has 3 numbers, but others have 2"),
        (b"oil 1 2\nwheat 1 x\n", "line 2 is not a word and its numbers"),
        (b"oil\n", "line 1 is not a word and its numbers"),
        (b"some prose, as in a novel\n", "line 1 is not a word and its numbers"),
        (b"oil nan 2\n", "not a row of finite numbers"),
        (b"1 2\noil \x00\x01\x02\n", "load_word2vec_format"),
        (b"oil" * 400_000, "line 1 is not text"),
        (b"tea 1 2\n", "none of the 2 words"),
        (b"", "none of the 2 words"),
    ],
)
def test_malformed_files(tmp_path, content, words):
    (tmp_path / "v.txt").write_bytes(content)
    with pytest.raises(DcotError, match=words):
        look_up(tmp_path / "v.txt", ["oil", "wheat"])


@pytest.mark.parametrize(
    ("tensors", "metadata", "words"),
    [
        ({"v": np.ones((2, 3))}, None, "no list of words"),
        ({"v": np.ones((2, 3))}, {"words": '["oil"]'}, "2 vectors but 1 words"),
        ({"v": np.ones((1, 3)), "w": np.ones((1, 3))}, {"words": '["oil"]'}, "2 matrices"),
        ({"v": np.ones((1, 3))}, {"words": "oil"}, "no list of words"),
        ({"v": np.full((1, 3), np.nan)}, {"words": '["oil"]'}, "finite"),
        (None, None, "cannot be read"),
    ],
)
def test_malformed_safetensors(tmp_path, tensors, metadata, words):
    path = tmp_path / "v.safetensors"
    if tensors is None:
        path.write_bytes(b"\xff" * 100)
    else:
        save_file(tensors, path, metadata=metadata)
    with pytest.raises(DcotError, match=words):
        look_up(path, ["oil", "wheat"])


# -- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        (np.ones((119, 5)), "120 documents, but 119 vectors"),
        (np.ones(120), "shape"),
        (np.ones((120, 0)), "shape"),
        (np.ones((120, 2, 2)), "shape"),
        (np.where(np.arange(120)[:, None] == 7, np.nan, np.ones((120, 5))), "document 7"),
        (np.full((120, 5), np.inf), "document 0"),
        (np.full((120, 5), 1e30), "very large"),
        (sp.csr_array(np.ones((120, 5))), "sparse"),
        ([["a"]] * 120, "expected numbers"),
        ([[1.0], [1.0, 2.0]] * 60, "not an array"),
        (np.zeros((120, 5)), "all vectors of the documents are zero"),
    ],
)
def test_bad_vectors(corpus, vectors, words):
    with pytest.raises(DcotError, match=words):
        DCoTClassifier().fit(corpus[0], corpus[1], vectors=vectors)


def test_bad_vectors_at_predict_and_one_dimension(corpus):
    texts, partly, _ = corpus
    model = DCoTClassifier(random_state=0).fit(texts, partly, vectors=FakeEncoder().encode(texts))
    with pytest.raises(DcotError, match="have 4 dimensions, but the model was fitted on 5"):
        model.predict(texts[:2], vectors=np.ones((2, 4)))
    with pytest.raises(DcotError, match="2 documents, but 3 vectors"):
        model.predict(texts[:2], vectors=np.ones((3, 5)))
    one = np.array([[1.0 if label == "oil" else -1.0] for label in corpus[2]])
    narrow = DCoTClassifier(random_state=0).fit(texts, partly, vectors=one)
    assert (narrow.predict(texts, vectors=one) == "oil").tolist() == (one[:, 0] > 0).tolist()
    alike = DCoTClassifier(random_state=0).fit(texts, partly, vectors=np.ones((120, 3)))
    assert np.isfinite(alike.decision_function(texts, vectors=np.ones((120, 3)))).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"embedding": 3}, "embedding is a int"),
        ({"embedding": FakeEncoder}, "embedding is a type"),
        ({"embedding": "no-such-file.txt"}, "neither a file"),
        ({"embedding": {"tea": np.ones(3)}}, "none of the 27 words"),
        ({"embedding": {"oil": np.ones((3, 1))}}, "row of finite numbers"),
        ({"embedding": lambda texts: np.full((len(texts), 2), np.nan)}, "document 0"),
        ({"embedding": lambda texts: np.ones((2, 2))}, "but 2 vectors"),
        ({"grid": {"embedding": [1.0, 0.0]}}, "there are none"),
        ({"embedding": TABLE, "grid": {"embedding": [-1.0]}}, "zero or more"),
    ],
)
def test_bad_embeddings(corpus, options, words):
    with pytest.raises(DcotError, match=words):
        DCoTClassifier(**options).fit(corpus[0], corpus[1])


def test_word_vectors_and_vectors_at_once_are_refused(corpus):
    texts, partly, _ = corpus
    with pytest.raises(DcotError, match="leave vectors out"):
        DCoTClassifier(embedding=TABLE).fit(texts, partly, vectors=np.ones((120, 5)))
    with pytest.raises(DcotError, match="leave vectors out"):
        model_of(corpus, TABLE).predict(texts, vectors=np.ones((120, 5)))


def test_a_zero_row_is_not_centred():
    made = Embedding("given", "", np.array([1.0, 0.0]), 4.0)
    found = made.features(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 5.0]]))
    np.testing.assert_allclose(found, [[0, 0], [0, 0], [0, 2]])


def test_documents_with_the_same_words_and_other_vectors_are_not_copies():
    """They were, and the vector of the first stood for all of them."""
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, 200)
    V = generator.normal(size=(200, 20)) + 0.8 * y[:, None]
    texts = [["oil price", "wheat price", "gold price", "tin price"][row % 4] for row in range(200)]
    model = DCoTClassifier(random_state=0).fit(texts, y, vectors=V)
    assert model.estimate_.n == 200
    assert model.score(texts, y, vectors=V) > 0.9
    again = model.refit(texts, y, vectors=V)
    assert again.estimate_.n == 200
    # copies are still left out together, also if their vectors differ by rounding
    noise = 1e-6 * generator.normal(size=V.shape)
    twice = DCoTClassifier(random_state=0).fit(
        texts * 2, np.tile(y, 2), vectors=np.vstack([V, V + noise])
    )
    assert twice.estimate_.n == 200
    rows, counts = without_duplicates(np.ones((4, 1)), np.ones((4, 1)), np.ones(4), V[[0, 1, 0, 2]])
    assert (rows.tolist(), counts.tolist()) == ([0, 1, 3], [2, 1, 1])


def test_a_weight_counts_for_the_mean_of_the_vectors(corpus):
    texts, partly, _ = corpus
    V = FakeEncoder().encode(texts)
    weights = np.ones(len(texts))
    weights[3] = 9
    weighted = DCoTClassifier(random_state=0).fit(texts, partly, sample_weight=weights, vectors=V)
    copies = DCoTClassifier(random_state=0).fit(
        [*texts, *texts[3:4] * 8], [*partly, *partly[3:4] * 8], vectors=np.vstack([V, V[[3] * 8]])
    )
    found = [model._learned.embedding.mean for model in (weighted, copies)]
    np.testing.assert_allclose(*found, rtol=1e-6)


@pytest.mark.parametrize("seeds", [None, {"oil": ["oil"]}])
def test_vectors_that_are_not_of_the_encoder_are_refused(corpus, seeds):
    texts, partly, _ = corpus
    with pytest.raises(DcotError, match=r"3 dimensions, but those of the encoder .* have 5"):
        DCoTClassifier(embedding=FakeEncoder()).fit(
            texts, partly, vectors=np.ones((120, 3)), seed_words=seeds
        )


def test_predicting_does_not_change_the_classifier(corpus):
    """Otherwise a prediction could undo a refit in another thread."""
    texts = corpus[0]
    model = model_of(corpus, FakeEncoder())
    learned = model._learned
    model.predict(texts[:2])
    assert model._learned is learned


def test_names_of_several_words_in_a_file_of_word_vectors(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("oil 1 2\nnew york 3 4\noil a@b.com 5 6\n. . 7 8\nyork 9 10\n")
    found = look_up(path, ["oil", "new york", "york", "other"])
    assert found.tolist() == [[1, 2], [3, 4], [9, 10], [0, 0]]
    path.write_text("oil 1 2\nyork 3 4 5\n")
    with pytest.raises(DcotError, match="'york' has 3 numbers, but others have 2"):
        look_up(path, ["oil", "york"])


def test_a_loaded_model_that_left_its_encoder_out_takes_it(corpus, tmp_path):
    texts, partly, _ = corpus
    encoder = FakeEncoder()
    model = DCoTClassifier(embedding=encoder, grid={"embedding": [0.0]}, random_state=0)
    model.fit(texts, partly).save(tmp_path / "model")
    again = dcot.load(tmp_path / "model", embedding=encoder)
    np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))
    assert again.embedding is encoder
    with pytest.raises(DcotError, match="without an encoder"):
        dcot.load(tmp_path / "model", embedding={"oil": [1.0]})


def test_a_fit_of_a_loaded_model_says_that_it_has_no_vectors(corpus, tmp_path):
    texts, partly, _ = corpus
    table = {word: word_vector(word) for text in texts for word in text.split()}
    model_of(corpus, table).save(tmp_path / "model")
    again = dcot.load(tmp_path / "model")
    with pytest.warns(UserWarning, match="fit learns without them: set embedding"):
        again.fit(texts, partly)
    again.fit(texts, partly)  # no longer a loaded model
    assert again.set_params(embedding=table).fit(texts, partly).embedding is table


@pytest.mark.parametrize("scale", [1e-25, 1e14])
def test_the_size_of_word_vectors_does_not_matter(corpus, scale):
    texts = corpus[0]
    table = {word: word_vector(word) for text in texts for word in text.split()}
    scaled = {word: scale * np.asarray(vector) for word, vector in table.items()}
    one, other = (model_of(corpus, each).predict_proba(texts) for each in (table, scaled))
    np.testing.assert_allclose(one, other, atol=1e-4)


def test_an_encoder_that_returns_nothing(corpus):
    with pytest.raises(DcotError, match="expected numbers of shape"):
        DCoTClassifier(embedding=lambda texts: None).fit(corpus[0], corpus[1])


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_bytes(b"\xef\xbb\xbfoil 1 2\nwheat 3 4\n")
    np.testing.assert_array_equal(look_up(path, ["oil", "wheat"]), [[1, 2], [3, 4]])


@pytest.mark.parametrize("given", [(word for word in "ab"), 3, object(), dict])
def test_what_is_no_embedding(given):
    with pytest.raises(DcotError, match="embedding is a"):
        as_encoder(given)
    assert as_encoder(str.lower).name  # a function without a module
