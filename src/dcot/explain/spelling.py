"""What a word that is not known may have been meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from heapq import nlargest

# difflib compares carefully and slowly: it sees only so many, those that share most letters
_COMPARED = 400


def near_spellings(word: str, terms: Iterable[str], k: int = 5) -> list[str]:
    """Terms spelled like a word, the nearest first.

    >>> near_spellings("nasdak", ["nasdaq", "oil", "nasal", "Nassau"])
    ['nasdaq', 'nasal', 'Nassau']
    """
    wanted = word.casefold()
    pieces = _pieces(wanted)
    reach = max(2, len(wanted) // 3)
    alike = (term for term in terms if abs(len(term) - len(wanted)) <= reach)
    scored = [(len(pieces & _pieces(term.casefold())), term) for term in alike]
    likely = nlargest(_COMPARED, scored, key=lambda entry: entry[0])
    by_form: dict[str, str] = {}
    for _, term in likely:
        by_form.setdefault(term.casefold(), term)
    return [by_form[form] for form in get_close_matches(wanted, list(by_form), n=k, cutoff=0.65)]


def _pieces(word: str) -> set[str]:
    """Letters, and pairs of neighbours."""
    return set(word) | {word[place : place + 2] for place in range(len(word) - 1)}
