"""Sources of batches: the base class, functions and iterators, matrices and ``.npz`` files."""

from __future__ import annotations

import zipfile
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dcot.core.centred import check_indices
from dcot.core.options import check_choice
from dcot.errors import DcotError, InvalidInputError, InvalidParameterError, InvalidTypeError
from dcot.runtime.files import as_path

Reader = Callable[[], Iterator[Any]]
ON_ERROR = ("raise", "skip")

# Single texts are joined to batches of at most this many characters and texts.
_BATCH_CHARACTERS = 1 << 20
_BATCH_TEXTS = 8192


@dataclass(frozen=True)
class Batch:
    """Documents (a matrix, or a column or list of texts), and the name of their origin."""

    name: str
    documents: Any


class Source(ABC):
    """Documents in batches of bounded size, as often as asked.

    Parameters
    ----------
    on_error : {"raise", "skip"}
        How to handle a file, block or batch that cannot be used: raise an error that names it, or
        skip (the rest of) it and record it in ``skipped``.

    Attributes
    ----------
    skipped : names of skipped parts, each with the reason
    n_documents : number of documents, or None if not known
    rereadable : whether more than one pass is possible

    Raises
    ------
    InvalidParameterError
        If ``on_error`` is neither of these.

    Examples
    --------
    A source of your own has a method ``units``:

    >>> class Lists(Source):
    ...     def units(self):
    ...         yield "first", lambda: iter([["tea for two"]])
    ...         yield "second", lambda: iter([["two for tea"]])
    >>> source = Lists()
    >>> [batch.documents for batch in source.batches()]
    [['tea for two'], ['two for tea']]
    >>> source.fraction() is None
    True
    """

    rereadable = True
    n_documents: int | None = None

    def __init__(self, on_error: str = "raise") -> None:
        check_choice("on_error", on_error, ON_ERROR)
        self.on_error = on_error
        self.skipped: dict[str, str] = {}

    @abstractmethod
    def units(self) -> Iterator[tuple[str, Reader]]:
        """Yield the names of files or blocks, each with a function that reads its batches."""

    def batches(self) -> Iterator[Batch]:
        """Yield all batches, always in the same order.

        An error in a function or an iterator that was given is raised as it is, because nothing
        says where the next batch begins.

        Raises
        ------
        InvalidInputError
            If a batch cannot be read and ``on_error`` is ``"raise"``.
        """
        for name, read in self.units():
            try:
                for documents in read():
                    yield Batch(name, documents)
            except MemoryError:
                raise
            except Exception as error:  # readers of damaged files raise many types
                self.failed(name, error)

    def failed(self, name: str, error: Exception) -> None:
        """Raise an error that names the batch, or record that it was skipped.

        Examples
        --------
        >>> source = Repeatable(list, on_error="skip")
        >>> source.failed("a.txt", ValueError("not text"))
        >>> source.skipped
        {'a.txt': 'not text'}
        """
        if self.on_error == "raise":
            raise named(name, error) from error
        self.skipped[name] = str(error)

    def fraction(self) -> float | None:
        """The part of the current pass that is done, or None if not known."""
        return None


def named(name: str, error: Exception) -> Exception:
    """Return the error with the name of the batch, as a ``DcotError``."""
    message = str(error)
    if name in message:
        return error if isinstance(error, DcotError) else InvalidInputError(message)
    if isinstance(error, DcotError):
        return type(error)(f"{name}: {message}")
    return InvalidInputError(f"{name} cannot be read: {message or type(error).__name__}")


class Repeatable(Source):
    """Batches from a function that returns a new iterator over them each time it is called.

    Parameters
    ----------
    function : callable without arguments
        Returns an iterable of matrices (documents × terms), of texts, or of lists of texts.

    Raises
    ------
    InvalidInputError
        When it is read, if the function returns the same iterator twice.
    InvalidTypeError
        When it is read, if the function returns no batches.

    Examples
    --------
    >>> source = Repeatable(lambda: iter(["tea for two", "two for tea"]))
    >>> [batch.documents for batch in source.batches()]
    [['tea for two', 'two for tea']]
    """

    def __init__(self, function: Callable[[], Iterable[Any]], on_error: str = "raise") -> None:
        super().__init__(on_error)
        self.function = function
        self._last: Any = None

    def units(self) -> Iterator[tuple[str, Reader]]:
        made = self.function()
        if not hasattr(made, "__iter__"):
            raise InvalidTypeError(
                f"the function returned a {type(made).__name__}, expected batches of documents"
            )
        if made is self._last and hasattr(made, "__next__"):
            raise InvalidInputError(
                "the function gave the same iterator twice, and it is used up: make a new one in "
                "every call, as in lambda: read(path)"
            )
        self._last = made
        return _numbered(made)


class Once(Source):
    """Batches from an iterator, which can be read once only.

    Raises
    ------
    InvalidInputError
        If it is read a second time.

    Examples
    --------
    >>> source = Once(iter([["tea for two"], ["two for tea"]]))
    >>> next(source.ahead()).documents
    ['tea for two']
    >>> len(list(source.batches()))
    2
    """

    rereadable = False

    def __init__(self, iterator: Iterable[Any], on_error: str = "raise") -> None:
        super().__init__(on_error)
        self.started = False
        self._seen: deque[tuple[str, Reader]] = deque()
        self._unseen = _numbered(iterator)

    def ahead(self) -> Iterator[Batch]:
        """Yield the batches from the first on, before the pass, and keep them for it."""
        for name, read in chain(list(self._seen), self._seeing()):
            yield from (Batch(name, documents) for documents in read())

    def _seeing(self) -> Iterator[tuple[str, Reader]]:
        while not self.started and (unit := next(self._unseen, None)) is not None:
            self._seen.append(unit)
            yield unit

    def units(self) -> Iterator[tuple[str, Reader]]:
        if self.started:
            raise InvalidInputError(
                "the documents were given as an iterator, which can be read once, and the model "
                "needs another pass: give a list of blocks, files, or a function that returns a "
                "new iterator each time"
            )
        self.started = True
        while self._seen:
            yield self._seen.popleft()
        yield from self._unseen


def _numbered(items: Iterable[Any]) -> Iterator[tuple[str, Reader]]:
    """Yield the batches of an iterable as units of a source."""
    for number, documents in enumerate(_grouped(items)):
        yield f"batch {number}", partial(iter, [documents])


def _grouped(items: Iterable[Any]) -> Iterator[Any]:
    """Yield batches unchanged, and single texts in lists."""
    for single, group in groupby(items, key=lambda item: isinstance(item, str)):
        if single:
            yield from bounded(group, _BATCH_TEXTS, _BATCH_CHARACTERS)
        else:
            yield from group


def bounded(documents: Iterable[Any], most: int, characters: int) -> Iterator[list[Any]]:
    """Yield lists with a bounded number of documents and of characters.

    >>> list(bounded(["a", "b", "long one", "c"], most=2, characters=5))
    [['a', 'b'], ['long one'], ['c']]
    """
    batch: list[Any] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document) if isinstance(document, str) else 0
        if len(batch) >= most or size >= characters:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


# -- matrices in files --------------------------------------------------------------------------


Array = NDArray[Any]
PathLike = str | Path

# Values per batch: enough for the kernels, and small compared with a scatter matrix.
_BATCH_VALUES = 1 << 21


class Blocks(Source):
    """Matrices one below the other: a list of sparse or dense blocks with the same columns.

    Raises
    ------
    InvalidInputError
        If there are no blocks, or one of them is not a matrix.
    InvalidTypeError
        If ``blocks`` is not a list.

    Examples
    --------
    >>> from dcot import DCoT
    >>> DCoT(2).fit(Blocks([np.eye(3), np.ones((2, 3))])).n_documents_
    5.0
    """

    def __init__(self, blocks: Sequence[Any], on_error: str = "raise") -> None:
        super().__init__(on_error)
        if not hasattr(blocks, "__iter__"):
            raise InvalidTypeError(f"expected a list of matrices, got {blocks!r:.80}")
        self.blocks = list(blocks)
        if not self.blocks:
            raise InvalidInputError("the list of blocks is empty: give at least one matrix")
        for number, block in enumerate(self.blocks):
            if not _is_matrix(block):
                raise InvalidInputError(
                    f"block {number} is a {type(block).__name__}, expected a matrix, "
                    "documents × terms"
                )
        self.n_documents = sum(int(block.shape[0]) for block in self.blocks)

    def units(self) -> Iterator[tuple[str, Reader]]:
        for number, block in enumerate(self.blocks):
            yield f"block {number}", partial(_slices, block)


def _is_matrix(block: Any) -> bool:
    return len(getattr(block, "shape", ())) == 2  # frames of polars have no ndim


def _slices(block: Any) -> Iterator[Any]:
    """Yield rows in pieces of bounded size."""
    if sp.issparse(block):
        check_indices(block)  # SciPy does not check them when it slices
    n = block.shape[0]
    entries = int(block.nnz if sp.issparse(block) else n * block.shape[1])
    rows = max(64, int(_BATCH_VALUES * n / max(entries, 1)))
    if n <= rows:
        yield block
        return
    block = sp.csr_array(block) if sp.issparse(block) else block
    for start in range(0, n, rows):
        yield block[start : start + rows]


class NpzFiles(Source):
    """Sparse matrices in ``.npz`` files of SciPy, mapped into memory instead of read.

    Save them with ``scipy.sparse.save_npz(path, X, compressed=False)``, with X in CSR format. The
    operating system can free the parts that are not in use.

    Raises
    ------
    InvalidTypeError
        If ``paths`` is neither a path nor a list of paths.
    InvalidInputError
        If there are no paths. A file that is missing, damaged or compressed is an error when it is
        read.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "block.npz"
    >>> sp.save_npz(path, sp.csr_matrix(np.eye(3)), compressed=False)
    >>> NpzFiles([path]).n_documents
    3
    """

    def __init__(self, paths: PathLike | Iterable[PathLike], on_error: str = "raise") -> None:
        super().__init__(on_error)
        if not isinstance(paths, str | Path | Iterable):
            raise InvalidTypeError(f"expected a path or a list of paths, got {paths!r:.80}")
        given = [paths] if isinstance(paths, str | Path) else list(paths)
        self.paths = [as_path(path) for path in given]
        if not self.paths:
            raise InvalidInputError("the list of .npz files is empty: give at least one")
        self.n_documents = 0
        for path in self.paths:
            with suppress(DcotError, OSError):  # reported when it is read
                self.n_documents += mapped_csr(path).n

    def units(self) -> Iterator[tuple[str, Reader]]:
        for path in self.paths:
            yield str(path), partial(_mapped_slices, path)


def _mapped_slices(path: Path) -> Iterator[Any]:
    return mapped_csr(path).slices()


class mapped_csr:  # noqa: N801 - used like a function
    """A CSR matrix in an uncompressed ``.npz`` file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        arrays = _mapped(path)
        missing = {"indices", "indptr", "data", "shape", "format"} - set(arrays)
        if missing:
            raise InvalidInputError(
                f"{path} has no {', '.join(sorted(missing))}: expected what "
                "scipy.sparse.save_npz(path, X, compressed=False) writes"
            )
        if arrays["format"].tolist() not in ("csr", b"csr"):
            raise InvalidInputError(f"{path} is not in CSR format: save sparse.csr_array(X)")
        shape, starts = arrays["shape"], np.array(arrays["indptr"])
        self.indices, self.data = arrays["indices"], arrays["data"]
        fits = shape.shape == (2,) and all(array.dtype.kind in "iu" for array in (shape, starts))
        fits = fits and int(shape.min()) >= 0 and starts.shape == (int(shape[0]) + 1,)
        fits = fits and starts[0] == 0 and self.data.dtype.kind in "biuf"
        fits = fits and self.data.shape == self.indices.shape == (int(starts[-1]),)
        # neighbours are compared, because differences of unsigned integers wrap around
        if not fits or (starts[1:] < starts[:-1]).any():
            raise InvalidInputError(f"{path} is damaged: its rows do not fit its values")
        self.n, self.d = int(shape[0]), int(shape[1])
        self.indptr = starts.astype(np.int64)

    @property
    def nnz(self) -> int:
        return len(self.data)

    def slices(self) -> Iterator[Any]:
        rows = max(64, int(_BATCH_VALUES * self.n / max(self.nnz, 1)))
        for start in range(0, max(self.n, 1), rows):
            stop = min(start + rows, self.n)
            part = slice(int(self.indptr[start]), int(self.indptr[stop]))
            indices = np.array(self.indices[part])
            whole = indices.dtype.kind in "iu"
            if not whole or (len(indices) and not 0 <= indices.min() <= indices.max() < self.d):
                raise InvalidInputError(f"{self.path} is damaged: a column outside of {self.d}")
            pointers = self.indptr[start : stop + 1] - self.indptr[start]
            arrays = (np.array(self.data[part]), indices, pointers)
            yield sp.csr_array(arrays, shape=(stop - start, self.d))


def _mapped(path: Path) -> dict[str, Array]:
    """Return the arrays of an ``.npz`` file, memory-mapped; pickled objects are rejected."""
    arrays: dict[str, Array] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if member.compress_type != zipfile.ZIP_STORED:
                    raise InvalidParameterError(
                        f"{path} is compressed and cannot be mapped: save it with "
                        "scipy.sparse.save_npz(path, X, compressed=False)"
                    )
                arrays[member.filename.removesuffix(".npy")] = _member(path, archive, member)
    except FileNotFoundError:
        raise InvalidInputError(f"{path} does not exist") from None
    except DcotError:
        raise
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, RuntimeError) as error:
        raise InvalidInputError(f"{path} is not an .npz file, or is cut off: {error}") from error
    return arrays


def _member(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    with archive.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version)
        if read is None:
            raise InvalidInputError(f"{path}: {member.filename} is of an unknown npy version")
        shape, fortran, dtype = read(stream)
        if dtype.hasobject:
            raise InvalidInputError(f"{path}: {member.filename} has Python objects, not numbers")
        if not shape or fortran or 0 in shape:
            data = stream.read()
            return np.frombuffer(data, dtype=dtype).reshape(shape)
        header = stream.tell()
    with path.open("rb") as file:  # the local header has its own lengths
        file.seek(member.header_offset + 26)
        lengths = np.frombuffer(file.read(4), dtype="<u2")
    start = member.header_offset + 30 + int(lengths[0]) + int(lengths[1]) + header
    return np.memmap(path, dtype=dtype, mode="r", offset=start, shape=shape)


def as_source(X: Any) -> Source | None:
    """Return X as a source, or None if it is a matrix.

    X may be a source, a function, an iterator, a list of matrices, or paths of ``.npz`` files.
    """
    if isinstance(X, Source):
        return X
    if isinstance(X, str | Path) or _all(X, (str, Path)):
        return NpzFiles(X)
    if hasattr(X, "__next__"):
        return Once(X)
    if callable(X) and not hasattr(X, "shape"):
        return Repeatable(X)
    if isinstance(X, list | tuple) and X and all(map(_is_matrix, X)):
        return Blocks(X)
    return None


def _all(items: Any, kinds: tuple[type, ...]) -> bool:
    listed = isinstance(items, list | tuple) and len(items) > 0
    return listed and all(isinstance(item, kinds) and str(item).endswith(".npz") for item in items)
