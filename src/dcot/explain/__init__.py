"""What a model has learned, for people to read: meanings of words, neighbours, cohorts.

- ``tracing`` follows one document through the layers and hands shares back to its words;
- ``meaning`` and ``ranking`` hold what was found, and print it;
- ``reader`` asks the questions, ``readable`` makes them methods of the estimators;
- ``spelling`` finds what a word that is not known may have been meant to be.
"""

from __future__ import annotations

from dcot.explain.meaning import LayerMeaning, Meaning
from dcot.explain.ranking import RankedTerms

__all__ = ["LayerMeaning", "Meaning", "RankedTerms"]
