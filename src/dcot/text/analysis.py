"""Find the terms of texts: lower case, accents, tokens, stop words, n-grams.

An :class:`Analysis` defines how texts are split. :meth:`Analysis.spans` turns a slice of documents
into a buffer of bytes and, per document, the spans of its terms in the buffer.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dcot.errors import InvalidInputError, InvalidTypeError, OutOfMemoryError
from dcot.text import kernels_bytes, kernels_terms
from dcot.text.batch import Texts
from dcot.text.patterns import CAPITAL_SIGMA, RunPattern, TokenPattern, lower_table, space_table
from dcot.text.terms import Terms

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
Analyzer = Callable[[str], Iterable[str]]

_MAX_SLICE_BYTES = 2**29  # spans are 32-bit, and lower-casing and padding may triple the size
_SIGMA = CAPITAL_SIGMA.encode()


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
        if _SIGMA in data:
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


def _flat_spans(tokens: Texts, first: Ints) -> Spans:
    text, bounds = _copied(tokens)
    cuts = bounds.astype(np.int32)
    return Spans(text, cuts[:-1].copy(), cuts[1:].copy(), first)


def _spans_of_lists(lists: list[list[str]]) -> Spans:
    first = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum([len(tokens) for tokens in lists], out=first[1:])
    flat = [token for tokens in lists for token in tokens]
    return _flat_spans(_column("analyzer", flat), first)


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
