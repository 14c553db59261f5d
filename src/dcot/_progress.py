"""Progress on long work: one line on standard error, only where somebody asked for it."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import ClassVar, TextIO

Progress = Callable[[str, float], None]


def silent(message: str, fraction: float) -> None:
    """Say nothing."""


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

    def __call__(self, message: str, fraction: float) -> None:
        now = time.perf_counter()
        first = message not in self.started
        begun = self.started.setdefault(message, now)
        done = fraction >= 1
        if done:  # the next time is another piece of work
            self.started.pop(message)
        if not self.stream.isatty():
            if done:
                self.stream.write(f"[dcot] {message}: {now - begun:.1f} s\n")
            return
        if not (first or done) and now - self.drawn < 0.1:
            return
        self.drawn = now
        filled = int(self.width * min(fraction, 1.0))
        bar = "#" * filled + "." * (self.width - filled)
        left = (now - begun) * (1 - fraction) / fraction if 0 < fraction < 1 else now - begun
        word = "s" if done else "s left" if fraction > 0 else "s"
        room = shutil.get_terminal_size().columns - 1  # a line that wraps cannot be drawn again
        line = f"{message:<28} [{bar}] {100 * fraction:3.0f} %  {left:.1f} {word} "[:room]
        self.stream.write("\r" + line)
        if done:
            self.stream.write(f"\r{'':{len(line)}}\r" if self.transient else "\n")
        self.stream.flush()
