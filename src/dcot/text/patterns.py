r"""Token patterns: a compiled loop for simple ones, Python's ``re`` for all others.

Simple patterns are runs of one class of characters, such as the default pattern, ``[a-z]{3,}`` or
``\S+``. Both ways find the same tokens.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from dcot.errors import InvalidParameterError

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
VETO = 8  # a run that contains it is not a token


@cache
def all_characters() -> str:
    """Return all code points in order, including surrogates, as one string."""
    codes = np.arange(N_CHARACTERS, dtype="<u4")
    return codes.tobytes().decode("utf-32-le", "surrogatepass")


@lru_cache(maxsize=32)  # patterns come from users, and a table takes a megabyte
def members(one_character_pattern: str) -> BoolTable:
    """Return which characters match a one-character pattern, such as ``\\w`` or ``(?a:\\d)``."""
    table = np.zeros(N_CHARACTERS, dtype=np.bool_)
    for run in re.finditer(f"(?:{one_character_pattern})+", all_characters()):
        table[run.start() : run.end()] = True
    table.flags.writeable = False
    return table


@cache
def marks() -> BoolTable:
    """Return which characters are combining marks: vowel signs, accents, variation selectors.

    Only the planes that have marks are searched; a test checks the others.
    """
    table = np.zeros(N_CHARACTERS, dtype=np.bool_)
    for start, stop in ((0, 0x20000), (0xE0000, 0xF0000)):
        is_mark = (unicodedata.category(chr(code))[0] == "M" for code in range(start, stop))
        table[start:stop] = np.fromiter(is_mark, dtype=np.bool_, count=stop - start)
    table.flags.writeable = False
    return table


@cache
def lower_table() -> CodeTable:
    """Return the lower case of each character, up to the last that has one.

    Two characters do not fit in the table: the kernel handles ``CAPITAL_I_WITH_DOT``, and texts
    with ``CAPITAL_SIGMA`` are lowered with ``str.lower``.
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
    """Return a table with 1 for whitespace, as in ``str.isspace``, ``\\s`` and ``str.split``."""
    return members(r"\s").astype(np.uint8)


def run_table(good: BoolTable, inside: BoolTable) -> ByteTable:
    """Return a table for tokens that are runs of ``inside`` characters, all of them ``good``."""
    table = np.zeros(N_CHARACTERS, dtype=np.uint8)
    table[inside] = INSIDE | VETO
    table[good & inside] = INSIDE | START | END
    return table


@cache
def unicode_word_table() -> ByteTable:
    """Return a table for words that start with a word character and may contain marks and joiners.

    A word does not end with a joiner.
    """
    table = np.zeros(N_CHARACTERS, dtype=np.uint8)
    table[marks()] = INSIDE | END
    table[[ord(joiner) for joiner in JOINERS]] = INSIDE
    table[members(r"\w")] = INSIDE | START | END
    return table


DEFAULT_PATTERN = r"(?u)\b\w\w+\b"
UNICODE_PATTERN = "unicode"
MAX_PATTERN_CHARACTERS = 10_000

# One class of characters, and its repeat.
_PIECE = re.compile(
    r"""
    (?P<members> \\[wWdDsS] | \[ \^? \]? (?: \\. | [^\\\[\]] )* \] | [^\W_] | \. )
    (?P<repeat> \+ | \* | \{\d+(?:,\d*)?\} )?
    (?![+*?{])                                # neither lazy nor possessive
    """,
    re.VERBOSE,
)
_FLAGS = re.compile(r"\(\?([aus]+)\)")


@dataclass(frozen=True)
class RunPattern:
    """Tokens that are runs of characters, given by the bits in ``table``."""

    table: ByteTable
    shortest: int


TokenPattern = RunPattern | re.Pattern[str]


@lru_cache(maxsize=16)  # the tables are large, and ``transform`` is called often
def compile_pattern(token_pattern: str, min_word_length: int | None = None) -> TokenPattern:
    r"""Return the pattern as runs of characters if possible, else compiled by ``re``.

    >>> compile_pattern(r"[a-z]+").shortest
    1
    >>> compile_pattern(r"\w+(?=!)")
    re.compile('\\w+(?=!)')
    """
    if token_pattern == UNICODE_PATTERN:
        return RunPattern(unicode_word_table(), 2 if min_word_length is None else min_word_length)
    if min_word_length is not None:
        if token_pattern != DEFAULT_PATTERN:
            raise InvalidParameterError(
                f"min_word_length={min_word_length} works with the default token_pattern or with "
                f'"unicode", got token_pattern={_shown(token_pattern)}: write the length into the '
                r"pattern, as in r'\b\w{3,}\b'"
            )
        token_pattern = rf"(?u)\b\w{{{min_word_length},}}\b"
    python = _compiled(token_pattern)
    return _as_run(token_pattern) or python


def _compiled(token_pattern: str) -> re.Pattern[str]:
    if len(token_pattern) > MAX_PATTERN_CHARACTERS:
        raise InvalidParameterError(
            f"token_pattern has {len(token_pattern):,} characters, more than the "
            f"{MAX_PATTERN_CHARACTERS:,} allowed: use a function as analyzer instead"
        )
    try:
        python = re.compile(token_pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidParameterError(
            f"token_pattern={_shown(token_pattern)} is not a regular expression: {error}"
        ) from None
    if python.groups > 1:
        raise InvalidParameterError(
            f"token_pattern={_shown(token_pattern)} has {python.groups} capturing groups, expected "
            "at most one: write (?:...) for groups that only group"
        )
    return python


def _as_run(token_pattern: str) -> RunPattern | None:
    r"""Return the pattern as runs of one class, with ``\b`` on both sides or on none, or None."""
    flags = _FLAGS.match(token_pattern)
    body = token_pattern[flags.end() :] if flags else token_pattern
    bounded = len(body) > 4 and body.startswith(r"\b") and body.endswith(r"\b")
    pieces = _pieces(body[2:-2] if bounded else body)
    shortest = sum(low for _, low, _ in pieces)
    endless = any(high is None for _, _, high in pieces)
    if len({characters for characters, _, _ in pieces}) != 1 or not endless or not shortest:
        return None
    scope = "".join(flag for flag in "as" if flags and flag in flags[1])
    good, word = members(f"(?{scope}:{pieces[0][0]})"), members(rf"(?{scope}:\w)")
    if bounded and (good & ~word).any():
        return None
    return RunPattern(run_table(good, word if bounded else good), shortest)


def _pieces(body: str) -> list[tuple[str, int, int | None]]:
    """Return the classes of a pattern with their minimum and maximum repeats.

    The list is empty if the pattern has anything else.
    """
    pieces: list[tuple[str, int, int | None]] = []
    position = 0
    while position < len(body):
        piece = _PIECE.match(body, position)
        if piece is None:
            return []
        repeat = {"+": "{1,}", "*": "{0,}", None: "{1}"}.get(piece["repeat"], piece["repeat"])
        low, comma, high = repeat[1:-1].partition(",")
        pieces.append((piece["members"], int(low), int(high or low) if high or not comma else None))
        position = piece.end()
    return pieces


def _shown(token_pattern: str) -> str:
    shown = repr(token_pattern)
    return shown if len(shown) <= 200 else shown[:200] + "…"
