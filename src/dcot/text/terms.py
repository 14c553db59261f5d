"""Sets of terms as concatenated bytes, with a hash table.

Half a million bigrams are one array, not half a million Python strings.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dcot.text import kernels_terms
from dcot.text.inputs import Bytes, Ints, Texts

Int32s = npt.NDArray[np.int32]

# Hash tables are never stored or sent, so the seed does not change results.
SEED = np.uint64(int.from_bytes(os.urandom(8), "little"))
_FIRST_ROOM = 4096  # capacity of a new table in terms; it doubles when full


@dataclass(frozen=True, eq=False)
class Terms(Texts):
    """Distinct terms in a fixed order, with their hash table."""

    @classmethod
    def of(cls, strings: Sequence[str]) -> Terms:
        """
        >>> Terms.of(["tea", "thé"]).to_list()
        ['tea', 'thé']
        """
        texts = Texts.of(strings)
        return cls(texts.data.copy(), texts.bounds)

    def __getstate__(self) -> dict[str, Any]:
        return {"data": self.data, "bounds": self.bounds}  # the slots are fast to build again

    @cached_property
    def _slots(self) -> npt.NDArray[np.uint64]:
        hashes = kernels_terms.hash_terms(self.data, self.bounds, SEED)
        return np.asarray(kernels_terms.build_slots(hashes, len(self), _slots_for(len(self))))

    def lookup(self) -> tuple[npt.NDArray[np.uint64], Bytes, Ints, np.uint64]:
        """Return what the kernels need to find a term: slots, data, bounds and hash seed."""
        return self._slots, self.data, self.bounds, SEED

    def sorted_order(self) -> Ints:
        """Return the sort order of Python strings: UTF-8 bytes sort like code points."""
        keys = kernels_terms.prefixes(self.data, self.bounds)
        order = np.argsort(keys)
        kernels_terms.settle_ties(order, keys, self.data, self.bounds)
        return order

    def take(self, order: Ints) -> Terms:
        """Return the chosen terms in the chosen order."""
        return Terms(*kernels_terms.take_terms(self.data, self.bounds, order))

    def find(self, other: Terms) -> Int32s:
        """Return the number in this set of each term of ``other``, or -1 if it is not here.

        >>> Terms.of(["tea", "cup"]).find(Terms.of(["cup", "pot"])).tolist()
        [1, -1]
        """
        found = np.full(len(other), -1, dtype=np.int32)
        kernels_terms.find_terms(other.data, other.bounds, *self.lookup(), found)
        return found

    def extended(self, other: Terms) -> tuple[Terms, Int32s]:
        """Return these terms followed by the new ones of ``other``, which are sorted.

        The second result is the number of each term of ``other`` in the larger set.

        >>> larger, numbers = Terms.of(["tea"]).extended(Terms.of(["pot", "tea", "cup"]))
        >>> larger.to_list(), numbers.tolist()
        (['tea', 'cup', 'pot'], [2, 0, 1])
        """
        numbers = self.find(other)
        unknown = np.flatnonzero(numbers < 0)
        if not len(unknown):
            return self, numbers
        new = other.take(unknown)
        order = new.sorted_order()
        numbers[unknown[order]] = len(self) + np.arange(len(order), dtype=np.int32)
        new = new.take(order)
        data = np.concatenate([self.data, new.data])
        return Terms(data, np.concatenate([self.bounds, new.bounds[1:] + self.bounds[-1]])), numbers


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

    def counted(self) -> tuple[Terms, Ints, Ints]:
        """Return the terms, their document frequencies and total counts.

        They are views of the table, so they are valid only until it grows.
        """
        n = self.n_terms
        terms = Terms(self.arena[: self.offsets[n]], self.offsets[: n + 1])
        return terms, self.documents[:n], self.totals[:n]

    def __getstate__(self) -> dict[str, Any]:  # the seed of the slots is not sent
        terms, documents, totals = self.counted()
        return {"terms": (terms.data.copy(), terms.bounds.copy(), documents.copy(), totals.copy())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        TermTable.__init__(self)
        data, bounds, documents, totals = state["terms"]
        self.merge(Terms(data, bounds), documents, totals)

    def count(
        self, text: Bytes, starts: Any, ends: Any, first: Ints
    ) -> tuple[Ints, Int32s, Int32s]:
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

    def merge(self, other: Terms, documents: Ints, totals: Ints) -> Int32s:
        """Add terms with their counts, and return their numbers in this table."""
        hashes = kernels_terms.hash_terms(other.data, other.bounds, SEED)
        numbers = np.empty(len(other), dtype=np.int32)
        progress = np.array([0, self.n_terms], dtype=np.int64)
        done = False
        while not done:
            done = kernels_terms.merge_terms(
                other.data, hashes, other.bounds, progress, self._table, numbers
            )
            self.n_terms = int(progress[1])
            if not done:
                self._grow()
        self.documents[numbers] += documents
        self.totals[numbers] += totals
        return numbers

    def _grow(self) -> None:
        """Double the capacity for terms or for bytes, whichever is full."""
        if self.n_terms < len(self.hashes):
            self.arena = _doubled(self.arena)
            return
        for name in ("hashes", "offsets", "tallies", "documents", "totals"):
            setattr(self, name, _doubled(getattr(self, name)))
        self.offsets = self.offsets[: len(self.hashes) + 1]
        size = _slots_for(len(self.hashes))
        self.slots = kernels_terms.build_slots(self.hashes, self.n_terms, size)


def _slots_for(n_terms: int) -> int:
    """Return a power of two that is at least twice the number of terms."""
    return 1 << max(2 * n_terms - 1, 7).bit_length()


def _doubled(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    larger = np.zeros(2 * len(array), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
