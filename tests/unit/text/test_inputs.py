"""Every kind of input gives the same matrix; everything that is not text is refused."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dcot import DCoT, DCoTClassifier, DcotError, DCoTVectorizer, SearchIndex
from dcot.errors import InvalidInputError, InvalidTypeError
from dcot.text import TermCounter, inputs
from dcot.text.inputs import Texts

TEXTS = ["tea for two", "", "naïve café", "two 中文 two"]
KINDS = {
    "list": list,
    "tuple": tuple,
    "generator": lambda texts: (text for text in texts),
    "dict values": lambda texts: dict(enumerate(texts)).values(),
    "numpy strings": np.array,
    "numpy objects": lambda texts: np.array(texts, dtype=object),
    "numpy str_": lambda texts: [np.str_(text) for text in texts],
    "pandas object": lambda texts: pd.Series(texts, dtype=object),
    "pandas string": lambda texts: pd.Series(texts, dtype="string"),
    "pandas python string": lambda texts: pd.Series(texts, dtype="string[python]"),
    "pandas arrow": lambda texts: pd.Series(texts, dtype=pd.ArrowDtype(pa.string())),
    "pandas category": lambda texts: pd.Series(texts, dtype="category"),
    "pandas shuffled index": lambda texts: pd.Series(texts, index=[3, 1, 2, 0]),
    "pandas index": pd.Index,
    "polars": pl.Series,
    "polars chunks": lambda texts: pl.concat([pl.Series(texts[:1]), pl.Series(texts[1:])]),
    "polars slice": lambda texts: pl.Series(["x", *texts, "y"])[1:-1],
    "polars categorical": lambda texts: pl.Series(texts, dtype=pl.Categorical),
    "arrow": pa.array,
    "arrow large": lambda texts: pa.array(texts, pa.large_string()),
    "arrow chunks": lambda texts: pa.chunked_array([texts[:2], texts[2:]]),
    "arrow dictionary": lambda texts: pa.array(texts).dictionary_encode(),
}
if int(pa.__version__.split(".")[0]) >= 18:  # earlier ones cannot read it
    KINDS["arrow view"] = lambda texts: pa.array(texts, pa.string_view())


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_counts_the_same(kind):
    expected = TermCounter().fit_transform(TEXTS)
    counter = TermCounter()
    found = counter.fit_transform(KINDS[kind](TEXTS))
    assert (found != expected).nnz == 0
    assert (counter.transform(KINDS[kind](TEXTS)) != expected).nnz == 0
    assert counter.n_documents_ == len(TEXTS)


@pytest.mark.parametrize("kind", ["pandas string", "polars", "arrow", "arrow chunks"])
@pytest.mark.filterwarnings("ignore:dCoT .* does not beat TF-IDF")
def test_classifiers_and_indexes_take_columns(kind):
    texts = ["crude oil", "opec oil output", "wheat harvest", "wheat and corn", "opec oil"]
    column, labels = KINDS[kind](texts), ["oil", "oil", "grain", "grain", None]
    model = DCoTClassifier().fit(column, labels)
    expected = DCoTClassifier().fit(texts, labels).predict_proba(texts)
    np.testing.assert_array_equal(model.predict_proba(column), expected)
    index = SearchIndex().add(column)
    assert [hits.ids for hits in index.search(column)] == [
        hits.ids for hits in SearchIndex().add(texts).search(texts)
    ]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_arrow_is_not_copied(kind):
    array = pa.array(["x", *TEXTS, "y"], kind)[1:-1]
    (batch,) = inputs.batches(array)
    assert batch.to_list() == TEXTS
    theirs = np.frombuffer(array.buffers()[2], dtype=np.uint8)
    assert np.shares_memory(batch.data, theirs)


def test_texts_are_a_sequence_of_strings():
    texts = Texts.of(TEXTS)
    assert [texts[i] for i in range(-4, 4)] == TEXTS * 2
    assert list(texts[1:3]) == TEXTS[1:3]
    assert list(texts[::2]) == TEXTS[::2]
    assert list(texts[3:1]) == []
    again = Texts.joined([texts[:1], texts[1:1], pickle.loads(pickle.dumps(texts[1:]))])
    assert again.to_list() == TEXTS
    assert len(Texts.joined([])) == 0
    with pytest.raises(IndexError):
        texts[4]


def test_generators_are_read_in_bounded_batches(monkeypatch):
    monkeypatch.setattr(inputs, "_BATCH_DOCUMENTS", 10)
    lengths = [len(batch) for batch in inputs.batches(f"text {i}" for i in range(25))]
    assert lengths == [10, 10, 5]
    monkeypatch.setattr(inputs, "_BATCH_CHARACTERS", 100)
    assert [len(batch) for batch in inputs.batches(["x" * 60] * 5)] == [2, 2, 1]


def test_slices_hold_at_least_one_document_and_all_of_them():
    texts = Texts.of(["a" * 10, "", "b" * 100, "c", "", ""])
    pieces = list(inputs.slices([texts], 20))
    assert [len(piece) for piece in pieces] == [2, 1, 3]
    assert Texts.joined(pieces).to_list() == texts.to_list()


@pytest.mark.parametrize(
    ("bad", "kind", "way_out"),
    [
        (None, "NoneType", 'put ""'),
        (float("nan"), "float", "fillna"),
        (3, "int", r"str\(\)"),
        (b"bytes", "bytes", "decode"),
        (["a", "list"], "list", "join"),
        ({"a": 1}, "dict", r"str\(\)"),
    ],
)
@pytest.mark.parametrize("make", [list, lambda x: iter(x), lambda x: np.array(x, dtype=object)])
def test_what_is_not_text_is_named(bad, kind, way_out, make):
    documents = np.empty(3, dtype=object)
    documents[:] = ["fine", "fine too", "?"]
    documents[2] = bad
    with pytest.raises(InvalidInputError, match=f"document 2 is .*{kind}.*{way_out}"):
        TermCounter().fit(make(documents))


@pytest.mark.parametrize(
    "documents",
    [
        pd.Series(["a", None, "b"]),
        pd.Series(["a", None, "b"], dtype=object),
        pd.Series(["a", np.nan, "b"], dtype=object),
        pd.Series(["a", None, "b"], dtype="string"),
        pl.Series(["a", None, "b"]),
        pa.array(["a", None, "b"]),
    ],
    ids=["pandas", "pandas None", "pandas NaN", "pandas string", "polars", "arrow"],
)
def test_missing_values_in_columns_are_named(documents):
    with pytest.raises(InvalidInputError, match="document 1 is"):
        TermCounter().fit(documents)


def test_positions_count_over_batches(monkeypatch):
    monkeypatch.setattr(inputs, "_BATCH_DOCUMENTS", 10)
    with pytest.raises(InvalidInputError, match="document 23 "):
        TermCounter().fit([f"text {i}" for i in range(23)] + [7])


@pytest.mark.parametrize("text", ["one text", b"one text"])
@pytest.mark.parametrize("method", ["fit", "fit_transform", "transform", "partial_fit"])
def test_a_single_text_is_no_corpus(text, method):
    with pytest.raises(InvalidInputError, match=r"pass \[text\]"):
        getattr(TermCounter(vocabulary=["one"]), method)(text)


@pytest.mark.parametrize(
    "documents",
    [
        3,
        None,
        {"a": "text"},
        pl.DataFrame({"text": ["a"]}),
        pl.LazyFrame({"text": ["a"]}),
        pd.DataFrame({"text": ["a"]}),
        pa.table({"text": ["a"]}),
        pl.Series([1, 2]),
        pl.Series([b"a"]),
        pd.Series([1, 2]),
        pa.array([1, 2]),
        np.array([1.0, 2.0]),
        np.array([["a", "b"]]),
        np.array([b"a"]),
        pl.Series([None, None]),
    ],
)
def test_what_is_no_corpus(documents):
    with pytest.raises(DcotError, match=r"got|document 0"):
        TermCounter().fit(documents)


def test_a_lone_surrogate_is_named():
    with pytest.raises(InvalidInputError, match=r"document 1 has the lone .* character 2"):
        TermCounter().fit(["fine", "ab\ud800"])


def test_errors_of_generators_pass_through():
    def texts():
        yield "fine"
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        TermCounter().fit(texts())


def test_type_errors_are_type_errors():
    with pytest.raises(InvalidTypeError):
        TermCounter().fit(5)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT], ids=str)
def test_a_column_of_texts_may_start_with_a_missing_value(missing):
    assert inputs.is_text(pd.Series([missing, "tea"], dtype=object))
    assert not inputs.is_text(pd.Series([missing, 3.0], dtype=object))


_TABLE = {"id": ["a", "b", "c"], "Body": ["tea leaf", "oil well", "tea cup"], "n": [1, 2, 3]}
_LABELS = ["tea", "oil", "tea"]
_READERS = {
    "fit": lambda table: DCoTClassifier().fit(table, _LABELS),
    "unlabelled": lambda table: DCoTClassifier().fit(_TABLE["Body"], _LABELS, unlabelled=table),
    "predict": lambda table: DCoTClassifier().fit(_TABLE["Body"], _LABELS).predict(table),
    "vectorizer": lambda table: DCoTVectorizer().fit(table),
    "search": lambda table: SearchIndex().add(table),
}


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
@pytest.mark.parametrize("reader", _READERS)
def test_a_table_in_place_of_a_column_is_named_with_its_columns(kind, reader):
    advice = r"columns 'id', 'Body', 'n', expected one column .*df(\.collect\(\))?\['Body'\]"
    with pytest.raises(InvalidTypeError, match=advice):
        _READERS[reader](kind(_TABLE))


def test_a_table_of_numbers_is_a_matrix():
    frame = pd.DataFrame({"tea": [1, 0, 1, 0], "oil": [0, 2, 0, 1]}, dtype=object)
    model = DCoTClassifier(selection="none").fit(frame, [0, 1, 0, 1])
    assert model.predict(frame).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("kind", [pl.DataFrame, pa.table])
def test_objects_that_are_no_numbers_are_an_error_of_dcot(kind):
    with pytest.raises(InvalidInputError, match="could not convert string to float"):
        DCoT().fit(kind(_TABLE))
