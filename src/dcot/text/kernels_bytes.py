"""Compiled loops over UTF-8 bytes: lower case, words, n-grams.

``text`` is the concatenation of all documents; document ``i`` is ``text[bounds[i]:bounds[i + 1]]``.
Terms are spans of a buffer, ``starts[k]:ends[k]``, and document ``i`` has the spans
``first[i]:first[i + 1]``. All kernels release the GIL, so that slices of a corpus run in parallel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dcot.runtime.compiling import compiled

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Spans = tuple[Any, Any, Any]  # starts, ends, first

kernel = compiled()


@kernel
def decode(text: Bytes, i: int) -> tuple[Any, int]:
    """Return the code point at byte ``i`` of valid UTF-8, and its number of bytes."""
    byte = np.int64(text[i])
    if byte < 0x80:
        return byte, 1
    if byte < 0xE0:
        return (byte & 0x1F) << 6 | np.int64(text[i + 1]) & 0x3F, 2
    if byte < 0xF0:
        code = (byte & 0x0F) << 12 | (np.int64(text[i + 1]) & 0x3F) << 6
        return code | np.int64(text[i + 2]) & 0x3F, 3
    code = (byte & 0x07) << 18 | (np.int64(text[i + 1]) & 0x3F) << 12
    code |= (np.int64(text[i + 2]) & 0x3F) << 6
    return code | np.int64(text[i + 3]) & 0x3F, 4


@kernel
def encode(code: int, out: Bytes, j: int) -> int:
    """Write a code point to ``out[j:]``; return the number of bytes written."""
    if code < 0x80:
        out[j] = code
        return 1
    if code < 0x800:
        out[j] = 0xC0 | code >> 6
        out[j + 1] = 0x80 | code & 0x3F
        return 2
    if code < 0x10000:
        out[j] = 0xE0 | code >> 12
        out[j + 1] = 0x80 | code >> 6 & 0x3F
        out[j + 2] = 0x80 | code & 0x3F
        return 3
    out[j] = 0xF0 | code >> 18
    out[j + 1] = 0x80 | code >> 12 & 0x3F
    out[j + 2] = 0x80 | code >> 6 & 0x3F
    out[j + 3] = 0x80 | code & 0x3F
    return 4


@kernel
def lower_character(text: Bytes, i: int, out: Bytes, j: int, table: Any) -> tuple[int, int]:
    """Write the non-ASCII character at ``text[i]`` in lower case to ``out[j]``.

    Returns the numbers of bytes read and written.
    """
    code, width = decode(text, i)
    if code == 0x130:  # capital I with a dot: an i and a combining dot
        out[j] = 0x69
        return width, 1 + encode(0x307, out, j + 1)
    if code < len(table):
        code = np.int64(table[code])
    return width, encode(code, out, j)


@kernel
def lower_ascii(source: Bytes, target: Bytes) -> bool:
    """Lower ASCII letters; return whether all characters are ASCII.

    The loop has no branches, so that the compiler can use vector instructions.
    """
    high = np.uint8(0)
    for i in range(len(source)):
        byte = source[i]
        high |= byte
        target[i] = byte + (np.uint8(byte - np.uint8(65)) < np.uint8(26)) * np.uint8(32)
    return bool(high < 0x80)


@kernel
def lower(text: Bytes, bounds: Ints, table: Any) -> tuple[Any, Any]:
    """Lower texts without capital sigma; return the new text and its bounds."""
    out = np.empty(len(text), dtype=np.uint8)
    if lower_ascii(text, out):
        return out, bounds
    out = np.empty(len(text) + len(text) // 2 + 8, dtype=np.uint8)  # two bytes may become three
    new_bounds = np.zeros_like(bounds)
    j = np.int64(0)
    for doc in range(len(bounds) - 1):
        i, end = bounds[doc], bounds[doc + 1]
        if lower_ascii(text[i:end], out[j : j + end - i]):
            j += end - i
        else:
            while i < end:
                byte = text[i]
                if byte < 0x80:
                    out[j] = byte + (np.uint8(byte - np.uint8(65)) < np.uint8(26)) * np.uint8(32)
                    i += 1
                    j += 1
                else:
                    read, written = lower_character(text, i, out, j, table)
                    i += read
                    j += written
        new_bounds[doc + 1] = j
    return out[:j], new_bounds


@kernel
def one_run(text: Bytes, at: int, stop: int, table: Any) -> tuple[Any, ...]:
    """Read the run of token characters from byte ``at``.

    Returns the start and end of its token, the number of characters, the flags seen, and the end
    of the run.
    """
    i = np.int64(at)
    code, width = decode(text, i)
    flags = table[code]
    start, end, length, kept, seen = i, i, 0, 0, np.uint8(0)
    while flags & 1:
        seen |= flags
        if length == 0 and not flags & 2:  # a mark without a base character
            start = i + width
        else:
            length += 1
            if flags & 4:
                end, kept = i + width, length
        i += width
        if i >= np.int64(stop):
            break
        code, width = decode(text, i)
        flags = table[code]
    return np.uint64(start), np.uint64(end), kept, seen, np.uint64(i)


@kernel
def word_spans(text: Bytes, bounds: Ints, table: Any, shortest: int) -> Spans:
    """Return the runs of at least ``shortest`` token characters.

    ``table`` holds the bits defined in ``analysis``: INSIDE 1, START 2, END 4, VETO 8.
    """
    starts = np.empty(len(text) // max(shortest, 1) + len(bounds), dtype=np.int32)
    ends = np.empty_like(starts)
    first = np.zeros_like(bounds)
    quick = np.full(256, 255, dtype=np.uint8)  # by byte: flags of ASCII, 255 for the rest
    quick[:128] = table[:128]
    one = np.uint64(1)
    n = np.int64(0)
    for doc in range(len(bounds) - 1):
        # unsigned, because numba checks every signed index for being negative
        i, stop = np.uint64(bounds[doc]), np.uint64(bounds[doc + 1])
        while i < stop:
            flags = quick[text[i]]
            if flags == 0:
                i += one
                continue
            start = i
            while flags == 7:  # ASCII characters that may be anywhere in a token
                i += one
                flags = quick[text[i]] if i < stop else np.uint8(0)
            if flags == 0:
                if np.int64(i - start) >= shortest:
                    starts[n] = start
                    ends[n] = i
                    n += 1
                continue
            code, width = decode(text, start)
            if not table[code] & 1:
                i = start + np.uint64(width)
                continue
            start, end, kept, seen, i = one_run(text, start, stop, table)
            if kept >= shortest and kept > 0 and not seen & 8:
                starts[n] = start
                ends[n] = end
                n += 1
        first[doc + 1] = n
    return starts[:n].copy(), ends[:n].copy(), first


@kernel
def word_ngrams(
    text: Bytes, starts: Any, ends: Any, first: Ints, low: int, high: int
) -> tuple[Any, Any, Any, Any]:
    """Return n-grams of words as spans of a copy in which words are separated by one space."""
    size, n_grams = np.int64(0), np.int64(0)
    for k in range(len(starts)):
        size += ends[k] - starts[k] + 1
    for doc in range(len(first) - 1):
        n_words = first[doc + 1] - first[doc]
        for n in range(low, min(high, n_words) + 1):
            n_grams += n_words - n + 1
    out = np.empty(size, dtype=np.uint8)
    new_starts = np.empty(len(starts), dtype=np.int32)
    j = 0
    for k in range(len(starts)):
        new_starts[k] = j
        for i in range(starts[k], ends[k]):
            out[j] = text[i]
            j += 1
        out[j] = 32
        j += 1
    gram_starts = np.empty(n_grams, dtype=np.int32)
    gram_ends = np.empty(n_grams, dtype=np.int32)
    gram_first = np.zeros_like(first)
    g = np.int64(0)
    for doc in range(len(first) - 1):
        for n in range(low, min(high, first[doc + 1] - first[doc]) + 1):
            for k in range(first[doc], first[doc + 1] - n + 1):
                last = k + n - 1
                gram_starts[g] = new_starts[k]
                gram_ends[g] = new_starts[last] + ends[last] - starts[last]
                g += 1
        gram_first[doc + 1] = g
    return out, gram_starts, gram_ends, gram_first


@kernel
def squeeze_spaces(text: Bytes, bounds: Ints, space: Any) -> tuple[Any, Any]:
    """Replace each run of two or more whitespace characters by one space."""
    out = np.empty(len(text), dtype=np.uint8)
    new_bounds = np.zeros_like(bounds)
    j = np.int64(0)
    for doc in range(len(bounds) - 1):
        i, stop = bounds[doc], bounds[doc + 1]
        run_start, run_length = j, 0
        while i < stop:
            code, width = decode(text, i)
            if space[code]:
                if run_length == 0:
                    run_start = j
                run_length += 1
            else:
                run_length = 0
            if run_length > 1:
                out[run_start] = 32
                j = run_start + 1
            else:
                for k in range(width):
                    out[j + k] = text[i + k]
                j += width
            i += width
        new_bounds[doc + 1] = j
    return out[:j], new_bounds


@kernel
def pad_words(text: Bytes, bounds: Ints, space: Any) -> tuple[Any, Any, Any]:
    """Copy every word of ``str.split`` with a space before and after.

    Returns the copy, the bounds of the padded words in it, and the first word of each document.
    """
    out = np.empty(2 * len(text) + 2 * len(bounds), dtype=np.uint8)
    word_bounds = np.zeros(len(text) // 2 + len(bounds) + 1, dtype=np.int64)
    first = np.zeros_like(bounds)
    j, n = np.int64(0), np.int64(0)
    for doc in range(len(bounds) - 1):
        i, stop = bounds[doc], bounds[doc + 1]
        inside = False
        while i < stop:
            code, width = decode(text, i)
            if space[code]:
                if inside:
                    out[j] = 32
                    j += 1
                    n += 1
                    word_bounds[n] = j
                inside = False
            else:
                if not inside:
                    out[j] = 32
                    j += 1
                inside = True
                for k in range(width):
                    out[j + k] = text[i + k]
                j += width
            i += width
        if inside:
            out[j] = 32
            j += 1
            n += 1
            word_bounds[n] = j
        first[doc + 1] = n
    return out[:j], word_bounds[: n + 1].copy(), first


@kernel
def character_ngrams(text: Bytes, bounds: Ints, low: int, high: int, whole: bool) -> Spans:
    """Return n-grams of the characters between consecutive bounds.

    With ``whole``, a piece of at most n characters is one n-gram, counted once for all n, as
    ``char_wb`` does with short words.
    """
    marks = np.empty(len(text) + 1, dtype=np.int32)  # start of each character
    piece = np.zeros_like(bounds)
    m = np.int64(0)
    for p in range(len(bounds) - 1):
        for i in range(bounds[p], bounds[p + 1]):
            if text[i] & 0xC0 != 0x80:
                marks[m] = i
                m += 1
        piece[p + 1] = m
    marks[m] = len(text)
    n_grams = np.int64(0)
    for p in range(len(bounds) - 1):
        length = piece[p + 1] - piece[p]
        most = min(high, length - 1 if whole else length)
        for n in range(low, most + 1):
            n_grams += length - n + 1
        n_grams += whole and most < high
    starts = np.empty(n_grams, dtype=np.int32)
    ends = np.empty(n_grams, dtype=np.int32)
    first = np.zeros_like(bounds)
    g = np.int64(0)
    for p in range(len(bounds) - 1):
        length = piece[p + 1] - piece[p]
        for n in range(low, min(high, length if not whole else high) + 1):
            if n >= length and whole:
                starts[g] = bounds[p]
                ends[g] = bounds[p + 1]
                g += 1
                break
            for k in range(piece[p], piece[p + 1] - n + 1):
                starts[g] = marks[k]
                ends[g] = marks[k + n]
                g += 1
        first[p + 1] = g
    return starts[:g], ends[:g], first
