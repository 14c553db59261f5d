"""Figures, one per file. Each returns its matplotlib figure; nothing is shown or saved here.

Colours are apart for every kind of sight, and all are legible in black and white. They
need ``pip install "dcot[plots]"``.
"""

from __future__ import annotations

from dcot.plots._accuracy import accuracy_bars
from dcot.plots._curves import label_curves
from dcot.plots._document import document_layers
from dcot.plots._heatmap import noise_heatmap
from dcot.plots._map import term_map
from dcot.plots._selection import selection_results
from dcot.plots._words import word_columns

__all__ = [
    "accuracy_bars",
    "document_layers",
    "label_curves",
    "noise_heatmap",
    "selection_results",
    "term_map",
    "word_columns",
]
