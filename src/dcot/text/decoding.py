"""Files as lines of text: decompressed, decoded, and with the line number when that fails."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, cast

from dcot.errors import InvalidInputError, MissingExtraError

_BOM = b"\xef\xbb\xbf"


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """A file as bytes, decompressed if its name ends in .gz or .zst."""
    suffix = path.suffix.lower()
    opener: Callable[[Path], Any] = gzip.open if suffix == ".gz" else _open_plain
    with (_open_zstd if suffix in (".zst", ".zstd") else opener)(path) as stream:
        yield stream


def _open_plain(path: Path) -> IO[bytes]:
    return path.open("rb")


def _open_zstd(path: Path) -> IO[bytes]:
    """With Python 3.14's own module, or with whichever package is installed."""
    for module in ("compression.zstd", "zstandard", "pyarrow"):
        try:
            found: Any = import_module(module)
        except ImportError:
            continue
        if module == "pyarrow":
            return io.BufferedReader(found.input_stream(str(path), compression="zstd"))
        return cast(IO[bytes], found.open(path, "rb"))
    raise MissingExtraError(f"{path}: reading zstd needs a package: pip install zstandard")


class DecodedFile:
    """Lines of a file as text; ``number`` is that of the last line read."""

    def __init__(self, path: Path, stream: IO[bytes], errors: str) -> None:
        self.path = path
        self.errors = errors
        self.number = 0
        self._lines = iter(stream)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            line = next(self._lines)
        except (EOFError, OSError) as error:
            raise InvalidInputError(
                f"{self.path}: cannot be decompressed after line {self.number} ({error}): is the "
                "file complete?"
            ) from error
        self.number += 1
        if self.number == 1:
            line = line.removeprefix(_BOM)
        try:
            return line.decode("utf-8", self.errors)
        except UnicodeDecodeError as error:
            byte = line[error.start]
            raise InvalidInputError(
                f"{self.path}, line {self.number}: byte 0x{byte:02x} is not UTF-8: convert the "
                "file, or pass errors='replace'"
            ) from error
