"""A labelling session: what comes next, what is learned, and what survives."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from tests.unit.web.conftest import wait

import dcot
from dcot.errors import InvalidInputError, InvalidParameterError, OutputError
from dcot.web.documents import Documents
from dcot.web.formats import Entry, row_of
from dcot.web.labels import LabelStore
from dcot.web.learning import Start, expected_gain, held_out_hits, learn, learn_rows
from dcot.web.progress import CurveCache, measure, stop_hint
from dcot.web.session import QUEUED_DOCUMENTS, RANDOM_EVERY, Session
from dcot.web.space import (
    leading_directions,
    learn_space,
    propose,
    ranked_by,
    seed_vectors,
    unknown_words,
)


def label_all(session, topics, rows):
    session.label({row: topics[row] for row in rows}, "random")


# -- the space --------------------------------------------------------------------------------


def test_directions_are_orthonormal_and_hold_most():
    generator = np.random.RandomState(0)
    spread = 0.97 ** np.arange(600)
    features = (generator.standard_normal((900, 600)) * spread).astype(np.float32)
    directions = leading_directions(features, generator)
    assert np.allclose(directions.T @ directions, np.eye(directions.shape[1]), atol=1e-4)
    best = np.sort(np.linalg.svd(features, compute_uv=False) ** 2)[::-1]
    kept = float(((features @ directions) ** 2).sum())
    assert kept > 0.999 * best[: directions.shape[1]].sum()


def test_shares_are_those_of_the_decision(space, corpus):
    generator = np.random.RandomState(0)
    weights = generator.standard_normal(space.Z.shape[1]).astype(np.float32)
    for row in (0, 7, 40):
        shares = space.shares(row, weights)
        assert set(shares) == set(space.columns([corpus[0].texts[row]]))
        # without one word and with the lengths held, the decision changes by the word's share:
        # word_shares is tested for that; here, that weights of directions reach it
        assert shares == pytest.approx(
            {column: -share for column, share in space.shares(row, -weights).items()}
        )
        assert max(abs(share) for share in shares.values()) > 0


def test_documents_without_words(tmp_path):
    documents = Documents.of(["", " ", "…"])
    assert learn_space(documents.texts) is None
    session = Session(documents, LabelStore(tmp_path / "l.csv", documents), tmp_path / "m")
    session.start()
    wait(lambda: session.phase == "wordless")
    assert sorted(row for row, _ in session.next_rows("tab", 5)) == [0, 1, 2]
    session.label({0: "a", 1: "b"}, "random")
    session.close()


@pytest.mark.parametrize("odd", ["", "x" * 1001])
def test_identifiers_that_no_request_can_name_are_refused(odd):
    with pytest.raises(InvalidInputError, match="characters, expected 1 to"):
        Documents.of(["crude oil", "wheat"], ["a", odd])


def test_a_corpus_of_one_document(tmp_path):
    documents = Documents.of(["crude oil"])
    session = Session(documents, LabelStore(tmp_path / "l.csv", documents), tmp_path / "m")
    session.start()
    wait(lambda: session.phase != "learning")
    assert [row for row, _ in session.next_rows("tab", 5)] == [0]
    session.label({0: "oil"}, "random")
    assert session.next_rows("tab", 5) == []
    with pytest.raises(InvalidParameterError, match="two classes"):
        session.save_model()
    session.close()


# -- learning ---------------------------------------------------------------------------------


def test_one_class_teaches_nothing_two_do(space, corpus):
    topics = corpus[1]
    assert learn(space.Z, {0: "oil", 1: "oil"}) is None
    snapshot = learn(space.Z, {row: topics[row] for row in (0, 1, 4, 5)})
    predicted = np.asarray(snapshot.classes)[snapshot.best]
    assert (predicted == np.asarray(topics)).mean() > 0.8


def test_held_out_decisions_are_those_of_models_without_the_document(space, corpus):
    topics = corpus[1]
    rows = [0, 1, 2, 4, 5, 6, 9, 13]
    labels = {row: topics[row] for row in rows}
    snapshot = learn(space.Z, labels)
    names = np.array([labels[row] for row in rows])
    targets = np.where(names[:, None] == np.array(snapshot.classes), 1.0, -1.0)
    for place, row in enumerate(rows):
        others = [other for other in range(len(rows)) if other != place]
        ridge = Ridge(alpha=snapshot.alpha)  # with the strength that was chosen once, for all
        ridge.fit(space.Z[np.array(rows)[others]].astype(float), targets[others])
        decision = ridge.predict(space.Z[[row]].astype(float))[0]
        np.testing.assert_allclose(snapshot.held_out[place], decision, atol=1e-4)
    drawn = {row: topics[row] for row in rows}
    hits = snapshot.held_out.argmax(1) == snapshot.codes
    assert (held_out_hits(space.Z, snapshot, drawn) == hits).all()


def test_seed_words_predict_without_any_label(space, corpus):
    seeds = seed_vectors(space, {"oil": ["opec", "zzz"], "grain": ["wheat"], "gold": ["yyy"]})
    assert {name: len(words) for name, words in seeds.items()} == {"oil": 1, "grain": 1}
    snapshot = learn(space.Z, {}, Start(seeds))
    predicted = np.asarray(snapshot.classes)[snapshot.best]
    assert (predicted == np.asarray(corpus[1])).mean() > 0.8
    assert not snapshot.calibrated


def test_proposed_words_and_ranked_documents(space, corpus):
    words = [found.word for found in propose(space, ["opec"])]
    assert "oil" in words
    assert "opec" not in words
    assert "oil" not in [found.word for found in propose(space, ["opec"], rejected=["oil"])]
    assert unknown_words(space, ["opec", "zzz"]) == ["zzz"]
    rows = ranked_by(space, ["opec"], np.arange(len(corpus[0])), 10)
    assert {corpus[1][row] for row in rows} == {"oil"}
    assert propose(space, ["zzz"]) == []
    assert len(ranked_by(space, ["zzz"], np.arange(5), 3)) == 0


def test_progress_in_words(space, corpus):
    topics = corpus[1]
    labels = {row: topics[row] for row in range(0, 60)}
    snapshot = learn(space.Z, labels)
    progress = measure(space.Z, labels, labels, snapshot, Start(), CurveCache())
    assert [point.labels for point in progress.curve] == [10, 25, 50, 60]
    last = progress.curve[-1]
    assert last.low <= last.value <= last.high
    hits = snapshot.held_out.argmax(1) == snapshot.codes
    assert last.value == pytest.approx(hits.mean())
    assert sum(figures.labels for figures in progress.classes) == 60
    assert sum(figures.predicted for figures in progress.classes) == len(topics)
    assert "The last 25 labels changed" in progress.hint
    assert expected_gain(space.Z, labels, labels) == pytest.approx(progress.gain)
    assert expected_gain(space.Z, dict(list(labels.items())[:20]), labels) is None
    assert "worth going on" in stop_hint(100, 0.3, 0.05)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (0, ""),
        (1, "25 more labels until"),
        (24, "2 more labels until"),
        (25, "1 more label until"),
        (26, "before the last 25 are of one class"),
        (35, "before the last 25 are of one class"),
    ],
)
def test_why_there_is_no_hint_yet(labels, words):
    hint = stop_hint(labels, None, None)
    assert words in hint
    assert bool(hint) == bool(words)


def test_no_hint_while_the_labels_before_the_last_ones_are_of_one_class(space, corpus):
    oil = [row for row, topic in enumerate(corpus[1]) if topic == "oil"]
    labels = dict.fromkeys(oil[:34], "oil") | {4: "grain"}
    progress = measure(space.Z, labels, {}, learn(space.Z, labels), Start(), CurveCache())
    assert progress.changed is None
    assert "of one class" in progress.hint


def test_the_classifiers_of_earlier_curves_are_forgotten(space, corpus, monkeypatch):
    fitted = []

    def learned(Z, labels, start):
        fitted.append(len(labels))
        return learn_rows(Z, labels, start)

    monkeypatch.setattr("dcot.web.progress.learn_rows", learned)
    cache, start = CurveCache(), Start()
    for n in (40, 45, 60):
        labels = {row: corpus[1][row] for row in range(n)}
        curve = measure(space.Z, labels, labels, learn(space.Z, labels), start, cache).curve
        assert len(cache.learned) == len(curve)
    assert fitted == [10, 25, 40, 45, 50, 60]  # none twice


# -- what comes next --------------------------------------------------------------------------


def test_tabs_get_different_documents(running):
    first = [row for row, _ in running.next_rows("one", 8)]
    second = [row for row, _ in running.next_rows("two", 8)]
    assert len(set(first) | set(second)) == 16
    again = [row for row, _ in running.next_rows("one", 8)]
    assert set(again).isdisjoint(second)
    kept = running.next_rows("one", 8, keep=[again[0]])
    assert again[0] not in [row for row, _ in kept]


def test_the_last_documents_of_a_tab_that_was_closed_are_shown_again(running, corpus):
    rows = [row for row, _ in running.next_rows("a", 5)]
    running.label({row: "oil" for row in range(96) if row not in rows}, "random")
    wait(lambda: len(running.learned.plan) == 5)
    assert {row for row, _ in running.next_rows("b", 5)} == {*rows}
    assert len(running.next_rows("c", 3)) == 3
    assert running.next_rows("a", 5, keep=rows) == []  # it has some
    running.label(dict.fromkeys(rows, "oil"), "random")
    assert running.next_rows("b", 5) == []


def test_some_documents_are_drawn_at_random(running, corpus):
    label_all(running, corpus[1], [0, 4])
    wait(lambda: running.learned.snapshot)
    ways = [how for _, how in running.learned.plan]
    assert set(ways) == {"suggested", "random"}
    assert ways.count("random") >= len(ways) // (RANDOM_EVERY + 2)


def test_any_document_may_be_drawn_at_random(session, corpus, monkeypatch):
    label_all(session, corpus[1], [0, 4])
    session._refit()
    snapshot, among = session.learned.snapshot, session.unlabelled()

    def suggest(snapshot, Z, among, k, generator):  # always the first ones
        return among[:k]

    monkeypatch.setattr("dcot.web.session.choose_next", suggest)
    times = np.zeros(len(corpus[0]))
    for _ in range(600):
        plan = session._plan(session.space, snapshot, among)
        assert len({row for row, _ in plan}) == len(plan) == QUEUED_DOCUMENTS
        times[[row for row, how in plan if how == "random"]] += 1
    expected = times.sum() / len(among)
    assert expected > 40
    assert (np.abs(times[among] - expected) < 5 * np.sqrt(expected)).all()  # also the first ones


@pytest.mark.parametrize("left", [1, 2, 5, QUEUED_DOCUMENTS])
def test_some_of_the_last_documents_are_drawn_at_random_too(session, corpus, left):
    rows = range(len(corpus[0]) - left)
    label_all(session, corpus[1], rows)
    session._refit()
    plan = session.learned.plan
    assert sorted(row for row, _ in plan) == list(range(len(rows), len(corpus[0])))
    drawn = [how for _, how in plan].count("random")
    assert abs(RANDOM_EVERY * drawn - left) < RANDOM_EVERY


def test_one_in_a_few_is_drawn_at_random_if_there_is_a_refit_after_every_label(session, corpus):
    label_all(session, corpus[1], [0, 4])
    ways = []
    for _ in range(5 * RANDOM_EVERY):
        session._refit()
        ((row, how),) = session.next_rows("tab", 1)
        session.label({row: corpus[1][row]}, how)
        ways.append(how)
    assert ways.count("random") == 5
    assert set(ways) == {"random", "suggested"}


def test_documents_beside_a_plan_do_not_measure_the_accuracy(session, corpus):
    before = session.next_rows("tab", 100)
    assert {how for _, how in before} == {"random"}
    label_all(session, corpus[1], [0, 4])
    session._refit()
    shown = session.next_rows("tab", 100)
    assert {how for _, how in shown[QUEUED_DOCUMENTS:]} == {"other"}


def test_a_first_batch_is_spread_out(running, corpus):
    topics = [corpus[1][row] for row, how in running.learned.plan[:6] if how == "first"]
    assert set(topics) == {"oil", "grain"}


def test_labels_lead_to_a_refit_and_are_not_shown_again(running, corpus):
    for _ in range(6):
        for row, how in running.next_rows("tab", 3):
            running.label({row: corpus[1][row]}, how, {row: None})
    wait(lambda: running.learned.snapshot is not None)
    wait(lambda: running.learned.revision == running._revision)
    assert len(running.labels) == 18
    shown = [row for row, _ in running.next_rows("tab", 100)]
    assert set(shown).isdisjoint(running.labels)
    assert len(shown) == len(corpus[0]) - 18


@pytest.mark.parametrize("error", [ConnectionError("no network"), InvalidInputError("no vector")])
def test_a_refit_that_fails_is_told_and_tried_again_after_a_change(
    running, corpus, monkeypatch, error
):
    tried = []

    def fail(*arguments):
        tried.append(running._revision)
        raise error

    wait(lambda: running.learned.revision == running._revision)
    monkeypatch.setattr("dcot.web.session.seed_vectors", fail)  # as an encoder of the words would
    running.set_seeds("oil", ["opec"])
    wait(lambda: running.saving.state == "failed")
    assert running.saving.message == f"The model could not be refitted: {error}"
    time.sleep(0.1)
    assert tried == [running._revision]
    running.set_seeds("oil", ["opec", "crude"])
    wait(lambda: len(tried) == 2)
    monkeypatch.undo()
    running.set_seeds("grain", ["wheat"])
    assert wait(lambda: running.learned.snapshot).classes == ("grain", "oil")
    wait(lambda: running.saving.state == "none")


def test_look_alikes_are_unlabelled_and_of_the_class(session, corpus):
    topics = corpus[1]
    label_all(session, topics, [0, 1, 4, 5])
    session._refit()
    name, rows = session.alike(0, 10)
    assert name == "oil"
    assert set(rows).isdisjoint(session.labels)
    assert np.mean([topics[row] == "oil" for row in rows]) > 0.8


# -- classes ----------------------------------------------------------------------------------


def test_classes_are_renamed_merged_and_removed(session, corpus):
    label_all(session, corpus[1], [0, 1, 4])
    session.set_seeds("oil", ["opec"])
    with pytest.raises(InvalidParameterError, match="already"):
        session.rename_class("oil", "grain", merge=False)
    assert session.rename_class("oil", "energy", merge=False) == 2
    assert session.counts() == {"grain": 1, "energy": 2}
    assert dict(session.seeds) == {"energy": ("opec",)}
    assert session.rename_class("energy", "grain", merge=True) == 2
    assert session.counts() == {"grain": 3}
    session.add_class("empty")
    session.remove_class("empty")
    with pytest.raises(InvalidParameterError, match="has labels"):
        session.remove_class("grain")
    with pytest.raises(InvalidParameterError, match="no class"):
        session.rename_class("nothing", "x", merge=False)


def edit(session, row, name):
    """Label a document as another program would, at the end of the file."""
    entry = Entry(session.documents.ids[row], name, text=session.documents.texts[row])
    with session.store.path.open("a") as file:
        file.write(row_of(entry, session.store.kind))


def test_classes_that_another_program_has_labelled(session, corpus):
    label_all(session, corpus[1], [0, 4])
    edit(session, 1, "gold")
    before = session._revision
    assert session.rename_class("oil", "energy", merge=False) == 1
    assert session.classes == ("grain", "energy", "gold")
    assert session.counts() == {"grain": 1, "energy": 1, "gold": 1}
    assert session._revision > before
    edit(session, 2, "silver")
    with pytest.raises(InvalidParameterError, match="already a class 'silver'"):
        session.rename_class("gold", "silver", merge=False)
    session.add_class("copper")
    edit(session, 3, "copper")
    with pytest.raises(InvalidParameterError, match="has labels"):
        session.remove_class("copper")
    assert session.counts()["copper"] == 1
    edit(session, 5, "tin")
    assert session.rename_class("tin", "lead", merge=False) == 1


def test_a_full_disk_changes_no_classes_and_loses_no_label(session, monkeypatch):
    def full(*arguments):
        raise OutputError("the disk is full")

    monkeypatch.setattr("dcot.web.session.write_atomically", full)
    with pytest.raises(OutputError):
        session.set_seeds("oil", ["opec"])
    with pytest.raises(OutputError):
        session.add_class("oil")
    assert (session.classes, dict(session.seeds)) == ((), {})
    session.label({0: "oil"}, "random")  # the labels are in another file, which could be written
    assert (session.classes, session.labels) == (("oil",), {0: "oil"})


@pytest.mark.parametrize("name", ["", " ", " a", "a" * 201, "a\nb", "a\x00", "a\u2028b", "\ud800"])
def test_names_of_classes(session, name):
    with pytest.raises(InvalidParameterError):
        session.add_class(name)


@pytest.mark.parametrize("name", ["کتاب\u200cها", "vin\u00a0rouge", "👩\u200d🌾"])
def test_names_of_classes_with_joiners_and_fixed_blanks(session, corpus, space, name):
    session.label({0: name}, "random")
    session.store.close()
    store = LabelStore(session.store.path, corpus[0])
    again = Session(corpus[0], store, session.model_path, space=space)
    assert (again.classes, again.labels) == ((name,), {0: name})
    again.close()


def test_two_hundred_classes(session):
    names = [f"class {number}" for number in range(200)]
    session.label({row: names[row] for row in range(96)}, "random")
    for name in names:
        session.add_class(name)
    session._refit()
    assert len(session.classes) == 200
    assert len(session.learned.snapshot.classes) == 96


def test_what_the_labels_do_not_hold_is_there_again(session, corpus, space):
    session.add_class("later")
    session.set_seeds("oil", ["opec", "crude", "opec"])
    label_all(session, corpus[1], [4])
    path = session.store.path
    session.close()
    again = Session(corpus[0], LabelStore(path, corpus[0]), path.parent / "m", space=space)
    assert again.classes == ("later", "oil", "grain")
    assert dict(again.seeds) == {"oil": ("opec", "crude")}
    again.close()
    path.with_name(f"{path.name}.session.json").write_text('{"classes": 3}')
    once_more = Session(corpus[0], LabelStore(path, corpus[0]), path.parent / "m", space=space)
    assert once_more.classes == ("grain",)
    once_more.close()


def test_a_model_is_saved(running, corpus):
    label_all(running, corpus[1], range(24))
    running.save_model()
    wait(lambda: running.saving.state != "running", 60)
    assert running.saving.state == "done", running.saving
    model = dcot.load(running.model_path)
    assert model.predict(["opec oil", "wheat harvest"]).tolist() == ["oil", "grain"]


def test_a_saved_model_has_learned_from_the_seed_words(running, corpus):
    oil = [row for row, topic in enumerate(corpus[1]) if topic == "oil"][:10]
    running.label(dict.fromkeys(oil, "oil"), "random")
    running.set_seeds("grain", ["wheat", "zzz"])
    wait(lambda: running.phase == "ready")
    running.save_model()
    wait(lambda: running.saving.state != "running", 60)
    assert running.saving.state == "done", running.saving
    model = dcot.load(running.model_path)
    assert model.predict(["opec oil", "wheat harvest"]).tolist() == ["oil", "grain"]
    assert model.n_labelled_ == 10


def test_saving_that_fails_says_why(running, corpus):
    label_all(running, corpus[1], range(24))
    running.model_path = running.store.path  # a file
    running.save_model()
    wait(lambda: running.saving.state != "running", 60)
    assert running.saving.state == "failed"
    assert str(running.store.path) in running.saving.message


def test_shares_of_terms_are_those_of_the_explanation(space):
    from dcot.classifier.explanation import term_shares, word_shares

    fitted = space.vectorizer.dcot_._fitted()
    weights = np.random.RandomState(1).standard_normal(fitted.n_features)
    for row in (0, 5, 33):
        X = space.X[[row]]
        known = np.ones(len(space.terms), dtype=bool)
        _, words = word_shares(X, fitted, weights, space.terms, known)
        whole = {word.word: word.share for word in words}
        alone = dict(zip(space.terms[X.indices], term_shares(X, fitted, weights), strict=True))
        assert alone == pytest.approx(whole, rel=1e-4, abs=1e-6)


def test_closing_does_not_wait_for_a_long_refit(corpus, space, tmp_path, monkeypatch):
    store = LabelStore(tmp_path / "labels.csv", corpus[0])
    session = Session(corpus[0], store, tmp_path / "model", space=space)
    busy, release = threading.Event(), threading.Event()
    monkeypatch.setattr(session, "_refit", lambda: (busy.set(), release.wait(20)))
    session.start()
    session.label(dict.fromkeys(range(5), "news"), "random")
    assert busy.wait(20)
    session.close()
    assert session._thread.is_alive()
    release.set()
    session._thread.join()
