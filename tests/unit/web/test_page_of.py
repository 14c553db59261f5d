"""``model.explore(...)``: documents, labels and metadata as people give them."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from dcot import DCoTClassifier, DcotError, DCoTVectorizer

pytest.importorskip("starlette")

TEXTS = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat", "opec", "corn"]
LABELS = ["oil", "oil", "grain", "grain"]


@pytest.fixture(scope="module")
def classifier():
    return DCoTClassifier(random_state=0).fit(TEXTS, [*LABELS, None, None])


@pytest.fixture(scope="module")
def vectorizer():
    return DCoTVectorizer().fit(TEXTS)


def data_of(page):
    return json.loads(re.search(r'id="dcot-data">(.*?)</script>', page.html, re.DOTALL)[1])


@pytest.mark.parametrize("missing", [(np.nan, -1), (pd.NA, ""), (None, np.float32("nan"))], ids=str)
def test_unlabelled_documents_are_those_of_fit(classifier, missing):
    found = data_of(classifier.explore(TEXTS, [*LABELS, *missing]))
    plain = data_of(classifier.explore(TEXTS, [*LABELS, None, None]))
    assert found == plain


@pytest.mark.parametrize(
    ("documents", "options"),
    [
        ("crude oil", {}),
        ([None, "crude oil"], {}),
        (TEXTS, {"labels": ["a", "b"]}),
        (TEXTS, {"labels": ["a", "b"] * 5}),
        (TEXTS, {"metadata": [{"a": 1}]}),
        (TEXTS, {"metadata": ["x"] * 6}),
        (TEXTS, {"metadata": pd.DataFrame({"a": range(6)})}),
    ],
)
def test_what_cannot_be_shown_is_refused(vectorizer, documents, options):
    with pytest.raises(DcotError):
        vectorizer.explore(documents, **options)


def test_columns_of_any_size_are_shown(vectorizer):
    metadata = [{"size": size} for size in (-1e308, 0.0, 1e308, 1.0, 2.0, 3.0)]
    assert "size" in json.dumps(data_of(vectorizer.explore(pd.Series(TEXTS), metadata=metadata)))


def test_half_a_character_does_not_break_the_page(vectorizer, tmp_path):
    page = vectorizer.explore(TEXTS, ["a\ud800"] * 6, metadata=[{"b\ud800": "\ud800"}] * 6)
    page.save(tmp_path / "page.html")
    assert data_of(page)["documents"][0]["label"] == "a?"


def test_documents_have_the_probabilities_of_their_classes(classifier, vectorizer):
    found = [one["classes"] for one in data_of(classifier.explore(TEXTS))["documents"]]
    for classes, chances in zip(found, classifier.predict_proba(TEXTS), strict=True):
        expected = dict(zip(classifier.classes_.tolist(), chances.round(4), strict=True))
        assert {one["name"]: one["probability"] for one in classes} == pytest.approx(expected)
        assert [one["name"] for one in classes] == sorted(expected, key=expected.get)[::-1]
    assert not any(one["classes"] for one in data_of(vectorizer.explore(TEXTS))["documents"])


def test_documents_have_the_probabilities_of_a_classifier_with_an_encoder():
    model = DCoTClassifier(
        random_state=0, embedding=lambda texts: np.array([[len(t), t.count("o"), 1] for t in texts])
    ).fit(TEXTS, [*LABELS, None, None])
    found = [one["classes"] for one in data_of(model.explore(TEXTS))["documents"]]
    best = [classes[0]["probability"] for classes in found]
    assert best == pytest.approx(model.predict_proba(TEXTS).max(axis=1).round(4))
