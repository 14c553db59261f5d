"""What each Unicode character is, asked of Python itself: tables for the compiled kernels.

Every table is computed from the running interpreter's own ``re``, ``str.lower`` and
``unicodedata``. Nothing is copied from a Unicode file, so that the kernels agree with this
Python, whichever version of Unicode it knows.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

BoolTable = npt.NDArray[np.bool_]
ByteTable = npt.NDArray[np.uint8]
CodeTable = npt.NDArray[np.uint32]

N_CHARACTERS = 0x110000
CAPITAL_I_WITH_DOT = "\u0130"  # the one character whose lower case is two characters
CAPITAL_SIGMA = "\u03a3"  # the one character whose lower case depends on its neighbours
JOINERS = "\u200c\u200d"  # zero width non-joiner and joiner: inside Persian and Indic words

# Bits of a token table, read by kernels_bytes.word_spans.
INSIDE = 1  # part of a run of token characters
START = 2  # a token may begin here
END = 4  # a token may end here
VETO = 8  # its whole run is not a token


@cache
def all_characters() -> str:
    """Every code point in order, surrogates included, as one string."""
    codes = np.arange(N_CHARACTERS, dtype="<u4")
    return codes.tobytes().decode("utf-32-le", "surrogatepass")


@lru_cache(maxsize=32)  # of patterns that users write, and a table is a megabyte
def members(one_character_pattern: str) -> BoolTable:
    """Which characters a one-character pattern matches, such as ``\\w`` or ``(?a:\\d)``."""
    table = np.zeros(N_CHARACTERS, dtype=np.bool_)
    for run in re.finditer(f"(?:{one_character_pattern})+", all_characters()):
        table[run.start() : run.end()] = True
    table.flags.writeable = False
    return table


@cache
def marks() -> BoolTable:
    """Combining marks: vowel signs, accents, variation selectors.

    Only the planes that hold any are asked; a test checks the others.
    """
    table = np.zeros(N_CHARACTERS, dtype=np.bool_)
    for start, stop in ((0, 0x20000), (0xE0000, 0xF0000)):
        is_mark = (unicodedata.category(chr(code))[0] == "M" for code in range(start, stop))
        table[start:stop] = np.fromiter(is_mark, dtype=np.bool_, count=stop - start)
    table.flags.writeable = False
    return table


@cache
def lower_table() -> CodeTable:
    """The lower case of each character up to the last that has one.

    ``CAPITAL_I_WITH_DOT`` and ``CAPITAL_SIGMA`` are not one character to one: the kernel writes
    out the first, and texts with the second go through ``str.lower``.
    """
    special = [ord(CAPITAL_I_WITH_DOT), ord(CAPITAL_SIGMA)]
    codes = np.delete(np.arange(N_CHARACTERS, dtype="<u4"), special)
    text = codes.tobytes().decode("utf-32-le", "surrogatepass")
    lowered = np.frombuffer(text.lower().encode("utf-32-le", "surrogatepass"), dtype="<u4")
    changed = codes[codes != lowered]
    table = np.arange(int(changed.max()) + 1, dtype=np.uint32)
    table[changed] = lowered[codes != lowered]
    return table


@cache
def space_table() -> ByteTable:
    """1 where ``str.isspace`` (and so ``\\s`` and ``str.split``) says yes."""
    return members(r"\s").astype(np.uint8)


def run_table(good: BoolTable, inside: BoolTable) -> ByteTable:
    """A token is a run of ``inside`` characters that are all ``good``."""
    table = np.zeros(N_CHARACTERS, dtype=np.uint8)
    table[inside] = INSIDE | VETO
    table[good & inside] = INSIDE | START | END
    return table


@cache
def unicode_word_table() -> ByteTable:
    """A word begins with a word character, keeps marks and joiners, ends with no joiner."""
    table = np.zeros(N_CHARACTERS, dtype=np.uint8)
    table[marks()] = INSIDE | END
    table[[ord(joiner) for joiner in JOINERS]] = INSIDE
    table[members(r"\w")] = INSIDE | START | END
    return table
