"""A map: points on the unit square, regions named by their own words, and columns to colour by."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import AgglomerativeClustering, KMeans

from dcot.web.explore.projection import MAX_REFINED, place

Array = NDArray[Any]

MAX_DRAWN = 1_000_000  # documents; of more, a sample is drawn
MAX_REGIONS = 64  # at the finest level
REGION_DOCUMENTS = 25  # minimum in a region, on average
NAMING_SHARE = 0.05  # of all documents: words that more of them have name no region
LEVELS = (3, 2, 1)  # regions of the finest level in one of each level, from coarse to fine
MAX_CATEGORIES = 1000
MAX_LENGTH = 200  # characters of a category
MISSING_CODE = 65535  # the code of a missing value
MAX_REGION_POINTS = 50_000  # points that regions are found from


@dataclass(frozen=True)
class Region:
    """A part of the map and the words that set it apart; level 0 is the coarsest."""

    level: int
    x: float
    y: float
    size: int
    words: tuple[str, ...]


@dataclass(frozen=True)
class Atlas:
    """A map of documents.

    Attributes
    ----------
    rows : the documents that are drawn
    total : how many there are
    points : drawn documents × 2
    """

    rows: Array
    total: int
    points: Array
    regions: tuple[Region, ...]

    def as_json(self, columns: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        whole = np.round(self.points * 65535).astype("<u2")
        return {
            "n": len(self.rows),
            "total": self.total,
            "rows": None if len(self.rows) == self.total else packed(self.rows.astype("<u4")),
            "x": packed(whole[:, 0]),
            "y": packed(whole[:, 1]),
            "regions": [asdict(region) for region in self.regions],
            "columns": list(columns),
        }

    def chosen(self, mask: bytes) -> Array:
        """The rows of documents whose bits are set, the first in the lowest bit of a byte."""
        bits = np.unpackbits(np.frombuffer(mask, dtype=np.uint8), bitorder="little")
        return np.asarray(self.rows[np.flatnonzero(bits[: len(self.rows)])])


def draw_atlas(
    short: Array, X: Any, terms: Sequence[str], seed: int = 0, refined: int = MAX_REFINED
) -> Atlas:
    """A map of documents: by their principal components, named by their terms, CSR."""
    n = len(short)
    rows = np.arange(n)
    if n > MAX_DRAWN:
        rows = np.sort(np.random.RandomState(seed).permutation(n)[:MAX_DRAWN])
    points = place(short if len(rows) == n else short[rows], refined=refined, seed=seed)
    return Atlas(rows, n, points, _regions(X, rows, points, terms, seed))


def _regions(
    X: Any, rows: Array, points: Array, terms: Sequence[str], seed: int
) -> tuple[Region, ...]:
    """Regions at three levels, the finer ones inside the coarser."""
    k = min(MAX_REGIONS, len(rows) // REGION_DOCUMENTS)
    if k < 2 or len(np.unique(points, axis=0)) < k:
        return ()
    step = -(-len(points) // MAX_REGION_POINTS)
    means = KMeans(k, n_init=1, random_state=seed).fit(points[::step].astype(np.float64))
    fine = means.predict(points.astype(np.float64))
    having = _having(X, rows, fine, k)
    regions: list[Region] = []
    for level, share in enumerate(LEVELS):
        count = max(2, k // share)
        if regions and count <= max(2, k // LEVELS[level - 1]):
            continue
        joined = np.arange(k)
        if count < k:
            joined = AgglomerativeClustering(count).fit_predict(means.cluster_centers_)
        regions += _named(X, having, points, fine, joined, terms, level)
    return tuple(regions)


def _having(X: Any, rows: Array, fine: Array, k: int) -> Array:
    """How many documents of each part have each term: parts × terms, in one pass."""
    n = X.shape[0]
    members = sp.csr_array((np.ones(len(rows), dtype=np.int32), (fine, rows)), shape=(k, n))
    ones = np.ones(X.nnz, dtype=np.int32)
    return np.asarray((members @ sp.csr_array((ones, X.indices, X.indptr), X.shape)).toarray())


def _named(
    X: Any,
    having: Array,
    points: Array,
    fine: Array,
    joined: Array,
    terms: Sequence[str],
    level: int,
) -> list[Region]:
    """Regions of one level, each where most of it is; no two begin with the same word.

    ``fine`` are the parts of the points, ``joined`` the regions of these parts.
    """
    found, used = [], set()
    counts = np.bincount(fine, minlength=len(joined))
    sizes = np.bincount(joined, counts).astype(np.intp)
    frequency = np.bincount(X.indices, minlength=X.shape[1])
    for region in np.argsort(-sizes, kind="stable"):
        inside = having[joined == region].sum(axis=0)
        columns = _distinctive(inside, int(sizes[region]), frequency, X.shape[0], 24)[0]
        rare = columns[frequency[columns] <= max(NAMING_SHARE * X.shape[0], sizes[region])]
        words: list[str] = []
        for word in (terms[column] for column in (rare if len(rare) else columns)):
            if word not in used and not any(_kin(word, other) for other in words):
                words.append(word)
        words = words[:3]
        used.update(words[:1])
        largest = int(np.argmax(np.where(joined == region, counts, -1)))
        x, y = np.median(points[fine == largest], axis=0)
        found.append(Region(level, float(x), float(y), int(sizes[region]), tuple(words)))
    return found


def _kin(word: str, other: str) -> bool:
    """Whether two words are forms of one, or look like it.

    >>> _kin("patient", "patients"), _kin("train", "brain")
    (True, False)
    """
    length = max(4, min(len(word), len(other)) - 2)
    return word[:length] == other[:length]


def distinctive_terms(X: Any, rows: Array, k: int) -> tuple[Array, Array, Array]:
    """Terms that set documents apart from the others, and the shares of both that have them."""
    n, width = X.shape
    inside = np.bincount(X[rows].indices, minlength=width)
    everywhere = np.bincount(X.indices, minlength=width)
    return _distinctive(inside, len(rows), everywhere, n, k)


def _distinctive(
    inside: Array, size: int, everywhere: Array, n: int, k: int
) -> tuple[Array, Array, Array]:
    """The same from how many of ``size`` and of all ``n`` documents have each term.

    The ratio is squared: a rare word says more about a region than a frequent one that is somewhat
    more frequent there.
    """
    rate = inside / max(1, size)
    rate_outside = (everywhere - inside) / max(1, n - size)
    slack = 0.5 / n
    score = (rate - rate_outside) * np.log((rate + slack) / (rate_outside + slack)) ** 2
    score[rate <= rate_outside] = 0.0
    best = np.argsort(-score, kind="stable")[:k]
    best = best[score[best] > 0]
    return best, rate[best], rate_outside[best]


# -- columns ------------------------------------------------------------------------------------


def columns_of(
    named: Mapping[str, Sequence[str | None]], metadata: Sequence[Mapping[str, Any] | None]
) -> list[dict[str, Any]]:
    """Columns that a map can be coloured and filtered by, as codes with what they mean.

    Parameters
    ----------
    named : columns of classes
    metadata : more columns, by document
    """
    columns: dict[str, Sequence[Any]] = dict(named)
    names = dict.fromkeys(name for entry in metadata for name in entry or {})
    for name in names:
        columns.setdefault(str(name), [(entry or {}).get(name) for entry in metadata])
    made = (_column(name, values, name in named) for name, values in columns.items())
    return [column for column in made if column is not None]


def _column(name: str, values: Sequence[Any], is_class: bool) -> dict[str, Any] | None:
    """A column of dates, numbers or categories; None if it is none of them, such as a text."""
    there = [value for value in values if value is not None and value != ""]
    if not there:
        return None
    if not is_class:
        for kind, read in (("date", _day), ("number", _number)):
            numbers = [read(value) for value in values]
            known = [number for number in numbers if number is not None]
            if len(known) >= 0.95 * len(there) and len(set(known)) > 2:
                return _scale(name, kind, numbers, min(known), max(known))
    texts = [None if value is None or value == "" else str(value) for value in values]
    counts = Counter(text for text in texts if text is not None)
    if not is_class and len(counts) > max(20, len(there) // 2):
        return None
    order = [text for text, _ in counts.most_common(MAX_CATEGORIES)]
    place = {text: code for code, text in enumerate(order)}
    codes = [MISSING_CODE if text is None else place.get(text, MISSING_CODE) for text in texts]
    return {
        "name": name,
        "kind": "category",
        "values": [text[:MAX_LENGTH] for text in order],
        "counts": [counts[text] for text in order],
        "codes": packed(np.array(codes, dtype="<u2")),
    }


def _scale(name: str, kind: str, numbers: list[Any], low: float, high: float) -> dict[str, Any]:
    spread = (high / 2 - low / 2) or 1.0  # halves, because a difference may be infinite
    codes = [
        MISSING_CODE if one is None else round((one / 2 - low / 2) / spread * 65534)
        for one in numbers
    ]
    packed_codes = packed(np.array(codes, dtype="<u2"))
    return {"name": name, "kind": kind, "low": low, "high": high, "codes": packed_codes}


def _number(value: Any) -> float | None:
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if np.isfinite(found) else None


def _day(value: Any) -> float | None:
    """Days since 1970 of a date such as 1987, 1987-02 or 1987-02-26; None if it is none.

    >>> _day("1970-01-03"), _day("1970-01"), _day("1971"), _day(17)
    (2.0, 0.0, 365.0, None)
    """
    text = value.isoformat() if hasattr(value, "isoformat") else str(value)
    text = text.strip()[:10]
    if len(text) == 4 and text.isdigit() and 1000 <= int(text) <= 2999:
        text = f"{text}-01-01"
    elif len(text) == 7:
        text = f"{text}-01"
    try:
        return (
            float((date.fromisoformat(text) - date(1970, 1, 1)).days) if len(text) == 10 else None
        )
    except ValueError:
        return None


def packed(array: Array) -> str:
    """The bytes of an array in base64."""
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
