"""Reading a ``DCoT``, which knows the names of its terms only if it was told."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import _check_feature_names_in

from dcot._dcot_input import read_documents
from dcot.errors import InvalidInputError
from dcot.explain.meaning import Meaning
from dcot.explain.ranking import RankedTerms
from dcot.explain.readable import Readable, explain_row, explain_words, is_words, one_row
from dcot.explain.reader import Reader

_NO_NAMES = (
    "this model was learned without names: pass names=[...], one for each column, such as "
    "vectorizer.get_feature_names_out(), or the number of a column"
)


class ReadableDCoT(Readable):
    """``explain``, ``similar_terms`` and ``cohort`` of ``DCoT``."""

    def explain(self, document: Any, k: int = 10, *, names: Any = None) -> Meaning:
        """What a word or a document means: prototypes with their values in every layer.

        Values are the rebuilt ones (``reconstruct``), before they are scaled, joined or compressed,
        with the bias subtracted; the empty document, ``""``, shows the bias itself. Each word of
        a document has its share, and the shares add up. With squashing, its slope is held at
        the document's own (:mod:`dcot.explain.tracing`).

        Parameters
        ----------
        document : words (a string or a list), each counted once for every time it comes; or one
            row of a matrix, weighted as in ``fit``
        k : how many prototypes to show, and to share out among the words
        names : of the columns, if the model was learned without

        Returns
        -------
        dcot.explain.Meaning
            It prints well, and has ``to_frame()``. Words that are not known are passed over and
            listed; if none of several is known, what is left is the empty document.

        Raises
        ------
        UnknownTermError : a single word that the model does not know; near spellings are suggested

        Examples
        --------
        >>> import numpy as np
        >>> from dcot import DCoT
        >>> names = ["crude", "oil", "opec", "wheat"]
        >>> X = np.array([[1.0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1], [1, 1, 1, 0]])
        >>> model = DCoT(n_layers=1, noise=0.5, shrinkage=0.1).fit(X)
        >>> print(model.explain("opec", k=2, names=names))
        opec: what it means, the bias subtracted
          layer 1
          +0.552  opec
          +0.186  oil
        """
        reader = self._reader(names)
        if is_words(document):
            return explain_words(reader, document, k)
        return explain_row(reader, read_documents(self, one_row(document), reset=False), k)

    def similar_terms(
        self, word: Any, k: int = 10, *, layer: int | None = None, names: Any = None
    ) -> RankedTerms:
        """The terms that mean what a word means: the largest cosines of their values.

        Parameters
        ----------
        word : a term, or the number of its column
        k : how many, at most
        layer : whose values, by default the last layer's, which see furthest
        names : of the columns, if the model was learned without

        Raises
        ------
        UnknownTermError : the model does not know the word; near spellings are in the message
        """
        reader = self._reader(names)
        return reader.similar(reader.column(word), k, layer)

    def cohort(
        self,
        prototype: Any,
        k: int = 10,
        *,
        layer: int | None = None,
        rare: bool = True,
        names: Any = None,
    ) -> RankedTerms:
        """The words that are translated into a prototype: those it gets the largest values from.

        Parameters
        ----------
        prototype : a term among the prototypes, or the number of its column
        k : how many words, at most
        layer : whose values, by default the last layer's
        rare : leave out words that are prototypes themselves. Where every term is a prototype
            there are no others, and all but the prototype itself are ranked.
        names : of the columns, if the model was learned without
        """
        reader = self._reader(names)
        return reader.cohort(reader.prototype(prototype), k, layer, rare)

    def _reader(self, names: Any = None) -> Reader:
        model: Any = self
        layers, prototypes = model.layers_, model.prototypes_
        told = names is not None or hasattr(model, "feature_names_in_")
        try:
            terms = _check_feature_names_in(model, names)
        except ValueError as error:
            raise InvalidInputError(f"names: {error}; one is needed for each column") from error
        return Reader(layers, prototypes, terms, hint="" if told else _NO_NAMES)
