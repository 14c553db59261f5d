"""From a token pattern, written for Python's ``re``, to what can run it fast and mean the same.

Three ways, tried in this order:

1. runs of one kind of character (the default pattern, ``[a-z]{3,}``, ``\\S+``): our own kernel;
2. other regular patterns: translated for polars' engine, every class written out as Python sees
   it; where the two engines disagree about ``\\b``, the few documents concerned go through ``re``;
3. look-around, back-references, groups: only Python's ``re``, and only if asked for.
"""

from __future__ import annotations

import re
import re._constants as sre  # type: ignore[import-not-found]
import re._parser as sre_parser  # type: ignore[import-not-found]
from dataclasses import dataclass
from functools import cache, lru_cache, reduce
from typing import Any

import numpy as np
import polars as pl

from dcot.errors import InvalidParameterError
from dcot.text.characters import (
    N_CHARACTERS,
    BoolTable,
    ByteTable,
    all_characters,
    members,
    run_table,
    unicode_word_table,
)

DEFAULT_PATTERN = r"(?u)\b\w\w+\b"
UNICODE_PATTERN = "unicode"

_CATEGORIES = {
    sre.CATEGORY_WORD: (r"\w", False),
    sre.CATEGORY_NOT_WORD: (r"\w", True),
    sre.CATEGORY_DIGIT: (r"\d", False),
    sre.CATEGORY_NOT_DIGIT: (r"\d", True),
    sre.CATEGORY_SPACE: (r"\s", False),
    sre.CATEGORY_NOT_SPACE: (r"\s", True),
}
_NAMES = {
    sre.ASSERT: "look-around",
    sre.ASSERT_NOT: "look-around",
    sre.GROUPREF: "a back-reference",
    sre.GROUPREF_EXISTS: "a conditional group",
    sre.ATOMIC_GROUP: "an atomic group",
    sre.POSSESSIVE_REPEAT: "a possessive repeat",
}


@dataclass(frozen=True)
class RunPattern:
    """Tokens are runs of characters, by the bits in ``characters``."""

    table: ByteTable
    shortest: int


@dataclass(frozen=True)
class EnginePattern:
    """Tokens are what polars' engine finds, except in documents with ``doubtful`` characters."""

    pattern: str
    doubtful: str | None
    python: re.Pattern[str]


@dataclass(frozen=True)
class PythonPattern:
    """Tokens are what Python's ``re`` finds."""

    python: re.Pattern[str]


TokenPattern = RunPattern | EnginePattern | PythonPattern


class _CannotRunError(Exception):
    """The compiled engine cannot run this; the message says what ``this`` is."""


@lru_cache(maxsize=16)  # the tables are large, and transform is called often
def compile_pattern(
    token_pattern: str, regex_engine: str = "compiled", min_word_length: int | None = None
) -> TokenPattern:
    """The fastest way to run a pattern exactly.

    >>> compile_pattern(r"[a-z]+").shortest
    1
    >>> type(compile_pattern(r"[a-z]+(?:-[a-z]+)*")).__name__
    'EnginePattern'
    """
    if token_pattern == UNICODE_PATTERN:
        return RunPattern(unicode_word_table(), 2 if min_word_length is None else min_word_length)
    if min_word_length is not None:
        if token_pattern != DEFAULT_PATTERN:
            raise InvalidParameterError(
                f"min_word_length={min_word_length} goes with the default token_pattern or with "
                f'"unicode", got token_pattern={token_pattern!r}: write the length into the '
                r"pattern, as in r'\b\w{3,}\b'"
            )
        token_pattern = rf"(?u)\b\w{{{min_word_length},}}\b"
    python = _compiled(token_pattern)
    if regex_engine == "python":
        return PythonPattern(python)
    try:
        return _translated(token_pattern, python)
    except _CannotRunError as reason:
        raise InvalidParameterError(
            f"token_pattern={token_pattern!r} has {reason}, which the compiled engine cannot run: "
            "write the pattern without it, or set regex_engine='python' (slower)"
        ) from None


def _compiled(token_pattern: str) -> re.Pattern[str]:
    try:
        python = re.compile(token_pattern)
    except (re.error, TypeError) as error:
        raise InvalidParameterError(
            f"token_pattern={token_pattern!r} is not a regular expression: {error}"
        ) from error
    if python.groups > 1:
        raise InvalidParameterError(
            f"token_pattern={token_pattern!r} has {python.groups} capturing groups, expected at "
            "most one: write (?:...) for groups that only group"
        )
    return python


def _translated(token_pattern: str, python: re.Pattern[str]) -> TokenPattern:
    parsed = sre_parser.parse(token_pattern)
    if python.flags & re.IGNORECASE:
        raise _CannotRunError("the flag (?i)")
    if python.flags & re.MULTILINE:
        raise _CannotRunError("the flag (?m)")
    if python.groups:
        raise _CannotRunError("a capturing group")
    if parsed.getwidth()[0] == 0:
        raise _CannotRunError("a match of no characters")
    as_run = _as_run(list(parsed), python.flags)
    if as_run is not None:
        return as_run
    pattern = _rust(parsed, python.flags)
    try:
        pl.Series([""]).str.extract_all(pattern)
    except pl.exceptions.PolarsError:
        raise _CannotRunError("more states than the engine allows") from None
    doubtful = None
    if r"\b" in pattern or r"\B" in pattern:
        doubtful = _rust_class(_boundary_disagreements())
    return EnginePattern(pattern, doubtful, python)


def _as_run(items: list[Any], flags: int) -> RunPattern | None:
    """The pattern as runs of one class, bounded by ``\\b`` on both sides or on none."""
    boundary = (sre.AT, sre.AT_BOUNDARY)
    bounded = len(items) > 2 and items[0] == boundary and items[-1] == boundary
    pieces = [_as_repeat(item) for item in (items[1:-1] if bounded else items)]
    if not pieces or any(piece is None for piece in pieces):
        return None
    classes = [piece[2] for piece in pieces if piece]
    if any(other != classes[0] for other in classes):
        return None
    if all(piece[1] is not sre.MAXREPEAT for piece in pieces if piece):
        return None
    good = _class_members(classes[0], flags)
    word = _category(r"\w", flags)
    if bounded and (good & ~word).any():
        return None
    shortest = sum(int(piece[0]) for piece in pieces if piece)
    return RunPattern(run_table(good, word if bounded else good), shortest)


def _as_repeat(item: Any) -> tuple[int, Any, Any] | None:
    """At least, at most and which one-character item; None for anything else."""
    op, argument = item
    if op in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY):
        return 1, 1, item
    if op is sre.MAX_REPEAT and len(argument[2]) == 1:
        inner = argument[2][0]
        if inner[0] in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY):
            return argument[0], argument[1], inner
    return None


def _category(pattern: str, flags: int) -> BoolTable:
    return members(f"(?a:{pattern})" if flags & re.ASCII else pattern)


def _class_members(item: Any, flags: int) -> BoolTable:
    """Which characters a one-character item of a parsed pattern matches."""
    op, argument = item
    table = np.zeros(N_CHARACTERS, dtype=np.bool_)
    if op is sre.IN:
        negate = argument[0][0] is sre.NEGATE
        inner = argument[1:] if negate else argument
        table = reduce(np.logical_or, (_class_members(part, flags) for part in inner))
        return ~table if negate else table
    if op is sre.CATEGORY:
        pattern, negate = _CATEGORIES[argument]
        table = _category(pattern, flags)
        return ~table if negate else table
    if op is sre.ANY:
        table[:] = True
        table[ord("\n")] = bool(flags & re.DOTALL)
    elif op is sre.RANGE:
        table[argument[0] : argument[1] + 1] = True
    else:
        table[argument] = True
    return ~table if op is sre.NOT_LITERAL else table


def _rust_class(table: BoolTable) -> str:
    """A class of exactly these characters (surrogates, which no text holds, left out)."""
    table = table.copy()
    table[0xD800:0xE000] = False
    edges = np.flatnonzero(np.diff(table, prepend=False, append=False))
    if not len(edges):
        raise _CannotRunError("a class without characters")
    ranges = zip(edges[::2].tolist(), (edges[1::2] - 1).tolist(), strict=True)
    return "[" + "".join(f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in ranges) + "]"


def _rust(parsed: Any, flags: int) -> str:
    return "".join(_rust_item(item, flags) for item in parsed)


def _rust_item(item: Any, flags: int) -> str:
    op, argument = item
    if op in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY):
        return _rust_class(_class_members(item, flags))
    if op is sre.AT:
        return _rust_position(argument, flags)
    if op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        low, high, inner = argument
        if inner.getwidth()[0] == 0:
            raise _CannotRunError("a repeat of something that may be empty")
        most = "" if high is sre.MAXREPEAT else high
        lazy = "?" if op is sre.MIN_REPEAT else ""
        return f"(?:{_rust(inner, flags)}){{{low},{most}}}{lazy}"
    if op is sre.BRANCH:
        return "(?:" + "|".join(_rust(branch, flags) for branch in argument[1]) + ")"
    if op is sre.SUBPATTERN and not (argument[1] or argument[2]):
        return f"(?:{_rust(argument[3], flags)})"
    raise _CannotRunError(_NAMES.get(op, "a group with its own flags"))


def _rust_position(position: Any, flags: int) -> str:
    if position in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING):
        return r"\A"
    if position is sre.AT_END_STRING:
        return r"\z"
    if position in (sre.AT_BOUNDARY, sre.AT_NON_BOUNDARY):
        sign = r"\b" if position is sre.AT_BOUNDARY else r"\B"
        return f"(?-u:{sign})" if flags & re.ASCII else sign
    raise _CannotRunError("the anchor $")


@cache
def _boundary_disagreements() -> BoolTable:
    """Characters that one of the two engines takes for part of a word and the other does not."""
    codes = [code for code in range(N_CHARACTERS) if not 0xD800 <= code < 0xE000]
    text = all_characters()
    engine = pl.Series([text[code] for code in codes]).str.contains(r"\w").to_numpy()
    table = np.zeros(N_CHARACTERS, dtype=np.bool_)
    table[codes] = engine != members(r"\w")[codes]
    return table
