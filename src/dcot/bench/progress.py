"""Progress of a long run: what is being done, the share that is done, and the time left."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class Reporter:
    """One line that changes on a terminal; a line a job elsewhere.

    The time left is that of the whole run: it learns from what was done so far.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.begun = time.perf_counter()
        self.last = ""

    def __call__(self, message: str, fraction: float) -> None:
        passed = time.perf_counter() - self.begun
        left = f", {spoken(passed * (1 - fraction) / fraction)} left" if 0 < fraction < 1 else ""
        line = f"{100 * fraction:3.0f} %  {message}  ({spoken(passed)}{left})"
        if self.stream.isatty():
            self.stream.write(f"\r\x1b[K{line[:110]}" + ("\n" if fraction >= 1 else ""))
        elif message != self.last:
            self.stream.write(line + "\n")
        self.last = message
        self.stream.flush()


def spoken(seconds: float) -> str:
    """A duration as people say it.

    >>> spoken(5), spoken(150), spoken(9000)
    ('5 s', '2 min 30 s', '2 h 30 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
