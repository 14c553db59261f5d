"""Progress on long work: one line on standard error, only where somebody asked for it."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ClassVar, TextIO

Progress = Callable[[str, float], None]


def silent(message: str, fraction: float) -> None:
    """Say nothing."""


def documents_done(
    progress: Progress,
    message: str,
    done: int,
    expected: int | None = None,
    fraction: float | None = None,
    finished: bool = False,
) -> None:
    """Tell how many documents are done, of how many (or which part), as far as is known."""
    if expected:
        fraction = done / expected
    if fraction is not None and not finished:  # only the end is the end
        fraction = min(fraction, 0.999)
    counted = getattr(progress, "documents", None)
    if counted is not None:
        counted(message, done, fraction)
    else:
        progress(message, min(fraction or 0.0, 1.0))


def announce(progress: Progress, message: str) -> None:
    """A line of text for whoever watches; to the log as well."""
    import logging

    logging.getLogger("dcot").info(message)
    say = getattr(progress, "say", None)
    if say is not None:
        say(message)


_watcher: ContextVar[Progress | None] = ContextVar("dcot_progress", default=None)


@contextmanager
def watched(progress: Progress) -> Iterator[None]:
    """Tell ``progress(message, fraction)`` of all work inside, instead of drawing bars.

    Where it has a method ``documents(message, done, fraction)``, passes over documents call that;
    ``say(text)`` gets lines such as the plan of a fit.

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
    """Whoever watches; else a bar, if it was asked for."""
    return _watcher.get() or (ProgressBar() if verbose else silent)


class ProgressBar:
    """Draws ``message [#####.....] 50 %  3 s left`` on a terminal; plain lines elsewhere.

    ``transient`` erases the line when its work is done; set it on the class for all bars.
    """

    transient: ClassVar[bool] = False

    def __init__(self, stream: TextIO | None = None, width: int = 24) -> None:
        self.stream = stream or sys.stderr
        self.width = width
        self.started: dict[str, float] = {}
        self.drawn = 0.0

    def say(self, text: str) -> None:
        """A line of its own."""
        self.stream.write(f"[dcot] {text}\n")
        self.stream.flush()

    def documents(self, message: str, done: int, fraction: float | None) -> None:
        """The same with documents per second; the fraction may not be known."""
        begun = self.started.setdefault(message, time.perf_counter())
        spent = max(time.perf_counter() - begun, 1e-9)
        self(message, 0.0 if fraction is None else fraction, f"{done / spent:,.0f} documents/s")

    def __call__(self, message: str, fraction: float, note: str = "") -> None:
        now = time.perf_counter()
        first = message not in self.started
        begun = self.started.setdefault(message, now)
        done = fraction >= 1
        note = f", {note}" if note else ""
        if done:  # the next time is another piece of work
            self.started.pop(message)
        if not self.stream.isatty():
            if done:
                self.stream.write(f"[dcot] {message}: {now - begun:.1f} s{note}\n")
            return
        if not (first or done) and now - self.drawn < 0.1:
            return
        self.drawn = now
        filled = int(self.width * min(fraction, 1.0))
        bar = "#" * filled + "." * (self.width - filled)
        left = (now - begun) * (1 - fraction) / fraction if 0 < fraction < 1 else now - begun
        word = "s" if done else "s left" if fraction > 0 else "s"
        room = shutil.get_terminal_size().columns - 1  # a line that wraps cannot be drawn again
        line = f"{message:<28} [{bar}] {100 * fraction:3.0f} %  {left:.1f} {word}{note} "[:room]
        self.stream.write("\r" + line)
        if done:
            self.stream.write(f"\r{'':{len(line)}}\r" if self.transient else "\n")
        self.stream.flush()
