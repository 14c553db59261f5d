r"""Token patterns: a compiled loop for simple ones, Python's ``re`` for all others.

Simple patterns are runs of one class of characters, such as the default pattern, ``[a-z]{3,}`` or
``\S+``. Both ways find the same tokens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from dcot.errors import InvalidParameterError
from dcot.text.characters import ByteTable, members, run_table, unicode_word_table

DEFAULT_PATTERN = r"(?u)\b\w\w+\b"
UNICODE_PATTERN = "unicode"
MAX_PATTERN_CHARACTERS = 10_000

# One class of characters, and how often it is repeated.
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
    """Tokens are runs of characters, by the bits in ``characters``."""

    table: ByteTable
    shortest: int


TokenPattern = RunPattern | re.Pattern[str]


@lru_cache(maxsize=16)  # the tables are large, and transform is called often
def compile_pattern(token_pattern: str, min_word_length: int | None = None) -> TokenPattern:
    r"""The fastest way to run a pattern.

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
    r"""The pattern as runs of one class, with ``\b`` on both sides or on none."""
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
    """The classes in a pattern with their fewest and most repeats; empty if there is more to it."""
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
