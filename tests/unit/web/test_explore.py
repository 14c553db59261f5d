"""Exploring: what the API answers about words, texts, documents, the map and the model."""

from __future__ import annotations

import base64
import csv
import io
import re

import numpy as np
import pytest
import scipy.sparse as sp
from tests.unit.web.conftest import Client, texts_and_topics
from tests.unit.web.test_api import ask

import dcot
from dcot import DCoT, DCoTClassifier, DCoTVectorizer, SearchIndex
from dcot.errors import InvalidInputError, InvalidTypeError
from dcot.web.documents import Documents
from dcot.web.explore.api import explore_app
from dcot.web.explore.atlas import _having, columns_of, draw_atlas
from dcot.web.explore.explorer import Explorer
from dcot.web.explore.export import export_page
from dcot.web.explore.projection import MAX_REFINED, nearest, principal, project
from dcot.web.explore.reading import Query
from dcot.web.explore.report import confusion_of
from dcot.web.explore.subject import Corpus, Subject, learn_subject, subject_of
from dcot.web.labels import LabelStore
from dcot.web.security import Access
from dcot.web.shading import shaded


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
    row = explorer.X[[hits.ids[0]]]
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


def test_a_document_is_decided_once(client, explorer, monkeypatch):
    """A decision about a long document takes long."""
    asked, real = [], explorer.decision
    monkeypatch.setattr(explorer, "decision", lambda text: asked.append(text) or real(text))
    assert client.get("/api/document?row=3").status_code == 200
    assert len(asked) == 1


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


def test_documents_of_an_index_with_long_names_are_numbered(corpus):
    ids = ["x" * 1001, *map(str, range(1, len(corpus)))]
    index = SearchIndex(store_texts=True).add(corpus.documents.texts, ids)
    assert subject_of(index, "index").corpus.documents.ids[:2] == ["0", "1"]


def test_documents_that_are_not_there_yet(words_only, explorer, client_for):
    assert client_for(words_only).get("/api/search").status_code == 409
    early = Explorer(explorer.subject)
    answer = client_for(early).get("/api/search", params={"q": "oil"})
    assert (answer.status_code, answer.json()["error"]) == (
        409,
        "the documents are still being read",
    )
    assert get(client_for(early), "/model")["confusion"] is None
    assert get(client_for(early), "/search")["total"] == len(explorer.corpus)  # they can be listed
    assert get(client_for(early), "/preview", row=0)["id"] == "0"


# -- the map ----------------------------------------------------------------------------------


def mask_of(rows, n):
    bits = np.zeros(n, dtype=np.uint8)
    bits[list(rows)] = 1
    return base64.b64encode(np.packbits(bits, bitorder="little").tobytes()).decode()


def test_the_map_has_points_regions_and_columns(client, explorer, corpus):
    found = get(client, "/map")
    assert (found["n"], found["total"], found["rows"]) == (96, 96, None)
    x = np.frombuffer(base64.b64decode(found["x"]), dtype="<u2") / 65535
    assert x == pytest.approx(explorer.atlas.points[:, 0], abs=1e-4)
    kinds = {column["name"]: column["kind"] for column in found["columns"]}
    assert kinds == {
        "predicted": "category",
        "label": "category",
        "day": "date",
        "place": "category",
        "size": "number",
    }
    labels = next(column for column in found["columns"] if column["name"] == "label")
    codes = np.frombuffer(base64.b64decode(labels["codes"]), dtype="<u2")
    assert [labels["values"][code] for code in codes] == list(corpus.labels)
    words = {word for region in found["regions"] for word in region["words"]}
    assert words & {"wheat", "oil", "opec", "crude", "corn", "harvest"}
    lit = get(client, "/lit", q="opec")["rows"]
    assert lit
    assert all("opec" in corpus.documents.texts[row] for row in lit)


def test_words_that_set_a_region_apart(client, corpus):
    texts = corpus.documents.texts
    rows = [row for row, text in enumerate(texts) if "harvest" in text]
    found = post(client, "/region", mask=mask_of(rows, 96)).json()
    assert found["count"] == len(rows)
    first = found["words"][0]
    assert (first["word"], first["inside"], first["outside"]) == ("harvest", 1.0, 0.0)
    table = post(client, "/region/csv", mask=mask_of(rows, 96)).text
    read = list(csv.DictReader(io.StringIO(table)))
    assert [row["text"] for row in read] == [texts[row] for row in rows]
    assert read[0]["place"] in "ab"
    assert post(client, "/region", mask="?").status_code == 422
    assert post(client, "/region", mask="").json() == {"count": 0, "words": [], "documents": []}


def test_a_region_is_given_a_label_that_others_read(corpus, explorer, client_for, tmp_path):
    path = tmp_path / "labels.csv"
    found = Explorer(explorer.subject, labels=path)
    found.index, found.atlas, found.X = explorer.index, explorer.atlas, explorer.X
    client = client_for(found)
    assert not path.exists()
    done = post(client, "/region/label", mask=mask_of([1, 2], 96), name="energy").json()
    assert done == {"labelled": 2, "kept": 0, "file": "labels.csv"}
    done = post(client, "/region/label", mask=mask_of([2, 3], 96), name="other").json()
    assert (done["labelled"], done["kept"]) == (1, 1)
    assert post(client, "/region/label", mask="", name=" x").status_code == 400
    found.close()
    store = LabelStore(path, corpus.documents)
    assert {row: label.name for row, label in store.labels.items()} == {
        1: "energy",
        2: "energy",
        3: "other",
    }
    store.close()
    without = Explorer(explorer.subject)
    without.index, without.atlas = explorer.index, explorer.atlas
    answer = post(client_for(without), "/region/label", mask="", name="x")
    assert answer.status_code == 400


def test_the_map_of_words(words_only, client_for):
    found = get(client_for(words_only), "/map/words")
    assert "opec" in found["words"]
    assert len(base64.b64decode(found["x"])) == 2 * len(found["words"])
    assert client_for(words_only).get("/api/map").status_code == 409


def clusters(n=600, width=40, seed=0):
    generator = np.random.RandomState(seed)
    centres = generator.normal(size=(6, width)) * 2
    return centres[np.arange(n) % 6] + generator.normal(size=(n, width))


def kept(vectors, points, k=10):
    """How many of the nearest vectors are among the nearest points."""
    from sklearn.neighbors import NearestNeighbors

    near = [
        NearestNeighbors(n_neighbors=k, metric=metric).fit(a).kneighbors(return_distance=False)
        for a, metric in ((vectors, "cosine"), (points, "euclidean"))
    ]
    return np.mean([len({*a} & {*b}) / k for a, b in zip(*near, strict=True)])


def test_the_projection_keeps_neighbours_and_is_the_same_every_time():
    vectors = clusters()
    points = project(vectors)
    assert np.array_equal(points, project(vectors))
    assert ((points >= 0) & (points <= 1)).all()
    assert kept(vectors, points) > 1.4 * kept(vectors, principal(vectors)[:, :2])
    sampled = project(vectors, refined=200)
    middle = np.array([sampled[np.arange(600) % 6 == k].mean(axis=0) for k in range(6)])
    own = ((sampled[:, None] - middle) ** 2).sum(axis=2).argmin(axis=1)
    assert (own == np.arange(600) % 6).mean() > 0.95


@pytest.mark.parametrize("n", [1, 2, 3, 4, 17])
def test_the_projection_of_few_or_equal_vectors(n):
    assert np.isfinite(project(np.ones((n, 5)))).all()
    assert project(np.eye(n, 7)).shape == (n, 2)
    assert np.isfinite(project(np.zeros((n, 5)))).all()


def test_odd_columns():
    metadata = [
        {"when": "1987", "n": "1.5", "same": 1, "id": f"x{k}", "gone": None, "<b>": "a" * 300}
        for k in range(50)
    ]
    metadata[3] = None
    metadata[4] = {"when": "1999-12", "n": "nan", "same": 1, "id": "", "more": [1]}
    metadata[5] = metadata[5] | {"when": "2001-02-03", "n": 2.5}
    metadata[6] = metadata[6] | {"n": -3}
    found = {column["name"]: column for column in columns_of({}, metadata)}
    assert {name: column["kind"] for name, column in found.items()} == {
        "when": "date",
        "n": "number",
        "same": "category",
        "<b>": "category",
        "more": "category",
    }
    assert (found["n"]["low"], found["n"]["high"]) == (-3.0, 2.5)
    assert len(found["<b>"]["values"][0]) == 200


def test_one_document_and_one_class(client_for):
    for texts, labels in ((["crude oil"], ["a"]), (["crude oil", "", "wheat oil"], ["a"] * 3)):
        found = Explorer(learn_subject(Corpus(Documents.of(texts, name="few"), labels)))
        found.prepare()
        client = client_for(found)
        assert get(client, "/map")["n"] == len(texts)
        assert get(client, "/document", row=0)["neighbours"] is not None
        assert get(client, "/model")["confusion"] is None


def test_odd_documents_and_many_classes(client_for):
    odd = ["", "😀 " * 50, "שלום עולם מה שלומך", "word " * 200_000, "a\x00b\u202egnp.exe", " \n\t "]
    texts = odd + [f"term{row % 200} other{row % 200} common" for row in range(400)]
    labels = [None] * len(odd) + [f"class {row % 200}" for row in range(400)]
    found = Explorer(learn_subject(Corpus(Documents.of(texts, name="odd"), labels)))
    found.prepare()
    client = client_for(found)
    for row in range(len(odd)):
        one = get(client, "/document", row=row)
        assert "".join(piece for piece, _ in one["pieces"]) == texts[row][:20_000]
    assert len(get(client, "/model")["confusion"]["classes"]) == 200
    page = export_page(found)
    assert len(page.html) < 3_000_000
    assert "iframe" in page._repr_html_()


# -- generated requests -----------------------------------------------------------------------


def test_generated_requests_never_break_the_server(client):
    schemathesis = pytest.importorskip("schemathesis", minversion="4")
    schema = schemathesis.openapi.from_dict(client.get("/api/schema").json())
    operations = [result.ok() for result in schema.get_all_operations()]
    assert len(operations) >= 15
    for operation in operations:
        ask(client, operation)


def test_the_largest_are_found_and_the_first_of_equal_ones():
    values = np.random.default_rng(0).random((20, 50)).astype(np.float32)
    values[3] = 0.5
    units = np.eye(50, dtype=np.float32)
    found = nearest(values, units, 7)
    expected = np.sort(np.argsort(-values, axis=1, kind="stable")[:, :7], axis=1)
    assert np.array_equal(found, expected)
    assert np.array_equal(nearest(values, units, 50), np.tile(np.arange(50), (20, 1)))


def test_a_first_map_comes_before_the_better_one(corpus, monkeypatch):
    monkeypatch.setattr("dcot.web.explore.explorer.DRAFT_DOCUMENTS", 30)
    explorer = Explorer(learn_subject(corpus))
    seen = []

    def drawn(*arguments):
        seen.append((explorer.phase, arguments[-1]))
        return draw_atlas(*arguments)

    monkeypatch.setattr("dcot.web.explore.explorer.draw_atlas", drawn)
    explorer.start()
    explorer.wait()
    assert seen == [("drawing", 30), ("refining", MAX_REFINED)]
    assert explorer.phase == "ready"
    assert len(explorer.atlas.points) == len(corpus)


def test_documents_of_each_part_that_have_a_term():
    X = sp.random_array((40, 9), density=0.3, format="csr", random_state=0)
    rows = np.arange(1, 40, 2)
    fine = np.random.default_rng(1).integers(0, 4, len(rows))
    dense = X.toarray() != 0
    expected = [[sum(dense[rows[fine == part], term]) for term in range(9)] for part in range(4)]
    assert _having(X, rows, fine, 4).tolist() == expected


def test_texts_shaded_together_are_shaded_as_alone(explorer, corpus):
    counter = explorer.subject.vectorizer.counter_
    texts = [*corpus.documents.texts[:5], "", "Nothing-known, zzz!", "Oil! OIL, x_y wheat"]
    generator = np.random.default_rng(0)
    shares = [dict(enumerate(generator.normal(size=len(explorer.terms)))) for _ in texts]
    parts = [*zip(texts, shares, strict=True), (texts[0], {})]
    together = shaded(counter, parts)
    assert together == [shaded(counter, [part])[0] for part in parts]
    assert shaded(counter, []) == []
    for (text, own), pieces in zip(parts, together, strict=True):
        assert "".join(piece for piece, _ in pieces) == text
        found = {word: _share(explorer, word, own) for word in re.findall(r"\w+", text)}
        largest = max(map(abs, found.values()), default=0.0) or 1.0
        assert [share for piece, share in pieces if piece in found] == [
            round(found[piece] / largest, 2) for piece, _ in pieces if piece in found
        ]


def _share(explorer, word, shares):
    terms = set(explorer.subject.vectorizer.counter_.analyze(word)) & set(explorer.terms)
    return sum(shares.get(explorer.terms.index(term), 0.0) for term in terms)
