"""Read files as lines of text: decompress, decode, and report the line number on errors."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, Any, cast

from dcot.errors import InvalidInputError, InvalidParameterError, MissingExtraError

COMPRESSED = (".gz", ".zst", ".zstd")
MAX_LINE_BYTES = 1 << 28  # a longer line is not text, perhaps a decompression bomb
_BOM = codecs.BOM_UTF8
_NO_TEXT = {  # how files that are no text begin
    b"\x1f\x8b": "compressed: decompress it, as in zcat, or let its name end in .gz",
    b"\x28\xb5\x2f\xfd": "compressed: decompress it, as in zstdcat, or let its name end in .zst",
    b"PK\x03\x04": "a zip file or a spreadsheet: unpack it, or save it as CSV",
}
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def opened(path: Path) -> IO[bytes]:
    """Open a file as bytes, decompressed if its name ends in .gz, .zst or .zstd."""
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return cast(IO[bytes], gzip.open(path))
    return _open_zstd(path) if suffix in COMPRESSED else path.open("rb")


def _open_zstd(path: Path) -> IO[bytes]:
    """Open a zstd file with the module of Python 3.14, its backport, or Arrow.

    The zstandard package cannot read lines, and gives no error for a truncated file.
    """
    for module in ("compression.zstd", "backports.zstd", "pyarrow"):
        try:
            found: Any = import_module(module)
        except ImportError:
            continue
        if module == "pyarrow":
            return io.BufferedReader(found.input_stream(str(path), compression="zstd"))
        return cast(IO[bytes], found.open(path, "rb"))
    raise MissingExtraError(f"{path}: reading zstd needs a package: pip install backports.zstd")


def check_encoding(encoding: str) -> str:
    """Return the standard name of an encoding; raise if it is unknown, or not one of text."""
    try:
        b"    ".decode(encoding, "replace")  # an encoding of bytes or names of hosts fails
        return codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError):
        raise InvalidParameterError(
            f"encoding must be one that Python knows, such as 'utf-8', 'utf-16' or 'latin-1', got "
            f"{encoding!r}"
        ) from None


class DecodedFile:
    """Lines of a file as text; ``number`` is the number of the last line read."""

    def __init__(
        self, path: Path, stream: IO[bytes], errors: str = "strict", encoding: str = "utf-8"
    ) -> None:
        self.path, self.errors, self.encoding = path, errors, encoding
        self.number = 0
        self._stream = stream
        # in other encodings the bytes do not show where a line ends
        self._decoded = None if encoding == "utf-8" else _lines(stream, encoding, errors)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._read()
        if not line:
            raise StopIteration
        self.number += 1
        if len(line) >= MAX_LINE_BYTES:
            raise InvalidInputError(
                f"{self.path}, line {self.number} is longer than {MAX_LINE_BYTES:,} bytes: "
                "expected a file of texts"
            )
        if isinstance(line, str):
            try:
                line.encode()  # some encodings have a way to write half a character
            except UnicodeEncodeError as error:
                raise self._undecodable(f"the character {line[error.start]!r}", b"") from error
            return line.removeprefix("\ufeff") if self.number == 1 else line
        if self.number == 1:
            line = line.removeprefix(_BOM)
        try:
            return line.decode("utf-8", self.errors)
        except UnicodeDecodeError as error:
            raise self._undecodable(f"byte 0x{line[error.start]:02x}", line) from error

    def _read(self) -> str | bytes:
        try:
            if self._decoded is not None:
                return next(self._decoded, "")
            return self._stream.readline(MAX_LINE_BYTES)
        except UnicodeDecodeError as error:
            raise self._undecodable(f"byte 0x{error.object[error.start]:02x}", b"") from error
        except UnicodeError as error:  # UTF-16 without a byte order mark
            raise self._undecodable(str(error), b"") from error
        except (EOFError, OSError, zlib.error) as error:
            raise self._damaged(error) from error
        except Exception as error:
            if type(error).__name__ == "ZstdError":
                raise self._damaged(error) from error
            raise

    def _damaged(self, error: Exception) -> InvalidInputError:
        return InvalidInputError(
            f"{self.path}: cannot be decompressed after line {self.number} ({error}): is the file "
            "complete?"
        )

    def _undecodable(self, what: str, line: bytes) -> InvalidInputError:
        guess = "cp1252"  # of Windows in Western Europe and America: latin-1 with more characters
        if self.encoding == guess:
            guess = "latin-1"  # has every byte
        elif line.startswith(_UTF_16) and self.number == 1:
            guess = "utf-16"
        for start, found in _NO_TEXT.items():
            if self.number == 1 and line.startswith(start):
                return InvalidInputError(f"{self.path} is {found}")
        where = f"{self.path}, line {max(self.number, 1)}"
        if self.encoding != "utf-8":
            where = f"{self.path}, after line {self.number}"
        return InvalidInputError(
            f"{where}: {what} is not {self.encoding.upper()}: name the encoding, as in "
            f"encoding='{guess}' (--encoding {guess}), or replace such bytes with errors='replace' "
            "(--errors replace)"
        )


def _lines(stream: IO[bytes], encoding: str, errors: str) -> Iterator[str]:
    """Yield the lines of a stream in any encoding, with their line ends."""
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    pieces: list[str] = []
    size = 0
    while chunk := stream.read(1 << 16):
        *lines, rest = decoder.decode(chunk).split("\n")
        for line in lines:
            yield "".join([*pieces, line, "\n"])
            pieces, size = [], 0
        pieces.append(rest)
        size += len(rest)
        if size >= MAX_LINE_BYTES:
            break
    if last := "".join([*pieces, decoder.decode(b"", final=size < MAX_LINE_BYTES)]):
        yield last
