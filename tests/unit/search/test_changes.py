"""Adding, removing and filtering: an index that changed is the index of what it holds now."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dcot
from dcot import DCoTVectorizer, SearchIndex
from dcot.search.encoding import counter_of
from dcot.search.postings import Postings
from dcot.search.snapshot import Vectors

WORDS = ["oil", "opec", "wheat", "corn", "price", "crude", "harvest", "export", "new", "gold"]
TEXTS = [
    "crude oil price",
    "opec oil export",
    "wheat harvest",
    "wheat corn price",
    "corn export price",
    "crude export",
]


@pytest.fixture(scope="module")
def model():
    return DCoTVectorizer(n_prototypes=5, n_layers=1).fit(TEXTS)


texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(texts, min_size=1, max_size=5)),
        st.tuples(st.just("remove"), st.lists(st.integers(0, 30), min_size=1, max_size=6)),
        st.tuples(st.just("load"), st.none()),
        st.tuples(st.just("search"), st.lists(texts, min_size=1, max_size=2)),
    ),
    min_size=2,
    max_size=9,
)


@settings(max_examples=40, deadline=None)
@given(steps, st.sampled_from([0.0, 0.5, 1.0, True]), st.sampled_from([1, 3, 100]))
def test_any_sequence_against_a_dictionary(model, tmp_path_factory, plan, hybrid, k):
    folder = tmp_path_factory.getbasetemp() / "sequence"
    index, held = SearchIndex(model, store_texts=True, hybrid=hybrid), {}
    for step, what in [*plan, ("search", ["oil new", "wheat price"])]:
        if step == "add":
            names = range(index._snapshot.next_id, index._snapshot.next_id + len(what))
            entries = [{"words": len(text.split())} for text in what]
            index.add(what, metadata=entries)
            held |= dict(zip(names, what, strict=True))
        elif step == "remove":
            names = [name for name in what if name in held]
            index.remove(names)
            held = {name: text for name, text in held.items() if name not in names}
        elif step == "load":
            index.save(folder)
            index = dcot.load(folder, mmap=bool(len(plan) % 2))
        else:
            check_search(index, held, model, hybrid, what, k)
    assert len(index) == len(held)
    assert index.ids == list(held)
    assert all(name in index for name in held)


def check_search(index, held, model, hybrid, queries, k):
    """Against an index that is made at once of what should be there."""
    found = index.search(queries, k=k)
    fresh = SearchIndex(model, store_texts=True, hybrid=hybrid)
    if held:
        entries = [{"words": len(text.split())} for text in held.values()]
        fresh.add(list(held.values()), ids=list(held), metadata=entries)
    again = fresh.search(queries, k=k)
    for ours, theirs in zip(found, again, strict=True):
        assert ours.ids == theirs.ids
        np.testing.assert_allclose(ours.scores, theirs.scores, atol=1e-4)
        assert [hit.text for hit in ours] == [held[hit.id] for hit in ours]
        assert [hit.metadata for hit in ours] == [{"words": len(h.text.split())} for h in ours]
    short = index.search(queries, k=k, where=lambda entry: entry["words"] < 3)
    everything = index.search(queries, k=max(len(held), 1))
    for ours, theirs in zip(short, everything, strict=True):
        allowed = [(hit.id, hit.score) for hit in theirs if hit.metadata["words"] < 3][:k]
        assert ours.ids == [name for name, _ in allowed]
        np.testing.assert_allclose(ours.scores, [score for _, score in allowed], atol=1e-5)


def test_segments_are_few_and_whole():
    rng = np.random.default_rng(0)
    documents = [" ".join(rng.choice(WORDS, rng.integers(1, 8))) for _ in range(200)]
    empty = counter_of(None)
    vocabulary, pieces = empty, Postings()
    for row, document in enumerate(documents):
        vocabulary, counts = vocabulary._grown([document])
        pieces = pieces.added(counts, row)
    assert len(pieces.segments) <= 9
    at_once, counts = empty._grown(documents)
    whole = Postings().added(counts, 0)
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    live = rng.random(200) < 0.6
    for _ in range(2):
        results = []
        for words, part in ((vocabulary, pieces), (at_once, whole)):
            queries = words.transform(["oil oil wheat", "", "gold"])
            found = part.bm25(queries, lengths, live, 1.2, 0.75)
            results.append(found.scores[:, live])
            assert found.matches.tolist() == [True, False, True]
        np.testing.assert_allclose(*results, atol=1e-6)
        pieces, whole, lengths = pieces.kept(live), whole.kept(live), lengths[live]
        live = np.ones(live.sum(), dtype=bool)


def test_vocabularies_grow_at_the_end(model):
    before = counter_of(model)
    after, counts = before._grown(["zeppelin oil oil", "", "airship zeppelin"])
    known = before.terms.to_list()
    assert known == model.counter_.get_feature_names_out().tolist()
    assert after.terms.to_list() == [*known, "airship", "zeppelin"]
    assert before.terms.to_list() == known
    expected = np.zeros((3, len(known) + 2))
    expected[0, known.index("oil")] = 2
    expected[[0, 2], -1] = 1
    expected[2, -2] = 1
    np.testing.assert_array_equal(counts.toarray(), expected)
    np.testing.assert_array_equal(after.transform(["airship zeppelin"]).toarray(), expected[2:])
    assert len(after._grown(["oil"])[0].terms) == len(known) + 2
    for options in ({"vocabulary": ["oil", "corn"]}, {"grow_vocabulary": False}):
        fixed = counter_of(DCoTVectorizer(n_prototypes=1, **options).fit(TEXTS))
        assert fixed._grown(["zeppelin oil"])[0] is fixed


def test_space_is_freed():
    F = np.eye(10, dtype=np.float32)
    index = SearchIndex().add(F)
    index.remove(range(5))
    assert len(index._snapshot.vectors) == 10  # only marked
    index.remove(7)
    assert len(index._snapshot.vectors) == 4
    assert index.search(F[8], k=1).ids == [8]
    index.add(F[:1], ids=["again"])
    assert index.ids == [5, 6, 8, 9, "again"]
    index.remove(index.ids)
    assert len(index) == 0
    assert index.search(F[0]).ids == []
    assert index.add(F[:2]).ids == [10, 11]


def test_spare_capacity_is_used_once():
    parts = [np.full((n, 3), n, dtype=np.float32) for n in (1, 5, 70, 200, 1)]
    vectors = Vectors(parts[0])
    for part in parts[1:]:
        vectors = vectors.added(part)
    before = vectors.array.copy()
    assert np.array_equal(before, np.concatenate(parts))
    one, other = (vectors.added(np.full((1, 3), value, np.float32)) for value in (7, 8))
    assert np.shares_memory(one.array, vectors.array)  # one row more does not copy all
    assert one.array[-1].tolist() == [7, 7, 7]
    assert other.array[-1].tolist() == [8, 8, 8]
    assert np.array_equal(vectors.array, before)


def test_ids_are_looked_up_as_they_are_added():
    index = SearchIndex().add(np.eye(3), ids=[np.int64(1), np.str_("a"), 0])
    assert index.ids == [1, "a", 0]
    for name in (1, np.int64(1), np.uint8(0), "a", np.str_("a")):
        assert name in index
    for name in (True, np.True_, False, 1.0, "1", None, b"a", [1], np.array([1])):
        assert name not in index


def test_filters_of_several_values_of_any_kind():
    years, tags = [1987, 1988, 1989, 1990], [["a"], ["a", "b"], "a", [["c"]]]
    entries = [{"year": year, "tags": tag} for year, tag in zip(years, tags, strict=True)]
    index = SearchIndex().add(np.eye(4), metadata=entries)

    def found(**where):
        return sorted(index.search(np.ones(4), where=where).ids)

    several = [1987, 1988]
    for wanted in (several, np.array(several), pd.Series(several), pl.Series(several)):
        assert found(year=wanted) == [0, 1]
    for wanted in (set(several), {1987: "", 1988: ""}.keys(), range(1987, 1989)):
        assert found(year=wanted) == [0, 1]
    for wanted in (1987, np.int64(1987), np.array(1987), [np.int64(1987)]):
        assert found(year=wanted) == [0]
    for wanted in ("a", {"a"}, ["a"]):  # the value, or an entry of a list
        assert found(tags=wanted) == [0, 1, 2]
    assert found(tags="b") == [1]
    for wanted in (["b", "d"], ("b", "d"), np.array(["b", "d"])):
        assert found(tags=wanted) == [1]
    assert found(tags="c") == []  # in a list within the list
    assert found(tags=[["c"]]) == [3]
    assert found(tags=[["a", "b"]]) == [1]  # a list as a whole
    assert found(tags=[["a"], ("a", "b")]) == [0, 1]
    assert found(tags=np.array([["c"]])) == [3]
    assert found(tags={"a": 1}) == []


def test_filters():
    F = np.random.default_rng(0).normal(size=(50, 4))
    topics = [{"topic": ["oil", "wheat", "gold"][i % 3], "n": i} for i in range(50)]
    index = SearchIndex().add(F, metadata=[*topics[:49], None])
    every = index.search(F[0], k=50).ids

    def expect(where, allowed):
        assert index.search(F[0], k=50, where=where).ids == [i for i in every if allowed(i)]

    expect(lambda entry: entry.get("n", 99) > 40, lambda i: i > 40)
    expect({"topic": "oil"}, lambda i: i % 3 == 0 and i < 49)
    expect({"topic": ("oil", "gold")}, lambda i: i % 3 in (0, 2) and i < 49)
    expect({"topic": "oil", "n": 3}, lambda i: i == 3)
    expect({"topic": "zinc"}, lambda i: False)
    expect({"topic": "oil", "n": 4}, lambda i: False)
    expect([4, 7, 9], lambda i: i in (4, 7, 9))
    expect({4, 7}, lambda i: i in (4, 7))
    expect(np.array([4, 7]), lambda i: i in (4, 7))
    expect(4, lambda i: i == 4)
    expect([], lambda i: False)
    expect(np.arange(50) % 2 == 0, lambda i: i % 2 == 0)
    index.remove([0, 2])
    every = index.search(F[0], k=50).ids
    expect(np.arange(48) == 0, lambda i: i == 1)  # in the order of index.ids


def test_new_words_are_found(model):
    index = SearchIndex(model).add(TEXTS)
    assert not index.search("zeppelin").known
    index.add(["zeppelin over rio"], ids=["z"])
    assert index.search("zeppelin", k=1).ids == ["z"]
    assert index.search("zeppelin", hybrid=0).ids == ["z"]
    assert not index.search("zeppelin", hybrid=1).known  # what it means was not learned


@pytest.mark.parametrize("change", ["fit", "partial_fit"])
def test_an_index_keeps_its_model_when_that_is_fitted_again(change):
    model = DCoTVectorizer(n_layers=1).partial_fit(TEXTS)
    index = SearchIndex(model).add([*TEXTS, "zebra"])
    before = index.search(["oil zebra", "wheat"])
    getattr(model, change)(["wheat oil banana", "corn banana", "oil corn split"])
    assert index.search(["oil zebra", "wheat"]) == before
    assert len(index.add(["banana oil"]).search("banana oil")) == len(TEXTS) + 2


def test_an_index_of_rows_keeps_its_model_when_that_is_fitted_again():
    X = np.random.default_rng(0).poisson(1.0, (20, 6)).astype(float)
    model = dcot.DCoT().fit(X)
    index = SearchIndex(model).add(X)
    before = index.search(X)
    model.fit(X[::-1] * np.arange(1, 7))
    assert index.search(X) == before
