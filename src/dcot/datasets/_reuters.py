"""Reuters-21578: the paper's matrix of counts, and the original distribution as text.

The distribution is ASCII in its own SGML. Control characters are numeric entities, and one byte in
the middle of a story is invalid. Both become blanks, so that the words next to them are not joined.
"""

from __future__ import annotations

import html
import os
import re
import tarfile
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dcot.datasets._corpus import Corpus, check_figures
from dcot.datasets._files import find_file
from dcot.errors import DatasetError, InvalidParameterError

_MATRIX_FILE = "Reuters21578.mat"
_MATRIX_HINT = (
    "It is the Reuters-21578 matrix that Deng Cai published with his text data sets "
    "(fea, gnd, trainIdx, testIdx)."
)
_TEXT_FILE = "reuters21578.tar.gz"
_TEXT_HINT = (
    "It is the Reuters-21578 distribution 1.0 of David D. Lewis: an archive with the files "
    "reut2-000.sgm to reut2-021.sgm."
)
_N_STORIES = 21578
_MAX_ARCHIVE_BYTES = 100_000_000  # the distribution has 28 million
_R8 = ("acq", "crude", "earn", "grain", "interest", "money-fx", "ship", "trade")
_FIGURES = {
    "modapte": {"train": 9603, "test": 3299, "classes": 118},
    "single": {"train": 6552, "test": 2581, "classes": 66, "train_classes": 59},
    "r52": {"train": 6532, "test": 2568, "classes": 52, "train_classes": 52},
    "r8": {"train": 5485, "test": 2189, "classes": 8, "train_classes": 8},
}
_WHAT = {
    "modapte": "ModApte split; none, one or several topics per story, separated by blanks.",
    "single": "Stories of the ModApte split that have one topic only; 7 of the 66 topics have no "
    "training story.",
    "r52": "R52: stories with one topic only, topics with both training and test stories.",
    "r8": "R8: stories with one topic only, of the 8 large topics of R8.",
}
# None of these starts again in the middle of what it has read: damaged files take no longer.
_ATTRIBUTE = re.compile(r'\b(\w+)="([^"]*)"')
_TAG = re.compile(r"<[^<>]*>")
_CONTROL = re.compile(r"&#(?:[0-9]|[12][0-9]|3[01]|127);|[\x00-\x08\x0b-\x1f\x7f\ufffd]")
_OPENING = {
    name: re.compile(rf"<{name}\b([^<>]*)>")
    for name in ("REUTERS", "TEXT", "TITLE", "BODY", "TOPICS", "D")
}


def load_reuters_matrix(data_dir: str | os.PathLike[str] | None = None) -> Corpus:
    """Reuters-21578 as the dCoT paper used it: 5946 + 2347 documents × 18933 terms.

    Labels are the integers 1 to 65 of the file. Seven classes of the test set have no training
    document; they are kept.

    Raises
    ------
    DatasetMissingError
        If the file is not found.
    DatasetError
        If the file is not as expected.

    Examples
    --------
    >>> load_reuters_matrix()  # doctest: +SKIP
    <Corpus reuters-matrix: 8293 documents, 65 classes, 5946 train + 2347 test>
    """
    path = find_file(_MATRIX_FILE, data_dir, hint=_MATRIX_HINT)
    content = _read_matrix(path)
    corpus = Corpus(
        name="reuters-matrix",
        counts=content["fea"],
        labels=content["gnd"].ravel().astype(np.intp),
        train=content["trainIdx"].ravel().astype(np.intp) - 1,  # MATLAB counts from one
        test=content["testIdx"].ravel().astype(np.intp) - 1,
        licence="research purposes only; copyright Reuters Ltd.",
        citation="D. Cai, X. Wang, X. He. Probabilistic dyadic data analysis with local and global "
        "consistency. ICML 2009 (which the dCoT paper follows). D. Cai, X. He, J. Han. Document "
        "clustering using locality preserving indexing. IEEE TKDE 17(12), 2005. Data: D. Lewis, "
        "Reuters-21578, Distribution 1.0.",
        description="Newswire of 1987, documents with one topic only, as counts without their "
        "vocabulary: the matrix of the dCoT paper. 58 of its 65 classes are in the training set.",
    )
    return check_figures(
        corpus, str(path), train=5946, test=2347, terms=18933, classes=65, train_classes=58
    )


def _read_matrix(path: Path) -> dict[str, Any]:
    from scipy.io import loadmat
    from scipy.sparse import csr_matrix

    try:
        with warnings.catch_warnings():
            # Newer SciPy warns that sparse arrays will replace matrices; csr_matrix accepts both.
            warnings.simplefilter("ignore")
            content: dict[str, Any] = loadmat(path)
    except Exception as error:  # SciPy raises many types for a damaged file
        raise DatasetError(
            f"{path} cannot be read as a MATLAB file: {error}. {_MATRIX_HINT}"
        ) from error
    missing = {"fea", "gnd", "trainIdx", "testIdx"} - content.keys()
    if missing:
        raise DatasetError(f"{path} has no variables {sorted(missing)}. {_MATRIX_HINT}")
    content["fea"] = csr_matrix(content["fea"])
    return content


def load_reuters_text(
    data_dir: str | os.PathLike[str] | None = None,
    *,
    subset: Literal["modapte", "single", "r52", "r8"] = "modapte",
    text: Literal["title+body", "title", "body"] = "title+body",
) -> Corpus:
    """Reuters-21578 from its SGML files, as text with capitals, numbers and punctuation.

    Parameters
    ----------
    data_dir : path, optional
        Directory with ``reuters21578.tar.gz``; see `dcot.datasets`.
    subset : {"modapte", "single", "r52", "r8"}
        ``"modapte"``: 9603 + 3299 stories with any number of topics, see `Corpus.label_sets`.
        ``"single"``: those with exactly one topic, 6552 + 2581 in 66 topics. ``"r52"``: of these,
        topics that have both training and test stories, 6532 + 2568. ``"r8"``: 5485 + 2189.
    text : {"title+body", "title", "body"}
        Some stories have only a title, and a few have no title, so texts may be empty.

    Notes
    -----
    The 8676 stories outside the ModApte split are the ``unlabelled`` documents of the corpus.

    Raises
    ------
    InvalidParameterError
        If ``subset`` or ``text`` is none of these.
    DatasetMissingError
        If the file is not found.
    DatasetError
        If the file is not as expected.

    Examples
    --------
    >>> load_reuters_text(subset="r8").target_names[:3]  # doctest: +SKIP
    ('acq', 'crude', 'earn')
    """
    if subset not in _FIGURES:
        raise InvalidParameterError(f"subset must be one of {sorted(_FIGURES)}, got {subset!r}")
    if text not in ("title+body", "title", "body"):
        raise InvalidParameterError(f"text must be 'title+body', 'title' or 'body', got {text!r}")
    path = find_file(_TEXT_FILE, data_dir, hint=_TEXT_HINT)
    stories = _read_stories(path)
    parts = {
        "train": _choose(stories, "TRAIN", subset),
        "test": _choose(stories, "TEST", subset),
        "unlabelled": [story for story in stories if not _in_modapte(story)],
    }
    return check_figures(_corpus(parts, subset, text), str(path), **_FIGURES[subset])


def _in_modapte(story: Story) -> bool:
    return story.has_topics and story.split in ("TRAIN", "TEST")


def _choose(stories: list[Story], split: str, subset: str) -> list[Story]:
    chosen = [story for story in stories if story.has_topics and story.split == split]
    if subset == "modapte":
        return chosen
    chosen = [story for story in chosen if len(story.topics) == 1]
    if subset == "r8":
        return [story for story in chosen if story.topics[0] in _R8]
    if subset == "r52":
        other = "TEST" if split == "TRAIN" else "TRAIN"
        shared = {story.topics[0] for story in _choose(stories, other, "single")}
        return [story for story in chosen if story.topics[0] in shared]
    return chosen


def _corpus(parts: dict[str, list[Story]], subset: str, text: str) -> Corpus:
    stories = [story for part in parts.values() for story in part]
    ends = np.cumsum([len(part) for part in parts.values()])
    labels = [" ".join(story.topics) for story in stories[: ends[1]]]
    return Corpus(
        name="reuters-text" if subset == "modapte" else f"reuters-text-{subset}",
        texts=[_text(story, text) for story in stories],
        labels=np.array(labels + [""] * len(parts["unlabelled"])),
        train=np.arange(ends[0]),
        test=np.arange(ends[0], ends[1]),
        unlabelled=np.arange(ends[1], ends[2]),
        label_separator=" " if subset == "modapte" else None,
        licence="research purposes only; copyright Reuters Ltd.",
        citation="D. Lewis. Reuters-21578 Text Categorization Test Collection, Distribution 1.0, "
        "1997.",
        description=f"Newswire of 1987. {_WHAT[subset]}",
    )


def _text(story: Story, text: str) -> str:
    if text == "title+body":
        return "\n\n".join(filter(None, (story.title, story.body)))
    return story.title if text == "title" else story.body


def _read_stories(path: Path) -> list[Story]:
    contents: dict[str, bytes] = {}
    try:
        with tarfile.open(path) as archive:
            unpacked = 0
            for member in archive:  # in this order, because going back would unpack it again
                unpacked += member.size
                if unpacked > _MAX_ARCHIVE_BYTES:
                    raise DatasetError(
                        f"{path} unpacks to more than {_MAX_ARCHIVE_BYTES:,} bytes. {_TEXT_HINT}"
                    )
                if member.name.endswith(".sgm") and (file := archive.extractfile(member)):
                    contents[member.name] = file.read()
    except DatasetError:
        raise
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise DatasetError(f"{path} cannot be read as an archive: {error}. {_TEXT_HINT}") from error
    stories = [story for name in sorted(contents) for story in parse_sgml(contents[name])]
    if len(stories) != _N_STORIES:
        raise DatasetError(
            f"{path} has {len(stories)} stories, expected {_N_STORIES}. {_TEXT_HINT}"
        )
    return stories


@dataclass(frozen=True)
class Story:
    """One story; ``split`` is LEWISSPLIT, and ``has_topics`` is whether TOPICS is YES."""

    split: str
    has_topics: bool
    topics: tuple[str, ...]
    title: str
    body: str


def parse_sgml(content: bytes) -> Iterator[Story]:
    """Yield all stories of one SGML file, in order.

    >>> text = b'<TEXT><TITLE>AT&amp;T</TITLE><BODY>Up&#3;&lt;T>.\\xfc</BODY></TEXT>'
    >>> head = b'<REUTERS TOPICS="YES" LEWISSPLIT="TEST"><TOPICS><D>earn</D></TOPICS>'
    >>> [story] = parse_sgml(head + text + b'</REUTERS>')
    >>> story.topics, story.title, story.body
    (('earn',), 'AT&T', 'Up <T>.')
    """
    for head, inside in _elements("REUTERS", content.decode("ascii", errors="replace")):
        attributes = dict(_ATTRIBUTE.findall(head))
        title, body = _title_and_body(inside)
        yield Story(
            split=attributes.get("LEWISSPLIT", ""),
            has_topics=attributes.get("TOPICS") == "YES",
            topics=tuple(_plain(topic) for _, topic in _elements("D", _field("TOPICS", inside))),
            title=title,
            body=body,
        )


def _title_and_body(inside: str) -> tuple[str, str]:
    kind, text = next(_elements("TEXT", inside), ("", ""))
    if "UNPROC" in kind:  # the raw story, without elements
        return "", _plain(_TAG.sub(" ", text))
    # The text after the title of a BRIEF is filler, and is not in a BODY.
    return " ".join(_plain(_field("TITLE", text)).split()), _plain(_field("BODY", text))


def _field(name: str, text: str) -> str:
    """The contents of the first element of this name."""
    return next((inside for _, inside in _elements(name, text)), "")


def _elements(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield attributes and contents of the elements of this name, in order."""
    for piece in text.split(f"</{name}>")[:-1]:
        found = _OPENING[name].search(piece)
        if found is not None:
            yield found.group(1), piece[found.end() :]


def _plain(text: str) -> str:
    return html.unescape(_CONTROL.sub(" ", text)).strip()
