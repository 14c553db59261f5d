"""Read texts and other columns of parquet files with polars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dcot.errors import InvalidInputError
from dcot.runtime.extras import require

if TYPE_CHECKING:
    import polars as pl
else:
    pl = require("polars", "tables")


def columns(path: Path) -> list[str]:
    """Return the names of the columns."""
    with _explained(path):
        return list(pl.scan_parquet(path, glob=False).collect_schema().names())


def n_rows(path: Path) -> int:
    """Return the number of rows."""
    with _explained(path):
        return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())


def frames(
    path: Path,
    texts: Sequence[str],
    others: Sequence[str],
    batch_size: int,
    missing: str | None = None,
    part: tuple[int, int] | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield frames of at most ``batch_size`` rows: the joined column ``text``, then the others.

    ``missing`` replaces missing texts; None raises an error instead. ``part`` is the first row to
    read and the one after the last.
    """
    frame = pl.scan_parquet(path, glob=False)
    start = 0
    if part is not None:
        start = part[0]
        frame = frame.slice(start, part[1] - start)
    batches = _batches(frame.select(list(dict.fromkeys([*texts, *others]))), batch_size)
    while True:
        with _explained(path):
            batch = next(batches, None)
        if batch is None:
            return
        text = _joined([_strings(batch[name], path, start, missing) for name in texts])
        others_read = [batch[name].alias(f"column {k}") for k, name in enumerate(others)]
        yield pl.DataFrame([text.alias("text"), *others_read])
        start += len(batch)


def _joined(columns: list[pl.Series]) -> pl.Series:
    if len(columns) == 1:
        return columns[0]
    renamed = [column.alias(str(k)) for k, column in enumerate(columns)]
    return pl.DataFrame(renamed).select(pl.concat_str(pl.all(), separator="\n")).to_series()


def _strings(texts: pl.Series, path: Path, start: int, missing: str | None) -> pl.Series:
    if texts.dtype in (pl.Categorical, pl.Enum):
        texts = texts.cast(pl.String)
    if texts.dtype != pl.String:
        raise InvalidInputError(
            f"{path}: column {texts.name!r} is of type {texts.dtype}, expected strings"
        )
    if missing is not None:
        return texts.fill_null(missing)
    if texts.null_count():
        row = start + int(texts.is_null().arg_max() or 0)
        raise InvalidInputError(
            f'{path}, row {row}: the text is missing: drop the row, or put "" in its place'
        )
    return texts


def _batches(frame: pl.LazyFrame, batch_size: int) -> Iterator[pl.DataFrame]:
    if hasattr(frame, "collect_batches"):  # newer versions of polars
        for batch in frame.collect_batches(chunk_size=batch_size, maintain_order=True):
            yield from batch.iter_slices(batch_size)
        return
    start = 0
    while len(batch := frame.slice(start, batch_size).collect()):
        yield batch
        start += batch_size


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Convert errors of polars to errors that name the file; its panics are BaseExceptions."""
    try:
        yield
    except BaseException as error:
        panic = type(error).__name__ == "PanicException"
        if not panic and not isinstance(error, pl.exceptions.PolarsError | OSError):
            raise
        reason = str(error).partition("\n")[0][:200]
        raise InvalidInputError(f"{path} cannot be read as parquet: {reason}") from error
