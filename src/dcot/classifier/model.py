"""``DCoTClassifier``: classify documents with few labels and many unlabelled documents."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, TransformerMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state

from dcot.classifier.audit import label_issues_of
from dcot.classifier.calibration import Reliability
from dcot.classifier.explanation import Explanation, explain_decision
from dcot.classifier.fit import (
    ClassifierOptions,
    FittedClassifier,
    fit_classifier,
    refit_classifier,
)
from dcot.classifier.labels import hits, is_missing, is_set, read_labels
from dcot.classifier.learners import check_estimator
from dcot.classifier.seeds import read_seeds, rows_of_words
from dcot.classifier.selection import (
    base_options,
    candidates_for,
    embedding_weights,
    for_labels,
    for_layers,
)
from dcot.classifier.state import (
    add_classifier,
    classifier_facts,
    read_classifier,
    read_representation,
)
from dcot.classifier.suggestion import first_rows, suggest_rows
from dcot.core.centred import Matrix, as_documents, precision
from dcot.core.fit import FittedDCoT, check_weights
from dcot.core.fit import fit as fit_dcot
from dcot.core.options import check_choice, check_flag, check_seed
from dcot.embedding.vectors import (
    FROM_WORDS,
    WORDLLAMA,
    Documents,
    Embedding,
    as_encoder,
    check_vectors,
    no_encoder,
    no_vectors_of_words,
    refuse_vectors,
    source_of,
)
from dcot.errors import InvalidInputError, InvalidParameterError, InvalidTypeError, not_fitted
from dcot.estimator import DCoT, documents_by_name, refuse_sparse_frame, validated
from dcot.explain import Meaning, Readable, Reader
from dcot.persistence import Contents
from dcot.persistence.contents import setting
from dcot.persistence.saving import Saveable, build, decode_parameters, encode_parameters
from dcot.runtime.parameters import Parameters
from dcot.runtime.progress import progress_for, silent
from dcot.runtime.resources import parse_bytes
from dcot.text.inputs import (
    Texts,
    as_texts,
    is_text,
    refuse_nested_texts,
    refuse_table_of_texts,
)
from dcot.text.pipeline import TextPipeline
from dcot.vectorizer import SAVING_ADVICE, DCoTVectorizer

Array = NDArray[Any]

_CLASSIFY = object()  # predict: classify documents without known terms like any other


@documents_by_name("documents")
class DCoTClassifier(Readable, Saveable, ClassifierMixin, TransformerMixin, Parameters):
    """Classify documents with few labels and many unlabelled documents.

    A dCoT representation is fitted to all documents, and a linear classifier to the labelled
    ones. Leave-one-out on the labelled documents selects the strength of its regularisation, and
    whether LSI and, with 1,000 labels or more, the words themselves are among the features. With
    ``grid`` it selects other parameters too.

    Parameters
    ----------
    vectorizer : DCoTVectorizer, FrozenEstimator or None
        Counts and weights the terms of texts, and holds the DCoT to fit. If documents are a matrix,
        only its DCoT is used. Its noise and shrinkage (of the first layer), its features and its
        number of prototypes are the default candidate of the selection. Its other parameters are
        used unchanged. ``n_components`` must be None. None means ``DCoTVectorizer()``.
        To use a representation that is already fitted, pass scikit-learn's ``FrozenEstimator`` of
        a fitted ``DCoTVectorizer``, or of a fitted ``DCoT`` for matrices. ``fit`` then uses
        the documents for the classifier only.
    selection : {"loo", "none"}
        ``"none"`` uses the default candidate and only selects the regularisation strength.
    grid : mapping or None
        Values to select from, by name: ``"noise"``, ``"shrinkage"``, ``"n_prototypes"``,
        ``"features"``, and ``"embedding"``, the weight of the vectors relative to dCoT. The first
        value of each is the default, which is kept unless another one is significantly better.
    embedding : encoder, word vectors or None
        Vectors to use in addition to dCoT. Leave-one-out selects their weight, which may be 0.
        An encoder is a function from a list of texts to vectors, or an object with such a method
        ``encode`` or ``embed`` (sentence-transformers, model2vec, fastembed, wordllama);
        ``"wordllama"`` uses that package (extra ``embedding``). Word vectors are a file of
        word2vec, GloVe or safetensors, gensim's KeyedVectors, or a mapping from words to vectors.
        To use vectors computed elsewhere, pass them to ``fit`` and the other methods as
        ``vectors``.
    estimator : {"ridge", "svm", "logistic"} or a linear scikit-learn classifier
        The final classifier. Candidates are always compared with ridge.
    self_training : bool
        Whether ridge also learns from its own predictions for up to 2000 unlabelled documents. It
        is more accurate with few labels. It has no effect on other estimators, with several labels
        per document, and with more than 1500 labels.
    class_weight : {"sqrt", "balanced"}, mapping or None
        Class weights of the linear classifier. The representation does not use classes.
        ``"sqrt"`` weights a document by one over the square root of the size of its class, which
        helps small classes and costs large ones little; the other values are as in scikit-learn.
    unlabelled_label : label
        Label value that marks unlabelled rows, in addition to None, NaN, NA and ``""``. The
        default, -1, is that of scikit-learn.
    n_jobs : int or None
        Number of jobs for the cross-validation of estimators other than ridge.
    memory_limit : int, str or None
        Memory that the fit of the representation may use, in bytes or as a string such as "4GB".
        With None, that of the vectorizer.
    random_state : int, RandomState or None
        Seed for the folds and, with many labels, for the documents used in the selection.
    verbose : bool
        Show progress on standard error.

    Attributes
    ----------
    classes_ : the classes, sorted
    coef_ : coefficients of the linear classifier, one row per class
    intercept_ : what it adds to the decisions, one number per class
    vectorizer_ : the fitted ``DCoTVectorizer`` with the selected parameters; None for a matrix
    dcot_ : the fitted ``DCoT``
    best_params_ : the selected parameters
    best_index_ : their index in ``cv_results_``
    cv_results_ : all candidates with their leave-one-out scores, as in GridSearchCV
    estimate_ : cross-validated accuracy and macro-F1, compared with TF-IDF and the majority class
    calibrated_ : whether there were enough labels to calibrate ``predict_proba``

    Examples
    --------
    >>> from dcot import DCoTClassifier
    >>> texts = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat", "opec", "corn"]
    >>> model = DCoTClassifier().fit(texts, ["oil", None, "grain", None, None, None])
    >>> model.predict(["opec output", "corn harvest"]).tolist()
    ['oil', 'grain']
    """

    _saved_as: ClassVar = "DCoTClassifier"

    def __init__(
        self,
        *,
        vectorizer: DCoTVectorizer | FrozenEstimator | None = None,
        selection: Literal["loo", "none"] = "loo",
        grid: Mapping[str, Sequence[Any]] | None = None,
        embedding: Any = None,
        estimator: Any = "ridge",
        self_training: bool = True,
        class_weight: Any = "sqrt",
        unlabelled_label: Any = -1,
        n_jobs: int | None = None,
        memory_limit: float | str | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.vectorizer = vectorizer
        self.selection = selection
        self.grid = grid
        self.embedding = embedding
        self.estimator = estimator
        self.self_training = self_training
        self.class_weight = class_weight
        self.unlabelled_label = unlabelled_label
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.verbose = verbose

    # -- fitting ----------------------------------------------------------------------------

    def fit(
        self,
        documents: Any,
        y: Any,
        *,
        unlabelled: Any = None,
        sample_weight: ArrayLike | None = None,
        vectors: Any = None,
        seed_words: Mapping[Any, Sequence[str]] | None = None,
    ) -> Self:
        """Fit the classifier to documents, some of which have labels.

        Parameters
        ----------
        documents : texts (list, column, generator, reader or source), or a matrix of shape
            (n_documents, n_terms)
        y : array-like with one entry per document, or None if there are ``seed_words``
            A label, or None or ``unlabelled_label`` for unlabelled documents. For several labels
            per document, a list of labels or a row of an indicator matrix. For uncertain labels, a
            row of probabilities, with NaN for unlabelled documents; the columns are the classes,
            with the names of a DataFrame.
        unlabelled : documents, optional
            More documents without labels, of the same kind.
        sample_weight : array of shape (n_documents,), optional
            Weights of ``documents``, for the representation and for the classifier.
        vectors : array, optional
            Vectors of ``documents``, followed by those of ``unlabelled``, to use in addition to
            dCoT. Other methods then need the vectors of their documents too. If ``embedding`` is
            an encoder, these must be its vectors, computed beforehand.
        seed_words : mapping from classes to lists of words, optional
            Words that indicate a class, such as ``{"oil": ["opec", "crude"], "grain": ["wheat"]}``.
            Each word is used as one more labelled document for the linear classifier. It has no
            effect on the representation, the estimate and the calibration. A class may have seed
            words and no labels.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            If there are fewer than two labelled documents or only one class, if ``y`` or
            ``vectors`` do not have one entry per document, or if documents cannot be used.
        InvalidTypeError
            If labels have mixed types, or documents, ``vectorizer``, ``grid``, ``embedding`` or
            ``seed_words`` have the wrong type.
        InvalidParameterError
            If a parameter is out of range.
        OutOfMemoryError
            If the fit is predicted to need more than ``memory_limit``.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat"]
        >>> model = DCoTClassifier().fit(texts, ["oil", None, "grain", None])
        >>> model.classes_.tolist(), model.n_labelled_
        (['grain', 'oil'], 2)
        >>> seeds = {"oil": ["opec"], "grain": ["wheat"]}
        >>> DCoTClassifier().fit(texts, None, seed_words=seeds).predict(["crude"]).tolist()
        ['oil']
        """
        encoder = None if self.embedding is None else as_encoder(self.embedding)
        embedded = vectors is not None or self.embedding is not None
        if not embedded:
            self._warn_of_lost_vectors()
        pipeline, dcot, options = self._options(embedded)
        if is_text(documents):
            texts = as_texts(documents)
            n, names = len(texts), None
            if unlabelled is not None:
                texts = Texts.joined([texts, as_texts(unlabelled)])
            X = _weighted(texts, pipeline, dcot, options.fitted)
        else:
            pipeline = texts = None
            X, n, names = self._read_new(documents, unlabelled, dcot.dtype)
            if options.fitted is not None:
                X = _of_frozen(X, names, options.fitted, self.vectorizer)
        if y is None and seed_words is not None:
            y = [None] * n
        labels = read_labels(y, n, self.unlabelled_label)
        if "features" not in (self.grid or {}):
            few = for_labels(options.candidates, len(labels.labelled))
            options = replace(options, candidates=few)
        weights = check_weights(sample_weight, n)
        if weights is not None:
            weights = np.concatenate([weights, np.ones(X.shape[0] - n)])
        terms = names if pipeline is None else pipeline.terms
        options = replace(options, base=options.base.named(terms))
        source = source_of(self.embedding, encoder, vectors, X, texts, terms) if embedded else None
        seeds = None
        if seed_words is not None:
            weigh = partial(rows_of_words, pipeline=pipeline, names=names, dtype=X.dtype)
            encode = None if source is None else source.of_words
            labels, seeds = read_seeds(seed_words, labels, weigh, encode)
        found = fit_classifier(X, labels, weights, options, source, seeds)
        dcot.set_params(**found.candidate.parameters(dcot))._adopt(found.dcot, names)
        made = None if pipeline is None else DCoTVectorizer._of_fitted(pipeline, dcot)
        return self._store(found, made, dcot)

    def fit_transform(
        self,
        documents: Any,
        y: Any,
        *,
        unlabelled: Any = None,
        sample_weight: ArrayLike | None = None,
        vectors: Any = None,
        seed_words: Mapping[Any, Sequence[str]] | None = None,
    ) -> Any:
        """Fit the classifier and return the features of ``documents``, which are read once.

        Parameters and errors are those of ``fit``.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat"]
        >>> DCoTClassifier().fit_transform(texts, ["oil", "oil", "grain", "grain"]).shape
        (4, 17)
        """
        documents = as_texts(documents) if is_text(documents) else documents
        self.fit(
            documents,
            y,
            unlabelled=unlabelled,
            sample_weight=sample_weight,
            vectors=vectors,
            seed_words=seed_words,
        )
        if vectors is not None and unlabelled is not None:
            n = len(documents) if isinstance(documents, Texts) else np.shape(documents)[0]
            vectors = vectors[:n]
        return self._features(documents, vectors)

    def refit(
        self,
        documents: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        vectors: Any = None,
        seed_words: Mapping[Any, Sequence[str]] | None = None,
    ) -> Self:
        """Fit the linear classifier again, without changing the representation.

        Use it for more labels, corrected labels or other classes, also after ``dcot.load``. The
        selected parameters do not change, except for the regularisation strength. The new
        estimate does not account for their selection.

        Parameters
        ----------
        documents : texts or a matrix, as in ``fit``
            All labelled documents, not only new ones.
        y : their labels; unlabelled documents are used as with ``self_training`` in ``fit``
        sample_weight : array of shape (n_documents,), optional
        vectors : array, optional
            Vectors of the documents, if the classifier was fitted with vectors.
        seed_words : mapping, optional
            As in ``fit``. The seed words of ``fit`` are not kept.

        Returns
        -------
        self

        Raises
        ------
        ModelNotFittedError
            If the classifier is not fitted.
        InvalidInputError
            If the labels or documents cannot be used; see ``fit``.
        InvalidTypeError
            If labels have mixed types, or documents are not of the kind in ``fit``.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat"]
        >>> model = DCoTClassifier().fit(texts, ["oil", "oil", "grain", "grain"])
        >>> model.refit(texts[:3], ["fuel", "fuel", "food"]).classes_.tolist()
        ['food', 'fuel']
        """
        fitted = self._fitted()
        read = self._read(documents, vectors)
        if y is None and seed_words is not None:
            y = [None] * len(read)
        labels, seeds = read_labels(y, len(read), self.unlabelled_label), None
        if seed_words is not None:
            weigh = partial(
                rows_of_words,
                pipeline=None if self.vectorizer_ is None else self.vectorizer_._pipeline,
                names=getattr(self, "feature_names_in_", None),
                dtype=fitted.dcot.dtype,
            )
            labels, seeds = read_seeds(seed_words, labels, weigh, self._encode_words)
        weights = check_weights(sample_weight, len(read))
        options = self._options(fitted.had_vectors)[-1]
        found = refit_classifier(fitted, read, labels, weights, options, seeds)
        return self._store(found, self.vectorizer_, self.dcot_)

    def _options(
        self, embedded: bool = False
    ) -> tuple[TextPipeline | None, DCoT, ClassifierOptions]:
        """The text pipeline, the DCoT to fit, and the parameters, all checked."""
        check_choice("selection", self.selection, ("loo", "none"))
        check_flag("self_training", self.self_training)
        check_estimator(self.estimator)
        check_seed(self.random_state)
        if self.n_jobs is not None and (not isinstance(self.n_jobs, Integral) or not self.n_jobs):
            raise InvalidParameterError(
                f"n_jobs must be an integer other than 0, or None, got {self.n_jobs!r}"
            )
        pipeline, dcot, fitted = self._parts()
        weights = embedding_weights(self.grid, embedded)
        tried = candidates_for(dcot, self.grid, weights[0])
        if fitted is not None:
            tried = for_layers(tried, self.grid, len(fitted.layers))
        base = base_options(dcot, [candidate.features for candidate in tried])
        if self.memory_limit is not None:
            base = replace(base, memory_limit=parse_bytes(self.memory_limit))
        own = progress_for(self.verbose)
        if own is not silent:
            base = replace(base, progress=own)
        return (
            pipeline,
            dcot,
            ClassifierOptions(
                tried if self.selection == "loo" else tried[:1],
                base,
                fitted,
                weights if self.selection == "loo" else weights[:1],
                self.estimator,
                self.self_training,
                self.class_weight,
                self.n_jobs,
                self.random_state,
            ),
        )

    def _warn_of_lost_vectors(self) -> None:
        """A loaded classifier uses its vectors, but ``fit`` needs the encoder or the table."""
        learned = self.__dict__.get("_learned")
        if learned is None or learned.labelled_rows is not None or learned.embedding is None:
            return
        warnings.warn(
            f"the classifier was loaded with {learned.embedding.describe()}, and fit learns "
            "without them: set embedding, or give vectors; refit keeps them",
            stacklevel=3,
        )

    def _parts(self) -> tuple[TextPipeline | None, DCoT, FittedDCoT | None]:
        """New parts of the vectorizer, or the fitted parts of a frozen one."""
        given = DCoTVectorizer() if self.vectorizer is None else self.vectorizer
        frozen = isinstance(given, FrozenEstimator)
        model = given.estimator if frozen else given
        if frozen and isinstance(model, DCoT):
            return None, clone(model), model._fitted()
        if not isinstance(model, DCoTVectorizer):
            raise InvalidTypeError(
                "vectorizer must be a DCoTVectorizer, a FrozenEstimator of a fitted one (or of a "
                f"fitted DCoT), or None, got {'a frozen ' * frozen}{type(model).__name__}"
            )
        if not frozen:
            return *model._new_parts(), None
        fitted = model._fitted()._fitted()
        return TextPipeline(model.counter_, model.weighting_), clone(model.dcot_), fitted

    def _store(
        self, found: FittedClassifier, vectorizer: DCoTVectorizer | None, dcot: DCoT
    ) -> Self:
        """Store the result of a fit, in place of any earlier one."""
        self._learned = found
        self.vectorizer_, self.dcot_ = vectorizer, dcot
        self.classes_, self.coef_, self.intercept_ = found.classes, found.coef, found.intercept
        self.strength_, self.estimator_ = found.strength, found.estimator
        self.cv_results_, self.best_index_ = found.cv_results, found.best_index
        self.best_params_ = found.cv_results["params"][found.best_index]
        self.estimate_, self.temperature_ = found.estimate, found.temperature
        self.calibrated_ = found.calibrated
        self.n_documents_, self.n_labelled_ = found.n_documents, found.n_labelled
        self.prototypes_, self.n_features_in_ = found.dcot.prototypes, found.dcot.n_terms
        if hasattr(dcot, "feature_names_in_"):
            self.feature_names_in_ = dcot.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _refitted_by_ridge(self, found: FittedClassifier) -> Self:
        """A copy with another fit, by ridge, on the same representation."""
        made = copy(self)
        made.estimator = "ridge"
        return made._store(found, self.vectorizer_, self.dcot_)

    # -- documents --------------------------------------------------------------------------

    def _read_new(
        self, documents: Any, unlabelled: Any, dtype: Any
    ) -> tuple[Matrix, int, Array | None]:
        """A matrix of all documents, the number of those with ``y``, and the names of columns."""
        scratch = copy(self)  # scikit-learn stores the columns on it, and the fit may still fail
        X = scratch._validated(documents, reset=True)
        n, dtype = X.shape[0], precision(dtype, X.dtype)
        if unlabelled is not None:
            more = scratch._validated(unlabelled, reset=False)
            sparse = sp.issparse(X) or sp.issparse(more)
            X = sp.vstack([sp.csr_array(X), sp.csr_array(more)]) if sparse else np.vstack([X, more])
        return as_documents(X, dtype), n, scratch.__dict__.get("feature_names_in_")

    def _read(self, documents: Any, vectors: Any = None) -> Documents:
        """Convert documents to terms and vectors, as in ``fit``."""
        fitted, embedding = self._fitted(), self._fitted().embedding
        if embedding is None:
            if not fitted.had_vectors:
                refuse_vectors(vectors, "this classifier was fitted without vectors")
            return Documents(self._read_terms(documents))
        if embedding.table is not None:
            refuse_vectors(vectors, FROM_WORDS)
            X = self._read_terms(documents)
            return Documents(X, np.asarray(X @ embedding.table))
        k = len(embedding.mean)
        if vectors is not None:
            X = self._read_terms(documents)
            return Documents(X, check_vectors(vectors, X.shape[0], "the documents", k))
        embedding = self._available()
        texts = as_texts(documents)
        X = self._read_terms(texts)
        return Documents(X, embedding.of(texts.to_list(), X))

    def _read_terms(self, documents: Any) -> Matrix:
        dtype = self._fitted().dcot.dtype
        if self.vectorizer_ is None:
            return as_documents(self._validated(documents, reset=False), dtype)
        if not is_text(documents, empty=True):
            refuse_table_of_texts(documents)
            raise InvalidTypeError("this classifier was fitted on texts: give it a list of texts")
        return as_documents(self.vectorizer_.weigh(documents), dtype)

    def _encode_words(self, words: list[str], rows: Matrix) -> Array | None:
        embedding = self._fitted().embedding
        if embedding is None:
            return None
        if embedding.kind == "given":
            raise no_vectors_of_words()
        return self._available().of(words, rows)

    def _available(self) -> Embedding:
        """The embedding with its encoder; an error if there is none."""
        fitted = self._fitted().embedding
        assert fitted is not None
        if fitted.kind == "given":
            raise InvalidInputError(
                "the classifier was fitted on vectors given with the documents, of "
                f"{len(fitted.mean)} dimensions: give those of these documents too, as vectors="
            )
        return fitted.available()

    def _attach_encoder(self, encoder: Any) -> Self:
        """Set the encoder of a loaded classifier, after checking that it is the same one.

        Users call ``dcot.load(folder, embedding=encoder)``.
        """
        fitted = self._fitted()
        if fitted.embedding is not None:
            self._learned = replace(fitted, embedding=fitted.embedding.with_encoder(encoder))
        elif not fitted.had_vectors or as_encoder(encoder) is None:
            raise no_encoder()
        self.embedding = encoder  # for the next fit, if this one has left it out
        return self

    def _validated(self, X: Any, reset: bool) -> Any:
        refuse_table_of_texts(X)
        refuse_nested_texts(X)
        return validated(self, X, reset)

    # -- using ------------------------------------------------------------------------------

    def transform(self, documents: Any, *, vectors: Any = None) -> Any:
        """Return the features of documents: the input of the linear classifier.

        Parameters
        ----------
        documents : texts or a matrix, as in ``fit``
        vectors : array, optional
            Vectors of the documents, if the classifier was fitted with vectors.

        Raises
        ------
        ModelNotFittedError
            If the classifier is not fitted.
        InvalidInputError
            If the documents cannot be used, or vectors are needed and missing, or do not fit.
        InvalidTypeError
            If the documents are not of the kind in ``fit``.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat"]
        >>> model = DCoTClassifier().fit(texts, ["oil", "oil", "grain", "grain"])
        >>> model.transform(["opec"]).shape
        (1, 17)
        """
        return self._features(documents, vectors)

    def _features(self, documents: Any, vectors: Any) -> Any:
        """As ``transform``, but always an array, whatever ``set_output`` says."""
        fitted, read = self._fitted(), self._read(documents, vectors)
        features = fitted.dcot.representation.transform(read.terms)
        if sp.issparse(features):
            refuse_sparse_frame(self)
        if fitted.embedding is None or read.vectors is None:
            return features
        beside = fitted.embedding.features(read.vectors).astype(features.dtype, copy=False)
        if sp.issparse(features):
            return sp.hstack([features, sp.csr_array(beside)], format="csr")
        return np.hstack([features, beside])

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the features, such as ``dcot1_oil``: layer and prototype.

        Raises
        ------
        ModelNotFittedError
            If the classifier is not fitted.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat"]
        >>> model = DCoTClassifier().fit(texts, ["oil", "oil", "grain", "grain"])
        >>> model.get_feature_names_out()[:2].tolist()
        ['lsi0', 'dcot1_and']
        """
        self._fitted()
        model = self.dcot_ if self.vectorizer_ is None else self.vectorizer_
        names = model.get_feature_names_out(input_features)
        if self._learned.embedding is None:
            return names
        more = [f"embedding{place}" for place in range(len(self._learned.embedding.mean))]
        return np.concatenate([names, np.array(more, dtype=object)])

    def decision_function(self, documents: Any, *, vectors: Any = None) -> Array:
        """Return decision values, documents × classes; for two classes, those of the second.

        Raises
        ------
        ModelNotFittedError
            If the classifier is not fitted.
        InvalidInputError
            If the documents cannot be used, or vectors are needed and missing, or do not fit.
        InvalidTypeError
            If the documents are not of the kind in ``fit``.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat"]
        >>> model = DCoTClassifier().fit(texts, ["oil", "oil", "grain", "grain"])
        >>> (model.decision_function(["opec", "corn"]) > 0).tolist()
        [True, False]
        """
        fitted = self._fitted()
        decisions = fitted.decisions(self._read(documents, vectors))
        return decisions[:, 1] if fitted.exclusive and len(fitted.classes) == 2 else decisions

    def predict(
        self,
        documents: Any,
        *,
        unknown: Any = _CLASSIFY,
        abstain: float | None = None,
        vectors: Any = None,
    ) -> Any:
        """Predict labels, in the form in which ``fit`` received them.

        Parameters
        ----------
        documents : texts or a matrix, as in ``fit``
        unknown : label, optional
            Label for documents without any known term (``has_known_terms``). By default they are
            classified like others, although nothing in them indicates a class. With several
            labels per document, None means no label.
        abstain : float, optional
            Desired accuracy, such as 0.9: the least certain documents get None, so that about
            90 % of the other labels are correct. The threshold comes from the held-out decisions
            of ``fit`` and is valid for documents similar to the labelled ones. Documents without
            any known term get None too. Only for one label per document.
        vectors : array, optional
            Vectors of the documents, if the classifier was fitted with vectors.

        Raises
        ------
        ModelNotFittedError
            If the classifier is not fitted.
        InvalidInputError
            If the documents cannot be used, or vectors are needed and missing, or do not fit.
        InvalidTypeError
            If the documents are not of the kind in ``fit``.
        InvalidParameterError
            If ``abstain`` is not between 0 and 1, or ``unknown`` is a label although labels are an
            indicator matrix.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat"]
        >>> model = DCoTClassifier().fit(texts, ["oil", "oil", "grain", "grain"])
        >>> model.predict(["opec", "zebra"], unknown="?").tolist()
        ['oil', '?']
        """
        fitted = self._fitted()
        least = 0.0 if abstain is None else self._answer_from(abstain)
        read = self._read(documents, vectors)
        decisions = fitted.decisions(read)
        known = read.known
        if not fitted.exclusive:
            return _several(decisions > 0, fitted, known, unknown)
        predicted = fitted.classes[decisions.argmax(axis=1)]
        if abstain is not None:
            # without a known term nothing indicates a class, however large the probability
            unsure = (fitted.probabilities(decisions).max(axis=1) < least) | ~known
            predicted = predicted.astype(object)
            predicted[unsure] = None
        if unknown is not _CLASSIFY and not known.all():
            predicted = predicted.astype(object)
            for place in np.flatnonzero(~known):  # a tuple is one label, not one for each place
                predicted[place] = unknown
        return predicted

    def predict_sets(
        self, documents: Any, coverage: float = 0.9, *, vectors: Any = None
    ) -> list[tuple[Any, ...]]:
        """Predict a set of likely classes for each document, the most probable first.

        With ``coverage=0.9``, the set contains the correct class for about 90 % of new documents
        that are similar to the labelled ones. A clear document gets one class, an uncertain one
        several. A document without any known term gets all classes.

        Parameters
        ----------
        documents : texts or a matrix, as in ``fit``
        coverage : float
            Share of documents whose set contains the correct class, between 0 and 1.
        vectors : array, optional
            Vectors of the documents, if the classifier was fitted with vectors.

        Returns
        -------
        list of tuple

        Raises
        ------
        ModelNotFittedError
            If the classifier is not fitted.
        InvalidParameterError
            If ``coverage`` is not between 0 and 1.
        InvalidInputError
            If the classifier was fitted with several labels per document or with seed words
            alone, or if the documents cannot be used.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat"]
        >>> model = DCoTClassifier().fit(texts, ["oil", "oil", "grain", "grain"])
        >>> model.predict_sets(["opec"], coverage=0.5)
        [('oil',)]
        """
        fitted = self._fitted()
        least = self._reliability().include_from(coverage)
        read = self._read(documents, vectors)
        chance = fitted.probabilities(fitted.decisions(read))
        order = np.argsort(-chance, axis=1, kind="stable")
        sizes = np.maximum((chance >= least).sum(axis=1), 1)
        sizes[~read.known] = chance.shape[1]  # nothing indicates a class
        return [
            tuple(fitted.classes[row[:size]].tolist())
            for row, size in zip(order, sizes, strict=True)
        ]

    def _answer_from(self, accuracy: float) -> float:
        """The smallest probability that gets a label in ``predict(abstain=accuracy)``."""
        least = self._reliability().answer_from(accuracy)
        if least == np.inf:
            warnings.warn(
                f"no document is certain enough for abstain={accuracy:g}, so none is given a "
                "label: label more documents, or ask for less",
                stacklevel=3,
            )
        return least

    def _reliability(self) -> Reliability:
        fitted = self._fitted()
        found = fitted.reliability
        if found is None and fitted.exclusive:
            raise InvalidInputError(
                "abstain and predict_sets need labelled documents, and this classifier was learned "
                "from seed words alone: label some documents"
            )
        if found is None:
            raise InvalidInputError(
                "abstain and predict_sets need one label per document: with several, look at "
                "predict_proba, class by class"
            )
        return found

    def has_known_terms(self, documents: Any, *, vectors: Any = None) -> Array:
        """Return whether each document has a known term, any text for an encoder, or a vector.

        Parameters
        ----------
        documents : as in ``predict``
        vectors : array, optional
            Vectors of the documents; a row of zeros says nothing about a document.

        Raises
        ------
        ModelNotFittedError
            If the classifier is not fitted.
        InvalidInputError
            If vectors are given that ``predict`` would refuse.
        InvalidTypeError
            If the documents are not of the kind in ``fit``.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat"]
        >>> model = DCoTClassifier().fit(texts, ["oil", "oil", "grain", "grain"])
        >>> model.has_known_terms(["opec", "zebra"]).tolist()
        [True, False]
        """
        embedding = self._fitted().embedding
        if vectors is not None:
            return self._read(documents, vectors).known
        if embedding is None or embedding.kind != "encoder" or self.vectorizer_ is None:
            return Documents(self._read_terms(documents)).known
        return np.array([bool(text.strip()) for text in as_texts(documents)], dtype=bool)

    def predict_proba(self, documents: Any, *, vectors: Any = None) -> Array:
        """Return probabilities, documents × classes, in the order of ``classes_``.

        They are calibrated on held-out decisions if ``calibrated_`` is True. This does not hold for
        documents without any known term (``has_known_terms``): they get the probabilities of an
        empty document, which may be close to 1 although nothing indicates a class.

        Raises
        ------
        ModelNotFittedError
            If the classifier is not fitted.
        InvalidInputError
            If the documents cannot be used, or vectors are needed and missing, or do not fit.
        InvalidTypeError
            If the documents are not of the kind in ``fit``.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat"]
        >>> model = DCoTClassifier().fit(texts, ["oil", "oil", "grain", "grain"])
        >>> model.predict_proba(["opec"]).sum(axis=1).round(3).tolist()
        [1.0]
        """
        fitted = self._fitted()
        return fitted.probabilities(fitted.decisions(self._read(documents, vectors)))

    def score(
        self, documents: Any, y: Any, sample_weight: Any = None, *, vectors: Any = None
    ) -> float:
        """Return the accuracy on labelled documents.

        A document counts as correct if exactly its labels are predicted. Labels that ``fit`` did
        not see count as errors, and unlabelled documents are skipped.

        Raises
        ------
        ModelNotFittedError
            If the classifier is not fitted.
        InvalidInputError
            If no document has a label (and a weight), or ``y`` does not have one entry per
            document.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat"]
        >>> model = DCoTClassifier().fit(texts, ["oil", "oil", "grain", "grain"])
        >>> model.score(["opec output", "corn harvest"], ["oil", "grain"])
        1.0
        """
        predicted = self.predict(documents, vectors=vectors)
        labelled, right = hits(
            y, predicted, self._learned.kind, self.unlabelled_label, self.classes_
        )
        if not labelled.any():
            raise InvalidInputError("no document has a label to score it by")
        weights = check_weights(sample_weight, len(labelled))
        if weights is not None and not weights[labelled].any():
            raise InvalidInputError("all documents with a label have weight zero")
        return float(np.average(right, weights=None if weights is None else weights[labelled]))

    # -- reading the model ------------------------------------------------------------------

    def explain(
        self, document: Any, target: Any = None, *, against: Any = None, vectors: Any = None
    ) -> Explanation:
        """Explain a decision by the shares of words and the prototypes they act through.

        The share of a word includes its word vector, if there is one. The vector of an encoder
        has one share for the whole text.

        Parameters
        ----------
        document : one text, or one row of a matrix
        target : class, optional
            By default the predicted class, compared with the second best.
        against : class, optional
            Explain the decision value of ``target`` minus that of this class. If it is the
            predicted class, ``target`` is the second best by default.
        vectors : array of one row, if the classifier was fitted with vectors

        Returns
        -------
        dcot.classifier.explanation.Explanation
            It prints as text and has ``to_frame()``. Words that the model does not know are in
            ``unknown``.

        Raises
        ------
        ModelNotFittedError
            If the classifier is not fitted.
        InvalidParameterError
            If ``target`` or ``against`` is not a class, or both are the same one.
        InvalidInputError
            If there is more than one document.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat"]
        >>> model = DCoTClassifier().fit(texts, ["oil", "oil", "grain", "grain"])
        >>> found = model.explain("opec output")
        >>> found.target, sorted(word.word for word in found)
        ('oil', ['opec', 'output'])
        """
        fitted = self._fitted()
        given = [document] if isinstance(document, str) else document
        if self.vectorizer_ is not None and is_text(given):
            given = as_texts(given)
        read = self._read(given, vectors)
        if len(read) != 1:
            raise InvalidInputError(f"explain takes one document, got {len(read)}")
        chosen = None if target is None else self._column("target", target)
        other = None if against is None else self._column("against", against)
        if chosen is not None and chosen == other:
            raise InvalidParameterError(
                f"target and against are the same class, {self.classes_.tolist()[chosen]!r}: "
                "compare it with another one"
            )
        reader = self._reader()
        unknown: list[str] = []
        if isinstance(given, Texts):
            unknown = reader.skipped(given.to_list()[0])
        return explain_decision(read, fitted, reader.terms, chosen, other, unknown)

    def suggest(self, documents: Any, k: int = 10, *, vectors: Any = None) -> Array:
        """Suggest documents to label next: uncertain and informative about the others.

        Label them, add them to the labelled documents, and call ``fit`` or ``refit``. Of more than
        2000 documents, the 1000 most uncertain and 1000 random ones are considered. Suggested
        documents are harder than others, so ``estimate_`` is too low if their labels are used.

        Before ``fit``, without any labels, the suggested documents are spread over the corpus. For
        this a representation is fitted without vectors; it is not kept.

        Parameters
        ----------
        documents : texts or a matrix, without labels
        k : int
            Number of documents to suggest.
        vectors : array, optional
            Vectors of the documents, if the classifier was fitted with vectors.

        Returns
        -------
        array of int
            Positions in ``documents``, the most informative first.

        Raises
        ------
        InvalidParameterError
            If ``k`` is not between 1 and the number of documents.
        InvalidInputError
            If the classifier was loaded and not refitted, because a model folder does not contain
            the labelled documents; or if the documents cannot be used.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat"]
        >>> len(DCoTClassifier().suggest(texts, k=2))
        2
        """
        check_seed(self.random_state)
        generator = check_random_state(self.random_state)
        if not self.__sklearn_is_fitted__():
            X, dcot = self._unlabelled_fit(documents)
            return first_rows(X, dcot, _checked_k(k, X.shape[0]), generator)
        read = self._read(documents, vectors)
        return suggest_rows(read, self._learned, _checked_k(k, len(read)), generator)

    def _unlabelled_fit(self, documents: Any) -> tuple[Matrix, FittedDCoT]:
        """Documents, and the representation of the default candidate."""
        pipeline, dcot, options = self._options()
        if is_text(documents):
            X, names = _weighted(as_texts(documents), pipeline, dcot, options.fitted), None
        else:
            pipeline = None
            X, _, names = self._read_new(documents, None, dcot.dtype)
        if options.fitted is not None:
            return _of_frozen(X, names, options.fitted, self.vectorizer), options.fitted
        default = options.candidates[0].options(options.base)
        return X, fit_dcot(X, None, default.named(names if pipeline is None else pipeline.terms))

    def label_issues(self) -> Any:
        """Return labels that may be wrong, because the other labels contradict them.

        Each labelled document is predicted by a model that was fitted without it (leave-one-out).
        The documents whose predicted class is not their label are listed, so the list is long if
        the accuracy is low, and only its beginning is worth reading. Documents from ``suggest``
        are listed more often than others, because they are difficult.

        Returns
        -------
        polars.DataFrame
            The most doubtful first, with the columns ``document`` (position among the documents
            of ``fit`` or ``refit``; for copies, that of the first), ``label``, ``suggested``,
            ``label_probability`` and ``suggested_probability``, both held out. With more than
            4000 labels, a random tenth of them is checked, at most 1000.

        Raises
        ------
        ModelNotFittedError
            If the classifier is not fitted.
        InvalidInputError
            If documents have several labels, or the classifier was loaded and not refitted.
        MissingExtraError
            If polars is not installed.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat"]
        >>> model = DCoTClassifier().fit(texts, ["oil", "oil", "grain", "grain"])
        >>> model.label_issues().columns[:3]
        ['document', 'label', 'suggested']
        """
        fitted = self._fitted()
        return label_issues_of(fitted).to_frame(fitted.classes)

    def meaning(self, document: Any, k: int = 10, *, names: Any = None) -> Meaning:
        """Explain a word or a document by its prototypes, independently of the classes.

        This is ``dcot.DCoTVectorizer.explain`` for a text, and ``dcot.DCoT.explain`` for
        the row of a matrix. To explain a decision, use ``explain``.

        Parameters
        ----------
        document : a word or text, or one row of a matrix
        k : int
            Maximum number of prototypes.
        names : list of str, optional
            Names of the columns, for a classifier of matrices that was fitted without names.

        Raises
        ------
        ModelNotFittedError
            If the classifier is not fitted.
        UnknownTermError
            If the document is a single word that the model does not know.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat"]
        >>> model = DCoTClassifier().fit(texts, ["oil", "oil", "grain", "grain"])
        >>> model.meaning("opec").layer(1).top(1)[0][0]
        'opec'
        """
        return self._reader(names).explain(document, k)

    def summary(self) -> str:
        """Return a paragraph with the selected parameters and the expected accuracy.

        Raises
        ------
        ModelNotFittedError
            If the classifier is not fitted.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat"]
        >>> model = DCoTClassifier().fit(texts, ["oil", "oil", "grain", "grain"])
        >>> model.summary()[:34]
        'Learned words from 4 documents, an'
        """
        return self._fitted().summary()

    def report(self) -> str:
        """Return the summary and a table of the estimates.

        A warning is issued if the estimated accuracy is not above that of TF-IDF.

        Raises
        ------
        ModelNotFittedError
            If the classifier is not fitted.

        Examples
        --------
        >>> texts = ["crude oil", "opec oil output", "wheat harvest", "corn and wheat"]
        >>> seeds = {"oil": ["opec"], "grain": ["wheat"]}
        >>> model = DCoTClassifier().fit(texts, None, seed_words=seeds)
        >>> print(model.report()[-46:])
        Too few labels to calibrate the probabilities.
        """
        text = self.summary()
        if self.estimate_.n and not self.estimate_.one_per_class:
            text += f"\n\n{self.estimate_.table()}"
        if not self.calibrated_:
            text += "\n\nToo few labels to calibrate the probabilities."
        if self.estimate_.beaten:
            warning = self.estimate_.warning(self._fitted().candidate.features)
            warnings.warn(warning, stacklevel=2)
            text += f"\n\nWarning: {warning}"
        return text

    def _reader(self, names: Any = None) -> Reader:
        self._fitted()
        if self.vectorizer_ is not None:
            return self.vectorizer_._reader(names)
        return self.dcot_._reader(names)

    def _column(self, name: str, target: Any) -> int:
        names = self.classes_.tolist()
        one = not is_set(target) and not np.ndim(target) and not is_missing(target, None)
        found = [k for k, name in enumerate(names) if one and name == target]
        if not found:
            raise InvalidParameterError(
                f"{name} must be one of the classes {self.classes_.tolist()[:10]}, got {target!r}"
            )
        return found[0]

    # -- saving -----------------------------------------------------------------------------

    def _contents(self, keep_moments: bool) -> Contents:
        fitted = self._fitted()
        if keep_moments:
            raise InvalidParameterError(
                "a classifier keeps no moments, because it learns from all documents at once: save "
                "with keep_moments=False; refit takes more labels after loading"
            )
        parameters = {**self.get_params(deep=False), "vectorizer": None, "embedding": None}
        model = self.dcot_ if self.vectorizer_ is None else self.vectorizer_
        contents = model._contents(False)
        settings = add_classifier(contents, fitted, parameters, self.vectorizer_ is not None)
        if self.vectorizer is not None:
            saved: dict[str, Any] = {"frozen": True}  # the representation itself is saved
            if not isinstance(self.vectorizer, FrozenEstimator):
                short = self.vectorizer._short_params()
                saved = {"parameters": encode_parameters(short, SAVING_ADVICE)}
            settings["vectorizer"] = saved
        facts = classifier_facts(fitted)
        return replace(contents, kind=self._saved_as, settings=settings, facts=facts)

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        inner, from_text = read_representation(contents)
        vectorizer = DCoTVectorizer._from_contents(inner) if from_text else None
        dcot = DCoT._from_contents(inner) if vectorizer is None else vectorizer.dcot_
        model: Self = build(cls, contents.settings)
        model.vectorizer = model.embedding = None  # a folder does not hold them as parameters
        if "self_training" not in setting(contents.settings, "parameters", dict):
            model.self_training = False  # saved before there was self-training
        if "vectorizer" in contents.settings:
            saved = setting(contents.settings, "vectorizer", dict)
            if saved.get("frozen") is True:
                model.vectorizer = FrozenEstimator(dcot if vectorizer is None else vectorizer)
            else:
                model.vectorizer = DCoTVectorizer(**decode_parameters(saved))
        learned = read_classifier(contents, dcot._fitted())
        if learned.embedding is not None and learned.embedding.name == WORDLLAMA:
            model.embedding = WORDLLAMA
        return model._store(learned, vectorizer, dcot)

    # -- scikit-learn -----------------------------------------------------------------------

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters, those of the vectorizer as in ``vectorizer__noise=0.5``.

        Raises
        ------
        InvalidParameterError
            If there is no parameter of that name, or ``vectorizer`` is None and has none.
        """
        for name in parameters:
            own, _, inner = name.partition("__")
            if inner and own in ("vectorizer", "estimator"):
                value = parameters.get(own, getattr(self, own))
                if not hasattr(value, "set_params"):
                    raise InvalidParameterError(
                        f"{name} cannot be set, because {own} is {value!r}: give an object that "
                        f"has {inner}, as in {own}="
                        f"{'DCoTVectorizer' if own == 'vectorizer' else 'LinearSVC'}()"
                    )
        return super().set_params(**parameters)

    def _fitted(self) -> FittedClassifier:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        return self._learned

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learned")

    def __sklearn_clone__(self) -> Self:
        """A copy that shares the embedding: an encoder may be large, and nothing changes it."""
        plain = copy(self)
        plain.embedding = None
        made: Self = super(DCoTClassifier, plain).__sklearn_clone__()
        return made.set_params(embedding=self.embedding)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.classifier_tags.multi_label = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _weighted(
    texts: Texts, pipeline: TextPipeline | None, dcot: DCoT, fitted: FittedDCoT | None
) -> Matrix:
    """Weighted terms of texts; ``pipeline`` is fitted first, unless it is frozen."""
    if pipeline is None:
        raise InvalidTypeError(
            "vectorizer is a frozen DCoT, which reads matrices: give a matrix, or freeze a fitted "
            "DCoTVectorizer for texts"
        )
    if fitted is not None:
        return as_documents(pipeline.transform(texts), fitted.dtype)
    X = pipeline.fit_transform(texts)
    return as_documents(X, precision(dcot.dtype, X.dtype))


def _of_frozen(X: Matrix, names: Array | None, fitted: FittedDCoT, frozen: Any) -> Matrix:
    """Documents in the precision of a frozen representation, after a check of their columns."""
    known = getattr(frozen.estimator, "feature_names_in_", None)
    if X.shape[1] != fitted.n_terms or (
        names is not None and known is not None and list(names) != list(known)
    ):
        raise InvalidInputError(
            f"the documents have {X.shape[1]} columns, and the frozen vectorizer was fitted on "
            f"{fitted.n_terms}: they must be the same, in the same order"
        )
    return as_documents(X, fitted.dtype)


def _several(chosen: Array, fitted: FittedClassifier, known: Array, unknown: Any) -> Any:
    """Labels for several labels per document; ``unknown`` for those without a known term."""
    if unknown is _CLASSIFY:
        known = np.ones(len(chosen), dtype=bool)
    if fitted.kind == "indicator":
        if unknown is not _CLASSIFY and unknown is not None:
            raise InvalidParameterError(
                f"unknown must be None if labels are an indicator matrix, got {unknown!r}: there "
                "is no column for it"
            )
        return (chosen & known[:, None]).astype(int)
    other = () if unknown is None else (unknown,)
    return [
        tuple(fitted.classes[row].tolist()) if is_known else other
        for row, is_known in zip(chosen, known, strict=True)
    ]


def _checked_k(k: Any, n: int) -> int:
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 1 <= k <= n:
        raise InvalidParameterError(
            f"k must be a whole number from 1 to the {n} documents, got {k!r}"
        )
    return int(k)
