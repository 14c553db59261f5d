"""Format numbers and tables for a terminal, and for a notebook in a light or dark theme."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import zip_longest
from typing import Any

import numpy as np

# Half-transparent grey is visible on white and on black; text keeps its colour.
_BAR = "rgba(128,128,128,.35)"
MAX_SKIPPED_SHOWN = 8
_CELL = "padding:.1em .6em;text-align:left;white-space:nowrap"


def decimals(values: Any) -> int:
    """Return the number of decimals that shows the largest value with three significant figures.

    >>> decimals([0.25, -0.01]), decimals([0.0042]), decimals([])
    (3, 5, 3)
    """
    largest = float(np.max(np.abs(values), initial=0.0))
    if not largest or not math.isfinite(largest):
        return 3
    return int(np.clip(2 - math.floor(math.log10(largest)), 0, 9))


def signed(value: float, digits: int) -> str:
    """Format a number with its sign."""
    return f"{value:+.{digits}f}"


def percent(share: float) -> str:
    """Format a share as a percentage.

    >>> percent(0.123), percent(-0.004)
    ('12 %', '-0 %')
    """
    return f"{100 * share:.0f} %"


def skipped_words(
    words: Sequence[str], near: Mapping[str, Sequence[str]] | None = None
) -> list[str]:
    """Return a note that names unknown words and similar spellings; none if there are no words.

    >>> skipped_words(["oyl", "zzz"], {"oyl": ["oil"]})
    ['unknown words, skipped: oyl (perhaps oil), zzz']
    """
    if not words:
        return []
    found = near or {}
    named = [
        f"{word} (perhaps {', '.join(found[word][:2])})" if found.get(word) else word
        for word in words[:MAX_SKIPPED_SHOWN]
    ]
    if len(words) > MAX_SKIPPED_SHOWN:
        named.append(f"{len(words) - MAX_SKIPPED_SHOWN} more")
    return [f"unknown words, skipped: {', '.join(named)}"]


def columns_of_text(heads: Sequence[str], columns: Sequence[Sequence[str]]) -> str:
    """Format columns next to each other, each as wide as its longest cell."""
    width = [max(map(len, [head, *cells])) for head, cells in zip(heads, columns, strict=True)]
    rows = [heads, *zip_longest(*columns, fillvalue="")]
    lines = ["   ".join(f"{cell:<{w}}" for cell, w in zip(row, width, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)


def html_table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[Any]],
    bars: Sequence[float] = (),
) -> str:
    """Return an HTML table with escaped cells; ``bars`` (0 to 1) are behind the first cells."""
    head = "".join(f'<th style="{_CELL}">{escape(str(cell))}</th>' for cell in heads)
    body = []
    for number, row in enumerate(rows):
        length = min(max(bars[number], 0.0), 1.0) * 100 if number < len(bars) else 0.0
        first = f"background:linear-gradient(to right,{_BAR} {length:.1f}%,transparent 0)"
        cells = [
            f'<td style="{_CELL}{";" + first if place == 0 and length else ""}">'
            f"{escape(str(cell))}</td>"
            for place, cell in enumerate(row)
        ]
        body.append(f"<tr>{''.join(cells)}</tr>")
    title = f'<caption style="text-align:left;font-weight:bold">{escape(caption)}</caption>'
    return (
        f'<table style="border-collapse:collapse;color:inherit;background:transparent">{title}'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    )


def html_block(title: str, notes: Iterable[str], tables: Iterable[str]) -> str:
    """Return HTML with a title, tables next to each other if they fit, and notes below."""
    below = "".join(f'<div style="opacity:.75">{escape(note)}</div>' for note in notes)
    side_by_side = "".join(f"<div>{table}</div>" for table in tables)
    return (
        f'<div style="color:inherit"><div style="font-weight:bold">{escape(title)}</div>'
        f'<div style="display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start">'
        f"{side_by_side}</div>{below}</div>"
    )
