"""Figures, one a file. Each returns its matplotlib figure; nothing is shown or saved here."""

from __future__ import annotations

from dcot.plots._accuracy import accuracy_bars
from dcot.plots._words import word_columns

__all__ = ["accuracy_bars", "word_columns"]
