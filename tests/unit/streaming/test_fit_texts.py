"""Texts in batches: the same vocabulary, weights and model as in memory; bounded vocabularies."""

from __future__ import annotations

import gzip
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.streaming.corpus import texts
from tests.unit.streaming.same import assert_same_model

from dcot import DCoTVectorizer
from dcot.errors import InvalidInputError
from dcot.stream import LocalPasses, Repeatable
from dcot.text import TermCounter, TextSource, read_texts
from dcot.text.inputs import as_text_source
from dcot.text.pipeline import VocabularySum, fit_counter

OPTIONS = [
    {},
    {"weighting": "bm25", "min_df": 3, "max_df": 0.5},
    {"weighting": "log", "max_features": 40, "n_layers": 1},
    {"weighting": "counts", "binary": True, "ngram_range": (1, 2), "min_df": 2},
    {"vocabulary": ["w000", "w003", "w017", "w020"]},
    {"prototypes": ["w000", "w003", "w018"]},
    {"squash": "tanh", "stop_words": ["w000", "w001"]},
]


def vectorizer(**options):
    return DCoTVectorizer(**{"n_prototypes": 30, "dtype": "float64", "solver": "primal", **options})


def files(tmp_path, documents):
    (tmp_path / "a.txt").write_text("\n".join(documents[:100]) + "\n")
    pl.DataFrame({"text": documents[100:150]}).write_parquet(tmp_path / "b.parquet")
    with gzip.open(tmp_path / "c.txt.gz", "wt") as stream:
        stream.write("\n".join(documents[150:]) + "\n")
    return [tmp_path / name for name in ("a.txt", "b.parquet", "c.txt.gz")]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_files_give_the_model_of_a_list(tmp_path, options):
    documents = texts()
    expected = vectorizer(**options).fit(documents)
    got = vectorizer(**options).fit(TextSource(files(tmp_path, documents)))
    assert_same_model(got, expected)
    assert got.counter_.undercount_ == 0
    np.testing.assert_allclose(
        got.transform(documents[:20]), expected.transform(documents[:20]), atol=1e-9
    )


def test_functions_of_texts_or_of_lists():
    documents = texts()
    expected = vectorizer().fit(documents)
    halves = [documents[:150], documents[150:]]
    for function in (lambda: iter(documents), lambda: iter(halves), lambda: documents):
        assert_same_model(vectorizer().fit(function), expected)
    assert_same_model(vectorizer().fit(Repeatable(lambda: halves)), expected)


def test_weights_of_texts():
    documents = texts()
    weights = np.random.default_rng(0).integers(0, 3, len(documents)).astype(float)
    expected = vectorizer().fit(documents, sample_weight=weights)
    got = vectorizer().fit(lambda: iter(documents), sample_weight=weights)
    assert_same_model(got, expected)


def test_a_saved_model_is_the_same(tmp_path):
    import dcot

    got = vectorizer().fit(lambda: iter(texts()))
    got.save(tmp_path / "model")
    assert_same_model(dcot.load(tmp_path / "model"), got)


def test_large_files_are_streamed_by_themselves(tmp_path):
    reader = read_texts(files(tmp_path, texts()))
    assert as_text_source(reader, allowed=1e9) is None
    assert isinstance(as_text_source(reader, allowed=1e4), TextSource)
    assert as_text_source(["a text"], allowed=1.0) is None


def test_a_folder_of_documents_is_read_in_few_batches(tmp_path):
    for number, text in enumerate(texts(50)):
        (tmp_path / f"{number:03d}.txt").write_text(text)
    source = TextSource(tmp_path)
    batches = list(source.batches())
    assert len(batches) == 1
    assert batches[0].documents.to_list() == texts(50)
    assert source.fraction() == 1.0


def test_an_unreadable_file_in_the_middle_is_named_or_skipped(tmp_path):
    documents = texts()
    paths = files(tmp_path, documents)
    paths[1].write_bytes(paths[1].read_bytes()[:200])
    with pytest.raises(InvalidInputError, match=r"b\.parquet"):
        vectorizer().fit(TextSource(paths))
    source = TextSource(paths, on_error="skip")
    got = vectorizer().fit(source)
    assert_same_model(got, vectorizer().fit(documents[:100] + documents[150:]))
    assert list(source.skipped) == [str(paths[1])]


def test_a_cut_off_gz_file_is_named(tmp_path):
    paths = files(tmp_path, texts())
    paths[2].write_bytes(paths[2].read_bytes()[:-20])
    with pytest.raises(InvalidInputError, match=r"c\.txt\.gz"):
        vectorizer().fit(TextSource(paths))


def test_texts_have_to_be_readable_twice():
    from dcot.stream import Once

    with pytest.raises(InvalidInputError, match="read at least twice"):
        vectorizer().fit(Once(iter(texts())))


def test_what_is_not_text_names_its_batch():
    with pytest.raises(InvalidInputError, match=r"batch 1: document 0 is 3"):
        vectorizer().fit(lambda: iter([["fine text"], [3]]))


# -- the vocabulary in bounded memory -----------------------------------------------------------


def exact_frequencies(documents):
    counts = Counter()
    for document in documents:
        counts.update(set(document.split()))
    return counts


words = st.lists(st.integers(0, 40).map(lambda k: f"t{k:02d}"), min_size=1, max_size=8)
batches_of_texts = st.lists(
    st.lists(words.map(" ".join), min_size=1, max_size=6), min_size=1, max_size=8
)


@settings(max_examples=60, deadline=None)
@given(batches_of_texts, st.integers(2, 50), st.randoms())
def test_the_undercount_is_a_bound_in_any_order_of_merging(batches, capacity, random):
    total = VocabularySum(TermCounter(n_threads=1), capacity)
    tallies = [total.add(total.empty(), batch) for batch in batches]
    while len(tallies) > 1:
        random.shuffle(tallies)
        tallies.append(total.merge(tallies.pop(), tallies.pop()))
    (tally,) = tallies
    learned = tally.learned()
    found = dict(zip(learned.terms.to_list(), learned.documents.tolist(), strict=True))
    exact = exact_frequencies([text for batch in batches for text in batch])
    assert len(found) <= capacity
    assert learned.n_documents == sum(map(len, batches))
    for term, count in exact.items():
        assert count - tally.undercount <= found.get(term, 0) <= count
    # the bound of the summary: all occurrences over the room that there is
    assert tally.undercount * (max(capacity // 2, 1) + 1) <= sum(exact.values())
    if len(exact) <= capacity:
        assert found == exact


def test_min_df_above_the_undercount_makes_a_bounded_vocabulary_exact():
    documents = texts(2000, n_terms=1500)
    passes = LocalPasses(Repeatable(lambda: (documents[i : i + 100] for i in range(0, 2000, 100))))
    bounded = TermCounter(min_df=40)
    counted = fit_counter(bounded, passes, memory=0)  # room for the fewest terms
    assert 0 < bounded.undercount_ < 40
    expected = TermCounter(min_df=40).fit(documents)
    assert bounded.vocabulary_ == expected.vocabulary_
    counts = expected.transform(documents)
    assert counted.documents.tolist() == (counts > 0).sum(axis=0).tolist()[0]
    assert counted.totals.tolist() == counts.sum(axis=0).tolist()[0]


def test_a_bounded_vocabulary_says_what_may_be_missing(capsys, monkeypatch):
    monkeypatch.setattr("dcot.text.pipeline.VOCABULARY_SHARE", 0.0)
    documents = texts(2000, n_terms=1500)
    model = vectorizer(verbose=True, min_df=2).fit(
        lambda: (documents[i : i + 100] for i in range(0, 2000, 100))
    )
    assert model.counter_.undercount_ > 0
    assert f"terms in {model.counter_.undercount_} documents or fewer" in capsys.readouterr().err


def test_a_tally_survives_being_sent():
    import pickle

    total = VocabularySum(TermCounter(n_threads=1), 100)
    tally = total.add(total.empty(), texts(50))
    again = pickle.loads(pickle.dumps(tally)).learned()
    assert again.terms.to_list() == tally.learned().terms.to_list()
    assert again.documents.tolist() == tally.learned().documents.tolist()
    assert again.n_documents == 50
