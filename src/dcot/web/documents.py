"""The documents to be labelled: texts in order, each with an identifier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

from dcot.errors import InvalidInputError

MAX_ID = 1000  # characters of an identifier


@dataclass(frozen=True)
class Documents:
    """A corpus in memory.

    Attributes
    ----------
    texts : the documents, in the order of the corpus
    ids : an identifier for each, unique; the row number where the corpus has none
    name : what to call the corpus on the page
    """

    texts: Sequence[str]
    ids: Sequence[str]
    name: str = "documents"

    @classmethod
    def of(
        cls, texts: Sequence[str], ids: Sequence[object] | None = None, name: str = "documents"
    ) -> Documents:
        """Documents with checked identifiers, row numbers by default."""
        texts = list(texts)
        if not texts:
            raise InvalidInputError(f"{name} has no documents: there is nothing to label")
        names = [str(one) for one in (range(len(texts)) if ids is None else ids)]
        if len(names) != len(texts):
            raise InvalidInputError(
                f"{len(texts)} documents, but {len(names)} identifiers: give one for each"
            )
        odd = next((row for row, one in enumerate(names) if not is_identifier(one)), None)
        if odd is not None:
            raise InvalidInputError(
                f"the identifier of document {odd} has {len(names[odd]):,} characters, expected 1 "
                f"to {MAX_ID:,}: use another column, or none to number the rows"
            )
        if len(set(names)) != len(names):
            twice = next(one for one, count in Counter(names).items() if count > 1)
            raise InvalidInputError(
                f"the identifier {twice!r} occurs more than once: use a column whose values are "
                "unique, or none to number the rows"
            )
        return cls(texts, names, name)

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def row_of_id(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.ids)}

    @cached_property
    def row_of_text(self) -> dict[str, int]:
        """The first row of each distinct text."""
        rows: dict[str, int] = {}
        for row, text in enumerate(self.texts):
            rows.setdefault(text, row)
        return rows

    @cached_property
    def row_of_fingerprint(self) -> dict[str, int]:
        return {fingerprint(text): row for text, row in self.row_of_text.items()}

    def find(self, identifier: str, text: str | None) -> int | None:
        """The row of a labelled document, by identifier and text, or by its text alone.

        A corpus may have changed since the label was given: rows move when others are removed.
        The text decides, because the label was given to the text.
        """
        row = self.row_of_id.get(identifier)
        if row is not None and (text is None or self.texts[row] == text):
            return row
        return None if text is None else self.row_of_text.get(text)


def is_identifier(name: str) -> bool:
    """Whether a request of a page can name a document so."""
    return 0 < len(name) <= MAX_ID


def fingerprint(text: str) -> str:
    """What stands for a text: a page that outlives its server says with it which one it shows."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()
