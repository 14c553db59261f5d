"""What cannot be searched, added or removed: a clear error or a documented answer."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dcot import DCoTClassifier, DcotError, DCoTVectorizer, SearchIndex
from dcot.errors import InvalidInputError, InvalidTypeError, NotAvailableError

TEXTS = ["crude oil prices", "opec oil output", "wheat harvest", "wheat and corn prices"]


@pytest.fixture
def index():
    return SearchIndex().add(TEXTS, ids=list("abcd"))


@pytest.fixture
def rows():
    return SearchIndex().add(np.eye(3))


def unchanged(index):
    assert index.ids == list("abcd")
    assert index.search("opec", k=1).ids == ["b"]
    assert index.add(["gold"]).search("gold", k=1).ids == [0]


@pytest.mark.parametrize("hybrid", [True, False, 0, 0.3])
@pytest.mark.parametrize("query", ["zeppelin", "", "  ", "!?"])
def test_no_known_word_finds_nothing(index, query, hybrid):
    hits = index.search(query, hybrid=hybrid)
    assert len(hits) == 0
    assert not hits.known
    assert "no word of the query is known" in str(hits)
    assert "no word" in hits._repr_html_()
    assert hits.to_frame().height == 0
    both = index.search([query, "oil"], hybrid=hybrid)
    assert [hits.known for hits in both] == [False, True]
    assert len(both[1]) > 0


def test_more_than_there_are(index):
    assert sorted(index.search("oil", k=1000).ids) == list("abcd")
    assert index.search("oil", k=1000, hybrid=0).ids == ["a", "b"]  # the others have no such word


def test_an_empty_index():
    assert SearchIndex().search("oil").ids == []
    assert SearchIndex().search([0.0, 1.0]).ids == []
    assert [hits.ids for hits in SearchIndex().search(["oil", "gold"])] == [[], []]
    assert len(SearchIndex()) == 0
    assert "a" not in SearchIndex()
    assert len(SearchIndex().add([])) == 0
    model = DCoTVectorizer(n_prototypes=2).fit(TEXTS)
    assert SearchIndex(model).search("oil").ids == []
    assert SearchIndex(model).add([]).add(TEXTS).search("opec", k=1).ids == [1]


def test_no_queries(index, rows):
    assert len(index.search([])) == 0
    assert len(rows.search(np.zeros((0, 3)))) == 0


@pytest.mark.parametrize("k", [0, -1, 1.5, "3", None, True])
def test_k(index, k):
    with pytest.raises(DcotError, match="k must be a positive integer"):
        index.search("oil", k=k)


def test_ids_twice(index):
    with pytest.raises(InvalidInputError, match=r"'b' is already.*Nothing was added"):
        index.add(["gold", "silver"], ids=["e", "b"])
    with pytest.raises(InvalidInputError, match="'e' is given twice"):
        index.add(["gold", "silver"], ids=["e", "e"])
    with pytest.raises(InvalidInputError, match="1 ids for 2 documents"):
        index.add(["gold", "silver"], ids=["e"])
    unchanged(index)


@pytest.mark.parametrize("name", [None, 1.5, b"a", True, ("a",)])
def test_ids_that_are_none(index, name):
    with pytest.raises(InvalidTypeError, match="ids must be strings or integers"):
        index.add(["gold"], ids=[name])
    with pytest.raises(InvalidTypeError, match="ids must be strings or integers"):
        index.remove([name])
    unchanged(index)


@pytest.mark.parametrize("ids", [{"e", "f"}, frozenset({"e", "f"})])
def test_ids_without_an_order(index, ids):
    with pytest.raises(InvalidTypeError, match="in the order of the documents"):
        index.add(["gold", "silver"], ids=ids)
    unchanged(index)


@pytest.mark.parametrize("metadata", [5, "ab", {"a": 1}])
def test_metadata_that_is_no_list(index, metadata):
    with pytest.raises(InvalidInputError, match="metadata must be a list"):
        index.add(["gold", "silver"], metadata=metadata)
    unchanged(index)


def test_unknown_ids(index):
    for bad in (["a", "x"], "x", 0):
        with pytest.raises(InvalidInputError, match="no document with the id"):
            index.remove(bad)
    with pytest.raises(InvalidInputError, match="no document with the id 'x'"):
        index.search("oil", where=["a", "x"])
    with pytest.raises(InvalidInputError, match="no document with the id 'x'"):
        index.similar("x")
    unchanged(index)


def test_metadata(index):
    with pytest.raises(InvalidInputError, match="metadata must be a list"):
        index.add(["gold"], metadata={"n": 1})
    with pytest.raises(InvalidInputError, match="2 entries"):
        index.add(["gold"], metadata=[{}, {}])
    with pytest.raises(InvalidTypeError, match=r"metadata\[0\] must be a dict"):
        index.add(["gold"], metadata=["topic"])
    for value in (float("nan"), object(), {1, 2}):
        with pytest.raises(InvalidTypeError, match=r"metadata\[0\] cannot be written as JSON"):
            index.add(["gold"], metadata=[{"n": value}])
    unchanged(index)
    index.add(["silver"], ids=["g"], metadata=[{"n": np.int64(3), "t": (1, 2)}])
    assert index.search("silver", k=1)[0].metadata == {"n": 3, "t": [1, 2]}


def test_documents_of_another_kind(index, rows):
    with pytest.raises(InvalidInputError, match="holds texts"):
        index.add(np.eye(3))
    with pytest.raises(InvalidInputError, match="holds texts"):
        index.search(np.eye(3))
    with pytest.raises(InvalidInputError, match="holds rows of numbers"):
        rows.add(TEXTS)
    with pytest.raises(InvalidInputError, match="cannot read a text"):
        rows.search("oil")
    with pytest.raises(InvalidInputError, match="put a single text into a list"):
        index.add("oil")
    with pytest.raises(DcotError):
        index.add(["gold", 3])
    with pytest.raises(DcotError):
        index.add(["gold", None])
    unchanged(index)


def test_rows_that_do_not_fit(rows):
    with pytest.raises(InvalidInputError, match="4 columns, but those of the index have 3"):
        rows.add(np.eye(4))
    with pytest.raises(InvalidInputError, match="4 columns"):
        rows.search(np.ones(4))
    for value in (np.nan, np.inf):
        bad = np.eye(3)
        bad[1, 1] = value
        with pytest.raises(InvalidInputError, match="row 1 has NaN or infinite"):
            rows.add(bad)
        with pytest.raises(InvalidInputError, match="row 1 has NaN or infinite"):
            rows.search(bad)
    with pytest.raises(InvalidInputError, match="sparse"):
        rows.add(sp.csr_array(np.eye(3)))
    with pytest.raises(InvalidInputError, match="1 dimensions"):
        rows.add(np.ones(3))
    with pytest.raises(InvalidTypeError, match="real numbers"):
        rows.add(np.array([["a", "b", "c"]]))
    assert rows.ids == [0, 1, 2]


def test_settings():
    for hybrid in (-0.1, 1.1, "yes", None, float("nan")):
        with pytest.raises(DcotError, match="hybrid must be"):
            SearchIndex(hybrid=hybrid)
    for layer in (0, "1", True, 1.0):
        with pytest.raises(DcotError, match="layer must be"):
            SearchIndex(layer=layer)
    with pytest.raises(DcotError, match="k1"):
        SearchIndex(k1=-1)
    with pytest.raises(DcotError, match="b must be"):
        SearchIndex(b=2)
    with pytest.raises(InvalidTypeError, match="load it first"):
        SearchIndex("path/to/model")
    with pytest.raises(InvalidTypeError, match="model must be"):
        SearchIndex(3)


def test_what_features_cannot(rows):
    with pytest.raises(NotAvailableError, match="has only features"):
        rows.search(np.ones(3), hybrid=0.5)
    assert len(rows.search(np.ones(3), hybrid=False)) == 3
    with pytest.raises(DcotError, match="store_texts"):
        SearchIndex(store_texts=True).add(np.eye(3))


def test_filters_that_are_none(index):
    with pytest.raises(InvalidTypeError, match="where must be"):
        index.search("oil", where=1.5)
    with pytest.raises(InvalidInputError, match="an entry for each of the 4"):
        index.search("oil", where=np.array([True]))


@pytest.mark.parametrize("where", [{"yaer": 1987}, {"year": 1987, "yaer": 1987}])
def test_a_filter_by_metadata_that_no_document_has(index, where):
    with pytest.raises(InvalidInputError, match=r"'yaer', .*: there is none; pass it to add"):
        SearchIndex().add(TEXTS).search("oil", where={"yaer": 1})
    index.remove(["a"])
    index.add(["opec"], ids=["e"], metadata=[{"year": 1987, "place": "Vienna"}])
    with pytest.raises(InvalidInputError, match=r"'yaer', .*: they have 'place', 'year'"):
        index.search("oil", where=where)
    with pytest.raises(InvalidInputError, match="'yaer'"):
        index.similar("b", where=where)
    assert index.search("oil", where={"year": 1900}).ids == []  # a value may be missing


def test_filters_of_any_iterable(index):
    given = [{"year": year} for year in (1987, 1988, 1989, 1990)]
    built = SearchIndex().add(TEXTS[:4], ids=list(range(4)), metadata=given)
    by_list = built.search(TEXTS[1], where={"year": [1988, 1989]}).ids
    assert sorted(by_list) == [1, 2]
    assert built.search(TEXTS[1], where={"year": (y for y in (1988, 1989))}).ids == by_list
    assert built.search(TEXTS[1], where=np.int64(1)).ids == [1]
    with pytest.raises(DcotError):
        built.search(TEXTS[1], where=[[1, 2], [3]])


def test_a_layer_that_is_not_there():
    model = DCoTVectorizer(n_prototypes=2, n_layers=1).fit(TEXTS)
    with pytest.raises(DcotError, match="layer"):
        SearchIndex(model, layer=2).add(TEXTS)


@pytest.mark.parametrize("value", ["oil", 5, None])
def test_an_array_of_one_value_is_none_of_documents(index, value):
    one = np.array(value)
    for call in (index.add, index.search, SearchIndex().add, SearchIndex().search):
        with pytest.raises(DcotError, match=r"one value|of type"):
            call(one)
    with pytest.raises(DcotError, match="metadata must be a list"):
        index.add(["oil"], metadata=one)


def test_a_function_of_one_value_is_no_filter(index):
    with pytest.raises(InvalidTypeError, match="metadata of a document as a whole"):
        index.search("oil", where={"year": lambda year: year > 1990})


def test_a_classifier_has_to_be_fitted_before():
    with pytest.raises(DcotError, match="DCoTClassifier instance is not fitted"):
        SearchIndex(DCoTClassifier()).add(["crude oil", "wheat"])


@pytest.mark.parametrize("entry", [{1: "a", "1": "b"}, {None: 1, "null": 2}])
def test_keys_of_metadata_that_would_become_one(entry):
    with pytest.raises(InvalidInputError, match=r"metadata\[1\] has keys that are the same"):
        SearchIndex().add(TEXTS[:2], metadata=[{}, entry])
