"""Token patterns: each way of running one finds what Python's re finds."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcot import DcotError
from dcot.errors import InvalidParameterError
from dcot.text import TermCounter
from dcot.text.analysis import RunPattern, compile_pattern
from dcot.text.inputs import Texts

RUNS = [
    r"(?u)\b\w\w+\b", r"\w+", r"(?a)\w+", r"\b\w{3,}\b", r"[a-z]+", r"\S+", r"[^\W\d_]{2,}",
    r"\b[a-zé]+\b", r"(?a)\b[a-z]{2,}\b", r"\d\d+", r"[^,\n]+", r"a+", r"[\w'-]+", r".+",
    r"(?s).+", r"[]a]+", r"[^]\\\]]+", r"\w{2}\w*", r"\b\w{1,2}\w+\b", r"[\W]{2,}", r"\S\S*",
]  # fmt: skip
SEARCHES = [
    r"\b[\w-]+\b", r"[a-z]+(?:-[a-z]+)*", r"\w\w|\d", r"\b\w{2,3}\b", r"\w+?\b", r"(?a)\b\w+",
    r"\w+\B", r"\b[a-z]+", r"#?\w+", r"(?:ab|a)b?", r"\A\w+", r"\w+\Z", r"[^\s\w]|\w+",
    r"\w{1,2}?\d", r"\b[^\W\d]\w+\b", r"\w{2,3}", r"\w+?", r"\w++", r"a\b", r"(?i)a+", r"\w*",
    r"[a-z]{2,}?", r"(?<=a)b", r"a(?!b)", r"(?i:a)b", r"ab$", r"(?>ab)c", r"#(\w+)", r"(?x) \w +",
]  # fmt: skip
CHARACTERS = "abzAZ09_ -'#,.\n\té²½ſΣςİ\u0301\u0940\u200c\u200d\u2160٣中ａ😀\U0001f1e6"
TEXT = st.text(st.one_of(st.sampled_from(CHARACTERS), st.characters(exclude_categories=["Cs"])))


def tokens(texts, **settings):
    spans = TermCounter(lowercase=False, **settings)._analysis().spans(Texts.of(texts))
    data = spans.text.tobytes()
    flat = [data[i:j].decode() for i, j in zip(spans.starts, spans.ends, strict=True)]
    return [flat[i:j] for i, j in zip(spans.first[:-1], spans.first[1:], strict=True)]


@pytest.mark.parametrize("pattern", [*RUNS, *SEARCHES])
@settings(max_examples=60, deadline=None)
@given(texts=st.lists(TEXT, min_size=1, max_size=4))
def test_tokens_are_those_of_python(pattern, texts):
    expected = [re.findall(pattern, text) for text in texts]
    assert tokens(texts, token_pattern=pattern) == expected


@pytest.mark.parametrize("pattern", RUNS)
def test_simple_patterns_run_in_the_compiled_loop(pattern):
    assert isinstance(compile_pattern(pattern), RunPattern)


@pytest.mark.parametrize("pattern", SEARCHES)
def test_other_patterns_run_in_python(pattern):
    assert compile_pattern(pattern) == re.compile(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["[", "(a)(b)", "a" * 10_001, "(?:" * 2000 + "a" + ")" * 2000, "a{99999999999}", None, 3],
    ids=["open", "groups", "long", "deep", "repeats", "None", "number"],
)
def test_what_is_no_pattern(pattern):
    with pytest.raises(DcotError, match="token_pattern"):
        TermCounter(token_pattern=pattern).fit(["ab"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("हिन्दी में है", ["हिन्दी", "में", "है"]),
        ("می\u200cخواهم کتاب\u200c", ["می\u200cخواهم", "کتاب"]),
        ("e\u0301te\u0301 \u0301a\u0301", ["e\u0301te\u0301", "a\u0301"]),
        ("👩\u200d💻 ok", ["ok"]),
        ("\u200d\u200c \u0301", []),
        ("a b cd", ["cd"]),
    ],
)
def test_unicode_words_keep_marks_and_joiners(text, words):
    assert tokens([text], token_pattern="unicode") == [words]


@settings(deadline=None)
@given(TEXT)
def test_unicode_words_without_marks_are_the_default_words(text):
    plain = "".join(char for char in text if re.match(r"[\w\s.,-]", char))
    assert tokens([plain], token_pattern="unicode") == tokens([plain])


@pytest.mark.parametrize("pattern", [r"(?u)\b\w\w+\b", "unicode"])
def test_words_of_one_character(pattern):
    assert tokens(["I am x"], token_pattern=pattern, min_word_length=1) == [["I", "am", "x"]]
    assert tokens(["I am xyz"], token_pattern=pattern, min_word_length=3) == [["xyz"]]


def test_min_word_length_and_a_pattern_of_ones_own():
    with pytest.raises(InvalidParameterError, match="write the length into the pattern"):
        TermCounter(token_pattern=r"\w+", min_word_length=1).fit(["a"])
    with pytest.raises(InvalidParameterError, match="min_word_length must be"):
        TermCounter(min_word_length=0).fit(["a"])
