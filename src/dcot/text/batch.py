"""``Texts``: documents as concatenated bytes, the form in which texts are counted and sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, overload

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts in UTF-8: text i is ``data[bounds[i]:bounds[i + 1]]``, and ``bounds[0]`` is 0.

    >>> texts = Texts.of(["tea", "thé", ""])
    >>> len(texts), texts.n_bytes, texts[1], texts[1:].to_list()
    (3, 7, 'thé', ['thé', ''])
    """

    data: Bytes
    bounds: Ints

    @classmethod
    def of(cls, strings: Sequence[str]) -> Texts:
        """Build from strings; raise ``TypeError`` or ``UnicodeEncodeError`` if one is not text."""
        joined = "".join(strings)
        if joined.isascii():
            return cls.cut(joined.encode(), list(map(len, strings)))
        encoded = [string.encode() for string in strings]
        return cls.cut(b"".join(encoded), list(map(len, encoded)))

    @classmethod
    def cut(cls, data: Any, lengths: npt.ArrayLike) -> Texts:
        """Build from a buffer with concatenated texts, and their lengths in bytes."""
        lengths = np.asarray(lengths, dtype=np.int64)
        bounds = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=bounds[1:])
        return cls(np.frombuffer(data, dtype=np.uint8), bounds)

    @classmethod
    def joined(cls, parts: Sequence[Texts]) -> Texts:
        """Concatenate the texts of all parts, in order."""
        if len(parts) == 1:
            return parts[0]
        lengths = [np.diff(part.bounds) for part in parts]
        data = b"".join([part.data.data for part in parts])
        return cls.cut(data, np.concatenate(lengths) if lengths else [])

    @property
    def n_bytes(self) -> int:
        """The size of all texts in bytes."""
        return int(self.bounds[-1])

    def to_list(self) -> list[str]:
        """Return the texts as Python strings."""
        data, cuts = self.data.tobytes(), self.bounds.tolist()
        if data.isascii():
            text = data.decode("ascii")
            return [text[i:j] for i, j in pairwise(cuts)]
        return [data[i:j].decode() for i, j in pairwise(cuts)]

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_list())

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Texts: ...
    def __getitem__(self, place: int | slice) -> str | Texts:
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            if step != 1:
                return Texts.of(self.to_list()[place])
            cuts = self.bounds[start : max(start, stop) + 1]
            return Texts(self.data[cuts[0] : cuts[-1]], cuts - cuts[0])
        start = range(len(self))[place]
        return self.data[self.bounds[start] : self.bounds[start + 1]].tobytes().decode()
