"""What a fitted ``DCoTClassifier`` has to say: why, how good, and what to label next."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from dcot.classifier.estimate import Estimate
from dcot.classifier.explanation import Explanation, explain_document
from dcot.classifier.selection import Setting
from dcot.classifier.suggestion import candidates, most_informative, uncertainty
from dcot.core.representation import Representation
from dcot.errors import InvalidInputError, InvalidParameterError

Array = NDArray[Any]


class TellingClassifier:
    """The part of ``DCoTClassifier`` that explains, reports and suggests."""

    classes_: Array
    prototypes_: Array
    intercept_: Array
    cv_results_: dict[str, Any]
    setting_: Setting
    estimate_: Estimate
    calibrated_: bool
    n_documents_: int
    n_labelled_: int
    random_state: Any
    _machine: Representation

    # what the classifier itself does
    _check_fitted: Any
    _weigh: Any
    _from_text: bool
    _kind: str
    _alpha: float
    _labelled_rows: Any
    _labelled_terms: Array
    counter_: Any
    n_features_in_: int

    def explain(self, document: Any, target: Any = None) -> Explanation:
        """Which words pushed towards a class, and through which prototypes.

        Parameters
        ----------
        document : one text, or one row of a matrix
        target : the class; by default the predicted one
        """
        self._check_fitted()
        X = self._weigh([document] if isinstance(document, str) else document)
        if X.shape[0] != 1:
            raise InvalidInputError(f"explain takes one document, got {X.shape[0]}")
        decisions = self._machine.transform(X)[0] + self.intercept_
        column = int(decisions.argmax()) if target is None else self._column(target)
        return explain_document(
            X,
            self._machine,
            column,
            float(self.intercept_[column]),
            self._terms(),
            str(self.classes_[column]),
            self._labelled_terms,
            self.prototypes_,
        )

    def suggest(self, documents: Any, k: int = 10) -> Array:
        """The documents to label next: uncertain ones that say most about the others.

        Label them, add them to the labelled ones, and ``fit`` or ``refit``. Of more than 2000
        documents, the most uncertain thousand and a random thousand are considered.

        Parameters
        ----------
        documents : texts or a matrix, without labels
        k : how many

        Returns
        -------
        array of int
            Positions in ``documents``, the most worth first.
        """
        self._check_fitted()
        if self._labelled_rows is None:
            raise InvalidInputError(
                "a loaded classifier does not hold its labelled documents, and what is worth "
                "labelling depends on them: call refit(documents, y) with them first"
            )
        X = self._weigh(documents)
        if not isinstance(k, int | np.integer) or not 1 <= k <= X.shape[0]:
            raise InvalidParameterError(
                f"k must be a whole number from 1 to the {X.shape[0]} documents, got {k!r}"
            )
        decisions = self._machine.transform(X) + self.intercept_
        doubt = uncertainty(decisions, self._kind == "single")
        pool = candidates(doubt, check_random_state(self.random_state), at_least=k)
        chosen = most_informative(
            self._machine.parts(X[pool]),
            self._machine.parts(self._labelled_rows),
            doubt[pool],
            self._alpha,
            int(k),
        )
        return np.asarray(pool[chosen])

    def summary(self) -> str:
        """What was chosen and how sure one can be, in a paragraph."""
        self._check_fitted()
        s = self.setting_
        n_tried = len(self.cv_results_["params"])
        default = self.cv_results_["params"][0]
        changed = [name for name, value in default.items() if getattr(s, name) != value]
        if n_tried == 1:
            verdict = "One setting was used, not chosen among others"
        elif not changed:
            verdict = (
                f"Of {n_tried} settings the default was kept: nothing beat it by more than chance"
            )
        else:
            verdict = f"Of {n_tried} settings {' and '.join(changed)} changed from the default"
        return (
            f"Learned from {self.n_documents_} documents, {self.n_labelled_} of them labelled with "
            f"{len(self.classes_)} classes. {verdict}: noise {s.noise:g}, "
            f"shrinkage {s.shrinkage:g}, {s.n_prototypes} prototypes, features: {s.features}. "
            f"{self.estimate_.sentence()}"
        )

    def report(self) -> str:
        """The summary and the estimates as a table; a warning where TF-IDF is not beaten."""
        text = f"{self.summary()}\n\n{self.estimate_.table()}"
        if not self.calibrated_:
            text += "\n\nToo few labels to calibrate predict_proba."
        if self.estimate_.beaten:
            warnings.warn(self.estimate_.warning(), stacklevel=2)
            text += f"\n\nWarning: {self.estimate_.warning()}"
        return text

    def _column(self, target: Any) -> int:
        found = np.flatnonzero(self.classes_ == target)
        if not len(found):
            raise InvalidParameterError(
                f"target must be one of the classes {list(self.classes_)[:10]}, got {target!r}"
            )
        return int(found[0])

    def _terms(self) -> Array:
        if self._from_text:
            return np.asarray(self.counter_.get_feature_names_out())
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = np.array([f"x{i}" for i in range(self.n_features_in_)], dtype=object)
        return np.asarray(names)
