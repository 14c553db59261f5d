"""What a model has learned, for people to read: meanings of words, neighbours, cohorts.

- ``reader`` has the questions (``Reader``) and the methods that ask them (``Readable``);
- ``meaning`` has the answers, which print as text and as tables;
- ``tracing`` follows one document through the layers and attributes values to its words;
- ``neighbours`` compares terms; ``showing`` formats numbers and tables.
"""

from __future__ import annotations

from dcot.explain.meaning import LayerMeaning, Meaning, RankedTerms
from dcot.explain.reader import Readable, Reader

__all__ = ["LayerMeaning", "Meaning", "RankedTerms", "Readable", "Reader"]
