"""Reading models that know how texts become terms: the vectorizer and the classifier."""

from __future__ import annotations

from typing import Any

from dcot.explain.meaning import Meaning
from dcot.explain.readable import Readable, explain_row, explain_text, find_word, one_row
from dcot.explain.reader import Reader


class ReadableVectorizer(Readable):
    """``explain``, ``similar_terms`` and ``cohort`` of ``DCoTVectorizer``."""

    def explain(self, text: str, k: int = 10) -> Meaning:
        """What a word or a text means: prototypes with their values in every layer.

        Values are the rebuilt ones (``reconstruct``), before they are scaled, joined or compressed,
        with the bias subtracted; the empty text, ``""``, shows the bias itself. Each word of a text
        has its share, and the shares add up. With squashing, its slope is held at the
        text's own (:mod:`dcot.explain.tracing`).

        Parameters
        ----------
        text : a word, or a text of any length
        k : how many prototypes to show, and to share out among the words

        Returns
        -------
        dcot.explain.Meaning
            It prints well, and has ``to_frame()``. Words that are not known are passed over, as in
            ``transform``, and listed; if none of several is known, what is left is the empty text.

        Raises
        ------
        UnknownTermError : a single word that the model does not know; near spellings are suggested

        Examples
        --------
        >>> from dcot import DCoTVectorizer
        >>> texts = ["crude oil", "opec oil output", "wheat harvest", "wheat and corn", "opec oil"]
        >>> model = DCoTVectorizer(n_layers=1, noise=0.5).fit(texts)
        >>> print(model.explain("opec", k=3))
        opec: what it means, the bias subtracted
          layer 1
          +0.351  opec
          +0.170  oil
          +0.097  output
        """
        model: Any = self
        reader = self._reader()
        return explain_text(reader, text, model.counter_.analyze, model.weigh, k)

    def _reader(self) -> Reader:
        model: Any = self
        dcot = model._fitted()
        terms = model.counter_.get_feature_names_out()
        return Reader(dcot.layers_, dcot.prototypes_, terms, model.weighting_.transform)

    def _find(self, reader: Reader, word: Any) -> int:
        model: Any = self
        return find_word(reader, word, model.counter_.analyze)


class ReadableClassifier(Readable):
    """``meaning``, ``similar_terms`` and ``cohort`` of ``DCoTClassifier``."""

    def meaning(self, document: Any, k: int = 10) -> Meaning:
        """What a word or a document means to the representation, whatever the classes.

        As :meth:`dcot.DCoTVectorizer.explain` for a text, and :meth:`dcot.DCoT.explain` for the row
        of a matrix. Which words moved a *decision* is for ``explain`` to say.

        Parameters
        ----------
        document : a word or text, or one row of a matrix, as the classifier was fitted on
        k : how many prototypes to show, and to share out among the words
        """
        model: Any = self
        reader = self._reader()
        if model._from_text:
            return explain_text(reader, document, model.counter_.analyze, model._weigh, k)
        return explain_row(reader, model._weigh(one_row(document)), k)

    def _reader(self) -> Reader:
        model: Any = self
        model._check_fitted()
        weigh = {"weigh": model.weighting_.transform} if model._from_text else {}
        return Reader(model._machine.layers, model.prototypes_, model._terms(), **weigh)

    def _find(self, reader: Reader, word: Any) -> int:
        model: Any = self
        if not model._from_text:
            return reader.column(word)
        return find_word(reader, word, model.counter_.analyze)
