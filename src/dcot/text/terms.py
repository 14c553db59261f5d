"""Sets of terms as concatenated bytes, with a hash table.

Half a million bigrams are one array, not half a million Python strings.
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

# Hash tables are never stored or sent, so the seed does not change results.
SEED = np.uint64(int.from_bytes(os.urandom(8), "little"))
_FIRST_ROOM = 4096  # capacity of a new table in terms; it doubles when full


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
        return {**self.__dict__, "_slots": None}  # faster to build again than to store

    def strings(self) -> list[str]:
        """Return the terms as Python strings."""
        return Texts(self.arena, self.offsets).to_list()

    def lookup(self) -> tuple[npt.NDArray[np.uint64], Bytes, Ints, np.uint64]:
        """Return what the kernels need to find a term: slots, arena, offsets and hash seed."""
        if self._slots is None:
            hashes = kernels_terms.hash_terms(self.arena, self.offsets, SEED)
            self._slots = kernels_terms.build_slots(hashes, len(self), _slots_for(len(self)))
        return self._slots, self.arena, self.offsets, SEED

    def sorted_order(self) -> Ints:
        """Return the sort order of Python strings: UTF-8 bytes sort like code points."""
        keys = kernels_terms.prefixes(self.arena, self.offsets)
        order = np.argsort(keys)
        kernels_terms.settle_ties(order, keys, self.arena, self.offsets)
        return order

    def take(self, order: Ints) -> Terms:
        """Return the chosen terms in the chosen order."""
        return Terms(*kernels_terms.take_terms(self.arena, self.offsets, order))

    def find(self, other: Terms) -> npt.NDArray[np.int32]:
        """Return the number in this set of each term of ``other``, or -1 if it is not here.

        >>> Terms.from_strings(["tea", "cup"]).find(Terms.from_strings(["cup", "pot"])).tolist()
        [1, -1]
        """
        found = np.full(len(other), -1, dtype=np.int32)
        kernels_terms.find_terms(other.arena, other.offsets, *self.lookup(), found)
        return found

    def unknown_in(self, other: Terms) -> Ints:
        """Return the positions of the terms that ``other`` does not have."""
        return np.flatnonzero(other.find(self) < 0)

    def followed_by(self, other: Terms) -> Terms:
        """Return these terms followed by those of ``other``."""
        arena = np.concatenate([self.arena, other.arena])
        return Terms(arena, np.concatenate([self.offsets, other.offsets[1:] + self.offsets[-1]]))


class TermTable:
    """A growing table of terms in order of first occurrence, with their counts."""

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
        """Return the terms without a copy, so they are valid only until the table grows."""
        used = self.offsets[self.n_terms]
        return Terms(self.arena[:used], self.offsets[: self.n_terms + 1])

    def count(
        self, text: Bytes, starts: Any, ends: Any, first: Ints
    ) -> tuple[Ints, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Count the terms of each document and add new ones; return row bounds, terms, counts."""
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
        """Add terms, and return their numbers in this table."""
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
        """Double the capacity for terms or for bytes, whichever is full."""
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
    """Return a power of two that is at least twice the number of terms."""
    return 1 << max(2 * n_terms - 1, 7).bit_length()


def _doubled(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    larger = np.zeros(2 * len(array), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
