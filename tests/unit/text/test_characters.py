"""The character tables and the lower-case kernel against Python, for every code point."""

import re
import unicodedata
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcot.text import TermCounter
from dcot.text import analysis as characters
from dcot.text.analysis import Analysis, compile_pattern
from dcot.text.inputs import Texts

CODES = [code for code in range(characters.N_CHARACTERS) if not 0xD800 <= code < 0xE000]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def lowered(texts):
    analysis = Analysis("word", compile_pattern(r"\S+"), True, None, False, None, (1, 1))
    text, bounds = analysis._normalised(Texts.of(texts))
    data = text.tobytes()
    return [data[i:j].decode() for i, j in pairwise(bounds)]


def test_lower_is_pythons_for_every_character():
    texts = [chr(code) for code in CODES if chr(code) != characters.CAPITAL_SIGMA]
    assert lowered(texts) == [text.lower() for text in texts]


def test_lower_is_pythons_for_every_character_between_letters():
    texts = [f"A{chr(code)}Z" for code in CODES if chr(code) != characters.CAPITAL_SIGMA]
    assert lowered(texts) == [text.lower() for text in texts]


@pytest.mark.parametrize("text", ["ΟΔΟΣ", "ΟΔΟΣ.", "ΣΑΣ Σ", "ΑΣ\u0301", "İIıi", "ẞß", "ǅ", "K"])
def test_lower_in_context(text):
    assert lowered([text, "AB", text + "Σ"]) == [text.lower(), "ab", (text + "Σ").lower()]


@settings(deadline=None)
@given(st.lists(TEXT, min_size=1))
def test_lower_of_any_text(texts):
    assert lowered(texts) == [text.lower() for text in texts]


def test_tables_say_what_python_says():
    word, space = characters.members(r"\w"), characters.space_table()
    marks = characters.marks()
    for code in CODES:
        char = chr(code)
        assert word[code] == (char.isalnum() or char == "_")
        assert space[code] == char.isspace()
        assert marks[code] == (unicodedata.category(char)[0] == "M")


def test_the_default_pattern_is_pythons_around_every_character():
    """Each character alone, doubled, inside a word and at its edges."""
    texts = [f"{c} {c}{c} a{c}b b{c} {c}b" for c in map(chr, CODES)]
    pattern = re.compile(r"(?u)\b\w\w+\b")
    analysis = TermCounter(lowercase=False)._analysis()
    spans = analysis.spans(Texts.of(texts))
    expected = [token for text in texts for token in pattern.findall(text)]
    data = spans.text.tobytes()
    found = [data[i:j].decode() for i, j in zip(spans.starts, spans.ends, strict=True)]
    assert found == expected
    assert np.array_equal(np.diff(spans.first), [len(pattern.findall(text)) for text in texts])
