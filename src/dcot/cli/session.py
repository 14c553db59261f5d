"""One run of a command: its common options, and how results are shown.

All text is escaped by ``dcot.runtime.terminal`` before it is shown: documents, labels and file
names cannot send commands to the terminal.
"""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from dcot.cli.options import option
from dcot.runtime.progress import Display, Progress, erase, silent
from dcot.runtime.terminal import one_line, printable, printable_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# Libraries read these when they are first imported, after the options are parsed.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")

at_end = ExitStack()  # undone at the end of the command, by ``app.run``
_common = partial(option, panel="Common options")


@dataclass(frozen=True)
class Session:
    """The common options of a command.

    Results go to standard output, as text or as JSON. Progress, notes, warnings and errors go to
    standard error.
    """

    json: Annotated[bool, _common("Write only JSON to standard output.", "--json")] = False
    quiet: Annotated[bool, _common("Show no progress and no notes.", "--quiet", "-q")] = False
    seed: Annotated[int, _common("Random seed.")] = 0
    threads: Annotated[
        int | None, _common("Number of threads.", min=1, show_default="all cores")
    ] = None
    debug: Annotated[bool, _common("Show the traceback of an error.", "--debug")] = False

    def start(self) -> None:
        """Limit threads, and show warnings as single lines, until the end of the command."""
        if not self.debug:
            at_end.enter_context(warnings.catch_warnings())
            warnings.filterwarnings("default", category=UserWarning)
            warnings.showwarning = self._warn
        if self.threads is not None:
            _limit(self.threads)

    @property
    def verbose(self) -> bool:
        """Whether to show progress: only on a terminal."""
        return not self.quiet and sys.stderr.isatty()

    @property
    def progress(self) -> Progress:
        """A function to report progress to."""
        if not self.verbose:
            return silent
        display = Display()
        at_end.callback(display.close)
        return display

    # -- results ----------------------------------------------------------------------------

    def emit(self, value: Any) -> None:
        """Write a value as one line of JSON."""
        erase()
        plain = "utf" not in (sys.stdout.encoding or "utf-8").lower()
        sys.stdout.write(printable_json(as_json(value, ascii=plain)) + "\n")

    def say(self, text: str = "") -> None:
        """Write a line of text for a person; nothing with --json or --quiet."""
        if not self.quiet:
            self.result(text)

    def result(self, text: str) -> None:
        """Write a result that is laid out already; nothing with --json."""
        if not self.json:
            erase()
            sys.stdout.write(printable(text) + "\n")

    def done(self, facts: dict[str, Any], text: str) -> None:
        """Write the result of a command: the facts as JSON, or the text."""
        if self.json:
            self.emit(facts)
        else:
            self.say(text)

    def show(self, *parts: str | Table) -> None:
        """Write texts and tables, as wide as the terminal."""
        from rich.text import Text

        erase()
        console = _console()
        for part in parts:
            console.print(Text(printable(part)) if isinstance(part, str) else part)

    def note(self, text: str) -> None:
        """Write a line to standard error, unless --quiet."""
        if not self.quiet:
            erase()
            sys.stderr.write(printable(text) + "\n")

    def _warn(self, message: Any, category: Any, *others: Any, **more: Any) -> None:
        if issubclass(category, UserWarning):
            self.note(f"Warning: {message}")


def _limit(threads: int) -> None:
    for name in _THREADS:
        os.environ[name] = str(threads)
    import scipy.linalg.blas  # noqa: F401  only a BLAS that is loaded can be limited
    from threadpoolctl import threadpool_limits

    at_end.enter_context(threadpool_limits(threads))


def _console() -> Console:
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:  # rich would exit with 1
            raise BrokenPipeError

    return Output(highlight=False)


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "query"), counted(1200, "query"), counted(2, "hit")
    ('1 query', '1,200 queries', '2 hits')
    """
    several = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else several}"


def console_width() -> int:
    """Width of the terminal in characters."""
    return _console().width


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, cut: str = "") -> Table:
    """A rich table with plain text in its cells and numbers on the right.

    The column ``cut`` is truncated to fit the line instead of wrapped.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rows = [list(row) for row in rows]
    cells = [[Text(_cell(value)) for value in row] for row in rows]
    found = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(columns):
        numeric = bool(rows) and all(_is_number(row[place]) for row in rows)
        justify = "right" if numeric else "left"
        found.add_column(Text(one_line(name)), justify=justify, overflow="fold")  # type: ignore[arg-type]
    if cut in columns:
        _shorten(columns, cells, columns.index(cut))
    for row in cells:
        found.add_row(*row)
    return found


def _shorten(columns: Sequence[str], cells: list[list[Any]], place: int) -> None:
    others = [
        max([len(name), *(row[other].cell_len for row in cells)])
        for other, name in enumerate(columns)
        if other != place
    ]
    room = console_width() - sum(others) - 3 * len(columns)
    for row in cells:
        row[place].truncate(max(room, 16), overflow="ellipsis")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int):
        return f"{value:,}"
    return one_line(value)


def as_json(value: Any, ascii: bool = False) -> str:
    """A value as one line of JSON; what JSON does not have becomes null or text."""
    return json.dumps(_finite(value), ensure_ascii=ascii, allow_nan=False, default=_plain)


def _finite(value: Any) -> Any:
    """Replace NaN and infinity, which JSON does not have, by None."""
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    """Make JSON values of NumPy numbers and paths."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)
