"""From exceptions to a line on standard error and an exit code that scripts can use.

====  ==========================================================================
code  meaning
====  ==========================================================================
0     done
1     the input, a file or a setting is not as it should be; the message says how
2     the command line itself is wrong: an unknown option, a missing argument
70    an error of dcot: please report it, with what ``--debug`` shows
130   interrupted by Ctrl-C; nothing half-written is left
141   the reader of our output went away, as ``head`` does
143   terminated; nothing half-written is left
====  ==========================================================================
"""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dcot.cli.settings import option_names
from dcot.errors import DcotError

OK, WRONG, USAGE, BUG, INTERRUPTED, NO_READER, TERMINATED = 0, 1, 2, 70, 130, 141, 143


class UserError(DcotError):
    """Something about a command line that the user can mend."""


def report(error: BaseException, debug: bool) -> int:
    """Say on standard error what went wrong, and give the exit code."""
    if isinstance(error, BrokenPipeError):
        _drop_output()
        return NO_READER
    if debug and not isinstance(error, KeyboardInterrupt):
        traceback.print_exception(error)
    code, message = _explained(error)
    write_error(message)
    return code


def write_error(message: str) -> None:
    """``Error: …`` in red where that can be seen; never wrapped, so that it can be searched."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, soft_wrap=True, highlight=False)
    console.print(Text.assemble(("Error: ", "bold red"), message))


def _explained(error: BaseException) -> tuple[int, str]:
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "interrupted; nothing half-written is left"
    if isinstance(error, DcotError):
        return WRONG, as_options(str(error))
    if isinstance(error, MemoryError):
        return (
            WRONG,
            "out of memory: use fewer documents, or lower --n-prototypes",
        )
    if isinstance(error, OSError):
        return WRONG, _os_error(error)
    first = str(error).strip().partition("\n")[0]
    return BUG, (
        f"{type(error).__name__}: {first}\nThis should not happen: please report it, with what "
        "--debug shows."
    )


def _os_error(error: OSError) -> str:
    what = error.strerror or str(error)
    return f"{error.filename}: {what}" if error.filename else what


def as_options(message: str) -> str:
    """A message of the library in the words of the command line.

    >>> as_options("n_prototypes must be at least 1, got 0: set solver='cg'")
    '--n-prototypes must be at least 1, got 0: set --solver cg'
    """

    def flag(name: str) -> str:
        return "--" + _FLAGS.get(name, name).replace("_", "-")

    known = sorted(option_names() | set(_FLAGS), key=len, reverse=True)
    names = "|".join(known)
    given = rf"\b({names})=('[^']*'|\"[^\"]*\"|[\w.-]+)"
    message = message.replace("set overwrite=True", "use --overwrite")  # a switch, without a value
    message = message.replace("with resume=True", "without --overwrite")
    message = re.sub(given, lambda m: f"{flag(m[1])} {_quoted(m[2])}", message)
    several = "|".join(name for name in known if "_" in name or name in _NO_WORDS)
    message = re.sub(rf"(?<![\w-])({several})\b", lambda m: flag(m[1]), message)
    return re.sub(rf"^({names})(?= must)", lambda m: flag(m[1]), message)


_NO_WORDS = {"analyzer", "lowercase"}  # other names without _ can be words of a sentence


def _quoted(value: str) -> str:
    plain = value.strip("'\"")
    return plain if re.fullmatch(r"[\w.-]+", plain) else value


_FLAGS = {"output": "features", "column": "text", "kind": "format", "errors": "errors"}


def _drop_output() -> None:
    """Let the interpreter flush into nothing at exit, instead of into the closed pipe."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        pass


@contextmanager
def cleaned_up_when_terminated() -> Iterator[None]:
    """Being terminated runs the same cleaning up as an error does."""

    def leave(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    before = {}
    with suppress(ValueError):  # not the main thread: signals are somebody else's matter
        for name in ("SIGTERM", "SIGHUP"):
            if number := getattr(signal, name, None):
                before[number] = signal.signal(number, leave)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def is_full(error: OSError) -> bool:
    """Whether there was no space."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
