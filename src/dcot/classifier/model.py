"""``DCoTClassifier``: few labels, many documents, and every setting chosen on the labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from dcot.classifier.calibration import learn_temperature, probabilities
from dcot.classifier.estimate import Estimate, estimate
from dcot.classifier.inputs import (
    check_enough,
    check_weights,
    class_weights,
    is_text,
    without_zeros,
)
from dcot.classifier.labels import Labels, read_labels, without_duplicates
from dcot.classifier.learners import fit_linear
from dcot.classifier.ridge import KernelRidge
from dcot.classifier.selection import (
    Candidate,
    Choice,
    input_kernel,
    read_grid,
    select,
    star,
    table,
)
from dcot.classifier.state import SaveableClassifier
from dcot.classifier.telling import TellingClassifier
from dcot.core.centred import Matrix, canonical
from dcot.core.fit import FitOptions
from dcot.core.moments import Moments
from dcot.core.representation import Representation, products
from dcot.errors import InvalidInputError, InvalidParameterError, InvalidTypeError, not_fitted
from dcot.explain import Meaning, Readable, Reader
from dcot.explain.reader import refuse_names
from dcot.runtime.progress import progress_for
from dcot.runtime.resources import parse_bytes
from dcot.vectorizer import DCoTVectorizer

Array = NDArray[Any]

# Settings are judged on at most so many labelled documents: n³ work for each of them.
JUDGED = 1500


class DCoTClassifier(
    TellingClassifier, Readable, SaveableClassifier, ClassifierMixin, BaseEstimator
):
    """Classify documents from few labels and many unlabelled documents.

    A dCoT representation is learned on all documents, a linear classifier on those with labels.
    Noise, shrinkage, number of prototypes, which layers, whether x is kept and the strength of the
    classifier are chosen by closed-form leave-one-out on the labelled documents.

    Parameters
    ----------
    vectorizer : DCoTVectorizer or None
        How texts are counted and weighed; its settings of dCoT itself are not used. Not used for
        documents given as a matrix.
    selection : {"loo", "none"}
        ``"none"`` takes the defaults, and only chooses the classifier's strength.
    grid : mapping or None
        Values to choose from for ``"noise"``, ``"shrinkage"``, ``"n_prototypes"`` and
        ``"features"``; the first of each is the default that the others have to beat.
    estimator : {"ridge", "svm", "logistic"} or a linear scikit-learn classifier
        The final learner.
    class_weight : "balanced", mapping or None
        As in scikit-learn.
    unlabelled_label : label
        What marks a document without a label in ``y``, besides None; -1 as in scikit-learn.
    n_jobs : int or None
        For the cross-validation of learners other than ridge.
    memory_limit : int, str or None
        Bytes (or "4GB") that learning the representation may use.
    random_state : int, RandomState or None
        For the folds and, with many labels, the documents that settings are judged on.
    verbose : bool
        Show progress on standard error.

    Attributes
    ----------
    classes_ : the labels, sorted
    setting_ : the chosen setting
    cv_results_ : every candidate with its leave-one-out scores, like GridSearchCV's
    estimate_ : cross-validated accuracy and macro-F1 beside majority class and TF-IDF
    calibrated_ : whether there were labels enough to calibrate ``predict_proba``

    Examples
    --------
    >>> from dcot import DCoTClassifier
    >>> texts = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat", "opec", "corn"]
    >>> model = DCoTClassifier().fit(texts, ["oil", None, "grain", None, None, None])
    >>> model.predict(["opec output", "corn harvest"]).tolist()
    ['oil', 'grain']
    """

    def __init__(
        self,
        *,
        vectorizer: DCoTVectorizer | None = None,
        selection: Literal["loo", "none"] = "loo",
        grid: Mapping[str, Sequence[Any]] | None = None,
        estimator: Any = "ridge",
        class_weight: Any = None,
        unlabelled_label: Any = -1,
        n_jobs: int | None = None,
        memory_limit: float | str | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.vectorizer = vectorizer
        self.selection = selection
        self.grid = grid
        self.estimator = estimator
        self.class_weight = class_weight
        self.unlabelled_label = unlabelled_label
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.verbose = verbose

    _saved_as = "DCoTClassifier"

    # -- learning ---------------------------------------------------------------------------

    def fit(
        self,
        documents: Any,
        y: Any,
        *,
        unlabelled: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from documents of which some have labels.

        Parameters
        ----------
        documents : texts, or a matrix documents × terms
        y : a label for each, None or ``unlabelled_label`` for those without; or an indicator
            matrix; or a list of labels for each document
        unlabelled : more documents without labels, of the same kind
        sample_weight : of each of ``documents``, for the classifier
        """
        if self.selection not in ("loo", "none"):
            raise InvalidParameterError(
                f"selection must be 'loo' or 'none', got {self.selection!r}"
            )
        settings = star(read_grid(self.grid))
        X, n = self._read_training(documents, unlabelled)
        labels = read_labels(y, n, self.unlabelled_label)
        weights = check_weights(sample_weight, n, X.shape[0])
        if weights is not None and not weights.all():  # documents that count zero times
            X, labels, weights = without_zeros(X, labels, weights)
        check_enough(labels)
        self.n_labelled_, self.n_documents_ = len(labels.labelled), X.shape[0]
        labels, own = self._distinct(X, labels, weights)
        judged = self._judged(labels)
        choice = select(
            X,
            labels.labelled[judged],
            labels.targets[judged],
            settings if self.selection == "loo" else settings[:1],
            self._common(),
            own[judged],
            weights,
        )
        self._adopt(X, labels, own, judged, choice)
        return self

    def refit(self, documents: Any, y: Any, *, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the classifier anew from these labels, on the representation as it is.

        For more labels, corrected ones or other classes, also after ``dcot.load``. Settings stay as
        they were chosen, but for the classifier's strength; the new estimate does not count their
        choice.

        Parameters
        ----------
        documents : texts or a matrix, as in ``fit``: all labelled documents, not just new ones
        y : their labels; documents without one are passed over
        sample_weight : of each document
        """
        X = self._weigh(documents)
        labels = read_labels(y, X.shape[0], self.unlabelled_label)
        weights = check_weights(sample_weight, X.shape[0], X.shape[0])
        if weights is not None and not weights.all():
            X, labels, weights = without_zeros(X, labels, weights)
        check_enough(labels)
        n_labelled = len(labels.labelled)
        labels, own = self._distinct(X, labels, weights)
        judged = self._judged(labels)
        parts = self._machine.parts(X[labels.labelled[judged]])
        kernel = products(parts, parts)
        ridge = KernelRidge.fit(kernel, labels.targets[judged], weights=own[judged])
        layers = list(self._machine.layers)
        choice = Choice([Candidate(self.setting_, ridge)], 0, layers, self.prototypes_)
        self._adopt(X, labels, own, judged, choice)
        self.n_labelled_ = n_labelled
        return self

    def _distinct(self, X: Matrix, labels: Labels, weights: Array | None) -> tuple[Labels, Array]:
        """Labelled documents once each, with the weight they have in learning the classifier."""
        own = np.ones(X.shape[0]) if weights is None else weights
        own = own[labels.labelled]
        if self.class_weight is not None:
            if labels.kind != "single":
                raise InvalidParameterError("class_weight needs one label a document")
            names = labels.classes[labels.targets.argmax(axis=1)]
            # balanced by the weight, not by the number, of documents
            own = own * class_weights(self.class_weight, labels.classes, names, own)
        first, own = without_duplicates(X[labels.labelled], labels.targets, own)
        kept = replace(labels, labelled=labels.labelled[first], targets=labels.targets[first])
        return kept, own

    def _read_training(self, documents: Any, unlabelled: Any) -> tuple[Matrix, int]:
        """All documents as a matrix, and how many of them came with ``y``."""
        self._from_text = is_text(documents)
        if self._from_text:
            pattern: DCoTVectorizer = clone(self.vectorizer or DCoTVectorizer())
            given = list(documents)
            texts = given + list(() if unlabelled is None else unlabelled)
            pipeline, _ = pattern.new_parts()
            self.counter_, self.weighting_ = pipeline.counter, pipeline.weighting
            X = canonical(pipeline.fit_transform(texts), np.dtype(np.float32))
            self.n_features_in_ = X.shape[1]
            return X, len(given)
        X = self._read_matrix(documents, reset=True)
        n = X.shape[0]
        if unlabelled is None:
            return X, n
        more = self._read_matrix(unlabelled, reset=False)
        if sp.issparse(X) or sp.issparse(more):
            return canonical(sp.vstack([sp.csr_array(X), sp.csr_array(more)]), X.dtype), n
        return np.vstack([X, more]).astype(X.dtype), n

    def _read_matrix(self, X: Any, reset: bool) -> Matrix:
        try:
            X = validate_data(self, X, reset=reset, accept_sparse=["csr", "csc", "coo"])
        except ValueError as error:
            raise InvalidInputError(str(error)) from error
        except TypeError as error:
            raise InvalidTypeError(str(error)) from error
        dtype = np.dtype(np.float64 if X.dtype == np.float64 else np.float32)
        return canonical(X, dtype) if sp.issparse(X) else np.ascontiguousarray(X, dtype=dtype)

    def _judged(self, labels: Labels) -> Array:
        """Positions among the labelled documents of those that settings are judged on."""
        count = len(labels.labelled)
        if count <= JUDGED:
            return np.arange(count)
        generator = check_random_state(self.random_state)
        return np.sort(generator.choice(count, JUDGED, replace=False))

    def _common(self) -> FitOptions:
        return FitOptions(
            tol=1e-3,
            memory_limit=parse_bytes(self.memory_limit),
            progress=progress_for(self.verbose),
        )

    def _adopt(
        self, X: Matrix, labels: Labels, weights: Array, judged: Array, choice: Choice
    ) -> None:
        """Learn the final classifier, calibrate it, and estimate how good it is."""
        setting = choice.setting
        self.setting_, self.prototypes_ = setting, choice.prototypes
        self.classes_, self._kind = labels.classes, labels.kind
        targets = labels.targets[judged]
        self.cv_results_ = table(choice, targets)
        representation = Representation(choice.layers, setting.output, "unit")
        rows = X[labels.labelled]
        learner = fit_linear(
            self.estimator,
            representation.parts(rows),
            labels,
            choice.ridge,
            weights,
            self.n_jobs,
            self.random_state,
        )
        self.strength_, self.estimator_ = learner.strength, learner.estimator
        self.intercept_ = learner.intercept
        dtype = choice.layers[0].coef_.dtype
        coef = np.ascontiguousarray(learner.coef, dtype=dtype)
        self._machine = replace(representation, components=coef)
        self._labelled_rows, self._alpha = rows, choice.ridge.alpha
        self._labelled_terms = Moments.of(rows).document_frequency > 0
        exclusive = labels.kind == "single"
        self.temperature_, self.calibrated_ = learn_temperature(
            choice.ridge.held_out, targets, weights[judged], exclusive
        )
        tfidf = KernelRidge.fit(input_kernel(rows[judged]), targets, weights=weights[judged])
        self.estimate_: Estimate = estimate(choice, targets, tfidf, exclusive, self.random_state)

    # -- using ------------------------------------------------------------------------------

    def decision_function(self, documents: Any) -> Array:
        """Decision values, documents × classes; for two classes those of the second."""
        decisions = self._decisions(documents)
        return decisions[:, 1] if self._two_classes else decisions

    def predict(self, documents: Any) -> Any:
        """Labels in the form that they were given in ``fit``."""
        decisions = self._decisions(documents)
        if self._kind == "single":
            return self.classes_[decisions.argmax(axis=1)]
        positive = decisions > 0
        if self._kind == "indicator":
            return positive.astype(int)
        return [tuple(self.classes_[row]) for row in positive]

    def predict_proba(self, documents: Any) -> Array:
        """Probabilities by class, calibrated on held-out decisions if ``calibrated_`` says so."""
        return probabilities(self._decisions(documents), self.temperature_, self._kind == "single")

    def score(self, documents: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of documents whose labels are all predicted; unseen labels count as errors."""
        predicted = self.predict(documents)
        if self._kind == "indicator":
            hits = (np.asarray(y) == predicted).all(axis=1)
        elif self._kind == "sets":
            hits = np.array([set(a) == set(b) for a, b in zip(y, predicted, strict=True)])
        else:
            truth = np.asarray(y)
            if len(truth) != len(predicted):
                raise InvalidInputError(
                    f"{len(predicted)} documents, but {len(truth)} labels to score them by"
                )
            hits = truth == predicted
        return float(np.average(hits, weights=sample_weight))

    def meaning(self, document: Any, k: int = 10, *, names: Any = None) -> Meaning:
        """What a word or a document means to the representation, whatever the classes.

        As :meth:`dcot.DCoTVectorizer.explain` for a text, and :meth:`dcot.DCoT.explain` for the row
        of a matrix. ``explain`` says which words moved a *decision*.

        Parameters
        ----------
        document : a word or text, or one row of a matrix, as the classifier was fitted on
        k : at most this many prototypes
        names : names of the columns, for a classifier of matrices that was fitted without names
        """
        return self._reader(names).explain(document, k)

    def _reader(self, names: Any = None) -> Reader:
        self._check_fitted()
        layers, prototypes = self._machine.layers, self.prototypes_
        if not self._from_text:
            known = getattr(self, "feature_names_in_", None)
            return Reader.of_matrix(layers, prototypes, self._weigh, names=names, known=known)
        refuse_names(names)
        return Reader(
            layers,
            prototypes,
            self._terms(),
            self._weigh,
            self.weighting_.transform,
            self.counter_.analyze,
            frequency=-self.weighting_.idf_,
        )

    def _decisions(self, documents: Any) -> Array:
        self._check_fitted()
        X = self._weigh(documents)
        return np.asarray(self._machine.transform(X) + self.intercept_)

    def _weigh(self, documents: Any) -> Matrix:
        if not self._from_text:
            X = self._read_matrix(documents, reset=False)
        else:
            if not is_text(documents):
                raise InvalidTypeError(
                    "this classifier was fitted on texts: give it a list of texts"
                )
            X = self.weighting_.transform(self.counter_.transform(documents))
        dtype = self._machine.layers[0].coef_.dtype
        return canonical(X, dtype) if sp.issparse(X) else X.astype(dtype, copy=False)

    @property
    def _two_classes(self) -> bool:
        return self._kind == "single" and len(self.classes_) == 2

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_machine")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.classifier_tags.multi_label = True
        return tags
