"""Exploring: what the API answers about words, texts, documents, the map and the model."""

from __future__ import annotations

import pytest
from tests.unit.web.conftest import Client, texts_and_topics
from tests.unit.web.test_api import ask

import dcot
from dcot import DCoT, DCoTClassifier, DCoTVectorizer, SearchIndex
from dcot.errors import InvalidInputError, InvalidTypeError
from dcot.web.documents import Documents
from dcot.web.explore.explorer import Explorer
from dcot.web.explore.reading import Query
from dcot.web.explore.report import confusion_of
from dcot.web.explore.run import explore_app
from dcot.web.explore.subject import Corpus, Subject, learn_subject, subject_of
from dcot.web.security import Access


@pytest.fixture(scope="module")
def corpus():
    texts, topics = texts_and_topics()
    metadata = [
        {"day": f"2024-01-{1 + place // 8:02d}", "place": "ab"[place % 2], "size": len(text)}
        for place, text in enumerate(texts)
    ]
    return Corpus(Documents.of(texts, name="news"), topics, metadata)


@pytest.fixture(scope="module")
def explorer(corpus):
    found = Explorer(learn_subject(corpus))
    found.prepare()
    return found


@pytest.fixture(scope="module")
def words_only(corpus):
    """A model without documents or classes."""
    model = DCoTVectorizer(n_layers=1).fit(corpus.documents.texts)
    found = Explorer(subject_of(model, "model"))
    found.prepare()
    return found


@pytest.fixture
def client_for():
    made = []

    def make(explorer):
        access = Access(port=8765)
        headers = {"authorization": f"Bearer {access.token}"}
        made.append(Client(explore_app(explorer, access), access, headers))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def client(explorer, client_for):
    return client_for(explorer)


def get(client, path, **params):
    answer = client.get(f"/api{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def post(client, path, **body):
    return client.post(f"/api{path}", json=body)


# -- writing and words ------------------------------------------------------------------------


def test_writing_shows_what_the_model_explains(client, explorer):
    text = "OPEC and wheat, and zzz"
    found = post(client, "/write", text=text).json()
    meaning = explorer.reader.explain(text, 10)
    for layer, part in zip(found["layers"], meaning.layers, strict=True):
        assert [one["word"] for one in layer["prototypes"]] == [name for name, _ in part.top()]
        first = layer["prototypes"][0]
        assert sum(share for _, share in first["from"]) == pytest.approx(first["value"], rel=1e-2)
    assert "".join(piece for piece, _ in found["pieces"]) == text
    model = explorer.subject.classifier
    assert found["classes"][0]["name"] == model.predict([text])[0]
    assert found["classes"][0]["probability"] == pytest.approx(
        model.predict_proba([text]).max(), abs=1e-3
    )


def test_a_prototype_shades_the_text_by_its_own_words(client):
    focus = {"layer": 1, "prototype": "wheat"}
    found = post(client, "/write", text="opec and wheat", focus=focus).json()
    assert found["shaded_by"] == "wheat in layer 1"
    shares = dict(found["pieces"])
    assert shares["wheat"] > 0.9 > 0.5 > abs(shares.get("opec", 0.0))


def test_a_word_has_prototypes_neighbours_frequency_and_cohort(client, explorer, corpus):
    found = get(client, "/word", word="Opec", n=5)
    model = explorer.subject.vectorizer
    near = model.similar_terms("opec", 5).terms
    assert found["word"] == "opec"
    assert found["documents"] == sum("opec" in text for text in corpus.documents.texts)
    assert [one["word"] for one in found["neighbours"]] == list(near)
    assert [one["word"] for one in found["cohort"]] == list(model.cohort("opec", 5).terms)
    assert get(client, "/words", start="op")["words"] == ["opec"]
    assert get(client, "/words", start="zz")["words"] == []
    assert set(get(client, "/words", n=2)["words"]) == {"on", "day"}  # in every document


def test_unknown_words_are_answered_with_near_spellings(client):
    answer = client.get("/api/word", params={"word": "opek"})
    assert answer.status_code == 404
    assert answer.json()["near"] == ["opec"]


def test_a_model_alone_has_words(words_only, client_for):
    client = client_for(words_only)
    about = get(client, "/about")
    assert (about["documents"], about["classes"], about["phase"]) == (0, [], "ready")
    assert get(client, "/word", word="opec")["documents"] is None
    found = post(client, "/write", text="opec").json()
    assert found["classes"] == []
    assert found["shaded_by"] == "the whole"
    assert post(client, "/write", text="").json()["known"] == 0


def test_what_cannot_be_explored(corpus):
    with pytest.raises(InvalidTypeError, match="DCoTVectorizer"):
        subject_of(DCoT(), "it")
    with pytest.raises(InvalidInputError, match="store_texts"):
        subject_of(SearchIndex().add(corpus.documents.texts), "it")
    index = SearchIndex(store_texts=True).add(corpus.documents.texts)
    with pytest.raises(InvalidInputError, match="documents of its own"):
        subject_of(index, "it", corpus)
    with pytest.raises(InvalidInputError, match="no words"):
        learn_subject(Corpus(Documents.of(["", " "], name="it")))


# -- documents and the model ------------------------------------------------------------------


def test_hits_are_those_of_the_index_with_shares_that_add_up(client, explorer, corpus):
    found = get(client, "/search", q="opec output", n=5)
    hits = explorer.index.search("opec output", 5)
    assert [one["row"] for one in found["documents"]] == hits.ids
    for one, hit in zip(found["documents"], hits, strict=True):
        assert one["similarity"] == pytest.approx(hit.similarity, abs=1e-3)
        text = corpus.documents.texts[one["row"]]
        assert "".join(piece for piece, _ in one["pieces"]) == text
        for reason in one["reasons"]:
            assert reason["word"] in text
            assert (reason["like"] is None) == (reason["word"] in ("opec", "output"))
    query = Query.of_text(explorer, "opec output")
    other = Query.of_text(explorer, corpus.documents.texts[hits.ids[0]])
    row = explorer.space.X[[hits.ids[0]]]
    together = float(query.values @ other.values) + float(
        (explorer.reader.read(["opec output"]) @ row.T).sum()
    )
    assert query.shares(row)[1].sum() == pytest.approx(together)


def test_without_a_query_all_documents_are_listed(client, corpus):
    found = get(client, "/search", n=10, start=90)
    assert [one["row"] for one in found["documents"]] == list(range(90, 96))
    assert found["total"] == len(corpus) == 96
    assert get(client, "/search", q="zzz")["known"] is False


def test_a_document_is_read_with_its_class_metadata_and_neighbours(client, explorer, corpus):
    found = get(client, "/document", id="3", n=4)
    assert "".join(piece for piece, _ in found["pieces"]) == corpus.documents.texts[3]
    assert found["label"] == found["classes"][0]["name"] == "oil"
    assert ["place", "b"] in found["metadata"]
    assert [one["row"] for one in found["neighbours"]] == explorer.index.similar(3, 4).ids
    assert get(client, "/document", row=3, q="crude")["shaded_by"].startswith("the similarity")
    assert client.get("/api/document", params={"id": "x"}).status_code == 404
    assert client.get("/api/document", params={"row": 96}).status_code == 404
    assert client.get("/api/document").status_code == 404


def test_the_model_and_what_it_confuses(client, explorer, corpus):
    found = get(client, "/model")
    estimate = explorer.subject.classifier.estimate_
    assert found["estimate"]["scores"][0]["accuracy"] == estimate.dcot.accuracy
    assert sum(row["chosen"] for row in found["selection"]) == 1
    assert found["card"].startswith("# A DCoTClassifier model")
    classes, counts = found["confusion"]["classes"], found["confusion"]["counts"]
    for i, given in enumerate(classes):
        for j, predicted in enumerate(classes):
            cell = get(client, "/cell", given=given, predicted=predicted)
            assert cell["total"] == counts[i][j]
            assert {one["label"] for one in cell["documents"]} <= {given}
    assert get(client, "/cell", given="x", predicted="oil")["total"] == 0


def test_a_loaded_classifier_is_judged_on_documents_it_did_not_see(corpus, tmp_path):
    model = DCoTClassifier().fit(corpus.documents.texts, corpus.labels)
    model.save(tmp_path / "model")
    found = confusion_of(subject_of(dcot.load(tmp_path / "model"), "model", corpus))
    again = confusion_of(Subject("x", model.vectorizer_, model, corpus, learned_here=True))
    assert found.rows.tolist() == again.rows.tolist()
    assert found.counts.sum() == len(found.rows)


def test_an_index_is_explored_with_its_own_documents(corpus, client_for):
    ids = [f"d{row}" for row in range(len(corpus))]
    index = SearchIndex(store_texts=True).add(corpus.documents.texts, ids, corpus.metadata)
    index.remove("d0")
    found = Explorer(subject_of(index, "index"))
    found.prepare()
    client = client_for(found)
    assert get(client, "/about")["documents"] == 95
    hits = get(client, "/search", q="opec", n=3)["documents"]
    assert [one["id"] for one in hits] == index.search("opec", 3).ids
    assert get(client, "/document", id="d1")["row"] == 0
    assert get(client, "/model")["facts"][0][0] == "documents in the index"


def test_documents_that_are_not_there_yet(words_only, explorer, client_for):
    assert client_for(words_only).get("/api/search").status_code == 409
    early = Explorer(explorer.subject)
    answer = client_for(early).get("/api/search", params={"q": "oil"})
    assert (answer.status_code, answer.json()["error"]) == (
        409,
        "the documents are still being read",
    )
    assert get(client_for(early), "/model")["confusion"] is None


# -- generated requests -----------------------------------------------------------------------


def test_generated_requests_never_break_the_server(client):
    schemathesis = pytest.importorskip("schemathesis")
    schema = schemathesis.openapi.from_dict(client.get("/api/schema").json())
    operations = [result.ok() for result in schema.get_all_operations()]
    assert len(operations) >= 8
    for operation in operations:
        ask(client, operation)
