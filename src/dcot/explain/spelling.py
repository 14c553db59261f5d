"""What a word that is not known may have been meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from heapq import nlargest

# difflib compares carefully and slowly: it sees only those that share most letters and pairs
_COMPARED = 400


def near_spellings(word: str, terms: Iterable[str], k: int = 5) -> list[str]:
    """Terms spelled like a word, the nearest first.

    >>> near_spellings("nasdak", ["nasdaq", "oil", "nasal", "Nassau"])
    ['nasdaq', 'nasal', 'Nassau']
    """
    wanted = word.casefold()
    pieces = set(wanted) | {wanted[place : place + 2] for place in range(len(wanted) - 1)}
    reach = max(2, len(wanted) // 3)
    shortest, longest = len(wanted) - reach, len(wanted) + reach
    forms = {term.casefold(): term for term in terms if shortest <= len(term) <= longest}
    shared = [(sum([piece in form for piece in pieces]), form) for form in forms]
    likely = [form for _, form in nlargest(_COMPARED, shared, key=lambda entry: entry[0])]
    return [forms[form] for form in get_close_matches(wanted, likely, n=k, cutoff=0.65)]
