r"""Find the terms of texts: lower case, accents, tokens, stop words, n-grams.

An ``Analysis`` defines how texts are split. ``Analysis.spans`` turns a slice of documents
into a buffer of bytes and, per document, the spans of its terms in the buffer.

Token patterns that are runs of one class of characters, such as the default pattern, ``[a-z]{3,}``
or ``\S+``, are found by a compiled loop, and all others by Python's ``re``. Both ways find the same
tokens.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dcot.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    OutOfMemoryError,
)
from dcot.text import kernels_bytes, kernels_terms
from dcot.text.inputs import Bytes, Ints, Texts
from dcot.text.terms import Int32s, Terms

Analyzer = Callable[[str], Iterable[str]]
BoolTable = npt.NDArray[np.bool_]
ByteTable = npt.NDArray[np.uint8]

DEFAULT_PATTERN = r"(?u)\b\w\w+\b"
UNICODE_PATTERN = "unicode"
MAX_PATTERN_CHARACTERS = 10_000
_MAX_SLICE_BYTES = 2**29  # spans are 32-bit, and lower-casing and padding may triple the size


@dataclass(frozen=True)
class Spans:
    """Terms of documents: ``text[starts[k]:ends[k]]``, ``first[i]:first[i + 1]`` in document i."""

    text: Bytes
    starts: Int32s
    ends: Int32s
    first: Ints
    n_stopped: int = 0


@dataclass(frozen=True)
class Analysis:
    """How texts become terms."""

    analyzer: str | Analyzer
    pattern: TokenPattern | None
    lowercase: bool
    strip_accents: Callable[[str], str] | None
    accents_of_ascii: bool  # whether strip_accents may change plain ASCII
    stop_words: Terms | None
    ngram_range: tuple[int, int]

    @property
    def runs_python(self) -> bool:
        """Whether a user's function is called, which may not be thread-safe."""
        return callable(self.analyzer) or self.accents_of_ascii

    def spans(self, documents: Texts) -> Spans:
        """Return the terms of a slice of documents."""
        try:
            return self._spans(documents)
        except MemoryError:
            raise OutOfMemoryError(
                f"the terms of {len(documents)} documents do not fit in memory with ngram_range="
                f"{self.ngram_range}: use shorter n-grams, or split long documents"
            ) from None

    def _spans(self, documents: Texts) -> Spans:
        if callable(self.analyzer):
            lists = [_checked_tokens(self.analyzer(doc)) for doc in documents.to_list()]
            return _spans_of_lists(lists)
        text, bounds = self._normalised(documents)
        if self.analyzer == "char":
            text, bounds = kernels_bytes.squeeze_spaces(text, bounds, space_table())
            return Spans(
                text, *kernels_bytes.character_ngrams(text, bounds, *self.ngram_range, False)
            )
        if self.analyzer == "char_wb":
            text, words, first_word = kernels_bytes.pad_words(text, bounds, space_table())
            starts, ends, first = kernels_bytes.character_ngrams(
                text, words, *self.ngram_range, True
            )
            return Spans(text, starts, ends, first[first_word])
        return self._word_grams(self._words(text, bounds))

    def _normalised(self, documents: Texts) -> tuple[Bytes, Ints]:
        """Return the text and its bounds, in lower case and without accents if requested."""
        if self.strip_accents is not None:
            return _copied(_column("strip_accents", self._without_accents(documents)))
        if not self.lowercase:
            return _copied(documents)
        data, bounds = _joined(documents)
        if CAPITAL_SIGMA.encode() in data:
            lowered = [doc.lower() for doc in documents.to_list()]
            return _copied(Texts.of(lowered))
        text = np.frombuffer(data, dtype=np.uint8)
        new_text, new_bounds = kernels_bytes.lower(text, bounds, lower_table())
        return new_text, new_bounds

    def _without_accents(self, documents: Texts) -> list[str]:
        assert self.strip_accents is not None
        texts = documents.to_list()
        if self.lowercase:
            texts = [doc.lower() for doc in texts]
        return [
            doc if doc.isascii() and not self.accents_of_ascii else self.strip_accents(doc)
            for doc in texts
        ]

    def _words(self, text: Bytes, bounds: Ints) -> Spans:
        """Tokens, before stop words and n-grams."""
        assert self.pattern is not None
        if isinstance(self.pattern, RunPattern):
            pattern = self.pattern
            return Spans(
                text, *kernels_bytes.word_spans(text, bounds, pattern.table, pattern.shortest)
            )
        data, cuts = text.tobytes(), bounds.tolist()
        find = self.pattern.findall
        return _spans_of_lists([find(data[i:j].decode()) for i, j in pairwise(cuts)])

    def _word_grams(self, words: Spans) -> Spans:
        text, starts, ends, first = words.text, words.starts, words.ends, words.first
        n_stopped = 0
        if self.stop_words is not None:
            first = kernels_terms.drop_known(text, starts, ends, first, *self.stop_words.lookup())
            n_stopped = len(starts) - int(first[-1])
            starts, ends = starts[: first[-1]], ends[: first[-1]]
        if self.ngram_range != (1, 1):
            text, starts, ends, first = kernels_bytes.word_ngrams(
                text, starts, ends, first, *self.ngram_range
            )
        return Spans(text, starts, ends, first, n_stopped)


def strip_accents_unicode(text: str) -> str:
    """Replace compatibility forms and accented letters by plain letters.

    >>> strip_accents_unicode("Žižek, ﬁn")
    'Zizek, fin'
    """
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def strip_accents_ascii(text: str) -> str:
    """Like ``strip_accents_unicode``, but also remove everything that is not ASCII.

    >>> strip_accents_ascii("naïve 中")
    'naive '
    """
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")


def _joined(texts: Texts) -> tuple[bytes, Ints]:
    """Return the bytes of the texts and their bounds; raise if there are too many."""
    if texts.n_bytes > _MAX_SLICE_BYTES:
        raise InvalidInputError(
            f"a document has {texts.n_bytes:,} bytes, more than the {_MAX_SLICE_BYTES:,} that one "
            "document may have: split it"
        )
    return texts.data.tobytes(), texts.bounds


def _copied(texts: Texts) -> tuple[Bytes, Ints]:
    """Like ``_joined`` with a writable array, which the kernels are compiled for."""
    data, bounds = _joined(texts)
    return np.frombuffer(data, dtype=np.uint8).copy(), bounds


def _spans_of_lists(lists: list[list[str]]) -> Spans:
    first = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum([len(tokens) for tokens in lists], out=first[1:])
    text, bounds = _copied(_column("analyzer", list(chain.from_iterable(lists))))
    cuts = bounds.astype(np.int32)
    return Spans(text, cuts[:-1].copy(), cuts[1:].copy(), first)


def _column(function: str, strings: list[str]) -> Texts:
    """Convert strings that a user's function returned to texts."""
    try:
        return Texts.of(strings)
    except (TypeError, AttributeError, UnicodeEncodeError):
        message = f"{function} returned something that is not text: return strings"
        raise InvalidTypeError(message) from None


def _checked_tokens(tokens: Any) -> list[str]:
    """Check what a callable analyzer returned, and return a list of strings."""
    if not isinstance(tokens, Iterable):
        raise InvalidTypeError(
            f"analyzer returned {type(tokens).__name__}, expected an iterable of strings"
        )
    result = list(tokens)
    for token in result:
        if not isinstance(token, str):
            raise InvalidTypeError(
                f"analyzer returned {token!r} of type {type(token).__name__}, expected strings: "
                "convert its terms with str()"
            )
    return result


# -- tables of characters --------------------------------------------------------------------------


N_CHARACTERS = 0x110000
CAPITAL_I_WITH_DOT = "\u0130"  # the one character whose lower case is two characters
CAPITAL_SIGMA = "\u03a3"  # the one character whose lower case depends on its neighbours
JOINERS = "\u200c\u200d"  # zero width non-joiner and joiner: inside Persian and Indic words

# Bits of a token table, read by kernels_bytes.word_spans.
INSIDE = 1  # part of a run of token characters
START = 2  # a token may begin here
END = 4  # a token may end here
VETO = 8  # a run that contains it is not a token


@cache
def all_characters() -> str:
    """Return all code points in order, including surrogates, as one string."""
    codes = np.arange(N_CHARACTERS, dtype="<u4")
    return codes.tobytes().decode("utf-32-le", "surrogatepass")


@lru_cache(maxsize=32)  # patterns come from users, and a table takes a megabyte
def members(one_character_pattern: str) -> BoolTable:
    """Return which characters match a one-character pattern, such as ``\\w`` or ``(?a:\\d)``."""
    table = np.zeros(N_CHARACTERS, dtype=np.bool_)
    for run in re.finditer(f"(?:{one_character_pattern})+", all_characters()):
        table[run.start() : run.end()] = True
    table.flags.writeable = False
    return table


@cache
def marks() -> BoolTable:
    """Return which characters are combining marks: vowel signs, accents, variation selectors.

    Only the planes that have marks are searched; a test checks the others.
    """
    table = np.zeros(N_CHARACTERS, dtype=np.bool_)
    for start, stop in ((0, 0x20000), (0xE0000, 0xF0000)):
        is_mark = (unicodedata.category(chr(code))[0] == "M" for code in range(start, stop))
        table[start:stop] = np.fromiter(is_mark, dtype=np.bool_, count=stop - start)
    table.flags.writeable = False
    return table


@cache
def lower_table() -> npt.NDArray[np.uint32]:
    """Return the lower case of each character, up to the last that has one.

    Two characters do not fit in the table: the kernel handles ``CAPITAL_I_WITH_DOT``, and texts
    with ``CAPITAL_SIGMA`` are lowered with ``str.lower``.
    """
    special = [ord(CAPITAL_I_WITH_DOT), ord(CAPITAL_SIGMA)]
    codes = np.delete(np.arange(N_CHARACTERS, dtype="<u4"), special)
    text = codes.tobytes().decode("utf-32-le", "surrogatepass")
    lowered = np.frombuffer(text.lower().encode("utf-32-le", "surrogatepass"), dtype="<u4")
    changed = codes[codes != lowered]
    table = np.arange(int(changed.max()) + 1, dtype=np.uint32)
    table[changed] = lowered[codes != lowered]
    return table


@cache
def space_table() -> ByteTable:
    """Return a table with 1 for whitespace, as in ``str.isspace``, ``\\s`` and ``str.split``."""
    return members(r"\s").astype(np.uint8)


def run_table(good: BoolTable, inside: BoolTable) -> ByteTable:
    """Return a table for tokens that are runs of ``inside`` characters, all of them ``good``."""
    table = np.zeros(N_CHARACTERS, dtype=np.uint8)
    table[inside] = INSIDE | VETO
    table[good & inside] = INSIDE | START | END
    return table


@cache
def unicode_word_table() -> ByteTable:
    """Return a table for words that start with a word character and may contain marks and joiners.

    A word does not end with a joiner.
    """
    table = np.zeros(N_CHARACTERS, dtype=np.uint8)
    table[marks()] = INSIDE | END
    table[[ord(joiner) for joiner in JOINERS]] = INSIDE
    table[members(r"\w")] = INSIDE | START | END
    return table


# -- token patterns -------------------------------------------------------------------------------

# One class of characters, and its repeat.
_PIECE = re.compile(
    r"""
    (?P<members> \\[wWdDsS] | \[ \^? \]? (?: \\. | [^\\\[\]] )* \] | [^\W_] | \. )
    (?P<repeat> \+ | \* | \{\d+(?:,\d*)?\} )?
    (?![+*?{])                                # neither lazy nor possessive
    """,
    re.VERBOSE,
)
_FLAGS = re.compile(r"\(\?([aus]+)\)")


@dataclass(frozen=True)
class RunPattern:
    """Tokens that are runs of characters, given by the bits in ``table``."""

    table: ByteTable
    shortest: int


TokenPattern = RunPattern | re.Pattern[str]


@lru_cache(maxsize=16)  # the tables are large, and ``transform`` is called often
def compile_pattern(token_pattern: str, min_word_length: int | None = None) -> TokenPattern:
    r"""Return the pattern as runs of characters if possible, else compiled by ``re``.

    >>> compile_pattern(r"[a-z]+").shortest
    1
    >>> compile_pattern(r"\w+(?=!)")
    re.compile('\\w+(?=!)')
    """
    if token_pattern == UNICODE_PATTERN:
        return RunPattern(unicode_word_table(), 2 if min_word_length is None else min_word_length)
    if min_word_length is not None:
        if token_pattern != DEFAULT_PATTERN:
            raise InvalidParameterError(
                f"min_word_length={min_word_length} works with the default token_pattern or with "
                f'"unicode", got token_pattern={_shown(token_pattern)}: write the length into the '
                r"pattern, as in r'\b\w{3,}\b'"
            )
        token_pattern = rf"(?u)\b\w{{{min_word_length},}}\b"
    python = _compiled(token_pattern)
    return _as_run(token_pattern) or python


def _compiled(token_pattern: str) -> re.Pattern[str]:
    if len(token_pattern) > MAX_PATTERN_CHARACTERS:
        raise InvalidParameterError(
            f"token_pattern has {len(token_pattern):,} characters, more than the "
            f"{MAX_PATTERN_CHARACTERS:,} allowed: use a function as analyzer instead"
        )
    try:
        python = re.compile(token_pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidParameterError(
            f"token_pattern={_shown(token_pattern)} is not a regular expression: {error}"
        ) from None
    if python.groups > 1:
        raise InvalidParameterError(
            f"token_pattern={_shown(token_pattern)} has {python.groups} capturing groups, expected "
            "at most one: write (?:...) for groups that only group"
        )
    return python


def _as_run(token_pattern: str) -> RunPattern | None:
    r"""Return the pattern as runs of one class, with ``\b`` on both sides or on none, or None."""
    flags = _FLAGS.match(token_pattern)
    body = token_pattern[flags.end() :] if flags else token_pattern
    bounded = len(body) > 4 and body.startswith(r"\b") and body.endswith(r"\b")
    pieces = _pieces(body[2:-2] if bounded else body)
    shortest = sum(low for _, low, _ in pieces)
    endless = any(high is None for _, _, high in pieces)
    if len({characters for characters, _, _ in pieces}) != 1 or not endless or not shortest:
        return None
    scope = "".join(flag for flag in "as" if flags and flag in flags[1])
    good, word = members(f"(?{scope}:{pieces[0][0]})"), members(rf"(?{scope}:\w)")
    if bounded and (good & ~word).any():
        return None
    return RunPattern(run_table(good, word if bounded else good), shortest)


def _pieces(body: str) -> list[tuple[str, int, int | None]]:
    """Return the classes of a pattern with their minimum and maximum repeats.

    The list is empty if the pattern has anything else.
    """
    pieces: list[tuple[str, int, int | None]] = []
    position = 0
    while position < len(body):
        piece = _PIECE.match(body, position)
        if piece is None:
            return []
        repeat = {"+": "{1,}", "*": "{0,}", None: "{1}"}.get(piece["repeat"], piece["repeat"])
        low, comma, high = repeat[1:-1].partition(",")
        pieces.append((piece["members"], int(low), int(high or low) if high or not comma else None))
        position = piece.end()
    return pieces


def _shown(token_pattern: str) -> str:
    shown = repr(token_pattern)
    return shown if len(shown) <= 200 else shown[:200] + "…"
