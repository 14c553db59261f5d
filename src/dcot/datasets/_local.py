"""Load the user's own documents as a corpus: a folder of text files, or a table."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from dcot.datasets._corpus import Corpus
from dcot.errors import DatasetError, InvalidInputError, InvalidParameterError
from dcot.runtime.files import as_path

_LICENCE = "your own data"
_KINDS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl"}
_KINDS |= {".ndjson": "jsonl", ".parquet": "parquet"}
_SPLIT_FOLDERS = ({"train", "test"}, {"train", "test", "unlabelled"})


def load_folder(
    path: str | os.PathLike[str],
    *,
    pattern: str = "*.txt",
    test_share: float = 0.0,
    encoding: str = "utf-8",
    errors: str = "strict",
) -> Corpus:
    """A folder of text files, one document a file, labelled by the folders they are in.

    ``path/sport/a.txt`` has the label ``"sport"``; files directly in ``path`` are unlabelled
    documents. If ``path`` has only the folders ``train`` and ``test``, and possibly
    ``unlabelled``, these are the split, and labels are the folders below them.

    Parameters
    ----------
    path : path
        The folder.
    pattern : str
        Pattern of the names of documents.
    test_share : float
        Share of labelled documents for testing if the folders give no split, in [0, 1).
        Documents are chosen by a hash of their text, so the choice is always the same and equal
        texts are in the same part.
    encoding, errors : str
        As for `bytes.decode`; ``errors="replace"`` accepts invalid bytes.

    Raises
    ------
    DatasetError
        If there is no such folder, it has no such files, or a file cannot be decoded.
    InvalidParameterError
        If ``test_share`` is out of range.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "energy").mkdir()
    >>> _ = (folder / "energy" / "1.txt").write_text("no power")
    >>> load_folder(folder).labels.tolist()
    ['energy']
    """
    from dcot.text.decoding import check_encoding

    root = as_path(path).expanduser()
    if not root.is_dir():
        raise DatasetError(f"{root} is not a folder: expected one with text files ({pattern})")
    encoding = check_encoding(encoding)
    _check_share(test_share)
    try:
        files = sorted(file for file in root.rglob(pattern) if file.is_file())
    except (NotImplementedError, ValueError, TypeError, AttributeError) as error:
        raise InvalidParameterError(
            f"pattern must be a pattern of names, such as '*.txt', got {pattern!r}: {error}"
        ) from error
    if not files:
        raise DatasetError(f"{root} has no files {pattern}: name the right ones with pattern=...")
    texts = [_decode(file, encoding, errors) for file in files]
    folders = [file.relative_to(root).parts[:-1] for file in files]
    splits: list[str] | None = None
    if {folder[0] for folder in folders if folder} in _SPLIT_FOLDERS:
        splits = [folder[0] if folder else "unlabelled" for folder in folders]
        folders = [
            folder[1:] if split != "unlabelled" else ()
            for folder, split in zip(folders, splits, strict=True)
        ]
    return _corpus(root.name, texts, ["/".join(folder) for folder in folders], splits, test_share)


def load_table(
    path: str | os.PathLike[str],
    *,
    text: str | Sequence[str],
    label: str | None = None,
    split: str | None = None,
    test_share: float = 0.0,
    quote: str | None = '"',
    separator: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
) -> Corpus:
    """A table of documents: ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet``.

    Parameters
    ----------
    path : path
        The file.
    text : str or sequence of str
        The column with the text; several are joined, each on its own line.
    label : str, optional
        The column with the label. Rows with an empty label are unlabelled documents.
    split : str, optional
        A column with ``train``, ``test`` or ``unlabelled``.
    test_share : float
        Share of labelled documents for testing if no column gives a split, in [0, 1); see
        `load_folder`.
    quote : str or None
        The quotation mark of ``.csv`` and ``.tsv``; None if marks are part of the text.
    separator : str, optional
        What is between columns; by default a comma for ``.csv`` and a tab for ``.tsv``.
    encoding : str
        Encoding of all files except ``.parquet``.
    errors : {"strict", "replace"}
        What happens to bytes that cannot be decoded.

    Raises
    ------
    DatasetError
        If there is no such file, or it cannot be read.
    InvalidParameterError
        If the ending of the file is unknown, a column is missing, ``test_share`` is out of
        range or given together with ``split``, the split has other values, or the separator or
        the encoding is none.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "tickets.csv"
    >>> _ = path.write_text("body,queue\\nno power,energy\\nlate train,railways\\n")
    >>> load_table(path, text="body", label="queue").target_names
    ('energy', 'railways')
    """
    from dcot.text.tables import ReadOptions, names_of_columns, read_rows

    _check_share(test_share)
    if split is not None and test_share:
        raise InvalidParameterError(
            f"the column {split!r} gives the split, so test_share={test_share!r} would have no "
            "effect: leave one of them out"
        )
    file = as_path(path).expanduser()
    ending = file.suffix.lower()
    if ending not in _KINDS:
        raise InvalidParameterError(
            f"{path} ends with {file.suffix!r}: expected one of {', '.join(_KINDS)}"
        )
    if not file.is_file():
        raise DatasetError(f"{path} does not exist: expected a table of documents")
    if quote is not None and (not isinstance(quote, str) or len(quote) != 1 or quote in ",\t\r\n"):
        raise InvalidParameterError(
            f"quote must be one character that separates nothing, or None, got {quote!r}"
        )
    columns = names_of_columns("text", text)
    if not columns:
        raise InvalidParameterError(f"text must be the name of a column, or several, got {text!r}")
    for option, name in (("label", label), ("split", split)):
        if name is not None and not isinstance(name, str):
            raise InvalidParameterError(f"{option} must be the name of a column, got {name!r}")
    others = [name for name in (label, split) if name is not None]
    options = ReadOptions(columns, encoding, errors, separator, quote, missing="")
    try:
        rows = read_rows(file, _KINDS[ending], options, others)
        read = [[_cell(value, str(path)) for value in row] for row in rows]
    except InvalidInputError as error:
        marks = _KINDS[ending] in ("csv", "tsv")
        hint = " Quotation marks that belong to the text need quote=None." if marks else ""
        raise DatasetError(f"{path} cannot be read as {ending}: {error}.{hint}") from error
    texts = [row[0] for row in read]
    labels = ["" if label is None else row[1] for row in read]
    splits = None if split is None else [row[-1] for row in read]
    return _corpus(file.stem, texts, labels, splits, test_share)


def _cell(value: Any, path: str) -> str:
    if value is None or value != value:  # NaN
        return ""
    if isinstance(value, list | dict):
        raise DatasetError(f"{path} has {value!r:.80} in a cell: expected a text or a number")
    return str(value)


def _check_share(test_share: Any) -> None:
    if not isinstance(test_share, Real) or not 0 <= float(test_share) < 1:
        raise InvalidParameterError(f"test_share must be in [0, 1), got {test_share!r}")


def _decode(file: Path, encoding: str, errors: str) -> str:
    try:
        return file.read_bytes().decode(encoding, errors).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise DatasetError(
            f"{file} is not {encoding} at byte {error.start}: name its encoding, or pass "
            "errors='replace'"
        ) from error
    except OSError as error:
        raise DatasetError(f"{file} cannot be read: {error.strerror}") from error
    except (LookupError, TypeError) as error:
        raise InvalidParameterError(f"errors must be a name for bytes.decode: {error}") from error


def _corpus(
    name: str, texts: list[str], labels: list[str], splits: list[str] | None, test_share: float
) -> Corpus:
    if splits is None:
        splits = [
            ("test" if _share(text) < test_share else "train") if label else "unlabelled"
            for text, label in zip(texts, labels, strict=True)
        ]
    elif any(labels):  # rows without a label count as unlabelled
        splits = [
            "unlabelled" if part in ("train", "test") and not label else part
            for part, label in zip(splits, labels, strict=True)
        ]
    if unknown := set(splits) - {"train", "test", "unlabelled"}:
        raise InvalidParameterError(
            f"the split has the values {sorted(unknown)}: expected train, test or unlabelled"
        )
    chosen = np.array(splits, dtype=object)
    return Corpus(
        name=name,
        texts=texts,
        labels=np.array(labels, dtype=np.str_),
        train=np.flatnonzero(chosen == "train"),
        test=np.flatnonzero(chosen == "test"),
        unlabelled=np.flatnonzero(chosen == "unlabelled"),
        licence=_LICENCE,
    )


def _share(text: str) -> float:
    """Return a number in [0, 1) that depends only on the text."""
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48
