"""Explain a model: meanings of words and documents, similar terms, cohorts.

- ``reader``: ``Reader`` answers questions about a model, ``Readable`` has the estimators' methods;
- ``meaning``: the answers, which print as text and as tables;
- ``tracing``: follows a document through the layers and attributes values to its words;
- ``neighbours``: compares terms;
- ``showing``: formats numbers and tables.
"""

from __future__ import annotations

from dcot.explain.meaning import LayerMeaning, Meaning, RankedTerms
from dcot.explain.reader import Readable, Reader

__all__ = ["LayerMeaning", "Meaning", "RankedTerms", "Readable", "Reader"]
