"""One run of a command: what the common options ask for, and how results are shown."""

from __future__ import annotations

import json
import math
import os
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dcot.runtime.progress import ProgressBar

# Read by libraries when they are first imported, which is after the options were read.
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "POLARS_MAX_THREADS",
)


@dataclass(frozen=True)
class Session:
    """What the common options say.

    Results go to standard output: as text, or as JSON and nothing else. Everything else (progress,
    notes, warnings, errors) goes to standard error.
    """

    json: bool = False
    quiet: bool = False
    seed: int = 0
    threads: int | None = None
    debug: bool = False

    @property
    def verbose(self) -> bool:
        """Whether to show progress: only to a person who looks."""
        return not self.quiet and sys.stderr.isatty()

    # -- results ----------------------------------------------------------------------------

    def emit(self, value: Any) -> None:
        """A JSON value in one line of standard output."""
        plain = "utf" not in (sys.stdout.encoding or "utf-8").lower()
        text = json.dumps(_finite(value), ensure_ascii=plain, allow_nan=False, default=_plain)
        sys.stdout.write(text + "\n")

    def say(self, text: str = "") -> None:
        """A line of text for a person; nothing with --json or --quiet."""
        if not (self.json or self.quiet):
            sys.stdout.write(text + "\n")

    def done(self, facts: dict[str, Any], text: str) -> None:
        """How a command ended: the facts as JSON, or a text."""
        if self.json:
            self.emit(facts)
        else:
            self.say(text)

    def show(self, *renderables: Any) -> None:
        """Tables and the like, as wide as the terminal."""
        from rich.console import Console

        console = Console(highlight=False)
        for renderable in renderables:
            console.print(renderable)

    def note(self, text: str) -> None:
        """A line on standard error that is no error."""
        if not self.quiet:
            sys.stderr.write(text + "\n")

    # -- the surroundings of the work -------------------------------------------------------

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """Threads limited, warnings in one line each, progress on a line that goes away."""
        before, ProgressBar.transient = ProgressBar.transient, True
        try:
            with warnings.catch_warnings(), self._limited():
                if not self.debug:
                    warnings.filterwarnings("default", category=UserWarning)
                    warnings.showwarning = self._warn
                yield
        finally:
            ProgressBar.transient = before

    @contextmanager
    def _limited(self) -> Iterator[None]:
        if self.threads is None:
            yield
            return
        for name in _THREADS:
            os.environ[name] = str(self.threads)
        import scipy.linalg.blas  # noqa: F401  the BLAS to be limited has to be there
        from threadpoolctl import threadpool_limits

        with threadpool_limits(self.threads):
            yield

    def _warn(self, message: Any, category: Any, *others: Any, **more: Any) -> None:
        from dcot.cli.errors import as_options

        if issubclass(category, UserWarning):
            self.note(f"Warning: {as_options(str(message))}")


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, cut: str = "") -> Any:
    """A table of rich; numbers to the right. Cells are text, whatever is in them.

    ``cut`` names a column that is cut to what the others leave of the line, not wrapped.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rows = [list(row) for row in rows]
    cells = [[Text(_cell(value)) for value in row] for row in rows]
    found = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[place], int | float) for row in rows)
        found.add_column(name, justify="right" if numeric else "left", overflow="fold")
    if cut in columns:
        _shorten(columns, cells, columns.index(cut))
    for row in cells:
        found.add_row(*row)
    return found


def _shorten(columns: Sequence[str], cells: list[list[Any]], place: int) -> None:
    from rich.console import Console

    others = [
        max([len(name), *(row[other].cell_len for row in cells)])
        for other, name in enumerate(columns)
        if other != place
    ]
    room = Console().width - sum(others) - 3 * len(columns)
    for row in cells:
        row[place].truncate(max(room, 16), overflow="ellipsis")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int):
        return f"{value:,}"
    return "".join(character if character.isprintable() else " " for character in str(value))


def _finite(value: Any) -> Any:
    """JSON knows no NaN: null stands for it."""
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    """Numbers of numpy, and paths, for JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


class Counter:
    """Documents done so far, on a line that is redrawn; for work whose end is not known."""

    def __init__(self, session: Session, what: str) -> None:
        self.shown = session.verbose
        self.what = what
        self.total = 0
        self.line = ""
        self.started = self.drawn = time.perf_counter()

    def __enter__(self) -> Counter:
        return self

    def add(self, count: int) -> None:
        """So many more are done."""
        self.total += count
        now = time.perf_counter()
        if self.shown and now - self.drawn > 0.2:
            self.drawn = now
            rate = self.total / max(now - self.started, 1e-9)
            self.line = f"{self.total:,} {self.what}, {rate:,.0f} a second "
            sys.stderr.write("\r" + self.line)
            sys.stderr.flush()

    def __exit__(self, *error: object) -> None:
        if self.line:  # it was for waiting; the result says the rest
            sys.stderr.write(f"\r{'':{len(self.line)}}\r")
            sys.stderr.flush()
