"""Sets of terms as bytes end to end: found by hash, sorted as Python sorts strings.

Half a million bigrams are one array here, not half a million Python strings.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dcot.text import kernels_terms
from dcot.text.batch import Texts

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Objects = npt.NDArray[np.object_]

# Hash tables are never stored or sent, so the seed changes no result.
SEED = np.uint64(int.from_bytes(os.urandom(8), "little"))
_FIRST_ROOM = 4096  # terms in a new table; it doubles when full


class Terms:
    """Distinct terms in a fixed order, with their hash table."""

    def __init__(self, arena: Bytes, offsets: Ints) -> None:
        self.arena = arena
        self.offsets = offsets
        self._slots: npt.NDArray[np.uint64] | None = None

    @classmethod
    def from_strings(cls, strings: Sequence[str]) -> Terms:
        """
        >>> Terms.from_strings(["tea", "thé"]).strings()
        ['tea', 'thé']
        """
        texts = Texts.of(strings)
        return cls(texts.data.copy(), texts.bounds)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_slots": None}  # quicker to rebuild than to store

    def strings(self) -> list[str]:
        """The terms as Python strings."""
        return Texts(self.arena, self.offsets).to_list()

    def lookup(self) -> tuple[npt.NDArray[np.uint64], Bytes, Ints, np.uint64]:
        """What the kernels need to find a term: slots, arena, offsets and the seed of hashes."""
        if self._slots is None:
            hashes = kernels_terms.hash_terms(self.arena, self.offsets, SEED)
            self._slots = kernels_terms.build_slots(hashes, len(self), _slots_for(len(self)))
        return self._slots, self.arena, self.offsets, SEED

    def sorted_order(self) -> Ints:
        """The order in which Python would sort the strings: bytes of UTF-8 sort as code points."""
        keys = kernels_terms.prefixes(self.arena, self.offsets)
        order = np.argsort(keys)
        kernels_terms.settle_ties(order, keys, self.arena, self.offsets)
        return order

    def take(self, order: Ints) -> Terms:
        """The chosen terms in the chosen order."""
        return Terms(*kernels_terms.take_terms(self.arena, self.offsets, order))

    def find(self, other: Terms) -> npt.NDArray[np.int32]:
        """The number here of each of the other's terms, -1 for those that are not here.

        >>> Terms.from_strings(["tea", "cup"]).find(Terms.from_strings(["cup", "pot"])).tolist()
        [1, -1]
        """
        found = np.full(len(other), -1, dtype=np.int32)
        kernels_terms.find_terms(other.arena, other.offsets, *self.lookup(), found)
        return found

    def unknown_in(self, other: Terms) -> Ints:
        """The positions of our terms that ``other`` does not have."""
        return np.flatnonzero(other.find(self) < 0)

    def followed_by(self, other: Terms) -> Terms:
        """Our terms, then the other's."""
        arena = np.concatenate([self.arena, other.arena])
        return Terms(arena, np.concatenate([self.offsets, other.offsets[1:] + self.offsets[-1]]))


class TermTable:
    """Terms in the order in which they were met, and how often: it grows."""

    def __init__(self) -> None:
        self.n_terms = 0
        self.hashes = np.zeros(_FIRST_ROOM, dtype=np.uint64)
        self.arena = np.zeros(8 * _FIRST_ROOM, dtype=np.uint8)
        self.offsets = np.zeros(_FIRST_ROOM + 1, dtype=np.int64)
        self.slots = np.zeros(_slots_for(_FIRST_ROOM), dtype=np.uint64)
        self.tallies = np.zeros(_FIRST_ROOM, dtype=np.int32)  # of one document, while counting
        self.documents = np.zeros(_FIRST_ROOM, dtype=np.int64)
        self.totals = np.zeros(_FIRST_ROOM, dtype=np.int64)

    @property
    def _table(self) -> tuple[Any, ...]:
        return self.slots, self.hashes, self.arena, self.offsets

    def terms(self) -> Terms:
        """The terms as they lie in the table: no copy, so not to be kept while it grows."""
        used = self.offsets[self.n_terms]
        return Terms(self.arena[:used], self.offsets[: self.n_terms + 1])

    def count(
        self, text: Bytes, starts: Any, ends: Any, first: Ints
    ) -> tuple[Ints, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Count the terms of each document, learning new ones: row bounds, terms, counts."""
        bounds = np.zeros(len(first), dtype=np.int64)
        terms = np.empty(len(starts), dtype=np.int32)
        counts = np.empty(len(starts), dtype=np.int32)
        progress = np.array([0, self.n_terms, 0], dtype=np.int64)
        done = False
        while not done:
            tallied = (self.tallies, self.documents, self.totals)
            done = kernels_terms.count_new(
                text, starts, ends, first, SEED, progress, self._table, *tallied, bounds, terms,
                counts,
            )  # fmt: skip
            self.n_terms = int(progress[1])
            if not done:
                self._grow()
        n = int(progress[2])
        return bounds, terms[:n].copy(), counts[:n].copy()

    def merge(self, other: Terms) -> npt.NDArray[np.int32]:
        """Add other terms; their numbers in this table."""
        hashes = kernels_terms.hash_terms(other.arena, other.offsets, SEED)
        numbers = np.empty(len(other), dtype=np.int32)
        progress = np.array([0, self.n_terms], dtype=np.int64)
        done = False
        while not done:
            done = kernels_terms.merge_terms(
                other.arena, hashes, other.offsets, progress, self._table, numbers
            )
            self.n_terms = int(progress[1])
            if not done:
                self._grow()
        return numbers

    def _grow(self) -> None:
        """Twice the room for terms or for bytes, whichever ran out."""
        if self.n_terms < len(self.hashes):
            self.arena = _doubled(self.arena)
            return
        self.hashes = _doubled(self.hashes)
        self.offsets = _doubled(self.offsets)[: len(self.hashes) + 1]
        self.tallies = _doubled(self.tallies)
        self.documents = _doubled(self.documents)
        self.totals = _doubled(self.totals)
        size = _slots_for(len(self.hashes))
        self.slots = kernels_terms.build_slots(self.hashes, self.n_terms, size)


def _slots_for(n_terms: int) -> int:
    """A power of two, at least twice as many slots as terms."""
    return 1 << max(2 * n_terms - 1, 7).bit_length()


def _doubled(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    larger = np.zeros(2 * len(array), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
