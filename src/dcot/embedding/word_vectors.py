"""Read word vectors from files and mappings; only the requested words are kept."""

from __future__ import annotations

import codecs
import gzip
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcot.errors import InvalidInputError, InvalidParameterError

Array = NDArray[Any]

LARGEST = 1e15  # squares of more overflow in single precision
_MAX_LINE = 1 << 20  # bytes; the longest lines of published vectors have some thousands
_BLOCK_ROWS = 1 << 16  # of a safetensors file, in memory at a time
_GENSIM = "read it with gensim, KeyedVectors.load_word2vec_format(path, binary=True), and give that"


def look_up(table: Any, terms: Sequence[str]) -> Array:
    """Vectors of terms, one row each; zero if the table does not have the term.

    A term of several words, such as ``new york``, is also looked for as ``new_york``.

    Parameters
    ----------
    table : the path of a text file (word2vec, GloVe or fastText; may end in .gz) or of a
        safetensors file, or anything with ``word in table`` and ``table[word]``
    terms : the words
    """
    places = {term.replace(" ", "_"): row for row, term in enumerate(terms)}
    places |= {term: row for row, term in enumerate(terms)}
    if isinstance(table, str | os.PathLike):
        path = Path(table)
        read = _safetensors_rows if path.suffix == ".safetensors" else _text_rows
        name, found = str(path), read(path, places)
    else:
        name = f"the {type(table).__name__}"
        found = ((row, table[word]) for word, row in places.items() if word in table)
    vectors: Array | None = None
    seen = np.zeros(len(terms), dtype=bool)
    for row, values in found:
        vector = _checked(name, terms[row], values)
        vectors = np.zeros((len(terms), len(vector)), np.float32) if vectors is None else vectors
        if len(vector) != vectors.shape[1]:
            raise InvalidInputError(
                f"{name}: the vector of {terms[row]!r} has {len(vector)} numbers, but others have "
                f"{vectors.shape[1]}"
            )
        if not seen[row]:  # the first entry of a word counts
            vectors[row], seen[row] = vector, True
    if vectors is None:
        raise InvalidInputError(
            f"{name} has none of the {len(terms):,} words of the documents, such as "
            f"{', '.join(map(repr, terms[:3]))}: is it of another language, or in upper case?"
        )
    return vectors


def _checked(name: str, word: str, values: Any) -> Array:
    try:
        vector: Array = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError):
        vector = np.empty(0)
    if vector.ndim != 1 or not vector.size or not (np.abs(vector) <= LARGEST).all():
        raise InvalidInputError(
            f"{name}: the vector of {word!r} is not a row of finite numbers up to {LARGEST:g}, got "
            f"{values!r:.60}"
        )
    return vector


# -- text ---------------------------------------------------------------------------------------


def _text_rows(path: Path, places: dict[str, int]) -> Iterator[tuple[int, Any]]:
    """Rows and their values, line by line; the values of other words are not parsed."""
    wanted = {word.encode(): row for word, row in places.items()}
    starts = {word.split(b" ")[0] for word in wanted}
    width = None
    with _opened(path) as file:
        for number, line in enumerate(iter(lambda: file.readline(_MAX_LINE), b""), 1):
            if len(line) == _MAX_LINE or b"\0" in line:
                raise InvalidInputError(
                    f"{path}: line {number} is not text; if this is word2vec's binary format, "
                    f"{_GENSIM}"
                )
            line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            word, *rest = line.split(None, 1)[:2] or [b""]
            if number == 1 and len(rest) == 1 and word.isdigit() and rest[0].strip().isdigit():
                continue  # the numbers of words and of dimensions
            if width is None:
                width = len(_numbers(path, number, rest))
            if word not in starts:
                continue
            values = rest[0].split() if rest else []
            while len(values) > width and not _is_number(values[0]):  # a name of several words
                word, values = word + b" " + values[0], values[1:]
            if word in wanted:
                yield wanted[word], _numbers(path, number, [b" ".join(values)])


def _is_number(value: bytes) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _numbers(path: Path, line: int, rest: list[bytes]) -> list[float]:
    try:
        found = [float(value) for value in rest[0].split()] if rest else []
    except ValueError:
        found = []
    if not found:
        raise InvalidInputError(
            f"{path}: line {line} is not a word and its numbers, as in word2vec's and GloVe's text "
            f"files; for other formats, give a mapping from words to vectors"
        )
    return found


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rb") as file:
            yield file
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidParameterError(f"embedding: {path} cannot be read: {error}") from error


# -- safetensors --------------------------------------------------------------------------------


def _safetensors_rows(path: Path, places: dict[str, int]) -> Iterator[tuple[int, Any]]:
    """Read one matrix; its words are a JSON list under "words" in the metadata of the file."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            matrix, words = _matrix_and_words(path, file)
            for start in range(0, len(words), _BLOCK_ROWS):
                block = words[start : start + _BLOCK_ROWS]
                rows = [(places[w], at) for at, w in enumerate(block) if w in places]
                if rows:
                    values = matrix[start : start + len(block)]
                    yield from ((row, values[at]) for row, at in rows)
    except (OSError, SafetensorError, TypeError) as error:
        raise InvalidParameterError(f"embedding: {path} cannot be read: {error}") from error


def _matrix_and_words(path: Path, file: Any) -> tuple[Any, list[str]]:
    matrices = [m for m in map(file.get_slice, file.keys()) if len(m.get_shape()) == 2]
    try:
        words = json.loads((file.metadata() or {}).get("words", "null"))
    except (ValueError, RecursionError):
        words = None
    if len(matrices) != 1 or not isinstance(words, list):
        raise InvalidInputError(
            f"{path} has {len(matrices)} matrices and {'no' if words is None else 'a'} list of "
            'words; expected one matrix, and in the metadata "words", a JSON list of its words: '
            'save_file({"vectors": matrix}, path, metadata={"words": json.dumps(words)})'
        )
    if matrices[0].get_shape()[0] != len(words):
        raise InvalidInputError(
            f"{path} has {matrices[0].get_shape()[0]:,} vectors but {len(words):,} words"
        )
    return matrices[0], [word if isinstance(word, str) else "" for word in words]
