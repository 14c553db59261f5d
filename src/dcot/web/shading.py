"""A text in pieces, each with its share of a decision, for the page to shade."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from dcot.text import TermCounter

MAX_SHOWN = 20_000  # characters of a document that a page shows
_WORD = re.compile(r"\w+")

Piece = tuple[str, float]
Pieces = list[list[Piece]]


def shaded(text: str, shares: Callable[[Sequence[str]], Sequence[float]]) -> list[Piece]:
    """Pieces that make up the text (its beginning, if it is long); 0 where nothing counts.

    The largest share is scaled to 1 or −1.

    >>> shaded("Oil, oil!", lambda words: [2.0 if word.lower() == "oil" else 0 for word in words])
    [('Oil', 1.0), (', ', 0.0), ('oil', 1.0), ('!', 0.0)]
    """
    text = text[:MAX_SHOWN]
    matches = list(_WORD.finditer(text))
    words = list(dict.fromkeys(match.group() for match in matches))
    values = dict(zip(words, shares(words), strict=True))
    largest = max((abs(value) for value in values.values()), default=0.0) or 1.0
    pieces: list[Piece] = []
    end = 0
    for match in matches:
        share = round(values[match.group()] / largest, 2)
        if share:
            if match.start() > end:
                pieces.append((text[end : match.start()], 0.0))
            pieces.append((match.group(), share))
            end = match.end()
    if end < len(text) or not pieces:
        pieces.append((text[end:], 0.0))
    return pieces


def shares_of(
    counter: TermCounter, words: Sequence[str], shares: Mapping[int, float]
) -> list[float]:
    """The shares of the words of a text, by the columns of their terms."""
    if not words or not shares:
        return [0.0] * len(words)
    return [sum(shares.get(k, 0.0) for k in columns) for columns in _columns(counter, words)]


def all_shaded(counter: TermCounter, parts: Sequence[tuple[str, Mapping[int, float]]]) -> Pieces:
    """Several texts, each with its shares; their words are looked up together."""
    known = (text[:MAX_SHOWN] for text, shares in parts if shares)
    words = list(dict.fromkeys(word for text in known for word in _WORD.findall(text)))
    columns = dict(zip(words, _columns(counter, words), strict=True)) if words else {}

    def one(text: str, shares: Mapping[int, float]) -> list[Piece]:
        def of(names: Sequence[str]) -> list[float]:
            return [sum(shares.get(k, 0.0) for k in columns.get(word, ())) for word in names]

        return shaded(text, of)

    return [one(text, shares) for text, shares in parts]


def _columns(counter: TermCounter, words: Sequence[str]) -> list[list[int]]:
    """The columns of the terms in each word."""
    counts = counter.transform(list(words))
    columns, ends = counts.indices.tolist(), counts.indptr.tolist()
    return [columns[i:j] for i, j in pairwise(ends)]
