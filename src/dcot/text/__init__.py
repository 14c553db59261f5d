"""Turn documents into matrices: read texts, count their terms, weight the counts."""

from __future__ import annotations

from dcot.text.counter import TermCounter
from dcot.text.readers import TextFiles, TextSource, read_texts
from dcot.text.weighting import TermWeighting

__all__ = ["TermCounter", "TermWeighting", "TextFiles", "TextSource", "read_texts"]
