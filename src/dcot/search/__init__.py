"""Search: the documents nearest to a query, by meaning and by words."""

from __future__ import annotations

from dcot.search.index import RETRIEVAL, SearchIndex
from dcot.search.results import Hit, Hits, Results

__all__ = ["RETRIEVAL", "Hit", "Hits", "Results", "SearchIndex"]
