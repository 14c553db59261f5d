"""A text in pieces, each with its share of a decision, for the page to shade."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from dcot.text import TermCounter

MAX_SHOWN = 20_000  # characters of a document that a page shows
MAX_KNOWN = 200_000  # words whose columns are kept
_WORD = re.compile(r"\w+")

Piece = tuple[str, float]


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


class WordColumns:
    """The columns of the terms of words as they stand in texts; words seen before are kept."""

    def __init__(self, counter: TermCounter) -> None:
        self._counter = counter
        self._known: dict[str, list[int]] = {}

    def shares_of(self, words: Sequence[str], shares: Mapping[int, float]) -> list[float]:
        """The shares of words, by the columns of their terms."""
        if not words or not shares:
            return [0.0] * len(words)
        columns = self._columns(words)
        return [sum(shares.get(column, 0.0) for column in columns[word]) for word in words]

    def _columns(self, words: Sequence[str]) -> dict[str, list[int]]:
        known = self._known  # other threads may add to it, or replace it
        new = [word for word in words if word not in known]
        if new:
            if len(known) + len(new) > MAX_KNOWN:
                known = {word: known[word] for word in words if word in known}
            counts = self._counter.transform(new)
            rows = np.split(counts.indices, counts.indptr[1:-1])
            known.update(zip(new, (row.tolist() for row in rows), strict=True))
            self._known = known
        return known
