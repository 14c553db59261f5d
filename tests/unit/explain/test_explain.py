"""``explain`` of the three estimators: what it says, prints and refuses."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import dcot
from dcot import DCoT, DCoTClassifier, DCoTVectorizer
from dcot.errors import DcotError, UnknownTermError

TEXTS = [
    "crude oil prices rose",
    "opec cut crude oil output",
    "nasdaq stocks fell",
    "stocks and shares on the nasdaq",
    "opec oil exports",
    "shares and stocks rose",
]
NASTY = '<script>alert("x")</script>'


@pytest.fixture(scope="module")
def model():
    return DCoTVectorizer(
        n_prototypes=8, prototypes="document_frequency", noise=0.5, shrinkage=0.1
    ).fit(TEXTS)


@pytest.fixture(scope="module")
def classifier():
    settings = {"noise": (0.5,), "shrinkage": (0.1,)}
    labels = ["oil", None, "stocks", None, None, None]
    return DCoTClassifier(grid=settings, selection="none").fit(TEXTS, labels)


def test_a_word_is_what_reconstruct_says_in_every_layer(model):
    meaning = model.explain("nasdaq", k=4)
    names = model.counter_.get_feature_names_out()[model.prototypes_]
    assert meaning.words == ("nasdaq",)
    for part in meaning:
        expected = model.reconstruct(["nasdaq"], part.layer, subtract_bias=True)[0]
        order = np.argsort(-expected, kind="stable")
        assert part.prototypes.tolist() == names[order].tolist()
        np.testing.assert_allclose(part.values, expected[order], atol=1e-6)
        assert len(part.top()) == 4
        assert len(list(part)) == 8
        np.testing.assert_allclose(part.shares[0], part.values[:4], rtol=1e-12)
    assert meaning.layer(1).prototypes[0] == "nasdaq"


def test_the_empty_text_is_the_bias(model):
    for text in ("", "  ", "! ?"):
        meaning = model.explain(text)
        assert meaning.is_bias
        for part in meaning:
            expected = model.reconstruct([""], part.layer)[0]
            np.testing.assert_allclose(part.values, np.sort(expected)[::-1], atol=1e-6)
            np.testing.assert_array_equal(part.values, part.bias)
    assert str(model.explain("")).startswith("the empty document: the bias")
    first = DCoT(3).fit(np.eye(4))
    np.testing.assert_allclose(
        first.explain("").layer(1).values, np.sort(first.layers_[0].intercept_)[::-1]
    )


def test_a_document_with_shares(model):
    meaning = model.explain("Crude oil rose, unheardof", k=5)
    assert meaning.words == ("crude", "oil", "rose")
    np.testing.assert_allclose(meaning.weights, model.weigh(["crude oil rose"]).data)
    assert meaning.unknown == ("unheardof",)
    printed = str(meaning)
    assert "from " in printed
    assert "the whole: " in printed
    assert "unknown words, skipped: unheardof" in printed
    frame = meaning.to_frame("shares")
    sums = frame.group_by("layer", "prototype").agg(pl.col("share").sum())
    sums = sums.sort("layer", "prototype")
    values = meaning.to_frame().join(sums, on=["layer", "prototype"]).sort("layer", "prototype")
    np.testing.assert_allclose(sums["share"], values["value"], atol=1e-12)
    whole = meaning.to_frame("words").group_by("layer").agg(pl.col("share").sum())
    assert whole["share"].to_list() == [pytest.approx(1), pytest.approx(1)]
    assert meaning.to_frame().shape == (2 * 8, 4)


def test_a_text_with_no_known_word_is_the_empty_one_and_says_so(model):
    meaning = model.explain("nasdak stokcs")
    assert meaning.is_bias
    assert meaning.unknown == ("nasdak", "stokcs")
    assert meaning.suggestions["nasdak"] == ["nasdaq"]
    assert "no word of it is known" in str(meaning)
    assert "nasdak (perhaps nasdaq)" in str(meaning)
    assert meaning.to_frame("words").shape == (0, 4)
    assert meaning.to_frame("shares").shape == (0, 4)
    for part, empty in zip(meaning, model.explain(""), strict=True):
        np.testing.assert_array_equal(part.values, empty.values)


@pytest.mark.parametrize("ask", ["explain", "similar_terms", "cohort"])
def test_an_unknown_word_is_an_error_with_near_spellings(model, ask):
    with pytest.raises(UnknownTermError, match="similar spellings: nasdaq") as caught:
        getattr(model, ask)("nasdak")
    assert caught.value.suggestions == ["nasdaq"]
    assert caught.value.term == "nasdak"
    assert isinstance(caught.value, ValueError)
    with pytest.raises(UnknownTermError, match="no term has a similar spelling"):
        getattr(model, ask)("zzzzzz")


def test_words_as_people_write_them(model):
    assert model.explain("NASDAQ").words == ("nasdaq",)
    assert model.similar_terms("Nasdaq!", 2) == model.similar_terms("nasdaq", 2)
    assert model.cohort("Oil", 2) == model.cohort("oil", 2)


@pytest.mark.parametrize("bad", [["oil"], 3, None, b"oil"])
def test_one_text_at_a_time(model, bad):
    with pytest.raises(DcotError, match="explain takes one text"):
        model.explain(bad)


def test_bad_requests(model):
    meaning = model.explain("oil")
    with pytest.raises(DcotError, match="k must be a positive integer"):
        model.explain("oil", k=0)
    with pytest.raises(DcotError, match="layer must be an integer from 1 to 2"):
        meaning.layer(3)
    with pytest.raises(DcotError, match="what must be 'prototypes'"):
        meaning.to_frame("all")
    with pytest.raises(DcotError, match="not fitted"):
        DCoTVectorizer().explain("oil")
    with pytest.raises(DcotError, match="not fitted"):
        DCoT().explain("oil")
    with pytest.raises(DcotError, match="leave names out"):
        model.similar_terms("oil", names=["a"])
    named = DCoT(3).fit(pd.DataFrame(MATRIX, columns=NAMES))
    with pytest.raises(DcotError, match="leave names out"):
        named.explain("oil", names=NAMES[::-1])


# -- rows and names -----------------------------------------------------------------------------

MATRIX = np.random.default_rng(0).poisson(0.7, (20, 5)).astype(float) + np.eye(20, 5)
NAMES = ["crude", "oil", "crude oil", "wheat", "corn"]


def test_rows_words_and_names_of_a_matrix_model():
    plain = DCoT(4, noise=0.5).fit(MATRIX)
    named = DCoT(4, noise=0.5).fit(pd.DataFrame(MATRIX, columns=NAMES))
    row = np.array([2.0, 0, 0, 1, 0])
    same = [
        plain.explain(row, names=NAMES),
        plain.explain(row[None, :], names=NAMES),
        plain.explain(sp.csr_array(row[None, :]), names=NAMES),
        plain.explain(["crude", "wheat", "crude"], names=NAMES),
        named.explain("crude wheat crude"),
        named.explain(pd.DataFrame(row[None, :], columns=NAMES)),
    ]
    for meaning in same:
        assert meaning.words == ("crude", "wheat")
        assert meaning.weights.tolist() == [2, 1]
        np.testing.assert_allclose(meaning.layer(2).values, same[0].layer(2).values)
    assert named.explain("crude oil").words == ("crude oil",)  # a term of its own
    assert plain.explain("x3").words == ("x3",)
    assert plain.explain(row * 0).is_bias
    with pytest.raises(UnknownTermError, match="similar spellings: corn"):
        named.explain("cornn")
    with pytest.raises(DcotError, match="inhomogeneous"):
        plain.explain([[1, 2], [3]])
    with pytest.raises(DcotError, match="explain takes one document, got 20"):
        plain.explain(MATRIX)
    with pytest.raises(DcotError, match="features"):
        plain.explain(row[:3])


def test_compressed_models_are_explained_by_what_they_compress():
    options = {"noise": 0.5, "random_state": 0}
    whole = DCoT(4, **options).fit(MATRIX)
    small = DCoT(4, n_components=2, **options).fit(MATRIX)
    for part, other in zip(whole.explain("x1"), small.explain("x1"), strict=True):
        np.testing.assert_array_equal(part.values, other.values)
    assert whole.similar_terms("x1") == small.similar_terms("x1")


def test_models_in_pieces_can_be_read():
    pieces = DCoT(4, noise=0.5).partial_fit(MATRIX[:9]).partial_fit(MATRIX[9:])
    whole = DCoT(4, noise=0.5).fit(MATRIX)
    for part, other in zip(pieces.explain("x1"), whole.explain("x1"), strict=True):
        np.testing.assert_allclose(part.values, other.values, atol=1e-9)


@pytest.mark.parametrize("mmap", [False, True])
def test_the_same_after_saving(model, tmp_path, mmap):
    model.save(tmp_path / "model")
    again = dcot.load(tmp_path / "model", mmap=mmap)
    for text in ("", "nasdaq", "crude oil rose"):
        assert str(again.explain(text)) == str(model.explain(text))
        assert again.explain(text).to_frame().equals(model.explain(text).to_frame())
    assert again.similar_terms("oil") == model.similar_terms("oil")
    assert again.cohort("oil") == model.cohort("oil")
    named = DCoT(4).fit(pd.DataFrame(MATRIX, columns=NAMES))
    named.save(tmp_path / "named")
    assert str(dcot.load(tmp_path / "named").explain("wheat")) == str(named.explain("wheat"))


# -- the classifier -----------------------------------------------------------------------------


def test_words_of_a_classifier(classifier):
    meaning = classifier.meaning("opec rose")
    assert meaning.words == ("opec", "rose")
    values = classifier.dcot_.layers_[0].coef_
    row = classifier.vectorizer_.weigh(["opec rose"])
    np.testing.assert_allclose(meaning.layer(1).values, np.sort((row @ values)[0])[::-1], atol=1e-6)
    assert classifier.similar_terms("Opec", 1).terms[0] in {"exports", "oil", "crude", "output"}
    assert classifier.cohort("oil", 20).title.startswith("translated into oil")
    assert classifier.explain("opec").target == "oil"  # decisions, as before
    with pytest.raises(UnknownTermError, match="nasdaq"):
        classifier.meaning("nasdak")
    with pytest.raises(DcotError, match="not fitted"):
        DCoTClassifier().meaning("oil")


def test_a_classifier_is_read_alike_after_saving(classifier, tmp_path):
    classifier.save(tmp_path / "classifier")
    again = dcot.load(tmp_path / "classifier")
    assert str(again.meaning("opec rose")) == str(classifier.meaning("opec rose"))
    assert str(again.explain("opec rose")) == str(classifier.explain("opec rose"))
    assert again.similar_terms("opec") == classifier.similar_terms("opec")
    assert again.cohort("oil", layer=1) == classifier.cohort("oil", layer=1)


def test_rows_of_a_classifier():
    y = [0, 1] + [None] * 18
    classifier = DCoTClassifier(selection="none").fit(MATRIX, y)
    assert classifier.meaning(MATRIX[0]).words == tuple(
        f"x{place}" for place in np.flatnonzero(MATRIX[0])
    )
    assert len(classifier.similar_terms("x2")) == 4
    named = classifier.similar_terms("oil", names=NAMES)
    assert set(named.terms) == set(NAMES) - {"oil"}
    assert classifier.meaning("wheat", names=NAMES).words == ("wheat",)
    assert classifier.meaning(MATRIX[0] * 0).is_bias


# -- for people ---------------------------------------------------------------------------------


def test_nothing_gets_into_the_page_unescaped(classifier):
    texts = [f"{NASTY} & oil", "oil & <b>", "oil"]
    options = {"token_pattern": r"\S+", "noise": 0.5}
    model = DCoTVectorizer(**options).fit(texts)
    shown = [
        model.explain(f"{NASTY} <i>new</i>"),
        model.explain("oil"),
        model.explain("<nope> <nada>"),
        model.similar_terms("oil"),
        model.cohort("oil"),
    ]
    for thing in shown:
        assert tags_of(thing._repr_html_()) <= TAGS
    assert "&lt;script&gt;" in shown[0]._repr_html_()
    labelled = DCoTClassifier(vectorizer=DCoTVectorizer(**options), selection="none")
    labelled.fit([*texts, f"{NASTY} wheat"], ["<u>", None, "b", None])
    assert tags_of(labelled.explain(f"{NASTY} oil", "<u>")._repr_html_()) <= TAGS


TAGS = {"div", "table", "caption", "thead", "tbody", "tr", "th", "td"}


def tags_of(page):
    """The tags of a page, after a look whether all that are opened are closed."""
    found, opened = set(), []

    class Parser(HTMLParser):
        def handle_starttag(self, tag, attributes):
            assert {name for name, _ in attributes} <= {"style"}
            found.add(tag)
            opened.append(tag)

        def handle_endtag(self, tag):
            assert opened.pop() == tag

    Parser().feed(page)
    assert not opened
    return found


def test_pages_have_no_colours_of_their_own(model):
    """Text inherits its colour and nothing is painted but half-transparent grey."""
    page = model.explain("crude oil")._repr_html_() + model.similar_terms("oil")._repr_html_()
    assert "color:inherit" in page
    assert "#" not in page.replace("&#x27;", "")
    assert {part.split(")")[0] for part in page.split("rgba(")[1:]} == {"128,128,128,.35"}


def test_rankings_are_lists_that_print(model):
    found = model.similar_terms("oil", 3)
    assert len(found) == 3
    assert found[0] == (found.terms[0], found.values[0])
    assert found[:2].terms == found.terms[:2]
    assert dict(found)[found.terms[1]] == found.values[1]
    assert str(found).splitlines()[0] == "nearest to oil (layer 2)"
    assert found.to_frame().columns == ["term", "similarity"]
    assert found.to_frame().shape == (3, 2)


def test_spellings_are_found_among_many_words():
    from dcot.explain.reader import near_spellings

    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = {"".join(rng.choice(letters, size)) for size in rng.integers(2, 12, 20_000)}
    words |= {"nasdaq", "petroleum", "Wheat"}
    for typed, meant in [
        ("nasdak", "nasdaq"),
        ("ansdaq", "nasdaq"),
        ("petrolum", "petroleum"),
        ("wheat", "Wheat"),
        ("wehat", "Wheat"),
    ]:
        assert near_spellings(typed, sorted(words))[0] == meant
    assert near_spellings("", ["a", "b"]) == []
    assert near_spellings("oil", []) == []


def test_names_that_are_numbers_are_text():
    X = np.array([[1.0, 1, 0, 0, 1], [0, 1, 1, 0, 0], [1, 0, 1, 1, 0]])
    model, names = DCoT(5, noise=0.5).fit(X), [1, 2, 3, 4, 50]
    assert model.explain("1", names=names).words == ("1",)
    assert "50" in str(model.similar_terms("1", names=names))
    assert model.similar_terms("1", names=names).terms == model.similar_terms(0, names=names).terms
    with pytest.raises(UnknownTermError, match="similar spellings: 1 "):
        model.explain("51", names=names)
