"""TermCounter against CountVectorizer, number by number: real corpora, all kinds of Unicode."""

import html
import json
import os
import re
import tarfile
import warnings
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from dcot.text import TermCounter, TermWeighting

TORTURE = [
    "",
    " \t\n\r\x0b\x0c\x1c\x85\xa0\u2003\u2028\u3000",
    "The Quick  brown\n\nfox; the LAZY_dog 42 x 1st.",
    "İstanbul IĞDIR ıssız DİYARBAKIR İ",
    "ΟΔΥΣΣΕΥΣ ΣΑΣ ΑΣ. Σ ΑΣ\u0301 aΣ\u00adb ΣΣ",
    "Straße STRASSE ẞ ﬁne ﬀ ſharp Ångström \u212b \u212a Kelvin",
    "e\u0301te\u0301 nai\u0308ve \u0301lone x\u0338y",
    "हिन्दी में लिखा हुआ है, क्\u200dष",
    "می\u200cخواهم کتاب‌ها العَرَبِيَّة \u0640\u0640",
    "中文沒有空格 日本語のテキスト 한국어 텍스트",
    "x² y³ ½ ⅷ Ⅷ ① ٣٤ ４２ ៤ 𝟘𝟙 a₁b₂",
    "a_b _ __ ‿ a‿b ⁀ ﹏ foo_bar_",
    "👩\u200d💻 👍🏽 🇩🇪 ❤\ufe0f 1\ufe0f\u20e3 :-)",
    "\u200b\u200c\u200d\u2060\ufeff a\u200bb a\u2060b",
    "Ⱥȿ ȾⱦẠ Ꭰꭰ ᲐაႠⴀ Ǆǅǆ 𐐀𐐨 𞤀𞤢",
    "null\0byte a\0b \x7f \x01x",
    "don't can't l'été rock'n'roll e-mail state-of-the-art",
    "a b c d i",
    "\U000e0041 \U0010ffff \ufffd \ufffe ab",
    "the of and to in is it",
]
TEXT = st.text(
    st.one_of(
        st.sampled_from("abAB12_ \n\t'-éÉİΣσßﬁ\u0301\u094d\u200d²中😀"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=40,
)


def same(theirs, ours):
    theirs = theirs.copy()
    theirs.sort_indices()
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    for name in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(theirs, name), getattr(ours, name)), name


def compare(texts, again=None, **parameters):
    """The same matrix, names and second matrix, or an error from both."""
    theirs, ours = CountVectorizer(**parameters), TermCounter(**parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = theirs.fit_transform(texts)
        except ValueError:
            with pytest.raises(ValueError):
                ours.fit_transform(texts)
            return
        same(expected, ours.fit_transform(texts))
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    assert ours.vocabulary_ == theirs.vocabulary_
    for others in (texts, again or []):
        same(theirs.transform(others), ours.transform(others))


def grid(**values):
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


def name_of(parameters):
    return "-".join(getattr(value, "__name__", str(value)) for value in parameters.values())


@pytest.mark.parametrize(
    "parameters",
    [
        *grid(
            lowercase=[True, False],
            strip_accents=[None, "ascii", "unicode", str.swapcase],
            stop_words=[None, "english", ["the", "été", "ς", "i̇"]],
            ngram_range=[(1, 1), (1, 3), (2, 2)],
        ),
        *grid(
            analyzer=["char", "char_wb"],
            lowercase=[True, False],
            strip_accents=[None, "unicode"],
            ngram_range=[(1, 1), (2, 3), (3, 3), (1, 6), (9, 9)],
        ),
        *grid(
            token_pattern=[
                r"\w+",
                r"(?u)\b\w+\b",
                r"[^,]+",
                r"\b[\w'-]+\b",
                r"\S+",
                r"\w",
                r"(?a)\w+",
            ],
            ngram_range=[(1, 1), (1, 2)],
        ),
        {"analyzer": str.split},
    ],
    ids=name_of,
)
def test_unicode_torture(parameters):
    compare(TORTURE, TORTURE[::-1], **parameters)


@pytest.mark.parametrize(
    "parameters",
    grid(
        min_df=[1, 2, 0.1, 0.0], max_df=[1.0, 5, 0.2, 1], max_features=[None, 1, 7, 40],
        binary=[False, True],
    ),
    ids=name_of,
)  # fmt: skip
def test_limits(parameters):
    texts = [" ".join(text.split()[:k]) for text in TORTURE for k in (1, 3, 9)]
    compare(texts, TORTURE, **parameters)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint16, np.float32, np.float64])
def test_types(dtype):
    compare(TORTURE, dtype=dtype, max_features=10)


@pytest.mark.parametrize(
    "vocabulary",
    [
        ["the", "naive", "zz"],
        {"the": 1, "fox": 0},
        {"été", "ab"},
        ["the quick", "quick", "fox"],
        [],
    ],
)
def test_fixed_vocabularies(vocabulary):
    compare(TORTURE, vocabulary=vocabulary, ngram_range=(1, 2))


@settings(deadline=None, max_examples=150)
@given(
    texts=st.lists(TEXT, max_size=6),
    again=st.lists(TEXT, max_size=3),
    analyzer=st.sampled_from(["word", "word", "char", "char_wb"]),
    low=st.integers(1, 3),
    more=st.integers(0, 2),
    lowercase=st.booleans(),
    strip_accents=st.sampled_from([None, "ascii", "unicode"]),
)
def test_any_texts(texts, again, low, more, **parameters):
    compare(texts, again, ngram_range=(low, low + more), **parameters)


def data_file(name):
    folder = os.environ.get("DCOT_DATA")
    if not folder:
        pytest.skip("DCOT_DATA is not set: it names the folder with the research corpora")
    path = Path(folder) / name
    if not path.exists():
        pytest.skip(f"DCOT_DATA has no {name}")
    return path


@cache
def reuters():
    texts = []
    with tarfile.open(data_file("reuters21578.tar.gz")) as archive:
        for member in sorted(archive.getnames()):
            if member.endswith(".sgm"):
                sgml = archive.extractfile(member).read().decode("latin-1")
                found = re.findall(r"<TEXT.*?>(.*?)</TEXT>", sgml, re.S)
                texts += [html.unescape(re.sub(r"<[^>]+>", " ", text)) for text in found]
    return texts


@cache
def corpus(name):
    if name == "reuters":
        return reuters()[::4]
    if name == "dmoz":
        lines = data_file("dmoz.tsv").read_text(encoding="utf-8").splitlines()[1::4]
        return [line.split("\t")[-1] for line in lines]
    lines = data_file("cranfield/corpus.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]


@pytest.mark.parametrize("name", ["reuters", "dmoz", "cranfield"])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"stop_words": "english", "min_df": 2, "max_df": 0.5, "max_features": 2000},
        {"ngram_range": (1, 2), "binary": True},
        {"analyzer": "char_wb", "ngram_range": (3, 3)},
        {"strip_accents": "unicode", "token_pattern": r"[a-z]{3,}"},
        {"token_pattern": r"\b[a-z]+(?:-[a-z]+)*\b"},
    ],
    ids=name_of,
)
def test_real_corpora(name, parameters):
    texts = corpus(name)
    compare(texts[::2], texts[1::40], **parameters)


@pytest.mark.parametrize("sublinear_tf", [True, False])
def test_tfidf_of_a_real_corpus(sublinear_tf):
    texts = corpus("cranfield")
    expected = TfidfVectorizer(sublinear_tf=sublinear_tf).fit_transform(texts)
    weighting = TermWeighting("tfidf", sublinear_tf=sublinear_tf)
    found = weighting.fit_transform(TermCounter().fit_transform(texts))
    assert abs(found - expected).max() < 1e-12


def test_all_of_reuters():
    compare(reuters(), reuters()[:10])
