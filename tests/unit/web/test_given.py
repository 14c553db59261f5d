"""Labelling that starts from a model, and with vectors beside dCoT."""

import numpy as np
import pytest

import dcot
from dcot import DCoTClassifier, DCoTVectorizer, datasets
from dcot.web.documents import Documents
from dcot.web.given import check_given, start_from, updated
from dcot.web.labels import LabelStore
from dcot.web.learning import Start, choose_next, learn
from dcot.web.session import Session
from dcot.web.space import learn_space, space_of

from .conftest import wait


@pytest.fixture(scope="module")
def everyday():
    return datasets.load("everyday")


@pytest.fixture(scope="module")
def labels(everyday):
    known = np.random.default_rng(0).choice(everyday.train, 80, replace=False)
    found = np.full(len(everyday.texts), None)
    found[known] = everyday.labels[known]
    return found


@pytest.fixture(scope="module")
def classifier(everyday, labels):
    vectorizer = DCoTVectorizer(n_prototypes=300)
    return DCoTClassifier(vectorizer=vectorizer, random_state=0).fit(everyday.texts, labels)


@pytest.fixture(scope="module")
def started(classifier, everyday):
    return start_from(classifier, everyday.test_texts)


def word_vectors(texts):
    """A word and its neighbours in the alphabet are alike; nothing that helps or harms much."""
    words = sorted({word for text in texts for word in text.lower().split()})
    angles = np.linspace(0, np.pi, len(words))
    vectors = np.stack([np.cos(angles), np.sin(angles), np.ones(len(words))], axis=1)
    return dict(zip(words, vectors, strict=True))


# -- a given classifier -------------------------------------------------------------------------


def test_a_classifier_decides_as_it_did_before_any_label(classifier, started, everyday):
    space, prior = started
    snapshot = learn(space.Z, {}, Start(prior=prior))
    assert snapshot.classes == tuple(classifier.classes_)
    expected = classifier.predict_proba(everyday.test_texts)
    assert np.allclose(snapshot.probabilities(space.Z), expected, atol=1e-4)
    assert snapshot.calibrated == classifier.calibrated_
    among = np.arange(len(space.Z))
    assert len(set(choose_next(snapshot, space.Z, among, 5, np.random.RandomState(0)))) == 5


def test_features_that_hold_the_words_are_kept_exactly_too(everyday, labels):
    vectorizer = DCoTVectorizer(n_prototypes=100)
    grid = {"features": ["x and LSI and both layers"]}
    given = DCoTClassifier(vectorizer=vectorizer, grid=grid).fit(everyday.texts, labels)
    space, prior = start_from(given, everyday.test_texts)
    snapshot = learn(space.Z, {}, Start(prior=prior))
    expected = given.predict_proba(everyday.test_texts)
    assert np.allclose(snapshot.probabilities(space.Z), expected, atol=1e-4)


def test_one_label_does_not_overrule_the_given_classifier(started, everyday):
    space, prior = started
    before = learn(space.Z, {}, Start(prior=prior))
    after = learn(space.Z, {0: "a new class"}, Start(prior=prior))
    same = np.asarray(before.classes)[before.best] == np.asarray(after.classes)[after.best]
    assert same[1:].mean() > 0.95
    assert np.asarray(after.classes)[after.best[0]] in (
        "a new class",
        before.classes[before.best[0]],
    )


def test_labels_correct_the_given_classifier(started, everyday):
    space, prior = started
    truth = np.asarray([str(name) for name in everyday.labels[everyday.test]])
    learned = np.arange(0, len(truth), 2)
    rest = np.arange(1, len(truth), 2)
    wrong = {"law": "weather", "weather": "law"}  # it learned two classes the wrong way round
    names = {name: wrong.get(name, name) for name in prior.classes}
    start = Start(prior=prior.renamed(names))
    right = []
    for labelled in ({}, {int(row): truth[row] for row in learned}):
        snapshot = learn(space.Z, labelled, start)
        right.append((np.asarray(snapshot.classes)[snapshot.best[rest]] == truth[rest]).mean())
    assert right[1] > right[0]


def test_classes_are_merged_renamed_and_left_out(started):
    space, prior = started
    names = {name: name for name in prior.classes if name != "chess"}
    names |= {"law": "rules", "banking": "rules"}
    changed = prior.renamed(names)
    assert "chess" not in changed.classes
    assert "law" not in changed.classes
    own = [prior.classes.index(name) for name in ("banking", "law")]
    decisions = space.Z @ prior.coef + prior.intercept
    joined = space.Z @ changed.coef + changed.intercept
    expected = decisions[:, own].sum(axis=1) + 1
    assert np.allclose(joined[:, changed.classes.index("rules")], expected, atol=1e-5)
    assert prior.renamed({}) is None


def test_the_saved_model_decides_as_the_page_does(classifier, started, everyday, tmp_path):
    space, prior = started
    truth = [str(name) for name in everyday.labels[everyday.test]]
    snapshot = learn(space.Z, dict(enumerate(truth[:30])) | {30: "new"}, Start(prior=prior))
    updated(classifier, space, snapshot, 0).save(tmp_path / "model")
    model = dcot.load(tmp_path / "model")
    assert list(model.classes_) == list(snapshot.classes)
    expected = snapshot.probabilities(space.Z)
    assert np.allclose(model.predict_proba(everyday.test_texts), expected, atol=1e-4)
    assert model.n_labelled_ == classifier.n_labelled_ + 31
    assert model.estimate_.n == 31
    assert "31 held-out" in model.summary()
    assert len(model.predict_sets(everyday.test_texts[:3])) == 3


@pytest.mark.parametrize("kind", [int, float, bool])
def test_classes_that_are_numbers_stay_numbers(corpus, tmp_path, kind):
    texts, topics = list(corpus[0].texts), corpus[1]
    y = [kind(topic == "oil") for topic in topics]
    given = DCoTClassifier(random_state=0).fit(texts, y)
    space, prior = start_from(given, texts)
    snapshot = learn(space.Z, {0: str(y[0]), 4: str(y[4])}, Start(prior=prior))
    updated(given, space, snapshot, 0).save(tmp_path / "model")
    model = dcot.load(tmp_path / "model")
    assert model.classes_.dtype == given.classes_.dtype
    assert model.score(texts, y) == given.score(texts, y) > 0.9
    assert np.allclose(model.predict_proba(texts), given.predict_proba(texts), atol=0.1)


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ("11", [2, 10, 11]),
        ("gold", [2, 10, "gold"]),
        ("011", [2, 10, "011"]),
        ("-1", [2, 10, "-1"]),
    ],
)
def test_a_new_class_beside_numbers(corpus, tmp_path, new, expected):
    texts, topics = list(corpus[0].texts), corpus[1]
    y = [{"oil": 10, "grain": 2}[topic] for topic in topics]
    given = DCoTClassifier(random_state=0).fit(texts, y)
    space, prior = start_from(given, texts)
    labels = {0: "10", 4: "2", 1: new, 9: new}
    snapshot = learn(space.Z, labels, Start(prior=prior))
    updated(given, space, snapshot, 0).save(tmp_path / "model")
    model = dcot.load(tmp_path / "model")
    assert model.classes_.tolist() == expected  # -1 marks unlabelled documents: it is no class
    by_page = snapshot.probabilities(space.Z)[:, [snapshot.classes.index(str(c)) for c in expected]]
    assert np.allclose(model.predict_proba(texts), by_page, atol=1e-4)
    is_old = np.asarray(snapshot.classes)[snapshot.best] != new
    assert model.score(np.array(texts)[is_old], np.array(y)[is_old]) > 0.9
    assert model.estimate_.n == 4


def test_a_session_starts_with_the_classes_and_predictions(classifier, everyday, tmp_path):
    documents = Documents.of(list(everyday.test_texts))

    def begin():
        store = LabelStore(tmp_path / "labels.csv", documents)
        return Session(documents, store, tmp_path / "model", given=classifier)

    session = begin()
    assert session.classes == tuple(classifier.classes_)
    session.start()
    wait(lambda: session.learned.snapshot)
    predicted = np.asarray(session.learned.snapshot.classes)[session.learned.snapshot.best]
    assert (predicted == classifier.predict(everyday.test_texts)).mean() > 0.99
    with pytest.raises(dcot.InvalidParameterError, match="would be the same"):
        session.save_model()
    session.rename_class("law", "rules", merge=False)
    session.remove_class("chess")
    session.label({0: "rules", 1: "weather"}, "random")
    wait(lambda: "rules" in session.learned.snapshot.classes)
    assert not {"law", "chess"} & {*session.learned.snapshot.classes}
    session.save_model()
    wait(lambda: session.saving.state != "running")
    assert session.saving.state == "done", session.saving
    assert "rules" in dcot.load(tmp_path / "model").classes_
    session.close()
    again = begin()
    assert "rules" in again.classes
    assert not {"law", "chess"} & {*again.classes}
    again.close()


# -- a given vectorizer, and vectors beside it ----------------------------------------------------


def test_a_given_vectorizer_is_used_and_saved(everyday, labels, classifier, tmp_path):
    documents, vectorizer = Documents.of(list(everyday.texts)), classifier.vectorizer_
    store = LabelStore(tmp_path / "labels.csv", documents)
    session = Session(documents, store, tmp_path / "model", given=vectorizer)
    session.start()
    wait(lambda: session.learned.plan)
    assert session.classes == ()
    assert session.space.vectorizer is vectorizer
    known = [row for row, name in enumerate(labels) if name]
    session.label({row: str(labels[row]) for row in known}, "random")
    session.save_model()
    wait(lambda: session.saving.state != "running")
    assert session.saving.state == "done", session.saving
    model = dcot.load(tmp_path / "model")
    session.close()
    saved, own = model.dcot_.layers_[0].coef_, vectorizer.dcot_.layers_[0].coef_
    assert np.array_equal(saved, own)


@pytest.mark.parametrize("kind", ["words", "encoder"])
def test_vectors_beside_dcot_are_weighed_by_the_labels(everyday, labels, kind):
    texts = list(everyday.texts)
    truth = [str(name) for name in everyday.labels]
    order = sorted(set(truth))

    def tell(some):  # an encoder that knows the class of every document
        known = {text: order.index(name) for text, name in zip(texts, truth, strict=True)}
        return np.eye(len(order) + 1)[[known.get(text, len(order)) for text in some]]

    space = learn_space(texts, embedding=word_vectors(texts) if kind == "words" else tell)
    assert space.n_beside == (3 if kind == "words" else len(order) + 1)
    known = {row: str(name) for row, name in enumerate(labels) if name}
    snapshot = learn(space.Z, known, Start(n_beside=space.n_beside))
    right = (np.asarray(snapshot.classes)[snapshot.best] == np.asarray(truth)).mean()
    plain = learn_space(texts)
    alone = learn(plain.Z, known)
    before = (np.asarray(alone.classes)[alone.best] == np.asarray(truth)).mean()
    if kind == "encoder":
        assert right > 0.9 > before
        assert snapshot.scale[-1] > 0
    else:
        assert right > before - 0.05
    # a text of one's own gets the same vector as the document has
    assert np.allclose(space.vectors(texts[:3]), space.Z[:3], atol=1e-5)
    assert space.vectors([""]).shape == (1, space.Z.shape[1])


def test_shares_of_word_vectors_add_up_to_the_decision(everyday):
    texts = list(everyday.texts[:200])
    space = space_of(DCoTVectorizer(n_prototypes=50).fit(texts), texts, 0, word_vectors(texts))
    weights = np.zeros(space.Z.shape[1])
    weights[-1] = 1.0
    row = 3
    scale = space.embedding.scales(space.beside[[row]], space.beside[[row]] - space.embedding.mean)
    baseline = -space.embedding.mean[-1] * scale[0]
    assert sum(space.shares(row, weights).values()) + baseline == pytest.approx(
        space.Z[row, -1], abs=1e-5
    )


def test_an_encoder_that_fails_is_told(everyday, tmp_path):
    def fail(texts):
        raise RuntimeError("no connection")

    documents = Documents.of(list(everyday.texts[:50]))
    store = LabelStore(tmp_path / "labels.csv", documents)
    session = Session(documents, store, tmp_path / "model", embedding=fail)
    session.start()
    wait(lambda: session.phase != "learning")
    assert "no connection" in session.saving.message
    assert len(session.next_rows("tab", 3)) == 3  # labels can be given all the same
    session.close()


# -- what cannot be started from ------------------------------------------------------------------


def test_what_labelling_cannot_start_from(everyday, classifier):
    several = [["law", "chess"] if row < 4 else None for row in range(len(everyday.texts))]
    several[5] = ["law"]
    sets = DCoTClassifier(vectorizer=DCoTVectorizer(n_prototypes=50)).fit(everyday.texts, several)
    matrix = np.eye(6)
    by_matrix = DCoTClassifier().fit(matrix, ["a", "b"] * 3)
    with pytest.raises(dcot.InvalidTypeError, match="is a SearchIndex"):
        check_given(dcot.SearchIndex(), "index")
    with pytest.raises(dcot.InvalidInputError, match="several labels"):
        check_given(sets, "model")
    with pytest.raises(dcot.InvalidTypeError, match="matrix"):
        check_given(by_matrix, "model")
    with pytest.raises(dcot.InvalidParameterError, match="leave embedding out"):
        check_given(classifier, "model", "vectors.txt")
    compressed = DCoTVectorizer(n_prototypes=20, n_components=5).fit(everyday.texts)
    with pytest.raises(dcot.InvalidParameterError, match="model has n_components=5"):
        check_given(compressed, "model")
    with pytest.raises(dcot.ModelNotFittedError):
        check_given(DCoTVectorizer(), "model")
    assert check_given(classifier, "model") is classifier
    assert check_given(classifier.vectorizer_, "model") is classifier.vectorizer_
