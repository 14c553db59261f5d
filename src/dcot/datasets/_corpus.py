"""Corpus: documents, labels, a split into training and test, licence and citation."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from dcot.errors import DatasetError, InvalidParameterError, NotAvailableError

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


Part = Literal["all", "train", "test", "unlabelled"]


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """A corpus: texts or counts, labels, and which documents are for training and testing.

    Attributes
    ----------
    name : str
        The name in the registry, such as ``"r52"``.
    texts : list of str, or None
        The documents, if the corpus has text.
    counts : CSR matrix, or None
        Documents × terms, if the corpus has counts.
    labels : array
        One label per document. A multi-label corpus separates the labels of a document by
        ``label_separator``; see `label_sets`. A document without a label has ``""``.
    target_names : tuple of str
        The classes, sorted. For integer labels, their decimal names.
    train, test : array of int
        Rows of the split. ``train``, ``test`` and ``unlabelled`` never overlap.
    unlabelled : array of int
        More documents for learning without labels. Some corpora have labels for them in
        ``labels``, which must not be used.
    feature_names : array of str, or None
        The terms of the columns of ``counts``, if known.
    licence, citation, description : str
        Texts to print with any result.

    Raises
    ------
    InvalidParameterError
        If there are not either texts or counts, or not one label per document.

    Examples
    --------
    >>> import numpy as np
    >>> corpus = Corpus(
    ...     name="tiny",
    ...     texts=["oil price", "wheat crop", "oil field"],
    ...     labels=np.array(["crude", "grain", "crude"]),
    ...     train=np.array([0, 1]),
    ...     test=np.array([2]),
    ... )
    >>> corpus
    <Corpus tiny: 3 documents, 2 classes, 2 train + 1 test>
    >>> corpus.test_texts, corpus.test_labels.tolist()
    (['oil field'], ['crude'])
    >>> corpus.rows("train").tolist(), corpus.documents("train")
    ([0, 1], ['oil price', 'wheat crop'])
    >>> print(corpus.describe())
    tiny: 3 documents, 2 classes, 2 train + 1 test
    Licence: unknown
    """

    name: str
    labels: npt.NDArray[Any]
    train: npt.NDArray[np.intp]
    test: npt.NDArray[np.intp]
    texts: list[str] | None = None
    counts: csr_matrix | None = None
    unlabelled: npt.NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))
    target_names: tuple[str, ...] = ()
    feature_names: npt.NDArray[np.str_] | None = None
    label_separator: str | None = None
    licence: str = "unknown"
    citation: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        if (self.texts is None) == (self.counts is None):
            raise InvalidParameterError(f"corpus {self.name!r} needs either texts or counts")
        if len(self.labels) != self.n_documents:
            raise InvalidParameterError(
                f"corpus {self.name!r} has {self.n_documents} documents but {len(self.labels)} "
                "labels: expected one label per document"
            )
        if not self.target_names:
            object.__setattr__(self, "target_names", self._classes())

    def _classes(self) -> tuple[str, ...]:
        if self.label_separator is None:
            return tuple(str(name) for name in np.unique(self.labels) if str(name))
        return tuple(sorted({name for names in self.label_sets for name in names}))

    @property
    def n_documents(self) -> int:
        """Number of documents in all parts."""
        return len(self.texts) if self.texts is not None else int(self.counts.shape[0])  # type: ignore[union-attr]

    @property
    def label_sets(self) -> list[tuple[str, ...]]:
        """The labels of each document as a tuple: none, one or several."""
        separator = self.label_separator
        if separator is None:
            return [(str(label),) if str(label) else () for label in self.labels]
        return [tuple(filter(None, str(label).split(separator))) for label in self.labels]

    def rows(self, part: Part = "all") -> npt.NDArray[np.intp]:
        """Row numbers of ``"all"``, ``"train"``, ``"test"`` or ``"unlabelled"`` documents.

        Raises
        ------
        InvalidParameterError
            If ``part`` is none of these.
        """
        if part == "all":
            return np.arange(self.n_documents)
        if part not in ("train", "test", "unlabelled"):
            raise InvalidParameterError(
                f"part must be 'all', 'train', 'test' or 'unlabelled', got {part!r}"
            )
        rows: npt.NDArray[np.intp] = getattr(self, part)
        return rows

    def documents(self, part: Part = "all") -> Any:
        """Texts (a list) or counts (CSR) of one part, depending on the corpus.

        Raises
        ------
        InvalidParameterError
            If ``part`` is not a part of the corpus.
        """
        if self.texts is None:
            return self.counts if part == "all" else self.counts[self.rows(part)]  # type: ignore[index]
        return [self.texts[row] for row in self.rows(part)]

    def _texts(self, part: Part) -> list[str]:
        if self.texts is None:
            raise NotAvailableError(
                f"corpus {self.name!r} has counts, no texts: use documents({part!r})"
            )
        return [self.texts[row] for row in self.rows(part)]

    @property
    def train_texts(self) -> list[str]:
        """Texts of the training documents."""
        return self._texts("train")

    @property
    def test_texts(self) -> list[str]:
        """Texts of the test documents."""
        return self._texts("test")

    @property
    def unlabelled_texts(self) -> list[str]:
        """Texts of the documents without labels."""
        return self._texts("unlabelled")

    @property
    def train_labels(self) -> npt.NDArray[Any]:
        """Labels of the training documents."""
        labels: npt.NDArray[Any] = self.labels[self.train]
        return labels

    @property
    def test_labels(self) -> npt.NDArray[Any]:
        """Labels of the test documents."""
        labels: npt.NDArray[Any] = self.labels[self.test]
        return labels

    def _sizes(self) -> str:
        split = f"{len(self.train)} train + {len(self.test)} test"
        if len(self.unlabelled):
            split += f" + {len(self.unlabelled)} unlabelled"
        return f"{self.n_documents} documents, {len(self.target_names)} classes, {split}"

    def __repr__(self) -> str:
        return f"<Corpus {self.name}: {self._sizes()}>"

    def describe(self) -> str:
        """Return a text to print: sizes, description, licence and citation."""
        lines = [f"{self.name}: {self._sizes()}"]
        if self.counts is not None:
            lines.append(f"{self.counts.shape[1]} terms, {self.counts.nnz} non-zero counts")
        for title, text in (
            ("", self.description),
            ("Licence: ", self.licence),
            ("Cite: ", self.citation),
        ):
            if text:
                lines.append(textwrap.fill(title + " ".join(text.split()), 88))
        return "\n".join(lines)


def check_figures(corpus: Corpus, source: str, **expected: int) -> Corpus:
    """Compare the corpus with its published figures and return it.

    Figures: ``documents``, ``train``, ``test``, ``unlabelled``, ``classes``, ``train_classes``,
    ``terms``.
    """
    found = {
        "documents": corpus.n_documents,
        "train": len(corpus.train),
        "test": len(corpus.test),
        "unlabelled": len(corpus.unlabelled),
        "classes": len(corpus.target_names),
        "train_classes": len(set(corpus.train_labels.tolist())),
        "terms": 0 if corpus.counts is None else int(corpus.counts.shape[1]),
    }
    wrong = [f"{found[key]} {key} (expected {n})" for key, n in expected.items() if found[key] != n]
    if wrong:
        raise DatasetError(
            f"{source} is not the corpus {corpus.name!r} that it should be: it has "
            f"{', '.join(wrong)}. Get the original file again; see docs/data.md."
        )
    return corpus
