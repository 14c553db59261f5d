"""``dcot explore``: look at a model, an index or a corpus in the browser.

- ``subject`` is what is looked at, ``explorer`` what is computed about it in the background;
- ``projection`` places vectors on a plane, ``atlas`` makes a map of that: regions and columns;
- ``api`` has the operations and serves the page, ``export`` writes it into one file.
"""

from __future__ import annotations
