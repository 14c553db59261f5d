"""``explain``, ``similar``, ``index`` and ``search`` give the library's answers."""

from __future__ import annotations

import polars as pl
import pytest
from tests.unit.cli.running import documents, run

import dcot

ROWS = documents()


def test_explain_a_word(shelf):
    found = run("explain", "model", "nasdaq", "-k", 3, "--json").json
    expected = dcot.load("model").explain("nasdaq", k=3)
    assert [word["word"] for word in found["words"]] == ["nasdaq"]
    assert [layer["layer"] for layer in found["layers"]] == [1, 2]
    for layer, part in zip(found["layers"], expected.layers, strict=True):
        pairs = [(entry["prototype"], entry["value"]) for entry in layer["prototypes"]]
        assert pairs == part.top(3)
    assert "layer 1" in run("explain", "model", "nasdaq").out


def test_explain_a_document(shelf):
    done = run("explain", "model", "opec cut its zzz output", "-k", 4)
    assert done.code == 0, done.err
    for words in ("Layer 1", "Layer 2", "comes from", "Shares in the document", "opec"):
        assert words in done.out
    assert "Unknown words, skipped: zzz" in done.err
    assert run("explain", "model", "-", stdin="opec cut its output\n").code == 0
    assert "bias" in run("explain", "model", "").out


def test_explain_a_decision(shelf):
    model = dcot.load("classifier")
    for target in (None, "oil", "stocks"):
        options = [] if target is None else ["--target", target]
        found = run("explain", "classifier", "opec oil zzz", *options, "--json").json
        expected = model.explain("opec oil zzz", target)
        assert (found["target"], found["decision"]) == (expected.target, expected.decision)
        shares = sum(word["share"] for word in found["words"])
        assert found["baseline"] + shares == pytest.approx(found["decision"])
        assert found["unknown"] == ["zzz"]
    assert "Unknown words, skipped: zzz" in run("explain", "classifier", "opec oil zzz").err
    found = run("explain", "classifier", "opec", "--against", "oil", "--json").json
    assert found["against"] == "oil"
    assert "(baseline)" in run("explain", "classifier", "opec oil").out
    done = run("explain", "classifier", "zzz")
    assert "The model knows no word of the text" in done.err
    done = run("explain", "classifier", "opec", "--target", "gas")
    assert (done.code, done.out) == (1, "")
    assert "no class 'gas': it has oil, stocks" in done.err
    assert (
        "has no classes: leave --target and --against out"
        in run("explain", "model", "opec", "--target", "oil").err
    )


def test_an_unknown_word(shelf):
    for command in (["explain"], ["similar"], ["similar", "--cohort"]):
        done = run(command[0], "model", "nasdak", *command[1:])
        assert (done.code, done.out) == (1, "")
        assert "nasdaq" in done.err


@pytest.mark.parametrize("kind", ["model", "classifier"])
def test_similar_words_and_cohorts(shelf, kind):
    model = dcot.load(kind)
    found = run("similar", kind, "nasdaq", "-k", 3, "--json").json
    expected = model.similar_terms("nasdaq", 3)
    assert [entry["term"] for entry in found["terms"]] == list(expected.terms)
    meaning = model.explain("nasdaq") if kind == "model" else model.meaning("nasdaq")
    prototype = str(meaning.layers[0].prototypes[0])
    found = run("similar", kind, prototype, "--cohort", "--layer", 1, "--json").json
    expected = model.cohort(prototype, layer=1)
    assert [entry["term"] for entry in found["terms"]] == list(expected.terms)
    assert "nasdaq" in run("similar", kind, "nasdaq").out


def test_search(shelf):
    index = dcot.load("index")
    found = run("search", "index", "opec output", "-k", 3, "--json").json
    expected = index.search("opec output", k=3)
    assert [hit["id"] for hit in found["hits"]] == expected.ids
    assert [hit["score"] for hit in found["hits"]] == pytest.approx(expected.scores)
    assert found["hits"][0]["text"] == expected[0].text
    text = run("search", "index", "opec output", "-k", 3).out
    assert str(expected.ids[0]) in text
    assert text.split()[:4] == ["similarity", "bm25", "id", "document"]  # no score of 1.000
    assert f"{expected[0].similarity:.3f}" in text
    only = run("search", "index", "opec output", "--hybrid", 0).out
    assert only.split()[:3] == ["bm25", "id", "document"]


def test_share_of_meaning(shelf):
    index = dcot.load("index")
    for weight in (0, 0.3, 1):
        found = run("search", "index", "opec", "--hybrid", weight, "--json").json
        expected = index.search("opec", hybrid=float(weight))
        assert [hit["id"] for hit in found["hits"]] == expected.ids
    assert run("search", "index", "opec", "--hybrid", 2).code == 2


def test_an_index_of_a_classifiers_documents(shelf):
    done = run("index", "classifier", "news.csv", "--text", "body", "-o", "of-classifier", "--json")
    assert done.json["documents"] > 0
    index, classifier = dcot.load("of-classifier"), dcot.load("classifier")
    assert index.model_.vocabulary_ == classifier.vectorizer_.vocabulary_
    assert index.search("opec output").known


def test_filters(shelf):
    found = run("search", "index", "opec nasdaq", "-k", 50, "--where", "topic=oil", "--json").json
    assert {hit["metadata"]["topic"] for hit in found["hits"]} == {"oil"}
    both = run(
        "search", "index", "opec", "-k", 50, "--where", "topic=oil", "--where", "topic=stocks",
        "--json",
    ).json  # fmt: skip
    assert len(both["hits"]) == len([label for _, label, _ in ROWS if label])
    assert "it has 'topic'" in run("search", "index", "opec", "--where", "day=1").err
    assert "is not COLUMN=VALUE" in run("search", "index", "opec", "--where", "day").err


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_filters_by_values_of_every_type(here, ending):
    table = pl.DataFrame(
        {
            "text": ["opec oil", "opec gas", "opec coal"],
            "flag": [True, False, None],
            "year": [1987, 1, 0],
            "share": [0.5, 1.0, 2.0],
            "topics": [["oil", "energy"], ["gas"], []],
        }
    )
    getattr(table, {"parquet": "write_parquet", "jsonl": "write_ndjson"}[ending])(f"t.{ending}")
    names = [part for name in table.columns[1:] for part in ("--metadata", name)]
    done = run("index", "new", f"t.{ending}", "--text", "text", *names, "-o", "typed")
    assert done.code == 0, done.err
    expected = {
        "flag=true": [0], "flag=True": [0], "flag=false": [1], "flag=1": [0], "year=1987": [0],
        "year=true": [], "share=1": [1], "share=0.50": [0], "topics=energy": [0], "topics=gas": [1],
    }  # fmt: skip
    for where, ids in expected.items():
        found = run("search", "typed", "opec", "--where", where, "--json").json
        assert [hit["id"] for hit in found["hits"]] == ids, where


def test_metadata_that_an_index_cannot_keep_is_named(here):
    days = pl.Series("day", ["2024-01-01", "2024-01-02"]).str.to_date()
    pl.DataFrame([pl.Series("text", ["opec oil", "opec gas"]), days]).write_parquet("t.parquet")
    done = run("index", "new", "t.parquet", "--text", "text", "--metadata", "day", "-o", "i")
    assert done.code == 1
    assert "the column 'day' has the value 2024-01-01 (date)" in done.err
    assert not (here / "i").exists()


def test_many_queries(shelf):
    done = run("search", "index", "-", "-k", 2, "--json", stdin="opec\n\nzzz\nnasdaq\n")
    assert [row["query"] for row in done.rows] == ["opec", "zzz", "nasdaq"]
    assert [len(row["hits"]) for row in done.rows] == [2, 0, 2]
    assert "The index knows no word of 'zzz'" in done.err
    done = run("search", "index", "-", "-k", 2, "-o", "hits.parquet", stdin="opec\nnasdaq\n")
    frame = pl.read_parquet("hits.parquet")
    assert frame["query"].to_list() == ["opec", "opec", "nasdaq", "nasdaq"]
    assert frame["rank"].to_list() == [1, 2, 1, 2]
    assert "no queries" in run("search", "index", "-", stdin="\n").err
    assert "is a terminal" in run("search", "index", "-", terminal=True).err


def test_more_than_there_are(shelf):
    found = run("search", "index", "opec", "-k", 1000, "--json").json
    assert len(found["hits"]) == len(ROWS)


def test_indexes(here, models):
    done = run("index", "new", "news.txt", "-o", "index", "--no-texts", "--json")
    assert done.json["documents"] == len(ROWS)
    found = run("search", "index", "opec", "-k", 1, "--json").json
    assert "text" not in found["hits"][0]
    assert run("info", "index", "--json").json["kind"] == "SearchIndex"
    (here / "double.csv").write_text("text,key\nopec,a\noil,a\n")
    done = run("index", "new", "double.csv", "--id", "key", "--text", "text", "-o", "other")
    assert (done.code, done.out) == (1, "")
    assert "two documents have the id 'a'" in done.err
    assert not (here / "other").exists()
    assert "SearchIndex is needed" in run("search", models / "model", "opec").err


def test_queries_in_another_encoding(shelf):
    done = run("search", "index", "-", stdin="opec\ncafé\n".encode("latin-1"))
    assert done.code == 1
    assert "line 2: not a text in UTF-8" in done.err
    assert "--encoding" not in done.err  # which dcot search does not have


def test_metadata_of_zero_is_shown(here):
    (here / "a.jsonl").write_text('{"text": "opec oil", "year": 0}\n{"text": "nasdaq"}\n')
    assert run("index", "new", "a.jsonl", "--metadata", "year", "-o", "new-index").code == 0
    assert "year: 0" in run("search", "new-index", "opec").out


def test_spaces_in_pieces_of_words_are_visible(here):
    source = ("news.csv", "--text", "body", "--label", "topic")
    pieces = ("--analyzer", "char_wb", "--ngram-range", "3,3")
    assert run("train", *source, *pieces, "-o", "m").code == 0
    assert "␣op" in run("explain", "m", "opec oil").out
    assert "␣op" in str(dcot.load("m").explain("opec oil"))
    assert "ec␣" in run("similar", "m", "pec").out
