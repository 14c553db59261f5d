"""Pages in the browser: label a corpus, and look at what a model has learned.

Needs the extra ``explore``: ``pip install "dcot[explore]"``.
"""

from __future__ import annotations
