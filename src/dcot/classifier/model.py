"""``DCoTClassifier``: few labels, many documents, and what the labels choose."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from dcot.classifier.embedding import (
    WORDLLAMA,
    Documents,
    Encoder,
    as_encoder,
    check_same_encoder,
    check_vectors,
    no_vectors_of_words,
    refuse_vectors,
    source_of,
)
from dcot.classifier.explanation import Explanation, explain_decision
from dcot.classifier.first_batch import first_rows
from dcot.classifier.fit import (
    ClassifierOptions,
    FittedClassifier,
    fit_classifier,
    refit_classifier,
)
from dcot.classifier.label_issues import label_issues_of
from dcot.classifier.labels import hits, read_labels
from dcot.classifier.reliability import Reliability
from dcot.classifier.seeds import read_seeds, rows_of_columns
from dcot.classifier.selection import base_options, candidates_for, for_labels, for_layers
from dcot.classifier.state import (
    add_classifier,
    classifier_facts,
    read_classifier,
    read_representation,
)
from dcot.classifier.suggestion import suggest_rows
from dcot.core.centred import Matrix, as_documents, precision
from dcot.core.fit import FittedDCoT, check_weights
from dcot.core.fit import fit as fit_dcot
from dcot.errors import InvalidInputError, InvalidParameterError, InvalidTypeError, not_fitted
from dcot.estimator import DCoT
from dcot.explain import Meaning, Readable, Reader
from dcot.persistence import Contents
from dcot.persistence.contents import setting
from dcot.persistence.saving import Saveable, build, decode_parameters, encode_parameters
from dcot.runtime.progress import progress_for
from dcot.runtime.resources import parse_bytes
from dcot.text.batch import Texts
from dcot.text.inputs import is_text
from dcot.text.pipeline import TextPipeline
from dcot.text.readers import as_texts
from dcot.vectorizer import SAVING_ADVICE, DCoTVectorizer

Array = NDArray[Any]

_CLASSIFY = object()  # predict: documents without a known term are classified like any other


class DCoTClassifier(Readable, Saveable, ClassifierMixin, TransformerMixin, BaseEstimator):
    """Classify documents from few labels and many unlabelled documents.

    A dCoT representation is learned on all documents, a linear classifier on those with labels.
    Which layers are used, with 2,000 labels or more whether x is beside them, and the strength of
    the classifier are chosen by closed-form leave-one-out on the labelled documents; with ``grid``,
    other settings too.

    Parameters
    ----------
    vectorizer : DCoTVectorizer, frozen estimator or None
        How texts are counted and weighed, and the DCoT that is learned; of documents given as a
        matrix, only the latter matters. Its noise and shrinkage (of the first layer), features and
        number of prototypes are the default that other candidates have to beat. Everything else is
        used as it is. ``n_components`` must be None.
        None: ``DCoTVectorizer()``. To use a representation that has been learned, as it is, give
        scikit-learn's ``FrozenEstimator`` of a fitted ``DCoTVectorizer``, or of a ``DCoT`` for
        matrices: then ``fit`` learns from the labelled documents alone.
    selection : {"loo", "none"}
        ``"none"`` takes the defaults, and only chooses the classifier's strength.
    grid : mapping or None
        Values to choose from for ``"noise"``, ``"shrinkage"``, ``"n_prototypes"`` and
        ``"features"``, and for ``"embedding"``, the weight of the vectors beside dCoT, instead of
        the usual ones; the first of each is the default that the others have to beat.
    embedding : encoder, word vectors or None
        Vectors to be used beside dCoT, at a weight that leave-one-out chooses, 0 among others: a
        function from a list of texts to vectors, or an object with such a method ``encode`` or
        ``embed`` (sentence-transformers, model2vec, fastembed, wordllama); ``"wordllama"``, the
        vectors that come with this package; or word vectors: a file of word2vec, GloVe or
        safetensors, gensim's KeyedVectors, a mapping from words to vectors. Vectors that you have
        computed are given to ``fit`` and the other methods, as ``vectors=``.
    estimator : {"ridge", "svm", "logistic"} or a linear scikit-learn classifier
        The final learner. Candidates are compared by ridge in any case.
    class_weight : {"sqrt", "balanced"}, mapping or None
        For the linear classifier; the representation does not see classes. ``"sqrt"`` weighs a
        document by one over the square root of the size of its class, which helps small classes
        and costs large ones nothing; the others are as in scikit-learn.
    unlabelled_label : label
        Label value that marks unlabelled rows, besides None, NaN, NA and ``""``; -1 as in
        scikit-learn.
    n_jobs : int or None
        For the cross-validation of learners other than ridge.
    memory_limit : int, str or None
        Bytes (or "4GB") that learning the representation may use. None: the vectorizer's.
    random_state : int, RandomState or None
        For the folds and, with many labels, the documents that candidates are judged on.
    verbose : bool
        Show progress on standard error.

    Attributes
    ----------
    classes_ : the labels, sorted
    coef_, intercept_ : of the linear classifier on the features; a row, and a number, per class
    vectorizer_ : the fitted ``DCoTVectorizer`` with the chosen settings; None for a matrix. It
        transforms, explains words, and can be searched with ``SearchIndex``.
    dcot_ : the fitted ``DCoT`` in it, or the one of a matrix
    best_params_, best_index_ : the chosen settings, and their place in ``cv_results_``
    cv_results_ : every candidate with its leave-one-out scores, like GridSearchCV's
    estimate_ : cross-validated accuracy and macro-F1 beside majority class and TF-IDF
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
        self.class_weight = class_weight
        self.unlabelled_label = unlabelled_label
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.verbose = verbose

    # -- learning ---------------------------------------------------------------------------

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
        """Learn from documents of which some have labels.

        Parameters
        ----------
        documents : texts (a list, column, generator, reader or source), or a matrix documents ×
            terms
        y : a label for each, None or ``unlabelled_label`` for unlabelled ones; or an indicator
            matrix; or a list of labels for each document; or, where labels are uncertain, a row of
            probabilities, whose columns (by name, in a DataFrame) are the classes, with NaN for
            unlabelled documents
        unlabelled : more documents without labels, of the same kind
        sample_weight : how often each of ``documents`` counts, for the representation and for the
            classifier
        vectors : array or None
            A vector for each of ``documents``, then for each of ``unlabelled``, to be used beside
            dCoT. Other methods then need the vectors of their documents too. With an encoder as
            ``embedding``, what it would return, computed beforehand.
        seed_words : mapping from classes to words, or None
            Words that say by themselves which class a document has, as in
            ``{"oil": ["opec", "crude"], "grain": ["wheat"]}``. Each is one more labelled document
            to learn from; the representation, the estimate and the probabilities come from the
            documents alone. A class may have seed words and no label, and ``y`` may be None.
        """
        encoder = None if self.embedding is None else as_encoder(self.embedding)
        embedded = vectors is not None or self.embedding is not None
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
            dtype = X.dtype

            def weigh(words: list[str]) -> Matrix:
                if pipeline is None:
                    return rows_of_columns(words, names, dtype)
                return as_documents(pipeline.transform(as_texts(words)), dtype)

            encode = None if source is None else source.of_words
            labels, seeds = read_seeds(seed_words, labels, weigh, encode)
        found = fit_classifier(X, labels, weights, options, source, seeds)
        dcot.set_params(**found.candidate.parameters(dcot))._adopt(found.dcot, names)
        made = None if pipeline is None else DCoTVectorizer._of_fitted(pipeline, dcot)
        return self._store(found, made, dcot)

    def refit(
        self,
        documents: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        vectors: Any = None,
        seed_words: Mapping[Any, Sequence[str]] | None = None,
    ) -> Self:
        """Learn the classifier again from these labels, on the representation as it is.

        For more labels, corrected ones or other classes, also after ``dcot.load``. Settings stay as
        they were chosen, but for the classifier's strength; the new estimate does not count their
        choice.

        Parameters
        ----------
        documents : texts or a matrix, as in ``fit``: all labelled documents, not just new ones
        y : their labels; unlabelled documents are skipped
        sample_weight : of each document
        vectors : of each document, if the classifier was fitted on vectors
        seed_words : as in ``fit``; those of ``fit`` are not kept
        """
        fitted = self._fitted()
        read = self._read(documents, vectors)
        if y is None and seed_words is not None:
            y = [None] * len(read)
        labels, seeds = read_labels(y, len(read), self.unlabelled_label), None
        if seed_words is not None:
            labels, seeds = read_seeds(seed_words, labels, self._weigh_words, self._encode_words)
        weights = check_weights(sample_weight, len(read))
        embedded = any(row["embedding"] for row in fitted.cv_results["params"])
        options = self._options(embedded)[-1]
        found = refit_classifier(fitted, read, labels, weights, options, seeds)
        return self._store(found, self.vectorizer_, self.dcot_)

    def _options(
        self, embedded: bool = False
    ) -> tuple[TextPipeline | None, DCoT, ClassifierOptions]:
        """How texts are read, the DCoT to be learned, and the parameters, all checked."""
        if self.selection not in ("loo", "none"):
            raise InvalidParameterError(
                f"selection must be 'loo' or 'none', got {self.selection!r}"
            )
        pipeline, dcot, fitted = self._parts()
        tried = candidates_for(dcot, self.grid, embedded)
        if fitted is not None:
            tried = for_layers(tried, self.grid, len(fitted.layers))
        base = base_options(dcot)
        if self.memory_limit is not None:
            base = replace(base, memory_limit=parse_bytes(self.memory_limit))
        if self.verbose:
            base = replace(base, progress=progress_for(True))
        return (
            pipeline,
            dcot,
            ClassifierOptions(
                tried if self.selection == "loo" else tried[:1],
                base,
                fitted,
                self.estimator,
                self.class_weight,
                self.n_jobs,
                self.random_state,
            ),
        )

    def _parts(self) -> tuple[TextPipeline | None, DCoT, FittedDCoT | None]:
        """New parts of the vectorizer; of a frozen one, what it has learned."""
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
        """Make this what the classifier has learned, and nothing else."""
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

    # -- documents --------------------------------------------------------------------------

    def _read_new(
        self, documents: Any, unlabelled: Any, dtype: Any
    ) -> tuple[Matrix, int, Array | None]:
        """A matrix of all documents, how many came with ``y``, and the names of the columns."""
        taster = copy(self)  # scikit-learn notes the columns on it, and this fit may yet fail
        X = taster._validated(documents, reset=True)
        n, dtype = X.shape[0], precision(dtype, X.dtype)
        if unlabelled is not None:
            more = taster._validated(unlabelled, reset=False)
            sparse = sp.issparse(X) or sp.issparse(more)
            X = sp.vstack([sp.csr_array(X), sp.csr_array(more)]) if sparse else np.vstack([X, more])
        return as_documents(X, dtype), n, taster.__dict__.get("feature_names_in_")

    def _read(self, documents: Any, vectors: Any = None) -> Documents:
        """Documents of the kind that the classifier was fitted on, as it reads them."""
        embedding = self._fitted().embedding
        if embedding is None:
            return Documents(self._read_terms(documents))
        if embedding.table is not None:
            refuse_vectors(vectors)
            X = self._read_terms(documents)
            return Documents(X, np.asarray(X @ embedding.table))
        k = len(embedding.mean)
        if vectors is not None:
            X = self._read_terms(documents)
            return Documents(X, check_vectors(vectors, X.shape[0], "the documents", k))
        encoder = self._encoder()
        texts = as_texts(documents)
        X, found = self._read_terms(texts), encoder(texts.to_list())
        if not found.shape[1]:  # all texts are blank
            found = np.zeros((len(texts), k), dtype=X.dtype)
        return Documents(X, check_vectors(found, len(texts), f"the encoder {encoder.name}", k))

    def _read_terms(self, documents: Any) -> Matrix:
        dtype = self._fitted().dcot.dtype
        if self.vectorizer_ is None:
            return as_documents(self._validated(documents, reset=False), dtype)
        if not is_text(documents, empty=True):
            raise InvalidTypeError("this classifier was fitted on texts: give it a list of texts")
        return as_documents(self.vectorizer_.weigh(documents), dtype)

    def _weigh_words(self, words: list[str]) -> Matrix:
        """A document of each word."""
        if self.vectorizer_ is not None:
            return self._read_terms(words)
        names = getattr(self, "feature_names_in_", None)
        return rows_of_columns(words, names, self._fitted().dcot.dtype)

    def _encode_words(self, words: list[str], rows: Matrix) -> Array | None:
        embedding = self._fitted().embedding
        if embedding is None:
            return None
        if embedding.table is not None:
            return np.asarray(rows @ embedding.table)
        if embedding.kind == "given":
            raise no_vectors_of_words()
        return self._encoder()(words)

    def _encoder(self) -> Encoder:
        """The encoder that the classifier was fitted with, or an error that asks for it."""
        fitted = self._fitted().embedding
        assert fitted is not None
        if fitted.encoder is not None:
            return fitted.encoder
        if fitted.kind == "encoder" and fitted.name == WORDLLAMA:  # it can be found by its name
            return self._attach_encoder(WORDLLAMA)._encoder()
        if fitted.kind == "given":
            raise InvalidInputError(
                "the classifier was fitted on vectors given with the documents, of "
                f"{len(fitted.mean)} dimensions: give those of these documents too, as vectors="
            )
        raise InvalidInputError(
            f"the classifier needs the encoder it was fitted with, {fitted.name}, which a model "
            "folder does not hold: dcot.load(folder, embedding=encoder), or give what it returns "
            "for these documents, as vectors="
        )

    def _attach_encoder(self, encoder: Any) -> Self:
        """Give a loaded classifier its encoder again: the one it was fitted with, which is checked.

        ``dcot.load(folder, embedding=encoder)`` does it too.
        """
        fitted, found = self._fitted().embedding, as_encoder(encoder)
        if found is None or fitted is None or fitted.kind != "encoder":
            raise InvalidParameterError(
                "this classifier was fitted without an encoder and works as it is: leave embedding "
                "out; word vectors are in its folder, if it was fitted with any"
            )
        check_same_encoder(found, fitted)
        self._learned = replace(self._learned, embedding=replace(fitted, encoder=found))
        self.embedding = encoder
        return self

    def _validated(self, X: Any, reset: bool) -> Any:
        try:
            return validate_data(self, X, reset=reset, accept_sparse=["csr", "csc", "coo"])
        except ValueError as error:
            raise InvalidInputError(str(error)) from error
        except TypeError as error:
            raise InvalidTypeError(str(error)) from error

    # -- using ------------------------------------------------------------------------------

    def transform(self, documents: Any, *, vectors: Any = None) -> Any:
        """Features of documents: what the linear classifier sees."""
        fitted, read = self._fitted(), self._read(documents, vectors)
        features = fitted.dcot.representation.transform(read.terms)
        if fitted.embedding is None or read.vectors is None:
            return features
        beside = fitted.embedding.features(read.vectors).astype(features.dtype, copy=False)
        if sp.issparse(features):
            return sp.hstack([features, sp.csr_array(beside)], format="csr")
        return np.hstack([features, beside])

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the features, such as ``dcot1_oil``: layer and prototype."""
        self._fitted()
        model = self.dcot_ if self.vectorizer_ is None else self.vectorizer_
        names = model.get_feature_names_out(input_features)
        if self._learned.embedding is None:
            return names
        more = [f"embedding{place}" for place in range(len(self._learned.embedding.mean))]
        return np.concatenate([names, np.array(more, dtype=object)])

    def decision_function(self, documents: Any, *, vectors: Any = None) -> Array:
        """Decision values, documents × classes; for two classes those of the second."""
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
        """Labels in the form that they were given in ``fit``.

        Parameters
        ----------
        documents : texts or a matrix, as in ``fit``
        unknown : the label for documents without any known term (``has_known_terms``). By default
            they are classified like others, though nothing in them speaks for any class. With
            several labels per document, None means no label.
        abstain : such as 0.9: give None to the least certain documents, so many that about 90 % of
            the labels that are given are right, by the held-out decisions of ``fit``. For new
            documents like the labelled ones; one label per document. Documents without any known
            term get None too.
        vectors : of the documents, if the classifier was fitted on vectors
        """
        fitted = self._fitted()
        least = 0.0 if abstain is None else self._answer_from(abstain)
        read = self._read(documents, vectors)
        decisions = fitted.decisions(read)
        known = _known(read)
        if not fitted.exclusive:
            return _several(decisions > 0, fitted, known, unknown)
        predicted = fitted.classes[decisions.argmax(axis=1)]
        if abstain is not None:
            # nothing in a document without a known term speaks for a class, however sure it looks
            unsure = (fitted.probabilities(decisions).max(axis=1) < least) | ~known
            predicted = predicted.astype(object)
            predicted[unsure] = None
        if unknown is not _CLASSIFY and not known.all():
            predicted = predicted.astype(object)
            predicted[~known] = unknown
        return predicted

    def predict_sets(
        self, documents: Any, coverage: float = 0.9, *, vectors: Any = None
    ) -> list[tuple[Any, ...]]:
        """For each document the classes that it may have, the most probable first.

        With ``coverage=0.9`` the right class is among them for about 90 % of new documents like the
        labelled ones. A certain document has one class, a doubtful one several.
        """
        fitted = self._fitted()
        least = self._reliability().include_from(coverage)
        chance = fitted.probabilities(fitted.decisions(self._read(documents, vectors)))
        order = np.argsort(-chance, axis=1, kind="stable")
        sizes = np.maximum((chance >= least).sum(axis=1), 1)
        return [
            tuple(fitted.classes[row[:size]].tolist())
            for row, size in zip(order, sizes, strict=True)
        ]

    def _answer_from(self, accuracy: float) -> float:
        """The least probability of ``predict(abstain=accuracy)``, by held-out decisions."""
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

    def has_known_terms(self, documents: Any) -> Array:
        """Whether each document has any term that the model knows; for an encoder, any text."""
        embedding = self._fitted().embedding
        if embedding is None or embedding.kind != "encoder" or self.vectorizer_ is None:
            return _has_terms(self._read_terms(documents))
        return np.array([bool(text.strip()) for text in as_texts(documents)], dtype=bool)

    def predict_proba(self, documents: Any, *, vectors: Any = None) -> Array:
        """Probabilities by class, calibrated on held-out decisions if ``calibrated_`` says so."""
        fitted = self._fitted()
        return fitted.probabilities(fitted.decisions(self._read(documents, vectors)))

    def score(
        self, documents: Any, y: Any, sample_weight: Any = None, *, vectors: Any = None
    ) -> float:
        """Share of labelled documents whose labels are all predicted; unseen labels are errors."""
        predicted = self.predict(documents, vectors=vectors)
        labelled, right = hits(y, predicted, self._learned.kind, self.unlabelled_label)
        if not labelled.any():
            raise InvalidInputError("no document has a label to score it by")
        weights = check_weights(sample_weight, len(labelled))
        return float(np.average(right, weights=None if weights is None else weights[labelled]))

    # -- reading the model ------------------------------------------------------------------

    def explain(
        self, document: Any, target: Any = None, *, against: Any = None, vectors: Any = None
    ) -> Explanation:
        """Which words speak for a class, and through which prototypes.

        Word vectors are a part of the shares of their words; an encoder's share is one number.

        Parameters
        ----------
        document : one text, or one row of a matrix
        target : the class; by default the predicted one, against the runner-up
        against : explain the decision for ``target`` minus that for this class, which is what
            separates the two
        vectors : an array of one row, if the classifier was fitted on vectors
        """
        fitted = self._fitted()
        read = self._read([document] if isinstance(document, str) else document, vectors)
        if len(read) != 1:
            raise InvalidInputError(f"explain takes one document, got {len(read)}")
        chosen = None if target is None else self._column("target", target)
        other = None if against is None else self._column("against", against)
        return explain_decision(read, fitted, self._reader().terms, chosen, other)

    def suggest(self, documents: Any, k: int = 10, *, vectors: Any = None) -> Array:
        """The documents to label next: uncertain ones that say most about the others.

        Label them, add them to the labelled ones, and ``fit`` or ``refit``. Of more than 2000
        documents, the most uncertain thousand and a random thousand are considered. Suggested
        documents are harder than others: with their labels, ``estimate_`` is too low.

        Before ``fit``, when nothing is labelled, the documents are spread out over all of them. A
        representation is learned for that, without vectors, and not kept.

        Parameters
        ----------
        documents : texts or a matrix, without labels
        k : how many
        vectors : of the documents, if the classifier was fitted on vectors

        Returns
        -------
        array of int
            Positions in ``documents``, the most informative first.
        """
        generator = check_random_state(self.random_state)
        if not self.__sklearn_is_fitted__():
            X, dcot = self._unlabelled_fit(documents)
            return first_rows(X, dcot, _checked_k(k, X.shape[0]), generator)
        fitted = self._fitted()
        read = self._read(documents, vectors)
        return suggest_rows(read, fitted, _checked_k(k, len(read)), generator)

    def _unlabelled_fit(self, documents: Any) -> tuple[Matrix, FittedDCoT]:
        """Documents, and what the default candidate learns from them."""
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
        """Labels that are probably wrong: the other labels contradict them.

        Each labelled document was judged by a model that never saw it (leave-one-out). Listed are
        those whose best class is not their label. Suggested documents (``suggest``) are listed
        more often than others, because they are difficult.

        Returns
        -------
        polars.DataFrame
            The worst first: ``document``, its place among the documents of ``fit`` or ``refit``
            (of copies, that of the first), ``label``, ``suggested``, and ``label_probability`` and
            ``suggested_probability``, both held out. With more than 4000 labels, a random
            tenth of them is judged, at most 1000.
        """
        fitted = self._fitted()
        return label_issues_of(fitted).to_frame(fitted.classes)

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

    def summary(self) -> str:
        """What was chosen and how accurate to expect it, in a paragraph."""
        return self._fitted().summary()

    def report(self) -> str:
        """The summary and the estimates as a table; a warning where TF-IDF is not beaten."""
        text = self.summary()
        if self.estimate_.n:
            text += f"\n\n{self.estimate_.table()}"
        if not self.calibrated_:
            text += "\n\nToo few labels to calibrate predict_proba."
        if self.estimate_.beaten:
            warnings.warn(self.estimate_.warning(), stacklevel=2)
            text += f"\n\nWarning: {self.estimate_.warning()}"
        return text

    def _reader(self, names: Any = None) -> Reader:
        self._fitted()
        if self.vectorizer_ is not None:
            return self.vectorizer_._reader(names)
        return self.dcot_._reader(names)

    def _column(self, name: str, target: Any) -> int:
        found = np.flatnonzero(self.classes_ == target)
        if not len(found):
            raise InvalidParameterError(
                f"{name} must be one of the classes {self.classes_.tolist()[:10]}, got {target!r}"
            )
        return int(found[0])

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
        contents.kind = self._saved_as
        contents.facts = classifier_facts(fitted, self.estimator)
        add_classifier(contents, fitted, parameters, self.vectorizer_ is not None)
        if self.vectorizer is not None:
            own: dict[str, Any] = {"frozen": True}  # it is the representation itself
            if not isinstance(self.vectorizer, FrozenEstimator):
                short = self.vectorizer._short_params()
                own = {"parameters": encode_parameters(short, SAVING_ADVICE)}
            contents.settings["vectorizer"] = own
        return contents

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        inner, from_text = read_representation(contents)
        vectorizer = DCoTVectorizer._from_contents(inner) if from_text else None
        dcot = DCoT._from_contents(inner) if vectorizer is None else vectorizer.dcot_
        model: Self = build(cls, contents.settings)
        model.vectorizer = model.embedding = None  # never among the parameters of a folder
        if "vectorizer" in contents.settings:
            own = setting(contents.settings, "vectorizer", dict)
            if own.get("frozen") is True:
                model.vectorizer = FrozenEstimator(dcot if vectorizer is None else vectorizer)
            else:
                model.vectorizer = DCoTVectorizer(**decode_parameters(own))
        return model._store(read_classifier(contents, dcot._fitted()), vectorizer, dcot)

    # -- what scikit-learn asks for ---------------------------------------------------------

    def _fitted(self) -> FittedClassifier:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        return self._learned

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learned")

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
    """Weighted terms of texts; ``pipeline`` learns which terms there are, unless it is frozen."""
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
    """Documents in the precision of a frozen representation, whose terms they must have."""
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
    """Labels of documents that may have several; ``unknown`` for those without a known term."""
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
        tuple(fitted.classes[row].tolist()) if own else other
        for row, own in zip(chosen, known, strict=True)
    ]


def _checked_k(k: Any, n: int) -> int:
    if not isinstance(k, int | np.integer) or not 1 <= k <= n:
        raise InvalidParameterError(
            f"k must be a whole number from 1 to the {n} documents, got {k!r}"
        )
    return int(k)


def _known(documents: Documents) -> Array:
    """Which documents have a known term, or a vector."""
    known = _has_terms(documents.terms)
    return known if documents.vectors is None else known | documents.vectors.any(axis=1)


def _has_terms(X: Matrix) -> Array:
    """Which rows have any value."""
    return np.asarray(np.diff(X.indptr) > 0 if sp.issparse(X) else X.any(axis=1))
