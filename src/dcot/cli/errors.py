"""Errors as a line on standard error, and exit codes for scripts.

====  ==========================================================================
code  meaning
====  ==========================================================================
0     success
1     the input, a file or a setting is wrong; the message says what to do
2     the command line itself is wrong: an unknown option, a missing argument
70    a bug in dcot: please report it with the output of ``--debug``
130   interrupted by Ctrl-C; no half-written file is left
141   the reader of the output closed it, as ``head`` does
143   terminated; no half-written file is left
====  ==========================================================================
"""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress

from dcot.errors import DcotError
from dcot.runtime.progress import erase
from dcot.runtime.terminal import printable

OK, WRONG, USAGE, BUG, INTERRUPTED, NO_READER, TERMINATED = 0, 1, 2, 70, 130, 141, 143


class UserError(DcotError):
    """A mistake in a command line that the user can correct."""


def report(error: BaseException, debug: bool) -> int:
    """Write what went wrong to standard error, and return the exit code."""
    erase()
    if isinstance(error, BrokenPipeError):
        _drop_output()
        return NO_READER
    if debug and not isinstance(error, KeyboardInterrupt):
        sys.stderr.write(printable("".join(traceback.format_exception(error))))
    code, message = _explained(error)
    write_error(message)
    return code


def write_error(message: str) -> None:
    """Write ``Error: …`` in red on a terminal; not wrapped, so that it can be searched."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, soft_wrap=True, highlight=False)
    console.print(Text.assemble(("Error: ", "bold red"), printable(message)))


def _explained(error: BaseException) -> tuple[int, str]:
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "interrupted; no half-written file is left"
    if isinstance(error, DcotError):
        return WRONG, str(error)
    if isinstance(error, MemoryError):
        return WRONG, "out of memory: use fewer documents, or lower --n-prototypes"
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        return WRONG, f"{error.filename}: {reason}" if error.filename else reason
    first = str(error).strip().partition("\n")[0][:500]
    return BUG, (
        f"{type(error).__name__}: {first}\nThis is a bug in dcot: please report it with the "
        "output of --debug."
    )


def _drop_output() -> None:
    """Redirect standard output to nowhere, so that the flush at exit does not fail."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
