"""Report the progress of long work, in one line on standard error if requested.

Work reports to a function ``progress(message, fraction)``. A function that does several pieces of
work gives each a ``part`` of its own progress, so that one bar shows the whole::

    choose(candidates, part(progress, 0.0, 0.8, "choose settings"))
    fit(best, part(progress, 0.8, 1.0))
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TextIO

from dcot.errors import InvalidParameterError
from dcot.runtime.terminal import one_line

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

Progress = Callable[[str, float], None]


def silent(message: str, fraction: float) -> None:
    """Report nothing."""


def quiet(fraction: float) -> None:
    """Report nothing; for work that reports only a fraction."""


def documents_done(
    progress: Progress,
    message: str,
    done: int,
    expected: int | None = None,
    fraction: float | None = None,
    finished: bool = False,
) -> None:
    """Report how many documents are done, and the fraction of all documents if known."""
    if expected:
        fraction = done / expected
    if fraction is not None and not finished:  # 1 is only for finished work
        fraction = min(fraction, 0.999)
    counted = getattr(progress, "documents", None)
    if counted is not None:
        counted(message, done, fraction)
    else:
        progress(message, min(fraction or 0.0, 1.0))


def announce(progress: Progress, message: str) -> None:
    """Show a line of text, and write it to the log."""
    logging.getLogger("dcot").info(message)
    say = getattr(progress, "say", None)
    if say is not None:
        say(message)


def part(progress: Progress, first: float, last: float, title: str = "") -> Progress:
    """Return the progress of a part of the work, from ``first`` to ``last``.

    >>> part(lambda message, fraction: print(message, fraction), 0.5, 1.0, "fit")("layer 1", 0.5)
    fit: layer 1 0.75
    """
    return progress if progress is silent else _Part(progress, first, last, title)


def parts(progress: Progress, count: int, title: str) -> list[Progress]:
    """Return the progress of ``count`` parts of about the same length, which may overlap."""
    if progress is silent or count < 2:
        return [progress] * count
    whole = _Forward(progress)
    return [
        part(whole, done / count, (done + 1) / count, f"{title} {done + 1} of {count}")
        for done in range(count)
    ]


class _Forward:
    """Progress that never decreases; parts that share work report out of order."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.furthest = progress, 0.0

    def __call__(self, message: str, fraction: float) -> None:
        self.furthest = max(self.furthest, fraction)
        self.progress(message, self.furthest)

    def say(self, text: str) -> None:
        announce(self.progress, text)


class _Part:
    def __init__(self, whole: Progress, first: float, last: float, title: str) -> None:
        self.whole, self.first, self.last, self.title = whole, first, last, title

    def __call__(self, message: str, fraction: float) -> None:
        self.whole(self._named(message), self._scaled(fraction))

    def documents(self, message: str, done: int, fraction: float | None) -> None:
        documents_done(
            self.whole, self._named(message), done, fraction=self._scaled(fraction or 0.0)
        )

    def say(self, text: str) -> None:
        announce(self.whole, text)

    def _named(self, message: str) -> str:
        return f"{self.title}: {message}" if self.title else message

    def _scaled(self, fraction: float) -> float:
        return self.first + (self.last - self.first) * min(fraction, 1.0)


_watcher: ContextVar[Progress | None] = ContextVar("dcot_progress", default=None)


@contextmanager
def watched(progress: Progress) -> Iterator[None]:
    """Report all work inside to ``progress(message, fraction)`` instead of showing it.

    If it has a method ``documents(message, done, fraction)``, passes over documents call that. If
    it has a method ``say(text)``, it gets lines such as the plan of a fit.

    Examples
    --------
    >>> with watched(lambda message, fraction: None):
    ...     progress_for(True).__name__
    '<lambda>'
    """
    token = _watcher.set(progress)
    try:
        yield
    finally:
        _watcher.reset(token)


def progress_for(verbose: bool) -> Progress:
    """Return the progress set by ``watched``; otherwise a display if ``verbose``."""
    try:
        shown = bool(verbose)
    except ValueError as error:  # an array
        raise InvalidParameterError(f"verbose must be True or False, got {verbose!r}") from error
    return _watcher.get() or (Display() if shown else silent)


_shown: set[Display] = set()  # with a bar on the terminal


def erase() -> None:
    """Erase every bar, so that text can be written; the next report draws it again."""
    for display in list(_shown):
        display.close()


class Display:
    """A progress bar on a terminal, shared by all steps and erased at the end.

    Without a terminal or without rich, it writes a line when a step is done.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.draws = self.stream.isatty() and find_spec("rich") is not None
        self.bar: RichProgress | None = None
        self.step, self.note = "", ""
        self.begun = self.drawn = self.fraction = 0.0

    def say(self, text: str) -> None:
        """Write a line of text."""
        self.close()
        self.stream.write(f"[dcot] {one_line(text)}\n")
        self.stream.flush()

    def documents(self, message: str, done: int, fraction: float | None) -> None:
        """Show progress with documents per second; the fraction may be None."""
        now = time.perf_counter()
        seconds = now - (self.begun if message == self.step else now)
        note = f"{done / seconds:,.0f} documents/s" if seconds else ""
        self(message, fraction or 0.0, note)

    def __call__(self, message: str, fraction: float, note: str = "") -> None:
        now = time.perf_counter()
        if message != self.step:
            self._end_step(now)
            self.step, self.begun = message, now
        self.note = note
        if fraction >= 1:
            self._end_step(now)
            self.close()
        elif self.draws and (self.bar is None or now - self.drawn >= 0.1):
            self.drawn = now
            self._draw(fraction)

    def close(self) -> None:
        """Erase the bar."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None
            _shown.discard(self)

    def _end_step(self, now: float) -> None:
        if self.step and not self.draws:
            took = format_duration(now - self.begun)
            self.say(f"{self.step}: {took}{', ' * bool(self.note)}{self.note}")
        self.step = ""

    def _draw(self, fraction: float) -> None:
        shown: dict[str, Any] = {
            "description": one_line(self.step),
            "completed": fraction,
            "note": self.note,
        }
        if self.bar is None or fraction < self.fraction:  # its times are from an earlier step
            self.close()
            self.bar = _rich_bar(self.stream, **shown)
            _shown.add(self)
        else:
            self.bar.update(self.bar.task_ids[0], **shown)
            self.bar.refresh()
        self.fraction = fraction


def _rich_bar(stream: TextIO, **shown: Any) -> RichProgress:
    """Return a bar without a thread and redirected output, and with a visible cursor."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[note]}", markup=False),
        console=Console(file=stream),
        transient=True,
        auto_refresh=False,
        redirect_stdout=False,
        redirect_stderr=False,
        get_time=time.perf_counter,
    )
    bar.add_task(total=1.0, **shown)
    bar.start()
    bar.console.show_cursor(True)
    return bar


def format_duration(seconds: float) -> str:
    """Format a duration for people.

    >>> format_duration(0.25), format_duration(5), format_duration(150), format_duration(9000)
    ('0.2 s', '5 s', '2 min 30 s', '2 h 30 min')
    """
    whole = round(seconds)
    if seconds < 1:
        return f"{seconds:.1f} s"
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
