"""Figures. Each function returns its matplotlib figure; nothing is shown or saved here.

The colours are safe for colour-blind readers, and every figure also works in black and white.
Install matplotlib with ``pip install "dcot[plots]"``.
"""

from __future__ import annotations

from dcot.plots._accuracy import accuracy_bars, label_curves, noise_heatmap
from dcot.plots._map import term_map
from dcot.plots._selection import selection_results
from dcot.plots._words import document_layers, word_columns

__all__ = [
    "accuracy_bars",
    "document_layers",
    "label_curves",
    "noise_heatmap",
    "selection_results",
    "term_map",
    "word_columns",
]
