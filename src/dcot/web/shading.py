"""A text in pieces, each with its share of a decision, for the page to shade."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from dcot.text import TermCounter

MAX_SHOWN = 20_000  # characters of a document that a page shows
_WORD = re.compile(r"\w+")

Piece = tuple[str, float]
Shares = Mapping[int, float]  # by the columns of terms


def shaded(counter: TermCounter, parts: Sequence[tuple[str, Shares]]) -> list[list[Piece]]:
    """Pieces that make up each text (its beginning, if it is long); 0 where nothing counts.

    The largest share of a text is scaled to 1 or −1. The words of all texts are looked up together.

    >>> shaded(TermCounter(vocabulary=["oil"]), [("Oil, oil!", {0: 2.0})])
    [[('Oil', 1.0), (', ', 0.0), ('oil', 1.0), ('!', 0.0)]]
    """
    known = (text[:MAX_SHOWN] for text, shares in parts if shares)
    words = list(dict.fromkeys(word for text in known for word in _WORD.findall(text)))
    columns: dict[str, list[int]] = {}
    if words:
        counts = counter.transform(words)
        found, cuts = counts.indices.tolist(), pairwise(counts.indptr.tolist())
        columns = {word: found[i:j] for word, (i, j) in zip(words, cuts, strict=True)}
    return [_pieces(text[:MAX_SHOWN], shares, columns) for text, shares in parts]


def _pieces(text: str, shares: Shares, columns: Mapping[str, Sequence[int]]) -> list[Piece]:
    matches = list(_WORD.finditer(text))
    values = {
        word: sum(shares.get(column, 0.0) for column in columns.get(word, ()))
        for word in dict.fromkeys(match.group() for match in matches)
    }
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
