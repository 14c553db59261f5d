"""Compiled loops over terms: a hash table from byte strings to numbers, counting, sorting.

A set of terms is ``arena`` (their concatenated bytes) and ``offsets`` (the start of each). Its hash
table is ``slots``: 0 for an empty slot, else the upper half of the term's hash and, in the lower
half, its number plus one. The upper halves are compared first, then the bytes, so equal hashes cost
time but give no wrong result. ``seed`` differs between processes, so that nobody can choose words
whose hashes all collide.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dcot.runtime.compiling import compiled

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

kernel = compiled()

_PRIME = np.uint64(0x100000001B3)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_UPPER = np.uint64(0xFFFFFFFF00000000)
_LOWER = np.uint64(0x00000000FFFFFFFF)
_HALF = np.uint64(32)
_ONE = np.uint64(1)
_NONE = np.uint64(0)


@kernel
def hash_bytes(text: Bytes, start: int, end: int, seed: Any) -> Any:
    """Return the FNV-1a hash, mixed so that its upper and lower bits are both usable."""
    value = seed
    for i in range(np.uint64(start), np.uint64(end)):
        value = (value ^ np.uint64(text[i])) * _PRIME
    value = (value ^ (value >> _HALF)) * _MIX
    return value ^ (value >> _HALF)


@kernel
def find(
    text: Bytes, start: int, end: int, value: int, slots: Any, arena: Bytes, offsets: Ints
) -> Any:
    """Return the number of a term, or ``-1 - slot`` with the empty slot where it belongs.

    Indices are unsigned, because numba checks signed ones for being negative, which makes this loop
    take twice as long.
    """
    mask = np.uint64(len(slots) - 1)
    slot = value & mask
    begin, length = np.uint64(start), np.uint64(end - start)
    while True:
        held = slots[slot]
        if held == _NONE:
            return -1 - np.int64(slot)
        if (held ^ value) & _UPPER == _NONE:
            term = (held & _LOWER) - _ONE
            at = np.uint64(offsets[term])
            if np.uint64(offsets[term + _ONE]) - at == length:
                k = _NONE
                while k < length and arena[at + k] == text[begin + k]:
                    k += _ONE
                if k == length:
                    return np.int64(term)
        slot = (slot + _ONE) & mask


@kernel
def build_slots(hashes: Any, n_terms: int, size: int) -> Any:
    """Build a hash table of ``size`` (a power of two) slots over distinct terms."""
    slots = np.zeros(size, dtype=np.uint64)
    mask = np.uint64(size - 1)
    for term in range(n_terms):
        slot = hashes[term] & mask
        while slots[slot] != _NONE:
            slot = (slot + _ONE) & mask
        slots[slot] = (hashes[term] & _UPPER) | np.uint64(term + 1)
    return slots


@kernel
def hash_terms(arena: Bytes, offsets: Ints, seed: Any) -> Any:
    """Return the hash of every term."""
    hashes = np.empty(len(offsets) - 1, dtype=np.uint64)
    for term in range(len(hashes)):
        hashes[term] = hash_bytes(arena, offsets[term], offsets[term + 1], seed)
    return hashes


@kernel
def add_term(
    text: Bytes, start: int, end: int, value: int, slot: int, table: Any, n_terms: int
) -> bool:
    """Write a new term to its empty slot; return False if the table is full."""
    slots, hashes, arena, offsets = table
    begin = offsets[n_terms]
    if n_terms >= len(hashes) or begin + end - start > len(arena):
        return False
    for k in range(end - start):
        arena[begin + k] = text[start + k]
    offsets[n_terms + 1] = begin + end - start
    hashes[n_terms] = value
    slots[slot] = (value & _UPPER) | np.uint64(n_terms + 1)
    return True


@kernel
def count_new(
    text: Bytes,
    starts: Any,
    ends: Any,
    first: Ints,
    seed: Any,
    progress: Ints,
    table: Any,
    tallies: Any,
    documents: Ints,
    totals: Ints,
    bounds: Ints,
    terms: Any,
    counts: Any,
) -> bool:
    """Count the terms of each document and add new ones, until done or the table is full.

    ``progress`` holds the next document, the number of terms and the number of entries. Returns
    whether all documents are done; if not, the caller enlarges the table and calls again.
    """
    slots, _, arena, offsets = table
    n_terms, n = progress[1], progress[2]
    for doc in range(progress[0], len(first) - 1):
        row = n
        for k in range(first[doc], first[doc + 1]):
            start, end = starts[k], ends[k]
            value = hash_bytes(text, start, end, seed)
            term = find(text, start, end, value, slots, arena, offsets)
            if term < 0:
                if not add_term(text, start, end, value, -1 - term, table, n_terms):
                    for i in range(row, n):  # this document is counted again after growing
                        tallies[terms[i]] = 0
                    progress[:] = doc, n_terms, row
                    return False
                term = n_terms
                n_terms += 1
            if tallies[term] == 0:
                terms[n] = term
                n += 1
            tallies[term] += 1
        for k in range(row, n):
            term = np.int64(terms[k])
            counts[k] = tallies[term]
            documents[term] += 1
            totals[term] += tallies[term]
            tallies[term] = 0
        bounds[doc + 1] = n
    progress[:] = len(first) - 1, n_terms, n
    return True


@kernel
def count_known(
    text: Bytes,
    starts: Any,
    ends: Any,
    first: Ints,
    slots: Any,
    arena: Bytes,
    offsets: Ints,
    seed: Any,
    tallies: Any,
) -> tuple[Any, Any, Any]:
    """Count the known terms of each document; return row bounds, sorted terms and counts.

    ``tallies`` has one entry per known term, zero before and after.
    """
    bounds = np.zeros(len(first), dtype=np.int64)
    terms = np.empty(len(starts), dtype=np.int32)
    counts = np.empty(len(starts), dtype=np.int32)
    n = np.int64(0)
    for doc in range(len(first) - 1):
        row = n
        for k in range(first[doc], first[doc + 1]):
            value = hash_bytes(text, starts[k], ends[k], seed)
            term = find(text, starts[k], ends[k], value, slots, arena, offsets)
            if term >= 0:
                if tallies[term] == 0:
                    terms[n] = term
                    n += 1
                tallies[term] += 1
        terms[row:n].sort()
        for k in range(row, n):
            counts[k] = tallies[terms[k]]
            tallies[terms[k]] = 0
        bounds[doc + 1] = n
    return bounds, terms[:n].copy(), counts[:n].copy()


@kernel
def find_terms(
    text: Bytes, bounds: Ints, slots: Any, arena: Bytes, offsets: Ints, seed: Any, found: Any
) -> None:
    """Write the numbers of the known terms to ``found``; other entries are not changed."""
    for k in range(len(found)):
        value = hash_bytes(text, bounds[k], bounds[k + 1], seed)
        term = find(text, bounds[k], bounds[k + 1], value, slots, arena, offsets)
        if term >= 0:
            found[k] = term


@kernel
def drop_known(
    text: Bytes,
    starts: Any,
    ends: Any,
    first: Ints,
    slots: Any,
    arena: Bytes,
    offsets: Ints,
    seed: Any,
) -> Any:
    """Remove the spans of known terms (stop words) in place; return the new ``first``."""
    new_first = np.zeros_like(first)
    n = np.int64(0)
    for doc in range(len(first) - 1):
        for k in range(first[doc], first[doc + 1]):
            value = hash_bytes(text, starts[k], ends[k], seed)
            if find(text, starts[k], ends[k], value, slots, arena, offsets) < 0:
                starts[n] = starts[k]
                ends[n] = ends[k]
                n += 1
        new_first[doc + 1] = n
    return new_first


@kernel
def merge_terms(
    arena: Bytes, hashes: Any, offsets: Ints, progress: Ints, table: Any, numbers: Any
) -> bool:
    """Add terms to a table and write their numbers, until done or the table is full.

    ``progress`` holds the next term to add and the number of terms in the table.
    """
    n_terms = progress[1]
    for term in range(progress[0], len(numbers)):
        start, end, value = offsets[term], offsets[term + 1], hashes[term]
        number = find(arena, start, end, value, table[0], table[2], table[3])
        if number < 0:
            if not add_term(arena, start, end, value, -1 - number, table, n_terms):
                progress[:] = term, n_terms
                return False
            number = n_terms
            n_terms += 1
        numbers[term] = number
    progress[:] = len(numbers), n_terms
    return True


@kernel
def prefixes(arena: Bytes, offsets: Ints) -> Any:
    """Return the first eight bytes of every term as a number with the same sort order."""
    keys = np.zeros(len(offsets) - 1, dtype=np.uint64)
    for term in range(len(keys)):
        key = _NONE
        for k in range(8):
            key <<= np.uint64(8)
            if offsets[term] + k < offsets[term + 1]:
                key |= np.uint64(arena[offsets[term] + k])
        keys[term] = key
    return keys


@kernel
def comes_before(a: int, b: int, arena: Bytes, offsets: Ints) -> bool:
    """Whether term ``a`` sorts before term ``b``, byte by byte."""
    i, j = offsets[a], offsets[b]
    while i < offsets[a + 1] and j < offsets[b + 1]:
        if arena[i] != arena[j]:
            return bool(arena[i] < arena[j])
        i += 1
        j += 1
    return bool(offsets[a + 1] - offsets[a] < offsets[b + 1] - offsets[b])


@kernel
def merge_sort(order: Any, low: int, high: int, spare: Any, arena: Bytes, offsets: Ints) -> None:
    """Sort ``order[low:high]`` by the bytes of the terms, bottom up."""
    width = 1
    while width < high - low:
        for left in range(low, high, 2 * width):
            middle, right = min(left + width, high), min(left + 2 * width, high)
            i, j = left, middle
            for k in range(left, right):
                if j >= right or (
                    i < middle and not comes_before(order[j], order[i], arena, offsets)
                ):
                    spare[k] = order[i]
                    i += 1
                else:
                    spare[k] = order[j]
                    j += 1
        order[low:high] = spare[low:high]
        width *= 2


@kernel
def settle_ties(order: Any, keys: Any, arena: Bytes, offsets: Ints) -> None:
    """Finish a sort by prefixes: sort terms with the same first eight bytes."""
    spare = np.empty_like(order)
    low = 0
    while low < len(order):
        high = low + 1
        while high < len(order) and keys[order[high]] == keys[order[low]]:
            high += 1
        if high - low > 1:
            merge_sort(order, low, high, spare, arena, offsets)
        low = high


@kernel
def take_terms(arena: Bytes, offsets: Ints, order: Any) -> tuple[Any, Any]:
    """Return ``arena`` and ``offsets`` of the chosen terms, in the chosen order."""
    new_offsets = np.zeros(len(order) + 1, dtype=np.int64)
    for k in range(len(order)):
        new_offsets[k + 1] = new_offsets[k] + offsets[order[k] + 1] - offsets[order[k]]
    out = np.empty(new_offsets[-1], dtype=np.uint8)
    for k in range(len(order)):
        begin = offsets[order[k]]
        for i in range(new_offsets[k + 1] - new_offsets[k]):
            out[new_offsets[k] + i] = arena[begin + i]
    return out, new_offsets


@kernel
def renumber_rows(lengths: Ints, indices: Any, data: Any, columns: Any, values: Any) -> None:
    """Replace terms by sorted columns in each row, in place; terms with column -1 are dropped.

    ``lengths`` are the row lengths, before and after. ``values`` has one entry per column.
    """
    read, written = np.int64(0), np.int64(0)
    for row in range(len(lengths)):
        start = written
        for k in range(read, read + lengths[row]):
            column = np.int64(columns[indices[k]])
            if column >= 0:
                indices[written] = column
                values[column] = data[k]
                written += 1
        read += lengths[row]
        indices[start:written].sort()
        for k in range(start, written):
            data[k] = values[indices[k]]
        lengths[row] = written - start
