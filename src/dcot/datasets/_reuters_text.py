"""Reuters-21578 as text, from the original distribution: the ModApte split and its subsets."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path
from typing import Literal

import numpy as np

from dcot.datasets._checks import check_figures
from dcot.datasets._corpus import Corpus
from dcot.datasets._location import find_file
from dcot.datasets._sgml import Story, parse_sgml
from dcot.errors import DatasetError, InvalidParameterError

__all__ = ["load_reuters_text"]

_FILE = "reuters21578.tar.gz"
_HINT = (
    "It is the Reuters-21578 distribution 1.0 of David D. Lewis: an archive with the files "
    "reut2-000.sgm to reut2-021.sgm."
)
_N_STORIES = 21578
_R8 = ("acq", "crude", "earn", "grain", "interest", "money-fx", "ship", "trade")
_FIGURES = {
    "modapte": {"train": 9603, "test": 3299, "classes": 118},
    "single": {"train": 6552, "test": 2581, "classes": 66, "train_classes": 59},
    "r52": {"train": 6532, "test": 2568, "classes": 52, "train_classes": 52},
    "r8": {"train": 5485, "test": 2189, "classes": 8, "train_classes": 8},
}
_WHAT = {
    "modapte": "ModApte split; none, one or several topics a story, separated by blanks.",
    "single": "Stories of the ModApte split that have one topic only; 7 of the 66 topics have no "
    "training story.",
    "r52": "R52: stories with one topic only, topics with both training and test stories.",
    "r8": "R8: stories with one topic only, of the 8 large topics of R8.",
}


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
        Where ``reuters21578.tar.gz`` is; see `dcot.datasets`.
    subset : {"modapte", "single", "r52", "r8"}
        ``"modapte"``: 9603 + 3299 stories with any number of topics, see `Corpus.label_sets`.
        ``"single"``: those with exactly one topic, 6552 + 2581 of 66 topics. ``"r52"``: of these,
        topics that have both training and test stories, 6532 + 2568. ``"r8"``: 5485 + 2189.
    text : {"title+body", "title", "body"}
        Some stories have a title only, and a few have none; their text may then be empty.

    Notes
    -----
    The 8676 stories outside the ModApte split are the corpus's ``unlabelled`` documents.
    """
    if subset not in _FIGURES:
        raise InvalidParameterError(f"subset must be one of {sorted(_FIGURES)}, got {subset!r}")
    if text not in ("title+body", "title", "body"):
        raise InvalidParameterError(f"text must be 'title+body', 'title' or 'body', got {text!r}")
    path = find_file(_FILE, data_dir, hint=_HINT)
    stories = _read(path)
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
        citation="D. Lewis. Reuters-21578 Text Categorization Test Collection, Distribution 1.0. "
        "doi:10.24432/C52G6M.",
        description=f"Newswire of 1987. {_WHAT[subset]}",
    )


def _text(story: Story, text: str) -> str:
    if text == "title+body":
        return "\n\n".join(filter(None, (story.title, story.body)))
    return story.title if text == "title" else story.body


def _read(path: Path) -> list[Story]:
    contents: dict[str, bytes] = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:  # in the archive's order: going back would unpack it again
                if member.name.endswith(".sgm") and (file := archive.extractfile(member)):
                    contents[member.name] = file.read()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise DatasetError(f"{path} cannot be read as an archive: {error}. {_HINT}") from error
    stories = [story for name in sorted(contents) for story in parse_sgml(contents[name])]
    if len(stories) != _N_STORIES:
        raise DatasetError(f"{path} has {len(stories)} stories, expected {_N_STORIES}. {_HINT}")
    return stories
